"""The pages without a browser: what a link opens, what is said about a bad one, and that the text always stays."""

import re
import time
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from causal_runs import record_of
from visit import (
    TIRED,
    WIDE,
    bodies,
    drawn,
    link,
    mounted,
    offered_examples,
    open_page,
    picture,
    press_example,
    run,
    said,
    unopened,
)

from mha_core import Unavailable, load_model, models, trace
from mha_core.heads.measures import importance
from pages.parts.explore import opening
from pages.parts.frame import controls, presets, state
from pages.parts.frame.controls import MENU
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.serve import cache, server

SCRIPTS = (
    "<script>window.top.hacked=1</script>",
    "<img src=x onerror=window.top.hacked=1>",
    "![x](http://evil.example/x.png) [y](javascript:alert(1))",
    "</p><iframe srcdoc='<script>top.hacked=1</script>'></iframe>",
    "`</bdi><b>bold</b>` :material/home: $$x$$",
)
TEXTS = (
    "tired",
    "x",
    "\x00\x07\x1b[31m control \u202e right to left \u200b zero",
    "مرحبا بالعالم، هذا اختبار.",
    "👩‍👩‍👧‍👦 🇫🇷 1️⃣ family",
    "e\u0301" * 50,
    pytest.param("word " * 700, marks=pytest.mark.long),
    "[CLS] [SEP] [MASK] typed",
    "\ufffd \ufffe \U000e0041 alone",
    *SCRIPTS,
)


def test_the_first_visit_opens_on_it_and_animal_in_head_4_2():
    at = open_page()
    assert at.text_input(key="text").value == TIRED
    assert picture(at)["selection"] == {"head": [3, 1], "pins": [10], "to": None}
    assert at.query_params["head"] == ["4-2"] or at.query_params["head"] == "4-2"
    assert not said(at, "problem")
    assert not said(at, "notice")


def test_a_link_opens_exactly_what_it_says():
    at = open_page(
        text="The cat sat on the mat.", head="6-11", pin="2,5", to="1", unit="words", weights="untrained"
    )
    assert at.text_input(key="text").value == "The cat sat on the mat."
    assert picture(at)["selection"] == {"head": [5, 10], "pins": [2, 5], "to": 1}
    assert "untrained · whole words" in said(at, "summary")[0]
    assert any("weights are random" in line for line in said(at, "why"))


def test_a_link_without_pins_is_kept_apart_from_one_that_says_none():
    assert picture(open_page(pin="none"))["selection"]["pins"] == []


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"head": "9-40"}, "There is no head “9-40” in 6 layers of 12; showing 4-2."),
        ({"head": "0-1"}, "There is no head “0-1” in 6 layers of 12; showing 4-2."),
        ({"head": "x"}, "There is no head “x” in 6 layers of 12; showing 4-2."),
        ({"head": "٤-٢"}, "There is no head “٤-٢” in 6 layers of 12; showing 4-2."),
        ({"pin": "77"}, "The link points at pin “77”; this sentence has positions 0 to 15."),
        ({"to": "-1"}, "The link points at to “-1”; this sentence has positions 0 to 15."),
        ({"model": "gpt-5"}, "There is no model “gpt-5” on this server; showing MiniLM."),
        (
            {"model": "../../etc/passwd"},
            "There is no model “../../etc/passwd” on this server; showing MiniLM.",
        ),
        ({"weights": "heavy"}, "The link asks for weights “heavy”, which does not exist; showing “trained”."),
        (
            {"unit": "__proto__"},
            "The link asks for unit “__proto__”, which does not exist; showing “pieces”.",
        ),
        ({"specials": ""}, "The link asks for specials “”, which does not exist; showing “shown”."),
    ],
)
def test_a_bad_value_in_a_link_falls_back_with_one_notice(query, sentence):
    at = open_page(**query)
    assert said(at, "notice") == [sentence]
    assert picture(at)["selection"]["head"] == [3, 1]
    assert not query.items() & link(at).items(), "the address says what is shown"


def test_a_long_bad_value_is_quoted_in_short():
    (sentence,) = said(open_page(model="a" * 10_000), "notice")
    assert len(sentence) < 120


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:24])
@pytest.mark.parametrize("unit", ["pieces", "words"])
def test_any_text_is_drawn_and_stays_in_the_box(text, unit):
    at = open_page(text=text, unit=unit)
    assert at.text_input(key="text").value == text
    assert not said(at, "problem")
    assert picture(at)


@pytest.mark.parametrize("text", SCRIPTS)
def test_nothing_of_the_readers_is_markup(text):
    at = open_page(text=text, unit="words", head=text, model=text, pin="1")
    everything = "".join(bodies(at))
    assert "<script" not in everything
    assert "<img" not in everything
    assert "<iframe" not in everything
    assert "<b>" not in everything
    assert not at.markdown, "Markdown fetches images from anywhere"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" ", "The sentence is empty; type at least one word."),
        ("\x00\x01", "The sentence is empty; type at least one word."),
        ("y" * 100_000, "The text has 100,000 characters and HeadScope takes 4,000 at most; shorten it."),
    ],
    ids=["blank", "control", "long"],
)
def test_a_text_that_cannot_be_taken_gets_one_sentence_and_stays(text, sentence):
    at = open_page(text=text)
    assert said(at, "problem") == [sentence]
    assert at.text_input(key="text").value == text
    assert "wide" in offered_examples(at)


def test_an_emptied_box_gets_one_sentence_and_the_next_text_works():
    at = open_page()
    at.text_input(key="text").set_value("").run()
    assert said(at, "problem") == ["The sentence is empty; type at least one word."]
    at.text_input(key="text").set_value("Back again.").run()
    assert not said(at, "problem")
    assert picture(at)


def test_an_example_is_one_click_and_says_what_to_look_for():
    at = open_page(text="Something else.", head="1-1", pin="1")
    press_example(at, "two sentences")
    assert at.text_input(key="text").value == "Maria gave the book to her sister."
    assert at.text_input(key="pair").value == "She had already read it twice."
    assert "which heads cross the border" in said(at, "look")[0]
    assert picture(at)["selection"]["head"] == [0, 0], "the head that the reader chose stays"


def test_a_hub_model_without_a_network_is_one_quick_sentence(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    start = time.monotonic()
    at = open_page(model="bert-large-uncased")
    at.button(key="fetch-it-model").click().run()
    assert time.monotonic() - start < 15
    (sentence,) = said(at, "problem")
    assert "cannot be reached" in sentence
    assert at.text_input(key="text").value == TIRED


def test_a_hub_model_is_fetched_only_after_its_reader_has_agreed(monkeypatch):
    asked = []

    def load(name, trained=True, **_options):
        asked.append(name)
        return load_model("minilm", trained=trained)

    monkeypatch.setattr(cache, "load_model", load)
    at = open_page(model="bert-base-uncased")
    (sentence,) = said(at, "notice")
    assert sentence.endswith(
        "BERT base is not on this machine: about 440 MB from the model hub. Until it is, you see MiniLM."
    )
    assert set(asked) == {"minilm"}
    at.button(key="fetch-it-model").click().run()
    assert "bert-base-uncased" in asked
    assert not said(at, "notice")
    at.selectbox(key="model").set_value("bert-large-uncased")
    run(at).button(key="fetch-it-model").click()
    run(at).selectbox(key="model").set_value("bert-base-uncased")
    assert not said(run(at), "notice"), "what was agreed to once is not asked again"


def test_a_moment_of_the_classrooms_training_is_here_and_nobody_asks():
    at = open_page(model="classroom@400")
    assert not said(at, "notice")
    assert drawn(at).shape[:2] == (2, 4)


def test_what_was_not_agreed_to_is_not_fetched_by_another_way():
    with pytest.raises(
        Unavailable, match=r"BERT large is not on this machine: about 1,340 MB from the model hub;"
    ):
        cache.named_model("bert-large-uncased")


def test_a_hub_model_that_is_declined_is_left_alone(monkeypatch):
    asked = []
    monkeypatch.setattr(models, "is_here", asked.append)
    at = open_page("pages/compare.py", against="model", model2="bert-base-cased")
    assert "436 MB" in said(at, "notice")[0]
    at.button(key="fetch-not-model2").click().run()
    assert "436 MB" not in " ".join(said(at, "notice"))
    assert at.selectbox(key="model2").value == "minilm"
    assert set(asked) == {"bert-base-cased"}


@pytest.mark.parametrize(("address", "alone"), [
    ("localhost", True), ("127.0.0.1", True), ("::1", True), ("::", False), ("192.168.1.7", False), (None, False),
    ("class.example", False),
])  # fmt: skip
def test_a_server_that_others_reach_is_known_by_its_address(address, alone):
    assert server.is_alone(address) is alone


def test_the_options_are_built_when_opened_and_what_was_chosen_there_stays():
    at = open_page()
    assert {box.key for box in at.selectbox} == {"model"}
    at.text_input(key="pair").set_value("She had read it.")
    at.selectbox(key="model").set_value("classroom")
    at.segmented_control(key="unit").set_value("words")
    run(at)
    asked = link(at)
    at.session_state[MENU] = False
    for _ in range(2):
        run(at)
        assert not at.selectbox
        assert [box.key for box in at.text_input] == ["text"]
        assert link(at) == asked
    at.text_input(key="text").set_value("A cat saw a dog.")
    at.session_state[MENU] = True
    run(at)
    assert (at.selectbox(key="model").value, at.segmented_control(key="unit").value) == ("classroom", "words")
    assert at.text_input(key="pair").value == link(at)["pair"] == "She had read it."


def test_the_owner_can_close_the_hub(monkeypatch):
    monkeypatch.setenv("HEADSCOPE_ALLOW_HUB", "0")
    at = open_page(model="bert-base-uncased")
    assert at.selectbox(key="model").options == [
        "minilm", "smollm2 · SmolLM2 135M, 4-bit", "classroom", "classroom-twin · Classroom, twin",
    ]  # fmt: skip
    assert "There is no model" in said(at, "notice")[0]


def test_folders_open_only_where_the_owner_allows_it(monkeypatch, tmp_path):
    assert "There is no model" in said(open_page(model=str(tmp_path)), "notice")[0]
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")
    at = open_page(model=str(tmp_path))
    assert not said(at, "notice")
    assert len(said(at, "problem")) == 1


def test_a_forged_control_is_not_believed(monkeypatch):
    at = open_page()
    at.session_state["weights"] = "../../etc/passwd"
    at.run()
    assert "../../etc/passwd" not in said(at, "summary")[0]


def test_presenter_mode_keeps_the_picture_and_the_way_out():
    at = open_page(present="1")
    assert picture(at)["present"] is True
    assert at.button(key="presenter").label == "Leave presenter mode"


def test_compare_opens_on_tired_and_wide():
    at = open_page("pages/compare.py")
    assert (at.text_input(key="text").value, at.text_input(key="text2").value) == (TIRED, WIDE)
    assert picture(at)["selection"] == {"head": [3, 1], "pins": [10], "to": None}


def test_compare_says_what_is_wrong_with_one_side_and_keeps_both_texts():
    at = open_page("pages/compare.py", text2=" ")
    assert said(at, "problem") == ["The sentence is empty; type at least one word."]
    assert at.text_input(key="text").value == TIRED


def test_compare_with_a_word_that_is_gone_asks_for_another():
    at = open_page("pages/compare.py", text="He said it twice.", text2="He said twice.", pin="3")
    assert said(at, "look") == ["it stands in A only: B has no row to compare. Choose a word that both have."]


def test_two_sentences_of_ones_own_open_on_the_word_whose_link_changes_most():
    at = open_page(
        "pages/compare.py",
        text="The river runs through the old town.",
        text2="The river runs through the new town.",
    )
    a, b = drawn(at, 0)[3, 1], drawn(at, 1)[3, 1]
    change = np.abs(a - b)[1:-1, 1:-1]  # [CLS] and [SEP] left out
    word = 1 + int(np.unravel_index(change.argmax(), change.shape)[0])
    assert picture(at)["selection"] == {"head": [3, 1], "pins": [word], "to": None}
    assert said(at, "look")[0].startswith("Chosen because the link from ")
    at.query_params["pin"] = "2"
    assert not said(run(at), "look")


def test_why_a_comparison_opens_on_a_word_is_said_of_that_word_alone_and_as_long_as_all_its_links_are_shown():
    words, head = ["dog", "cat", "dog", "cat", "dog"], (1, 4)
    a, b = (record_of(words, seed, split=None).grid() for seed in (5, 6))
    change = np.abs(a.weights[head] - b.weights[head])
    np.fill_diagonal(change, 0)
    q, k = (int(place) for place in np.unravel_index(change.argmax(), change.shape))
    names = ["dog₁", "cat₁", "dog₂", "cat₂", "dog₃"]

    def why(pins, to=None):
        return opening.reason_of_change(Request(" ".join(words)), a, b, Selection(head, pins, to))

    assert why((q,)) == (
        f"Chosen because the link from `{names[q]}` to `{names[k]}` changes most of all links between two words in "
        "head 2-5."
    )
    assert [why((q,), k), why((q, k)), why(()), why(((q + 1) % 5,))] == [""] * 4


def test_a_minimal_pair_is_one_click():
    at = open_page("pages/compare.py")
    press_example(at, "big / small")
    assert at.text_input(key="text2").value.endswith("too small.")
    assert any("mind" in line for line in said(at, "note"))


@pytest.mark.slow
def test_the_pair_that_moves_opens_in_the_trained_model_in_which_it_does():
    at = open_page("pages/compare.py", weights="untrained", against="weights")
    press_example(at, "tired / wide, where it moves")
    assert [record["model"] for record in mounted(at, "record")] == ["Classroom", "Classroom"]
    assert link(at).keys().isdisjoint({"weights", "against"})


@pytest.mark.parametrize(
    ("model", "head", "kept"),
    [("minilm", "4-2", None), ("minilm", "2-2", "2-2"), ("smollm2", "14-9", None), ("smollm2", "4-2", "4-2")],
)
def test_a_pair_that_opens_in_its_own_model_keeps_a_head_that_was_chosen_not_the_one_of_another_model(
    monkeypatch, model, head, kept
):
    session = {
        "text": "The cat saw it.",
        "pair": "It rained.",
        "model": model,
        "weights": "untrained",
        "against": "weights",
    }
    monkeypatch.setattr(state.st, "session_state", session)
    monkeypatch.setattr(state.st, "query_params", SimpleNamespace(to_dict=lambda: {"head": head, "pin": "3"}))
    state.open_pair(presets.PAIRS[0])
    changes = session.pop(state.CHANGES)
    assert session == {
        "text": TIRED,
        "pair": "",
        "text2": WIDE,
        "model": "classroom",
        "weights": "trained",
        "against": "sentence",
    }
    assert changes.pop("head") == kept
    assert set(changes) >= {"pin", "to", "tab"}
    assert set(changes.values()) == {None}


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["value", "residual", "rollout"])
def test_another_measure_is_drawn_from_a_link_and_says_where_it_disagrees(measure):
    at = open_page(text=TIRED, measure=measure, head="4-2")
    assert not said(at, "problem") + said(at, "notice")
    (shown,) = [text for text in said(at, "why") if text.startswith("Shown: ")]
    assert re.search(r"In \d+ of 16 rows the top word differs from the (mean|raw)", shown)


@pytest.mark.slow
def test_what_is_said_of_raw_weights_is_said_as_such_under_another_measure():
    raw = [text for text in said(open_page(text=TIRED, head="4-2"), "why") if "is a case of" not in text]
    assert raw
    first, *others = said(open_page(text=TIRED, head="4-2", measure="value"), "why")
    assert first.startswith("Shown: ")
    assert others == [f"Raw attention: {text}" for text in raw]


@pytest.mark.slow
def test_what_a_word_is_brought_is_told_beside_raw_weights_alone(model):
    asked = {"text": TIRED, "head": "4-2", "pin": "10", "brings": "1"}
    brings = picture(open_page(**asked))["brings"]
    assert (brings["head"], brings["pins"]) == ([3, 1], [10])
    truth = importance(model.tokenizer.encode(TIRED), model, "value").weights[3, 1, 10]
    assert brings["rows"][0] == pytest.approx(truth, abs=1e-5)
    assert picture(open_page(**asked, measure="value"))["brings"] is None
    assert picture(open_page(**asked | {"pin": "none"}))["brings"] is None


def test_a_measure_that_this_model_lacks_is_one_sentence_and_the_weights_stay():
    at = open_page(text=TIRED, measure="gradient")
    (problem,) = said(at, "problem")
    assert "predicts no word" in problem
    assert not any(text.startswith("Shown: ") for text in said(at, "why"))
    assert picture(at)["measures"]["chosen"] == "raw"
    assert "measure" not in link(at), "what was refused is no title over other numbers, and in no link"
    offered = [key for key, _ in picture(at)["measures"]["offered"]]
    assert offered == ["raw", "value", "residual", "rollout"], "only what this model can do"


def test_compare_draws_both_sides_by_the_same_measure():
    at = open_page("pages/compare.py", measure="value")
    assert not at.exception
    assert not said(at, "problem")
    assert picture(at)["measures"]["chosen"] == "value"
    assert picture(at)["measures"]["said"] == "A: In {} of 16 rows the top word differs from the raw weights."
    assert len(picture(at)["measures"]["differing"]) == 72


@pytest.mark.parametrize("measure", ["rollout", "residual"])
def test_a_picture_that_mixes_heads_claims_nothing_of_a_head_of_the_same_number(measure, monkeypatch):
    asked = []
    monkeypatch.setattr(cache, "roles_of", lambda *of: asked.append(of) or {})
    at = open_page(text=TIRED, measure=measure, head="4-2")
    assert not asked, "roles are those of single heads"
    assert not [
        text
        for text in said(at, "why")
        if text.startswith(("Raw attention: In head", "Raw attention: On the built-in"))
    ]
    assert [text for text in said(at, "why") if "of 72 heads" in text]


@pytest.mark.parametrize("measure", ["rollout", "residual"])
def test_a_measure_that_mixes_heads_keeps_the_head_in_the_link(measure):
    at = open_page(text=TIRED, measure=measure, head="5-7")
    assert link(at)["head"] == "5-7"
    at.session_state["measure"] = "raw"
    assert picture(run(at))["selection"]["head"] == [4, 6]


@pytest.mark.slow
def test_a_measure_asked_for_in_the_picture_is_believed_only_if_there_is_one():
    at = open_page(text=TIRED)
    at.session_state["measure"] = "value"
    assert picture(run(at))["measures"]["chosen"] == "value"
    at.session_state["measure"] = "<b>"
    assert picture(run(at))["measures"]["chosen"] == "raw"


def test_a_sentence_without_a_pronoun_opens_on_its_strongest_link_between_words_and_says_so():
    at = open_page(text="Dogs chase cats in quiet parks.")
    shown = picture(at)
    weights = drawn(at, 0)[3, 1].copy()
    weights[[0, -1]] = weights[:, [0, -1]] = 0
    np.fill_diagonal(weights, 0)
    q, k = np.unravel_index(weights.argmax(), weights.shape)
    assert shown["selection"] == {"head": [3, 1], "pins": [int(q)], "to": int(k)}
    assert shown["opening"]["said"] == (
        "This is the strongest link between two words in head 4-2, [CLS] and [SEP] left out."
    )
    assert picture(open_page(text="Dogs chase cats in quiet parks.", pin="1"))["opening"] is None
    chosen, text = shown["selection"], "Dogs chase cats in quiet parks."
    record, head = trace(text, load_model()), tuple(chosen["head"])
    for to, there in ((chosen["to"], True), (chosen["to"] + 1, False), (None, False)):
        now = Selection(head, tuple(chosen["pins"]), to)
        assert (opening.reason(Request(text), record, record.grid(), now) is not None) is there
    known = open_page(text=TIRED, pin="10", to="2")
    assert (drawn(known, 0)[3, 1, 1:-1, 1:-1] <= drawn(known, 0)[3, 1, 10, 2]).all(), "its strongest link"
    assert picture(known)["opening"] is None


def strongest_by_hand(record, head, first):
    """Of a decoder the strongest link from one unit to an earlier one, none of them before `first`."""
    links = {
        (q, k): record.weights[head][q, k] for q in range(first, len(record.tokens)) for k in range(first, q)
    }
    return max(links, key=links.get)


def test_of_a_decoder_the_first_token_is_left_out_and_is_said_once_where_it_is_a_special_one():
    plain = record_of(["Dogs", "chase", "cats", "in", "quiet", "parks"], split=None)
    first, *others = plain.tokens.pieces
    begin = replace(first, text="<s>", start=0, end=0, word=None, special=True, role="begin")
    begun = replace(plain, tokens=replace(plain.tokens, pieces=(begin, *others)))
    for record, request, names in (
        (plain, Request(plain.tokens.text), "the first token"),
        (begun, Request(plain.tokens.text), "<s>"),
        (begun, Request(plain.tokens.text, specials="hidden"), "the first token"),
    ):
        head, grid = (1, 4), record.grid(specials=request.specials)
        hidden = len(record.tokens) - len(grid)
        q, k = (unit - hidden for unit in strongest_by_hand(record, head, 1 + hidden))
        assert opening.reason(request, record, grid, Selection(head, (q,), k)) == {
            "said": f"This is the strongest link between two words in head 2-5, {names} left out.",
            "of": {"head": [1, 4], "pins": [q], "to": k},
        }


def test_the_figure_studio_draws_the_unit_and_the_width_that_its_controls_ask_for():
    at = open_page(figure="arcs_4-2_each_8.5_8_white_words_full")
    (made,) = mounted(at, "figure")
    assert ">didn't</text>" in made["svg"]
    assert "from “it”" in made["alt"]
    assert not made["clear"]
    (opens,) = re.findall(r"HeadScope, (\S+)\.$", made["alt"])
    shown = dict(parse_qsl(urlsplit(opens).query))
    assert shown["figure"] == "arcs_4-2_each_8.5_8_white_words_full"
    assert (shown["head"], shown["pin"]) == ("4-2", "10")
    assert shown["unit"] == "pieces", "the page stays as it is"
    (fits,) = [note for note in said(at, "note") if "so that the line fits" in note]
    assert re.fullmatch(r"The words are set in [4-7]\.\d points, so that the line fits into 8\.5 cm\.", fits)
    at.session_state["figure-column"] = "two columns, 17 cm"
    assert link(run(at))["figure"] == "arcs_4-2_each_17_8_white_words_full"
    (made,) = mounted(at, "figure")
    assert 'width="17.000cm"' in made["svg"]


def test_the_figure_studio_says_what_its_numbers_are_and_what_is_chosen():
    at = open_page(figure="matrix_4-2_each_9_8_transparent_pieces_full", measure="value", pin="none")
    (made,) = mounted(at, "figure")
    assert made["alt"].startswith("Value-weighted (attention block only) in head 4-2")
    assert made["clear"]
    assert not [note for note in said(at, "note") if "so that the line fits" in note]
    assert at.segmented_control(key="figure-column").value == "free"
    assert at.number_input(key="figure-width").value == 9


@pytest.mark.slow
def test_the_figure_studio_goes_along_with_another_measure_or_model():
    at = open_page(figure="matrix_4-12,5-2,4-12,4-1_each_8.5_8_white_pieces_full")
    drawn_as = [link(at)["figure"].split("_")[1]]
    for key, value in (("measure", "rollout"), ("measure", "raw"), ("model", "classroom")):
        at.session_state[key] = value
        run(at)
        assert not said(at, "problem")
        drawn_as.append(link(at)["figure"].split("_")[1])
        assert [at.multiselect(key="figure-heads").value] == [drawn_as[-1].split(",")]
    assert drawn_as == ["4-12,5-2,4-1", "4-1,5-1", "4-1,5-1", "2-2"]


@pytest.mark.slow
def test_what_the_model_did_not_read_is_said_above_the_picture_on_every_page():
    unknown, long = "The ᚠᚢᚦ ran.", "word " * 600
    assert said(open_page(text=unknown), "notice") == [
        "1 piece was not in the model's vocabulary: the model sees only [UNK] there."
    ]
    at = open_page("pages/compare.py", text=unknown, text2=long)
    first, second = said(at, "notice")
    assert first.startswith("A: 1 piece was not")
    assert second.startswith("B: The text was cut:")
    for file in ("pages/inside.py", "pages/learn.py", "pages/experiment.py"):
        assert said(open_page(file, text=unknown, model="minilm"), "notice") == [
            "1 piece was not in the model's vocabulary: the model sees only [UNK] there."
        ]
    (cut,) = said(open_page("pages/inside.py", text=long), "notice")
    assert cut == "The text was cut: 90 pieces were left out, for this model takes 512 at most."


@pytest.mark.slow
def test_comparing_a_model_with_itself_says_that_it_is_one():
    at = open_page("pages/compare.py", against="model")
    assert said(at, "notice") == ["A and B are the same model: choose another one for B."]
    assert "ready" not in picture(at), "no other sentence is asked for"
    link = picture(at)["query"]
    assert (link["against"], link["model2"], "text2" in link) == ("model", "minilm", False)
    assert "ready" in picture(open_page("pages/compare.py", text="The cat sat."))


def test_the_look_of_a_view_is_in_its_link_and_nothing_else_is_believed():
    look = {"tab": "lines", "also": "4-5,4-7", "least": "5", "sort": "weight", "between": "AB"}
    at = open_page(text=TIRED, **look)
    assert picture(at)["selection"]["look"] == look
    assert {key: link(at)[key] for key in look} == look
    at = open_page(text=TIRED, tab="<b>", least="99")
    assert "look" not in picture(at)["selection"]
    assert not {"tab", "least"} & set(link(at))
    assert len(said(at, "notice")) == 2


def test_the_agreement_example_counts_right():
    preset = next(p for p in presets.SENTENCES if p.name == "agreement")
    words = preset.text.split()
    assert words.index("are") - words.index("keys") == 6
    assert "six words back" in preset.look_for


def test_the_files_of_a_model_are_said_to_be_as_expected_only_where_they_were_compared(monkeypatch):
    told = []
    monkeypatch.setattr(controls, "say", told.append)
    for pinned in (True, False):
        one = SimpleNamespace(title="M", pinned=pinned, files_digest="0123456789abcdef0123")
        monkeypatch.setattr(cache, "at_hand", lambda *_, one=one: one)
        controls._digest("m", True)
    assert told == [
        "Files of M: SHA-256 0123456789abcdef…, as expected.",
        "Files of M: SHA-256 0123456789abcdef…, compared with none; --sha256 of the command line pins them.",
    ]


def test_a_moment_is_said_with_its_own_card():
    at = unopened(model="classroom")
    at.session_state["moment"] = 1000
    assert [text for text in said(run(at), "note") if text.startswith("After 1,000 steps its best head, ")]
