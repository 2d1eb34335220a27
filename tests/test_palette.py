"""One ramp: JavaScript, Plotly's scale and CSS have the colours of assets/palette.json, in light and in dark."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pixels
import pytest

from mha_core import trace
from mha_core.draw.bundle import SCRIPTS
from mha_core.draw.figures.attention import figure
from mha_core.draw.figures.colours import PALETTE, page
from pages.parts.frame.shell import css_variables

ROOT = Path(__file__).parent.parent
VALUES = [0.0, 0.07, 0.25, 0.4, 0.5, 0.66, 0.75, 0.9, 1.0]
SCRIPT = """
  import { at, diverging, parseColour, sequential } from "SCRIPTS/colour.js";
  import { applyTheme, themeOf } from "SCRIPTS/theme.js";
  const given = JSON.parse(process.argv[1]);
  const [paper, ink, accent] = [given.paper, given.ink, given.accent].map((colour) => parseColour(colour));
  const css = {};
  applyTheme({ style: { setProperty: (name, value) => (css[name] = value) } }, themeOf(paper, ink, accent));
  const weights = given.values.map((value) => at(sequential(paper), value));
  const differences = given.values.map((value) => at(diverging(paper), 2 * value - 1, true));
  console.log(JSON.stringify({ css, weights, differences }));
"""


@pytest.fixture(params=["light", "dark"], scope="module")
def scheme(request):
    return request.param


@pytest.fixture(scope="module")
def browser(scheme):
    """What the browser's colours are at VALUES, and the variables that it sets for CSS."""
    if shutil.which("node") is None:
        pytest.skip("needs node to run the browser's side")
    script = SCRIPT.replace("SCRIPTS", SCRIPTS.as_uri())
    given = json.dumps(page(dark=scheme == "dark") | {"values": VALUES})
    command = ["node", "--input-type=module", "-e", script, given]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def rgb(colours: str) -> np.ndarray:
    """The colours of a gradient or of a list, (n, 3)."""
    return np.array([[int(n) for n in found] for found in re.findall(r"rgb\((\d+), (\d+), (\d+)\)", colours)])


def test_the_figures_have_the_browser_s_colours(scheme, browser, model):
    drawn = figure(trace("It rained.", model).grid(), heads=[(0, 0)], dark=scheme == "dark")
    places, colours = zip(*drawn.layout.coloraxis.colorscale, strict=True)
    stops = rgb(" ".join(colours))
    drawn = np.stack([np.interp(VALUES, places, stops[:, channel]) for channel in range(3)], axis=-1)
    np.testing.assert_allclose(drawn, browser["weights"], atol=2)


def test_the_legends_in_css_have_the_browser_s_colours(browser):
    at = [VALUES.index(value) for value in (0, 0.25, 0.5, 0.75, 1)]
    for name, ramp in (("--ramp", "weights"), ("--change", "differences")):
        np.testing.assert_array_equal(rgb(browser["css"][name]), np.array(browser[ramp])[at])


def test_the_ramps_run_from_the_page_s_paper_to_the_colours_readers_are_promised(scheme, browser):
    promised = pixels.THEMES[scheme]
    assert tuple(browser["weights"][0]) == promised.paper
    assert tuple(browser["weights"][-1]) == promised.ink
    np.testing.assert_allclose(pixels.weights(np.array(browser["weights"]), promised), VALUES, atol=0.01)
    signed = pixels.changes(np.array(browser["differences"]), promised)
    np.testing.assert_allclose(signed, 2 * np.array(VALUES) - 1, atol=0.02)
    ends = pixels.oklab([browser["differences"][0], browser["differences"][-1]])
    hues = pixels.oklab([promised.less, promised.more])[:, 1:]
    np.testing.assert_allclose(ends[:, 1:], hues, atol=0.05)


def test_the_theme_of_streamlit_has_the_page_s_colours(scheme):
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"][scheme]
    given = page(dark=scheme == "dark")
    named = {
        "background": "paper",
        "secondaryBackground": "shade",
        "text": "ink",
        "border": "line",
        "primary": "accent",
    }
    assert {name: theme[f"{name}Color"] for name in named} == {name: given[named[name]] for name in named}


def test_a_colour_is_declared_in_the_palette_and_nowhere_else():
    ramps = [PALETTE["weights"], PALETTE["differences"]]
    declared = {c for ramp in ramps for side in ramp.values() for c in side.values() if isinstance(c, str)}
    declared |= set(PALETTE["heads"])
    for file in [*SCRIPTS.rglob("*.js"), *(ROOT / "assets" / "css").glob("*.css")]:
        assert not declared & set(re.findall(r"#[0-9a-f]{6}", file.read_text(encoding="utf-8").lower())), file


def test_the_frame_has_each_colour_of_the_page_for_both_schemes():
    assert "--paper: light-dark(#fbfaf7, #151513);" in css_variables()
    used = set(re.findall(r"var\((--[a-z]+)\)", (ROOT / "assets" / "css" / "page.css").read_text()))
    assert used <= {f"--{name}" for name in PALETTE["page"]["light"]}
