"""What Compare draws is what the two runs hold: every cell, arc, number and rank, read off the picture."""

import math
import re

import numpy as np
import pixels
import pytest
from alone import compared, own_page, show
from compare_page import arcs, choose, column, line_colour, matrix, numbers_under, ranks, said
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
    moved,
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
def test_every_cell_of_the_three_matrices_is_the_runs_own(both_themes, head):
    page, theme = both_themes
    choose(page, head)
    line = line_colour(page)
    for side, label in enumerate("AB"):
        truth = WEIGHTS[side][head]
        shown = pixels.table(pixels.of_canvas(matrix(page, label)), line, len(truth))
        np.testing.assert_allclose(pixels.weights(shown, theme), truth, atol=0.03)
    truth = change(head)
    assert truth.min() < -0.3 < 0.3 < truth.max()
    shown = pixels.table(pixels.of_canvas(matrix(page, "A minus B")), line, len(truth))
    drawn = pixels.changes(shown, theme) * SPAN
    np.testing.assert_allclose(np.abs(drawn), np.abs(truth), atol=0.03)
    clear = np.abs(truth) > 0.05
    assert (np.sign(drawn) == np.sign(truth))[clear].all()


def test_every_small_picture_is_its_head_s_change_and_the_legend_says_which_way(both_themes):
    page, theme = both_themes
    canvas = page.get_by_label("All heads, A minus B").locator("canvas")
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
    cells = {"A": (WEIGHTS[0][head], 7, 2), "B": (WEIGHTS[1][head], 8, 6), "A minus B": (change(head), 3, 0)}
    labels = {"A": 0, "B": 1}
    for label, (truth, q, k) in cells.items():
        canvas = matrix(picture, label)
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
        tip = picture.locator(".trio figure").nth(list(cells).index(label)).locator(".tip")
        names = [NAMES[c] for c in BOTH] if label not in labels else [
            next(NAMES[c] for c, pair in enumerate(PAIRS) if pair[labels[label]] == unit) for unit in range(n)
        ]  # fmt: skip
        value = truth[q, k]
        if label in labels:
            assert tip.inner_text() == f"{names[q]} looks at {names[k]}: {percent(value)}"
        else:
            assert tip.inner_text() == f"{names[q]} to {names[k]}: {points(value)} points"
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
            assert share == pytest.approx(truth[side][place], abs=0.05)
    under = numbers_under(picture)
    loud = [c for c in range(len(PAIRS)) if max(truth[0][c], truth[1][c]) >= 0.2]
    assert set(loud) <= set(under)
    for place, texts in under.items():
        assert max(truth[0][place], truth[1][place]) >= 0.0199
        wanted = [None if PAIRS[place][side] is None else percent(truth[side][place]) for side in (0, 1)]
        assert texts == wanted
    order = sorted(BOTH, key=lambda c: -abs(truth[0][c] - truth[1][c]))[:2]
    told = " and ".join(
        f"“{NAMES[c]}” ({percent(x)} in A, {percent(y)} in B, {points(x - y)} points)"
        for c, x, y in [(c, truth[0][c], truth[1][c]) for c in order]
    )
    assert said(picture) == f"Head 2-3: “{NAMES[start]}” looks at {told}."


def test_heads_are_ranked_by_how_much_of_the_look_moved(picture):
    column(picture, IT).click()
    order = sorted(ALL_HEADS, key=lambda head: -moved(head, [IT]))
    shown = ranks(picture)
    assert [line["name"] for line in shown] == [named(head) for head in order]
    for line, head in zip(shown, order, strict=True):
        a, b = (row(head, IT, side) for side in (0, 1))
        most = int(np.abs(a - b).argmax())
        assert line["share"] == percent(moved(head, [IT]))
        if None in PAIRS[most]:
            only = "AB"[PAIRS[most].index(None) == 0]
            assert line["note"] == f"{NAMES[most]} {percent((a, b)[only == 'B'][most])}, only in {only}"
        else:
            assert line["note"] == f"{NAMES[most]} {percent(a[most])[:-2]} → {percent(b[most])}"
        assert line["wide"] == pytest.approx(moved(head, [IT]), abs=0.01)
    assert (
        picture.get_by_label("Heads ranked").locator("h2").inner_text() == "Heads that changed most for “it”"
    )
    picture.get_by_label("Heads ranked").locator("li button").last.click()
    assert said(picture).startswith(f"Head {named(order[-1])}: “it”")
