"""What Compare draws is what the two runs hold: every cell, arc, number and rank, read off the picture."""

import math
import re

import numpy as np
import pixels
import pytest
from alone import compared, download, grid_of, own_page, show
from compare_page import arcs, choose, column, line_colour, matrix, numbers_under, ranks, said, save
from two_runs import (
    ALL_HEADS,
    BOTH,
    CAT,
    CLS,
    COREFERENCE,
    DOG,
    IT,
    NAMES,
    PAIRS,
    RAN,
    RUN_A,
    RUN_B,
    SAW,
    WEIGHTS,
    change,
    moved,
    named,
    percent,
    points,
    row,
)  # fmt: skip

from mha_core.record import Grid

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


def test_the_ramp_reaches_to_the_largest_change_whichever_way_it_goes(chromium, tmp_path):
    largest = max(change(head).max() for head in ALL_HEADS)
    smallest = max(-change(head).min() for head in ALL_HEADS)
    assert math.ceil(10 * largest) != math.ceil(10 * smallest)
    for runs in ((RUN_A, RUN_B), (RUN_B, RUN_A)):
        with own_page(chromium) as page:
            show(page, compared(*runs, COREFERENCE), tmp_path)
            legend = page.locator(".overview .legend").inner_text()
            assert legend.startswith(f"more in B, {100 * SPAN:.0f} points")


def test_a_head_is_named_with_its_largest_change_whatever_its_sign(picture):
    signs = set()
    for head in ALL_HEADS:
        truth = change(head)
        q, k = np.unravel_index(np.abs(truth).argmax(), truth.shape)
        signs.add(np.sign(truth[q, k]))
        words = [NAMES[BOTH[place]] for place in (q, k)]
        told = (
            f"Head {named(head)}: largest change “{words[0]}” to “{words[1]}”, {points(truth[q, k])} points"
        )
        button = picture.get_by_role("gridcell", name=f"Head {named(head)}:")
        assert button.get_attribute("aria-label") == told
        button.hover()
        assert picture.locator(".overview .caption").inner_text() == told
    assert signs == {-1, 1}
    choose(picture, (0, 1))
    assert picture.get_by_role("gridcell", selected=True).get_attribute("aria-label").startswith("Head 1-2:")
    alone = len(PAIRS) - len(BOTH)
    assert picture.locator(".overview .caption").inner_text() == (
        f"{len(BOTH)} of {len(PAIRS)} {'tokens'} aligned. {alone} words have no counterpart and are left out."
    )


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


def test_words_stand_under_their_counterparts_and_say_so(picture):
    for place, (a, b) in enumerate(PAIRS):
        texts = column(picture, place).locator("span.unit").all_text_contents()
        own = [NAMES[place].split(" / ")[0], NAMES[place].split(" / ")[-1]]
        assert texts == ["" if a is None else own[0], "" if b is None else own[1]]
        assert column(picture, place).get_attribute("aria-label") is None, "its name is what it shows"
        spoken = "".join(column(picture, place).locator("span:not([aria-hidden])").all_text_contents())
        if a is None:
            assert spoken == f"only in B: {own[1]}"
        elif b is None:
            assert spoken == f"only in A: {own[0]}"
        else:
            assert spoken == (f"{own[0]} in A, {own[1]} in B" if own[0] != own[1] else own[0])
        underlined = "underline" in column(picture, place).locator("span.unit").first.evaluate(
            "e => getComputedStyle(e).textDecorationLine"
        )
        assert underlined == (a is None or b is None or own[0] != own[1])
    assert picture.locator("p.titles").inner_text() == "A: first · B: second"


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


def test_a_word_pointed_at_shows_its_rows_and_a_word_of_one_run_alone_only_its_own(picture):
    column(picture, CAT).hover()
    assert {(a[0], a[1]) for a in arcs(picture)} == {(0, CAT), (1, CAT)}
    column(picture, RAN).hover()
    assert {(a[0], a[1]) for a in arcs(picture)} == {(0, RAN)}
    truth = row(COREFERENCE, RAN, 0)
    shown = {a[2]: a[3] for a in arcs(picture)}
    assert max(shown, key=shown.get) == int(truth.argmax())
    under = numbers_under(picture)
    assert under[int(truth.argmax())][0] == percent(truth.max())
    column(picture, 1).hover()
    assert {(a[0], a[1]) for a in arcs(picture)} == {(1, 1)}
    column(picture, RAN).click()
    assert f"“{NAMES[RAN]}” stands in A only" in said(picture), "no number is made up for B"
    assert "there is no row of B" in picture.get_by_label("Heads ranked").locator("li").inner_text()
    column(picture, RAN).click()
    column(picture, 1).click()
    assert said(picture).startswith("Head 2-3: largest change"), (
        "a word that A does not have cannot be pinned"
    )


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


@pytest.mark.parametrize("target", [DOG, CLS, SAW])
def test_towards_one_word_heads_are_ranked_by_that_link_alone_with_its_sign(picture, target):
    column(picture, IT).click()
    if target:
        column(picture, target).click()
    else:
        picture.get_by_label("To", exact=True).select_option(label="[CLS]")
    link = {head: [row(head, IT, side)[target] for side in (0, 1)] for head in ALL_HEADS}
    order = sorted(ALL_HEADS, key=lambda head: -abs(link[head][0] - link[head][1]))
    assert order != sorted(ALL_HEADS, key=lambda head: -moved(head, [IT])), "a case that tells the two apart"
    shown = ranks(picture)
    assert [line["name"] for line in shown] == [named(head) for head in order]
    colours = {True: pixels.THEMES["light"].more, False: pixels.THEMES["light"].less}
    for line, head in zip(shown, order, strict=True):
        a, b = link[head]
        assert line["share"] == points(a - b)
        assert line["note"] == f"{percent(a)[:-2]} → {percent(b)}"
        assert line["wide"] == pytest.approx(abs(a - b), abs=0.01)
        blue = pixels.changes(pixels.colour(line["colour"]), pixels.THEMES["light"]) > 0
        assert blue == (a >= b), colours
    assert {a >= b for a, b in link.values()} == {True, False}
    title = picture.get_by_label("Heads ranked").locator("h2").inner_text()
    assert title == f"“it” to “{NAMES[target]}”, A and B"
    assert picture.get_by_label("From", exact=True).locator("option:checked").inner_text() == "it"
    assert picture.get_by_label("To", exact=True).locator("option:checked").inner_text() == NAMES[target]
    picture.mouse.move(2, 2)
    wanted = [percent(share) for share in link[COREFERENCE]]
    assert numbers_under(picture)[target] == wanted, "the aimed link always has its numbers"


def test_two_pinned_words_have_the_mean_of_their_rows(picture):
    column(picture, IT).click()
    column(picture, 4).click(modifiers=["Shift"])
    order = sorted(ALL_HEADS, key=lambda head: -moved(head, [4, IT]))
    shown = ranks(picture)
    assert [line["name"] for line in shown] == [named(head) for head in order]
    for line, head in zip(shown, order, strict=True):  # the weights travel in steps of 1/65535
        assert float(line["share"][:-2]) == pytest.approx(100 * moved(head, [4, IT]), abs=0.06)
    for line, head in zip(shown, order, strict=True):
        wide = moved(head, [4, IT])
        assert line["wide"] == pytest.approx(wide, abs=0.01)
    assert picture.get_by_label("Heads ranked").locator("h2").inner_text() == (
        "Heads that changed most for “saw” and “it”"
    )
    a, b = (sum(row(COREFERENCE, c, side) for c in (4, IT)) / 2 for side in (0, 1))
    order = sorted(BOTH, key=lambda c: -abs(a[c] - b[c]))[:2]
    told = " and ".join(
        f"“{NAMES[c]}” ({percent(a[c])} in A, {percent(b[c])} in B, {points(a[c] - b[c])} points)"
        for c in order
    )
    assert said(picture) == f"Head 2-3: “saw” and “it” look on average at {told}."
    column(picture, 4).click(modifiers=["Shift"])
    assert said(picture).startswith("Head 2-3: “it” looks")


def test_the_table_has_a_line_a_place_with_both_numbers_and_their_difference(picture):
    column(picture, IT).click()
    picture.get_by_role("button", name="Table", exact=True).click()
    lines = (
        picture.get_by_label("The chosen head")
        .locator("tr")
        .evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.textContent))")
    )
    a, b = (row(COREFERENCE, IT, side) for side in (0, 1))
    assert lines[0] == ["looked at", "A", "B", "A − B, points"]
    assert lines[1:] == [
        [name, percent(x), percent(y), points(x - y)]
        if None not in pair
        else [
            name,
            *(
                f"not in {side}" if at is None else percent(w)
                for side, at, w in zip("AB", pair, (x, y), strict=True)
            ),
            "",
        ]
        for name, x, y, pair in zip(NAMES, a, b, PAIRS, strict=True)
    ]


def test_the_pinned_and_aimed_words_are_framed_in_each_matrix_at_its_own_place(picture):
    column(picture, IT).click()
    column(picture, DOG).click()
    picture.mouse.move(2, 2)
    accent = pixels.colour(
        picture.locator(".headscope").evaluate("e => e.style.getPropertyValue('--accent')")
    )
    for side, label in enumerate(["A", "B", "A minus B"]):
        n = len(WEIGHTS[side][0, 0]) if side < 2 else len(BOTH)
        at = [PAIRS[c][side] if side < 2 else BOTH.index(c) for c in (IT, DOG)]
        shown = pixels.of_canvas(matrix(picture, label))
        marked = np.abs(shown.astype(int) - np.array(accent)).max(axis=-1) <= 40
        height = shown.shape[0]
        size = marked.sum(axis=1).max()
        rows = np.flatnonzero(marked.sum(axis=1) > 0.8 * size)
        top = height - 2 - size
        assert rows.min() - top == pytest.approx(at[0] * size / n, abs=4)
        assert rows.max() - top == pytest.approx((at[0] + 1) * size / n, abs=4)


def test_weights_of_another_shape_compare_what_both_have(chromium, tmp_path):
    """B has fewer layers and heads: its heads stand at other places of the numbers that arrive."""
    grid, tokens = RUN_B
    few = Grid(grid.units, np.ascontiguousarray(grid.weights[:, :2]), False, "shown")
    with own_page(chromium) as page:
        show(page, compared(RUN_A, (few, tokens), (0, 0)), tmp_path)
        assert page.get_by_role("gridcell").count() == 4
        assert (
            "Only heads that both models have are shown." in page.locator(".overview .caption").inner_text()
        )
        column(page, IT).click()
        heads = [(layer, head) for layer in range(2) for head in range(2)]
        order = sorted(heads, key=lambda head: -moved(head, [IT]))
        assert [line["name"] for line in ranks(page)] == [named(head) for head in order]
        assert [line["share"] for line in ranks(page)] == [percent(moved(head, [IT])) for head in order]
        for head in heads:
            truth = change(head)
            q, k = np.unravel_index(np.abs(truth).argmax(), truth.shape)
            label = page.get_by_role("gridcell", name=f"Head {named(head)}:").get_attribute("aria-label")
            assert label.endswith(f"“{NAMES[BOTH[k]]}”, {points(truth[q, k])} points")


def test_two_texts_without_a_common_word_can_be_compared(chromium, tmp_path):
    """With [CLS] and [SEP] hidden nothing stands side by side; the rows of each run are still there."""
    runs = []
    for labels, seed in ((["birds", "sing"], 1), (["she", "never", "laughed"], 2)):
        grid, tokens = grid_of(
            ["[CLS]", *labels, "[SEP]"],
            np.random.default_rng(seed).dirichlet(np.ones(len(labels) + 2), (1, 2, len(labels) + 2)),
        )
        inner = slice(1, -1)
        runs.append(
            (
                Grid(
                    grid.units[inner], np.ascontiguousarray(grid.weights[..., inner, inner]), False, "hidden"
                ),
                tokens,
            )
        )
    with own_page(chromium) as page:
        show(page, compared(*runs, (0, 1)), tmp_path)
        assert said(page) == "Head 1-2: no word of A has a counterpart in B."
        column(page, 1).click()
        assert {(a[0], a[1]) for a in arcs(page)} == {(0, 1)}
        assert said(page).startswith("Head 1-2: “sing” stands in A only. There it looks at ")
        assert not ranks(page), "half of a row beside nothing is no change"
        assert page.get_by_label("The chosen head").locator("figure:visible").count() == 2
        assert "NaN" not in download(page, lambda: save(page, "Picture, SVG"), tmp_path).read_text()
