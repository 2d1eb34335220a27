"""What Compare draws is what the two runs hold: every cell, arc, number and rank, read off the picture.

The runs are lopsided on purpose: of different length, and `it` goes from the dog to the cat. What is true of them is
worked out here from the weights alone; places are counted by hand, as columns from 0 over both sentences.
"""

import math
import re

import numpy as np
import pytest
from drawn import percent, strokes
from pixels import THEMES, changes, colour, weights

from mha_core import record_from_weights
from mha_core.draw.payload import compare_payload
from mha_core.draw.selection import Selection

pytestmark = pytest.mark.browser
A = ["[CLS]", "the", "dog", "saw", "a", "cat", "and", "it", "ran", ".", "[SEP]"]
B = ["[CLS]", "yesterday", "the", "dog", "saw", "a", "cat", "because", "it", "hid", "too", ".", "[SEP]"]
# Word beside word, by hand; None where one has no counterpart.
PAIRS = [
    (0, 0), (None, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, None), (None, 9), (None, 10),
    (9, 11), (10, 12),
]  # fmt: skip
NAMES = [
    "[CLS]", "yesterday", "the", "dog", "saw", "a", "cat", "and / because", "it", "ran", "hid", "too", ".", "[SEP]",
]  # fmt: skip
BOTH = [column for column, (a, b) in enumerate(PAIRS) if a is not None and b is not None]
DOG, IT = 3, 8  # columns
LAYERS, HEADS = 2, 3
COREFERENCE = (1, 2)


def _weights(n: int, seed: int, links: dict[tuple[int, int], float]) -> np.ndarray:
    """Random rows that add up to one; in head 2-3 some of them by hand."""
    out = np.random.default_rng(seed).dirichlet(np.full(n, 0.4), size=(LAYERS, HEADS, n))
    for query in {query for query, _ in links}:
        shares = {key: share for (q, key), share in links.items() if q == query}
        rest = np.where([key in shares for key in range(n)], 0, out[1, 2, query])
        out[1, 2, query] = rest / rest.sum() * (1 - sum(shares.values()))
        for key, share in shares.items():
            out[1, 2, query, key] = share
    return out


WEIGHTS = (
    _weights(len(A), 3, {(7, 2): 0.7, (7, 5): 0.005, (7, 3): 0.012, (3, 0): 0.15}),
    _weights(len(B), 4, {(8, 6): 0.6, (8, 4): 0.004, (4, 0): 0.83}),
)
ALL_HEADS = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


def change(head: tuple[int, int]) -> np.ndarray:
    """A minus B between the words that both have."""
    a, b = ([PAIRS[column][side] for column in BOTH] for side in (0, 1))
    return WEIGHTS[0][head][np.ix_(a, a)] - WEIGHTS[1][head][np.ix_(b, b)]


def row(head: tuple[int, int], column: int, side: int) -> np.ndarray:
    """What the word of a column looks at in A (0) or B (1), one number a column; 0 where there is no word."""
    own = WEIGHTS[side][head]
    query = PAIRS[column][side]
    return np.array([0 if query is None or p[side] is None else own[query, p[side]] for p in PAIRS])


SPAN = math.ceil(10 * max(np.abs(change(head)).max() for head in ALL_HEADS)) / 10


@pytest.fixture
def compared(draw):
    records = [
        record_from_weights(run.astype(np.float32), text) for run, text in zip(WEIGHTS, (A, B), strict=True)
    ]
    runs = [run for record in records for run in (record.grid(), record.tokens)]
    payload = compare_payload(*runs, titles=("first", "second"), selection=Selection(COREFERENCE))
    return lambda scheme="light": draw(payload, scheme, named="A minus B")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_cell_and_small_picture_is_a_change_and_the_legend_says_which_way(compared, scheme):
    picture, theme, n = compared(scheme), THEMES[scheme], len(BOTH)
    for head in (COREFERENCE, (0, 1)):
        picture.root.get_by_role("gridcell", name=f"Head {head[0] + 1}-{head[1] + 1}:").click()
        picture.page.mouse.move(2, 2)
        assert change(head).min() < -0.3 < 0.3 < change(head).max()
        cells = picture.settle().cells(n, n)
        middle = cells.shape[2] // 2
        are_changes(cells[:, :, middle, middle], head, theme)
    small = picture.small(n, n, "All heads, A − B")
    assert list(small) == ALL_HEADS
    for head, cells in small.items():
        are_changes(cells, head, theme)
    legend = picture.root.locator(".overview .legend")
    assert legend.inner_text().split("\n") == [
        f"more in B, {100 * SPAN:.0f} points", f"{100 * SPAN:.0f} points, more in A",
    ]  # fmt: skip
    ramp = legend.locator("i").evaluate("e => getComputedStyle(e).backgroundImage")
    ends = [colour(end) for end in re.findall(r"rgb\([^)]*\)", ramp)]
    np.testing.assert_allclose(changes(ends, theme), [-1, -0.5, 0, 0.5, 1], atol=0.05)


def are_changes(cells, head, theme):
    """Every cell has the colour of its change; which way is seen from five points on."""
    truth, drawn = change(head), changes(cells, theme) * SPAN
    np.testing.assert_allclose(np.abs(drawn), np.abs(truth), atol=0.03)
    clear = np.abs(truth) > 0.05
    assert (np.sign(drawn) == np.sign(truth))[clear].all()


# Where the two words of each column and every percentage stand: [text, middle, middle].
STAND = """e => {
  const o = e.getBoundingClientRect();
  const middle = (part) => {
    const { left, top, width, height } = part.getBoundingClientRect();
    return [part.textContent, left + width / 2 - o.left, top + height / 2 - o.top + e.scrollTop];
  };
  const all = (what, within = e) => [...within.querySelectorAll(what)];
  return [all("[data-column]").map((column) => all(".unit", column).map(middle)), all(".share").map(middle)];
}"""


@pytest.mark.parametrize("start", [IT, 4])
def test_arcs_and_percentages_go_from_the_pinned_word_to_where_each_run_looks(compared, start):
    picture = compared()
    picture.part("Both sentences, word under word").get_by_role("button").nth(start).click()
    picture.page.mouse.move(2, 2)
    sentence = picture.settle().root.locator(".sentence")
    words, numbers = sentence.evaluate(STAND)
    x = np.array([upper[1] for upper, _ in words])
    between = np.mean([[upper[2], lower[2]] for upper, lower in words])
    truth = [row(COREFERENCE, start, side) for side in (0, 1)]
    drawn: list[dict[int, float]] = [{}, {}]
    for path, _, shade in strokes(sentence.locator(".arcs path")):
        side = int(path[1] > between)
        begin, end = (int(np.abs(x - tip).argmin()) for tip in (path[0], path[-2]))
        assert (begin, path[3] < path[1]) == (start, side == 0), "arcs of A rise, arcs of B hang"
        drawn[side][end] = (float(weights(shade, THEMES["light"])) - 0.3) / 0.7
    for side, arcs in enumerate(drawn):
        assert set(arcs) == {c for c in np.argsort(-truth[side])[:10].tolist() if truth[side][c] >= 0.0101}
        for place, share in arcs.items():
            special = NAMES[place].startswith("[")  # grey, as light as the lightest
            assert share == pytest.approx(0 if special else truth[side][place], abs=0.05)
    under: dict[int, list[str | None]] = {}
    for text, left, top in numbers:
        place = int(np.abs(x - left).argmin())
        upper, lower = (abs(top - word[2]) for word in words[place])
        under.setdefault(place, [None, None])[int(upper > lower)] = text
    assert {c for c in range(len(PAIRS)) if max(truth[0][c], truth[1][c]) >= 0.2} <= set(under)
    for place, texts in under.items():
        assert max(truth[0][place], truth[1][place]) >= 0.0199
        wanted = [None if PAIRS[place][side] is None else percent(truth[side][place]) for side in (0, 1)]
        assert texts == wanted
    inner = [column for column in BOTH if not NAMES[column].startswith("[")]
    most = max(inner, key=lambda column: abs(truth[0][column] - truth[1][column]))
    a, b = (percent(shares[most]) for shares in truth)
    assert picture.said() == f"Head 2-3: from “{NAMES[start]}” to “{NAMES[most]}” {a} in A, {b} in B."
