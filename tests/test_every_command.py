"""Every command there is, walked from the parser itself: each answers in every format, into a file, from a pipe.

A command that is added without a row here fails, and so does one without `--format`.
"""

import argparse
import csv
import io
import json
import shlex
import sys

import pytest

from mha_core.cli import build_parser, main
from mha_core.command_io import FORMATS
from mha_core.heads.standard_input import ending_of
from tests.test_corpus import GAP
from tests.test_heads_cli import TREEBANK

pytestmark = pytest.mark.slow

# What writes no answer, and why.
SILENT = {
    "app": "starts the app",
    "decoder": "runs pip",
    "completion": "is a script for the shell",
    "learn train": "writes a model's folder, and always says how far it is",
}
# A short call of every other command, what is piped into it, the rows it must give, and a column they must have.
CALLS = {
    "trace": ("trace 'It rained.' --layer 4 --head 2", "", 25, "weight"),
    "trace many": ("trace - --layer 4 --head 2", "It rained.\nIt is so.", 25 + 36, "sentence"),
    "next": ("next the --model DECODER --top 3", "", 3, "probability"),
    "next many": ("next - --model DECODER --top 3", "the\nit", 6, "probability"),
    "models": ("models", "", None, "name"),
    "ablate": ("ablate 'the cat' --model DECODER --every", "", 15, "effect"),
    "ablate many": ("ablate - --model DECODER --every", "the cat\nit was", 30, "sentence"),
    "patch": ("patch - 'the dog' --model DECODER --every heads", "the cat", 15, "effect"),
    "heads relations": ("heads relations -", TREEBANK, None, "accuracy"),
    "heads coreference": ("heads coreference -", GAP, 144, "accuracy"),
    "heads profile": ("heads profile -", "The dog ran.\nIt ran away.", 72, "role"),
    "heads similarity": ("heads similarity -", "The dog ran.\nIt ran away.", 72, "head"),
    "heads atlas": ("heads atlas", "", None, "feature"),
    "heads verdicts": ("heads verdicts", "", None, "verdict"),
    "heads depends": ("heads depends - --head 2-4 --relation det --way zero", TREEBANK, 12, "fall"),
    "heads distances": ("heads distances -", TREEBANK, None, "relation"),
    "learn jobs": ("learn jobs --steps 2", "", 2, "loss"),
    "learn induction": ("learn induction --steps 2", "", 2, "loss"),
    "learn evaluate": ("learn evaluate classroom --pairs 4", "", 1, "pass"),
}
SECONDS = {"heads profile", "heads similarity", "learn induction", "learn evaluate"}


def leaves(parser, place=()):
    """Every command without commands of its own, by its words."""
    inner = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not inner:
        yield " ".join(place), parser
    for action in inner:
        for name, one in action.choices.items():
            yield from leaves(one, (*place, name))


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    from decoder_folders import byte_tokenizer, random_decoder, write_decoder

    folder = tmp_path_factory.mktemp("decoder")
    write_decoder(folder, random_decoder("gpt2"), byte_tokenizer())
    return folder


@pytest.fixture(autouse=True)
def few_builtin_sentences(monkeypatch):
    """A profile reads the built-in sentences too: here few of them."""
    from mha_core.heads import studies
    from mha_core.heads.builtin import read_builtin

    monkeypatch.setattr(studies, "read_builtin", lambda path: read_builtin(path)[::100])


@pytest.fixture
def run(decoder, capsys, monkeypatch):
    def command(line, piped, *more):
        monkeypatch.setattr(sys, "stdin", io.StringIO(piped))
        words = [str(decoder) if word == "DECODER" else word for word in shlex.split(line)]
        return (main([*words, *map(str, more)]), *capsys.readouterr())

    return command


def test_every_command_is_here_and_takes_a_format():
    found = dict(leaves(build_parser()))
    assert set(SILENT) <= set(found)
    assert set(found) - set(SILENT) == {name.removesuffix(" many") for name in CALLS}
    for name, parser in found.items():
        options = {option for action in parser._actions for option in action.option_strings}
        if name not in SILENT:
            assert {"--format", "--out"} <= options, name
            (form,) = (action for action in parser._actions if action.dest == "format")
            assert set(FORMATS) <= set(form.choices), name


@pytest.fixture
def long_work_is_done_once(monkeypatch):
    """The five answers of one command are written from one result where finding it takes seconds."""
    from mha_core.heads import cli
    from mha_core.learning import report

    def once(real):
        kept = []

        def found(*given, **options):
            if not kept:
                kept.append(real(*given, **options))
            return kept[0]

        return found

    monkeypatch.setattr(cli, "study_corpus", once(cli.study_corpus))
    monkeypatch.setattr(report, "trained", once(report.trained))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name in SECONDS else []) for name in CALLS],
)
def test_it_answers_in_every_format(run, long_work_is_done_once, name, tmp_path):
    line, piped, n, column = CALLS[name]
    code, table, _ = run(line, piped, "--format", "table")
    assert code == 0
    assert not table.startswith(("{", "["))
    _, whole, _ = run(line, piped, "--format", "json")
    data = json.loads(whole)
    _, lines, _ = run(line, piped, "--format", "jsonl")
    assert all(isinstance(json.loads(one), dict) for one in lines.splitlines())
    _, sheet, _ = run(line, piped, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(sheet), strict=True))
    assert rows
    assert column in rows[0]
    assert n is None or len(rows) == n
    assert all(None not in row and None not in row.values() for row in rows), "a cell for every heading"
    assert "{" not in sheet, "no mapping in a cell"
    # The ending of the file is the format; standard output is a table at most.
    code, out, _ = run(line, piped, "--out", tmp_path / "x.json")
    assert (code, out in ("", table)) == (0, True)
    again = json.loads((tmp_path / "x.json").read_text())
    assert type(again) is type(data)
    assert len(again) == len(data)


def test_the_rows_of_depends_name_heads_from_one_as_json_has_them(run):
    line, piped, *_ = CALLS["heads depends"]
    data = json.loads(run(line, piped, "--format", "json")[1])
    rows = [json.loads(one) for one in run(line, piped, "--format", "jsonl")[1].splitlines()]
    assert [(row["layer"], row["head"]) for row in rows] == [(1, head) for head in range(1, 13)]
    falls = [fall for layer in data["fall (zero)"] for fall in layer]
    assert [row["fall"] for row in rows] == pytest.approx(falls, abs=1e-6)


def test_progress_is_told_at_a_terminal_without_being_asked(run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for name, said in (
        ("trace many", "2 of 2 texts"),
        ("ablate", "100 %"),
        ("heads relations", "3 sentences, 100 %"),
        ("heads depends", "100 %"),
        ("learn jobs", "2 steps"),
    ):
        line, piped, *_ = CALLS[name]
        told = run(line, piped, "--format", "csv")[2]
        assert said in told, name
        assert told.endswith("\n"), f"{name}: the answer begins a line of its own"
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert run(*CALLS["heads relations"][:2])[2] == ""


def test_two_corpora_cannot_both_be_standard_input(run):
    code, out, said = run("heads verdicts --corpus - -", TREEBANK)
    assert (code, out, said) == (2, "", "Standard input can be read once.\n")
    code, out, said = run("patch - - --model DECODER --every heads", "the cat")
    assert (code, out, said.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("beginning", "endings", "expected"),
    [
        (TREEBANK, ("txt", "conllu"), "conllu"),
        ("# text = Go\n\n" + TREEBANK, ("conllu", "tsv", "json"), "conllu"),
        ("It rained.\n", ("txt", "conllu"), "txt"),
        (GAP, ("tsv", "json"), "tsv"),
        (GAP, ("conllu", "tsv", "json"), "tsv"),
        ('[\n{"text": "x"}]', ("conllu", "tsv", "json"), "json"),
        ("", ("txt", "conllu"), "txt"),
        ("It rained.", ("conllu",), "conllu"),
    ],
)
def test_what_is_piped_in_is_told_by_how_it_begins(beginning, endings, expected):
    assert ending_of(beginning, endings) == expected
