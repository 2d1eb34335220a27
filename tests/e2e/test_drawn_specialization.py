"""The picture of all heads is the study's: letters, colours, places and shades, by hand and in the app."""

import csv
import io
import json
import re
from urllib.parse import quote

import numpy as np
import once
import pixels
import pytest
from alone import component, download, own_page, told

from mha_core.heads.jobs import KIND_OF

pytestmark = pytest.mark.browser
# Two layers of three: what no two heads share, so that each can only stand in its own place.
HEADS = [
    {
        "id": "1-1",
        "layer": 0,
        "head": 0,
        "letter": "P",
        "colour": "#0072b2",
        "x": 0.1,
        "y": 0.2,
        "cluster": 0,
    },
    {"id": "1-2", "layer": 0, "head": 1, "letter": "", "colour": "", "x": 0.8, "y": 0.1, "cluster": 1},
    {
        "id": "1-3",
        "layer": 0,
        "head": 2,
        "letter": "S",
        "colour": "#009e73",
        "x": 0.3,
        "y": 0.9,
        "cluster": 0,
    },
    {
        "id": "2-1",
        "layer": 1,
        "head": 0,
        "letter": "C",
        "colour": "#d55e00",
        "x": 0.5,
        "y": 0.45,
        "cluster": 0,
    },
    {"id": "2-2", "layer": 1, "head": 1, "letter": "", "colour": "", "x": 0.95, "y": 0.6, "cluster": 0},
    {
        "id": "2-3",
        "layer": 1,
        "head": 2,
        "letter": "B",
        "colour": "#56b4e9",
        "x": 0.6,
        "y": 0.95,
        "cluster": 1,
    },
]
LEGEND = [
    {"letter": "P", "name": "positional", "colour": "#0072b2"},
    {"letter": "S", "name": "syntactic", "colour": "#009e73"},
]
PLACES = """all => all.map(b => {
  const r = b.getBoundingClientRect();
  const [id, mark] = [".id", ".mark"].map(q => b.querySelector(q).textContent);
  const { backgroundColor: paint, color: ink } = getComputedStyle(b);
  const [role, fill] = ["--role", "--fill"].map(name => b.style.getPropertyValue(name));
  const [x, y] = [r.left + r.width / 2, r.top + r.height / 2];
  return { id, mark, x, y, role, fill, pressed: b.ariaPressed, said: b.ariaLabel, paint, ink };
})"""  # fmt: skip


def heads(**more):
    plain = [{"fill": None, "text": "", "label": f"Head {h['id']}: role {h['letter']}", **h} for h in HEADS]
    return [head | more.get(head["id"], {}) for head in plain]


def drawn(page, layout: str, marks, chosen="2-1"):
    component(page, "head_map", layout=layout, n_heads=3, chosen=chosen, legend=LEGEND, heads=marks)
    return buttons(page)


def buttons(page) -> dict[str, dict]:
    return {b["id"]: b for b in page.locator(".heads button").evaluate_all(PLACES)}


def of_srgb(text: str) -> tuple[int, ...]:
    """The numbers of `oklab(..)`, which is what color-mix leaves: lightness first."""
    return tuple(float(part) for part in re.findall(r"-?[\d.]+(?:e-?\d+)?", text)[:3])


def test_in_the_grid_layers_go_down_and_heads_across_each_with_its_letter_and_colour(chromium):
    with own_page(chromium) as page:
        shown = drawn(page, "grid", heads())
        for head in HEADS:
            one = shown[head["id"]]
            assert (one["mark"], one["said"]) == (head["letter"], f"Head {head['id']}: role {head['letter']}")
            assert one["role"] == (head["colour"] or "transparent")
            assert one["pressed"] == str(head["id"] == "2-1").lower()
        xs = [[shown[f"{layer}-{head}"]["x"] for head in (1, 2, 3)] for layer in (1, 2)]
        ys = [[shown[f"{layer}-{head}"]["y"] for head in (1, 2, 3)] for layer in (1, 2)]
        assert xs[0] == xs[1] == sorted(xs[0])
        assert ys[0] == [min(ys[0])] * 3
        assert min(ys[1]) > max(ys[0])
        axes = page.locator(".axis")
        assert axes.all_inner_texts() == ["1", "2", "3", "1", "2"]
        at = [box["x"] + box["width"] / 2 for box in (axes.nth(i).bounding_box() for i in range(5))]
        assert at[:3] == pytest.approx(xs[0], abs=1)
        assert max(at[3:]) < min(xs[0]), "the layers' numbers stand before their heads"
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert shown["1-2"]["paint"] == paper, "a head without a role has no colour"
        assert len({shown[name]["paint"] for name in ("1-1", "1-3", "2-1", "2-3")}) == 4
        keys = page.locator(".legend .key")
        assert keys.all_text_contents() == ["Ppositional", "Ssyntactic"]
        swatch = "all => all.map(e => e.firstChild.style.getPropertyValue('--role'))"
        assert keys.evaluate_all(swatch) == ["#0072b2", "#009e73"]
        assert page.locator(".note").inner_text() == "Head 2-1: role C"
        page.get_by_role("button", name="Head 1-3").hover()
        assert page.locator(".note").inner_text() == "Head 1-3: role S"
        page.get_by_role("button", name="Head 1-3").click()
        assert told(page) == [["head", "1-3"]]
        steps = {"ArrowDown": "2-3", "ArrowLeft": "2-2", "ArrowUp": "1-2", "End": "2-3", "Home": "1-1"}
        for key, there in steps.items():
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.dataset.id") == there


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_measure_is_shaded_from_paper_to_ink_and_its_number_can_be_read(chromium, scheme):
    fills = [0.0, 0.5, 0.51, 0.25, 1.0, 0.75]
    given = dict(zip((head["id"] for head in HEADS), fills, strict=True))
    marks = heads(**{name: {"fill": fill, "text": f"{100 * fill:.0f}"} for name, fill in given.items()})
    with own_page(chromium, scheme) as page:
        shown = drawn(page, "grid", marks)
        order = sorted(zip(fills, HEADS, strict=True), key=lambda pair: pair[0])
        light = [of_srgb(shown[head["id"]]["paint"])[0] for _, head in order]
        assert light == sorted(light, reverse=scheme == "light")
        assert len(set(light)) == len(light)
        for fill, head in order:
            one = shown[head["id"]]
            assert one["mark"] == f"{100 * fill:.0f}"
            assert one["fill"] == f"{round(88 * fill + (12 if fill > 0.5 else 0))}%"
            ink = pixels.oklab(pixels.colour(one["ink"]))[0]
            assert abs(ink - of_srgb(one["paint"])[0]) > 0.35, "the number stands off its shade"


def test_on_the_map_a_head_stands_at_its_own_point_and_its_cluster_is_outlined(chromium):
    with own_page(chromium) as page:
        shown = drawn(page, "map", heads())
        box = page.locator(".plane").bounding_box()
        for head in HEADS:
            one = shown[head["id"]]
            assert (one["x"] - box["x"]) / box["width"] == pytest.approx(head["x"], abs=2e-3)
            assert (one["y"] - box["y"]) / box["height"] == pytest.approx(head["y"], abs=2e-3)
        corners = {
            tuple(map(float, p.split(","))) for p in page.locator("polygon").get_attribute("points").split()
        }
        assert corners == {(0.1, 0.2), (0.3, 0.9), (0.95, 0.6)}, (
            "2-1 lies inside; 1-2 and 2-3 are of another cluster"
        )
        drawn(page, "map", heads(), chosen="1-2")
        assert page.locator("polygon").count() == 0, "two heads have no outline"
        page.get_by_role("button", name="Head 2-1").focus()
        for key, there in (("ArrowRight", "2-2"), ("ArrowDown", "2-3"), ("ArrowUp", "2-1")):
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.dataset.id") == there


@pytest.fixture(scope="module")
def found():
    return once.findings()


COLOURS = {
    "positional": "#0072b2", "syntactic": "#009e73", "coreference": "#d55e00", "agreement": "#cc79a7",
    "copy": "#e69f00", "rare": "#b8a800", "separator": "#808080", "broad": "#56b4e9",
}  # fmt: skip


def open_heads(visit, query: str):
    tab = visit(f"/specialization?{query}")
    tab.page.locator(".heads button").first.wait_for(timeout=120_000)
    tab.page.locator(".st-key-job-files").wait_for(timeout=120_000)
    return tab.settled()


@pytest.mark.long
def test_the_app_shows_every_head_with_the_role_the_study_found(visit, found, tmp_path):
    tab = open_heads(visit, "head=2-4&by=role")
    shown = buttons(tab.page)
    assert list(shown) == [f"{layer + 1}-{head + 1}" for layer, head in found.heads]
    for (layer, head), one in zip(found.heads, shown.values(), strict=True):
        role = found.study.roles[layer][head]
        assert one["mark"] == (KIND_OF[role.key].letter if role else "")
        assert one["role"] == (COLOURS[role.key] if role else "transparent")
        assert one["said"].startswith(f"Head {one['id']}: ")
        assert ("no clear role" in one["said"]) == (not role)
    assert [name for name, one in shown.items() if one["pressed"] == "true"] == ["2-4"]
    files = tab.page.locator(".st-key-job-files")
    text, other = (
        download(tab.page, files.get_by_text(kind).click, tmp_path).read_text() for kind in ("CSV", "JSON")
    )
    the_files_hold_the_study(list(csv.DictReader(io.StringIO(text))), json.loads(other), found)


def the_files_hold_the_study(rows, content, found) -> None:
    assert len(rows) == len(content["jobs"]) == len(found.heads) * len(found.jobs)
    assert [line["job"] for line in rows[:: len(found.heads)]] == [t.job.title for t in found.jobs.values()]
    for line, other in zip(rows, content["jobs"], strict=True):
        table = next(table for table in found.jobs.values() if line["job"] == table.job.title)
        at = int(line["layer"]) - 1, int(line["head"]) - 1
        assert float(line["score"]) == pytest.approx(float(table.score[at]), abs=1e-4)
        assert float(other["score"]) == pytest.approx(float(table.score[at]), abs=1e-4)
        assert float(line["baseline"]) == pytest.approx(table.baseline, abs=1e-4)
    assert content["model"]["digest"] == found.model.digest
    np.testing.assert_allclose(content["distance"]["nats"], found.study.similarity.distance, atol=1e-5)


@pytest.mark.long
def test_the_app_s_map_shades_every_head_by_the_job_at_its_own_point(visit, found):
    job = list(found.jobs)[2]
    tab = open_heads(visit, f"head=2-4&as=map&by={quote(f'job:{job}')}")
    shown, box = buttons(tab.page), tab.page.locator(".plane").bounding_box()
    table = found.jobs[job]
    low, most = float(table.score.min()), float(table.score.max())
    for i, (layer, head) in enumerate(found.heads):
        one, score = shown[f"{layer + 1}-{head + 1}"], float(table.score[layer, head])
        assert one["mark"] == f"{100 * score:.0f}"
        assert int(one["fill"].rstrip("%")) == pytest.approx(62 * (score - low) / (most - low), abs=0.51)
        x, y = (one["x"] - box["x"]) / box["width"], (one["y"] - box["y"]) / box["height"]
        np.testing.assert_allclose((x, y), found.points[i], atol=3e-3)
    own = found.cluster[found.heads.index((1, 3))]
    inside = {
        tuple(point) for point, cluster in zip(found.points, found.cluster, strict=True) if cluster == own
    }
    corners = tab.page.locator("polygon").get_attribute("points").split()
    assert len(inside) >= 3
    for corner in corners:
        x, y = map(float, corner.split(","))
        assert min(abs(x - px) + abs(y - py) for px, py in inside) < 1e-6


# Where heads stand, the jobs and the table of evidence, by hand

GROUPS = [
    {"title": "Syntactic", "chips": [{"key": "a", "letter": "S", "colour": "#009e73", "name": "one"}]},
    {"title": "Broad", "chips": [{"key": "b", "letter": "B", "colour": "#56b4e9", "name": "two"}]},
]
ROW = {
    "key": "a",
    "name": "one",
    "note": "",
    "marked": True,
    "cells": [
        {"head": "2-1", "note": "not told apart from 1-1"},
        {"text": "", "note": "", "bar": {"dot": 0.5, "low": 0.25, "high": 0.75, "base": 0.125}},
    ],
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_head_stands_at_its_share_with_its_number_beside_its_rule_and_its_twin(chromium, scheme):
    rows = [
        {"name": "Trained", "heads": [["1-1", 0.25], ["1-2", 0.75]]},
        {"name": "Random weights", "heads": [["1-1", 0.1], ["1-2", 0.2]]},
    ]
    marks = [{"name": "simple rule", "value": 0.5}]
    with own_page(chromium, scheme) as page:
        for width in (1280, 420):
            page.set_viewport_size({"width": width, "height": 600})
            component(page, "jobs", kind="strip", said="Told.", rows=rows, chosen="1-2", marks=marks)
            plot = page.get_by_role("img", name="Told.")
            boxes = plot.locator(".ticks").evaluate_all(
                "all => all.map(t => [t, ...t.children].map(e => e.getBoundingClientRect())"
                ".map(r => [r.left + r.width / 2, r.left, r.width]))"
            )
            for (line, *ticks), shares in zip(boxes, [[0.25, 0.75, 0.5], [0.1, 0.2]], strict=True):
                at = [(tick[0] - line[1]) / line[2] for tick in ticks]
                assert at == pytest.approx(shares, abs=0.005)
            assert plot.locator(".flag").all_inner_texts() == ["1-2: 75.0 %", "simple rule 50.0 %"]
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_jobs_and_heads_are_buttons_and_a_row_has_its_numbers_at_their_places(chromium):
    with own_page(chromium) as page:
        component(page, "jobs", kind="chips", groups=GROUPS, job="b")
        assert page.locator(".chip").all_inner_texts() == ["S\none", "B\ntwo"]
        assert page.locator(".chip[aria-pressed=true]").inner_text() == "B\ntwo"
        page.get_by_role("button", name="S one").click()
        columns = [{"title": title, "note": ""} for title in ("Job", "Best head", "On a line")]
        table = {
            "columns": columns,
            "groups": [{"title": "Syntactic", "rows": [ROW]}],
            "caption": "All",
            "job": "a",
        }
        assert told(page) == [["job", "a"]]
        component(page, "jobs", kind="table", **table)
        line = page.locator(".bar").bounding_box()
        dot, rule = (page.locator(f".bar .{name}").bounding_box() for name in ("dot", "base"))
        assert (dot["x"] + dot["width"] / 2 - line["x"]) / line["width"] == pytest.approx(0.5, abs=0.01)
        assert (rule["x"] + rule["width"] / 2 - line["x"]) / line["width"] == pytest.approx(0.125, abs=0.01)
        page.get_by_role("button", name="Head 2-1: open its card").click()
        assert told(page) == [["head", "2-1"]]
