"""What would it say next? The list under the sentence, a click that appends, going on; and a mask in BERT."""

import numpy as np
import pytest
from bert_folders import random_bert, write
from visit import drawn, open_page, picture, run

from mha_core import InputError, cached, load_model, predict_masked, trace
from mha_core.cached import DecoderState
from mha_core.prediction import next_logits
from pages.parts.explore import next_word, speech
from pages.parts.explore.next_word import END, MOST, PIN, Place, Talk, answer
from pages.parts.frame import head_facts
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve import store as kept
from pages.parts.serve.store import Store

pytestmark = pytest.mark.slow  # the embedded decoder speaks in nearly every test

ANIMAL = "The animal didn't cross the street because it was too"
END_OF_TEXT = [Place(END, "At the end", 10)]


@pytest.fixture
def store(monkeypatch):
    """A store in which nothing is kept yet."""
    fresh = Store(400_000_000)
    monkeypatch.setattr(kept, "STORE", fresh)
    return fresh


@pytest.fixture
def quiet(monkeypatch):
    """Roles are found out behind the page; these tests need none of them."""
    monkeypatch.setattr(head_facts, "roles_of", lambda *_: {})


def asked(text=ANIMAL, **options):
    return Request(text, model="smollm2", **options)


def id_of(model, token):
    (piece,) = model.tokenizer.encode("x" + token).pieces[1:]
    return piece.id


# ---- the list


@pytest.mark.usefixtures("quiet", "smollm2")
def test_the_list_under_the_sentence_is_what_the_model_would_say():
    shown = picture(open_page(model="smollm2", text=ANIMAL))["next"]
    assert shown["title"] == "What would it say next?"
    tops = [(row["mark"] + row["text"], row["p"]) for row in shown["rows"]]
    assert [name for name, _ in tops[:3]] == ["␣far", "␣close", "␣fast"]
    assert [p for _, p in tops[:3]] == pytest.approx([0.604, 0.169, 0.027], abs=1e-3)
    assert len(tops) == 10
    assert shown["rows"][0]["does"] == "Append “ far”"
    assert (
        "small model with its weights cut to 4 bits: what it would say, not what is true." in shown["caption"]
    )
    assert [place["label"] for place in shown["places"]] == ["At the end", "After “it”"]
    assert (shown["place"], shown["note"], shown["talk"]["running"]) == (END, "", False)


@pytest.mark.usefixtures("quiet", "store")
def test_after_a_pinned_word_the_list_says_what_stands_there(smollm2):
    at = open_page(model="smollm2", text=ANIMAL, pin="8")
    at.session_state["talk"].place = PIN
    shown = picture(run(at))["next"]
    (row,) = [row for row in shown["rows"] if row["stands"]]
    assert (row["text"], row["does"]) == ("was", "Go on from there with “ was”")
    best = trace(ANIMAL[: ANIMAL.index(" was")], smollm2)
    first = speech.following(asked(best.tokens.text), smollm2, len(best.tokens) - 1)[0]
    assert (shown["rows"][0]["id"], shown["rows"][0]["p"]) == (
        first.id,
        pytest.approx(first.probability, abs=1e-5),
    )
    assert shown["caption"].startswith("A click replaces all that follows there.")
    at.query_params["pin"] = "1"
    shown = picture(run(at))["next"]
    assert not any(row["stands"] for row in shown["rows"])
    assert shown["note"] == "The text goes on with “ didn”, which is not among these ten."


# ---- a click, and going on


@pytest.mark.usefixtures("quiet")
def test_a_click_costs_one_cached_step_and_its_rows_are_those_of_a_trace(smollm2, store, monkeypatch):
    request, talk, steps, starts = asked(), Talk(), [], []
    cache.record_of(request.run, smollm2)
    step, read = DecoderState.step, cached.DecoderState.__init__
    monkeypatch.setattr(DecoderState, "step", lambda self, i: steps.append(i) or step(self, i))
    monkeypatch.setattr(DecoderState, "__init__", lambda self, *a: starts.append(1) or read(self, *a))
    far = id_of(smollm2, " far")
    longer = answer({"do": "append", "id": far}, request, smollm2, END_OF_TEXT, talk)
    assert longer.text == ANIMAL + " far"
    record = cache.record_of(longer.run, smollm2)
    answer({"do": "append", "id": id_of(smollm2, " away")}, longer, smollm2, END_OF_TEXT, talk)
    assert (steps[0], len(steps), starts) == (far, 2, [])
    whole = trace(longer.text, smollm2)
    np.testing.assert_allclose(record.weights, whole.weights, atol=1e-5)
    assert record.tokens == whole.tokens
    at = open_page(model="smollm2", text=longer.text)
    np.testing.assert_allclose(drawn(at), whole.weights, atol=2e-5)


def test_a_text_that_is_read_in_other_tokens_than_it_was_said_is_traced_afresh(smollm2, store):
    request = asked("I was read")
    longer = answer({"do": "append", "id": id_of(smollm2, "ing")}, request, smollm2, END_OF_TEXT, Talk())
    tokens = smollm2.tokenizer.encode("I was reading")
    assert longer.text == "I was reading"
    assert len(tokens) == len(smollm2.tokenizer.encode("I was read")), "one token, not two"
    assert store.peek((longer.run, smollm2.digest, "record")) is None
    np.testing.assert_array_equal(cache.record_of(longer.run, smollm2).weights.shape[-1], len(tokens))


def told(model, request, talk, times=MOST + 5, **go):
    """Go on as a browser does: it asks for the next token when it has drawn the last."""
    request = answer({"do": "go", "temperature": 0, "seed": 0, **go}, request, model, END_OF_TEXT, talk)
    for _ in range(times):
        request = answer({"do": "on", "turn": talk.turn}, request, model, END_OF_TEXT, talk) or request
    return request


def test_going_on_takes_the_likeliest_word_after_word_until_it_is_stopped(smollm2, store):
    talk = Talk()
    request = told(smollm2, asked(), talk, times=3)
    assert request.text == ANIMAL + " far away to be"
    assert (talk.running, talk.left, talk.turn) == (True, MOST - 4, 4)
    assert answer({"do": "on", "turn": 3}, request, smollm2, END_OF_TEXT, talk) is None, "one answer a turn"
    late = asked(ANIMAL + " far away to")  # the browser has not heard of the last word
    assert answer({"do": "stop"}, late, smollm2, END_OF_TEXT, talk).text == request.text
    assert (talk.running, talk.note) == (False, "Stopped after 4 tokens.")
    assert answer({"do": "on", "turn": talk.turn}, request, smollm2, END_OF_TEXT, talk) is None
    np.testing.assert_allclose(
        cache.record_of(request.run, smollm2).weights, trace(request.text, smollm2).weights, atol=1e-5
    )


def test_a_token_is_drawn_by_the_seed_and_by_how_many_stand_before_it(smollm2, store):
    request, seeds = asked("The cat sat on the"), range(8)
    tokens = smollm2.tokenizer.encode(request.text)
    logits = next_logits(tokens, smollm2, position=-1).astype(np.float64)
    shares = np.exp(logits - logits.max()).cumsum()

    def drawn(seed, place):
        return int(np.searchsorted(shares / shares[-1], np.random.default_rng([seed, place]).random()))

    expected = [drawn(seed, len(tokens)) for seed in seeds]
    assert [speech.chosen(request, smollm2, 1.0, seed) for seed in seeds] == expected
    assert expected != [drawn(seed, 0) for seed in seeds]


def test_it_stops_by_itself_after_the_most_and_where_the_model_ends_its_text(smollm2, store, monkeypatch):
    talk = Talk()
    monkeypatch.setattr(next_word, "MOST", 3)
    told(smollm2, asked(), talk, times=9)
    assert (talk.running, talk.turn, talk.note) == (False, 3, "It said 3 tokens.")
    ending = smollm2.tokenizer._fast.token_to_id("<|im_end|>")
    monkeypatch.setattr(speech, "chosen", lambda *_: ending)
    assert told(smollm2, asked(), talk).text == ANIMAL
    assert (talk.running, talk.note) == (False, "After 0 tokens it ends its text here, with <|im_end|>.")


@pytest.mark.usefixtures("quiet")
def test_what_one_model_said_is_not_gone_on_with_and_not_told_of_another(smollm2, store):
    record = cache.record_of(asked().run, smollm2)

    def under(talk, **weights):
        shown = next_word.panel(asked(**weights), smollm2, record, END_OF_TEXT, talk)
        return shown["talk"]["running"], shown["note"]

    talk = Talk(running=True, text=ANIMAL, heard=1e18)
    assert under(talk) == (True, "")
    assert under(talk, trained=False) == (False, "Stopped, because the model was changed.")
    talk.note = "It said 40 tokens."
    assert under(talk, trained=False) == (False, "It said 40 tokens.")
    assert under(talk) == (False, "")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        ({"do": "append", "id": -1}, r"^There is no token -1;"),
        ({"do": "append", "id": 10**9}, r"^There is no token 1000000000;"),
        ({"do": "append", "id": "<b>"}, r"^The browser sent no number for id\.$"),
        ({"do": "append", "id": float("nan")}, r"^The browser sent no number for id\.$"),
        ({"do": "append"}, r"^The browser sent no number for id\.$"),
        ({"do": "go", "temperature": 9, "seed": 0}, r"^The temperature must be from 0 to \d+, not 9"),
        ({"do": "go", "temperature": 1, "seed": -3}, r"^The seed must be from 0 to [\d,]+, not -3"),
    ],
)
def test_what_no_button_asks_for_is_refused_in_a_sentence(ask, sentence, smollm2, store):
    with pytest.raises(InputError, match=sentence):
        answer(ask, asked(), smollm2, END_OF_TEXT, Talk())
    assert answer({"do": "nonsense"}, asked(), smollm2, END_OF_TEXT, Talk()) is None


def test_a_full_text_takes_no_more(smollm2, store, monkeypatch):
    cache.record_of(asked().run, smollm2)
    state_of_all = speech.take_state(asked().run, smollm2)
    speech.keep_state(asked().run, smollm2, state_of_all)
    monkeypatch.setattr(smollm2.tokenizer, "max_tokens", 11)
    with pytest.raises(
        InputError, match=r"^The text is full: SmolLM2 135M, 4-bit takes 11 tokens at most\.$"
    ):
        answer({"do": "append", "id": 5}, asked(), smollm2, END_OF_TEXT, Talk())
    assert speech.take_state(asked().run, smollm2) is state_of_all, "what is refused costs nobody a new run"
    monkeypatch.setattr(smollm2.tokenizer, "max_tokens", 1024)
    monkeypatch.setattr(speech, "MAX_CHARS", len(ANIMAL) + 3)
    with pytest.raises(InputError, match="characters at most"):
        answer({"do": "append", "id": id_of(smollm2, " far")}, asked(), smollm2, END_OF_TEXT, Talk())


# ---- the shelf


# ---- a mask


@pytest.fixture
def bert(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")
    pytest.importorskip("transformers")
    write(tmp_path, random_bert("BertForMaskedLM", seed=3))
    return str(tmp_path)


@pytest.mark.usefixtures("quiet")
def test_a_mask_that_the_reader_typed_is_filled_by_a_click(bert, store):
    text = "The [MASK] sat on the [MASK]."
    at = open_page(model=bert, text=text)
    shown, used = picture(at)["next"], load_model(bert)
    truth = predict_masked(text, used, 10)
    assert [row["p"] for row in shown["rows"]] == pytest.approx([p for _, p in truth[0]], abs=1e-6)
    assert [place["label"] for place in shown["places"]] == ["[MASK] 1", "[MASK] 2"]
    assert shown["talk"] is None
    request, talk = Request(text, model=bert), Talk(place="1")
    filled = answer({"do": "append", "id": 2}, request, used, [Place("0", "", 0), Place("1", "", 1)], talk)
    name = truth[1][2][0]
    glued = f"the{name.removeprefix('##')}" if name.startswith("##") else f"the {name}"
    assert filled.text == f"The [MASK] sat on {glued}."
    with pytest.raises(InputError, match=r"^There is no guess 11; there are 10\.$"):
        answer({"do": "append", "id": 10}, request, used, [], talk)
    assert answer({"do": "go", "temperature": 0, "seed": 0}, request, used, [], talk) is None
