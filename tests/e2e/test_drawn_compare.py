"""What Compare draws is what the two runs hold: every cell, arc, number and rank, read off the picture.

The runs are lopsided on purpose: of different length, and `it` goes from the dog to the cat. What is true of them is
worked out here from the weights alone; places are counted by hand, as columns from 0 over both sentences.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pixels
import pytest
from alone import own_page, show
from drawn import percent

from mha_core.draw.payload import compare_payload
from mha_core.draw.standalone import standalone_html
from mha_core.record.grid import Grid, Unit
from mha_core.text.tokens import Tokens
from pages.parts.frame.selection import Selection

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


def grid_of(labels: Sequence[str], weights: np.ndarray) -> tuple[Grid, Tokens]:
    """A grid of these weights over these words, and its text; the first and the last are special."""
    text, units = " ".join(labels[1:-1]), [Unit(labels[0], 0, 0, 0, True, (0,))]
    for found in re.finditer(r"\S+", text):
        units.append(Unit(found[0], found.start(), found.end(), 0, False, (len(units),)))
    units.append(Unit(labels[-1], len(text), len(text), 0, True, (len(units),)))
    return Grid(tuple(units), weights.astype(np.float32), False, "shown"), Tokens(text, None, (), ())


def _weights(n: int, seed: int, links: dict[tuple[int, int], float]) -> np.ndarray:
    """Random rows that add up to one; in head 2-3 some of them by hand."""
    out = np.random.default_rng(seed).dirichlet(np.full(n, 0.4), size=(LAYERS, HEADS, n))
    for query in {query for query, _ in links}:
        shares = {key: share for (q, key), share in links.items() if q == query}
        rest = np.where([key in shares for key in range(n)], 0, out[1, 2, query])
        out[1, 2, query] = rest / rest.sum() * (1 - sum(shares.values()))
        for key, share in shares.items():
            out[1, 2, query, key] = share
    return out.astype(np.float32)


RUN_A = grid_of(A, _weights(len(A), 3, {(7, 2): 0.7, (7, 5): 0.005, (7, 3): 0.012, (3, 0): 0.15}))
RUN_B = grid_of(B, _weights(len(B), 4, {(8, 6): 0.6, (8, 4): 0.004, (4, 0): 0.83}))
WEIGHTS = (RUN_A[0].weights.astype(float), RUN_B[0].weights.astype(float))
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


def points(difference: float) -> str:
    """A difference as the picture writes it: whole points, below one with a decimal."""
    text = percent(difference).removesuffix("%")
    return text if text == "0" else f"{'−' if difference < 0 else '+'}{text}"


def named(head: tuple[int, int]) -> str:
    return f"{head[0] + 1}-{head[1] + 1}"


def column(page: Any, place: int) -> Any:
    return page.get_by_label("Both sentences, word under word").get_by_role("button").nth(place)


def said(page: Any) -> str:
    return page.locator("p.inwords").get_attribute("data-said")


def choose(page: Any, head: tuple[int, int]) -> None:
    page.get_by_role("gridcell", name=f"Head {named(head)}:").click()
    page.mouse.move(2, 2)


def matrix(page: Any, label: str) -> Any:
    return page.get_by_role("application", name=label, exact=True)


def line_colour(page: Any) -> tuple[int, ...]:
    return pixels.colour(page.locator(".headscope").evaluate("e => e.style.getPropertyValue('--line')"))


def arcs(page: Any) -> list[tuple[int, int, int, float]]:
    """Every arc as (side, from, to, weight by its darkness): columns; A is 0 and rises from the upper words."""
    boxes = page.evaluate(
        """() => {
          const root = document.querySelector(".sentence");
          const at = (e) => e.getBoundingClientRect();
          const [x0, y0] = [at(root).left, at(root).top - root.scrollTop];
          const box = (e) => ({ x: at(e).left - x0 + at(e).width / 2, top: at(e).top - y0, bottom: at(e).bottom - y0 });
          const words = [...root.querySelectorAll("[data-column]")].map(box);
          const paths = [...root.querySelectorAll(".arcs path")];
          const lines = paths.map((p) => [p.getAttribute("d"), p.getAttribute("stroke")]);
          return { words, lines };
        }"""
    )
    found = []
    middle = np.mean([(box["top"] + box["bottom"]) / 2 for box in boxes["words"]])
    for d, stroke in boxes["lines"]:
        numbers = [float(part) for part in re.findall(r"-?[\d.]+", d)]
        ends = [
            int(np.argmin([abs(box["x"] - x) for box in boxes["words"]])) for x in (numbers[0], numbers[-2])
        ]
        side = int(numbers[1] > middle)
        dark = float(pixels.weights(pixels.colour(stroke), pixels.THEMES["light"]))
        bend = numbers[3] - numbers[1]
        assert (bend < 0) == (side == 0), "arcs of A rise, arcs of B hang"
        found.append((side, *ends, (dark - 0.3) / 0.7))
    return found


def numbers_under(page: Any) -> dict[int, list[str | None]]:
    """The percentages by column: [beside A's word, beside B's word]."""
    at = page.evaluate(
        """() => {
          const all = (what) => [...document.querySelectorAll(`.sentence ${what}`)];
          const middle = (e) => {
            const { left, top, width, height } = e.getBoundingClientRect();
            return [left + width / 2, top + height / 2];
          };
          const words = all("[data-column]").map((c) => [...c.querySelectorAll(".unit")].map(middle));
          return { words, shares: all(".share").map((s) => [s.textContent, ...middle(s)]) };
        }"""
    )
    found: dict[int, list[str | None]] = {}
    for text, x, y in at["shares"]:
        place = int(np.argmin([abs(word[0][0] - x) for word in at["words"]]))
        upper, lower = at["words"][place]
        found.setdefault(place, [None, None])[int(abs(y - upper[1]) > abs(y - lower[1]))] = text
    return found


SPAN = math.ceil(10 * max(np.abs(change(head)).max() for head in ALL_HEADS)) / 10


@pytest.fixture
def picture(chromium, tmp_path, scheme):
    made = compare_payload(*RUN_A, *RUN_B, titles=("first", "second"), selection=Selection(COREFERENCE))
    with own_page(chromium, scheme) as page:
        yield show(page, standalone_html(made, title="two runs"), tmp_path)


@pytest.fixture
def scheme():
    return "light"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_cell_and_small_picture_is_a_change_and_the_legend_says_which_way(picture, scheme):
    page, theme = picture, pixels.THEMES[scheme]
    for head in (COREFERENCE, (0, 1)):
        choose(page, head)
        truth = change(head)
        assert truth.min() < -0.3 < 0.3 < truth.max()
        shown = pixels.table(pixels.of_canvas(matrix(page, "A minus B")), line_colour(page), len(truth))
        drawn = pixels.changes(shown, theme) * SPAN
        np.testing.assert_allclose(np.abs(drawn), np.abs(truth), atol=0.03)
        clear = np.abs(truth) > 0.05
        assert (np.sign(drawn) == np.sign(truth))[clear].all()
    canvas = page.get_by_label("All heads, A − B").locator("canvas")
    shown, origin = pixels.of_canvas(canvas), canvas.bounding_box()
    buttons = page.get_by_role("gridcell")
    assert buttons.count() == len(ALL_HEADS)
    for head in ALL_HEADS:
        box = page.get_by_role("gridcell", name=f"Head {named(head)}:").bounding_box()
        truth = change(head)
        left, top = box["x"] - origin["x"], box["y"] - origin["y"]
        drawn = pixels.changes(pixels.small(shown, left, top, box["width"], len(truth)), theme) * SPAN
        clear = np.abs(truth) > 0.05
        np.testing.assert_allclose(drawn[clear], truth[clear], atol=0.04)
    legend = page.locator(".overview .legend")
    assert legend.inner_text().split("\n") == [
        f"more in B, {100 * SPAN:.0f} points", f"{100 * SPAN:.0f} points, more in A",
    ]  # fmt: skip
    ends = re.findall(
        r"rgb\([^)]*\)", legend.locator("i").evaluate("e => getComputedStyle(e).backgroundImage")
    )
    shares = pixels.changes([pixels.colour(end) for end in ends], theme)
    np.testing.assert_allclose(shares, [-1, -0.5, 0, 0.5, 1], atol=0.05)


def test_a_cell_says_its_own_words_and_number_to_the_pointer_and_aloud(picture):
    head = COREFERENCE
    truth, q, k = change(head), 3, 0
    canvas = matrix(picture, "A minus B")
    canvas.scroll_into_view_if_needed()
    box, shown = canvas.bounding_box(), pixels.of_canvas(canvas)
    n = len(truth)
    framed = np.abs(shown[..., :3].astype(int) - np.array(line_colour(picture))).max(axis=-1) <= 3
    rows = np.flatnonzero(framed.sum(axis=1) > 0.4 * framed.sum(axis=1).max())
    right = np.flatnonzero(framed.sum(axis=0) > 0.4 * framed.sum(axis=0).max())[-1]
    size = rows[-1] - rows[0] - 1
    picture.mouse.move(
        box["x"] + right - size + (k + 0.5) * size / n, box["y"] + rows[0] + 1 + (q + 0.5) * size / n
    )
    names = [NAMES[c] for c in BOTH]
    tip = picture.get_by_label("The chosen head").locator(".tip")
    assert tip.inner_text() == f"{names[q]} to {names[k]}: {points(truth[q, k])} points"
    canvas = matrix(picture, "A minus B")
    canvas.focus()
    for key in ["ArrowRight", *["ArrowDown"] * BOTH.index(IT), *["ArrowRight"] * BOTH.index(DOG)]:
        canvas.press(key)
    a, b = (WEIGHTS[side][head][PAIRS[IT][side], PAIRS[DOG][side]] for side in (0, 1))
    assert (
        picture.locator("p.hidden-aloud").text_content()
        == f"it looks at dog: {percent(a)} in A, {percent(b)} in B"
    )


def test_arcs_and_percentages_go_from_the_pinned_word_to_where_each_run_looks(picture):
    for start in (IT, 4):
        picture.keyboard.press("Escape")
        column(picture, start).click()
        picture.mouse.move(2, 2)
        check_pinned(picture, start)


def check_pinned(picture, start):
    head = COREFERENCE
    truth = [row(head, start, side) for side in (0, 1)]
    drawn = arcs(picture)
    assert {a[1] for a in drawn} == {start}
    for side in (0, 1):
        shown = {a[2]: a[3] for a in drawn if a[0] == side}
        clear = {c for c in np.argsort(-truth[side])[:10].tolist() if truth[side][c] >= 0.0101}
        assert set(shown) == clear
        for place, share in shown.items():
            special = NAMES[place].startswith("[")  # grey, as light as the lightest
            assert share == pytest.approx(0 if special else truth[side][place], abs=0.05)
    under = numbers_under(picture)
    loud = [c for c in range(len(PAIRS)) if max(truth[0][c], truth[1][c]) >= 0.2]
    assert set(loud) <= set(under)
    for place, texts in under.items():
        assert max(truth[0][place], truth[1][place]) >= 0.0199
        wanted = [None if PAIRS[place][side] is None else percent(truth[side][place]) for side in (0, 1)]
        assert texts == wanted
    words = [c for c in BOTH if not NAMES[c].startswith("[")]
    most = max(words, key=lambda c: abs(truth[0][c] - truth[1][c]))
    a, b = (percent(row[most]) for row in truth)
    assert said(picture) == f"Head 2-3: from “{NAMES[start]}” to “{NAMES[most]}” {a} in A, {b} in B."
