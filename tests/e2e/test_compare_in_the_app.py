"""Compare in the app: two typed sentences of different length, against the engine, and the next pair after them."""

from itertools import pairwise
from urllib.parse import urlencode

import numpy as np
import pixels
import pytest
from compare_page import line_colour, matrix, ranks, said
from two_runs import percent, points

from mha_core import load_model, trace

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FIRST = "The dog chased the cat because it was angry."
SECOND = "Yesterday the dog chased the cat because it ran."
# Word beside word, by hand: [CLS], the .. it; `was angry` against `ran` has no counterpart; the full stop, [SEP].
PAIRS = [
    (0, 0),
    (None, 1),
    *((i, i + 1) for i in range(1, 8)),
    (8, None),
    (9, None),
    (None, 9),
    (10, 10),
    (11, 11),
]
IT = (7, 8)


def open_compare(visit, **query):
    return visit(f"/compare?{urlencode({'text': FIRST, 'against': 'sentence', 'pin': '7', **query})}").drawn()


def moved(a: np.ndarray, b: np.ndarray, pairs) -> np.ndarray:
    """(layer, head): half of all differences between the two rows of `it`."""
    return sum(
        np.abs((0 if i is None else a[..., i]) - (0 if j is None else b[..., j])) for i, j in pairs
    ) / 2  # fmt: skip


def ranked_as(tab, change: np.ndarray) -> None:
    """The ranking of the page is that of the engine, number by number."""
    shown = ranks(tab.page)
    assert len(shown) == change.size
    values = [change[tuple(int(part) - 1 for part in line["name"].split("-"))] for line in shown]
    np.testing.assert_allclose(
        [float(line["share"][:-2]) for line in shown], 100 * np.array(values), atol=0.06
    )
    assert all(x >= y - 5e-5 for x, y in pairwise(values))


def test_two_sentences_of_different_length_are_compared_head_by_head_and_so_is_the_next_one(visit):
    model = load_model()
    a, b = (trace(text, model).weights.astype(float) for text in (FIRST, SECOND))
    tab = open_compare(visit, text2=SECOND, head="3-5")
    change = moved(a[:, :, IT[0]], b[:, :, IT[1]], PAIRS)
    ranked_as(tab, change)
    both = [(i, j) for i, j in PAIRS if i is not None and j is not None]
    left, right = zip(*both, strict=True)
    truth = a[2, 4][np.ix_(left, left)] - b[2, 4][np.ix_(right, right)]
    shown = pixels.table(pixels.of_canvas(matrix(tab.page, "A minus B")), line_colour(tab.page), len(both))
    drawn = pixels.changes(shown, pixels.THEMES["light"])
    clear = np.abs(truth) > 0.08
    assert (np.sign(drawn) == np.sign(truth))[clear].all()
    shown = pixels.table(pixels.of_canvas(matrix(tab.page, "B")), line_colour(tab.page), b.shape[-1])
    np.testing.assert_allclose(pixels.weights(shown, pixels.THEMES["light"]), b[2, 4], atol=0.03)
    place, after = max(both, key=lambda pair: abs(a[2, 4, 7, pair[0]] - b[2, 4, 8, pair[1]]))
    x, y = a[2, 4, 7, place], b[2, 4, 8, after]
    assert f"({percent(x)} in A, {percent(y)} in B, {points(x - y)} points)" in said(tab.page)
    table = tab.page.get_by_role("table").last.locator("tbody tr")
    lines = table.evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.textContent))")
    order = np.argsort(-change, axis=None, kind="stable")
    heads = [f"{i // a.shape[1] + 1}-{i % a.shape[1] + 1}" for i in order[: len(lines)].tolist()]
    assert [line[0] for line in lines] == heads
    assert [line[1] for line in lines] == [percent(change.flat[i]) for i in order[: len(lines)]]
    tab.type(SECOND.replace("ran", "hid"), "Sentence B").drawn()
    other = trace(SECOND.replace("ran", "hid"), model).weights.astype(float)
    ranked_as(tab, moved(a[:, :, IT[0]], other[:, :, IT[1]], PAIRS))
    shown = pixels.table(pixels.of_canvas(matrix(tab.page, "B")), line_colour(tab.page), b.shape[-1])
    np.testing.assert_allclose(pixels.weights(shown, pixels.THEMES["light"]), other[2, 4], atol=0.03)


@pytest.mark.long
def test_trained_is_compared_with_untrained_without_the_special_tokens(visit):
    runs = [trace(FIRST, load_model("minilm", trained=trained)) for trained in (True, False)]
    a, b = (run.grid(specials="hidden").weights.astype(float) for run in runs)
    tab = open_compare(visit, against="weights", specials="hidden", head="2-4", pin="6")
    assert len(a[0, 0]) == len(runs[0].weights[0, 0]) - 2
    ranked_as(tab, moved(a[:, :, 6], b[:, :, 6], [(i, i) for i in range(a.shape[-1])]))
    assert said(tab.page).startswith("Head 2-4: “it”")
    for label, truth in (("A", a), ("B", b)):
        shown = pixels.table(pixels.of_canvas(matrix(tab.page, label)), line_colour(tab.page), a.shape[-1])
        np.testing.assert_allclose(pixels.weights(shown, pixels.THEMES["light"]), truth[1, 3], atol=0.03)


@pytest.mark.long
def test_where_a_text_was_cut_is_marked_in_the_sentence_on_both_pages(visit, model):
    text = "The quick brown fox jumps over the lazy dog . " * 60
    left_out = trace(text, model).tokens.n_cut
    assert left_out > 0
    tab = visit(f"/compare?{urlencode({'text': FIRST, 'text2': text})}").drawn()
    (mark,) = tab.page.locator(".cut").all()
    assert mark.inner_text().split() == mark_text(left_out)
    b = tab.page.locator("[data-at^='1 ']").last.bounding_box()
    a = tab.page.locator("[data-at^='0 ']").last.bounding_box()
    here = mark.bounding_box()
    middle = here["y"] + here["height"] / 2
    assert abs(middle - b["y"] - b["height"] / 2) < 12 < abs(middle - a["y"]), "beside the last token of B"
    tab.page.goto(f"{tab.base}/?{urlencode({'text': text})}")
    assert tab.drawn().page.locator(".cut").inner_text().split() == mark_text(left_out)


def mark_text(left_out: int) -> list[str]:
    return f"✂ cut here: {left_out} pieces left out".split()
