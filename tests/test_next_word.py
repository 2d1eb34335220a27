"""Next-token prediction under the picture: the likeliest tokens, a click that appends, generating; and masked words."""

import re

import numpy as np
import pytest
from bert_folders import random_bert, write
from visit import drawn, open_page, run, said

from mha_core import InputError, load_model, predict_masked, trace
from mha_core.engine.kv_cache import DecoderState
from mha_core.models.extended_record import sample_token
from mha_core.models.prediction import next_logits
from pages.parts.explore import next_word, predictions
from pages.parts.explore.next_word import Generation, one_more
from pages.parts.frame.page_text import unmarked
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve import store as shared
from pages.parts.serve.store import Store

pytestmark = pytest.mark.slow  # the embedded decoder speaks in nearly every test

ANIMAL = "The animal didn't cross the street because it was too"


@pytest.fixture
def store(monkeypatch):
    """A store in which nothing is kept yet."""
    monkeypatch.setattr(shared, "STORE", Store(400_000_000))
    return shared.STORE


def request_of(text=ANIMAL, **options):
    return Request(text, model="smollm2", **options)


def id_of(model, token):
    (piece,) = model.tokenizer.encode("x" + token).pieces[1:]
    return piece.id


def choose(page, place):
    """Choose the place in the row that offers it."""
    next(group for group in page.button_group if place in group.options).set_value(place)
    run(page)


def tokens_of(page):
    """The likeliest tokens, as buttons in a row."""
    return next(group for group in page.button_group if group.label.startswith("Click"))


def append(page, number):
    tokens_of(page).set_value(number)
    return run(page).text_input(key="text").value


@pytest.mark.usefixtures("smollm2")
def test_the_likeliest_tokens_are_offered_and_a_click_appends_one():
    page = open_page(model="smollm2", text=ANIMAL)
    assert tokens_of(page).options[:3] == ["␣far 60%", "␣close 17%", "␣fast 3%"]
    assert len(tokens_of(page).options) == 10
    assert append(page, 0) == ANIMAL + " far"
    assert tokens_of(page).value is None, "ready for the next"


def test_after_a_pinned_word_a_click_replaces_what_follows(smollm2, store):
    page = open_page(model="smollm2", text=ANIMAL, pin="8")
    choose(page, "After “it”")
    best = trace(ANIMAL[: ANIMAL.index(" was")], smollm2)
    first = predictions.following(request_of(best.tokens.text), smollm2, len(best.tokens) - 1)[0]
    shown = tokens_of(page).options[0]
    assert float(re.search(r"(\d+)%", shown)[1]) == pytest.approx(100 * first.probability, abs=0.5)
    assert append(page, 0) == best.tokens.text + first.text


def test_no_token_is_read_as_markup():
    offered = ("*", "_a_", ":smile:", "$x$", "[a](b)", "\n")
    assert not any(
        re.search(r"(?<!\\)[*_:$\[\]()]", unmarked(predictions.spelled_token(text))) for text in offered
    )


def test_a_click_costs_one_cached_step_and_its_rows_are_those_of_a_trace(smollm2, store, monkeypatch):
    request, steps, starts = request_of(), [], []
    cache.record_from_weights(request.run, smollm2)
    step, read = DecoderState.step, DecoderState.__init__
    monkeypatch.setattr(DecoderState, "step", lambda self, i: steps.append(i) or step(self, i))
    monkeypatch.setattr(DecoderState, "__init__", lambda self, *a: starts.append(1) or read(self, *a))
    far = id_of(smollm2, " far")
    longer = predictions.append(request, smollm2, far)
    assert longer.text == ANIMAL + " far"
    longer = request_of(longer.text)
    record = cache.record_from_weights(longer.run, smollm2)
    predictions.append(longer, smollm2, id_of(smollm2, " away"))
    assert (steps[0], len(steps), starts) == (far, 2, [])
    whole = trace(longer.text, smollm2)
    np.testing.assert_allclose(record.weights, whole.weights, atol=1e-5)
    assert record.tokens == whole.tokens
    page = open_page(model="smollm2", text=longer.text)
    np.testing.assert_allclose(drawn(page), whole.weights, atol=2e-5)


def test_a_text_that_is_read_in_other_tokens_than_it_was_said_is_traced_afresh(smollm2, store):
    request = request_of("I was read")
    longer = request_of(predictions.append(request, smollm2, id_of(smollm2, "ing")).text)
    tokens = smollm2.tokenizer.encode("I was reading")
    assert longer.text == "I was reading"
    assert len(tokens) == len(smollm2.tokenizer.encode("I was read")), "one token, not two"
    assert store.peek((longer.run, smollm2.digest, "record")) is None
    assert cache.record_from_weights(longer.run, smollm2).weights.shape[-1] == len(tokens)


def generated(model, request, n_runs, generation):
    """Generate as the page does, one token a run."""
    for _ in range(n_runs):
        if generation.running:
            request = request_of(one_more(request, model, generation, 0.0, 0))
    return request


def test_a_token_is_drawn_by_the_seed_and_by_how_many_stand_before_it(smollm2, store):
    request, seeds = request_of("The cat sat on the"), range(8)
    tokens = smollm2.tokenizer.encode(request.text)
    logits = next_logits(tokens, smollm2, position=-1)
    chosen = [predictions.chosen(request, smollm2, 1.0, seed) for seed in seeds]
    assert chosen == [sample_token(logits, smollm2, 1.0, seed, len(tokens)) for seed in seeds]
    assert chosen != [sample_token(logits, smollm2, 1.0, seed, 0) for seed in seeds]


def test_generating_stops_after_the_most_and_where_the_model_ends_its_text(smollm2, store, monkeypatch):
    monkeypatch.setattr(next_word, "MOST", 3)
    generation = Generation(running=True, left=3, text=ANIMAL)
    request = generated(smollm2, request_of(), 9, generation)
    assert (request.text, generation.running, generation.left) == (ANIMAL + " far away to", False, 0)
    ending = smollm2.tokenizer._fast.token_to_id("<|im_end|>")
    monkeypatch.setattr(predictions, "chosen", lambda *_: ending)
    generation = Generation(running=True, left=3, text=ANIMAL)
    assert generated(smollm2, request_of(), 9, generation).text == ANIMAL
    assert (generation.running, "<|im_end|>" in generation.note) == (False, True)


@pytest.mark.usefixtures("smollm2")
def test_generate_is_stopped_by_its_button_and_by_another_text():
    page = open_page(model="smollm2", text=ANIMAL)
    for label, is_running in (("Stop", True), ("Generate", False)):
        page.button(key="generate-go").click()
        assert run(page).button(key="generate-go").label == label
        assert page.session_state["generation"].running == is_running
    assert said(page, "notice") == ["Stopped after 0 tokens."], "of which none was drawn yet"
    page.button(key="generate-go").click()
    run(page)
    page.text_input(key="text").set_value("Another text")
    run(page)
    assert not page.session_state["generation"].running


def test_a_full_text_takes_no_more_and_no_text_a_token_that_does_not_exist(smollm2, store, monkeypatch):
    for identity in (-1, 10**9):
        with pytest.raises(InputError, match=rf"^There is no token {identity};"):
            predictions.append(request_of(), smollm2, identity)
    state_of_all = predictions.take_state(request_of().run, smollm2)
    predictions.keep_state(request_of().run, smollm2, state_of_all)
    monkeypatch.setattr(smollm2.tokenizer, "max_tokens", 11)
    with pytest.raises(
        InputError, match=r"^The text is full: SmolLM2 135M, 4-bit takes 11 tokens at most\.$"
    ):
        predictions.append(request_of(), smollm2, 5)
    assert predictions.take_state(request_of().run, smollm2) is state_of_all, (
        "what is refused costs nobody a new run"
    )
    monkeypatch.setattr(smollm2.tokenizer, "max_tokens", 1024)
    monkeypatch.setattr(predictions, "MAX_CHARS", len(ANIMAL) + 3)
    with pytest.raises(InputError, match="characters at most"):
        predictions.append(request_of(), smollm2, id_of(smollm2, " far"))


@pytest.fixture
def bert(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")
    pytest.importorskip("transformers")
    write(tmp_path, random_bert("BertForMaskedLM", seed=3))
    return str(tmp_path)


def test_a_mask_that_the_reader_typed_is_filled_by_a_click(bert, store):
    text = "The [MASK] sat on the [MASK]."
    page = open_page(model=bert, text=text)
    truth = predict_masked(text, load_model(bert), 10)
    shares = [float(re.search(r"([\d.]+)%", option)[1]) for option in tokens_of(page).options]
    assert shares == pytest.approx([100 * p for _, p in truth[0]], abs=0.5)
    choose(page, "[MASK] 2")
    name = truth[1][2][0]
    glued = f"the{name.removeprefix('##')}" if name.startswith("##") else f"the {name}"
    assert append(page, 2) == f"The [MASK] sat on {glued}."


def test_a_mask_in_the_second_sentence_is_filled_too(bert, store):
    model, request = load_model(bert), Request("The [MASK] sat.", "It saw a [MASK] twice.", bert)
    truth = predict_masked(request.text, model, 10, pair=request.pair)
    assert len(truth) == 2
    assert predictions.hidden_words(request, model) == truth
