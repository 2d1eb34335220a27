"""The page that needs no server: the same picture, links and files as the app's, computed in the reader's browser."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from make_odd_texts import lines, typed

from mha_core import HeadScopeError, load_model, trace
from mha_core.compare import align
from mha_core.picture.about import about
from mha_core.picture.bundle import SCRIPTS
from mha_core.picture.payload import record_payload
from mha_core.picture.standalone import portable
from mha_core.static_site.page import model_facts, run_of

UNITS, SPECIALS = ("pieces", "words"), ("shown", "hidden", "renormalised")
# Records from runs, as the page makes them, and which of their weights is furthest from the engine's.
MAKE = """
import { readFileSync } from "node:fs";
import { revived } from "@@/portable.js";
import { align } from "@@/static/align.js";
import { recordOf } from "@@/static/payload.js";
const { models, runs, pairs } = JSON.parse(readFileSync(0, "utf8"));
const numbers = (payload) => revived(payload).weights.getChildAt(0).toArray();
const made = runs.map(({ run, expected, unit, specials }) => {
  const record = recordOf({ ...run, weights: numbers(run) }, models[run.model], unit, specials);
  const engine = numbers(expected);
  const off = record.weights.reduce((most, step, i) => Math.max(most, Math.abs(step - engine[i])), engine.length - record.weights.length);
  return { off, ...Object.fromEntries(Object.keys(expected).map((key) => [key, record[key] ?? null])), weights: null };
});
console.log(JSON.stringify({ made, aligned: pairs.map(([a, b]) => align(a, b)) }));
"""


def in_node(content: object) -> dict:
    node = shutil.which("node") or pytest.skip("needs node to run the browser's side")
    script = MAKE.replace("@@", SCRIPTS.as_uri())
    done = subprocess.run([node, "--input-type=module", "-e", script], input=json.dumps(content), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def models(model):
    return {"minilm": model, "toy": load_model("classroom", device="cpu")}


@pytest.mark.parametrize("key", ["minilm", "toy"])
def test_the_page_makes_the_payload_that_python_makes(key, models):
    model, runs = models[key], []
    for number, text in enumerate(map(typed, lines())):
        try:
            record = trace(text, model)
        except HeadScopeError:
            continue
        if len(record.tokens) > 60:
            continue
        run = run_of(record, key, text) | portable({"weights": record.weights.ravel()})
        unit, specials = UNITS[number % 2], SPECIALS[number % 3]
        grid = record.grid(unit == "words", specials)
        if not len(grid):
            continue
        payload = record_payload(grid, record.tokens, record.model.title, about=about(record, grid))
        payload.pop("id")
        runs.append({"run": run, "expected": portable(payload), "unit": unit, "specials": specials})
    assert len(runs) > 150
    found = in_node({"models": {key: model_facts(key, model, 0) | {"roles": []}}, "runs": runs, "pairs": []})["made"]
    for made, given in zip(found, runs, strict=True):
        assert made.pop("off") <= 1, given["run"]["text"]  # of 65535: the sums are rounded in another order
        assert made == given["expected"] | {"weights": None}, given["run"]["text"]


def test_two_sentences_stand_side_by_side_as_in_python():
    words = ["the", "cat", "The", "cat", "sat", "on", "mat", ".", "it"]
    draw = np.random.default_rng(0)
    pairs = [[[words[i] for i in draw.integers(0, 9, draw.integers(1, 14))] for _ in "AB"] for _ in range(300)]
    found = in_node({"models": {}, "runs": [], "pairs": pairs})["aligned"]
    assert found == [[list(pair) for pair in align(*both)] for both in pairs]
