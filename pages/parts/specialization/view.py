"""The sections of the Roles page: jobs on real text, or on the built-in sentences where there are no figures of it."""

import html

import numpy as np
import streamlit as st

from mha_core.heads.findings import Findings
from mha_core.heads.roles import real_claims
from mha_core.heads.verdict import DOES
from mha_core.heads.verdict import called as best_claim
from mha_core.heads.verdicts.table import Verdicts
from mha_core.wording import Head
from pages.parts.frame import head_facts, loading, state
from pages.parts.frame.links import model_in_link
from pages.parts.frame.prose import heading, markup, say
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.shell import CAVEAT, CSS, or_show_error
from pages.parts.picture import evidence
from pages.parts.specialization import builtin, tables
from pages.parts.specialization.card import Known, card, every_job, where_it_stands
from pages.parts.specialization.colouring import (
    Called,
    chosen_head,
    chosen_job,
    jobs_to_press,
    measures,
    picture,
)
from pages.parts.specialization.corpus_view import corpus
from pages.parts.specialization.sheets import (
    Sheet,
    builtin_sheets,
    conclusion,
    firm,
    real_sheets,
    related_by,
    with_key,
)

MEASURE = "measure-shown"
TERMS = (
    '<dl class="terms"><div><dt>Held out</dt><dd>The best of all heads is partly luck. So the head is chosen on one '
    "half of the sentences and scored on the other; the table prints this score with its 95 % interval.</dd></div>"
    "<div><dt>Strongest simple rule</dt><dd>What guessing by place or part of speech reaches without any head. A head "
    "that does not beat it need not know anything.</dd></div><div><dt>Control</dt><dd>The same head asked where the "
    "answer should not be known: from other words, or with another word put in. What it keeps there is no skill.</dd>"
    "</div><div><dt>{}</dt><dd>The same model {} any training, its best head beside it.</dd></div></dl>"
)


def style() -> None:
    """What this page has beyond the frame."""
    st.html(CSS / "specialization.css")


def sections(request: Request) -> None:
    """Real text where there are figures of it, at once; else the built-in sentences, as soon as they were read."""
    real = head_facts.evidence(request.model, request.trained)
    is_here = or_show_error(loading.model, request) is not None
    found = or_show_error(builtin.known if real else builtin.read, request) if is_here else None
    if found is None and real is None:
        return
    known = _known(real, found, request)
    shown = known.shown
    by = chosen_job(shown, found)
    sheet = with_key(shown, by)
    if real is not None:
        markup(f'<p class="summary">{html.escape(_summary(real))}</p>')
    head = chosen_head(shown[0].heads.shape, sheet, known.called)
    query = kept(request)
    jobs_to_press(shown, by)
    left, right = st.columns([11, 9], gap="large")
    with left:
        heads = st.container()
        layout = _controls(found)
        with heads:
            picture(shown, by, head, known.called, found, layout)
        if sheet is not None:
            with st.container(key="conclusion"):
                heading(sheet.name, 3)
                say(firm(conclusion(sheet)), "why")
                if sheet.kind.key == "semantic":
                    say(related_by(sheet, request.model))
                where_it_stands(known, head, sheet, request)
    with right, st.container(key="card"):
        card(known, head, sheet, request, query)
    every_job(known, head, sheet)
    if real is not None:
        _real(known, real, by, request.trained)
    elif found is not None:
        builtin.section(known.builtin, found, request, by)
    if is_here:
        if found is None:
            builtin.wait(request)
        corpus(request)
    say(CAVEAT, "caveat")


def _known(real: Verdicts | None, found: Findings | None, request: Request) -> Known:
    on_real = () if real is None else real_sheets(real)
    on_builtin = () if found is None else builtin_sheets(found)
    return Known(on_real, on_builtin, _twins(request, real), called(real, found), found)


def _twins(request: Request, real: Verdicts | None) -> tuple[Sheet, ...]:
    """The same jobs with the other weights, on the text that is shown."""
    if real is not None:
        other = head_facts.evidence(request.model, not request.trained)
        return () if other is None else real_sheets(other)
    twin = head_facts.known_findings(request.model, not request.trained)
    return () if twin is None else builtin_sheets(twin)


def _controls(found: Findings | None) -> str:
    """Grid or map, and the measures that are no job; returns the layout."""
    if found is None:
        return "grid"
    with st.container(key="map-controls", horizontal=True, vertical_alignment="bottom", gap="medium"):
        layout = st.segmented_control(
            "Heads as", ["grid", "map"], default="grid", required=True, key="as", bind="query-params"
        )
        _measures(found)
    return layout or "grid"


def _measures(found: Findings) -> None:
    """What heads can be coloured by that is no job."""
    there = {key: title for key, (title, _) in measures(found).items()}
    asked = state.params().get("by", "")
    st.session_state[MEASURE] = asked if asked in there else None
    st.selectbox(
        "Or by a measure",
        list(there),
        format_func=lambda key: there[key],
        key=MEASURE,
        placeholder="none",
        width=240,
        on_change=lambda: state.change({"by": st.session_state[MEASURE]}),
    )


def _summary(real: Verdicts) -> str:
    texts = [info for key, info in real.corpora.items() if key != "builtin"]
    named = " and ".join(f"{info.title} ({info.n_texts:,} texts)" for info in texts)
    asked = [entry for entry in real.entries if entry.corpus != "builtin"]
    does = sum(bool(np.isin(entry.words, DOES).any()) for entry in asked)
    sure = sum(entry.verdict.word == "specialist" for entry in asked)
    weights = "" if real.trained else ", with random weights"
    return (
        f"{title_of(real.model)}{weights} on real text: {named}. Of {len(asked)} jobs, {sure} have a head that "
        f"beats every simple rule and its control by more than luck explains; in {does - sure} more a head does what a "
        "simple rule does as well."
    )


def _real(known: Known, real: Verdicts, by: str, trained: bool) -> None:
    """The table of all jobs as evidence, trained beside untrained, and how to make it again."""
    heading("All jobs on real text")
    markup(TERMS.format(*(("Random weights", "before") if trained else ("Trained", "after"))))
    some = [sheet for sheet in known.real if sheet.word in DOES or sheet.kind.key != "syntactic"]
    rest = [sheet for sheet in known.real if sheet not in some]
    evidence.draw(
        tables.of_jobs(some, known.twins, by, "Every job that a head does, and what else was asked", trained),
        key="real-jobs",
    )
    if rest:
        title = f"{len(rest)} more relations, in which no head is sure to beat the rules of place"
        box = st.expander(title, key="real-rest", on_change="rerun")
        if box.open:
            with box:
                evidence.draw(
                    tables.of_jobs(rest, known.twins, by, "The best head of each", trained), key="real-others"
                )
    digests = "; ".join(
        f"{info.title}: {info.file} ({info.version}), SHA-256 {info.digest[:16]}…, {info.licence}"
        for key, info in real.corpora.items()
        if key != "builtin"
    )
    say(
        f"Figures of {real.date}, made by {real.command}; weights SHA-256 {real.digest[:16]}…. {digests}. "
        f"The best of {real.tried:,} attempts (heads, directions and jobs together) is corrected for."
    )


def called(real: Verdicts | None, found: Findings | None) -> dict[Head, Called]:
    """What every head is called that has a name; until the built-in sentences were read, by real text alone."""
    if found is not None:
        return {head: Called(role.key, role.label, role.evidence) for head, role in found.roles.items()}
    if real is None:
        return {}
    claims = {head: best_claim(real_claims(real, head)) for head in np.ndindex(*real.entries[0].heads.shape)}
    return {h: Called(one.found.kind, one.label, one.says) for h, one in claims.items() if one is not None}


def kept(request: Request) -> dict[str, str]:
    """What every link keeps: the model and its weights, where they are not the standard."""
    query = {"model": model_in_link(request.model)}
    return query if request.trained else {**query, "weights": "untrained"}
