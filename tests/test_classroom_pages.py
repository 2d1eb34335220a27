"""The classroom's models on the pages: unknown words, the moments of the training, what stands beside a comparison."""

import html
import re
from contextlib import nullcontext
from types import SimpleNamespace
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch
from boards import courses_of

from mha_core import load_model, trace
from mha_core.heads.notices import unread
from mha_core.learning.classroom.moments import MOMENTS
from mha_core.learning.classroom.pairs import FAMOUS
from mha_core.learning.classroom.shipped import report
from mha_core.wording import head_name
from pages.parts.explore import beside, moments
from pages.parts.explore.beside import moved_most
from pages.parts.explore.moments import said as moment_said
from pages.parts.frame import presets, words
from pages.parts.frame.request import Request, model_allowed
from pages.parts.training import picture_board
from pages.parts.training.picture_board import live_board, passed
from pages.parts.training.picture_board import said as came_out

CARD = {
    "step": 400, "head": "2-1", "pass": 0.25, "pairs": 400, "interval": [0.2, 0.3], "animate": 0.5, "inanimate": 0.0,
    "answers": {"exact": 0.5, "better": 0.75}, "without_head": {"exact": 0.25, "better": 0.5},
    "pointing": ["2-1", "2-3"], "without_pointing": {"exact": 0.125, "better": 0.75},
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return load_model("classroom", device="cpu")


def test_what_it_does_not_know_is_said_and_what_it_knows_is_offered(model):
    said = [notice.text for notice in unread(trace("The zebra didn't cross the street.", model))]
    assert said == ["1 piece was not in the model's vocabulary: the model sees only `[UNK]` there."]
    known = model.tokenizer.known_words
    assert known is not None
    assert {"animal", "street", "wide"} <= set(known)
    assert not set(known) & {"[PAD]", "[UNK]", "[MASK]"}


def test_the_words_that_a_model_knows_are_counted_and_offered_once(monkeypatch):
    offered, said = [], []
    monkeypatch.setattr(words.st, "popover", lambda label, **_: offered.append(label) or nullcontext())
    monkeypatch.setattr(words, "say", said.append)
    few = SimpleNamespace(known_words=("a", "dog", "ran"))
    words.known([few, few, SimpleNamespace(known_words=None)])
    assert (offered, said) == (["The 3 words it knows"], ["a dog ran"])


def test_every_sentence_that_is_offered_first_is_known(model):
    pair = presets.PAIRS[0]
    assert pair.model == "classroom"
    assert not any(unread(trace(text, model)) for text in (pair.a, pair.b))
    assert FAMOUS["street"].texts == (pair.a, pair.b)


def test_the_head_beside_is_the_one_with_most_on_the_noun_that_is_meant(model):
    pair = presets.PAIRS[0]
    a, b = (trace(text, model).grid(words=True) for text in (pair.a, pair.b))
    found = moved_most(a, b, pair)
    it, animal, street = (a.find(word)[0] for word in ("it", "animal", "street"))
    smaller = np.minimum(a.weights[:, :, it, animal], b.weights[:, :, it, street])
    layer, head = np.unravel_index(smaller.argmax(), smaller.shape)
    assert found is not None
    assert found[0] == f"{layer + 1}-{head + 1}"
    masses = [x.weights[layer, head, it, noun] for x in (a, b) for noun in (animal, street)]
    assert [float(share.split()[0]) for share in found[1:]] == pytest.approx(
        [100 * m for m in masses], abs=0.06
    )


@pytest.mark.slow
def test_the_pair_opens_in_the_other_models_as_the_two_sentences_it_is(monkeypatch):
    pair, said = presets.PAIRS[0], []
    monkeypatch.setattr(beside, "markup", said.append)
    told: list[str] = []
    monkeypatch.setattr(beside, "say", lambda text, *_: told.append(text))
    for name in ("heading", "table"):
        monkeypatch.setattr(beside, name, lambda *_: None)
    beside.classroom(Request(pair.a, model="classroom", other=Request(pair.b, model="classroom")))
    links = re.findall(r'href="\./compare\?([^"]+)"[^>]*>(.*?)<', html.unescape(said[-1]))
    asked = {name: dict(parse_qsl(query)) for query, name in links}
    assert {
        name: (one["text"], one["text2"], one["against"]) for name, one in asked.items()
    } == dict.fromkeys(("Classroom, twin", "MiniLM"), (pair.a, pair.b, "sentence"))
    assert [one.get("model") for one in asked.values()] == ["classroom-twin", "minilm"]
    assert told == [beside.WHAT_IT_IS, f"{beside.THE_TWIN} {beside.WHAT_IT_PROVES}", beside.WHY_MINILM]
    told.clear()
    monkeypatch.setattr(beside, "models", lambda: {"classroom": "Classroom", "minilm": "MiniLM"})
    beside.classroom(Request(pair.a, model="classroom", other=Request(pair.b, model="classroom")))
    assert told == [beside.WHAT_IT_IS, beside.WHY_MINILM], "of a model that is not there nothing is said"
    told.clear()
    feared = next(pair for pair in presets.PAIRS if pair.word == "they")
    beside.classroom(Request(feared.a, model="classroom", other=Request(feared.b, model="classroom")))
    assert told == [beside.WHAT_IT_IS, beside.UNKNOWN_WORDS], (
        "of words that it does not know nothing is concluded"
    )


def test_the_model_opens_with_its_own_head():
    assert head_name(presets.OPENING["classroom"]) == report()["models"]["seed-1"]["head"]


def test_a_moment_says_how_far_it_is_and_only_moments_of_the_classroom_are_models():
    assert "After 400 steps its best head, 2-1, passes 25.0 % of 400 pairs" in moment_said(CARD)
    assert moment_said(None) == ""
    assert model_allowed("classroom@400")
    assert not model_allowed("minilm@400")
    assert not model_allowed("classroom@../400")


def test_at_a_moment_both_sides_are_the_model_as_it_was_then_and_another_model_is_as_it_is():
    both = Request("a", model="classroom", other=Request("b", model="classroom"))
    then = moments.at(both, 400)
    assert [(side.text, side.model) for side in (then, then.other)] == [
        ("a", "classroom@400"),
        ("b", "classroom@400"),
    ]
    mixed = moments.at(Request("a", model="classroom", other=Request("a", model="minilm")), 400)
    assert [mixed.model, mixed.other.model] == ["classroom@400", "minilm"]
    untrained = moments.at(
        Request("a", model="classroom", other=Request("a", model="classroom", trained=False)), 0
    )
    assert [untrained.model, untrained.other.model] == ["classroom@0", "classroom"]
    assert moments.at(both, MOMENTS[-1]) is both


def test_play_goes_on_from_where_the_slider_stands_and_from_the_start_at_its_end(monkeypatch):
    def pressed(**session):
        monkeypatch.setattr(moments.st, "session_state", session)
        moments._toggle()
        return session.get(moments.PLAYING), session.get(moments.NEXT)

    assert pressed(moment=MOMENTS[3]) == (True, None)
    assert pressed(moment=MOMENTS[-1]) == (True, MOMENTS[0])
    assert pressed(**{moments.PLAYING: True, "moment": MOMENTS[-1]}) == (False, None)


def test_what_came_out_says_what_is_left_without_the_head():
    assert passed(CARD, CARD | {"head": "1-4", "pass": 0.01}) == (
        "Head **2-1** passes 25.0 % of 400 pairs (95 %: 20.0 % to 30.0 %); with an animal 50.0 %, without 0.0 %. "
        "Untrained the best head, 1-4, passes 1.0 %."
    )
    second, third = came_out(CARD)
    assert "Without 2-1: 25.0 % and 50.0 %" in second
    assert "2-1 and 2-3 point at the right noun" in third
    assert "named in 12.5 %, and the right one of the two is preferred in 75.0 %" in third
    assert len(came_out(CARD | {"pointing": ["2-1"]})) == 1


def test_the_live_board_draws_the_row_of_it_of_every_head():
    weights = np.random.default_rng(0).dirichlet(np.ones(12), (2, 2, 4, 12)).astype(np.float32)
    row = {"step": 16, "loss": 3.5, "head": "2-1", "pass": 0.1, "right": 0.3, "wrong": 0.2}
    board = live_board([row], {"step": 16, "weights": weights})
    shown = [block for line in board.blocks if line["type"] == "row" for block in line["items"]]
    pictures = [item for block in shown if block["type"] == "column" for item in block["items"]]
    assert [picture["shape"] for picture in pictures] == [[8, 12], [8, 12], [8, 12, 12], [8, 12, 12]]
    arcs = [block for block in board.blocks if block["type"] == "arcs"]
    numbers = np.concatenate(board._arrays)
    for text, block in enumerate(arcs):
        np.testing.assert_array_equal(numbers[block["at"] : block["at"] + 12], weights[text, 1, 0, 7])
    for text in (0, 1):
        at = pictures[text]["at"]
        np.testing.assert_array_equal(numbers[at : at + 96].reshape(2, 4, 12), weights[text, :, :, 7])
    assert pictures[0]["rows"] == [f"{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]
    assert pictures[0]["cols"][7] == "it"


def test_the_live_curves_have_each_its_own_number(monkeypatch):
    drawn = courses_of(monkeypatch, picture_board)
    row = {"step": 16, "loss": None, "head": "2-1", "pass": 0.1, "right": 0.3, "wrong": 0.2}
    rows = [row, row | {"step": 32, "loss": 3.5, "pass": 0.15}]
    live_board(rows, {"step": 32, "weights": np.full((2, 2, 4, 12, 12), 1 / 12, np.float32)})
    assert {key: ways for key, (ways, _) in drawn.items()} == {
        "pairs": [
            ("passed", [(16, 0.1), (32, 0.15)]),
            ("on the right noun", [(16, 0.3), (32, 0.3)]),
            ("on the other", [(16, 0.2), (32, 0.2)]),
        ],
        "loss": [("loss", [(32, 3.5)])],
    }


def test_playing_goes_on_one_moment_at_a_time_and_stops_at_the_last(monkeypatch):
    session, reruns = {moments.PLAYING: True}, []
    monkeypatch.setattr(moments.st, "session_state", session)
    monkeypatch.setattr(moments.st, "rerun", lambda: reruns.append(session.get(moments.NEXT)))
    for _ in range(2):  # the first run of a fragment draws what is shown
        moments._advance(MOMENTS[3])
    assert (reruns, session[moments.PLAYING]) == ([MOMENTS[4]], True)
    for _ in range(2):
        moments._advance(MOMENTS[-2])
    assert (reruns, session[moments.PLAYING]) == ([MOMENTS[4], MOMENTS[-1]], False)


def test_a_moment_of_the_training_without_training_has_random_weights():
    trained, untrained = (load_model("classroom@400", trained=one) for one in (True, False))
    assert untrained.title == "Classroom after 400 steps, untrained"
    assert untrained.digest.startswith("untrained")
    # Their state: it is plain in whatever layout the weights are kept, and torch compares none of oneDNN's own.
    a, b = (model.encoder.state_dict() for model in (trained, untrained))
    assert a.keys() == b.keys()
    assert not any(
        torch.equal(a[name], b[name]) for name in a if name.endswith("weight") and "norm" not in name
    )
