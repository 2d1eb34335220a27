"""What Compare draws is what the two runs hold: every cell, arc, number and rank, read off the picture."""

import math
import re

import numpy as np
import pixels
import pytest
from alone import compared, own_page, show
from compare_page import arcs, choose, column, line_colour, matrix, numbers_under, said
from two_runs import (
    ALL_HEADS,
    BOTH,
    COREFERENCE,
    DOG,
    IT,
    NAMES,
    PAIRS,
    RUN_A,
    RUN_B,
    WEIGHTS,
    change,
    named,
    percent,
    points,
    row,
)  # fmt: skip

pytestmark = pytest.mark.browser
SPAN = math.ceil(10 * max(np.abs(change(head)).max() for head in ALL_HEADS)) / 10


@pytest.fixture(params=["light", "dark"])
def both_themes(request, chromium, tmp_path):
    with own_page(chromium, request.param) as page:
        yield show(page, compared(RUN_A, RUN_B, COREFERENCE), tmp_path), pixels.THEMES[request.param]


@pytest.fixture
def picture(chromium, tmp_path):
    with own_page(chromium) as page:
        yield show(page, compared(RUN_A, RUN_B, COREFERENCE), tmp_path)


@pytest.mark.parametrize("head", [COREFERENCE, (0, 1)])
def test_every_cell_of_the_matrix_is_the_difference_of_the_runs(both_themes, head):
    page, theme = both_themes
    choose(page, head)
    line = line_colour(page)
    truth = change(head)
    assert truth.min() < -0.3 < 0.3 < truth.max()
    shown = pixels.table(pixels.of_canvas(matrix(page, "A minus B")), line, len(truth))
    drawn = pixels.changes(shown, theme) * SPAN
    np.testing.assert_allclose(np.abs(drawn), np.abs(truth), atol=0.03)
    clear = np.abs(truth) > 0.05
    assert (np.sign(drawn) == np.sign(truth))[clear].all()


def test_every_small_picture_is_its_head_s_change_and_the_legend_says_which_way(both_themes):
    page, theme = both_themes
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
    framed = np.abs(shown.astype(int) - np.array(line_colour(picture))).max(axis=-1) <= 3
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


@pytest.mark.parametrize("start", [IT, 4])
def test_arcs_and_percentages_go_from_the_pinned_word_to_where_each_run_looks(picture, start):
    head = COREFERENCE
    column(picture, start).click()
    picture.mouse.move(2, 2)
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
