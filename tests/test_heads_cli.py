"""`heads …` on the command line: the rows as documented, one sentence and exit code 2 for what cannot be
used.
"""

import argparse
import csv
import io
import json
from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import once
import pytest
from bert_folders import write

from mha_core import export, load_model, trace, trace_tokens
from mha_core.heads import studies
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


# The same treebank by hand: words, and of each dependent its head and relation, all from 0.
GOLD = (
    (("The", "dog", "saw", "him"), ((0, 1, "det"), (1, 2, "nsubj"), (3, 2, "obj"))),
    (("Do", "n't", "go"), ((0, 2, "aux"), (1, 2, "advmod"))),
    (("Go", "home"), ((1, 0, "advmod:x"),)),
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
    found = json.loads((tmp_path / "x.json").read_text())
    rows = found["rows"]
    assert (code, found["n_sentences"], found["n_cut"], found["left_out"]) == (0, 3, 0, 0)
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
    rows = [row for row in json.loads(text)["rows"] if row["relation"] == "det"]
    assert code == 0
    assert {(r["layer"], r["head"], r["direction"]) for r in rows} == {
        (la, h, d) for la in range(1, 7) for h in range(1, 13) for d in ("dep->head", "head->dep")
    }


def test_the_rows_are_counted_from_the_weights_themselves(heads, treebank, model):
    """Word by word: whose row (or column) peaks at the head, [CLS], [SEP] and the word itself left out."""
    hits, cases = Counter(), Counter()
    for words, gold in GOLD:
        tokens = model.tokenizer.encode_words(words)
        pieces, spans = trace_tokens(tokens, model).weights, [(w.first, w.stop) for w in tokens.words]
        columns = np.stack([pieces[..., a:b].sum(-1) for a, b in spans], axis=-1)
        weights = np.stack([columns[:, :, a:b].mean(2) for a, b in spans], axis=2)
        for (dependent, head, relation), la, h in product(gold, range(6), range(12)):
            others = [i for i in range(len(words)) if i != dependent]
            row, column = weights[la, h, dependent], weights[la, h, :, dependent]
            for direction, given in (("dep->head", row), ("head->dep", column)):
                hits[relation, direction, la + 1, h + 1] += others[given[others].argmax()] == head
                cases[relation, direction, la + 1, h + 1] += 1
    rows = json.loads(heads("relations", treebank, "--all", "--batch-size", 2)[1])["rows"]
    found = {
        (r["relation"], r["direction"], r["layer"], r["head"]): r for r in rows if r["relation"] != "all"
    }
    assert set(found) == set(cases)
    for key, row in found.items():
        assert (row["n"], row["accuracy"]) == (cases[key], pytest.approx(hits[key] / cases[key])), key


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


@pytest.fixture(scope="module")
def study():
    """What the built-in sentences tell, all of them: made before a test replaces what makes it."""
    return once.findings().study


@pytest.fixture
def known(monkeypatch, study):
    """The built-in sentences, which every profile of a corpus reads too, are read once for all tests."""
    monkeypatch.setattr(studies, "study_builtin", lambda *_, **__: study)


@pytest.mark.slow
def test_a_profile_has_every_measure_and_a_role(heads, tmp_path, model, known):
    path = tmp_path / "texts.txt"
    texts = (("The dog saw the other dog.", 9), ("Rain falls on the roof.", 8))
    path.write_text("".join(f"{text}\n" for text, _ in texts) * 15)  # 30 texts are the least for a role
    code, text, _ = heads("profile", path)
    found = json.loads(text)
    assert (code, found["n_texts"], len(found["heads"])) == (0, 30, 72)
    expected = {"previous", "next", "self", "first", "last", "cls", "sep", "period", "comma", "entropy"}
    expected |= {"confidence", "distance", "peak", "rare", "lift", "copy", "copy_mass", "role", "label"}
    assert expected <= set(found["heads"][0])
    assert found["n_copies"] == 15
    by_name = {(row["layer"], row["head"]): row for row in found["heads"]}
    assert list(by_name) == [(layer, head) for layer in range(1, 7) for head in range(1, 13)]
    back = by_name[1, 3]
    assert (back["role"], back["label"], back["n"]) == ("positional", "previous token", 30)
    assert back["previous"] > 0.8
    assert back["previous"] == pytest.approx(back["distance"]["-1"])
    # The same by hand: the mean of the left diagonal over all rows, then over the texts.
    shares = [np.trace(trace(text, model).weights[0, 2], -1) / n for text, n in (texts[0], texts[1])]
    assert back["previous"] == pytest.approx(np.mean(shares), abs=1e-5)
    # A peak is the share of the rows that reach so far whose largest weight lies there.
    looks = [trace(text, model).weights[0, 2].argmax(-1) for text, _ in texts]
    for step in (-10, -2, -1, 0, 1):
        hits = sum(int((at == np.arange(len(at)) + step).sum()) for at in looks)
        rows = sum(max(len(at) - abs(step), 0) for at in looks)
        assert back["peak"][str(step)] == pytest.approx(hits / max(rows, 1)), step


def test_a_line_of_invisible_characters_is_left_out_and_counted(heads, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("The dog ran.\n\u200b\nIt ran away.\n", encoding="utf-8")
    code, text, said = heads("similarity", path)
    assert (code, json.loads(text)["n_texts"]) == (0, 2)
    assert said.startswith("Skipped. Line 2: ")


def test_the_page_and_the_command_line_give_the_same_rows(heads, treebank, model):
    from mha_core.heads.corpus_run import KIND_OF, run

    *_, last = run(treebank.read_bytes(), KIND_OF["conllu"], model, 100)
    assert (
        json.loads(export.json_of(last.result.rows())) == json.loads(heads("relations", treebank)[1])["rows"]
    )


def test_what_cannot_be_measured_is_null_in_json(heads, tmp_path, known):
    path = tmp_path / "texts.txt"
    path.write_text("Rain falls.\n")
    found = json.loads(heads("profile", path)[1])
    assert found["heads"][0]["copy"] is None


def test_similarity_writes_json_and_csv(heads, treebank, tmp_path):
    code, text, _ = heads("similarity", treebank, "--out", tmp_path / "s.csv")
    with (tmp_path / "s.csv").open() as file:
        rows = list(csv.reader(file))
    assert code == 0
    lines = [line.split() for line in text.splitlines()[1:11]]
    assert [line[0] for line in lines] == ["nearest"] * 5 + ["farthest"] * 5
    distances = [float(line[-1]) for line in lines]
    assert distances[:5] == sorted(distances[:5])
    assert distances[5:] == sorted(distances[5:], reverse=True)
    square = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    pairs = square[np.triu_indices(72, 1)]
    assert (distances[0], distances[5]) == pytest.approx((pairs.min(), pairs.max()), abs=5e-4)
    assert rows[0][:3] == ["head", "1-1", "1-2"]
    assert [row[0] for row in rows] == rows[0]
    found = json.loads(heads("similarity", treebank)[1])
    assert float(rows[1][2]) == pytest.approx(found["distance"][0][1], abs=1e-6)
    assert len(found["map"]) == len(found["cluster"]) == len(found["heads"]) == 72


def test_one_head_alone_is_compared_with_none(heads, treebank, monkeypatch):
    tiny = SimpleNamespace(title="Tiny", n_layers=1, n_heads=1, pinned=True)
    monkeypatch.setattr("mha_core.heads.cli.load_model", lambda *_, **__: tiny)
    said = "Tiny has one head, and there is no other to compare it with.\n"
    assert heads("similarity", treebank) == (2, "", said)


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
        ("a.conllu", "x", "relations", "Line 1: 1 column, and CoNLL-U has 10"),
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


def test_broken_lines_are_skipped_when_asked_and_named(heads, treebank, known):
    treebank.write_text("broken\n\n" + TREEBANK)
    assert heads("relations", treebank)[0] == 2
    code, text, said = heads("relations", treebank, "--on-error", "skip")
    assert code == 0
    assert json.loads(text)["left_out"] == 1
    assert said == "Skipped. Line 1: 1 column, and CoNLL-U has 10.\n"
    code, _, said = heads("profile", treebank, "--on-error", "skip")
    assert said.count("Skipped") == 1, "named once, though the file is read twice"


def test_of_many_broken_lines_twenty_are_named_and_all_are_counted(heads, treebank):
    treebank.write_text("broken\n\n" * 22 + TREEBANK)
    *named, last = heads("relations", treebank, "--on-error", "skip")[2].splitlines()
    assert [line.split(":")[0] for line in named] == [f"Skipped. Line {i}" for i in range(1, 41, 2)]
    assert last == "Skipped 22 in all."


def test_where_nothing_is_left_it_is_said_what_was_left_out(heads, treebank):
    treebank.write_text("broken\n")
    *skipped, last = heads("relations", treebank, "--on-error", "skip")[2].splitlines()
    assert skipped == ["Skipped. Line 1: 1 column, and CoNLL-U has 10."]
    assert last == f"There is nothing in {treebank.name} to measure."


def test_a_treebank_without_a_relation_is_compared_with_nothing(heads, treebank):
    treebank.write_text("")
    assert heads("distances", treebank) == (2, "", "There is nothing in small.conllu to measure.\n")


DEPENDS = ("depends", "--head", "3-9", "--way", "zero")


def test_lines_that_a_dependence_leaves_out_are_refused_or_said(heads, treebank):
    treebank.write_text("broken\n\n" + TREEBANK)
    asked = (*DEPENDS, treebank, "--relation", "det")
    assert heads(*asked) == (2, "", "Line 1: 1 column, and CoNLL-U has 10.\n")
    code, text, said = heads(*asked, "--on-error", "skip", "--format", "json")
    assert (code, said) == (0, "Skipped. Line 1: 1 column, and CoNLL-U has 10.\n")
    assert [json.loads(text)[name] for name in ("n", "n_cut", "left_out", "unused")] == [1, 0, 1, 0]


@pytest.mark.long
def test_a_dependence_says_what_is_beyond_the_model_and_which_pronouns_it_does_not_use(heads, tmp_path):
    pronouns = tmp_path / "gap.tsv"
    pronouns.write_text(GAP)
    found = json.loads(heads("coreference", pronouns)[1])
    code, text, said = heads(*DEPENDS, pronouns, "--format", "json")
    assert code == 0
    assert {name: json.loads(text)[name] for name in ("n", "unused")} == {"n": found["n"], "unused": 2}
    assert said == "Not used: 2 pronouns that have not exactly one right candidate.\n"
    words = [line(str(i), "dog", str(i - 1), "dep" if i > 1 else "root") for i in range(1, 600)]
    long = tmp_path / "long.conllu"
    long.write_text("\n".join(words) + "\n")
    said = heads("depends", "--head", "2-1", "--way", "zero", long, "--relation", "dep")[2]
    assert said == "1 text is longer than the 512 tokens that MiniLM reads; what is beyond is not counted.\n"


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 9])
def test_what_few_texts_lose_is_not_called_beyond_luck(n, heads, treebank):
    """Of these three words head 3-2 finds the noun no more without 1-2; the same sentence again finds the same."""
    words = (("The", "2", "det"), ("cat", "3", "nsubj"), ("sat", "0", "root"))
    sentence = "\n".join(line(str(i), *one) for i, one in enumerate(words, 1)) + "\n\n"
    treebank.write_text(sentence * n)
    asked = ("depends", "--head", "3-2", "--way", "zero", treebank, "--relation", "det")
    code, text, _ = heads(*asked)
    assert code == 0
    assert "1-2  falls by +100.0 points\n" in text
    assert text.endswith(
        "Fewer than 10 texts (a pair counts once) say too little of others: no interval, and nothing is "
        "beyond luck.\n"
    )
    rows = [json.loads(row) for row in heads(*asked, "--format", "jsonl")[1].splitlines()]
    assert {(row["ci_low"], row["ci_high"], row["beyond_luck"]) for row in rows} == {(None, None, False)}
    assert json.loads(heads(*asked, "--format", "json")[1])["error (zero)"][0] == [None] * 12


def test_gender_and_number_are_not_asked_of_a_file(heads, treebank):
    said = "--agreement is of the built-in sentences; leave it out, or the file.\n"
    assert heads(*DEPENDS, treebank, "--agreement") == (2, "", said)


@pytest.mark.long
def test_a_dependence_that_is_stopped_says_so(heads, treebank, monkeypatch):
    import signal

    from mha_core.heads.depends import cli, trying

    monkeypatch.setattr(trying, "REPORT_EVERY", 0.0)
    real = cli.depends

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(cli, "depends", interrupted)
    asked = ("depends", "--head", "2-4", treebank, "--format", "json", "--relation")
    code, text, said = heads(*asked, "obj", "--way", "zero")
    assert (code, json.loads(text)["n_texts"]) == (130, 1)
    assert said == "Stopped after 1 text; the numbers are those of what was read.\n"
    monkeypatch.setattr("mha_core.experiments.means._MEANS", {})
    assert heads(*asked, "obj", "--way", "mean") == (130, "", "Stopped before the first case.\n")


@pytest.mark.parametrize("limit", ["0", "-1", "some"])
@pytest.mark.parametrize("question", [["depends", "--head", "2-4"], ["verdicts"], ["relations", "a.conllu"]])
def test_a_limit_is_a_number_from_1_up(heads, capsys, question, limit):
    with pytest.raises(SystemExit) as stopped:
        heads(*question, f"--limit={limit}")
    assert stopped.value.code == 2
    assert f"'{limit}' is not a number from 1 up" in capsys.readouterr().err


@pytest.mark.parametrize("named", [[], ["--head", ","], ["--head", " "], ["--head", "2-4,4-2"]])
def test_one_head_depends_on_others(heads, named):
    code, text, said = heads("depends", "--agreement", *named)
    assert (code, text) == (2, "")
    assert said == "Name one head with --head, layer and head from 1, such as 4-2.\n"


def test_where_the_result_cannot_be_written_is_said_before_the_work(heads, treebank, tmp_path, monkeypatch):
    monkeypatch.setattr("mha_core.heads.cli.load_model", None)
    assert "no folder" in heads("relations", treebank, "--out", tmp_path / "no" / "x.json")[2]


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
    assert "Stopped after 1 sentence;" in said
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.parametrize("question", ["atlas", "depends", "verdicts", "profile"])
def test_of_files_that_were_compared_with_no_digest_it_is_said_and_they_can_be(question, heads, tmp_path):
    write(tmp_path / "own")
    text = tmp_path / ("texts.conllu" if question == "verdicts" else "texts.txt")
    text.write_text(TREEBANK if question == "verdicts" else "The old dog slept beside the stove.\n")
    asked = {
        "atlas": ("--text", text),
        "depends": ("--head", "2-1", "--limit", "2", "--way", "zero"),
        "verdicts": ("--corpus", text),
        "profile": (text,),
    }[question]
    asked = (question, *asked, "--model", tmp_path / "own")
    _, _, said = heads(*asked)
    warned = [line for line in said.splitlines() if "compared with no digest" in line]
    digest = load_model(str(tmp_path / "own"), device="cpu").files_digest
    assert warned == [f"The files of own were compared with no digest; --sha256 {digest} pins them."]
    assert "no digest" not in heads(*asked, "--sha256", digest)[2]
    code, _, said = heads(*asked, "--sha256", "0" * 64)
    assert (code, "are not those asked for" in said) == (2, True)


def test_what_was_piped_in_is_called_standard_input(heads, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("The old dog slept beside the stove.\n"))
    code, out, _ = heads("atlas", "--text", "-", "--format", "json")
    assert (code, json.loads(out)["text"]) == (0, "standard input")
    for asked, said in (
        (("profile", "-"), "There is nothing in standard input to measure."),
        (("atlas", "--text", "-"), "There is no passage of a few words in standard input."),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
        assert heads(*asked) == (2, "", f"{said}\n")
