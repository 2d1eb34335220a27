"""What stands below the two pictures of Compare, each number computed here from the rows of the two runs."""

from functools import partial
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from visit import TIRED, WIDE, drawn, figures, numbers, open_page, picture, plain, run, said, shown_heads

from mha_core import load_model, score_attribution, trace
from mha_core.display_names import head_name, parse_head, percent
from mha_core.heads import measures
from mha_core.record.compare import HeadDifference
from pages.parts.explore import changes

COMPARE = "pages/compare.py"
IT, ANIMAL, STREET = 10, 2, 8


def rows_of(text: str, query: int, trained: bool = True) -> np.ndarray:
    """(layer, head, key): where one word looks."""
    return trace(text, load_model(trained=trained)).weights[:, :, query].astype(np.float64)


def table_with(app, column: str) -> pd.DataFrame:
    (frame,) = [each.value for each in app.dataframe if column in each.value]
    return frame


def headings(app) -> list[str]:
    return [plain(e.proto.body) for e in app.get("html") if e.proto.body.startswith("<h2>")]


def opened(box: str, **query: str):
    """The page with a box open."""
    app = open_page(COMPARE, **query)
    app.session_state[box] = True
    return run(app)


open_table, open_why = partial(opened, "changes-box"), partial(opened, "why-changed")


def went_over(before, after, keys=(ANIMAL, STREET)):
    """Whether a row clearly prefers one candidate in A and the other in B: 5 % at least, 5 points ahead at least."""
    each, other = keys
    clear = [
        (x[..., k] >= 0.05) & (x[..., k] - x[..., n] >= 0.05)
        for x, k, n in ((before, each, other), (after, other, each))
    ]
    return clear[0] & clear[1]


def test_the_heads_are_told_by_how_much_of_their_look_moved_and_whether_it_went_over():
    a, b = rows_of(TIRED, IT), rows_of(WIDE, IT)
    moved = np.abs(a - b).sum(axis=-1) / 2  # word for word: the two sentences are of one length
    swing = (a[..., ANIMAL] - a[..., STREET]) - (b[..., ANIMAL] - b[..., STREET])
    order = sorted(np.ndindex(moved.shape), key=lambda place: -abs(swing[place]))
    app = open_table()
    shown = table_with(app, "Moved")
    assert shown_heads(shown["Head"]) == [*map(head_name, order)]
    heads = tuple(zip(*order, strict=True))
    wanted = {"Moved": moved[heads], "Shift, points": 100 * swing[heads]}
    for word, key in (("animal", ANIMAL), ("street", STREET)):
        wanted |= {f"{word}, A": a[heads][:, key], f"{word}, B": b[heads][:, key]}
    for name, column in wanted.items():
        np.testing.assert_allclose(shown[name], column, atol=1e-5, err_msg=name)
    assert not (went_over(a, b) | went_over(a, b, (STREET, ANIMAL))).any(), "no head of MiniLM switches"
    assert "Switches" not in shown, "no column of 72 times no"
    (sentence,) = said(app, "finding")
    assert sentence.startswith(f"No head switches (n = 72 heads). {head_name(order[0])} shifts most: animal ")
    for mass in (a, b):
        assert percent(mass[order[0]][ANIMAL]) in sentence


def test_heads_that_switch_are_marked_in_the_table_and_counted():
    app = open_table(model="classroom")
    grids = [trace(text, load_model("classroom")).grid() for text in (TIRED, WIDE)]
    it, animal, street = (grids[0].labels.index(word) for word in ("it", "animal", "street"))
    a, b = (grid.weights[:, :, it].astype(float) for grid in grids)
    matching = went_over(a, b, keys=(animal, street))
    back = went_over(a, b, keys=(street, animal))
    assert matching.any()
    shown = table_with(app, "Moved")
    marked = shown_heads(shown[shown["Switches"]]["Head"])
    assert set(marked) == set(map(head_name, np.argwhere(matching | back)))
    (sentence,) = said(app, "finding")
    n = int((matching | back).sum())
    assert sentence.startswith(f"{n} of {matching.size} heads switch: {matching.sum()} from animal to street")


def test_a_head_of_a_table_leads_to_the_same_comparison_from_the_word_pinned_first():
    address = urlsplit(table_with(open_table(pin=f"{STREET},{IT},{ANIMAL}"), "Moved")["Head"][0])
    query = {name: value for name, (value,) in parse_qs(address.query).items()}
    assert (address.path, query["text"], query["text2"]) == ("./compare", TIRED, WIDE)
    assert query["pin"] == str(STREET)


def test_heads_that_switch_are_counted_in_both_directions_and_a_third_candidate_is_neither():
    masses = [
        ((0.6, 0.1, 0.1), (0.1, 0.5, 0.1)),  # from the first to the second
        ((0.1, 0.5, 0.1), (0.5, 0.1, 0.1)),  # back
        ((0.1, 0.5, 0.1), (0.1, 0.1, 0.5)),  # from the second to the third
        ((0.5, 0.1, 0.1), (0.1, 0.1, 0.5)),  # from the first to the third
    ]
    result = [HeadDifference((0, head), 0.5, *both) for head, both in enumerate(masses)]
    assert all(change.flips for change in result)
    labels = ("animal", "street", "The")
    text = changes.result(result, labels, "head")
    assert text.startswith(
        "2 of 4 heads switch: 1 from `animal` to `street`, 1 from `street` to `animal`. Most: 1-1,"
    )
    assert "1 of 1 head switches: 1 from" in changes.result(result[:1], labels, "head")
    assert changes.result(result[2:], labels, "head").startswith("No head switches (n = 2 heads).")
    assert changes.result(result[:1], labels, "model").startswith("All layers together switch: `animal`")
    assert changes.result(result[:1], labels[:1], "head").startswith("1-1 changes most: ")


@pytest.mark.slow
@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"text": "The cat sat.", "model2": "smollm2", "against": "model", "pin": "2"}, ["The"]),
        ({"text": "The cat sat.", "model": "smollm2", "against": "model", "pin": "1"}, ["The"]),
        ({"text": "It did so", "text2": "That day It did so", "model": "smollm2", "pin": "2"}, ["It", "did"]),
        ({"text": "That day It did so", "text2": "It did so", "model": "smollm2", "pin": "4"}, ["It", "did"]),
    ],
)
def test_what_a_decoder_cannot_see_is_no_candidate_on_either_side(query, words):
    app = open_page(COMPARE, **query)
    assert [option.partition(" ")[0] for option in app.multiselect[0].options] == words


def test_a_word_is_not_among_its_own_candidates():
    app = open_table(pin=str(ANIMAL))
    assert "animal (2)" not in app.multiselect[0].options
    columns = [*table_with(app, "Moved")]
    assert columns == ["Head", "Moved", "street, A", "street, B"], "one candidate alone cannot be preferred"


def test_words_that_only_one_side_has_count_in_full_and_are_no_candidates():
    longer = "He said it very twice."
    app = open_table(text="He said it twice.", text2=longer, pin="1")
    a, b = rows_of("He said it twice.", 1), rows_of(longer, 1)
    beside = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (5, 6), (6, 7)]  # "very" is alone
    moved = sum(np.abs(a[..., i] - b[..., j]) for i, j in beside) / 2 + b[..., 4] / 2
    order = sorted(np.ndindex(moved.shape), key=lambda place: -moved[place])
    shown = table_with(app, "Moved")
    assert shown_heads(shown["Head"]) == [*map(head_name, order)]
    np.testing.assert_allclose(shown["Moved"], [moved[place] for place in order], atol=1e-5)
    assert [option.split()[0] for option in app.multiselect[0].options] == [
        "[CLS]", "said", "it", "twice", ".", "[SEP]",
    ]  # fmt: skip
    app.multiselect[0].set_value([4])  # read at its own place in each sentence
    shown = table_with(run(app), "Moved")
    heads = tuple(zip(*map(parse_head, shown_heads(shown["Head"])), strict=True))
    np.testing.assert_allclose(shown["twice, A"], a[heads][:, 4], rtol=1e-5)
    np.testing.assert_allclose(shown["twice, B"], b[heads][:, 5], rtol=1e-5)


def test_the_same_sentence_twice_asks_for_a_change_and_has_no_tables():
    app = open_page(COMPARE, text=TIRED, text2=TIRED)
    assert picture(app)["ready"]
    assert not headings(app)
    assert not app.multiselect
    assert not app.dataframe


def test_the_weights_that_the_reader_chose_are_a_and_the_others_b():
    for trained in (True, False):
        app = open_table(against="weights", weights="trained" if trained else "untrained")
        a, b = rows_of(TIRED, IT, trained), rows_of(TIRED, IT, not trained)
        row = table_with(app, "Moved").iloc[0]
        (head,) = map(parse_head, shown_heads([row["Head"]]))
        wanted = [a[head][ANIMAL], b[head][ANIMAL]]
        np.testing.assert_allclose([row["animal, A"], row["animal, B"]], wanted, atol=1e-5)
        assert picture(app)["titles"] == ["MiniLM", "MiniLM, untrained"][:: 1 if trained else -1]


def test_heads_and_layers_of_models_of_two_sizes_are_not_compared_one_by_one():
    app = open_page(COMPARE, against="model", model2="classroom")
    assert said(app, "notice") == [
        "Heads cannot be compared one by one: A has 6 × 12 and B has 2 × 4, layers times heads."
    ]
    assert not app.dataframe
    app = open_page(COMPARE, against="model", model2="classroom", measure="rollout")
    assert said(app, "notice") == ["Layers cannot be compared one by one: A has 6, B 2."]


def test_both_sides_are_drawn_raw_where_one_lacks_the_measure():
    app = open_page(COMPARE, measure="gradient")
    assert len(said(app, "problem")) == 1
    assert drawn(app, 0)[:, :, IT] == pytest.approx(rows_of(TIRED, IT), abs=2e-5)
    assert drawn(app, 1)[:, :, IT] == pytest.approx(rows_of(WIDE, IT), abs=2e-5)


def test_a_measure_of_layers_is_told_by_layers():
    model = load_model()
    runs = [measures.importance(model.tokenizer.encode(text), model, "rollout") for text in (TIRED, WIDE)]
    a, b = (each.weights[:, 0, IT].astype(np.float64) for each in runs)
    app = open_table(measure="rollout")
    swing = (a[:, ANIMAL] - a[:, STREET]) - (b[:, ANIMAL] - b[:, STREET])
    layers = [f"layer {layer + 1}" for layer in np.argsort(-np.abs(swing))]
    assert table_with(app, "Moved")["Layer"].tolist() == layers
    assert headings(app) == ["Layers that switch from “animal” to “street”"]
    label = measures.BY_KEY["rollout"].label
    assert said(app, "finding")[0].startswith(f"{label}: No layer switches (n = 6 layers). Layer ")


def parts_of(text: str, head: str, link: tuple[int, int], model: str = "minilm") -> pd.Series:
    """Scores of the library's own split, by side, part, layer and head."""
    frame = score_attribution(text, load_model(model), head=head, query=link[0], key=link[1])
    names = {"mlp": "MLP {layer}", "head": "head {layer}-{head}", "bias": "bias of W_{side[0]}"}
    called = [
        (row["part"] if pd.isna(row["layer"]) else names[row["part"]].format(**row), row["side"])
        for row in frame.to_dict("records")
    ]
    return pd.Series(frame["score"].to_numpy(), called)


def bars_of(app) -> dict[str, dict[str, float]]:
    """{A, B: {label: score}} of the drawn parts, in their order."""
    (drawn,) = figures(app)
    return {
        each["name"]: dict(zip(each["customdata"], numbers(each["x"]), strict=True)) for each in drawn["data"]
    }


def test_the_classic_example_changes_by_what_mlp_3_writes_at_it():
    app = open_why()
    sentence = said(app, "finding")[-1]
    assert sentence.startswith("The weight falls from 68% to 28%. MLP 3 at it changes most")
    assert "falls from +1.94 to +0.67" in sentence
    a, b = (parts_of(text, "4-2", (IT, ANIMAL)) for text in (TIRED, WIDE))
    most = (b - a).abs().sort_values(ascending=False).index[:8]
    labels = [f"{name} at {'it' if side == 'query' else 'animal'}" for name, side in most]
    for side, parts in (("A", a), ("B", b)):
        shown = bars_of(app)[side]
        assert [*shown] == labels
        np.testing.assert_allclose([*shown.values()], parts[most], atol=0.0051)
    app.session_state["why-changed-bars-numbers"] = True
    table = table_with(run(app), "change")
    assert len(table) == len(a), "the numbers have every part"
    query = table["at"] == "it"
    for side, parts in (("A", a), ("B", b)):
        np.testing.assert_allclose(table[side].sum(), parts.sum(), atol=1e-4)
        np.testing.assert_allclose(table[side][query].sum(), parts.sum() / 2, atol=1e-4)


@pytest.mark.parametrize("to", ["xylophone", None])
def test_a_split_word_is_asked_by_its_strongest_token_and_its_counterpart_at_its_own_place(to):
    """Where no word is chosen, of the one whose weight changes most."""
    a, b = "He liked the xylophone there.", "Later on he liked the xylophone there."
    grids = [trace(text, load_model()).grid("words") for text in (a, b)]
    queries = [grid.labels.index("there") for grid in grids]
    rows = [grid.weights[1, 2, query] for grid, query in zip(grids, queries, strict=True)]
    both = [(i, i + 2) for i in range(2, 7)]  # "liked" to the full stop; "He" is followed by it
    first = max(both, key=lambda pair: abs(rows[0][pair[0]] - rows[1][pair[1]]))
    words = [grid.labels.index(to) for grid in grids] if to else first
    chosen = {"to": str(words[0])} if to else {}
    app = open_why(text=a, text2=b, unit="words", head="2-3", pin=str(queries[0]), **chosen)
    expected = []
    for text, grid, word, query in zip((a, b), grids, words, queries, strict=True):
        (place,), pieces = grid.units[query].pieces, grid.units[word].pieces
        assert len(pieces) > 1
        row = trace(text, load_model()).weights[1, 2, place]
        expected.append(parts_of(text, "2-3", (place, max(pieces, key=lambda piece: row[piece]))))
    app.session_state["why-changed-bars-numbers"] = True
    table = table_with(run(app), "change")
    for side, parts in zip("AB", expected, strict=True):
        np.testing.assert_allclose(np.sort(table[side]), np.sort(parts), atol=1e-4)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"against": "weights"}, "in one model"),
        ({"measure": "rollout"}, "raw attention"),
        ({"pin": "none"}, "Click a word"),
        ({"text": "He said it twice.", "text2": "He said it.", "pin": "4"}, "only in A"),
        ({"text": "He said it twice.", "text2": "He said it.", "pin": "3", "to": "4"}, "only in A"),
    ],
)
def test_where_no_link_can_be_asked_one_sentence_says_what_is_missing(query, reason):
    app = open_why(**query)
    assert not figures(app)
    assert reason in said(app, "look")[-1]


@pytest.mark.slow
def test_what_a_decoder_read_before_the_first_difference_has_no_changed_part():
    texts = [f"The old cat sat on the mat and slept in the {place}" for place in ("sun", "rain")]
    app = open_why(model="smollm2", text=texts[0], text2=texts[1], pin="5", to="2")
    sentence = said(app, "finding")[-1]
    assert "stays at" in sentence
    assert sentence.endswith("None of its parts changes.")
    assert [*bars_of(app)["A"].values()] == [*bars_of(app)["B"].values()]
