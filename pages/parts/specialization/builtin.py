"""The built-in sentences on the page, where there are no figures of real text: short, controlled, hard; and the files.

In: findings. Out: a section of the page. Where real text has already said something nobody waits for them: what they
add, the sentences to open and the measures of a head, comes when they were read.
"""

from functools import lru_cache

import numpy as np
import streamlit as st

from mha_core.heads import findings
from mha_core.heads.builtin import read_builtin, related_path
from mha_core.heads.findings import Findings
from mha_core.heads.jobs import NO_ROLE_SAID
from mha_core.heads.verdict import DOES
from mha_core.wording import head_name, percent
from pages.parts.frame import head_facts
from pages.parts.frame.prose import heading, say
from pages.parts.frame.request import Request
from pages.parts.picture import evidence
from pages.parts.specialization import tables
from pages.parts.specialization.sheets import Sheet, builtin_sheets, firm

TICK = 1.0
READING = "Every head reads the built-in sentences; that takes a while once."


def read(request: Request) -> Findings:
    """The findings, waited for. Raises HeadScopeError where there are none."""
    with st.spinner(READING, show_time=True):
        return head_facts.findings(request.model, request.trained)


def known(request: Request) -> Findings | None:
    """The findings if they are known; else they are begun behind the page, and it says so below."""
    found = head_facts.known_findings(request.model, request.trained)
    if found is None:
        head_facts.begin_findings(request.model, request.trained)
    return found


def section(sheets: tuple[Sheet, ...], found: Findings, request: Request, by: str) -> None:
    """Everything that the built-in sentences tell."""
    heading("The built-in sentences: short, controlled, hard")
    say(_summary(found, sheets), "why")
    twins = _twins(request)
    title = "Every job on the built-in sentences, with its best head"
    evidence.draw(tables.of_jobs(sheets, twins, by, title, request.trained), key="builtin-jobs")
    if twins:
        say(_learned(sheets, twins, request.trained))
    for said in (absent_said(found), unneeded_said(found)):
        if said:
            say(firm(said))
    _take_away(found)


def wait(request: Request) -> None:
    """Until the sentences were read: the page is drawn anew once they were."""

    def look() -> None:
        say(f"{READING} Examples and measures of every head appear by themselves.")
        if not head_facts.finding(request.model, request.trained):
            st.rerun()

    st.fragment(look, run_every=TICK)()


def _summary(found: Findings, sheets: tuple[Sheet, ...]) -> str:
    sure = sum(any(sheet.does(head) for head in found.heads) for sheet in sheets)
    weights = "" if found.model.trained else ", with random weights"
    repeated = found.study.repeated
    random = "" if repeated is None else f" and {repeated.n_texts} texts of random tokens said twice"
    # All of them are read; a decoder is asked those of which it can see both nouns.
    related = f", {_n_related()} more about related words" if "semantic" in found.jobs else ""
    return (
        f"{found.model.title}{weights} read {found.n_sentences:,} sentences written for this page{related}{random}. "
        "They hold everything still but the one thing that is asked: that makes them short and hard, and not like "
        "ordinary text. "
        f"In {sure} of {len(sheets)} jobs a head beats the best simple rule by more than luck explains."
    )


@lru_cache
def _n_related() -> int:
    return len(read_builtin(related_path()))


def _done(sheet: Sheet) -> bool:
    """Does any head do the job, by the verdict?"""
    return bool(np.isin(sheet.words, DOES).any())


def _twins(request: Request) -> tuple[Sheet, ...]:
    """The untrained twin's, or for it the trained one's; begun where a model is small enough to be tried unasked."""
    twin = head_facts.known_findings(request.model, not request.trained)
    if twin is not None:
        return builtin_sheets(twin)
    head_facts.roles_of(request.model, not request.trained)
    return ()


def _learned(sheets: tuple[Sheet, ...], twins: tuple[Sheet, ...], trained: bool) -> str:
    def count(side: tuple[Sheet, ...]) -> int:
        return sum(map(_done, side))

    with_weights, without = (count(sheets), count(twins))
    if not trained:
        with_weights, without = without, with_weights
    return (
        f"Jobs that a head does: {with_weights} of {len(sheets)} with trained weights, {without} with random ones. "
        "Both read the same sentences under the same rules, so what random weights reach is what luck alone achieves."
    )


def absent_said(found: Findings) -> str:
    """The jobs that this model cannot be asked for, each with the reason; empty where there are none."""
    said = "; ".join(f"{job.title}: {job.absent}" for job in found.absent)
    return (
        f"Not measured here, because a decoder cannot be asked it on these sentences: {said}." if said else ""
    )


def unneeded_said(found: Findings) -> str:
    """Induction where it was asked of an encoder and no head does it: that it is absent, and why; else empty.

    Of random weights, which do nothing at all, that is no reason.
    """
    table, model = found.jobs.get("induction"), found.model
    if model.is_causal or not model.trained or table is None or any(table.verdicts.values()):
        return ""
    best = table.order()[0]
    mass = table.mean_mass.max()
    return (
        f"Measured and absent: induction. Of {table.n:,} random tokens said again the best head, {head_name(best)}, "
        f"looks most at what came after the earlier copy in {percent(float(table.score[best]))} "
        f"({table.baseline_name}: {percent(table.baseline)}), and no head puts more than {percent(float(mass))} of its "
        "mass there. A decoder looks there to tell what comes next; an encoder reads it in the text itself."
    )


def _take_away(found: Findings) -> None:
    with st.container(key="job-files", horizontal=True, vertical_alignment="center", gap="small"):
        say("Every head, every job on these sentences:", "label")
        weights = "" if found.model.trained else "-untrained"
        name = f"headscope-heads-{found.model.name.split('/')[-1]}{weights}"
        st.download_button("CSV", findings.as_csv(found), f"{name}.csv", "text/csv", on_click="ignore")
        st.download_button(
            "JSON", findings.as_json(found), f"{name}.json", "application/json", on_click="ignore"
        )
    box = st.expander("All heads as a table to sort", key="sortable", on_change="rerun")
    if box.open:
        with box:
            _sortable(found)


def _sortable(found: Findings) -> None:
    titles = {table.job.title: table for table in found.jobs.values()}
    rows = []
    for head in found.heads:
        role = found.roles.get(head)
        row: dict[str, object] = {"Head": head_name(head), "Role": role.label if role else NO_ROLE_SAID}
        row |= {title: 100 * float(table.score[head]) for title, table in titles.items()}
        rows.append(row)
    columns = {
        title: st.column_config.NumberColumn(
            title,
            format="%.1f %%",
            help=f"n = {table.n}; baseline {percent(table.baseline)}, {table.baseline_name}",
        )
        for title, table in titles.items()
    }
    st.dataframe(
        rows,
        column_config=columns,
        hide_index=True,
        height=420,
        key="sort-table",
        alt="Every head with its role and its score in every job",
    )
