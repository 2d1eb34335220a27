"""State: changing one thing changes exactly that on the page, nothing old stays, and the link says it all."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from bert_folders import random_bert, write
from streamlit.testing.v1 import AppTest
from visit import (
    STEP,
    TIRED,
    TWO,
    WIDE,
    bodies,
    drawn,
    link,
    mounted,
    open_page,
    picture,
    press_example,
    roles_of,
    run,
    said,
)

from mha_core import grid_of, load_model, models, trace
from mha_core.heads.measures import importance
from pages.parts.frame import shell, state
from pages.parts.frame.state import LINK_CHARS
from pages.parts.serve import cache

pytestmark = pytest.mark.slow  # every test opens a page of the app

COMPARE = "pages/compare.py"
OTHER = "bert-base-uncased"  # a small stranger answers to this name
OWN = "The cat saw it."


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two layers of three heads that guess a [MASK], and its untrained twin."""
    folder = (
        tmp_path_factory.mktemp("small") / "two-by-three"
    )  # the folder above it has a number, whichever is free
    folder.mkdir()
    write(folder, random_bert("BertForMaskedLM", num_hidden_layers=2, num_attention_heads=3))
    return {trained: load_model(str(folder), trained=trained) for trained in (True, False)}


@pytest.fixture(autouse=True)
def two_models(monkeypatch, small):
    def load(name: str, trained: bool = True, **_options: object):
        return load_model(name, trained=trained) if name == "minilm" else small[trained]

    monkeypatch.setattr(cache, "load_model", load)
    monkeypatch.setattr(models, "is_here", lambda _name: True)
    return load


@dataclass(frozen=True)
class Asked:
    """What a reader has set, by the names of the link; head, pins and target as the picture has them."""

    text: str = TWO[0]
    pair: str = TWO[1]
    model: str = "minilm"
    weights: str = "trained"
    unit: str = "pieces"
    specials: str = "shown"
    measure: str = "raw"
    head: tuple[int, int] = (1, 2)
    pins: tuple[int, ...] = (3,)
    to: int | None = 5

    def link(self) -> dict[str, str]:
        first = {"pair": "", "model": "minilm", "weights": "trained", "unit": "pieces", "specials": "shown"}
        first["measure"] = "raw"
        query = {key: getattr(self, key) for key in first if getattr(self, key) != first[key]}
        query |= {"text": self.text, "head": f"{self.head[0] + 1}-{self.head[1] + 1}"}
        query |= {"pin": ",".join(map(str, self.pins)) or "none"}
        return query if self.to is None else {**query, "to": str(self.to)}

    def grid(self, load):
        """The numbers, from the engine alone."""
        used = load(self.model, self.weights == "trained")
        tokens = trace(self.text, used, pair=self.pair or None).tokens
        found = importance(tokens, used, self.measure).weights
        return grid_of(tokens, found, self.unit == "words", self.specials)


def shows(at: AppTest, asked: Asked, load) -> None:
    """Every control, the link, the choice in the picture and every weight are those of `asked`."""
    grid, (data,) = asked.grid(load), mounted(at, "record")
    for key in ("text", "pair"):
        assert at.text_input(key=key).value == getattr(asked, key)
    assert at.selectbox(key="model").value == asked.model
    assert picture(at)["measures"]["chosen"] == asked.measure
    for key in ("weights", "unit", "specials"):
        assert at.segmented_control(key=key).value == getattr(asked, key)
    assert link(at) == asked.link()
    assert drawn(at).shape == grid.weights.shape
    assert np.abs(drawn(at) - grid.weights).max() < STEP
    assert (data["words"], data["specialsShown"]) == (asked.unit == "words", asked.specials)
    assert data["title"] == f"{asked.text} {asked.pair}".strip()
    assert data["model"] == load(asked.model, asked.weights == "trained").title
    chosen = {"head": list(asked.head), "pins": list(asked.pins), "to": asked.to}
    assert picture(at)["selection"] == chosen


# What changes, to what, and where the words then stand: positions of one sentence mean nothing in another.
STRONGEST = {"pins": (-1,), "to": -1}
CHANGES = (
    ({"text": OWN}, {"pins": (4,), "to": None}),
    ({"pair": "Then it rained."}, {"pins": (11,), "to": None}),
    ({"pair": ""}, STRONGEST),  # without a pronoun it opens on the strongest link between two words
    ({"model": OTHER}, {}),
    ({"weights": "untrained"}, {}),
    ({"unit": "words"}, {}),
    ({"specials": "hidden"}, {"pins": (2,), "to": 4}),
    ({"specials": "renormalised"}, {"pins": (2,), "to": 4}),
    ({"measure": "value"}, {}),
)


@pytest.mark.parametrize(("change", "follows"), CHANGES, ids=lambda part: "-".join(map(str, part.values())))
def test_one_change_changes_that_and_nothing_else(change, follows, two_models):
    asked = Asked()
    at = open_page(**asked.link())
    shows(at, asked, two_models)
    ((key, value),) = change.items()
    set_control(at, key, value)
    if follows is STRONGEST:
        follows = strongest(replace(asked, **change).grid(two_models), asked.head)
    shows(at, replace(asked, **change, **follows), two_models)


def test_after_another_model_the_chosen_words_are_where_it_cuts_them_or_forgotten(monkeypatch):
    monkeypatch.setattr(cache, "load_model", load_model)
    text = "Zbigniew said that the old dog was late."
    at = open_page(
        text=text, model="smollm2", pin="9", to="8"
    )  # Z b ign iew said that the old dog was late .
    assert named(at) == ["was", "dog"]
    set_control(at, "model", "classroom")  # for which a name is one piece
    assert (named(at), picture(at)["selection"]["pins"]) == (["was", "dog"], [6])
    set_control(at, "model", "minilm")  # [CLS] z ##big ##nie ##w said that the old dog was late . [SEP]
    assert (named(at), picture(at)["selection"]["pins"]) == (["was", "dog"], [10])
    at = open_page(text=text, pin="0", to="9")
    assert named(at) == ["[CLS]", "dog"]
    set_control(at, "model", "smollm2")  # which has no such token: it opens as it does for a visitor
    first = open_page(text=text, model="smollm2", head=link(at)["head"])
    assert (named(at), "dog" in named(at)) == (named(first), False)


@pytest.mark.long
@pytest.mark.parametrize("page", ["experiment", "specialization", "atlas"])
def test_another_model_chosen_on_another_page_leaves_the_chosen_words_what_they_are(page, monkeypatch):
    monkeypatch.setattr(cache, "load_model", load_model)
    at = open_page(text="The old dog barked because it saw a cat.", pin="6", to="3")
    assert named(at) == ["it", "dog"]
    for name in (page, "training"):
        at.switch_page(f"pages/{name}.py")
        run(at)
    at.selectbox(key="model").set_value("classroom")  # which puts no [CLS] in front
    run(at)
    at.switch_page("app.py")
    assert (named(run(at)), link(at)["pin"]) == (["it", "dog"], "5")
    at.query_params["pin"] = "2"
    assert named(run(at))[0] == "dog", "and a link that is followed later says what it says"


def test_going_back_to_another_page_takes_the_words_of_its_own_link(monkeypatch):
    shown = object()
    session = {state.DRAWN: shown, state.PAGE: "Explore"}
    monkeypatch.setattr(state.st, "session_state", session)
    monkeypatch.setattr(state, "params", dict)
    monkeypatch.setattr(state, "texts_sent", dict)
    monkeypatch.setattr(state, "values_of", lambda _: {})
    monkeypatch.setattr(state, "went_back_or_forward", lambda: False)
    state.enter("Experiment")
    assert session[state.LEFT] is shown
    monkeypatch.setattr(state, "went_back_or_forward", lambda: True)
    state.enter("Compare")
    assert state.LEFT not in session


def named(at: AppTest) -> list[str]:
    """The words that are looked from, and the one that is looked at."""
    chosen, (record,) = picture(at)["selection"], mounted(at, "record")
    return [record["names"][unit] for unit in (*chosen["pins"], chosen["to"])]


def strongest(grid, head) -> dict:
    """The strongest link between two different words, by hand."""
    words = [i for i, unit in enumerate(grid.units) if not unit.special]
    pairs = [(q, k) for q in words for k in words if q != k]
    q, k = max(pairs, key=lambda pair: grid.weights[head][pair])
    return {"pins": (q,), "to": k}


def set_control(at: AppTest, key: str, value: str) -> AppTest:
    kind = {"text": at.text_input, "pair": at.text_input, "model": at.selectbox}
    if key == "measure":  # its switch is in the picture
        at.session_state["measure"] = value
        return run(at)
    kind.get(key, at.segmented_control)(key=key).set_value(value)
    return run(at)


@pytest.mark.parametrize("measure", ["raw", "value", "rollout", "residual"])
@pytest.mark.parametrize(("unit", "specials"), [("words", "hidden"), ("pieces", "renormalised")])
def test_units_and_specials_hold_for_every_measure(measure, unit, specials, two_models):
    head = {"rollout": (1, 0), "residual": (1, 0)}.get(measure, (1, 2))
    asked = Asked(OWN, "", unit=unit, specials=specials, measure=measure, head=head, pins=(1,), to=2)
    at = open_page(**asked.link())
    shows(at, asked, two_models)
    set_control(at, "specials", "shown")
    shows(at, replace(asked, specials="shown", pins=(2,), to=3), two_models)


def test_the_relevance_is_drawn_where_the_model_guesses(two_models):
    asked = Asked(
        "The [MASK] saw it.", "", OTHER, measure="gradient", head=(0, 0)
    )  # one map of the whole model
    shows(open_page(**asked.link()), asked, two_models)


@pytest.mark.parametrize(
    ("change", "chosen"),
    [
        ({"head": "6-11"}, {"head": (5, 10)}),
        ({"pin": "2,7"}, {"pins": (2, 7)}),
        ({"pin": "none"}, {"pins": (), "to": None}),
        ({"to": "9"}, {"to": 9}),
    ],
)
def test_a_choice_in_the_picture_changes_that_and_nothing_else(change, chosen, two_models):
    at = open_page(**Asked().link())
    for key, value in change.items():
        at.query_params[key] = value
    shows(run(at), replace(Asked(), **chosen), two_models)


def test_a_press_in_the_picture_is_in_the_link_before_the_page_is_drawn(monkeypatch):
    kept = []
    monkeypatch.setattr(shell, "keep", kept.append)
    monkeypatch.setattr(shell, "chosen", lambda key: SimpleNamespace(head=(4, 3), pins=(1, 2), to=6))
    shell.follow("explore")
    (view,) = kept
    assert (view.head, view.pins, view.to) == ((4, 3), (1, 2), 6)


# What was there before


def test_an_example_opens_afresh_in_the_chosen_head_without_the_old_second_sentence_words_and_target():
    at = open_page(**Asked().link())
    press_example(at, "wide")
    assert link(at) == {"text": WIDE, "head": "2-3", "pin": "10"}
    assert at.text_input(key="pair").value == ""
    press_example(at, "two sentences")
    assert (at.text_input(key="text").value, at.text_input(key="pair").value) == TWO


def test_a_new_sentence_is_compared_with_itself_and_no_longer_with_the_old_ones_twin():
    at = open_page(COMPARE)
    assert at.text_input(key="text2").value == WIDE
    at.switch_page("app.py")
    set_control(run(at), "text", OWN)
    at.switch_page(COMPARE)
    assert run(at).text_input(key="text2").value == OWN


def test_an_example_is_compared_with_its_own_twin():
    at = open_page(COMPARE, text=OWN, text2="The cat saw her.")
    at.switch_page("app.py")
    press_example(run(at), "trophy")
    run(at).switch_page(COMPARE)
    assert run(at).text_input(key="text2").value.endswith("too small.")


def test_a_model_chosen_on_one_page_is_not_forgotten_on_a_page_that_begins_with_it():
    at = open_page("pages/experiment.py", text=OWN, model="minilm")
    at.switch_page("app.py")
    assert link(run(at))["model"] == "minilm"
    at.switch_page("pages/experiment.py")
    assert run(at).session_state["model"] == "minilm"
    at = open_page(text=OWN)
    assert "model" not in link(at), "nobody chose it"


def test_a_text_that_goes_on_keeps_what_is_chosen_and_is_compared_with_no_sentence_of_before(monkeypatch):
    session = {"text": OWN, "pair": "", "text2": WIDE}
    monkeypatch.setattr(state.st, "session_state", session)
    state.grow(f"{OWN} And")
    assert session == {"text": f"{OWN} And", "pair": ""}


@pytest.mark.parametrize("b", [WIDE, "word " * LINK_CHARS], ids=["in the address", "too long for it"])
def test_sentence_b_stays_while_sentence_a_is_mended(b):
    at = open_page(COMPARE, text=TIRED, text2=b, to="2")
    at.text_input(key="text").set_value("The animal did cross the street because it was too tired.")
    run(at)
    assert at.text_input(key="text2").value == b
    assert "to" not in link(at)


@pytest.mark.parametrize("against", ["weights", "model"])
def test_a_minimal_pair_is_two_sentences_whatever_was_compared_before(against):
    at = open_page(COMPARE, against=against)
    assert not [box for box in at.text_input if box.key == "text2"]
    press_example(at, "key / keys")
    assert at.text_input(key="text2").value == "The keys to the cabinets are on the table."
    assert "against" not in link(at)


def test_going_back_takes_what_the_link_says_and_not_what_was_typed_last(monkeypatch):
    at = open_page(text=OWN, unit="words")
    at.query_params["text"] = TIRED
    del at.query_params["unit"]
    assert run(at).text_input(key="text").value == OWN
    at.query_params["text"] = TIRED
    del at.query_params["pin"]
    address = link(at)
    monkeypatch.setattr(state, "went_back_or_forward", lambda: True)
    run(at)
    assert at.text_input(key="text").value == TIRED
    assert link(at) == address, "Back leads to an address and changes none"


# The link


def test_every_parameter_of_explore_comes_back_from_its_own_link():
    asked = Asked(OWN, "Then it rained.", OTHER, "untrained", "words", "renormalised", "value", to=2)
    assert link(open_page(**asked.link())) == asked.link()


def test_every_parameter_of_compare_comes_back_from_its_own_link():
    asked = Asked(OWN, "", OTHER, "untrained", "words", "hidden", "value", pins=(1,), to=2).link()
    for more in ({"text2": "The cat saw her."}, {"against": "weights"}, {"against": "model"}):
        at = open_page(COMPARE, **asked, **more)
        assert link(at) == {"text2": OWN, **asked, **more}
    at = open_page(COMPARE, text=OWN, model2=OTHER, against="model", pin="4")
    assert [record["model"] for record in mounted(at, "record")] == ["MiniLM", "two-by-three"]
    assert link(at)["model2"] == OTHER


def test_what_is_compared_is_not_in_the_link_of_explore():
    at = open_page(text=OWN, text2=WIDE, against="model", model2=OTHER, pin="4")
    assert link(at) == {"text": OWN, "head": "4-2", "pin": "4"}
    at = open_page(COMPARE, text=OWN, text2=WIDE, against="weights")
    assert {"text2", "against"} <= link(at).keys()
    at.switch_page("app.py")
    assert not {"text2", "against", "model2"} & link(run(at)).keys()


@pytest.mark.parametrize(
    ("length", "kept"), [pytest.param(LINK_CHARS, True, marks=pytest.mark.long), (LINK_CHARS + 1, False)]
)
def test_a_text_too_long_for_an_address_stays_in_its_box_only(length, kept):
    long = ("ab " * length)[: length - 1] + "x"
    at = open_page(text=long, pair=long)
    assert at.text_input(key="text").value == at.text_input(key="pair").value == long
    assert ("text" in link(at), "pair" in link(at)) == (kept, kept)
    at = open_page(COMPARE, text=OWN, text2=long)
    assert ("text2" in link(at)) is kept


def test_the_menu_takes_the_whole_view_along():
    query = Asked(unit="words", pins=(3,), to=5).link()
    at = open_page(**query, present="1", hide="title")
    for entry in at.get("page_link"):
        assert dict(pair.split("=", 1) for pair in entry.proto.query_string.split("&")).keys() == query.keys()


def places(block, inside=()):
    """The links of the menu, each with the keys of the containers that it stands in."""
    for entry in block.children.values():
        if entry.type == "page_link":
            yield entry.proto.label, {key.rpartition("-")[2] for key in inside}
        elif hasattr(entry, "children"):
            yield from places(entry, (*inside, getattr(entry.proto, "id", "") or ""))


@pytest.mark.parametrize(
    ("page", "entry", "tab"),
    [
        ("app.py", "Explore", None),
        ("pages/specialization.py", "Heads", "Jobs"),
        ("pages/atlas.py", "Heads", "Atlas"),
        ("pages/training.py", "Learn", "Training"),
    ],
)
def test_the_menu_marks_the_entry_and_the_tab_of_the_page_that_is_open(page, entry, tab):
    links = list(places(open_page(page)._tree))
    assert [label for label, inside in links if {"top", "here"} <= inside] == [entry]
    assert [label for label, inside in links if {"tabs", "tab"} <= inside] == [tab] * (tab is not None)


def test_presenter_mode_is_entered_and_left_by_the_button_and_is_in_the_link():
    at = open_page()
    assert picture(at)["present"] is False
    for label, present in (("Present", True), ("Leave presenter mode", False)):
        assert at.button(key="presenter").label == label
        at.button(key="presenter").click()
        run(at)
        assert (picture(at)["present"], link(at).get("present")) == (present, "1" if present else None)
    assert not [button for button in open_page("pages/specialization.py").button if button.key == "presenter"]


def test_a_link_that_hides_nothing_known_hides_nothing():
    at = open_page(hide="everything")
    assert not [body for body in bodies(at) if "display: none" in body]


@pytest.mark.parametrize("page", ["app.py", COMPARE])
def test_nothing_but_specials_leaves_one_notice_and_no_picture(page):
    at = open_page(page, text="[PAD]", specials="hidden")
    assert said(at, "notice") == [
        "With [CLS], [PAD] and [SEP] hidden nothing of this text is left to look at."
    ]
    assert not said(at, "problem")
    assert not mounted(at, "view")


@pytest.mark.parametrize("page", ["app.py", COMPARE])
def test_a_preset_with_another_second_text_is_no_preset(page):
    at = open_page(page, text=TWO[0], pair="Then it rained.")
    assert not said(at, "look") or page == COMPARE
    assert picture(at)["selection"]["pins"] == [11]


def test_the_roles_are_those_of_the_weights_on_the_screen(monkeypatch):
    role = SimpleNamespace(
        key="copy", letter="=", label="of the trained", evidence="", kind="copy", score=0.5
    )
    monkeypatch.setattr(cache, "roles_of", lambda name, trained=True: {(2, 4): role} if trained else {})
    for weights, there in (("untrained", []), ("trained", ["3-5"])):
        (data,) = mounted(open_page(text=OWN, weights=weights, head="1-1"), "record")
        assert list(roles_of(data)) == there


def test_each_of_both_sides_is_measured_by_its_own_model(two_models):
    at = open_page(COMPARE, text=OWN, against="weights", measure="value", head="1-1")
    for side, weights in enumerate(("trained", "untrained")):
        wanted = Asked(OWN, "", weights=weights, measure="value").grid(two_models).weights
        assert np.abs(drawn(at, side) - wanted).max() < STEP


@pytest.mark.parametrize(
    ("page", "query", "there"),
    [
        ("pages/inside.py", {}, True),
        ("pages/inside.py", {"part": "Variants"}, True),
        ("pages/inside.py", {"part": "By hand"}, False),
        ("pages/learn.py", {}, True),
        ("pages/learn.py", {"show": "Quiz"}, False),
        ("pages/specialization.py", {}, False),
    ],
)
def test_the_box_is_there_where_a_part_reads_the_sentence(page, query, there, monkeypatch):
    boxes = []
    container = shell.st.container
    monkeypatch.setattr(
        shell.st, "container", lambda *a, **o: boxes.append(o.get("key")) or container(*a, **o)
    )
    open_page(page, **query)
    assert ("controls" in boxes, "controls-kept" in boxes) == (there, not there)


@pytest.mark.parametrize("page", ["pages/specialization.py", "pages/atlas.py"])
def test_a_page_of_texts_of_its_own_offers_model_and_weights_alone_and_keeps_the_link_whole(page):
    at = open_page(page, unit="words", specials="hidden")
    assert said(at, "summary")[0] == "MiniLM, trained"
    offered = {control.key for control in (*at.button_group, *at.text_input, *at.selectbox)}
    assert offered >= {"model", "weights"}
    assert not offered & {"unit", "specials", "pair"}
    assert (link(at)["unit"], link(at)["specials"]) == ("words", "hidden")
