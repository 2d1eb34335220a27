"""The verdicts that come with the program: of these weights, with what an audit found, and the same when made again.

The corpora are the reader's own: name them in HEADSCOPE_UD_EWT and HEADSCOPE_GAP.
"""

import csv
import hashlib
import io
import json
import os
import re
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mha_core import InputError
from mha_core.cli import main
from mha_core.embedded import DECODER_DIGEST, EMBEDDED_DIGESTS
from mha_core.heads.answers import cells_of_verdicts
from mha_core.heads.builtin import builtin_path
from mha_core.heads.roles import real_claims, real_roles
from mha_core.heads.verdicts import making
from mha_core.heads.verdicts.agreement import measure_agreement
from mha_core.heads.verdicts.making import measured
from mha_core.heads.verdicts.measured import CIRCLE, RELATED_BY
from mha_core.heads.verdicts.shipped import evidence_file, read_evidence
from mha_core.heads.verdicts.table import text
from mha_core.wording import head_name, percent

DIGESTS = {"minilm": EMBEDDED_DIGESTS["model.safetensors"], "smollm2": DECODER_DIGEST}
FILES = {
    "treebank": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "pronouns": "2d784f66b390404f554704b9aef6dcde8845e79dda9886b8391cf7e9a24fdb98",
}


@pytest.fixture(scope="module")
def minilm():
    return read_evidence("minilm", DIGESTS["minilm"])


@pytest.mark.parametrize("name", DIGESTS)
def test_they_belong_to_these_weights_and_say_how_they_were_made(name):
    found = read_evidence(name, DIGESTS[name])
    assert found is not None
    assert read_evidence(name, "another") is None
    assert {key: found.corpora[key].digest for key in FILES} == FILES
    assert found.corpora["builtin"].digest == hashlib.sha256(builtin_path().read_bytes()).hexdigest()
    files = "en_ewt-ud-dev.conllu gap-validation.tsv"
    assert found.command == f"python -m mha_core heads verdicts --model {name} --corpus {files}"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", found.date)
    n_heads = {"minilm": 72, "smollm2": 270}[name]
    assert {entry.tried for entry in found.entries} == {found.tried}
    assert found.tried >= n_heads * len(found.entries)
    assert (found.twin.trained, found.twin.seed) == (False, 0)
    assert {entry.key for entry in found.twin.entries} == {entry.key for entry in found.entries}


@pytest.mark.parametrize("name", DIGESTS)
def test_they_are_small_and_there_in_a_moment(name):
    assert evidence_file(name).stat().st_size < 150_000
    started = time.process_time()
    read_evidence(name)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("key", "head", "score", "rule"),
    [
        ("det", "3-9", 0.808, "the end of the next run of nouns or names"),
        ("nsubj", "3-9", 0.575, "the next verb, adjective or noun"),
        ("obj", "3-1", 0.740, "the last verb before it"),
        ("case", "3-9", 0.674, "the end of the next run of nouns, names or pronouns"),
        ("antecedent", "4-2", 0.712, "a logistic model of twelve surface features"),
    ],
)
def test_what_an_audit_found_is_what_is_concluded(minilm, key, head, score, rule):
    found = minilm.entry(key)
    assert (head_name(found.head), found.baseline_name) == (head, rule)
    assert found.score == pytest.approx(score, abs=0.003)
    assert found.baseline > found.held_out - 0.03
    assert found.verdict.word in ("rule", "none")


def test_the_built_in_determiner_head_is_not_the_first_on_real_text(minilm):
    assert minilm.entry("det").rank((3, 1)) > 2


def test_resting_heads_are_told_by_mass_on_word_rows(minilm):
    cls = minilm.entry("rest-begin")
    assert cls.title == "[CLS]"
    assert 10 <= (cls.words == "specialist").sum() <= 23
    assert cls.words[2, 8] != "specialist"
    assert ((cls.heads >= 0.5) == (cls.words == "specialist")).all()


def test_a_head_of_agreement_is_called_by_what_survives_the_substitutes(minilm):
    found = minilm.entry("agreement")
    assert (head_name(found.head), found.verdict.word) == ("2-4", "specialist")
    assert found.name == "matches gender or number"
    scores = {one.name: one.score for one in found.substitutes}
    assert scores["man or woman"] > 0.8
    assert scores["is or are"] > 0.8


def test_two_heads_look_at_related_words_and_the_circle_is_said(minilm):
    for key, rule in (("semantic", 0.340), ("semantic-apart", 0.226)):
        found = minilm.entry(key)
        assert {head_name(divmod(int(i), 12)) for i in np.flatnonzero(found.words == "specialist")} == {
            "2-2",
            "3-10",
        }
        assert found.baseline == pytest.approx(rule, abs=0.003)
        assert found.held_out > 0.6 > 0.1 > found.control
        assert found.over_control.low > 0.5
        assert RELATED_BY in found.question
        assert not np.isin(minilm.twin.entry(key).words, ("specialist", "rule", "unsure")).any()
    other = read_evidence("smollm2").entry("semantic")
    assert (head_name(other.head), other.verdict.word, other.n) == ("11-9", "specialist", 704)
    assert (other.words == "specialist").sum() == 4
    said = list(text(minilm))
    assert f"Related in meaning: {RELATED_BY}; {CIRCLE}." in said


def test_the_table_and_the_csv_have_every_number_under_its_own_heading(minilm):
    found = minilm.entry("nmod:poss")
    lines = list(text(minilm))
    line = next(line for line in lines if line.startswith(f"{found.title}  "))
    headings, cells = (re.split(r" {2,}", one) for one in (lines[0], line))
    shown = dict(zip(headings, cells, strict=True))
    numbers = {"held out": found.held_out, "chosen": found.chosen, "control": found.control}
    assert {name: shown[name] for name in numbers} == {
        name: f"{100 * number:.1f}" for name, number in numbers.items()
    }
    assert (shown["head"], shown["n"]) == (head_name(found.head), f"{found.n:,}")
    row = next(row for row in cells_of_verdicts(minilm) if row["question"] == "nmod:poss")
    kept = ("n", "held_out", "chosen", "baseline", "control")
    assert {name: row[name] for name in kept} == {name: getattr(found, name) for name in kept}
    assert (row["ci_low"], row["ci_high"]) == found.interval
    over = found.over_control
    assert (row["over_control_low"], row["over_control_high"]) == (over.low, over.high)


@pytest.mark.parametrize(
    ("name", "head", "label", "n"),
    [
        ("minilm", "3-9", "determiner → the next noun or name", 1817),
        ("minilm", "3-1", "object → the last verb before it", 1211),
        ("minilm", "2-4", "matches gender or number", 126),
        ("minilm", "4-2", "any dependent → the next noun, name or pronoun", 2015),
        ("smollm2", "14-9", "matches gender or number", 66),
        ("smollm2", "11-2", "noun → the last preposition before it", 1921),
    ],
)
def test_a_head_is_called_by_what_it_does_most_often(name, head, label, n):
    """A job that no rule does comes first (14-9 also finds 1,871 subjects, where a rule does as well)."""
    found = read_evidence(name, DIGESTS[name])
    layer, number = (int(part) - 1 for part in head.split("-"))
    role = real_roles(found)[layer, number]
    assert (role.label, role.n) == (label, n)
    mine = [one for one in found.by_head((layer, number)) if one.kind == role.key]
    assert (mine[0].name, mine[0].n) == (label, n)


def test_a_claim_stands_against_a_rule_of_place_and_beside_one_that_is_told(minilm):
    kinds = {rule.name: rule.by_place for entry in minilm.entries for rule in entry.rules}
    claims = [one for at in np.ndindex(6, 12) for one in real_claims(minilm, at)]
    assert {kinds[one.found.baseline_name] for one in claims} == {True}, "the baseline knows places alone"
    told = [one for one in claims if one.found.rule is not None]
    assert {kinds[one.found.rule_name] for one in told} == {False}, "the rule is told more"
    assert len(told) > 10
    for one in told:
        assert f"({one.found.baseline_name}: {percent(one.found.baseline)}" in one.says
        assert f"; {one.found.rule_name}: {percent(one.found.rule)})." in one.says
    assert any(percent(one.found.rule) != percent(one.found.baseline) for one in told)


def test_every_head_that_is_best_has_one_verdict_and_one_score(minilm):
    for entry in minilm.entries:
        assert entry.words[entry.head] == entry.verdict.word
        assert entry.heads[entry.head] == entry.score == entry.heads.max()
        assert entry.chosen >= entry.held_out - 0.03
        assert entry.interval[0] <= entry.held_out <= entry.interval[1]
        assert entry.baseline == max(rule.score for rule in entry.rules)


@pytest.mark.parametrize("name", DIGESTS)
def test_the_untrained_twin_does_nothing_but_spread(name):
    twin = read_evidence(name).twin
    called = {entry.key for entry in twin.entries if np.isin(entry.words, ("specialist", "rule")).any()}
    assert called <= {"broad"}


@pytest.mark.long
def test_agreement_is_the_same_when_it_is_asked_again(model, minilm):
    for again in measure_agreement(model, "builtin"):
        there = minilm.entry(again.asked.key)
        assert again.n == there.n
        assert again.right.mean(0).reshape(6, 12) == pytest.approx(there.heads, abs=2e-4)


@pytest.mark.slow
def test_a_treebank_gives_the_same_verdicts_again(model, minilm):
    path = os.environ.get("HEADSCOPE_UD_EWT")
    if not path:
        pytest.skip("no corpus: name the file in HEADSCOPE_UD_EWT")
    found, _ = measured(model, [Path(path)], lambda _: None)
    assert {one.asked.key for one in found} >= {
        "det",
        "nsubj",
        "obj",
        "case",
        "det:back",
        "rest-begin",
        "copy",
    }
    for one in found:
        there = minilm.entry(one.asked.key)
        assert one.n == there.n
        assert one.right.mean(0, dtype=np.float64).reshape(6, 12) == pytest.approx(there.heads, abs=2e-3)
        assert max(rule.score for rule in one.rules) == pytest.approx(there.baseline, abs=1e-3)


@pytest.fixture
def verdicts(capsys):
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["heads", "verdicts", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_the_command_prints_what_comes_with_the_program(verdicts):
    code, out, _ = verdicts("--model", "minilm")
    assert code == 0
    assert re.search(r"determiner → its noun +3-9 +80\.8 .*rule: .*next noun", out)
    code, out, _ = verdicts("--model", "minilm", "--format", "json")
    rows = {row["key"]: row for row in json.loads(out)["entries"]}
    asked = {
        "head",
        "chosen",
        "held_out",
        "interval",
        "baseline",
        "baseline_name",
        "control",
        "over_control",
        "n",
    }
    assert asked | {"verdict", "because", "tried", "clusters"} <= set(rows["det"])
    table = csv.DictReader(io.StringIO(verdicts("--format", "csv")[1]))
    cells = {row["question"]: row for row in table if row["trained"] == "True"}
    numbers = [float(cells["det"][name]) for name in ("ci_low", "held_out", "ci_high")]
    low, high = rows["det"]["interval"]
    assert numbers == [low, rows["det"]["held_out"], high] == sorted(numbers)
    code, out, _ = verdicts("--untrained")
    assert code == 0
    assert "specialist" not in "\n".join(line for line in out.splitlines() if not line.startswith("broad"))


def test_what_cannot_be_used_is_one_sentence(verdicts, tmp_path):
    odd = tmp_path / "odd.xml"
    odd.write_text("x")
    assert verdicts("--corpus", odd)[::2] == (
        2,
        "odd.xml ends in none of .conllu, .tsv, .json, which `heads verdicts` reads.\n",
    )
    assert verdicts("--corpus", tmp_path / "no.conllu")[::2] == (2, "There is no file no.conllu.\n")
    code, _, said = verdicts("--untrained", "--seed", 7)
    assert code == 2
    assert "come with the program" in said
    assert verdicts("--ship", "--untrained")[0] == 2
    said = "The shipped verdicts are those of whole corpora; --limit needs --corpus.\n"
    assert verdicts("--limit", 3) == (2, "", said)


@pytest.mark.long
def test_what_was_left_out_of_a_corpus_is_said_beside_the_verdicts(verdicts, tmp_path, monkeypatch):
    monkeypatch.setattr(making, "measure_agreement", lambda *_: [])
    corpus = tmp_path / "own.conllu"
    corpus.write_text("broken\n")
    skipped = "Skipped. Line 1: 1 column, and CoNLL-U has 10.\n"
    empty = "There is nothing in own.conllu to measure.\n"
    assert verdicts("--corpus", corpus, "--on-error", "skip") == (2, "", skipped + empty)
    monkeypatch.undo()
    corpus.write_text("broken\n\n1\tRain\t_\tNOUN\t_\t_\t0\troot\t_\t_\n")
    code, out, said = verdicts("--corpus", corpus, "--on-error", "skip", "--limit", 5, "--format", "json")
    assert (code, said) == (0, skipped)
    found = json.loads(out)
    assert (found["left_out"], found["corpora"]["treebank"]["n_texts"]) == (1, 1)
    assert found["command"].endswith(" --corpus own.conllu --limit 5 --on-error skip")
    assert "own.conllu: 1 text, SHA-256" in verdicts("--corpus", corpus, "--on-error", "skip")[1]


@pytest.mark.parametrize(("trained", "more"), [(True, ""), (False, " --untrained --seed 7")])
def test_the_command_makes_the_same_verdicts_again(monkeypatch, trained, more):
    info = SimpleNamespace(key="treebank", file="own.conllu", n_texts=1)
    monkeypatch.setitem(making._ASKED, ".conllu", lambda *_: ([], info))
    monkeypatch.setattr(making, "measure_agreement", lambda *_: [])
    shape = {"n_layers": 6, "n_heads": 12, "info": SimpleNamespace(trained=trained)}
    model = SimpleNamespace(name="minilm", title="MiniLM", digest="", **shape)
    found = making.make(model, [Path("own.conllu")], lambda _: None, seed=7)
    assert found.command == f"python -m mha_core heads verdicts --model minilm{more} --corpus own.conllu"
    assert found.seed == (None if trained else 7)


def test_two_corpora_of_one_kind_are_refused_and_so_is_a_file_that_no_question_reads(monkeypatch, tmp_path):
    read = []

    def ask(_model, path, *_):
        read.append(path.name)
        return [], SimpleNamespace(key="treebank", file=path.name, n_texts=1)

    monkeypatch.setitem(making._ASKED, ".conllu", ask)
    files = [tmp_path / "one.conllu", tmp_path / "two.conllu", tmp_path / "three.txt"]
    with pytest.raises(InputError, match=r"^One treebank at a time: one\.conllu or two\.conllu\.$"):
        measured("model", files[:2], lambda _: None)
    with pytest.raises(InputError, match=r"^three\.txt ends in none of "):
        measured("model", files[2:], lambda _: None)
    assert read == ["one.conllu", "two.conllu"]


@pytest.mark.parametrize("more", [[], ["--corpus", "own.conllu"]])
def test_a_seed_without_random_weights_is_refused(capsys, more):
    assert main(["heads", "verdicts", "--seed", "3", *more]) == 2
    assert capsys.readouterr() == ("", "--seed is of random weights: name --untrained too.\n")
