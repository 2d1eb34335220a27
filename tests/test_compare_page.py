"""What stands below the two pictures of Compare, each number computed here from the rows of the two runs."""

from types import SimpleNamespace

import numpy as np
import pytest
from bert_folders import random_bert, write
from visit import TIRED, WIDE, drawn, open_page, picture, plain, run, said, tables

from mha_core import load_model, trace
from mha_core.compare import HeadChange
from mha_core.heads import measures
from pages.parts.explore import comparison
from pages.parts.frame import loading
from pages.parts.frame.request import Request

COMPARE = "pages/compare.py"
IT, ANIMAL, STREET = 10, 2, 8
MASSES = "Mean of all heads, and the head that looks there most"


def rows_of(text: str, query: int, trained: bool = True) -> np.ndarray:
    """(layer, head, key): where one word looks."""
    return trace(text, load_model(trained=trained)).weights[:, :, query].astype(np.float64)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def most(mass: np.ndarray) -> str:
    layer, head = max(np.ndindex(mass.shape), key=lambda place: mass[place])
    return f"{percent(mass[layer, head])} in {layer + 1}-{head + 1}"


def changes_of(at) -> list[list[str]]:
    (rows,) = [rows for caption, rows in tables(at).items() if "moved most" in caption]
    return rows


def headings(at) -> list[str]:
    return [plain(e.proto.body) for e in at.get("html") if e.proto.body.startswith("<h2>")]


@pytest.fixture(scope="module")
def tired_and_wide():
    return open_page(COMPARE)


def test_the_candidates_are_told_with_the_mean_and_the_strongest_head_of_each_side(tired_and_wide):
    a, b = rows_of(TIRED, IT), rows_of(WIDE, IT)
    wanted = [["Candidate", "Mean, A", "Mean, B", "Most, A", "Most, B"]]
    for word, key in (("animal", ANIMAL), ("street", STREET)):
        masses = a[..., key], b[..., key]
        wanted.append([word, *(percent(mass.mean()) for mass in masses), *map(most, masses)])
    assert tables(tired_and_wide)[MASSES] == wanted
    assert wanted[1][3:] == ["67.7 % in 4-2", "55.8 % in 6-12"]


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
    order = sorted(np.ndindex(moved.shape), key=lambda place: -abs(swing[place]))[:12]
    wanted = [["Head", "Moved", "animal, A → B", "street, A → B", "Difference moved", "Changes its mind"]]
    for place in order:
        before, after = a[place], b[place]
        over = bool(went_over(before, after) or went_over(before, after, back=True))
        pairs = [f"{percent(before[key])} → {percent(after[key])}" for key in (ANIMAL, STREET)]
        name = f"{place[0] + 1}-{place[1] + 1}"
        went = comparison.points(swing[place])
        wanted.append([name, percent(moved[place]), *pairs, went, "yes" if over else "no"])
    assert changes_of(tired_and_wide) == wanted
    by = "The 12 heads where between the first two candidates the difference moved most"
    assert by in tables(tired_and_wide)
    assert {row[-1] for row in wanted[1:]} == {"no"}


def test_the_heads_that_went_over_are_counted_in_both_directions():
    grid = trace(TIRED, load_model()).grid()
    there = [HeadChange((0, at), 0.5, (0.6, 0.1), (0.1, 0.3)) for at in range(2)]
    back = [HeadChange((3, 1), 0.4, (0.0, 0.5), (0.4, 0.1))]
    assert all(change.flips for change in there + back)
    line = comparison._flips_in_words([*back, *there], 72, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "head")
    assert line == (
        "3 of 72 heads change their mind: 2 from `animal` to `street`, 1 the other way. First in the difference "
        "between the two: 4-2 (−80.0 points), 1-1 (+70.0 points), 1-2 (+70.0 points)."
    )
    alone = comparison._flips_in_words(back, 72, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "head")
    assert alone.startswith("1 of 72 heads changes its mind: 0 from `animal` to `street`, 1 the other way.")
    layers = comparison._flips_in_words(there[:1], 6, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "layer")
    assert layers.startswith("1 of 6 layers changes its mind: 1 from `animal`")
    assert layers.endswith("First in the difference between the two: layer 1 (+70.0 points).")
    together = [
        comparison._flips_in_words(flips, 1, grid, [(ANIMAL, ANIMAL), (STREET, STREET)], "model")
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
    changes = [HeadChange((0, at), 0.5, *both) for at, both in enumerate(masses)]
    assert all(change.flips for change in changes)
    keys = [(1, 1), (5, 5), (0, 0)]
    assert comparison._flips_in_words(changes, 72, grid, keys, "head") == (
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
    assert [row[0] for row in tables(at)[MASSES][1:]] == ["street"]
    assert "animal (2)" not in at.multiselect[0].options
    assert changes_of(at)[0] == ["Head", "Moved", "street, A → B"], "one candidate alone cannot be preferred"


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
    order = sorted(np.ndindex(moved.shape), key=lambda place: -moved[place])[:12]
    wanted = [[f"{place[0] + 1}-{place[1] + 1}", percent(moved[place])] for place in order]
    assert changes_of(at)[1:] == wanted
    assert [option.split()[0] for option in at.multiselect[0].options] == [
        "[CLS]", "said", "it", "twice", ".", "[SEP]",
    ]  # fmt: skip


def test_the_candidates_are_read_at_their_own_places_in_each_sentence():
    longer = "He said it very twice."
    at = open_page(COMPARE, text="He said it twice.", text2=longer, pin="1")
    at.multiselect[0].set_value([4])
    run(at)
    a, b = rows_of("He said it twice.", 1)[..., 4], rows_of(longer, 1)[..., 5]
    assert tables(at)[MASSES][1:] == [["twice", percent(a.mean()), percent(b.mean()), most(a), most(b)]]


def test_two_runs_of_the_same_change_nothing():
    at = open_page(COMPARE, text=TIRED, text2=TIRED)
    assert {row[1] for row in changes_of(at)[1:]} == {"0.0 %"}
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
    top = max(np.ndindex(moved.shape), key=lambda place: abs(swing[place]))
    row = changes_of(at)[1]
    assert row[:2] == [f"{top[0] + 1}-{top[1] + 1}", percent(moved[top])]
    assert row[2] == f"{percent(a[top][ANIMAL])} → {percent(b[top][ANIMAL])}"
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
    row = tables(at)[MASSES][1]
    assert (row[2], row[4]) == (percent(theirs.astype(np.float64).mean()), most(theirs))


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
    (shown,) = [rows for caption, rows in tables(at).items() if "looks there most" in caption]
    for row, key in zip(shown[1:], (ANIMAL, STREET), strict=True):
        tops = [f"{percent(side[:, key].max())} in layer {side[:, key].argmax() + 1}" for side in (a, b)]
        assert row[1:] == [percent(a[:, key].mean()), percent(b[:, key].mean()), *tops]
    swing = (a[:, ANIMAL] - a[:, STREET]) - (b[:, ANIMAL] - b[:, STREET])
    head, *changed = changes_of(at)
    assert head[0] == "Layer"
    assert [row[0] for row in changed] == [f"layer {at + 1}" for at in np.argsort(-np.abs(swing))]
    assert "Which layers changed their mind about “it”" in headings(at)
    notes = [note for note in said(at, "note") if "changes its mind" in note]
    assert notes[-1] == "None of 6 layers changes its mind."
    told = " ".join([*tables(at), *headings(at), *notes])
    assert "The 6 layers where" in told
    assert "head" not in told


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_layers_of_two_models_are_not_set_beside_each_other():
    at = open_page(COMPARE, against="model", model2="bert-base-uncased", measure="rollout")
    assert said(at, "notice") == ["Layers cannot be compared one by one: A has 6 and B has 2."]
