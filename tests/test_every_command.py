"""Every command there is, walked from the parser itself: its numbers and words are the library's, in every format.

One table of cases: what is asked for, the rows that a program must read, what stands beside them in JSON, and lines of
what a person reads. A command that is added without a case here fails, and so does one without `--format`.
"""

import argparse
import csv
import io
import json
import re
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from bert_folders import embedded_folder, random_bert, write
from decoder_folders import random_decoder, write_decoder
from scipy.spatial.distance import jensenshannon
from test_any_model import SEQUENCES, random_model

from mha_core import load_model, predict_next, trace, why
from mha_core.cli import build_parser, main
from mha_core.experiments import (
    Factor,
    MeanAblation,
    PatchHeads,
    Word,
    every_head,
    last,
    measure,
    next_words,
    patch_heads,
    patch_states,
)
from mha_core.export import safe_cell
from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.passages import read_passages
from mha_core.heads.atlas.shipped import read_shipped
from mha_core.heads.atlas.table import atlas
from mha_core.heads.table import read_roles
from mha_core.model_list import listed_models
from mha_core.parts import compute_part
from mha_core.training import report
from mha_core.training.toy.evaluation import evaluate
from mha_core.training.train import TrainingSetup

pytestmark = pytest.mark.slow

# What writes no answer, and why.
SILENT = {
    "app": "starts the app",
    "decoder": "runs pip",
    "learn train": "writes a model's folder, and always says how far it is",
}
BOM = "\ufeff"
# Uneven in every way: lengths, pieces a word, a word that stands twice, a line left empty, one with a blank.
LINE, LONG = "Unbelievably tired cats slept.", "It rained, and then a xylophone rained everywhere."
LINES = f"{BOM}{LINE}\n\n {LONG}\n"
SHORT, TEXT, OTHER = "it was", "the cat it is", "the dog it is"  # to the decoder, whose tokens are bytes
TEXTS = f"{BOM}{TEXT}\n\n{SHORT}\n"
WORD = Word(" the", " it")
TARGET = "--target ' the' --against ' it'"
T5_TARGET = "it slept all day"


# ---- what the library says: rows by their columns, what stands beside them, and what a person reads


def links(grid, *heads):
    """A row a link of these heads (layer, head from 1), of all where none is named."""
    frame = grid.to_frame()
    keep = [not heads or place in heads for place in zip(frame.layer, frame["head"], strict=True)]
    of = [
        grid.weights[la - 1, h - 1, q, k]
        for la, h, q, k in frame[["layer", "head", "query", "key"]].to_numpy()[:, :4]
    ]
    np.testing.assert_array_equal(frame.weight, of)
    return frame[keep]


def strongest(grid):
    """A line a head: where its largest weight is; a decoder's first row is left out."""
    first = int(grid.is_causal)
    for layer, head in np.ndindex(*grid.weights.shape[:2]):
        rows = grid.weights[layer, head, first:]
        q, k = np.unravel_index(rows.argmax(), rows.shape)
        yield layer + 1, head + 1, grid.labels[q + first], grid.key_labels[k], rows[q, k]


def of_trace(load, text, layer=None, head=None, words=False, **more):
    """`layer` and `head` from 1."""
    record = trace(text, load, **more)
    grid = record.grid(words=words)
    heads = [(la + 1, h + 1) for la, h in np.ndindex(*grid.weights.shape[:2])]
    heads = [(la, h) for la, h in heads if layer in (None, la) and head in (None, h)]
    at = slice(layer and layer - 1, layer), slice(head and head - 1, head)
    beside = {
        "model": load.name, "text": record.tokens.text, "pair": record.tokens.pair, "units": list(grid.labels),
        "tokens": [piece.text for piece in record.tokens.pieces], "n_cut": record.tokens.n_cut, "trained": load.trained,
        "word_of_token": [piece.word for piece in record.tokens.pieces], "segments": list(record.tokens.segments),
        "layers": sorted({la for la, _ in heads}), "heads": sorted({h for _, h in heads}), "weights": grid.weights[at],
        "causal": grid.is_causal, "unit": "words" if words else "pieces",
    }  # fmt: skip
    shown = [row for row in strongest(grid) if row[:2] in heads]
    if head:
        visible = np.ones(grid.weights.shape[2:]) if grid.visible is None else grid.visible[layer - 1]
        matrix = np.where(visible, grid.weights[layer - 1, head - 1], np.nan)
        shown = [(label, *row) for label, row in zip(grid.labels, matrix, strict=True)]
    return links(grid, *heads), beside, shown


def of_rank(load, text, query, key):
    record = trace(text, load)
    (q,), (k,) = record.grid().find(query), record.grid().find(key)
    weights = record.weights[:, :, q, k]
    order = np.argsort(-weights, axis=None, kind="stable")
    rows = [
        {"rank": n, "name": f"{la + 1}-{h + 1}", "layer": la + 1, "head": h + 1, "weight": weights[la, h], "key": k,
         "key_text": record.grid().labels[k]}
        for n, (la, h) in enumerate(zip(*np.unravel_index(order, weights.shape), strict=True), 1)
    ][:10]  # fmt: skip
    return rows, {"from": query, "to": key, "text": text}, [tuple(row.values()) for row in rows[:5]]


def of_next(load, text, top):
    found = predict_next(load.tokenizer.encode(text), load, k=top)
    rows = [
        {"text": text, "rank": n, "token": one.text, "id": one.id, "probability": one.probability, "logit": one.logit}
        for n, one in enumerate(found, 1)
    ]  # fmt: skip
    return rows, {"text": text}, [(one.probability, repr(one.text)) for one in found]


def of_why(load, text, **link):
    frame = why(text, load, **link)
    rows = frame[["side", "part", "layer", "head", "score"]]
    beside = {"weight": frame.attrs["weight"], "score": frame.attrs["score"], "head": link["head"]}
    shown = [
        (row.side, row.part, row.score) for _, side in rows.groupby("side") for row in side[:2].itertuples()
    ]
    return rows, beside, shown


def of_run(load, text, chosen, top=5):
    """One run without and with interventions."""
    tokens = load.tokenizer.encode(text)
    names = ("logit difference", "probability of ' the'", "probability of ' it'")
    found, beside, rows = {}, {}, []
    for run, each in (("before", ()), ("after", chosen)):
        likely = next_words(tokens, load, each, top)
        numbers = dict(zip(names, measure(tokens, load, WORD, each), strict=True))
        numbers |= {f"probability of {word.text!r}": word.probability for word in likely}
        rows += [{"run": run, "what": what, "value": value} for what, value in numbers.items()]
        found[run] = numbers
        beside[run] = [{"token": w.text, "probability": w.probability, "logit": w.logit} for w in likely]
    effect = found["after"][names[0]] - found["before"][names[0]]
    shown = [(what, *(found[run].get(what, "") for run in found)) for what in names]
    return rows, {"effect": effect, "next": beside, "text": text, "target": " the", "against": " it"}, shown


def of_sweep(load, text, found, labels=None):
    """One change at a time: places, and the outcome before and after each."""
    rows = found.to_frame()
    if labels:
        rows.insert(2, "token_text", [labels[token] for token in rows["token"]])
    np.testing.assert_array_equal(rows.effect, (found.numbers[..., 0] - found.before[0]).ravel())
    largest = rows.iloc[np.argsort(-np.abs(rows.effect), kind="stable")[:5]]
    beside = {"before": dict(zip(found.names, found.before, strict=True)), "text": text}
    if found.source:
        beside["source_outcome"] = dict(zip(found.names, found.source, strict=True))
    return rows, beside, [tuple(row.values()) for row in largest.to_dict("records")]


def of_roles(_, trained=True, **keep):
    table = read_roles("minilm") if trained else read_roles("minilm").untrained
    rows = table.to_frame() if keep else table.questions()
    for name, value in keep.items():
        rows = rows[rows[name] == value]
    beside = {
        "model": "minilm",
        "digest": table.digest,
        "left_out": 0,
        "unused": 0,
        "tried": table.n_comparisons,
    }
    columns = ["layer", "head", "n", "score"] if keep else ["head", "n", "score", "held_out"]
    return rows, beside, [*rows[columns].itertuples(index=False)]


def of_similarity(load, texts):
    """Jensen and Shannon's divergence by SciPy, meaned over rows and then over texts."""
    n = load.n_layers * load.n_heads
    total = np.zeros((n, n))
    for text in texts:
        rows = trace(text, load).weights.reshape(n, -1, 1)
        side = int(rows.shape[1] ** 0.5)
        rows = rows.reshape(n, side, side).astype(float)
        total += [[np.mean(jensenshannon(a, b, axis=1) ** 2) for b in rows] for a in rows]
    distance = total / len(texts)
    names = [f"{la + 1}-{h + 1}" for la, h in np.ndindex(load.n_layers, load.n_heads)]
    apart = distance + np.diag([np.inf] * n)
    rows = pd.DataFrame(distance, columns=names)
    rows.insert(0, "head", names)
    rows.insert(1, "nearest", [names[i] for i in apart.argmin(1)])
    rows.insert(2, "nats", apart.min(1))
    return rows, {"n_texts": len(texts), "model": load.name}, []


def of_atlas(found, head=None):
    if head:
        rows, (entry,) = found.only(head).to_frame(), found.only(head).heads
        top = [(one.weight, one.output_norm, one.passage) for one in entry.top[:3]]
        return rows, {"descriptions": found.only(head).description_rows()}, top
    return found.descriptions(), {"n_passages": found.n_passages, "n_tokens": found.n_tokens}, []


def made_atlas(load, text):
    kept = Collection(load.n_layers, load.n_heads, load.is_causal)
    for batch in read_passages(text.removeprefix(BOM).splitlines(), load):
        for passage in batch:
            kept.add(*passage)
    return atlas(kept)


def of_learning(task, layers):
    found = report.trained(TrainingSetup(task, layers, 4, 0, 2))
    beside = {name: found[name] for name in ("setup", "parameters", "answers", "heads", "without")}
    shown = [
        (one["head"], other["accuracy"]) for one, other in zip(found["heads"], found["without"], strict=True)
    ]
    return [report.flatten(row) for row in found["curve"]], beside, shown


def of_evaluation(**options):
    found = evaluate(load_model("classroom", device="cpu", **options).encoder, 2)
    row = {name: found[name] for name in ("pairs", "pass", "animate", "inanimate", "head", "right", "wrong")}
    row |= {
        "answers exact": found["answers"]["exact"],
        "without_head better": found["without_head"]["better"],
    }
    return [row], {}, [("animate", found["animate"]), ("right", found["right"])]


def every(load, text, **options):
    return of_sweep(load, text, last(every_head(load.tokenizer.encode(text), load, WORD, **options)))


def patched(load, sweep):
    source, into = (load.tokenizer.encode(text) for text in (OTHER, TEXT))
    labels = [into.label(piece) for piece in into.pieces] if sweep is patch_states else None
    return of_sweep(load, TEXT, last(sweep(source, into, load, WORD)), labels)


LISTED = ("name", "title", "embedded", "description")

# A call, what it reads (put into FILE.x, or piped), and the library's answer; of many texts a list of answers.
BERT, DECODER, T5 = "--model BERT", "--model DECODER", "--model T5"
CASES = {
    "trace": [
        (f"trace '{LINE}' {BERT}", "", lambda load: of_trace(load("BERT"), LINE)),
        (f"trace '{LINE}' {BERT} --layer 4 --head 2", "", lambda load: of_trace(load("BERT"), LINE, 4, 2)),
        (f"trace '{LINE}' {BERT} --layer 3 --words --pair '{LONG}'", "",
         lambda load: of_trace(load("BERT"), LINE, 3, words=True, pair=LONG)),
        (f"trace '{LINE}' {BERT} --layer 2 --head 3 --untrained", "",
         lambda load: of_trace(load("BERT", trained=False), LINE, 2, 3)),
        (f"trace '{LONG * 5}' {BERT} --layer 1 --head 3", "", lambda load: of_trace(load("BERT"), LONG * 5, 1, 3)),
        (f"trace '{TEXT}' {DECODER} --head 5 --layer 2", "", lambda load: of_trace(load("DECODER"), TEXT, 2, 5)),
        (f"trace '{LINE}' {T5} --attention cross --pair '{T5_TARGET}' --layer 3 --head 1", "",
         lambda load: of_trace(load("T5"), LINE, 3, 1, target=T5_TARGET, part="cross")),
        (f"trace --file FILE.txt {BERT} --layer 4 --head 2", LINES,
         lambda load: [of_trace(load("BERT"), text, 4, 2) for text in (LINE, f" {LONG}")]),
        (f"trace - {BERT}", LINES, lambda load: [of_trace(load("BERT"), text) for text in (LINE, f" {LONG}")]),
        (f"trace '{LINE}' {BERT} --from tired --to slept", "",
         lambda load: of_rank(load("BERT"), LINE, "tired", "slept")),
    ],
    "next": [
        (f"next '{TEXT}' {DECODER} --top 3", "", lambda load: of_next(load("DECODER"), TEXT, 3)),
        (f"next - {DECODER} --top 4", TEXTS,
         lambda load: [of_next(load("DECODER"), text, 4) for text in (TEXT, SHORT)]),
    ],
    "why": [
        (f"why '{TEXT}' {DECODER} --head 2-3 --from it --to '#1'", "",
         lambda load: of_why(load("DECODER"), TEXT, head="2-3", query="it", key="#1")),
    ],
    "models": [
        ("models", "", lambda _: (
            [{key: getattr(one, key) for key in LISTED} for one in listed_models()], {},
            [[getattr(one, key) for key in LISTED] for one in listed_models()],
        )),
    ],
    "ablate": [
        (f"ablate '{TEXT}' {DECODER} {TARGET} --heads 3-2,1-5", "",
         lambda load: of_run(load("DECODER"), TEXT, (Factor(((0, 4), (2, 1)), 0.0),))),
        (f"ablate '{TEXT}' {DECODER} {TARGET} --heads 2-4 --factor 2.5", "",
         lambda load: of_run(load("DECODER"), TEXT, (Factor(((1, 3),), 2.5),))),
        (f"ablate '{TEXT}' {DECODER} {TARGET} --heads 2-4 --mean", "",
         lambda load: of_run(load("DECODER"), TEXT, (MeanAblation(((1, 3),)),))),
        (f"ablate '{TEXT}' {DECODER} {TARGET} --every --factor 2", "",
         lambda load: every(load("DECODER"), TEXT, factor=2.0)),
        (f"ablate --file FILE.txt {DECODER} {TARGET} --every", TEXTS,
         lambda load: [every(load("DECODER"), text) for text in (TEXT, SHORT)]),
    ],
    "patch": [
        (f"patch '{OTHER}' '{TEXT}' {DECODER} {TARGET} --heads 1-2", "",
         lambda load: of_run(load("DECODER"), TEXT, (PatchHeads(((0, 1),), OTHER),))),
        (f"patch - '{TEXT}' {DECODER} {TARGET} --every heads", BOM + OTHER,
         lambda load: patched(load("DECODER"), patch_heads)),
        (f"patch '{OTHER}' - {DECODER} {TARGET} --every layers", BOM + TEXT,
         lambda load: patched(load("DECODER"), patch_states)),
    ],
    "roles": [
        ("roles", "", of_roles),
        ("roles --untrained --head 4-2", "", lambda load: of_roles(load, trained=False, layer=4, head=2)),
        ("roles --question det --head 6-1", "", lambda load: of_roles(load, question="det", layer=6, head=1)),
    ],
    "similarity": [(f"similarity FILE.txt {BERT}", LINES, lambda load: of_similarity(load("BERT"), (LINE, LONG)))],
    "atlas": [
        ("atlas --head 5-3", "", lambda _: of_atlas(read_shipped("minilm").atlas, (4, 2))),
        (f"atlas FILE.txt {BERT} --head 4-2", LINES, lambda load: of_atlas(made_atlas(load("BERT"), LINES), (3, 1))),
    ],
    "merge": [("merge PARTS", LINES, lambda load: of_atlas(made_atlas(load("classroom"), LINES)))],
    "learn jobs": [("learn jobs --steps 2", "", lambda _: of_learning("jobs", 1))],
    "learn induction": [("learn induction --steps 2", "", lambda _: of_learning("induction", 2))],
    "learn evaluate": [
        ("learn evaluate classroom --pairs 2", "", lambda _: of_evaluation()),
        ("learn evaluate classroom --pairs 2 --untrained", "", lambda _: of_evaluation(trained=False)),
    ],
}  # fmt: skip


# ---- the commands


def leaves(parser, place=()):
    """Every command without commands of its own, by its words."""
    inner = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not inner:
        yield " ".join(place), parser
    for action in inner:
        for name, one in action.choices.items():
            yield from leaves(one, (*place, name))


def test_every_command_is_here_and_takes_a_format():
    for name, parser in leaves(build_parser()):
        options = {option for action in parser._actions for option in action.option_strings}
        assert name in SILENT or name in CASES, name
        assert name in SILENT or {"--format", "--out"} <= options, name


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Folders of small random models, no two with the same numbers of layers and of heads."""
    transformers = pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("models")
    for name in ("BERT", "DECODER"):
        (place / name).mkdir()
    write(place / "BERT", random_bert(num_hidden_layers=4, num_attention_heads=3))
    write_decoder(place / "DECODER", random_decoder("gpt2"))
    random_model("T5", SEQUENCES["T5"], sequence=True).save_pretrained(place / "T5")
    names = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("cls", "sep", "pad", "unk", "mask")}
    file = str(embedded_folder() / "tokenizer.json")
    transformers.PreTrainedTokenizerFast(tokenizer_file=file, **names).save_pretrained(place / "T5")
    return place


@pytest.fixture
def run(home, capsys, monkeypatch, tmp_path):
    def put(word, content):
        if (home / word).is_dir():
            return str(home / word)
        if word == "PARTS" or word.startswith("FILE."):
            file = tmp_path / word.replace("PARTS", "text.txt")
            file.write_text(content, encoding="utf-8")
            if word != "PARTS":
                return str(file)
            compute_part("atlas", {"model": "classroom"}, [str(file)], 1, 1, tmp_path / "parts")
            return str(tmp_path / "parts")
        return word

    def command(line, piped, *more):
        monkeypatch.setattr(sys, "stdin", io.StringIO(piped))
        words = [put(word, piped) for word in shlex.split(line)]
        return (main([*words, *map(str, more)]), *capsys.readouterr())

    return command


@pytest.fixture
def long_work_is_done_once(monkeypatch):
    """The five answers of one command are written from one result where finding it takes seconds."""
    from mha_core.cli import training
    from mha_core.training import report

    def once(real):
        kept = []
        return lambda *given, **options: kept[0] if kept else kept.append(real(*given, **options)) or kept[0]

    monkeypatch.setattr(report, "trained", once(report.trained))
    monkeypatch.setattr(training, "evaluate", once(training.evaluate))


def rows_of(answer):
    rows = pd.DataFrame(answer[0]).astype(object)
    return rows.where(rows.notna(), None).to_dict("records")


def same(found, expected, *, cell=False):
    """Whether a value as it was read, from JSON or from a cell of CSV, is the library's."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, np.ndarray):
        return np.shape(found) == expected.shape and np.allclose(found, expected, rtol=1e-5, atol=1e-6)
    if isinstance(expected, float | np.floating) and found != "":
        return float(found) == pytest.approx(float(expected), rel=1e-4, abs=1e-6)
    if isinstance(expected, list | tuple) and not cell:
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, list | tuple):
        expected = " ".join(map(str, expected))
    return found == (("" if expected is None else safe_cell(str(expected))) if cell else expected)


def check_rows(found, expected, *, cell=False):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert not {
            key: (one.get(key), value)
            for key, value in other.items()
            if not same(one.get(key), value, cell=cell)
        }


def seen(cell):
    """A cell as a person reads it."""
    if isinstance(cell, float | np.floating):
        return "" if pd.isna(cell) else f"{cell:.3f}"
    return "" if cell is None else " ".join(str(cell).split())


@pytest.mark.parametrize(
    ("line", "piped", "expected"),
    [pytest.param(*case, id=case[0]) for cases in CASES.values() for case in cases],
)
def test_its_numbers_and_words_are_the_librarys_in_every_format(
    run, home, long_work_is_done_once, line, piped, expected, tmp_path
):
    def load(name, **options):
        return load_model(str(home / name) if (home / name).is_dir() else name, device="cpu", **options)

    answers = expected(load)
    many = answers if isinstance(answers, list) else None
    answers = many or [answers]
    code, table, _ = run(line, piped, "--format", "table")
    assert code == 0
    lines = [" ".join(one.split()) for one in table.splitlines()]
    wanted = [" ".join(filter(None, map(seen, row))) for answer in answers for row in answer[2]]
    at = -1
    for row in wanted:  # in this order; a table has more columns at most
        pattern = re.compile(".*".join(rf"(?<!\S){re.escape(part)}(?!\S)" for part in row.split(" ")))
        at = next((i for i in range(at + 1, len(lines)) if pattern.search(lines[i])), None)
        assert at is not None, row

    # Many texts are written as JSON lines unless another format is named; the ending of a file names one, too.
    _, stream, _ = run(line, piped, *([] if many else ["--format", "jsonl"]))
    whole = json.loads(run(line, piped, "--format", "json")[1])
    assert run(line, piped, "--out", tmp_path / "x.csv")[:2] == (0, "")
    sheet = (tmp_path / "x.csv").read_text(encoding="utf-8")
    stream = [json.loads(one) for one in stream.splitlines()]
    cells = list(csv.DictReader(io.StringIO(sheet), strict=True))
    rows = [
        ({"sentence": number} if many else {}) | row
        for number, answer in enumerate(answers, 1)
        for row in rows_of(answer)
    ]
    check_rows(cells, rows, cell=True)
    assert all(None not in row and None not in row.values() for row in cells), "a cell for every heading"
    assert "{" not in sheet, "no mapping in a cell"
    data = whole if many else [whole]
    assert len(data) == len(answers)
    for one, (_, beside, _) in zip(data, answers, strict=True):
        check_rows([one], [beside])
    if "weights" in answers[0][1]:
        for one, (_, beside, _) in zip(stream, answers, strict=True):
            check_rows([one], [beside])
    else:
        check_rows(stream, rows)
        for one, answer in zip(data, answers, strict=True):
            check_rows(one["rows"], rows_of(answer))
