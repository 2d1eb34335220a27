"""The library, and `roles`, against golden.json, whose numbers benchmarks/golden.py found without them.

A name there is a question; that file says how it is read. HEADSCOPE_UD_EWT and HEADSCOPE_GAP name the files of the
corpora, if they do not lie beside the project.
"""

import csv
import json
import os
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

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


def answers_of_heads(path, limit):
    """Right and n of every question, by its key and the head's name."""
    answers = {}
    with TemporaryDirectory() as folder:
        file = Path(folder, "roles.csv")
        command = ["roles", "--corpus", path, *f"--limit {limit} --all --device cpu --out {file}".split()]
        assert main(command) == 0
        for row in csv.DictReader(file.read_text("utf-8").splitlines()):
            question, n = (row["question"], f"{row['layer']}-{row['head']}"), int(row["n"])
            answers[question] = [pytest.approx(float(row["score"]) * n, abs=1e-6), n]
    return answers


def relations(names):
    limit, *_ = names[0].split()
    answers = answers_of_heads(corpus("HEADSCOPE_UD_EWT", "en_ewt-ud-dev.conllu"), limit)
    ends, parts = {"dep->head": "", "head->dep": ":back"}, {name: name.split() for name in names}
    return {name: answers[relation + ends[end], head] for name, (_, relation, end, head) in parts.items()}


def coreference(names):
    limit, *_ = names[0].split()
    answers = answers_of_heads(corpus("HEADSCOPE_GAP", "gap-validation.tsv"), limit)
    return {name: answers["antecedent", name.split()[1]] for name in names}


TABLE = {
    "encoder": (traced("minilm"), WEIGHT),
    "words": (traced("minilm", words=True), WEIGHT),
    "classroom": (traced("classroom"), WEIGHT),
    "flow": (flow, WEIGHT),
    "decoder": (traced("smollm2"), WEIGHT),
    "next": (next_tokens, LOGIT),
    "ablation": (heads_taken_away, LOGIT),
    "relations": (relations, 0),
    "coreference": (coreference, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("group", TABLE)
def test_it_gives_the_numbers_that_were_computed_without_it(group):
    answer, tolerance = TABLE[group]
    expected = GOLDEN[group]["numbers"]
    numbers = answer(list(expected))
    for name, number in expected.items():
        most = tolerance * (10 if name.startswith("sum") else 1)  # of 90 heads or more
        assert numbers[name] == (pytest.approx(number, abs=most, rel=0) if tolerance else number), name
