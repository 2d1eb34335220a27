"""The table of jobs as HTML: for each the best head, its score with the interval, the baseline, and examples.

In: findings. Out: escaped HTML; a row opens to show its sentences, each a link into Explore. No Streamlit here.
"""

import html
from collections.abc import Iterator, Sequence

from mha_core.heads.findings import Findings
from mha_core.heads.job_table import ExampleRow, JobTable
from mha_core.heads.jobs import GROUPS, KIND_OF
from mha_core.wording import Head, head_name, percent
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import visible

SHOWN_AT_MOST = 4
N_GOOD = 3
MEANING = {"specialist": "specialist", "unsure": "not sure", "none": "no"}


def job_table(found: Findings, query: dict[str, str]) -> str:
    """All jobs, grouped by kind; `query` is what every link keeps (model, weights)."""
    groups = []
    for group in GROUPS:
        tables = [table for table in found.jobs.values() if table.job.group == group.key]
        if tables:
            rows = "".join(_row(found, table, query) for table in tables)
            groups.append(
                f'<section class="job-kind"><div class="job-head"><h3>{html.escape(group.title)}</h3>'
                f"<p>{html.escape(group.does)}</p></div><div>{rows}</div></section>"
            )
    return f'<div class="jobs">{_legend()}{"".join(groups)}{_absent(found)}</div>'


def _absent(found: Findings) -> str:
    """The jobs that this model cannot be asked for, each with the reason; nothing where there are none."""
    if not found.absent:
        return ""
    items = "".join(
        f"<li><b>{html.escape(job.title)}</b>: {html.escape(job.absent)}.</li>" for job in found.absent
    )
    return (
        '<section class="job-kind"><div class="job-head"><h3>Not measured here</h3><p>What cannot be asked of a '
        f'decoder on these sentences, and why.</p></div><div><ul class="job-absent">{items}</ul></div></section>'
    )


def _legend() -> str:
    return (
        '<p class="job-legend" aria-hidden="true"><span class="key-dot"></span> score of the best head, with its '
        '95 % interval <span class="key-base"></span> baseline: the best simple rule</p>'
    )


def _row(found: Findings, table: JobTable, query: dict[str, str]) -> str:
    order = table.order()
    best = order[0]
    verdict = table.verdict(*best)
    others = [head for head in order[1:] if table.verdict(*head) == "specialist"]
    also = f"Also: {_names(others[:SHOWN_AT_MOST], query)}" if others else ""
    more = f" and {len(others) - SHOWN_AT_MOST} more" if len(others) > SHOWN_AT_MOST else ""
    score, low, high = (float(values[best]) for values in (table.score, table.low, table.high))
    return (
        f'<details class="job {verdict}"><summary>'
        f'<span class="job-name"><b>{html.escape(table.job.title)}</b></span>'
        f'<span class="job-best">{head_name(best)}</span>'
        f"{bar(score, low, high, table.baseline)}"
        f'<span class="job-numbers"><b>{percent(score)}</b> <small>{percent(low)} to {percent(high)}</small></span>'
        f'<span class="job-base">{percent(table.baseline)} <small>{html.escape(table.baseline_name)}</small></span>'
        f'<span class="job-n">n = {table.n:,}</span>'
        f'<span class="job-verdict">{MEANING[verdict]}<small>{html.escape(table.verdicts[best].because)}</small></span>'
        f'</summary><div class="job-more"><p>Right when {html.escape(table.job.does)}. '
        f"{_control(table, best)}{also}{more}{'.' if also else ''}</p>{examples(table, best, query)}</div></details>"
    )


def _control(table: JobTable, head: Head) -> str:
    if table.control is None:
        return ""
    return f"Control: {table.job.control} {percent(float(table.control[head]))}. "


def _names(heads: Sequence[Head], query: dict[str, str]) -> str:
    return ", ".join(
        f'<a href="{html.escape(link_to("Specialization", {"head": head_name(head), **query}))}" target="_self">'
        f"{head_name(head)}</a>"
        for head in heads
    )


def bar(score: float, low: float, high: float, baseline: float) -> str:
    """A score as a dot on its interval, the baseline as a mark across, on a line from 0 to 100 %."""
    return (
        '<span class="bar" aria-hidden="true">'
        f'<i class="ci" style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i>'
        f'<i class="base" style="left:{100 * baseline:.1f}%"></i>'
        f'<i class="dot" style="left:{100 * score:.1f}%"></i></span>'
    )


def examples(table: JobTable, head: Head, query: dict[str, str]) -> str:
    """Three sentences in which the head works and one in which it fails, as links into Explore."""
    good, bad = table.examples(*head, N_GOOD), table.examples(*head, 1, right=False)
    items = [*_items(good, "works", table, head, query), *_items(bad, "fails", table, head, query)]
    if len(good) < N_GOOD:
        items.append('<li class="works"><small>It works in no more of them.</small></li>')
    if not bad:
        items.append('<li class="fails"><small>It fails in none of them.</small></li>')
    return f'<ul class="examples">{"".join(items)}</ul>'


def _items(
    looks: Sequence[ExampleRow], word: str, table: JobTable, head: Head, query: dict[str, str]
) -> Iterator[str]:
    for look in looks:
        seen = marked(look)
        if not look.sample.said_twice:
            link = html.escape(explore_link(look, head, query))
            seen = f'<a href="{link}" target="_self">{seen}</a>'
        yield f'<li class="{word}"><small>{word}</small> {seen} <small>{share_of(look, table)}</small></li>'


def share_of(look: ExampleRow, table: JobTable) -> str:
    """The number beside an example, and what it is a share of."""
    return f"{percent(look.share)} {KIND_OF[table.job.kind].share}"


def explore_link(look: ExampleRow, head: Head, query: dict[str, str]) -> str:
    """The view of Explore that shows this case: the head, the word that looks, the word it should look at."""
    view = {"text": look.sample.sentence.text, "head": head_name(head), "pin": str(look.query[0])}
    if look.target:
        view["to"] = str(look.target[0])
    return link_to("Explore", view | query)


def marked(look: ExampleRow) -> str:
    """The sentence with the word that looks underlined and what it should look at set off; escaped."""
    if look.sample.said_twice:
        return _two_places(look)
    text, pieces = look.sample.sentence.text, look.sample.tokens.pieces
    spans = sorted(
        (pieces[i].start, pieces[i].end, tag)
        for tag, group in (("u", look.query), ("b", look.target))
        for i in group
        if not pieces[i].special and pieces[i].end > pieces[i].start
    )
    out, at = [], 0
    for start, end, tag in spans:
        if start >= at:
            inner = html.escape(visible(text[start:end]))
            out += [html.escape(visible(text[at:start])), f"<{tag}>{inner}</{tag}>"]
            at = end
    return "".join(out) + html.escape(visible(text[at:]))


def _two_places(look: ExampleRow) -> str:
    """Of random tokens, which are no sentence: those around the target, and those up to the one that looks."""
    pieces = look.sample.tokens.pieces
    (query,), (target,) = look.query, look.target

    def shown(place: int) -> str:
        token = html.escape(visible(pieces[place].bare))
        return {target: f"<b>{token}</b>", query: f"<u>{token}</u>"}.get(place, token)

    around = [range(max(target - 2, 0), target + 2), range(query - 1, query + 1)]
    return f"… {' … '.join(' · '.join(map(shown, places)) for places in around)}"


def training_table(trained: Findings, untrained: Findings) -> str:
    """The best head of every job with trained and with random weights, against the same baseline."""
    rows = []
    for job, table in trained.jobs.items():
        twin = untrained.jobs[job]
        cells = [_side(table), _side(twin)]
        rows.append(
            f'<tr><th scope="row">{html.escape(table.job.title)}</th>{"".join(cells)}'
            f"<td>{_baselines(table, twin)}</td><td>{table.n:,}</td></tr>"
        )
    head = "".join(
        f'<th scope="col">{title}</th>' for title in ("Job", "Trained", "Untrained", "Baseline", "n")
    )
    return (
        f'<div class="hs-scroll"><table class="training"><caption>The best head for each job, with its share of '
        f"cases right</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _baselines(table: JobTable, twin: JobTable) -> str:
    """One number, or two where the rule depends on the weights (the middle head)."""
    pair = list(dict.fromkeys(map(percent, (table.baseline, twin.baseline))))
    return " and ".join(pair)


def _side(table: JobTable) -> str:
    best = table.order()[0]
    verdict = table.verdict(*best)
    word = f" <small>{MEANING[verdict]}</small>" if verdict == "specialist" else ""
    return f"<td><b>{head_name(best)}</b> {percent(float(table.score[best]))}{word}</td>"
