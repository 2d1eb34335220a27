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
from mha_core.parts import compute_part

pytestmark = pytest.mark.slow

# What writes no answer, and why.
SILENT = {
    "app": "starts the app",
    "decoder": "runs pip",
    "learn train": "writes a model's folder, and always says how far it is",
}
# A short call of every other command, what it reads, the rows it must give, and a column they must have.
CALLS = {
    "trace": ("trace 'It rained.' --layer 4 --head 2", "", 25, "weight"),
    "trace many": ("trace - --layer 4 --head 2", "It rained.\nIt is so.", 25 + 36, "sentence"),
    "next": ("next the --model DECODER --top 3", "", 3, "probability"),
    "next many": ("next - --model DECODER --top 3", "the\nit", 6, "probability"),
    "why": ("why the --model DECODER --head 2-1 --from the --to '#1'", "", 18, "score"),
    "models": ("models", "", None, "name"),
    "ablate": ("ablate 'the cat' --model DECODER --every", "", 15, "effect"),
    "ablate many": ("ablate - --model DECODER --every", "the cat\nit was", 30, "sentence"),
    "patch": ("patch - 'the dog' --model DECODER --every heads", "the cat", 15, "effect"),
    "roles": ("roles", "", None, "verdict"),
    "similarity": ("similarity FILE.txt", "The dog ran.\nIt ran away.", 72, "head"),
    "atlas": ("atlas", "", None, "feature"),
    "merge": ("merge PARTS", "The old dog ran home.", 8, "feature"),
    "learn jobs": ("learn jobs --steps 2", "", 2, "loss"),
    "learn induction": ("learn induction --steps 2", "", 2, "loss"),
    "learn evaluate": ("learn evaluate classroom --pairs 2", "", 1, "pass"),
}
SECONDS = {"similarity", "learn induction", "learn evaluate"}


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


@pytest.fixture
def run(decoder, capsys, monkeypatch, tmp_path):
    def put(word, content):
        if word == "DECODER":
            return str(decoder)
        if word == "PARTS":
            (tmp_path / "text.txt").write_text(content)
            compute_part(
                "atlas", {"model": "classroom"}, [str(tmp_path / "text.txt")], 1, 1, tmp_path / "parts"
            )
            return str(tmp_path / "parts")
        if not word.startswith("FILE."):
            return word
        (tmp_path / word).write_text(content)
        return str(tmp_path / word)

    def command(line, piped, *more):
        monkeypatch.setattr(sys, "stdin", io.StringIO(piped))
        words = [put(word, piped) for word in shlex.split(line)]
        return (main([*words, *map(str, more)]), *capsys.readouterr())

    return command


def test_every_command_is_here_and_takes_a_format():
    found = dict(leaves(build_parser()))
    for name, parser in found.items():
        options = {option for action in parser._actions for option in action.option_strings}
        if name in SILENT:
            continue
        assert name in CALLS, name
        assert {"--format", "--out"} <= options, name


@pytest.fixture
def long_work_is_done_once(monkeypatch):
    """The five answers of one command are written from one result where finding it takes seconds."""
    from mha_core.training import cli, report

    def once(real):
        kept = []

        def found(*given, **options):
            if not kept:
                kept.append(real(*given, **options))
            return kept[0]

        return found

    monkeypatch.setattr(report, "trained", once(report.trained))
    monkeypatch.setattr(cli, "evaluate", once(cli.evaluate))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SECONDS else []) for name in CALLS]
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
