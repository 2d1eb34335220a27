"""Roles without a browser: every claim with its n and baseline, links that hold, and corpora of all sorts."""

import csv
import html
import io
import json
import re
import time
from contextlib import nullcontext

import pytest
import visit
from streamlit.testing.v1 import AppTest

from mha_core import InputError, load_model
from mha_core.heads import findings
from mha_core.heads.corpus_run import KIND_OF
from mha_core.heads.verdicts.shipped import read_evidence
from mha_core.wording import head_name
from pages.parts.frame import head_facts, loading
from pages.parts.serve.jobs import Job
from pages.parts.specialization import (
    corpus_view,
    corpus_work,
    sheets,
)

SENTENCE = (
    "1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n"
    "2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    "3\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
)
PAIR = {
    "text": "Ann met Eva because she won.",
    "pronoun": [20, 23],
    "candidates": [[0, 3], [8, 11]],
    "answer": 0,
    "pair": "p",
}
GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


@pytest.fixture(scope="module")
def found():
    return head_facts.findings("minilm")


@pytest.fixture
def without_real_text(monkeypatch):
    """Of the model there are no figures from real text, as of one that a reader brings."""
    monkeypatch.setattr(head_facts, "evidence", lambda *_: None)


@pytest.fixture(scope="module")
def model():
    return load_model()


def open_page(**query: str) -> AppTest:
    at = visit.unopened("pages/roles.py", **query).run()
    assert not at.exception, at.exception[0].message
    return at


def bodies(at: AppTest) -> str:
    return visit.unbroken("\n".join(element.proto.body for element in at.get("html")))


def drawn(at: AppTest, kind: str) -> list[dict]:
    """The data of the evidence on a page, of one kind."""
    return [data for data in visit.mounted(at, "jobs") if data["kind"] == kind]


def builtin_table(at: AppTest) -> list[dict]:
    """The rows of the table of all jobs on the built-in sentences."""
    (table,) = (t for t in drawn(at, "table") if "built-in sentences" in t["caption"])
    return [row for group in table["groups"] for row in group["rows"]]


def cells(row: dict) -> str:
    return " ".join(str(cell.get(part, "")) for cell in row["cells"] for part in ("head", "text", "note"))


def measured(data: bytes, kind: str, model) -> Job:
    job = Job(lambda: corpus_work.start(data, KIND_OF[kind], model))
    job.looks["anna"] = time.monotonic()
    while not job.finished:
        job.advance(60, nullcontext())
    return job


# The page


@pytest.mark.usefixtures("without_real_text")
def test_every_job_says_its_best_head_score_interval_baseline_and_n(found):
    rows = {row["key"]: row for row in builtin_table(open_page())}
    assert set(rows) == {f"job:{name}" for name in found.jobs}
    for name, table in found.jobs.items():
        best = table.order()[0]
        text = cells(rows[f"job:{name}"])
        for said in (
            head_name(best),
            f"{100 * table.score[best]:.1f} %",
            f"{100 * table.low[best]:.1f} % to {100 * table.high[best]:.1f} %",
            f"{100 * table.baseline:.1f} %",
            table.baseline_name,
            f"{table.n:,}",
            table.verdicts[best].because,
        ):
            assert said in text, (name, said)


def test_every_number_of_real_text_is_that_of_its_entry():
    real = read_evidence("minilm")
    for sheet, entry in zip(sheets.real_sheets(real), real.entries, strict=True):
        assert (sheet.low, sheet.high) == entry.interval
        assert (sheet.best, sheet.score, sheet.n) == (entry.head, entry.score, entry.n)
        assert (sheet.held_out, sheet.chosen_on) == (entry.held_out, entry.chosen)
        assert (sheet.rule, sheet.rule_name) == (entry.baseline, entry.baseline_name)
        assert (sheet.control, sheet.control_name) == (entry.control, entry.control_name)
        assert (sheet.word, sheet.because) == (entry.verdict.word, entry.verdict.because)
        assert sheet.where == real.corpora[entry.corpus].title


def test_a_head_that_is_not_there_is_said_and_another_one_shown():
    body = bodies(open_page(head="9-99"))
    assert "There is no head “9-99” in 6 layers of 12." in html.unescape(body)
    assert re.search(r"<h2>Head \d-\d+: ", body)


def test_a_hostile_head_in_the_link_stays_text():
    assert "<script>x" not in bodies(open_page(head="<script>x</script>"))


# Numbers to take away


def test_the_csv_and_the_json_hold_every_head_in_every_job(found):
    table = list(csv.DictReader(io.StringIO(findings.as_csv(found))))
    content = json.loads(findings.as_json(found))
    assert len(table) == len(content["jobs"]) == 72 * len(found.jobs)
    (row,) = [r for r in table if r["job"] == "previous token" and (r["layer"], r["head"]) == ("1", "3")]
    assert float(row["score"]) == pytest.approx(found.jobs["previous"].score[0, 2], abs=1e-6)
    assert row["verdict"] == "specialist"
    headings = {r["job"]: r["kind"] for r in table}  # of the table of jobs, not the letters on heads
    assert headings["previous token"] == "positional"
    assert {headings[job] for job in ("rarest word", "earlier copy", "induction")} == {"rare/copy"}
    assert headings["pronoun → antecedent by gender or number"] == "coreference"
    assert content["model"]["digest"] == found.model.digest
    assert len(content["distance"]["nats"]) == 72
    assert content["distance"]["nats"][0][3] == pytest.approx(
        float(found.study.similarity.distance[0, 3]), abs=1e-5
    )
    assert content["roles"]["1-3"] == {
        "label": "previous token",
        "evidence": found.roles[0, 2].evidence,
    }


# Roles for Explore


@pytest.mark.parametrize("ask", [head_facts.roles_of, head_facts.findings])
@pytest.mark.parametrize("name", ["../../etc/passwd", "someone/model"])
def test_a_model_that_may_not_be_opened_is_refused_before_anybody_looks_for_it(monkeypatch, name, ask):
    asked = []
    monkeypatch.setattr(loading, "load_model", lambda name, **_: asked.append(name))
    with pytest.raises(InputError, match="no model"):
        ask(name)
    assert asked == []


# One's own corpus


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.pdf", b"text", "ends in “.pdf”"),
        ("x", b"text", "ends in “.”"),
        ("../../x.conllu.zip", b"PK", "ends in “.zip”"),
        ("x.txt", b" \n ", "empty"),
        ("x.txt", b"a" * (corpus_work.MAX_BYTES + 1), "2,097,153 bytes"),
        ("x.txt", "Hallo".encode("utf-16"), "not UTF-8"),
        ("x.txt", b"a\0b", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_taken_is_refused_in_one_sentence(name, data, said):
    with pytest.raises(InputError, match=re.escape(said)):
        corpus_work.kind_of(name, data)


def test_broken_lines_are_left_out_and_named(model):
    job = measured((SENTENCE + "1\tonly\ttwo\n\n" + SENTENCE).encode(), "conllu", model)
    assert not job.problem
    assert job.step.n == 2
    assert job.step.result.reading.notes == ["Line 5: 3 columns, and CoNLL-U has 10."]


def test_a_treebank_gives_every_relation_against_its_offset(model):
    job = measured(SENTENCE.encode() * 40, "conllu", model)
    rows = {(row["relation"], row["direction"]): row for row in job.step.result.rows()}
    row = rows["det", "dep->head"]
    assert (row["n"], row["offset"], row["offset_accuracy"]) == (40, 1, 1.0)
    assert corpus_work.verdict(row) == "no better than its offset"


def test_gap_and_pairs_give_accuracy_control_and_baselines(model):
    other = {**PAIR, "text": "Ann met Eva because she did.", "answer": 1}
    pairs = measured(json.dumps([PAIR, other]).encode(), "json", model).step.result
    row = pairs.rows()[0]
    assert (row["n"], row["pairs"], row["baseline"]) == (2, 1, 0.5)
    assert corpus_work.verdict(row) == "thin evidence: 2 cases"
    text = f"1\t{PAIR['text']}\tshe\t20\tAnn\t0\tTRUE\tEva\t8\tFALSE\tx\n"
    gap = measured((GAP + text).encode(), "tsv", model).step.result
    assert gap.rows()[0]["n"] == 1


LONG = "\u202e\u200b\ufeff x\n".encode() + b"a" * 200_000


@pytest.mark.parametrize(
    ("kind", "data", "counted", "told"),
    [
        ("conllu", b"\n" * 100_000, 0, None),
        ("conllu", b"\t" * 100_000, 0, None),
        ("conllu", SENTENCE.replace("\t2\t", "\t999999\t").encode(), 0, "Line 1: word 1 has head 999999"),
        ("json", b"[" * 100_000, 0, "Line 1: brackets inside brackets without end."),
        ("json", b'{"text": 1}', 0, "Line 1: pairs are one JSON list, from “[” to “]”."),
        ("json", b'[{"text": "x", "pronoun": [0, 99], "candidates": [], "answer": 7}]', 0, '"pronoun" is'),
        ("tsv", b"no\theader\n", None, "Line 1: a GAP file has the column 'ID', and this one has not."),
        ("tsv", GAP.encode() + b"1\t2\n", 0, "Line 2: 2 columns, and the first line has 11."),
        ("txt", "\u200b\n".encode(), 0, "Line 1: "),
        ("txt", LONG, 1, "Line 2: a text of 200,000 characters; 20,000 are read at most."),
        ("txt", b"=cmd|' /C calc'!A0\n", 1, None),
    ],
)
def test_hostile_files_end_in_a_result_or_a_sentence(kind, data, counted, told, model):
    job = measured(data, kind, model)
    assert job.finished
    if counted is None:
        assert (job.problem, job.step) == (told, None)
        return
    tally = job.step.result
    assert (job.problem, tally.n, job.step.fraction) == ("", counted, 1.0)
    assert [note for note in tally.reading.notes if told and told in note] == tally.reading.notes
    assert tally.reading.n_skipped == (told is not None)
    assert bool(tally.rows()) == (counted > 0)


def test_a_name_from_the_file_cannot_start_a_formula(model):
    rows = measured(SENTENCE.replace("det", "=1+1").encode(), "conllu", model).step.result.rows()
    cells = [row["relation"] for row in csv.DictReader(io.StringIO(corpus_work.as_csv(rows)))]
    assert "'=1+1" in cells
    assert "=1+1" not in cells


class Upload:
    """A file as the reader brings it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data

    def getvalue(self) -> bytes:
        return self.data


def bring(monkeypatch, name: str, data: bytes) -> AppTest:
    monkeypatch.setattr(corpus_view.st, "file_uploader", lambda *_args, **_options: Upload(name, data))
    monkeypatch.setattr(corpus_view.st, "fragment", lambda function, **_options: function)
    at = open_page()
    for _ in range(50):
        assert not at.run().exception
        if at.get("download_button") and not at.get("progress"):
            break
        time.sleep(0.1)
    return at


@pytest.mark.slow
def test_a_corpus_that_was_brought_is_counted_shown_and_offered(monkeypatch):
    at = bring(monkeypatch, "mine.conllu", SENTENCE.encode() * 31 + b"1\tonly\ttwo\n\n")
    body = html.unescape(bodies(at))
    assert "“mine.conllu”: a treebank in CoNLL-U." in body
    assert " At most 2 MB and 5,000 sentences, in UTF-8." in body
    assert "Left out: Line 125: 3 columns, and CoNLL-U has 10." in body
    table = re.search(r'<table class="corpus">.*', body)[0]
    assert re.search(
        r"<th scope=\"row\">det</th><td>dep → head</td>.*?<td>31</td><td>100.0 % \(\+1\)</td>", table
    )
    assert [b.proto.label for b in at.get("download_button")] == ["CSV", "JSON"]


# The picture of all heads and the card


# Slices of work
