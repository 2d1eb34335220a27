"""Inside, part by part: what is told when something is pressed or typed, and what is said of layers made up."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from boards import flat, words_of

from mha_core import Projections
from mha_core.inside import CONFIGURATIONS, CellEdit, Edits, Parity, ScoreEdit, edited, example, run_layer
from mha_core.inside.many import Outside
from mha_core.inside.worked import W_O_CHOICES
from pages.parts.frame import state
from pages.parts.frame.request import Request
from pages.parts.inside import (
    cache_growth,
    changes,
    check,
    fields,
    groups,
    hulls,
    linked,
    many,
    mixing,
    origin_panel,
    reading,
    rotation,
    scene,
    screens,
    sizes,
    steps,
    variants,
    view,
    walk,
)
from pages.parts.inside import example as by_hand
from pages.parts.inside.route import STATIONS
from pages.parts.inside.shown_code import program
from pages.parts.inside.stage import Stage
from pages.parts.picture.tiles import Board

X = np.array([[1, 0, 2], [0, 1, 1], [2, 1, 0]], np.float32)


def layer(heads=2, keys=2, bias=True):
    """Three tokens of three numbers; heads of width 4, whose numbers come from a fixed seed."""
    draw = np.random.default_rng(5).normal
    shapes = {"q": (heads, 3, 4), "k": (keys, 3, 4), "v": (keys, 3, 4), "o": (heads, 4, 3)}
    W = {name: draw(size=shape).astype(np.float32) for name, shape in shapes.items()}
    b = {name: draw(size=(len(W[name]), 4)).astype(np.float32) if bias else None for name in "qkv"}
    b_o = draw(size=3).astype(np.float32) if bias else None
    return Projections(W["q"], b["q"], W["k"], b["k"], W["v"], b["v"], W["o"], b_o)


def shown(plain, now=None, h=0, query=0, **more):
    labels = ("one", "two", "three")[: plain.n]
    now = plain if now is None else now
    return scene.Scene(labels, (False,) * plain.n, (1, h), query, plain, now, "key-1", Request("x"), **more)


@pytest.fixture
def link(monkeypatch):
    """What the link is told, change by change, and what is pressed: `link.press(module, value)`."""
    told = []
    monkeypatch.setattr(state, "change", told.append)
    told_here = SimpleNamespace(
        told=told,
        press=lambda module, value: monkeypatch.setattr(module, "heard_from", lambda *_: value),
        session=lambda module, kept: monkeypatch.setattr(module.st, "session_state", kept),
        params=lambda kept: monkeypatch.setattr(state, "params", lambda: kept),
    )
    told_here.params({})
    return told_here


# ---- what is pressed and typed


def test_back_next_and_the_map_lead_to_a_screen_and_leave_the_number_that_was_asked_about(link):
    keys = ("a", "b", "c")
    for step, now in ((1, 0), (-1, 2), (1, 2), (-1, 0), (2, 0), (None, 1)):
        link.press(screens, step)
        screens._turn("way", keys, now)
    for station in ("c", "d", 1):
        link.press(screens, station)
        screens._jump("way", keys)
    assert link.told == [{"at": "b", "cell": None}, {"at": "b", "cell": None}, {"at": "c", "cell": None}]


def test_a_pressed_token_is_followed_and_the_number_that_was_asked_about_is_left(link):
    kept = {}
    link.session(scene, kept)
    for value in (3, -1, 2.0, None, 2):
        kept["board"] = {"token": value}
        scene.token_chosen("board", "token", "this sentence", 3)
    assert kept[scene.FOLLOWED] == ("this sentence", 2, scene.JUST_NOW)
    assert link.told == [{"cell": None}]


def test_a_piece_stays_followed_in_its_sentence_until_the_link_names_another_word(link):
    """The second word has two pieces, 2 and 3; the second of them was followed last."""
    grid = SimpleNamespace(units=[SimpleNamespace(pieces=pieces) for pieces in ((0, 1), (2, 3), (4,))])
    for kept, pin, pins, query in (
        (("here", 3, "1"), "1", (1,), 3),
        (("here", 3, scene.JUST_NOW), "2", (2,), 3),
        (("here", 3, "1"), "2", (2,), 4),
        (("here", 3, "1"), None, (), 0),
        (("elsewhere", 3, "1"), "1", (1,), 2),
        (("elsewhere", 3, scene.JUST_NOW), None, (), 0),
        (None, "1", (1,), 2),
    ):
        link.session(scene, {scene.FOLLOWED: kept})
        link.params({} if pin is None else {"pin": pin})
        assert scene._asked_token(grid, SimpleNamespace(pins=pins), "here") == query, (kept, pin)


def test_token_head_and_numbers_of_the_example_are_in_the_link_where_they_are_not_as_at_first(link):
    kept = {}
    link.session(by_hand, kept)
    for row in (0, 1, 2, "1", None):
        link.press(by_hand, row)
        by_hand._followed()
        by_hand._row_pressed("picture")
    assert link.told == [{"row": None, "cell": None}] * 2 + [{"row": "2", "cell": None}] * 2
    link.told.clear()
    for head in ("1-1", "1-2", "1-3", None):
        link.press(by_hand, head)
        by_hand._head_pressed("picture")
    for h in (0, 1):
        kept["inside-example-head"] = h
        by_hand._head_chosen()
    assert link.told == [{"by": None, "cell": None}, {"by": "2", "cell": None}] * 2
    link.told.clear()
    by_hand._to_real()
    assert kept["part"] == "Step by step"
    for typed in ({"X": {"7": 1.5}, "W_q2": {"0": 2}}, {}, {"X": {"8": 1.0}}, "X", None):
        link.press(by_hand, typed)
        by_hand._typed("picture")
    assert link.told == [{"cell": None}, {"typed": "X:2:4:1.5,W_q2:1:1:2"}, {"typed": None}, {"typed": None}]


def test_numbers_of_the_example_stand_where_a_link_says_and_none_runs_on_into_the_next_row():
    """X is two by four, each matrix four by two."""
    link = (
        "X:2:4:1.5,X:3:1:7,W_q1:4:2:-3,W_q1:1:3:5,W_k2:1:1:2e-3,W_v1:4:4:1,W_v2:2:1:0,X:1:1:1e6,X:1:2:1000001"
    )
    typed = {"X": {"7": 1.5, "0": 1e6}, "W_q1": {"7": -3.0}, "W_k2": {"0": 0.002}, "W_v2": {"2": 0.0}}
    assert by_hand.read_typed(link) == typed
    assert by_hand.as_text(typed) == "X:2:4:1.5,X:1:1:1000000,W_q1:4:2:-3,W_k2:1:1:0.002,W_v2:2:1:0"


def test_a_box_takes_whole_numbers_from_its_least_to_its_most(link):
    told = []
    boxes = {"n": fields.Field("n", "Tokens", 5, 2, 9)}
    for value in (2, 9, 4.0, 1, 10, 2.5, "3", None):
        link.press(fields, ["n", value])
        fields._typed("board", boxes, lambda *given: told.append(given))
    for value in (["biases", False], ["other", 3], "n", ["n"]):
        link.press(fields, value)
        fields._typed("board", boxes, lambda *given: told.append(given))
    assert told == [("n", 2), ("n", 9), ("n", 4), ("biases", False)]
    read = []
    for text in ("2", "9", "1", "10", "x", ""):
        link.params({"n": text})
        read.append(boxes["n"].in_link())
    assert read == [2, 9, 5, 5, 5, 5]


def test_the_link_has_what_is_not_as_at_first(link, monkeypatch):
    for key, value in (("n", 4096), ("n", 2048), ("kv", 0), ("biases", True), ("biases", False)):
        sizes._told(key, value)
    rotation._pair_chosen("turned", 3)
    kept = {"inside-groups": 4, "inside-across": " She read it. ", "inside-unseen": [4, 0]}
    link.session(variants, kept)
    variants._groups_chosen()
    variants._second_typed("First.")
    kept["inside-across"] = "First."
    variants._second_typed("First.")
    assert link.told == [
        {"n": "4096"}, {"n": None}, {"kv": None}, {"biases": None}, {"biases": "false"}, {"turned": "3"},
        {"groups": "4"}, {"across": "She read it."}, {"across": None},
    ]  # fmt: skip
    link.told.clear()
    monkeypatch.setattr(changes, "change_link", link.told.append)
    for unseen, warm in (([4, 0], 0.5), ([], 1.0)):
        kept.update({"inside-unseen": unseen, "inside-temperature": warm})
        view._hidden()
        view._warmed()
    assert link.told == [{"unseen": "1,5"}, {"temperature": "0.5"}, {"unseen": None}, {"temperature": None}]


def test_what_a_link_brought_is_taken_back_at_once_and_what_was_done_here_step_by_step(link):
    nothing = dict.fromkeys(("divide", "causal", "temperature", "unseen", "edits"))
    kept = {}
    link.session(changes, kept)
    link.params({"divide": "false"})
    changes.undo()
    assert link.told == [nothing]
    changes.change_link({"unseen": "1"})
    link.params({"divide": "false", "unseen": "1"})
    changes.undo()
    assert link.told[1:] == [{"unseen": "1"}, {**nothing, "divide": "false"}]
    changes.undo()
    assert link.told[3:] == [nothing]


def test_a_switch_and_a_choice_are_in_the_link_only_where_they_are_not_as_at_first(link):
    kept = {}
    link.session(linked, kept)
    for first in (True, False):
        for value in (True, False):
            kept["widget"] = value
            linked._switched("key", "widget", first, link.told.append)
    for value in ("a", "b", None):
        kept["widget"] = value
        linked._chosen("key", "widget", "a")
    told = [one["key"] for one in link.told]
    assert told == [None, "false", "true", None, None, "b", None]
    read = []
    for text in ("true", "False", "TRUE", "", "x"):
        link.params({"key": text} if text else {})
        read.append([linked.on("key", first=first) for first in (True, False)])
    assert read == [[True, True], [False, False], [True, True], [True, False], [True, False]]


def test_every_change_is_said_and_all_tokens_are_hidden_only_when_none_is_left():
    labels = ("a", "b", "c")
    cells = tuple(
        CellEdit(*one) for one in (("W_q", 1, 0, 3, 2.5), ("W_o", 0, 2, 1, -1.0), ("W_k", 0, 0, 0, 0.0))
    )
    some = Edits(False, 0.5, True, (0, 2), cells, (ScoreEdit(0, 1, 2, 4.0),))
    assert changes.said_changes(some, labels) == [
        "not divided by √d_k",
        "temperature 0.5",
        "a causal mask",
        "2 hidden tokens",
        "one changed score",
        "W_q of head 2, row 1, column 4 = 2.5",
        "W_o of head 1, row 3, column 2 = -1",
        "one more number of matrices",
    ]
    for hidden, said in (((), []), ((1,), ["one hidden token"]), ((0, 1, 2), ["all tokens hidden"])):
        assert changes.said_changes(Edits(hidden_keys=hidden), labels) == said


# ---- screens and stations


def test_every_screen_stands_at_its_station_and_opens_with_a_number_of_its_own_table():
    assert [(one.key, one.station, one.cell) for one in walk.SCREENS] == [
        ("sentence", "sentence", ""), ("x", "x", "X"), ("qkv", "qkv", "Q"), ("heads", "qkv", "Q-all"),
        ("rotation", "qkv", ""), ("distance", "qkv", ""), ("scores", "scores", "raw"), ("scaled", "scores", "scores"),
        ("weights", "weights", "weights"), ("z", "z", "z"), ("row", "z", ""), ("w_o", "w_o", "Z"),
        ("output", "output", "output"), ("parts", "output", "parts"), ("gone", "output", ""), ("torch", "output", ""),
    ]  # fmt: skip
    assert {one.key: (one.name, one.about) for one in STATIONS} == {
        "sentence": ("sentence", "words become tokens"),
        "x": ("X", "each token is a row of numbers"),
        "qkv": ("Q K V", "each row is read three times"),
        "scores": ("scores", "every query meets every key"),
        "weights": ("weights", "a row of scores becomes shares of 100 %"),
        "z": ("Z", "the values are mixed by the weights"),
        "w_o": ("W_o", "all heads side by side, then mixed"),
        "output": ("output", "what attention hands on"),
    }


@pytest.mark.parametrize(
    ("choice", "columns"),
    [
        ("identity", lambda z: z),
        ("heads added", lambda z: [z[0] + z[2], z[1] + z[3], 0, 0]),
        ("heads swapped", lambda z: [z[2], z[3], z[0], z[1]]),
        ("mixed", lambda z: [z[0] + z[3], z[1] + z[2], z[0] - z[2], z[1] - z[3]]),
    ],
)
def test_every_w_o_of_the_example_does_to_the_heads_what_it_is_called(choice, columns):
    made = example(((1, 0, 2, 0), (0, 3, 0, 1)), output=W_O_CHOICES[choice])
    run = run_layer(made.x, made.weights)
    assert [len(set(row)) for row in run.concatenated.round(3).tolist()] == [4, 4], "none stands for another"
    expected = [columns([float(number) for number in row]) for row in run.concatenated]
    np.testing.assert_allclose(run.output, expected, atol=1e-6)


# ---- what is said of a layer


def test_each_line_of_torch_makes_what_has_the_shape_that_stands_beside_it():
    """Four heads on two key heads of width 4; the lines run one after the other."""
    used = layer(heads=4, keys=2)
    run = run_layer(X, used, Edits(hidden_keys=(1,)), is_causal=True)

    def linear(W, b):
        made = torch.nn.Linear(W.shape[1], len(b))
        made.weight.data, made.bias.data = torch.tensor(W.T.copy()), torch.tensor(b.copy())
        return made

    names = {"torch": torch, "x": torch.tensor(X)[None]}
    for name in "qkv":
        W, b = getattr(used, f"W_{name}"), getattr(used, f"b_{name}")
        names[f"W_{name}"] = linear(np.concatenate(list(W), axis=1), b.reshape(-1))
    names["W_o"] = linear(used.W_o.reshape(-1, 3), used.b_o)
    seen = []
    with torch.no_grad():
        for line, remark in program(run):
            exec(line, names)  # noqa: S102 - the lines on the page
            if remark.startswith("(1, "):
                made = line.partition(" = ")[0].partition(",")[0]
                seen.append(made)
                assert str(tuple(names[made].shape)) == remark, line
    assert seen == ["q", "q", "k", "v", "scores", "z", "output"]
    np.testing.assert_allclose(names["output"][0], run.output, atol=1e-5)


@pytest.mark.parametrize(
    ("at", "rotary", "stream", "start"),
    [
        (0, None, None, "the numbers of its word and of its position. All tokens enter layer 1"),
        (0, "turns", X * 2, "the numbers of its word. All tokens enter layer 1"),
        (1, "turns", X * 2, "what layer 1 made of it. All tokens enter layer 2"),
        (4, None, None, "what layer 4 made of it. All tokens enter layer 5"),
    ],
)
def test_what_x_is_is_said_by_layer_and_kind_of_model(monkeypatch, at, rotary, stream, start):
    monkeypatch.setattr(scene.cache, "model", lambda _: SimpleNamespace(title="Model, in 8 bits"))
    run = replace(run_layer(X, layer()), rotary=rotary, stream=stream)
    stage = Stage()
    reading.x(replace(shown(run), head=(at, 0)), stage)
    assert [words_of(block) for block in stage.words.blocks] == [
        f"X has one row per token: 3 numbers, {start} at once; up to here they know nothing of this layer's attention.",
        *(
            [
                "In Model X is what attention is given: the layer's input after its normalisation (pre\u2011LN); the "
                "input itself passes by and the output is added to it."
            ]
            if stream is not None
            else []
        ),
    ]


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_token_that_comes_later_is_not_there_yet_and_has_no_share(is_causal):
    run = run_layer(X, layer(), is_causal=is_causal)
    stage = Stage()
    reading.sentence(shown(run, h=1, query=1), stage)
    (grid,) = [block for block in flat(stage.picture.blocks) if block["type"] == "grid"]
    scores = (run.q[1, 1] @ run.k[1].T / 2)[: 2 if is_causal else 3]
    shares = [f"{100 * one:.1f} %" for one in np.exp(scores) / np.exp(scores).sum()]
    assert grid["head"] == ["", "token", "2-2: weight of two"]
    assert grid["rows"] == [
        list(one) for one in zip("123", ("one", "two", "three"), [*shares, "not there yet"][:3], strict=True)
    ]


@pytest.mark.parametrize(
    ("keys", "name", "said"),
    [
        (2, "q", "head 4: columns 13 to 16 of 16"),
        (2, "k", "key head 2: columns 5 to 8 of 8"),
        (2, "v", "key head 2: columns 5 to 8 of 8"),
        (4, "k", "head 4: columns 13 to 16 of 16"),
    ],
)
def test_over_each_matrix_stands_whose_columns_they_are(keys, name, said):
    used, board = layer(heads=4, keys=keys), Board()
    ruler, W, b = reading._matrix(board, shown(run_layer(X, used), h=3), name)["items"]
    place = 3 if name == "q" or keys == 4 else 1
    assert (ruler["count"], ruler["from"], ruler["to"], ruler["text"]) == (
        4 if name == "q" else keys, place, place + 1, said
    )  # fmt: skip
    numbers = np.concatenate(board._arrays)
    for block, of in ((W, getattr(used, f"W_{name}")[place]), (b, getattr(used, f"b_{name}")[place][None])):
        np.testing.assert_array_equal(numbers[block["at"] :][: of.size].reshape(block["shape"]), of)
    assert (W["name"], b["name"]) == (f"W_{name}", f"b_{name}")
    assert W["describe"] == f"W_{name} of this head, 3 by 4 numbers"


def test_of_shared_keys_it_is_said_who_reads_them_and_the_head_that_is_followed_is_marked():
    words, picture = groups.shared_keys(layer(heads=6, keys=2), 4)
    assert words_of(words) == (
        "Query heads 4, 5 and 6 read the same K and V: this layer has 2 key and value heads for 6 query heads "
        "(grouped queries). W_k and W_v are 3 × 8 each, W_q is 3 × 24; each token leaves 8 numbers of K and 8 of V "
        "instead of 24."
    )
    assert picture == {
        "type": "groups",
        "owner": [0, 0, 0, 1, 1, 1],
        "keys": 2,
        "chosen": 4,
        "describe": "6 query heads share 2 key and value heads",
    }
    assert groups.shared_keys(layer(), 1) == []


def test_outside_a_hull_is_only_what_a_plane_proves_and_the_distance_is_from_this_head_s(monkeypatch):
    drawn = []
    found = [
        Outside(distance, gap, np.zeros(3)) for distance, gap in ((0.5, 0.25), (0.75, 0.0), (0.25, -0.125))
    ]
    monkeypatch.setattr(hulls, "_all_outside", lambda _: found)
    monkeypatch.setattr(Board, "show", lambda board, *_: drawn.extend(flat(board.blocks)))
    hulls.hulls(shown(run_layer(X, layer(heads=3, keys=3)), h=1))
    said = [words_of(block) for block in drawn if block["type"] == "paragraph"]
    assert (
        "All heads added, as W_o adds them: outside the hulls of 1 of 3 heads; 0.75 away from this one's."
        in said
    )


@pytest.mark.parametrize(
    ("before", "last", "said"),
    [
        (None, "x = layer_norm(x + output)", "the layer adds its input X back"),
        (np.zeros_like(X), "x = x_before_the_norm + output", "the layer adds its input back"),
    ],
)
def test_the_residual_is_that_of_the_layer_s_kind(before, last, said):
    run = replace(run_layer(X, layer()), stream=before)
    stage = Stage()
    mixing.output(shown(run), stage)
    assert stage.lines == [("output = W_o(z)", "(1, 3, 3)"), (last, "the residual")]
    assert said in words_of(stage.words.blocks[0])


@pytest.mark.parametrize("bias", [True, False])
def test_under_the_output_stand_the_rows_of_w_o_of_the_head_and_the_parts_of_all(bias):
    used = layer(bias=bias)
    run = run_layer(X, used)
    here = shown(run, h=1, query=2, with_matrices=True)
    stage = Stage()
    mixing.output(here, stage)
    output, W_o = flat(stage.picture.blocks[:1]), stage.picture.blocks[-1]
    numbers = np.concatenate(stage.picture._arrays)

    def drawn(block):
        return numbers[block["at"] :][: math.prod(block["shape"])].reshape(block["shape"])

    (output,) = [block for block in output if "shape" in block]
    assert (output["name"], output["note"]) == ("output", "= Z W_o + b_o" if bias else "= Z W_o")
    assert (W_o["name"], W_o["note"]) == ("W_o", "the 4 rows of head 2: its z times these is its part")
    np.testing.assert_array_equal(drawn(output), run.output)
    np.testing.assert_array_equal(drawn(W_o), used.W_o[1])
    stage = Stage()
    mixing.parts(here, stage)
    (parts,) = [block for block in flat(stage.picture.blocks) if block.get("id") == "parts"]
    numbers = np.concatenate(stage.picture._arrays)
    own = [run.context[h, 2] @ used.W_o[h] for h in range(2)]
    np.testing.assert_allclose(drawn(parts), [*own, *([used.b_o] if bias else []), run.output[2]], atol=1e-5)
    assert parts["rows"] == ["2-1", "2-2", *(["b_o"] if bias else []), "output"]
    assert parts["note"] == ("each head, b_o, output" if bias else "each head, output")
    said = words_of(stage.words.blocks[1])
    assert said.startswith(
        f"A check: the 2 parts{' and b_o' if bias else ''} were computed head by head and added up;"
    )


@pytest.mark.parametrize("bias", [True, False])
def test_of_each_head_and_b_o_the_length_the_share_and_the_cosine_stand_beside_it(bias):
    run = run_layer(X, layer(heads=3, keys=3, bias=bias))
    parts = [run.context[h, 1] @ run.projections.W_o[h] for h in range(3)]
    b_o = run.projections.b_o if bias else np.zeros(3)
    output = sum(parts) + b_o
    length = float(np.sqrt(output @ output))

    def near(value):
        return pytest.approx(float(value), abs=1e-5)

    rows = [
        {
            "label": f"2-{h + 1}",
            "norm": near(np.sqrt(part @ part)),
            "share": near(part @ output / length**2),
            "cosine": near(part @ output / (length * np.sqrt(part @ part))),
            "chosen": h == 2,
        }
        for h, part in enumerate(parts)
    ]
    of_bias = {
        "label": "b_o",
        "norm": near(np.sqrt(b_o @ b_o)),
        "share": near(b_o @ output / length**2),
        "cosine": None,
    }
    assert mixing.head_table(shown(run, h=2, query=1)) == {
        "type": "heads",
        "rows": [*rows, of_bias] if bias else rows,
        "total": near(length),
    }


def test_a_score_is_typed_only_in_the_head_in_which_it_was():
    """Head 1's score of the second token for the third is typed over; its raw product is divided by two."""
    plain = run_layer(X, layer())
    now = edited(plain, Edits(scores=(ScoreEdit(0, 1, 2, 4.0),), hidden_keys=(0,)))

    def said(h, i, j):
        blocks = origin_panel._score(shown(plain, now, h=h), i, j)
        return words_of(blocks[0]), {
            k: v for one in blocks[1:] for k, v in one.items() if k in ("place", "value", "was")
        }

    def number(value):
        return f"{value:.4f}".rstrip("0").rstrip(".").replace("-", "−")

    def weight(row, at):
        return math.exp(row[at]) / sum(map(math.exp, row))

    for h, typed in ((0, True), (1, False)):
        products = plain.q[h] @ plain.k[h].T
        raw, before = float(products[1, 2]), [float(one) / 2 for one in products[1]]
        row = [before[1], 4.0 if typed else before[2]]
        by = (
            f"typed by you instead of {number(raw / 2)}"
            if typed
            else f"{number(raw)} ÷ 2 = {number(raw / 2)}"
        )
        text, box = said(h, 1, 2)
        shares = [f"{100 * weight(*one):.1f} %" for one in ((row, 1), (before, 2))]
        assert text == f"Score of two for three: {by}. Its weight: {shares[0]}, before {shares[1]}."
        assert box == {
            "place": ["score", 1, 2],
            "value": pytest.approx(row[1], abs=1e-6),
            "was": pytest.approx(raw / 2) if typed else None,
        }
    assert said(0, 1, 0) == ("one is hidden from two: the mask adds −∞, and the weight is exactly 0.", {})


def test_beside_a_row_stand_the_scores_that_were_typed_into_it_and_no_others():
    """Typed: head 2's score of the second token for the first; others in its other rows and in another head."""
    plain = run_layer(X, layer())
    typed = (ScoreEdit(1, 1, 0, 3.0), ScoreEdit(1, 0, 1, 5.0), ScoreEdit(0, 1, 2, 7.0))
    now = edited(plain, Edits(scores=typed))
    board = Board()
    block = steps.softmax_block(board, shown(plain, now, h=1, query=1))
    scores = (plain.q[1, 1] @ plain.k[1].T) / 2
    before = np.exp(scores) / np.exp(scores).sum()
    scores[0] = 3.0
    powers = np.exp(scores - scores.max())
    best = int(scores.argmax())
    numbers = np.concatenate(board._arrays)
    for name, row in {
        "scores": scores, "powers": powers, "weights": powers / powers.sum(), "before": before
    }.items():  # fmt: skip
        np.testing.assert_allclose(numbers[block.pop(name) :][:3], row, atol=1e-6, err_msg=name)
    assert block == {
        "type": "softmax",
        "tokens": ["one", "two", "three"],
        "query": 1,
        "shown": [0, 1, 2],
        "chosen": best,
        "editable": True,
        "edited": [0],
    }


@pytest.mark.parametrize(
    ("rows", "weights", "small", "said"),
    [
        (3, 0.25, False, ["all 3 tokens of this sentence", "within 2.5e-01."]),
        (2, None, False, ["the 2 of 3 tokens that may look somewhere of this sentence"]),
        (3, 0.0, True, ["all 3 tokens of the example", "within 0."]),
        (0, None, False, []),
    ],
)
def test_the_tokens_that_are_compared_with_torch_are_counted(monkeypatch, rows, weights, small, said):
    monkeypatch.setattr(check, "parity_of", lambda _: Parity("theirs", 0.125, weights, rows))
    stage = Stage()
    check.equal(shown(run_layer(X, layer()), small=small), stage)
    *words, last = [words_of(block) for block in stage.words.blocks]
    assert last.startswith("Beside it stands the whole way")
    if not rows:
        assert words == [
            "There is nothing to compare: every token is hidden, so no row has anything to look at. torch says “not a "
            "number” there; this layer says 0."
        ]
        return
    first, *more = said
    assert words == [
        f"Equal to theirs within 1.2e-01, for {first}, computed just now.",
        *(f"Its attention weights and ours, all 2 heads: {one}" for one in more),
    ]
    (code,) = stage.picture.blocks
    assert code["lines"][-1][0].strip() == "(theirs - output).abs().max()"
    assert code["lines"][-1][1] == "1.2e-01"


def test_one_wide_head_and_each_narrow_one_have_rows_of_their_own(monkeypatch):
    """As one head the third token looks at the first; split, the heads look at the second, the second and itself."""
    drawn = []
    monkeypatch.setattr(Board, "show", lambda board, *_: drawn.append(board))
    wide = np.array([[0, 0, 1], [0, 0, 1], [0.625, 0.25, 0.125]])
    split = np.zeros((3, 3, 3), np.float32)
    split[:, 2] = [[0.25, 0.5, 0.25], [0, 1, 0], [0.25, 0.25, 0.5]]
    monkeypatch.setattr(many, "one_head", lambda _: wide)
    run = replace(run_layer(X, layer(heads=3, keys=3)), weights=split)
    many._rows(shown(run, h=1, query=2))
    (board,) = drawn
    blocks = list(flat(board.blocks))
    assert [words_of(block) for block in blocks if block["type"] == "paragraph"] == [
        "Take the layer's own matrices and do not split them: one head, 12 numbers wide. three then has a single row "
        "of attention weights that must add up to 100 %, so more for one token is less for the others. Split into 3 "
        "heads, three has 3 rows, each with 100 % of its own.",
        "As one head, three looks most at one: 62.5 %. Split, its 3 heads look most at 2 different tokens.",
        "These matrices were trained as separate heads; a model trained with one head would have found other numbers. "
        "What does not depend on training is that one row adds up to 100 %, once.",
    ]
    (matrix,) = [block for block in blocks if block.get("id") == "one-or-many"]
    assert (matrix["rows"], matrix["cols"]) == (["one head", "2-1", "2-2", "2-3"], ["one", "two", "three"])
    np.testing.assert_array_equal(np.concatenate(board._arrays).reshape(4, 3), [wide[2], *split[:, 2]])


@pytest.mark.parametrize(
    ("keys", "shared"),
    [(4, ""), (2, " Here 4 query heads share 2 key and value heads, so W_k and W_v are smaller still.")],
)
def test_what_many_heads_cost_is_said_by_their_widths(monkeypatch, keys, shared):
    drawn = []
    monkeypatch.setattr(Board, "show", lambda board, *_: drawn.extend(flat(board.blocks)))
    monkeypatch.setattr(many, "cost_block", lambda n, _: {"type": "grid", "n": n})
    many._costs(shown(run_layer(X, layer(heads=4, keys=keys))))
    assert [words_of(block) for block in drawn if block["type"] == "paragraph"] == [
        "4 heads, each 1/4 as wide: 4 numbers instead of 16. The four matrices hold 4 · 3 · 16 = 192 parameters "
        f"either way.{shared}",
        "Only the attention weights are more: 4 tables of 3 × 3 to keep instead of one, and their softmax. What that "
        "comes to in time is measured in the last line.",
    ]


def test_a_model_s_line_counts_what_it_reads_and_keeps():
    """LLaMA-2-70B reads 4,096 tokens: 64 heads of 128 on 8 key heads; BERT-large reads 512 and keeps nothing."""
    lines = {one.name: sizes._line(one, 10_000) for one in CONFIGURATIONS}
    n, d, h = 4096, 8192, 64
    done = 2 * n * d * (h + 16) * 128 + 2 * 2 * h * n * n * 128 + 2 * n * d * d
    assert lines["LLaMA-2-70B"] == [
        "LLaMA-2-70B", "8,192 / 64 on 8", "128", "80", f"{2 * d * d + 2 * d * 1024:,}", "12.1 billion", "4,096",
        f"{done / 1e12:.1f} trillion", "4.0 GiB", "1.25 GiB (10.0 GiB)",
    ]  # fmt: skip
    n, d, h = 512, 1024, 16
    done = 2 * n * d * 3 * d + 2 * 2 * h * n * n * 64 + 2 * n * d * d
    assert lines["BERT-large"] == [
        "BERT-large", "1,024 / 16", "64", "24", f"{4 * d * d + 4 * d:,}", "100.8 million", "512",
        f"{done / 1e9:.1f} billion", "16.0 MiB", "none",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "said"), [(0.0, "0."), (1.25e-7, "1.2e-07, the rounding of 32-bit numbers.")]
)
def test_a_token_alone_differs_by_rounding_or_not_at_all(monkeypatch, difference, said):
    found = steps.follow
    monkeypatch.setattr(steps, "follow", lambda *given: replace(found(*given), difference=difference))
    stage = Stage()
    steps.one_query(shown(run_layer(X, layer()), h=1, query=2), stage)
    whole, alone = map(words_of, stage.words.blocks)
    assert whole.startswith("The whole row of three: its q beside each token's k,")
    assert alone.endswith(f"computed alone, vector by vector, differs from its row by {said}")


def test_an_encoder_keeps_nothing_and_says_how_many_tokens_it_reads_at_once(monkeypatch, model):
    drawn = []
    monkeypatch.setattr(cache_growth.cache, "model", lambda _: model)
    monkeypatch.setattr(Board, "show", lambda board, key: drawn.append((key, words_of(board.blocks[0]))))
    tokens = model.tokenizer.encode("Unbelievably, it didn't.")
    assert len(tokens) > len(tokens.words) + 2
    cache_growth.cache_view(Request("x"), SimpleNamespace(tokens=tokens))
    assert drawn == [
        (
            "cache-none",
            f"MiniLM reads its {len(tokens)} tokens at once and writes none, so it keeps nothing from one token to the "
            "next. A model that writes, such as SmolLM2 (Options, Model), keeps K and V.",
        )
    ]
