"""What Explore draws is what was computed, of an encoder, a decoder and two texts: shades, arcs, words and rows."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from causal_runs import causal_record
from drawn import SHADE, Picture, percent, shares

from mha_core import record_from_weights, trace
from mha_core.draw.crossed import cross_payload
from mha_core.draw.payload import explore_payload
from mha_core.draw.selection import Selection
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
CROSS, IT, ANIMAL = 6, 10, 2
SPECIAL = (0, -1)  # [CLS] and [SEP]
DRAWN = 14  # arcs over a sentence, at most
STROKE = 0.015  # what 8 bits a channel leave unknown of a stroke's weight


@pytest.fixture(scope="module")
def record(model):
    return trace(TIRED, model)


@pytest.fixture(scope="module")
def cross():
    """A target of four words, which look at six; one of them not at all at the first."""
    weights = np.random.default_rng(5).dirichlet(np.full(6, 0.3), (2, 3, 4)).astype(np.float32)
    weights[..., 1, 1] += weights[..., 1, 0]
    weights[..., 1, 0] = 0
    target, source = ["<pad>", "Die", "Katze", "schlief"], ["The", "cat", "was", "fast", "asleep", "."]
    return record_from_weights(weights, target, keys=source, title="small")


def explored(grid, tokens, head, pins=(), to=None, **more):
    return explore_payload(grid, tokens, model_title="MiniLM", selection=Selection(head, pins, to), **more)


@pytest.mark.parametrize(
    ("run", "scheme"), [("encoder", "light"), ("pieces", "light"), ("words", "dark"), ("cross", "dark")]
)
def test_matrix_small_pictures_arcs_and_percentages_are_the_run_s(draw, record, cross, run, scheme):
    if run == "cross":
        grid, head, pins, first = cross.grid(), (1, 2), (6 + 2,), 6
        payload = cross_payload(cross, grid, Selection(head, (2,)))
    else:
        traced, first = record if run == "encoder" else causal_record(), 0
        grid = traced.grid(words=run == "words")
        head, pins = ((3, 1), (ANIMAL, CROSS, IT)) if run == "encoder" else ((1, 4), (2, len(grid) - 1))
        payload = explored(grid, traced.tokens, head, pins)
    picture, n = draw(payload, scheme), grid.weights.shape[2:]
    seen = np.tril(np.ones(n, bool)) if run in ("pieces", "words") else np.ones(n, bool)
    cells = picture.cells(*n)
    assert (cells[seen][..., 3] == 255).all()
    assert ((cells[~seen][..., 3] == 0).mean((1, 2)) > 0.4).all(), "the page's paper"
    lines = (cells[~seen][..., 3] > 60).mean((1, 2))
    assert ((lines > 0.05) & (lines < 0.5)).all(), "thin lines on it"
    middle = cells.shape[2] // 2
    have_shades(picture, cells[:, :, middle, middle], grid.weights[head], seen)
    small = picture.small(*n)
    assert list(small) == list(np.ndindex(grid.weights.shape[:2]))
    for name, drawn in small.items():
        assert (drawn[..., 3] == np.where(seen, 255, 0)).all()
        have_shades(picture, drawn, grid.weights[name], seen)

    rows = grid.weights[head][[pin - first for pin in pins]]
    links = {
        (pin, key): row[key] for pin, row in zip(pins, rows, strict=True) for key in np.argsort(-row)[:12]
    }
    links = {link: weight for link, weight in links.items() if weight >= 0.01}
    links = dict(sorted(links.items(), key=lambda each: -each[1])[:DRAWN])
    arcs, names = picture.arcs(), picture.names()
    assert {(start, end) for start, end, *_ in arcs} == set(links)
    for start, end, share, _ in arcs:
        is_special = names[end].startswith("[")  # grey, as light as the lightest
        assert share == pytest.approx(0 if is_special else links[start, end], abs=STROKE)
    if run == "encoder":
        widths = [width for _, end, share, width in sorted(arcs, key=lambda arc: arc[2]) if share > STROKE]
        assert widths[-1] > 5 * widths[0]
    labels, mean = picture.labels(), rows.mean(axis=0)
    assert int(mean.argmax()) in labels
    assert labels == {unit: percent(mean[unit]) for unit in labels}
    if run == "cross":
        assert names == [*cross.grid().key_labels, *cross.grid().labels]
        assert max(word["y"] for word in picture.words()[:6]) < min(word["y"] for word in picture.words()[6:])
        picture.root.get_by_role("button", name="Clear", exact=True).click()
        picture.word(1).hover()
        lookers = {(6 + q, 1) for q in np.flatnonzero(grid.weights[head][:, 1] >= 0.01)}
        assert {(start, end) for start, end, *_ in picture.settle().arcs()} == lookers


def have_shades(picture: Picture, pixels: np.ndarray, weights: np.ndarray, seen: np.ndarray) -> None:
    assert np.abs(shares(pixels[..., :3], picture.paper) - weights)[seen].max() < SHADE


def test_the_pointer_reads_the_cell_it_is_on_and_a_click_asks_for_its_link(draw, record):
    grid = record.grid()
    weights = grid.weights[3, 1]
    picture = draw(explored(grid, record.tokens, (3, 1), (IT,)))
    for q, k in ((IT, ANIMAL), (0, 15), (CROSS, 13)):
        picture.point(q, k, len(grid))
        who, _, share = picture.tip().rpartition(": ")
        assert who == f"{grid.labels[q]} looks at {grid.labels[k]}"
        is_percent(share, weights[q, k])
        best = int(weights[q].argmax())
        assert picture.said().startswith(f"Head 4-2: “{grid.labels[q]}” looks at “{grid.labels[best]}”")
        is_percent(picture.labels()[k], weights[q, k])
        drawn = {(start, end): share for start, end, share, _ in picture.arcs()}
        assert drawn[q, k] == pytest.approx(0 if k == 15 else weights[q, k], abs=STROKE)
    picture.page.mouse.down()
    picture.page.mouse.up()
    assert picture.pressed() == [CROSS, 13], "the row's word and the column's, as a tap and Enter do"
    assert picture.said().startswith(f"Head 4-2: “{grid.labels[CROSS]}” → “{grid.labels[13]}” ")
    assert re.search(r"(rank \d+|the strongest) of 72 heads; (strongest|next) is \d-\d+ \(", picture.said())
    faded = picture.root.locator("svg.arcs path[opacity]").count()
    assert faded == picture.root.locator("svg.arcs path").count() - 1, "all other arcs step back"
    picture.ranking()
    ranks = picture.part("Heads ranked").locator("[data-head]")
    assert ranks.evaluate_all("all => all.filter(e => e.tabIndex === 0).length") == 1, "one stop of Tab"
    ranks.nth(0).focus()
    picture.page.keyboard.press("End")
    assert ranks.nth(71).evaluate("e => e === e.getRootNode().activeElement")


def is_percent(text: str, weight: float) -> None:
    """A percentage on the screen is this weight; half a step of 16 bits may tip its last digit."""
    assert float(text.removesuffix("%")) == pytest.approx(100 * float(weight), abs=0.501)


FRAMED = """all => all.filter(e => getComputedStyle(e).boxShadow.includes("0px 0px 0px 3px"))
    .filter(e => e.ariaSelected !== "true" || getComputedStyle(e).boxShadow.includes("inset")).map(e => e.ariaLabel)"""


def test_a_pressed_role_frames_its_heads_and_they_are_ranked_sorted_and_chosen(draw, record):
    grid = record.grid()
    kinds = {(3, 1): "coreference", (2, 2): "sink", (0, 3): "sink", (4, 4): "sink"}
    roles = {head: Role("", kind, KIND_OF[kind].name, "", head != (4, 4)) for head, kind in kinds.items()}
    picture = draw(explored(grid, record.tokens, (3, 1), (IT,), ANIMAL, roles=roles))
    assert picture.framed(16) == ([IT], [ANIMAL])
    assert picture.page.get_by_role("button", name="Why").count() == 0, "asked of a server alone"
    words = picture.part("Mark the heads with a role").get_by_role("button")

    def framed() -> list[str]:
        labels = picture.settle().root.get_by_role("gridcell").evaluate_all(FRAMED)
        return [label.partition(":")[0] for label in labels]

    assert (words.all_inner_texts(), framed()) == (["coreference", "sink"], [])
    words.nth(1).click()
    assert framed() == ["Head 1-4, sink head", "Head 3-3, sink head"]
    words.nth(0).focus()
    picture.page.keyboard.press("Enter")
    assert framed() == ["Head 4-2, coreference head"], "the chosen head, too"
    picture.page.keyboard.press("Space")
    assert framed() == []

    picture.view("Sort heads").select_option("weight")
    picture.page.keyboard.press("Escape")
    heads = check_ranking(picture, grid.weights, (IT,), ANIMAL)
    assert picture.settle().heads() == heads != sorted(heads)
    for name, drawn in picture.small(16, 16).items():
        have_shades(picture, drawn, grid.weights[name], np.ones((16, 16), bool))
    cell = picture.root.get_by_role("gridcell").nth(5)
    cell.click()
    heading = picture.part("The chosen head").get_by_role("heading")
    assert heading.inner_text().startswith(f"Head {heads[5]} ·")
    assert cell.get_attribute("aria-selected") == "true"
    current = picture.settle().root.locator("[aria-current=true] .name")
    assert current.all_inner_texts() == [heads[5]]
    picture.part("Heads ranked").get_by_role("button").nth(1).click()
    assert heading.inner_text().startswith(f"Head {heads[1]} ·")

    for _ in range(2):  # the first keeps what the page chose
        picture.word(ANIMAL).click()
    for unit in (ANIMAL, CROSS):
        picture.word(unit).click(modifiers=["Shift"])
    assert picture.pressed() == [ANIMAL, CROSS, IT]
    picture.view("Rank heads").check()
    picture.page.keyboard.press("Escape")
    assert (
        picture.part("Heads ranked")
        .get_by_role("heading")
        .inner_text()
        .startswith("Where “animal”, “cross” and")
    )
    check_ranking(picture, grid.weights, (ANIMAL, CROSS, IT), None)
    start = f"Head {heads[1]} looks from “animal”, “cross” and “it” to "
    assert re.fullmatch(rf"{start}“\S+” \(\d+% of their attention\)\.", picture.said())


def check_ranking(picture: Picture, weights: np.ndarray, pins: Sequence[int], to: int | None) -> list[str]:
    """Every head once, heaviest first, with the exact share, the word and the bar; the names in order."""
    rows = weights[:, :, list(pins)].mean(axis=2)
    if to is None:
        rows[..., SPECIAL] = 0
    exact = rows.max(axis=-1) if to is None else rows[..., to]
    shown, names = picture.ranking(), picture.names()
    heads = [tuple(int(part) - 1 for part in name.split("-")) for name, *_ in shown]
    assert sorted(heads) == list(np.ndindex(exact.shape))
    values = [float(exact[head]) for head in heads]
    assert all(a >= b - 2e-5 * len(pins) for a, b in pairwise(values))
    for head, value, (_, text, note, bar) in zip(heads, values, shown, strict=True):
        assert float(text.removesuffix("%")) == pytest.approx(100 * value, abs=0.505)
        assert bar == pytest.approx(100 * value / max(1, *values), abs=0.01)
        near = {names[k] for k in np.flatnonzero(rows[head] > value - 2e-5)}
        assert note in near if to is None and value > 2e-5 else not note or to is None
    return [name for name, *_ in shown]
