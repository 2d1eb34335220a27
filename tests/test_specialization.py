"""Specialization without a browser: every claim with its n and baseline, links that hold, and corpora of all sorts."""

import csv
import html
import io
import json
import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from mha_core import HeadScopeError, InputError, load_model
from pages.parts.serve import cache
from pages.parts.serve.jobs import BROKEN, Job, Step
from pages.parts.specialization import corpus_work, findings, job_table

ROOT = Path(__file__).parent.parent
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
    return cache.findings("minilm")


@pytest.fixture(scope="module")
def model():
    return load_model()


def open_page(**query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
    at.switch_page("pages/specialization.py")
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception, at.exception[0].message
    return at


def bodies(at: AppTest) -> str:
    return "\n".join(element.proto.body for element in at.get("html"))


def rows_of(body: str) -> list[str]:
    return re.findall(r'<details class="job (?:specialist|unsure|none)">.*?</summary>', body)


def measured(data: bytes, kind: str, model) -> Job:
    job = Job(corpus_work.start(data, kind, model))
    while not job.finished:
        job.advance(60)
    return job


# The page


def test_every_job_says_its_best_head_score_interval_baseline_and_n(found):
    rows = rows_of(bodies(open_page()))
    assert len(rows) == len(found.jobs)
    for row, table in zip(rows, found.jobs.values(), strict=True):
        best = table.order()[0]
        text = html.unescape(re.sub(r"<[^>]+>", " ", row))
        for said in (
            table.job.title,
            f"{best[0] + 1}-{best[1] + 1}",
            f"{100 * table.score[best]:.1f} %",
            f"{100 * table.low[best]:.1f} % to {100 * table.high[best]:.1f} %",
            f"{100 * table.baseline:.1f} %",
            table.baseline_name,
            f"n = {table.n:,}",
        ):
            assert said in text, (table.job.name, said)


def test_only_a_job_whose_verdict_is_sure_is_shown_as_one(found):
    rows = rows_of(bodies(open_page()))
    for row, table in zip(rows, found.jobs.values(), strict=True):
        verdict = table.verdict(*table.order()[0])
        assert row.startswith(f'<details class="job {verdict}">')
        assert (">specialist<" in row) == (verdict == "specialist")


def test_a_job_shows_three_sentences_where_it_works_and_one_where_it_fails(found):
    blocks = job_table.job_table(found, {}).split("<details")[1:]
    for block in blocks:
        assert block.count('<li class="works">') == 3 or "It works in no more of them" in block
        assert block.count('<li class="fails">') == 1
    assert sum(block.count('<li class="works">') == 3 for block in blocks) >= 17


def test_an_example_links_to_the_very_words_in_explore(found):
    body = html.unescape(job_table.job_table(found, {"weights": "untrained"}))
    links = re.findall(r'href="\./\?([^"]+)"', body)
    assert len(links) > 60
    for link in links:
        query = {key: values[0] for key, values in parse_qs(link).items()}
        tokens = load_model().tokenizer.encode(query["text"])
        assert 0 < int(query["pin"]) < len(tokens) - 1
        assert 0 <= int(query.get("to", 0)) < len(tokens)
        assert re.fullmatch(r"[1-6]-([1-9]|1[0-2])", query["head"])
        assert query["weights"] == "untrained"


def test_the_marked_words_are_the_ones_that_look_and_are_looked_at(found):
    look = found.jobs["agreement"].examples(1, 3)[0]
    sentence = look.sample.sentence
    said = job_table.marked(look)
    pronoun, right = sentence.choice.pronoun, sentence.choice.candidates[sentence.choice.answer]
    assert f"<u>{sentence.text[slice(*pronoun)]}</u>" in said
    assert f"<b>{sentence.text[slice(*right)]}</b>" in said


def test_a_link_to_a_head_opens_its_card_with_rank_relatives_and_examples():
    body = bodies(open_page(head="4-2"))
    assert "<h2>Head 4-2: determiner → its noun</h2>" in body
    assert "rank 1 of 72" in body
    assert "Nearest relatives: " in body


def test_a_head_that_is_not_there_is_said_and_another_one_shown():
    body = bodies(open_page(head="9-99"))
    assert "There is no head “9-99” in 6 layers of 12." in html.unescape(body)
    assert "<h2>Head 1-3: previous token</h2>" in body


def test_a_hostile_head_in_the_link_stays_text():
    assert "<script>x" not in bodies(open_page(head="<script>x</script>"))


def test_the_page_says_that_attention_is_not_explanation():
    assert "Attention is not explanation" in bodies(open_page())


def test_untrained_weights_claim_nothing():
    body = bodies(open_page(weights="untrained"))
    assert "For 0 of the jobs" in body
    assert ">specialist<" not in body


def test_the_map_gives_every_head_a_letter_or_a_number_besides_its_colour(found):
    at = open_page()
    (picture,) = at.get("bidi_component")
    heads = json.loads(picture.proto.json)["heads"]
    assert len(heads) == 72
    for head in heads:
        assert bool(head["letter"]) == bool(head["colour"])
        assert head["label"].startswith(f"Head {head['id']}: ")


def test_names_on_the_map_do_not_cover_each_other(found):
    points = found.points
    for i, a in enumerate(points):
        for b in points[i + 1 :]:
            assert (abs(a - b) >= 0.9 * findings.LABEL).any()
    assert points.min() >= 0
    assert points.max() <= 1


# Numbers to take away


def test_the_csv_and_the_json_hold_every_head_in_every_job(found):
    table = list(csv.DictReader(io.StringIO(findings.as_csv(found))))
    content = json.loads(findings.as_json(found))
    assert len(table) == len(content["jobs"]) == 72 * len(found.jobs)
    (row,) = [r for r in table if r["job"] == "previous token" and (r["layer"], r["head"]) == ("1", "3")]
    assert float(row["score"]) == pytest.approx(found.jobs["previous"].score[0, 2], abs=1e-6)
    assert row["verdict"] == "specialist"
    assert content["model"]["digest"] == found.model.digest
    assert len(content["distance"]["nats"]) == 72


# Roles for Explore


def test_roles_do_not_keep_the_first_reader_waiting(found):
    assert cache.roles_of("minilm")[3, 1].label == "determiner → its noun"
    assert set(cache.roles_of("minilm")) == set(found.roles)
    assert cache.roles_of("minilm", trained=False) in ({}, cache.findings("minilm", False).roles)


def test_roles_of_a_model_that_may_not_be_opened_are_refused():
    with pytest.raises(InputError, match="no model"):
        cache.roles_of("../../etc/passwd")


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


def test_a_byte_that_is_no_utf8_ends_the_work_with_its_line_and_keeps_what_was_before(model):
    job = measured(SENTENCE.encode() * 300 + b"1\tcaf\xe9\n", "conllu", model)
    assert job.problem == "Line 1,201 is not UTF-8 text."
    assert job.step.n == 256
    assert job.read(lambda step: step.result.rows())


def test_broken_lines_are_left_out_and_named(model):
    job = measured((SENTENCE + "1\tonly\ttwo\n\n" + SENTENCE).encode(), "conllu", model)
    assert job.problem is None
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


def test_plain_text_gives_places_and_copies(model):
    tally = measured(b"The dog saw the dog.\n\nIt ran away, fast.\n", "txt", model).step.result
    assert tally.n == 2
    assert {row["measure"]: row["n"] for row in tally.rows()}["mass on the previous token"] == 2


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("conllu", b"\n" * 100_000),
        ("conllu", b"\t" * 100_000),
        ("conllu", SENTENCE.replace("\t2\t", "\t999999\t").encode()),
        ("json", b"[" * 100_000),
        ("json", b'{"text": 1}'),
        ("json", b'[{"text": "x", "pronoun": [0, 99], "candidates": [], "answer": 7}]'),
        ("tsv", b"no\theader\n"),
        ("tsv", GAP.encode() + b"1\t2\n"),
        ("txt", "\u202e\u200b\ufeff x\n".encode() + b"a" * 200_000),
        ("txt", b"=cmd|' /C calc'!A0\n"),
    ],
)
def test_hostile_files_end_in_a_result_or_a_sentence(kind, data, model):
    job = measured(data, kind, model)
    assert job.finished
    assert job.problem or job.step.result.reading.n_skipped or job.step.n or not job.step.result.rows()


def test_a_name_from_the_file_cannot_start_a_formula(model):
    rows = measured(SENTENCE.replace("det", "=1+1").encode(), "conllu", model).step.result.rows()
    cells = [row["relation"] for row in csv.DictReader(io.StringIO(corpus_work.as_csv(rows)))]
    assert "'=1+1" in cells
    assert "=1+1" not in cells


def test_every_row_that_is_shown_has_its_n(model):
    for kind, data in (
        ("conllu", SENTENCE.encode()),
        ("json", json.dumps([PAIR]).encode()),
        ("txt", b"a b c"),
    ):
        for row in measured(data, kind, model).step.result.rows():
            assert corpus_work.shown(row)["n"]


# Slices of work


def steps(n):
    for i in range(n):
        yield Step((i + 1) / n, i + 1, i + 1)


def test_a_job_stops_between_slices_and_keeps_what_it_has():
    job = Job(steps(10))
    assert job.read(lambda step: step.result) is None
    job.advance(0)
    job.advance(0)
    assert not job.finished
    assert job.read(lambda step: step.result) == 2


def test_a_job_that_fails_says_why_and_keeps_what_it_had():
    def failing():
        yield Step(0.5, 1, "half")
        raise InputError("Line 2 is broken.")

    job = Job(failing())
    job.advance()
    assert (job.finished, job.problem, job.step.result) == (True, "Line 2 is broken.", "half")


def test_two_readers_do_not_move_one_job_at_once():
    job = Job(steps(3))
    job._lock.acquire()
    job.advance()
    assert job.step is None
    job._lock.release()
    job.advance()
    assert job.finished


def test_the_estimate_is_the_pace_so_far_and_none_at_the_start():
    job = Job(steps(4))
    assert job.remaining is None
    job.step, job.seconds = Step(0.25, 1, 1), 2.0
    assert job.remaining == pytest.approx(6.0)
    job.seconds = 0.1
    assert job.remaining is None


def test_findings_of_a_model_that_cannot_be_had_raise_and_may_be_tried_again(monkeypatch):
    asked = []

    def absent(name, **settings):
        asked.append(name)
        raise HeadScopeError("It is not there.")

    monkeypatch.setattr(cache, "load_model", absent)
    monkeypatch.setattr(cache, "model_allowed", lambda name: True)
    for _ in range(2):
        with pytest.raises(HeadScopeError, match="not there"):
            cache.findings("absent")
    assert asked == ["absent", "absent"]


def test_a_job_broken_by_an_error_of_ours_is_not_called_done():
    def breaking():
        yield Step(0.5, 2, "half")
        raise KeyError("x")

    job = Job(breaking())
    with pytest.raises(KeyError):
        job.advance()
    job.advance()
    assert (job.finished, job.problem, job.step.result) == (True, BROKEN, "half")
