"""All heads to choose from, and the report card of the chosen one."""

import html
from typing import Any

import streamlit as st

from mha_core.heads.findings import Findings
from mha_core.heads.job_table import JobTable
from mha_core.heads.jobs import KIND_OF, KINDS, NO_ROLE_SAID, JobKind
from mha_core.heads.report import CardLine, report_card
from mha_core.heads.roles import NO_ROLE
from mha_core.wording import Head, head_name, percent
from pages.parts.frame import state
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import heading, markup, say
from pages.parts.frame.selection import parse_head
from pages.parts.picture.head_map import Mark, head_map
from pages.parts.specialization.job_table import MEANING, bar, examples

BY_ROLE = "role"


def chosen_head(found: Findings) -> Head:
    """The head of the link, or the one with the clearest role."""
    given = state.params().get("head", "")
    asked = parse_head(given)
    if asked in found.heads:
        return asked
    if given:
        layers, heads = found.shape
        given = given[:20]
        say(f"There is no head “{given}” in {layers} layers of {heads}.", "notice")
    clear = max(found.roles.items(), key=lambda pair: pair[1].score - pair[1].baseline, default=None)
    return clear[0] if clear else (0, 0)


def all_heads(found: Findings) -> Head:
    """The controls, the picture of all heads, and which one is chosen."""
    measures = found.measures()
    chosen = chosen_head(found)
    with st.container(key="map-controls", horizontal=True, vertical_alignment="bottom", gap="medium"):
        by = st.selectbox(
            "Show",
            [BY_ROLE, *measures],
            format_func=lambda key: "the role of each head" if key == BY_ROLE else measures[key][0],
            key="by",
            bind="query-params",
            width=250,
        )
        layout = st.segmented_control(
            "As",
            ["grid", "map"],
            default="grid",
            required=True,
            key="as",
            bind="query-params",
        )
        only = st.selectbox(
            "Only",
            ["all heads", *(kind.name for kind in _kinds(found)), NO_ROLE_SAID],
            key="only",
            bind="query-params",
            width=170,
        )
    marks = [mark for mark in _marks(found, by or BY_ROLE) if only == "all heads" or _has(found, mark, only)]
    legend = _legend(found) if by == BY_ROLE else []
    if layout == "grid":
        marks = [mark if mark in marks else _faded(mark) for mark in _marks(found, by or BY_ROLE)]
    head_map(
        marks, chosen=chosen, legend=legend, layout="map" if layout == "map" else "grid", key="all-heads"
    )
    say(_map_note(found, layout or "grid", chosen))
    return chosen


def small_map(found: Findings, key: str) -> None:
    """The grid of roles alone."""
    head_map(_marks(found, BY_ROLE), chosen=(-1, -1), legend=_legend(found), key=key)


def _map_note(found: Findings, layout: str, chosen: Head) -> str:
    if layout == "map":
        return (
            f"Near is alike. Distance: Jensen-Shannon divergence of the heads' rows over {found.n_sentences:,} "
            f"sentences, laid out on a plane (stress {found.stress:.2f}: what a plane cannot show), pulled towards the "
            "middle and pushed apart so that the names can be read. The outline holds the cluster of the chosen head: "
            f"{_cluster_size(found, chosen)} of {len(found.heads)}, joined by the distances themselves."
        )
    without = len(found.heads) - len(found.roles)
    return (
        f"{without} of {len(found.heads)} heads have no clear role on these sentences. That is a finding about the "
        "sentences as much as about the heads."
    )


def _cluster_size(found: Findings, head: Head) -> int:
    return int((found.cluster == found.cluster[found.heads.index(head)]).sum())


def _kinds(found: Findings) -> list[JobKind]:
    """The kinds of roles there are, in the order of the catalogue."""
    there = {role.key for role in found.roles.values()}
    return [kind for kind in KINDS if kind.key in there]


def _legend(found: Findings) -> list[tuple[str, str, str]]:
    return [(kind.letter, kind.name, kind.colour) for kind in _kinds(found)]


def _has(found: Findings, mark: Mark, only: str) -> bool:
    role = found.roles.get(mark.head)
    return (role is None) if only == NO_ROLE_SAID else role is not None and KIND_OF[role.key].name == only


def _faded(mark: Mark) -> Mark:
    return Mark(mark.head, mark.label, x=mark.x, y=mark.y, cluster=mark.cluster)


def _marks(found: Findings, by: str) -> list[Mark]:
    marks = []
    measure = found.measures().get(by)
    for i, head in enumerate(found.heads):
        x, y = (float(v) for v in found.points[i])
        place: dict[str, Any] = {"x": x, "y": y, "cluster": int(found.cluster[i])}
        role = found.roles.get(head)
        if measure is None:
            said = f"{role.label}. {role.evidence}" if role else f"{NO_ROLE_SAID}."
            label = f"Head {head_name(head)}: {said}"
            letter, colour = (role.letter, KIND_OF[role.key].colour) if role else ("", "")
            marks.append(Mark(head, label, letter, colour, **place))
        else:
            title, values = measure
            value, largest = float(values[head]), max(1.0, float(values.max()))
            text = f"{value:.2f}" if largest > 1 else f"{100 * value:.0f}"
            said = f"{value:.2f}" if largest > 1 else percent(value)
            marks.append(
                Mark(
                    head, f"Head {head_name(head)}: {title} {said}", fill=value / largest, text=text, **place
                )
            )
    return marks


def card(found: Findings, head: Head, query: dict[str, str]) -> None:
    """The report card: role, jobs, relatives, all measures."""
    role = found.roles.get(head)
    heading(f"Head {head_name(head)}: {role.label if role else NO_ROLE_SAID}")
    say((role or NO_ROLE).evidence, "why")
    tables = _most_telling(found, head)
    markup(f'<div class="jobs card-jobs">{"".join(_job(table, head, query) for table in tables)}</div>')
    lines = report_card(found.study, *head)
    if lines.relatives and found.study.similarity:
        links = ", ".join(
            f'<a href="{html.escape(link_to("Specialization", {"head": head_name((la, h)), **query}))}" '
            f'target="_self">{head_name((la, h))}</a> ({apart:.3f} nats)'
            for la, h, apart in lines.relatives
        )
        markup(
            f'<p class="hs-note">Nearest relatives: {links}. The mean of all pairs is '
            f"{found.study.similarity.mean:.3f}.</p>"
        )
    box = st.expander(f"All measures of {head_name(head)}", key="card-all", on_change="rerun")
    if box.open:
        with box:
            markup(_measures(found, head, lines.lines))


def _most_telling(found: Findings, head: Head) -> list[JobTable]:
    """The job it is called by and others it is a specialist in, or else the one furthest above its baseline."""
    role = found.roles.get(head)
    named = found.jobs.get(role.detail) if role else None
    mine = [table for table in found.best_jobs(head) if table is not named]
    if named or mine:
        return [*([named] if named else []), *mine][:3]
    above = max(found.jobs.values(), key=lambda table: float(table.score[head]) - table.baseline)
    return [above]


def _job(table: JobTable, head: Head, query: dict[str, str]) -> str:
    score, low, high = (float(values[head]) for values in (table.score, table.low, table.high))
    return (
        f'<div class="card-job"><p><b>{html.escape(table.job.title)}</b> <small>{MEANING[table.verdict(*head)]}, rank '
        f"{table.rank(*head)} of {table.score.size}</small></p>{bar(score, low, high, table.baseline)}"
        f"<p><b>{percent(score)}</b> <small>{percent(low)} to {percent(high)}, n = {table.n:,}; baseline "
        f"{percent(table.baseline)}, {html.escape(table.baseline_name)}</small></p>"
        f"{examples(table, head, query)}</div>"
    )


def _measures(found: Findings, head: Head, lines: tuple[CardLine, ...]) -> str:
    rows = [
        f'<tr><th scope="row">{html.escape(table.job.title)}</th><td>{percent(float(table.score[head]))}</td>'
        f"<td>{percent(float(table.low[head]))} to {percent(float(table.high[head]))}</td>"
        f"<td>{percent(table.baseline)}</td><td>{table.n:,}</td><td>{table.rank(*head)}</td></tr>"
        for table in found.jobs.values()
    ]
    for line in lines:
        if line.value != line.value:
            continue
        interval = (
            "" if line.low is None or line.high is None else f"{percent(line.low)} to {percent(line.high)}"
        )
        base = "" if line.baseline is None else _number(line.key, line.baseline)
        rows.append(
            f'<tr><th scope="row">{html.escape(line.label)}</th><td>{_number(line.key, line.value)}</td>'
            f"<td>{interval}</td><td>{base}</td><td>{line.n:,}</td><td>{line.rank}</td></tr>"
        )
    head_row = "".join(
        f'<th scope="col">{title}</th>'
        for title in ("Measure", "Value", "95 % interval", "Baseline", "n", f"Rank of {len(found.heads)}")
    )
    return (
        f'<div class="hs-scroll"><table class="measures"><thead><tr>{head_row}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _number(key: str, value: float) -> str:
    return f"{value:.2f}" if key in ("entropy", "lift") else percent(value)
