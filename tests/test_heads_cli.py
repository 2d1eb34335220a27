"""`heads …` on the command line: the rows as documented, one sentence and exit code 2 for what cannot be
used.
"""

import argparse
import csv
import json

import pytest

from mha_core import export
from mha_core.heads.cli import add_heads_parser
from tests.test_corpus import DONT, GAP, GO, PAIR, line

TREEBANK = "\n".join(
    [
        line("1", "The", "2", "det"),
        line("2", "dog", "3", "nsubj"),
        line("3", "saw", "0", "root"),
        line("4", "him", "3", "obj"),
        "",
        *DONT,
        *GO,
    ]
)


@pytest.fixture
def heads(capsys):
    """Run the command; gives exit code, what was printed and what was said."""

    def run(*arguments: object) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        add_heads_parser(parser.add_subparsers(required=True))
        args = parser.parse_args(["heads", *map(str, arguments)])
        code = args.run(args)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(autouse=True)
def few_builtin_sentences(monkeypatch):
    """A profile reads the built-in sentences too: here every tenth of them."""
    from mha_core.heads import studies
    from mha_core.heads.builtin import read_builtin

    monkeypatch.setattr(studies, "read_builtin", lambda path: read_builtin(path)[::10])


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "small.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    return path


def test_relations_give_the_best_head_of_each_relation(heads, treebank, tmp_path):
    code, text, _ = heads("relations", treebank, "--out", tmp_path / "x.json")
    rows = json.loads((tmp_path / "x.json").read_text())
    assert code == 0
    expected = {"relation", "direction", "layer", "head", "n", "accuracy", "ci_low", "ci_high"}
    assert expected | {"offset", "offset_accuracy"} <= set(rows[0])
    assert [(r["relation"], r["n"]) for r in rows][:1] == [("all", 6)]
    assert len({r["relation"] for r in rows}) == len(rows)
    assert all(1 <= r["layer"] <= 6 and 1 <= r["head"] <= 12 for r in rows)
    for row in rows:
        assert row["ci_low"] <= row["accuracy"] <= row["ci_high"]
        assert f"{row['layer']}-{row['head']}" == row["equals"][0]
    assert "nsubj" in text
    assert "no better than its offset" in text


def test_every_head_is_given_when_asked_and_json_goes_into_a_pipe(heads, treebank):
    code, text, _ = heads("relations", treebank, "--all")
    rows = [row for row in json.loads(text) if row["relation"] == "det"]
    assert code == 0
    assert {(r["layer"], r["head"], r["direction"]) for r in rows} == {
        (la, h, d) for la in range(1, 7) for h in range(1, 13) for d in ("dep->head", "head->dep")
    }


def test_the_rows_are_those_of_the_study(heads, treebank, model):
    from mha_core.corpus import Lines, read_conllu
    from mha_core.heads.studies import study_relations

    table, _ = study_relations(read_conllu(Lines(treebank)), model)
    rows = json.loads(heads("relations", treebank, "--all", "--batch-size", 2)[1])
    for row in rows:
        accuracy = table.accuracy(row["relation"], row["direction"])
        assert row["accuracy"] == pytest.approx(accuracy[row["layer"] - 1, row["head"] - 1])


def test_coreference_reads_gap(heads, tmp_path):
    path = tmp_path / "gap.tsv"
    path.write_text(GAP)
    code, text, _ = heads("coreference", path)
    found = json.loads(text)
    assert (code, found["n"]) == (0, 2)
    assert set(found["baselines"]) == {"nearest", "first", "most frequent", "uniform"}
    assert found["baselines"]["nearest"] == 0.5
    assert len(found["heads"]) == 2 * 72
    assert {"layer", "head", "direction", "n", "accuracy", "ci_low", "ci_high"} <= set(found["heads"][0])
    assert "flip" not in found["heads"][0]


def test_coreference_reads_pairs_and_counts_flips(heads, tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps([{**PAIR, "pair": 1}, {**PAIR, "answer": 0, "pair": 1}]))
    code, text, _ = heads("coreference", path)
    found = json.loads(text)
    assert (code, found["n"], found["n_pairs"]) == (0, 2, 1)
    assert {row["flip"] for row in found["heads"]} == {0.0}, "the same text twice cannot flip"
    assert {row["accuracy"] for row in found["heads"]} == {0.5}


def test_a_profile_has_every_measure_and_a_role(heads, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("The dog saw the other dog.\nRain falls on the roof.\n")
    code, text, _ = heads("profile", path)
    found = json.loads(text)
    assert (code, found["n_texts"], len(found["heads"])) == (0, 2, 72)
    expected = {"previous", "next", "self", "first", "last", "cls", "sep", "period", "comma", "entropy"}
    expected |= {"confidence", "distance", "peak", "rare", "lift", "copy", "copy_mass", "role", "label"}
    assert expected <= set(found["heads"][0])
    assert found["n_copies"] == 1
    assert found["heads"][2]["role"] == "positional" or found["heads"][2]["n"] == 0


def test_a_line_of_invisible_characters_is_left_out_and_counted(heads, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("The dog ran.\n\u200b\nIt ran away.\n", encoding="utf-8")
    code, text, said = heads("similarity", path)
    assert (code, json.loads(text)["n_texts"]) == (0, 2)
    assert said.startswith("Skipped. Line 2: ")


def test_the_page_and_the_command_line_give_the_same_rows(heads, treebank, model):
    from mha_core.heads.corpus_run import KIND_OF, run

    *_, last = run(treebank.read_bytes(), KIND_OF["conllu"], model, 100)
    assert json.loads(export.json_of(last.result.rows())) == json.loads(heads("relations", treebank)[1])


def test_what_cannot_be_measured_is_null_in_json(heads, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("Rain falls.\n")
    found = json.loads(heads("profile", path)[1])
    assert found["heads"][0]["copy"] is None


def test_similarity_writes_json_and_csv(heads, treebank, tmp_path):
    code, text, _ = heads("similarity", treebank, "--out", tmp_path / "s.csv")
    with (tmp_path / "s.csv").open() as file:
        rows = list(csv.reader(file))
    assert code == 0
    assert "nearest" in text
    assert rows[0][:3] == ["head", "1-1", "1-2"]
    assert [row[0] for row in rows] == rows[0]
    found = json.loads(heads("similarity", treebank)[1])
    assert float(rows[1][2]) == pytest.approx(found["distance"][0][1], abs=1e-6)
    assert len(found["map"]) == len(found["cluster"]) == len(found["heads"]) == 72


def test_without_a_file_the_builtin_sentences_are_used(heads):
    code, text, _ = heads("coreference", "--limit", 4)
    assert code == 0
    assert json.loads(text)["n"] == 4


def test_the_untrained_model_is_another(heads, treebank):
    trained = json.loads(heads("similarity", treebank)[1])
    untrained = json.loads(heads("similarity", treebank, "--untrained")[1])
    assert not untrained["model"]["trained"]
    assert untrained["mean"] < trained["mean"]


@pytest.mark.parametrize(
    ("name", "content", "question", "sentence"),
    [
        ("a.conllu", "", "relations", "There is nothing in .*a.conllu to measure"),
        ("a.conllu", line("1", "Go", "0", "root"), "relations", "There is nothing in"),
        ("a.conllu", "x", "relations", "Line 1: 1 columns, and CoNLL-U has 10"),
        ("a.txt", "x", "relations", "a.txt does not end in .conllu"),
        ("a.tsv", "x", "coreference", "Line 1: a GAP file has the column 'ID'"),
        ("a.tsv", GAP.split("\n")[0], "coreference", "There is nothing in"),
        ("a.json", "{}", "coreference", "Line 1: pairs are one JSON list"),
        ("a.txt", "\n \n", "profile", "There is nothing in"),
        ("a.txt", None, "similarity", "There is no file"),
    ],
)
def test_a_file_with_nothing_usable_is_one_sentence_and_exit_code_2(
    heads, tmp_path, name, content, question, sentence
):
    import re

    if content is not None:
        (tmp_path / name).write_text(content)
    code, text, said = heads(question, tmp_path / name)
    assert (code, text) == (2, "")
    assert re.search(sentence, said)
    assert said.count("\n") == 1


def test_broken_lines_are_skipped_when_asked_and_named(heads, treebank):
    treebank.write_text("broken\n\n" + TREEBANK)
    assert heads("relations", treebank)[0] == 2
    code, text, said = heads("relations", treebank, "--on-error", "skip")
    assert code == 0
    assert json.loads(text)
    assert said == "Skipped. Line 1: 1 columns, and CoNLL-U has 10.\n"
    code, _, said = heads("profile", treebank, "--on-error", "skip")
    assert said.count("Skipped") == 1, "named once, though the file is read twice"


def test_where_the_result_cannot_be_written_is_said_before_the_work(heads, treebank, tmp_path, monkeypatch):
    monkeypatch.setattr("mha_core.heads.cli.load_model", None)
    assert "no folder" in heads("relations", treebank, "--out", tmp_path / "no" / "x.json")[2]
    assert "does not end in .json" in heads("relations", treebank, "--out", tmp_path / "x.csv")[2]


def test_progress_goes_to_the_screen_and_not_into_the_result(heads, treebank):
    code, text, said = heads("relations", treebank, "--progress")
    assert code == 0
    assert json.loads(text)
    assert "3 sentences, 100 %" in said


def test_an_interrupt_stops_and_keeps_what_there_is(heads, treebank, monkeypatch):
    import signal

    from mha_core.heads import cli

    real = cli.study_items
    before = signal.getsignal(signal.SIGINT)  # a shell ignores it for what runs in the background

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(cli, "study_items", interrupted)
    code, text, said = heads("relations", treebank)
    assert code == 130
    assert json.loads(text)
    assert "Stopped after 1 sentences" in said
    assert signal.getsignal(signal.SIGINT) is before
