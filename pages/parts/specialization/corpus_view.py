"""Bring your own corpus: the file, how far the work is, how to stop it, and what came out."""

import hashlib
import html

import streamlit as st

from mha_core.heads.corpus_run import KIND_OF, CorpusResult, cut_note
from mha_core.wording import counted
from pages.parts.frame import loading
from pages.parts.frame.progress import reader, time_left, watch
from pages.parts.frame.prose import heading, markup, quoted, say
from pages.parts.frame.request import Request
from pages.parts.frame.shell import or_show_error
from pages.parts.serve.jobs import JOBS, Job
from pages.parts.specialization import corpus_work
from pages.parts.specialization.corpus_work import MAX_BYTES, MAX_ITEMS

ROWS_AT_MOST = 60
FORMATS = (
    "CoNLL-U (every relation, both directions), GAP's TSV or a JSON list of pronouns with two candidates "
    "(coreference), or plain text with one sentence a line (places, rare and repeated words)."
)
JSON_SHAPE = (
    '[{"text": "Anna thanked Laura because she had sent the parcel.", "pronoun": [27, 30], '
    '"candidates": [[0, 4], [13, 18]], "answer": 1, "pair": "parcel"}]'
)


def corpus(request: Request) -> None:
    """The section: ask for a file, measure it, show and export the result."""
    heading("Your own corpus")
    say(
        f"{FORMATS} At most {MAX_BYTES // 1024**2} MB and {MAX_ITEMS:,} sentences, in UTF-8. The file stays in this "
        "server's memory while you look at it, and is written nowhere.",
    )
    with st.expander("What the JSON looks like", key="json-shape"):
        st.code(JSON_SHAPE, language="json", wrap_lines=True)
    file = st.file_uploader(
        "Your corpus",
        type=list(KIND_OF),
        max_upload_size=MAX_BYTES // 1024**2,
        key="corpus",
        label_visibility="collapsed",
    )
    if file is None:
        return
    data = file.getvalue()
    kind = or_show_error(corpus_work.kind_of, file.name, data)
    model = or_show_error(loading.named_model, request.model, request.trained) if kind else None
    if kind is None or model is None:
        return
    key = (hashlib.sha256(data).hexdigest(), kind.ending, request.model, model.fingerprint)
    job = JOBS.ask(key, lambda: corpus_work.start(data, kind, model))

    def said(_: Job[CorpusResult]) -> str:
        n = counted(job.step.n if job.step else 0, "sentence")
        if job.goes_on_for(reader()):
            return n + time_left(job)
        return f"Stopped after {n}; the numbers below are those of what was read."

    say(f"{quoted(file.name)}: {kind.title}.", "label")
    watch(JOBS, job, "corpus", said)
    if not job.goes_on_for(reader()):
        _result(job)


def _result(job: Job[CorpusResult]) -> None:
    if job.finished and not job.problem:
        read = counted(job.step.n if job.step else 0, "sentence")
        say(f"Done: {read} in {counted(round(job.seconds), 'second')}.", "label")
    if job.step is None:
        return
    result = job.step.result
    rows = job.read(lambda step: step.result.rows())
    _left_out(result)
    if not rows:
        if job.finished:
            say("There is nothing in the file that could be measured.", "notice")
        return
    table = [corpus_work.shown(row) for row in rows[:ROWS_AT_MOST]]
    names = list(table[0])
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(_cell(name, row[name], i == 0) for i, name in enumerate(names)) + "</tr>"
        for row in table
    )
    markup(
        f'<div class="hs-scroll"><table class="corpus"><thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
        "</table></div>"
    )
    if len(rows) > ROWS_AT_MOST:
        say(f"{ROWS_AT_MOST} of {len(rows)} rows are shown; the files have all.")
    if "relations" in result.sums:
        say(
            "Held out: chosen on one half of the sentences and counted on the other. As good: heads that these "
            "sentences cannot tell from the best."
        )
    say("The best head of so many is partly luck: trust what also holds where it was not chosen.", "caveat")
    with st.container(horizontal=True, key="corpus-files"):
        st.download_button(
            "CSV", corpus_work.as_csv(rows), "headscope-corpus.csv", "text/csv", on_click="ignore"
        )
        content = corpus_work.as_json(result, rows, job.finished and not job.problem)
        st.download_button("JSON", content, "headscope-corpus.json", "application/json", on_click="ignore")


def _cell(name: str, text: str, first: bool) -> str:
    kind = ' class="wrap"' if name == "" else ""
    safe = html.escape(text)
    return f'<th scope="row">{safe}</th>' if first else f"<td{kind}>{safe}</td>"


def _left_out(result: CorpusResult) -> None:
    reading = result.reading
    if result.is_part:
        say(
            f"The file goes on; the first {result.n:,} sentences are counted, which are all that are taken.",
            "notice",
        )
    if reading.n_skipped:
        shown = " ".join(reading.notes[:3])
        more = f" and {reading.n_skipped - 3:,} more" if reading.n_skipped > 3 else ""
        say(f"Left out: {shown}{more}", "notice")
    if reading.n_unused:
        unused = counted(reading.n_unused, "pronoun", ("has", "have"))
        say(
            f"{unused} not exactly one right candidate and {'is' if reading.n_unused == 1 else 'are'} not used."
        )
    if result.n_later:
        later = counted(result.n_later, "case", ("is", "are"))
        say(
            f"{later} left out: what the word belongs to comes later, and a decoder's word cannot "
            "see what comes after it.",
            "notice",
        )
    if result.n_cut:
        say(cut_note(result.n_cut, result.n_dependents_cut, result.model), "notice")
