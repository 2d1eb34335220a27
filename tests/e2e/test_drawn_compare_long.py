"""Compare of long texts, where heads come one at a time: the ranking and the small pictures are the engine's."""

import re

import numpy as np
import pixels
import pytest
from alone import compared, grid_of, own_page, show
from compare_page import ranks
from two_runs import named

pytestmark = pytest.mark.browser
N, NEW, PINS = 152, 41, (60, 90)  # B has one word more than A, at place 41
NOT_COUNTED = (
    "This file ranks only the words that were pinned when it was saved."  # no server counts for a file
)
THERE = [i if i < NEW else i + 1 for i in range(N)]  # the places of A's words in B
HEADS = [(layer, head) for layer in range(4) for head in range(4)]


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(8)
    words = [f"w{i}" for i in range(N - 2)]
    made = []
    for text in (words, [*words[: NEW - 1], "new", *words[NEW - 1 :]]):
        n = len(text) + 2
        weights = rng.dirichlet(np.full(n, 0.02), (4, 4, n))
        weights[..., [0, 3]] += rng.uniform(0, 0.5, (4, 4, n, 2))
        made.append(grid_of(["[CLS]", *text, "[SEP]"], weights / weights.sum(axis=-1, keepdims=True)))
    return made


def change_of(runs, head, to: int | None) -> tuple[float, float, float]:
    """What one head is ranked by, and what it gives in A and in B to the word that changed most, or to `to`."""
    places = (list(PINS), [THERE[pin] for pin in PINS])
    a, b = (run[0].weights[head].astype(float)[at].mean(axis=0) for run, at in zip(runs, places, strict=True))
    spread = np.insert(a, NEW, 0.0)
    apart = np.abs(spread - b)
    most = int(apart.argmax()) if to is None else THERE[to]
    return float(apart.sum() / 2 if to is None else apart[most]), float(spread[most]), float(b[most])


@pytest.mark.parametrize("to", [None, 0, 3])
def test_heads_are_ranked_by_what_the_server_sent_for_these_words_and_no_others(chromium, tmp_path, runs, to):
    truth = {head: change_of(runs, head, to) for head in HEADS}
    order = sorted(HEADS, key=lambda head: -truth[head][0])
    with own_page(chromium) as page:
        show(page, compared(*runs, (1, 0), pins=PINS, to=to), tmp_path)
        shown = ranks(page)
        assert [line["name"] for line in shown] == [named(head) for head in order]
        for line, head in zip(shown, order, strict=True):
            weight, a, b = truth[head]
            share = float(line["share"].replace("−", "-").split()[0])
            assert share == pytest.approx(100 * (weight if to is None else a - b), abs=0.1001)
            before, after = re.findall(r"[\d.]+(?= →|\s%$)", line["note"])
            assert (float(before), float(after)) == pytest.approx((100 * a, 100 * b), abs=0.1001)
        lines = page.get_by_label("Heads ranked").locator("li")
        page.get_by_label("To", exact=True).select_option(label="w17")
        assert lines.all_inner_texts() == [NOT_COUNTED]
        page.get_by_label("To", exact=True).select_option(value="" if to is None else str(to))
        assert ranks(page)[0]["name"] == named(order[0])
        page.get_by_label("From", exact=True).select_option(label="w17")
        assert lines.all_inner_texts() == [NOT_COUNTED]


def test_a_small_picture_shows_its_head_s_largest_change_where_it_is_and_with_its_sign(
    chromium, tmp_path, runs
):
    with own_page(chromium) as page:
        show(page, compared(*runs, (1, 0)), tmp_path)
        canvas = page.get_by_label("All heads, A minus B").locator("canvas")
        shown, origin = pixels.of_canvas(canvas), canvas.bounding_box()
        span = int(re.search(r"(\d+) points", page.locator(".overview .legend").inner_text())[1]) / 100
        for head in HEADS:
            a, b = (run[0].weights[head].astype(float) for run in runs)
            apart = a - b[np.ix_(THERE, THERE)]
            box = page.get_by_role("gridcell", name=f"Head {named(head)}").bounding_box()
            side = round(box["width"])
            x, y = (round(box[axis] - origin[axis]) for axis in "xy")
            drawn = pixels.changes(shown[y : y + side, x : x + side], pixels.THEMES["light"]) * span
            q, k = np.unravel_index(np.abs(apart).argmax(), apart.shape)
            rows, columns = (slice(max(0, i * side // N - 2), i * side // N + 3) for i in (q, k))
            near = drawn[rows, columns]
            assert near.flat[np.abs(near).argmax()] == pytest.approx(apart[q, k], abs=0.06)
