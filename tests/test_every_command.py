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
from functools import cache
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from bert_folders import bert_tokenizer, random_bert, write
from decoder_folders import random_decoder, write_decoder
from scipy.spatial.distance import jensenshannon
from scipy.stats import binomtest
from test_any_model import SEQUENCES, random_model

from mha_core import load_model, logit_lens, predict_next, score_attribution, trace
from mha_core.causal import (
    LogitDifference,
    MeanAblation,
    PatchHeads,
    ScaleHeads,
    final_result,
    measure,
    next_words,
    sweep_head_patches,
    sweep_heads,
    sweep_receivers,
    sweep_state_patches,
)
from mha_core.cli import build_parser, main, training
from mha_core.display_names import percent
from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.passages import read_passages
from mha_core.heads.atlas.shipped import read_shipped
from mha_core.heads.atlas.table import atlas
from mha_core.heads.part_files import compute_part
from mha_core.heads.table import read_roles
from mha_core.heads.verdict_text import head_text
from mha_core.models.model_list import listed_models
from mha_core.record.export import safe_cell
from mha_core.record.links import largest_weights
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
# Uneven in every way: lengths, pieces a word, a word that stands twice, an empty line, one that begins with a space; of
# the decoder every token is a byte or two.
LINE, LONG = "Unbelievably tired cats slept.", "It rained, and then a xylophone rained everywhere."
TEXT, OTHER, SHORT, TARGET = "the cat it is", "the dog it is", "it was", "it slept all day"
TEXTS, PROMPTS = (LINE, f" {LONG}"), (TEXT, SHORT)
FILE, PROMPT_FILE = f"{BOM}{LINE}\n\n {LONG}\n", f"{BOM}{TEXT}\n\n{SHORT}\n"
WORDS = {
    "LINE": LINE, "LONG": LONG, "LONGER": 5 * LONG, "TEXT": TEXT, "OTHER": OTHER, "TARGET": TARGET, "THE": " the",
    "IT": " it",
}  # fmt: skip
OUTCOME = LogitDifference(" the", " it")
LISTED = ("name", "title", "embedded", "description")


# ---- what the library says: rows by their columns, what stands beside them in JSON, and lines for people


def weights_answer(model, text, layer=None, head=None, words=False, **more):
    """`layer` and `head` from 1."""
    record = trace(text, model, **more)
    grid, tokens = record.grid(words=words), record.tokens
    frame = grid.to_frame()
    heads = [(la + 1, h + 1) for la, h in np.ndindex(*grid.weights.shape[:2])]
    heads = [(la, h) for la, h in heads if layer in (None, la) and head in (None, h)]
    beside = {
        "model": model.name, "text": tokens.text, "pair": tokens.pair, "units": list(grid.labels),
        "tokens": [piece.text for piece in tokens.pieces], "segments": list(tokens.segments), "n_cut": tokens.n_cut,
        "word_of_token": [piece.word for piece in tokens.pieces], "unit": "words" if words else "pieces",
        "trained": model.trained,
        "layers": sorted({la for la, _ in heads}), "heads": sorted({h for _, h in heads}), "causal": grid.is_causal,
        "weights": grid.weights[layer and layer - 1 : layer, head and head - 1 : head],
    }  # fmt: skip
    if head:
        visible = np.ones(grid.weights.shape[2:]) if grid.visible is None else grid.visible[layer - 1]
        matrix = np.where(visible, grid.weights[layer - 1, head - 1], np.nan)
        shown = [(label, *row) for label, row in zip(grid.labels, matrix, strict=True)]
    else:
        rows = largest_weights(grid).itertuples(index=False)
        shown = [row for row in rows if (row.layer, row.head) in heads]
    return frame[[place in heads for place in zip(frame.layer, frame["head"], strict=True)]], beside, shown


def rank_answer(model, text, query, key=None, top=10):
    rows = trace(text, model).grid().rank(query, key)[:top]  # by tokens
    return rows, {"from": query, "to": key, "text": text}, [*rows[:5].itertuples(index=False)]


def next_answer(model, text, top):
    tokens = predict_next(model.tokenizer.encode(text), model, k=top)
    rows = [
        {"text": text, "rank": n, "token": t.text, "id": t.id, "probability": t.probability, "logit": t.logit}
        for n, t in enumerate(tokens, 1)
    ]
    return rows, {"text": text}, [(row["probability"], repr(row["token"])) for row in rows]


def lens_answer(model, text, top):
    lens = logit_lens(text, model, k=top)
    rows = [{"text": text} | row for row in lens.drop(columns="position").to_dict("records")]
    (layer,) = lens.attrs["stable_from"].values()
    shown = [(row["layer"], row["probability"], repr(row["token"])) for row in rows if row["rank"] == 1]
    return rows, {"text": text, "stable_from": layer}, shown


def why_answer(model, text, top=10, **link):
    frame = score_attribution(text, model, **link)
    rows = frame[["side", "part", "layer", "head", "score", "share"]]
    beside = {"head": link["head"], "weight": frame.attrs["weight"], "score": frame.attrs["score"]}
    largest = rows.groupby("side", sort=True).head(top).sort_values("side", kind="stable")
    return rows, beside, [*largest[["side", "part", "score", "share"]].itertuples(index=False)]


def run_answer(model, text, *interventions, top=5):
    """One run without and with them."""
    tokens, rows, numbers, likely = model.tokenizer.encode(text), [], {}, {}
    names = ("logit difference", "probability of ' the'", "probability of ' it'")
    for run, chosen in (("before", ()), ("after", interventions)):
        words = next_words(tokens, model, chosen, top)
        numbers[run] = dict(zip(names, measure(tokens, model, OUTCOME, chosen), strict=True))
        values = numbers[run] | {f"probability of {word.text!r}": word.probability for word in words}
        rows += [{"run": run, "what": what, "value": value} for what, value in values.items()]
        likely[run] = [{"token": w.text, "probability": w.probability, "logit": w.logit} for w in words]
    effect = numbers["after"][names[0]] - numbers["before"][names[0]]
    shown = [(what, numbers["before"][what], numbers["after"][what]) for what in names]
    return rows, {"effect": effect, "next": likely, "text": text, "target": " the", "against": " it"}, shown


def sweep_answer(model, text, sweep, *source, **options):
    """One change at a time: places, and the outcome before and after each."""
    texts = [model.tokenizer.encode(each) for each in (*source, text)]
    effects = final_result(sweep(*texts, model, OUTCOME, **options))
    rows = effects.to_frame()
    beside = {"before": dict(zip(effects.names, effects.before, strict=True)), "text": text}
    if sweep is sweep_state_patches:
        labels = [texts[-1].label(piece) for piece in texts[-1].pieces]
        rows.insert(2, "token_text", [labels[token] for token in rows["token"]])
    if source:
        outcome = dict(zip(effects.names, effects.source, strict=True))
        beside |= {"source": source[0], "source_outcome": outcome}
    np.testing.assert_array_equal(rows.effect, (effects.numbers[..., 0] - effects.before[0]).ravel())
    largest = rows.iloc[np.argsort(-np.abs(rows.effect), kind="stable")[:5]]
    return rows, beside, [tuple(row.values()) for row in largest.to_dict("records")]


def roles_answer(model, trained=True, **keep):
    table = read_roles("minilm") if trained else read_roles("minilm").untrained
    rows = table.to_frame() if keep else table.questions()
    for name, value in keep.items():
        rows = rows[rows[name] == value]
    if keep:
        heads = zip(rows["layer"] - 1, rows["head"] - 1, strict=True)
        assert rows["head_verdict"].tolist() == [head_text(table, head) for head in heads]
    beside = {"model": model.name, "digest": table.digest, "tried": table.n_comparisons}
    beside |= {"left_out": 0, "unused": 0}
    columns = ["layer", "head", "n", "score"] if keep else ["head", "n", "score", "held_out"]
    return rows, beside, [*rows[columns].itertuples(index=False)]


def similarity_answer(model, *texts):
    """Jensen and Shannon's divergence by SciPy, meaned over rows and then over texts."""
    names = [f"{la + 1}-{h + 1}" for la, h in np.ndindex(model.n_layers, model.n_heads)]
    total = np.zeros((len(names),) * 2)
    for text in texts:
        rows = trace(text, model).weights.astype(float)
        rows = rows.reshape(len(names), *rows.shape[2:])
        total += [[np.mean(jensenshannon(a, b, axis=1) ** 2) for b in rows] for a in rows]
    rows = pd.DataFrame(total / len(texts), columns=names)
    apart = rows.to_numpy() + np.diag([np.inf] * len(names))
    rows = rows.assign(head=names, nearest=[names[i] for i in apart.argmin(1)], nats=apart.min(1))
    return rows, {"n_texts": len(texts), "model": model.name}, []


def atlas_answer(model, head=None, shipped=False):
    """`head` from 0."""
    collection = Collection(model.n_layers, model.n_heads, model.info.visibility)
    for batch in () if shipped else read_passages([LINE, "", LONG], model):
        for passage in batch:
            collection.add(*passage)
    result = read_shipped(model.name).atlas if shipped else atlas(collection)
    if head is None:
        return result.descriptions(), {"n_passages": result.n_passages, "n_tokens": result.n_tokens}, []
    of_head, top = result.only(head), result.entry(head).top[:3]
    shown = [(example.weight, example.output_norm, example.passage) for example in top]
    return of_head.to_frame(), {"descriptions": of_head.description_rows()}, shown


def learning_answer(_, task, *sizes):
    result = report.train_and_report(TrainingSetup(task, *sizes))
    beside = {name: result[name] for name in ("setup", "parameters", "answers", "heads", "without")}
    shown = [(row["head"], row["accuracy"]) for row in result["without"]]
    return [report.flatten(row) for row in result["curve"]], beside, shown


def evaluation_answer(model):
    card = evaluate(model.encoder, 2)
    row = {name: card[name] for name in ("pairs", "pass", "animate", "inanimate", "head", "right", "wrong")}
    row |= {"answers exact": card["answers"]["exact"], "without_head better": card["without_head"]["better"]}
    interval = binomtest(round(2 * card["pass"]), 2).proportion_ci(method="wilson")
    passes = ("passes", percent(card["pass"]), percent(interval.low), percent(interval.high) + "):")
    return [row], {}, [passes, ("animate", card["animate"]), ("right", card["right"])]


def models_answer(_):
    rows = [{key: getattr(entry, key) for key in LISTED} for entry in listed_models()]
    return rows, {}, [tuple(row.values()) for row in rows]


# A call, what it reads (in FILE.x, or piped), and the library's answer of a model, of one text or of each of some.
ABLATE = "--model DECODER --target THE --against IT"
CASES = {
    "trace": [
        ("trace LINE --model BERT", "", weights_answer, "BERT", LINE),
        ("trace LINE --model BERT --layer 3 --words --pair LONG", "", weights_answer, "BERT", LINE, 3,
         {"words": True, "pair": LONG}),
        ("trace LINE --model BERT --layer 2 --head 3 --untrained", "", weights_answer, "BERT-untrained", LINE, 2, 3),
        ("trace LONGER --model BERT --layer 1 --head 3", "", weights_answer, "BERT", 5 * LONG, 1, 3),
        ("trace TEXT --model DECODER --head 5 --layer 2", "", weights_answer, "DECODER", TEXT, 2, 5),
        ("trace LINE --model T5 --attention cross --pair TARGET --layer 3 --head 1", "", weights_answer, "T5", LINE,
         3, 1, {"target": TARGET, "part": "cross"}),
        ("trace --file FILE.txt --model BERT --layer 4 --head 2", FILE, weights_answer, "BERT", TEXTS, 4, 2),
        ("trace - --model BERT", FILE, weights_answer, "BERT", TEXTS),
        ("trace LINE --model BERT --from tired --to slept", "", rank_answer, "BERT", LINE, "tired", "slept"),
        ("trace LONG --model BERT --from rained#2 --top 3", "", rank_answer, "BERT", LONG, "rained#2", None, 3),
        ("trace LINE --model BERT --from [CLS] --top 0", "", rank_answer, "BERT", LINE, "[CLS]", None, 12),
    ],
    "next": [
        ("next TEXT --model DECODER --top 3", "", next_answer, "DECODER", TEXT, 3),
        ("next - --model DECODER --top 4", PROMPT_FILE, next_answer, "DECODER", PROMPTS, 4),
        ("next TEXT --model DECODER --lens --top 3", "", lens_answer, "DECODER", TEXT, 3),
        ("next - --model DECODER --lens --top 2", PROMPT_FILE, lens_answer, "DECODER", PROMPTS, 2),
    ],
    "why": [
        ("why TEXT --model DECODER --head 2-3 --from it --to '#1'", "", why_answer, "DECODER", TEXT,
         {"head": "2-3", "query": "it", "key": "#1"}),
        ("why TEXT --model DECODER --head 3-1 --from '#9' --to '#2' --top 1", "", why_answer, "DECODER", TEXT, 1,
         {"head": "3-1", "query": "#9", "key": "#2"}),
        ("why TEXT --model DECODER --head 3-1 --from '#9' --to '#2' --top 0", "", why_answer, "DECODER", TEXT, 99,
         {"head": "3-1", "query": "#9", "key": "#2"}),
    ],
    "models": [("models", "", models_answer, "minilm")],
    "ablate": [
        (f"ablate TEXT {ABLATE} --heads 3-2,1-5", "", run_answer, "DECODER", TEXT, ScaleHeads(((0, 4), (2, 1)), 0.0)),
        (f"ablate TEXT {ABLATE} --heads 2-4 --factor 2.5", "", run_answer, "DECODER", TEXT, ScaleHeads(((1, 3),), 2.5)),
        (f"ablate TEXT {ABLATE} --heads 2-4 --mean --top 3", "", run_answer, "DECODER", TEXT, MeanAblation(((1, 3),)),
         {"top": 3}),
        (f"ablate TEXT {ABLATE} --every --factor 2", "", sweep_answer, "DECODER", TEXT, sweep_heads, {"factor": 2.0}),
        (f"ablate --file FILE.txt {ABLATE} --every", PROMPT_FILE, sweep_answer, "DECODER", PROMPTS, sweep_heads),
    ],
    "patch": [
        (f"patch OTHER TEXT {ABLATE} --heads 1-2", "", run_answer, "DECODER", TEXT, PatchHeads(((0, 1),), OTHER)),
        (f"patch - TEXT {ABLATE} --every heads", BOM + OTHER, sweep_answer, "DECODER", TEXT, sweep_head_patches, OTHER),
        (f"patch OTHER - {ABLATE} --every layers", BOM + TEXT, sweep_answer, "DECODER", TEXT, sweep_state_patches,
         OTHER),
        (f"patch OTHER TEXT {ABLATE} --from 1-2", "", sweep_answer, "DECODER", TEXT, sweep_receivers, OTHER,
         {"sender": (0, 1)}),
    ],
    "roles": [
        ("roles", "", roles_answer, "minilm"),
        ("roles --untrained --head 4-2", "", roles_answer, "minilm", {"trained": False, "layer": 4, "head": 2}),
        ("roles --question det --head 6-1", "", roles_answer, "minilm", {"question": "det", "layer": 6, "head": 1}),
    ],
    "similarity": [
        ("similarity FILE.txt --model BERT", FILE, similarity_answer, "BERT", LINE, LONG),
        ("similarity FILE.txt --model BERT --limit 1", FILE, similarity_answer, "BERT", LINE),
    ],
    "atlas": [
        ("atlas --head 5-3", "", atlas_answer, "minilm", {"head": (4, 2), "shipped": True}),
        ("atlas FILE.txt --model BERT --head 4-2", FILE, atlas_answer, "BERT", {"head": (3, 1)}),
    ],
    "merge": [("merge PARTS", FILE, atlas_answer, "BERT")],
    "learn jobs": [
        ("learn jobs --steps 1 --layers 2 --heads 2 --seed 3", "", learning_answer, "minilm", "jobs", 2, 2, 3, 1),
    ],
    "learn induction": [("learn induction --steps 2", "", learning_answer, "minilm", "induction", 2, 4, 0, 2)],
    "learn evaluate": [
        ("learn evaluate classroom --pairs 2", "", evaluation_answer, "classroom"),
        ("learn evaluate classroom --pairs 2 --untrained", "", evaluation_answer, "classroom-untrained"),
    ],
}  # fmt: skip


# ---- the commands


def leaves(parser, place=()):
    """Every command without commands of its own, by its words."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield " ".join(place), parser
    for action in inner:
        for name, command in action.choices.items():
            yield from leaves(command, (*place, name))


def test_every_command_is_here_and_takes_a_format():
    for name, parser in leaves(build_parser()):
        options = {option for action in parser._actions for option in action.option_strings}
        assert name in SILENT or name in CASES, name
        assert name in SILENT or {"--format", "--out"} <= options, name


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Folders of small random models, no two with the same numbers of layers and of heads."""
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("models")
    for name in ("BERT", "DECODER"):
        (place / name).mkdir()
    write(place / "BERT", random_bert(num_hidden_layers=4, num_attention_heads=3))
    write_decoder(place / "DECODER", random_decoder("gpt2"))
    random_model("T5", SEQUENCES["T5"], sequence=True).save_pretrained(place / "T5")
    bert_tokenizer().save_pretrained(place / "T5")
    return place


@pytest.fixture
def run(home, capsys, monkeypatch, tmp_path):
    def put(word, content):
        if word in WORDS or (home / word).is_dir():
            return WORDS.get(word, str(home / word))
        if word == "PARTS" or word.startswith("FILE."):
            file = tmp_path / word.replace("PARTS", "text.txt")
            file.write_text(content, encoding="utf-8")
            if word != "PARTS":
                return str(file)
            shards = [tmp_path / f"{i}.txt" for i in range(2)]
            for shard, line in zip(shards, content.split("\n\n"), strict=True):
                shard.write_text(line, encoding="utf-8")
            model, parts = {"model": str(home / "BERT")}, tmp_path / "parts"
            for part in (1, 2):
                compute_part("atlas", model, list(map(str, shards)), part, 2, parts)
            return str(parts)
        return word

    def command(line, piped, *more):
        monkeypatch.setattr(sys, "stdin", io.StringIO(piped))
        words = [put(word, piped) for word in shlex.split(line)]
        return (main([*words, *map(str, more)]), *capsys.readouterr())

    return command


@pytest.fixture
def long_work_is_done_once(monkeypatch):
    """The answers of one command are written from one result where finding it takes seconds."""
    result = cache(report.train_and_report)
    monkeypatch.setattr(report, "train_and_report", lambda setup, *_: result(setup))
    monkeypatch.setattr(training, "evaluate", cache(evaluate))


def rows_of(answer):
    rows = pd.DataFrame(answer[0]).astype(object)
    return rows.where(rows.notna(), None).to_dict("records")


def same(actual, expected, *, cell=False):
    """Return whether a value read from JSON or a cell of CSV is the library's."""
    if isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(same(actual[key], expected[key]) for key in expected)
    if isinstance(expected, np.ndarray):
        return np.shape(actual) == expected.shape and np.allclose(actual, expected, rtol=1e-5, atol=1e-6)
    if isinstance(expected, float | np.floating) and actual != "":
        return float(actual) == pytest.approx(float(expected), rel=1e-4, abs=1e-6)
    if isinstance(expected, list | tuple) and not cell:
        return len(actual) == len(expected) and all(map(same, actual, expected))
    if isinstance(expected, list | tuple):
        expected = " ".join(map(str, expected))
    return actual == (("" if expected is None else safe_cell(str(expected))) if cell else expected)


def check_rows(actual, expected, *, cell=False):
    assert len(actual) == len(expected)
    for row, other in zip(actual, expected, strict=True):
        differs = [key for key, value in other.items() if not same(row.get(key), value, cell=cell)]
        assert not {key: (row.get(key), other[key]) for key in differs}


def seen(cell):
    """A cell as a person reads it."""
    if isinstance(cell, float | np.floating):
        return "" if pd.isna(cell) else f"{cell:.3f}"
    return "" if cell is None else " ".join(str(cell).split())


@pytest.mark.usefixtures("long_work_is_done_once")
@pytest.mark.parametrize("case", [*chain(*CASES.values())], ids=lambda case: case[0])
def test_its_numbers_and_words_are_the_librarys_in_every_format(run, home, case, tmp_path):
    line, piped, answer_of, name, *given = case
    options = given.pop() if given and isinstance(given[-1], dict) else {}
    name, _, untrained = name.partition("-")
    name = str(home / name) if (home / name).is_dir() else name
    model = load_model(name, device="cpu", trained=not untrained)
    many = bool(given) and isinstance(given[0], tuple)
    texts = given[0] if many else given[:1]
    answers = [answer_of(model, *text, *given[1:], **options) for text in [(each,) for each in texts] or [()]]
    code, table, _ = run(line, piped, "--format", "table")
    assert code == 0
    lines = [" ".join(item.split()) for item in table.splitlines()]
    wanted = [" ".join(filter(None, map(seen, row))) for answer in answers for row in answer[2]]
    place = -1
    for row in wanted:  # in this order; a table has more columns at most
        pattern = re.compile(".*".join(rf"(?<!\S){re.escape(part)}(?!\S)" for part in row.split(" ")))
        place = next((i for i in range(place + 1, len(lines)) if pattern.search(lines[i])), None)
        assert place is not None, row

    # Many texts are written as JSON lines unless another format is named; the ending of a file names one, too.
    _, stream, _ = run(line, piped, *([] if many else ["--format", "jsonl"]))
    whole = json.loads(run(line, piped, "--format", "json")[1])
    assert run(line, piped, "--out", tmp_path / "x.csv")[:2] == (0, "")
    sheet = (tmp_path / "x.csv").read_text(encoding="utf-8")
    stream = [json.loads(item) for item in stream.splitlines()]
    cells = list(csv.DictReader(io.StringIO(sheet), strict=True))
    rows = [{"sentence": n} | row for n, answer in enumerate(answers, 1) for row in rows_of(answer)]
    rows = rows if many else rows_of(answers[0])
    check_rows(cells, rows, cell=True)
    assert all(None not in row and None not in row.values() for row in cells), "a cell for every heading"
    assert "{" not in sheet, "no mapping in a cell"
    data, besides = whole if many else [whole], [beside for _, beside, _ in answers]
    check_rows(data, besides)
    if "weights" in besides[0]:
        check_rows(stream, besides)
    else:
        check_rows(stream, rows)
        for item, answer in zip(data, answers, strict=True):
            check_rows(item["rows"], rows_of(answer))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("trace - --model BERT --pair LINE", "--pair"),
        ("trace - --model BERT --from cats", "Text 2: "),
        ("next LINE --file FILE.txt --model DECODER", "--file"),
        ("patch - - --model DECODER --every heads", "once"),
    ],
)
def test_what_many_texts_do_not_allow_is_one_sentence(run, line, says):
    code, out, err = run(line, FILE, "--format", "csv")
    assert (code, says in err.splitlines()[-1]) == (2, True)
    assert LONG not in out
