"""What Explore draws is what the engine computed: shades, arcs, lines, words and rows, cell by cell."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from drawn import SHADE, Picture, page_of, percent

from mha_core import trace
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
IT, ANIMAL = 10, 2
DRAWN = 14  # arcs over a sentence, at most
STROKE = 0.015  # what 8 bits a channel leave unknown of a stroke's weight


def role(kind: str, has: bool = True) -> Role:
    """A role, or a description, of no evidence."""
    return Role("", kind, KIND_OF[kind].name, "", has)


@pytest.fixture(scope="module")
def record(model):
    return trace(TIRED, model)


SPECIAL = (0, -1)  # [CLS] and [SEP]


def links_of(weights, rows: Sequence[int], most: int, least: float = 0.01, allowed=None) -> dict:
    """The strongest links of some rows: {(query, key): weight}, at most `most` a row."""
    links = {}
    for q in rows:
        keys = [
            k for k in range(len(weights)) if weights[q, k] >= least and (allowed is None or allowed[q, k])
        ]
        keys.sort(key=lambda k: -weights[q, k])
        links |= {(q, k): float(weights[q, k]) for k in keys[:most]}
    return links


def assert_share(text: str, weight: float) -> None:
    """A percentage on the screen is this weight; half a step of 16 bits may tip its last digit."""
    assert float(text.removesuffix("%")) == pytest.approx(100 * float(weight), abs=0.501)


def strongest_of(links: dict, most: int) -> dict:
    return dict(sorted(links.items(), key=lambda link: -link[1])[:most])


def is_special(picture: Picture, unit: int) -> bool:
    return picture.names()[unit].startswith("[")


def check_arcs(picture: Picture, expected: dict) -> None:
    """Every link is an arc whose shade is its weight; one to a special token is grey, as light as the lightest."""
    drawn = {(q, k): (share, width) for q, k, share, width in picture.arcs()}
    assert drawn.keys() == expected.keys()
    for link, weight in expected.items():
        assert drawn[link][0] == pytest.approx(0 if is_special(picture, link[1]) else weight, abs=STROKE), (
            link
        )


def check_ranking(picture: Picture, weights, pins: Sequence[int], to: int | None, left_out=()) -> list[str]:
    """Every head once, heaviest first, with the exact share, the word and the bar; the names in order."""
    rows = weights[:, :, list(pins)].mean(axis=2)
    if to is None:
        rows[..., list(left_out)] = 0
    exact = rows.max(axis=-1) if to is None else rows[..., to]
    shown = picture.all_ranked()
    heads = [tuple(int(part) - 1 for part in name.split("-")) for name, *_ in shown]
    assert sorted(heads) == list(np.ndindex(exact.shape))
    values = [float(exact[head]) for head in heads]
    assert all(a >= b - 2e-5 * len(pins) for a, b in pairwise(values))
    names = picture.names()
    for head, value, (_, text, note, bar) in zip(heads, values, shown, strict=True):
        assert float(text.removesuffix("%")) == pytest.approx(100 * value, abs=0.505)
        assert bar == pytest.approx(100 * value / max(1, *values), abs=0.01)
        near = {names[k] for k in np.flatnonzero(rows[head] > value - 2e-5)}
        assert note in near if to is None and value > 2e-5 else True
        assert not note or to is None
    return [name for name, *_ in shown]


# ---- the matrix


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_cell_of_the_matrix_has_the_shade_of_its_weight(draw, record, scheme):
    grid = record.grid()
    picture = draw(page_of(grid, record.tokens, (3, 1), (IT,), ANIMAL), scheme)
    drawn = picture.weights(len(grid))
    assert np.abs(drawn - grid.weights[3, 1]).max() < SHADE
    assert drawn[IT, ANIMAL] - drawn[ANIMAL, IT] > 0.5
    assert picture.framed(16) == ([IT], [ANIMAL])
    picture.part("All heads").get_by_role("gridcell", name="Head 2-5:").click()
    assert np.abs(picture.settle().weights(len(grid)) - grid.weights[1, 4]).max() < SHADE


def test_the_pointer_reads_the_cell_it_is_on_and_a_click_asks_for_its_link(draw, record):
    grid = record.grid()
    weights = grid.weights[3, 1]
    picture = draw(page_of(grid, record.tokens, (3, 1), (IT,)))
    for q, k in ((IT, ANIMAL), (ANIMAL, IT), (0, 15), (15, 0), (6, 13)):
        picture.point(q, k, len(grid))
        who, _, share = picture.tip().rpartition(": ")
        assert who == f"{grid.labels[q]} looks at {grid.labels[k]}"
        assert_share(share, weights[q, k])
        best = int(weights[q].argmax())
        assert picture.said().startswith(f"Head 4-2: “{grid.labels[q]}” looks at “{grid.labels[best]}”")
        assert_share(picture.labels()[k], weights[q, k])
        drawn = {(a, b): w for a, b, w, _ in picture.arcs()}
        shade = 0 if is_special(picture, k) else float(weights[q, k])
        assert drawn[q, k] == pytest.approx(shade, abs=STROKE)
    picture.page.mouse.down()
    picture.page.mouse.up()
    picture.settle()
    assert picture.pressed() == [6, 13], "the row's word and the column's, as a tap and Enter do"
    assert picture.said().startswith(f"Head 4-2: “{grid.labels[6]}” → “{grid.labels[13]}” ")
    assert re.search(r"(rank \d+|the strongest) of 72 heads; (strongest|next) is \d-\d+ \(", picture.said())
    faded = picture.root.locator("svg.arcs path[opacity]").count()
    assert faded == picture.root.locator("svg.arcs path").count() - 1, "all other arcs step back"
    picture.part("Heads ranked").get_by_role("button", name="All 72").click()
    ranks = picture.part("Heads ranked").locator("[data-head]")
    assert ranks.evaluate_all("all => all.filter(e => e.tabIndex === 0).length") == 1, (
        "72 heads are one stop of Tab"
    )
    ranks.nth(0).focus()
    picture.page.keyboard.press("End")
    assert ranks.nth(71).evaluate("e => e === e.getRootNode().activeElement")


# ---- the small pictures


def check_small(picture: Picture, weights) -> None:
    """Every small picture shows its own head, cell by cell."""
    drawn = picture.small()
    for (layer, head), matrix in ((place, weights[place]) for place in np.ndindex(weights.shape[:2])):
        pixels = drawn[f"{layer + 1}-{head + 1}"]
        n, side = len(matrix), len(pixels)
        assert side > 2 * n
        place = np.floor((np.arange(n) + 0.5) * side / n).astype(int)
        assert np.abs(pixels[np.ix_(place, place)] - np.clip(matrix, 0, 1)).max() < SHADE, (layer, head)


FRAMED = """all => all.filter(e => getComputedStyle(e).boxShadow.includes("0px 0px 0px 3px"))
    .filter(e => e.ariaSelected !== "true" || getComputedStyle(e).boxShadow.includes("inset")).map(e => e.ariaLabel)"""


def test_every_small_picture_is_its_own_head_and_a_pressed_role_frames_exactly_its_heads(draw, record):
    grid = record.grid()
    roles = {
        (3, 1): role("coreference"),
        (2, 2): role("sink"),
        (0, 3): role("sink"),
        (4, 4): role("sink", has=False),
    }
    picture = draw(page_of(grid, record.tokens, (3, 1), (IT,), ANIMAL, roles=roles))
    assert picture.heads() == [f"{layer + 1}-{head + 1}" for layer, head in np.ndindex(6, 12)]
    check_small(picture, grid.weights)
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
    assert picture.settle().heads() == check_ranking(picture, grid.weights, (IT,), ANIMAL)
    check_small(picture, grid.weights)


# ---- the sentence


def test_three_pinned_words_have_their_own_arcs_and_mean_percentages(draw, record):
    grid = record.grid()
    weights = grid.weights[3, 1]
    pins = (ANIMAL, 6, IT)
    picture = draw(page_of(grid, record.tokens, (3, 1), pins))
    links = strongest_of(links_of(weights, pins, 12), DRAWN)
    assert {q for q, _ in links} == set(pins)
    check_arcs(picture, links)
    words = [arc for arc in picture.arcs() if not is_special(picture, arc[1])]
    widths = [width for _, _, _, width in sorted(words, key=lambda arc: arc[2])]
    assert widths[-1] > 5 * widths[0]
    labels = picture.labels()
    assert len(labels) > 2
    assert all(weights[list(pins), unit].mean() >= 0.05 for unit in labels)
    for unit, text in labels.items():
        assert text == percent(weights[list(pins), unit].mean()), grid.labels[unit]
    best = int(weights[list(pins)].mean(axis=0).argmax())
    assert best in labels
    picture.view("Rank heads").check()
    check_ranking(picture, grid.weights, pins, None, SPECIAL)
    finding = picture.said()
    assert finding.startswith("Head 4-2 looks from “animal”, “cross” and “it” to ")
    assert (
        f"“{grid.labels[best]}” ({percent(weights[list(pins), best].mean())} of their attention)" in finding
    )


# ---- rows, filters, choices


def test_clicks_pin_a_word_then_ask_for_a_target_then_take_it_back(draw, record):
    grid = record.grid()
    picture = draw(page_of(grid, record.tokens, (3, 1)))
    title = picture.part("Heads ranked").get_by_role("heading")
    picture.word(IT).click()
    assert (picture.pressed(), title.inner_text()) == ([IT], "Ranking")
    picture.word(ANIMAL).click()
    assert (picture.pressed(), title.inner_text()) == ([ANIMAL, IT], "“it” to “animal”")
    check_ranking(picture, grid.weights, (IT,), ANIMAL)
    assert picture.labels()[ANIMAL] == percent(grid.weights[3, 1, IT, ANIMAL])
    picture.word(ANIMAL).click()
    assert picture.pressed() == [IT]
    picture.view("Rank heads").check()
    picture.page.keyboard.press("Escape")
    assert title.inner_text() == "Where “it” looks most"
    check_ranking(picture, grid.weights, (IT,), None, SPECIAL)
    picture.word(6).click(modifiers=["Shift"])
    assert (picture.pressed(), title.inner_text()) == ([6, IT], "Where “cross” and “it” look most")
    picture.word(6).click()
    assert picture.pressed() == [IT]
    picture.word(0).click()
    assert title.inner_text() == "“it” to “[CLS]”"
    check_ranking(picture, grid.weights, (IT,), 0)
    picture.word(6).click()
    assert (picture.pressed(), title.inner_text()) == ([6], "Where “cross” looks most")
    picture.word(6).click()
    assert picture.pressed() == []


def test_the_ranked_heads_and_the_small_pictures_choose_the_head_they_name(draw, record):
    grid = record.grid()
    picture = draw(page_of(grid, record.tokens, (3, 1), (IT,), ANIMAL))
    heading = picture.part("The chosen head").get_by_role("heading")
    assert picture.page.get_by_role("button", name="Why").count() == 0, "asked of a server alone"
    second = picture.ranking()[1][0]
    picture.part("Heads ranked").get_by_role("button").nth(1).click()
    picture.settle()
    layer, head = (int(part) - 1 for part in second.split("-"))
    assert heading.inner_text().startswith(f"Head {second} ·")
    assert np.abs(picture.weights(16) - grid.weights[layer, head]).max() < SHADE
    chosen = picture.root.locator("[role=gridcell][aria-selected=true]").evaluate_all(
        "all => all.map(e => e.ariaLabel)"
    )
    assert [name.split(":")[0] for name in chosen] == [f"Head {second}"]
    assert picture.root.locator("[aria-current=true] .name").all_inner_texts() == [second]
    picture.root.locator("[role=gridcell][aria-selected=true]").focus()
    picture.page.keyboard.press("ArrowUp")
    assert heading.inner_text().startswith(f"Head {layer}-{head + 1} ·")
    picture.view("Sort heads").select_option("weight")
    picture.page.keyboard.press("Escape")
    name = picture.settle().heads()[5]
    picture.root.get_by_role("gridcell").nth(5).click()
    picture.settle()
    assert heading.inner_text().startswith(f"Head {name} ·")
    assert name != "1-6"
