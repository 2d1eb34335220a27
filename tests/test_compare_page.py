"""What stands below the two pictures of Compare, each number computed here from the rows of the two runs."""

from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from bert_folders import random_bert, write
from visit import TIRED, WIDE, drawn, open_page, picture, plain, run, said

from mha_core import load_model, trace
from mha_core.compare import HeadChange
from mha_core.heads import measures
from pages.parts.explore import changes, comparison
from pages.parts.frame import loading
from pages.parts.frame.request import Request

COMPARE = "pages/compare.py"
IT, ANIMAL, STREET = 10, 2, 8


def rows_of(text: str, query: int, trained: bool = True) -> np.ndarray:
    """(layer, head, key): where one word looks."""
    return trace(text, load_model(trained=trained)).weights[:, :, query].astype(np.float64)


def top(mass: np.ndarray) -> tuple[int, int]:
    return max(np.ndindex(mass.shape), key=lambda place: mass[place])


def named(place: tuple[int, int]) -> str:
    return f"{place[0] + 1}-{place[1] + 1}"


def head_of(address: str) -> str:
    return parse_qs(urlsplit(address).query)["head"][0]


def table_with(at, column: str) -> pd.DataFrame:
    (frame,) = [each.value for each in at.dataframe if column in each.value]
    return frame


def headings(at) -> list[str]:
    return [plain(e.proto.body) for e in at.get("html") if e.proto.body.startswith("<h2>")]


@pytest.fixture(scope="module")
def tired_and_wide():
    return open_page(COMPARE)


def test_the_candidates_are_told_with_the_mean_and_the_strongest_head_of_each_side(tired_and_wide):
    shown = table_with(tired_and_wide, "Candidate")
    assert shown["Candidate"].tolist() == ["animal", "street"]
    for side, row in zip("AB", (rows_of(TIRED, IT), rows_of(WIDE, IT)), strict=True):
        masses = [row[..., key] for key in (ANIMAL, STREET)]
        np.testing.assert_allclose(shown[f"Mean, {side}"], [mass.mean() for mass in masses], rtol=1e-5)
        np.testing.assert_allclose(shown[f"Most, {side}"], [mass.max() for mass in masses], rtol=1e-5)
        assert [*map(head_of, shown[f"Head, {side}"])] == [named(top(mass)) for mass in masses]
    assert head_of(shown["Head, A"][0]) == "4-2"


def went_over(before, after, back=False):
    """Whether a row clearly prefers one candidate in A and the other in B: 5 % at least, 5 points ahead at least."""
    one, other = (STREET, ANIMAL) if back else (ANIMAL, STREET)
    clear = [
        (x[..., k] >= 0.05) & (x[..., k] - x[..., n] >= 0.05)
        for x, k, n in ((before, one, other), (after, other, one))
    ]
    return clear[0] & clear[1]


def test_the_heads_are_told_by_how_much_of_their_look_moved_and_whether_it_went_over(tired_and_wide):
    a, b = rows_of(TIRED, IT), rows_of(WIDE, IT)
    moved = np.abs(a - b).sum(axis=-1) / 2  # word for word: the two sentences are of one length
    swing = (a[..., ANIMAL] - a[..., STREET]) - (b[..., ANIMAL] - b[..., STREET])
    order = sorted(np.ndindex(moved.shape), key=lambda place: -abs(swing[place]))
    shown = table_with(tired_and_wide, "Moved")
    assert [*map(head_of, shown["Head"])] == [*map(named, order)]
    at = tuple(zip(*order, strict=True))
    wanted = {"Moved": moved[at], "Difference moved, points": 100 * swing[at]}
    for word, key in (("animal", ANIMAL), ("street", STREET)):
        wanted |= {f"{word}, A": a[at][:, key], f"{word}, B": b[at][:, key]}
    for name, column in wanted.items():
        np.testing.assert_allclose(shown[name], column, atol=1e-5, err_msg=name)
    over = [
        bool(went_over(a[place], b[place]) or went_over(a[place], b[place], back=True)) for place in order
    ]
    assert shown["Changes its mind"].tolist() == over


def test_a_head_of_a_table_leads_to_the_same_comparison_of_it(tired_and_wide):
    address = urlsplit(table_with(tired_and_wide, "Moved")["Head"][0])
    asked = {name: value for name, (value,) in parse_qs(address.query).items()}
    assert address.path == "./compare"
    assert (asked["text"], asked["text2"], asked["pin"]) == (TIRED, WIDE, str(IT))


def test_the_heads_that_went_over_are_counted_in_both_directions():
    grid = trace(TIRED, load_model()).grid()
    there = [HeadChange((0, at), 0.5, (0.6, 0.1), (0.1, 0.3)) for at in range(2)]
    back = [HeadChange((3, 1), 0.4, (0.0, 0.5), (0.4, 0.1))]
    assert all(change.flips for change in there + back)
    line = changes.flips_in_words([*back, *there], 72, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "head")
    assert line == (
        "3 of 72 heads change their mind: 2 from `animal` to `street`, 1 the other way. First in the difference "
        "between the two: 4-2 (−80.0 points), 1-1 (+70.0 points), 1-2 (+70.0 points)."
    )
    alone = changes.flips_in_words(back, 72, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "head")
    assert alone.startswith("1 of 72 heads changes its mind: 0 from `animal` to `street`, 1 the other way.")
    layers = changes.flips_in_words(there[:1], 6, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "layer")
    assert layers.startswith("1 of 6 layers changes its mind: 1 from `animal`")
    assert layers.endswith("First in the difference between the two: layer 1 (+70.0 points).")
    together = [
        changes.flips_in_words(flips, 1, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "model")
        for flips in (there[:1], [])
    ]
    assert together == [
        "All layers together change their mind.",
        "All layers together do not change their mind.",
    ]


def test_heads_that_went_over_to_or_from_a_third_candidate_went_neither_way_between_the_first_two():
    grid = SimpleNamespace(labels=TIRED.split())
    masses = [
        ((0.6, 0.1, 0.1), (0.1, 0.5, 0.1)),  # from the first to the second
        ((0.1, 0.5, 0.1), (0.5, 0.1, 0.1)),  # back
        ((0.1, 0.5, 0.1), (0.1, 0.1, 0.5)),  # from the second to the third
        ((0.1, 0.1, 0.5), (0.5, 0.1, 0.1)),  # from the third to the first
        ((0.5, 0.1, 0.1), (0.1, 0.1, 0.5)),  # from the first to the third
    ]
    found = [HeadChange((0, at), 0.5, *both) for at, both in enumerate(masses)]
    assert all(change.flips for change in found)
    keys = [(1, 1), (5, 5), (0, 0)]
    assert changes.flips_in_words(found, 72, grid, keys, "head") == (
        "5 of 72 heads change their mind: 1 from `animal` to `street`, 1 the other way. First in the difference "
        "between the two: 1-1 (+90.0 points), 1-2 (−80.0 points), 1-3 (−40.0 points), 1-4 (−40.0 points)."
    )


@pytest.mark.slow
@pytest.mark.parametrize(("model", "other", "pin"), [("minilm", "smollm2", "2"), ("smollm2", "minilm", "1")])
def test_what_a_decoder_cannot_see_is_no_candidate_on_either_side(model, other, pin):
    at = open_page(COMPARE, text="The cat sat.", model=model, model2=other, against="model", pin=pin)
    assert [option.partition(" ")[0] for option in at.multiselect[0].options] == ["The"], (
        "sat comes later in one"
    )


@pytest.mark.parametrize(("pin", "word"), [("10,2", "it"), ("2,10", "animal")])
def test_the_word_that_is_followed_is_the_one_pinned_first(pin, word):
    at = open_page(COMPARE, pin=pin)
    assert f"What “{word}” looks at" in headings(at)
    assert f"Which heads changed their mind about “{word}”" in headings(at)


def test_a_word_is_not_among_its_own_candidates():
    at = open_page(COMPARE, pin=str(ANIMAL))
    assert table_with(at, "Candidate")["Candidate"].tolist() == ["street"]
    assert "animal (2)" not in at.multiselect[0].options
    columns = [*table_with(at, "Moved")]
    assert columns == ["Head", "Moved", "street, A", "street, B"], "one candidate alone cannot be preferred"


def test_in_a_decoder_the_candidates_are_the_words_that_each_sentence_shows_its_own_word(monkeypatch):
    monkeypatch.setattr(comparison.st, "multiselect", lambda _label, options, **_: options)
    words = ["It", "said", "so", "twice"]
    a, b = (
        SimpleNamespace(labels=labels, visible=np.tril(np.ones((1, len(labels), len(labels)), dtype=bool)))
        for labels in (words, ["That", "day", *words])
    )
    pairs = ((None, 0), (None, 1), *((i, i + 2) for i in range(4)))
    request = Request("It said so twice", other=Request("That day It said so twice"))
    assert comparison._candidates(request, a, b, pairs, (2, 4)) == [(0, 2), (1, 3)]
    other_way = tuple((j, i) for i, j in pairs)
    assert comparison._candidates(request, b, a, other_way, (4, 2)) == [(2, 0), (3, 1)]


def test_words_that_only_one_side_has_count_in_full_and_are_no_candidates():
    longer = "He said it very twice."
    at = open_page(COMPARE, text="He said it twice.", text2=longer, pin="1")
    a, b = rows_of("He said it twice.", 1), rows_of(longer, 1)
    beside = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (5, 6), (6, 7)]  # "very" is alone
    moved = sum(np.abs(a[..., i] - b[..., j]) for i, j in beside) / 2 + b[..., 4] / 2
    order = sorted(np.ndindex(moved.shape), key=lambda place: -moved[place])
    shown = table_with(at, "Moved")
    assert [*map(head_of, shown["Head"])] == [*map(named, order)]
    np.testing.assert_allclose(shown["Moved"], [moved[place] for place in order], atol=1e-5)
    assert [option.split()[0] for option in at.multiselect[0].options] == [
        "[CLS]", "said", "it", "twice", ".", "[SEP]",
    ]  # fmt: skip


def test_the_candidates_are_read_at_their_own_places_in_each_sentence():
    longer = "He said it very twice."
    at = open_page(COMPARE, text="He said it twice.", text2=longer, pin="1")
    at.multiselect[0].set_value([4])
    run(at)
    a, b = rows_of("He said it twice.", 1)[..., 4], rows_of(longer, 1)[..., 5]
    (row,) = table_with(at, "Candidate").to_dict("records")
    shown = [row[name] for name in ("Mean, A", "Mean, B", "Most, A", "Most, B")]
    np.testing.assert_allclose(shown, [a.mean(), b.mean(), a.max(), b.max()], rtol=1e-5)
    assert [head_of(row[f"Head, {side}"]) for side in "AB"] == [named(top(a)), named(top(b))]


def test_two_runs_of_the_same_change_nothing():
    at = open_page(COMPARE, text=TIRED, text2=TIRED)
    assert not table_with(at, "Moved")["Moved"].any()
    assert "None of 72 heads changes its mind." in said(at, "note")


@pytest.mark.parametrize("weights", ["trained", "untrained"])
def test_the_weights_that_the_reader_chose_are_a_and_the_others_b(weights):
    at = open_page(COMPARE, against="weights", weights=weights)
    trained = weights == "trained"
    a, b = rows_of(TIRED, IT, trained), rows_of(TIRED, IT, not trained)
    assert [drawn(at, i)[:, :, IT] for i in (0, 1)] == [
        pytest.approx(a, abs=2e-5),
        pytest.approx(b, abs=2e-5),
    ]
    moved = np.abs(a - b).sum(axis=-1) / 2
    swing = (a[..., ANIMAL] - a[..., STREET]) - (b[..., ANIMAL] - b[..., STREET])
    most = top(np.abs(swing))
    row = table_with(at, "Moved").iloc[0]
    assert head_of(row["Head"]) == named(most)
    wanted = [moved[most], a[most][ANIMAL], b[most][ANIMAL]]
    np.testing.assert_allclose([row["Moved"], row["animal, A"], row["animal, B"]], wanted, atol=1e-5)
    assert picture(at)["titles"] == ["MiniLM", "MiniLM, untrained"][:: 1 if trained else -1]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A model of 2 layers of 3 heads, which stands for every other on the shelf."""
    write(tmp_path, random_bert(num_hidden_layers=2, num_attention_heads=3))
    found = load_model(str(tmp_path))
    monkeypatch.setattr(
        loading, "load_model", lambda name, trained=True, **_: load_model() if name == "minilm" else found
    )
    monkeypatch.setattr("mha_core.load.is_here", lambda _name: True)
    return found


@pytest.mark.slow
def test_models_of_two_sizes_have_masses_and_no_change_head_by_head(small):
    at = open_page(COMPARE, against="model", model2="bert-base-uncased")
    assert said(at, "notice") == [
        "Heads cannot be compared one by one: A has 6 × 12 and B has 2 × 3, layers times heads."
    ]
    theirs = trace(TIRED, small).weights[:, :, IT, ANIMAL]
    row = table_with(at, "Candidate").iloc[0]
    assert head_of(row["Head, B"]) == named(top(theirs))
    np.testing.assert_allclose([row["Mean, B"], row["Most, B"]], [theirs.mean(), theirs.max()], rtol=1e-5)


def test_both_sides_are_drawn_raw_where_one_lacks_the_measure():
    at = open_page(COMPARE, measure="gradient")
    assert len(said(at, "problem")) == 1
    assert drawn(at, 0)[:, :, IT] == pytest.approx(rows_of(TIRED, IT), abs=2e-5)
    assert drawn(at, 1)[:, :, IT] == pytest.approx(rows_of(WIDE, IT), abs=2e-5)


def test_a_measure_of_layers_is_told_by_layers():
    model = load_model()
    a, b = (
        measures.importance(trace(text, model).tokens, model, "rollout").weights[:, 0, IT].astype(np.float64)
        for text in (TIRED, WIDE)
    )
    at = open_page(COMPARE, measure="rollout")
    shown = table_with(at, "Candidate")
    for row, key in zip(shown.to_dict("records"), (ANIMAL, STREET), strict=True):
        for side, its in zip("AB", (a, b), strict=True):
            mass = its[:, key]
            assert row[f"Mean, {side}"] == pytest.approx(mass.mean(), rel=1e-5)
            assert row[f"Most, {side}"] == pytest.approx(mass.max(), rel=1e-5)
            assert row[f"Layer, {side}"] == f"layer {mass.argmax() + 1}"
    swing = (a[:, ANIMAL] - a[:, STREET]) - (b[:, ANIMAL] - b[:, STREET])
    assert table_with(at, "Moved")["Layer"].tolist() == [
        f"layer {at + 1}" for at in np.argsort(-np.abs(swing))
    ]
    assert "Which layers changed their mind about “it”" in headings(at)
    assert [note for note in said(at, "note") if note == "None of 6 layers changes its mind."]


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_layers_of_two_models_are_not_set_beside_each_other():
    at = open_page(COMPARE, against="model", model2="bert-base-uncased", measure="rollout")
    assert said(at, "notice") == ["Layers cannot be compared one by one: A has 6 and B has 2."]
