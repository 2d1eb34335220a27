"""The card of the chosen head: one name, all its jobs, what it does elsewhere, and its like."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from mha_core import Grid
from mha_core.heads.atlas.describe import label as described
from mha_core.heads.findings import Findings
from mha_core.heads.jobs import NO_ROLE_SAID
from mha_core.heads.report import CardLine, report_card
from mha_core.wording import Head, counted, head_name, percent
from pages.parts.frame import head_facts
from pages.parts.frame.links import link_to, model_in_link
from pages.parts.frame.prose import heading, markup, prose, say
from pages.parts.frame.request import Request
from pages.parts.picture import evidence
from pages.parts.serve import cache
from pages.parts.specialization import examples, tables
from pages.parts.specialization.colouring import Called
from pages.parts.specialization.sheets import Sheet, counterpart, firm

MOST = 4


@dataclass(frozen=True, eq=False)
class Known:
    """What there is to say of one model's heads: on real text (empty without it), on the built-in sentences (empty
    until they were read), and with the other weights on the text that is shown."""

    real: tuple[Sheet, ...]
    builtin: tuple[Sheet, ...]
    twins: tuple[Sheet, ...]
    called: dict[Head, Called]
    found: Findings | None

    @property
    def shown(self) -> tuple[Sheet, ...]:
        """The jobs of the page: on real text where there are figures of it."""
        return self.real or self.builtin


def card(known: Known, head: Head, sheet: Sheet | None, request: Request, query: dict[str, str]) -> None:
    """What one head is called and why, sentences to go and see, and what it does elsewhere."""
    role = known.called.get(head)
    heading(f"Head {head_name(head)}: {role.label if role else NO_ROLE_SAID}")
    say(firm(role.evidence if role else "No job puts it clearly above the best simple rule."), "why")
    if sheet is not None:
        _sentences(known, head, sheet, request, query)
    _elsewhere(known, head, request)
    if known.found is not None:
        _relatives(known.found, head)


def where_it_stands(known: Known, head: Head, sheet: Sheet, request: Request) -> None:
    """One head among all in the job that is shown, beside the twin with other weights."""
    twin = next((other for other in known.twins if other.key == sheet.key), None)
    marks = [("simple rule", sheet.rule)]
    if sheet.controls is not None and np.isfinite(sheet.controls[head]):
        marks.append(("control", float(sheet.controls[head])))
    what = f"{sheet.title}, {counted(sheet.n, 'case')} of {sheet.where}"
    twin_heads = twin.heads if twin else None
    data = evidence.strip_data(head, sheet.heads, twin_heads, marks, what, request.trained)
    evidence.draw(data, key="card-strip")
    if sheet.others:
        said = "; ".join(f"{name} {percent(score)} (n = {n:,})" for name, score, n in sheet.others)
        say(firm(f"With another word in the same place head {head_name(sheet.best)} reaches: {said}."))


def every_job(known: Known, head: Head, sheet: Sheet | None) -> None:
    """All jobs of the head with score, rule, control and n: the telling ones, and the rest on request."""
    name = head_name(head)
    heading(f"The jobs of head {name}")
    shown = sheet.key if sheet else ""
    title = "On real text" if known.real else "On the built-in sentences"
    telling = [(title, _telling(known.shown, head, sheet))]
    caption = f"What head {name} does, or comes nearest to"
    evidence.draw(tables.of_head(head, telling, shown, caption), key="card-jobs")
    box = st.expander(f"Head {name} in every job, and all measures", key="card-all", on_change="rerun")
    if box.open:
        with box:
            data = tables.of_head(head, [(title, known.shown)], shown, f"Head {name} in every job")
            evidence.draw(data, key="card-every-job")
            if known.found is not None:
                _measures(known.found, head)


def _sentences(known: Known, head: Head, sheet: Sheet, request: Request, query: dict[str, str]) -> None:
    """Built-in sentences of the job that is shown, or random tokens, with what this head really does in them."""
    made = sheet if sheet.table is not None else counterpart(sheet, known.builtin)
    if made is None or made.table is None:
        return

    def grid_of(text: str, unit: str) -> Grid:
        asked = Request(text, None, request.model, request.trained, unit)
        return cache.grid(asked, cache.record(asked))

    job = made.table.job
    heading(f"{made.title}, in {made.where}", 3)
    markup(f'<div class="jobs">{examples.shown(made.table, head, query, grid_of)}</div>')
    opens = "" if job.repeated else " Each sentence opens in Explore, with the weight said here."
    say(f"Correct when {job.does}.{opens}")


def _telling(sheets: Sequence[Sheet], head: Head, shown: Sheet | None) -> list[Sheet]:
    """The job that is shown, those the head does, and if that is little those it is furthest above the rule in."""
    mine = [one for one in sheets if one.does(head) and one.rank(head) <= max(one.heads.size // 6, 1)]
    mine.sort(key=lambda one: one.rule - float(one.heads[head]))
    nearest = sorted(sheets, key=lambda one: one.rule - float(one.heads[head]))
    first = [one for one in sheets if one is shown]
    return list(dict.fromkeys([*first, *mine[:MOST], *nearest[: max(2 - len(mine), 0)]]))


def _elsewhere(known: Known, head: Head, request: Request) -> None:
    """The narrow task beside the whole: what the atlas of ordinary text says of the same head."""
    there = head_facts.shipped_atlas(request.model, request.trained)
    if there is None:
        return
    entry, role = there.atlas.entry(head), known.called.get(head)
    link = link_to("Atlas", {"model": model_in_link(request.model), "head": head_name(head)})
    narrow = role.label if role else NO_ROLE_SAID
    whole = described(entry.description)
    strongest = "Its strongest moments over ordinary text"
    if not entry.description.findings:
        differ = f"{strongest} share no feature: what a head can do is not what it does most."
    else:
        parts = "; ".join(
            f"{one.feature.words}, {percent(one.share)} of {one.n}, {one.lift:.1f} times as often as by chance"
            for one in entry.description.findings[:2]
        )
        differ = f"{strongest} look {parts}."
    markup(
        f'<p class="hs-note"><b>Asked here:</b> {prose(narrow)}. <b>Not asked</b> '
        f'(<a href="{html.escape(link)}" target="_self">Atlas</a>): {prose(whole)}. {prose(differ)} It rests on '
        f"special or first tokens in {percent(entry.sink)} of the rows.</p>"
    )


def _relatives(found: Findings, head: Head) -> None:
    lines = report_card(found.study, *head)
    if not lines.relatives or not found.study.similarity:
        return
    near = [{"id": head_name((la, h)), "note": f"({apart:.3f})"} for la, h, apart in lines.relatives]
    mean = found.study.similarity.mean
    far = lines.relatives[0][2] > mean
    said = "Looks like no other head; nearest" if far else "Looks at the same places as"
    after = f"(Jensen-Shannon divergence: 0 is the same, 0.69 nothing in common; all pairs {mean:.3f} on average)."
    group = {"said": f"{said}:", "heads": near, "after": after}
    evidence.draw({"kind": "heads", "groups": [group]}, key="relatives")


def _measures(found: Findings, head: Head) -> None:
    """The measures that are no job."""
    lines = report_card(found.study, *head).lines
    rows = "".join(_measure(line) for line in lines if "->" not in line.key and line.value == line.value)
    titles = ("Measure", "Value", "If it looked everywhere alike", "n", f"Rank of {len(found.heads)}")
    top = "".join(f'<th scope="col">{title}</th>' for title in titles)
    body = f"<thead><tr>{top}</tr></thead><tbody>{rows}</tbody>"
    markup(f'<div class="hs-scroll"><table class="measures">{body}</table></div>')


def _measure(line: CardLine) -> str:
    def number(value: float) -> str:
        return f"{value:.2f} nats" if line.key in ("entropy", "lift") else percent(value)

    base = "" if line.baseline is None else number(line.baseline)
    return (
        f'<tr><th scope="row">{html.escape(line.label)}</th><td>{number(line.value)}</td><td>{base}</td>'
        f"<td>{line.n:,}</td><td>{line.rank}</td></tr>"
    )
