"""The library and the command line against golden.json, whose numbers benchmarks/golden.py found without them.

A name there is a question; that file says how it is read. HEADSCOPE_UD_EWT and HEADSCOPE_GAP name the files of the
corpora, if they do not lie beside the project.
"""

import csv
import json
import os
import re
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch

import mha_core
from mha_core.causal import LogitDifference, ScaleHeads, heads_from, measure, sweep_heads
from mha_core.cli import main
from mha_core.heads.measures import importance

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))
TEXTS = GOLDEN["texts"]
WEIGHT, LOGIT = 1e-5, 1e-4


def load(name):
    try:
        return mha_core.load_model(name, device="cpu")  # of those loaded before
    except mha_core.Unavailable as problem:
        pytest.skip(str(problem))


def corpus(variable, name):
    path = Path(os.environ.get(variable) or ROOT.parent / "shared" / "data" / name)
    return str(path) if path.is_file() else pytest.skip(f"no {name}: name the file in {variable}")


def cell(question, weights, queries, keys):
    """Of weights [layer, head, query, key], or [layer, query, key], the one asked for; with the labels of both axes."""

    def place(labels, word):
        name, _, nth = word.casefold().partition("#")
        return [i for i, label in enumerate(labels) if label.strip().casefold() == name][int(nth or 1) - 1]

    head, link = question.split()[-2:]
    query, key = link.split(">")
    of_head = tuple(int(part) - 1 for part in head.split("-"))
    return float(np.asarray(weights)[(*of_head, place(queries, query), place(keys, key))])


def traced(model, words=False):
    """One of the ways to ask: names in, at least their numbers out."""

    def in_python(names):
        texts = {name.split()[0] for name in names}
        grids = {text: mha_core.trace(TEXTS[text], load(model)).grid(words) for text in texts}
        asked = [(name, grids[name.split()[0]]) for name in names]
        return {name: cell(name, grid.weights, grid.labels, grid.key_labels) for name, grid in asked}

    return in_python


def flow(names):
    tokens = load("minilm").tokenizer.encode(TEXTS["tired"])
    labels = [piece.text for piece in tokens.pieces]
    kinds = {k: importance(tokens, load("minilm"), k).weights.squeeze() for k in ("rollout", "value")}
    return {name: cell(name, kinds[name.split()[0]], labels, labels) for name in names}


def worked(names):
    qkv = torch.tensor([[[2.0, 0.0], [0.0, 4.0]]])
    both = mha_core.scaled_dot_product_attention(qkv, qkv, qkv)
    found = dict(zip(("context", "weight"), both, strict=True))
    return {name: float(found[name.split()[0]][0, int(name[-3]) - 1, int(name[-1]) - 1]) for name in names}


def next_tokens(names):
    texts = {name.split("|")[0] for name in names}
    said = {text: mha_core.predict_next(TEXTS[text], load("smollm2"), k=200) for text in texts}
    return {f"{text}|{guess.text}": guess.probability for text in texts for guess in said[text]}


def heads_taken_away(names):
    model, outcome = load("smollm2"), LogitDifference(" Mary", " John")
    tokens = model.tokenizer.encode(TEXTS["mary"])
    before = measure(tokens, model, outcome)[0]
    without = {name: ScaleHeads(heads_from(name, 30, 9), 0.0) for name in names if "-" in name}
    found = {name: measure(tokens, model, outcome, (one,))[0] - before for name, one in without.items()}
    *_, part = islice(sweep_heads(tokens, model, outcome), 10)  # the last layer first: layers 30 to 21
    return found | {"before": before, "sum from layer 21": part.result.effect[20:].sum()}


def asked_of_heads(path, limit):
    """Right and n of every question, by its key and the head's name."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "roles.csv")
        command = [
            "roles",
            "--corpus",
            path,
            "--limit",
            limit,
            "--all",
            "--device",
            "cpu",
            "--out",
            str(file),
        ]
        assert main(command) == 0
        rows = list(csv.DictReader(file.read_text("utf-8").splitlines()))
    return {
        (row["question"], f"{row['layer']}-{row['head']}"): [
            pytest.approx(float(row["score"]) * int(row["n"]), abs=1e-6),
            int(row["n"]),
        ]
        for row in rows
    }


def relations(names):
    path, limit = corpus("HEADSCOPE_UD_EWT", "en_ewt-ud-dev.conllu"), names[0].split()[0]
    found = asked_of_heads(path, limit)
    ways = {"dep->head": "", "head->dep": ":back"}
    parts = {name: name.split() for name in names}
    return {name: found[relation + ways[way], head] for name, (_, relation, way, head) in parts.items()}


def coreference(names):
    path, limit = corpus("HEADSCOPE_GAP", "gap-validation.tsv"), names[0].split()[0]
    found = asked_of_heads(path, limit)
    return {name: found["antecedent", name.split()[1]] for name in names}


SLOW = (pytest.mark.slow,)
TABLE = (
    ("encoder", "", traced("minilm"), WEIGHT, ()),
    ("words", "", traced("minilm", words=True), WEIGHT, ()),
    ("classroom", "", traced("classroom"), WEIGHT, ()),
    ("flow", "", flow, WEIGHT, ()),
    ("by hand", "", worked, WEIGHT, ()),
    ("decoder", "", traced("smollm2"), WEIGHT, SLOW),
    ("next", "", next_tokens, LOGIT, SLOW),
    ("ablation", "before|.*-|sum from layer 21", heads_taken_away, LOGIT, SLOW),
    ("relations", "", relations, 0, SLOW),
    ("coreference", "", coreference, 0, SLOW),
)


@pytest.mark.parametrize(
    ("group", "which", "way", "tolerance"),
    [pytest.param(*row, marks=marks, id=f"{row[0]} {row[2].__name__}") for *row, marks in TABLE],
)
def test_it_says_what_was_found_without_it(group, which, way, tolerance):
    wanted = {name: n for name, n in GOLDEN[group]["numbers"].items() if re.match(which, name)}
    found = {name: number for name, number in way(list(wanted)).items() if name in wanted}
    off = {name: tolerance * (10 if name.startswith("sum") else 1) for name in wanted}  # of 90 heads or more
    near = {name: pytest.approx(number, abs=off[name], rel=0) for name, number in wanted.items() if tolerance}
    assert found == (near or wanted)
