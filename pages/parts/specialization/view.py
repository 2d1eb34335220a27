"""The sections of the Specialization page, in the order a reader meets them."""

import streamlit as st

from mha_core import HeadScopeError
from mha_core.heads import findings
from mha_core.heads.findings import Findings
from mha_core.heads.jobs import NO_ROLE_SAID
from pages.parts.frame.prose import heading, markup, say
from pages.parts.frame.request import Request
from pages.parts.frame.shell import CAVEAT, CSS
from pages.parts.serve import cache
from pages.parts.specialization import head_card, job_table
from pages.parts.specialization.corpus_view import corpus


def style() -> None:
    """What this page has beyond the frame."""
    st.html(CSS / "specialization.css")


def find(request: Request) -> Findings:
    """The findings of the model asked for. Raises HeadScopeError where there are none."""
    with st.spinner("Every head reads the built-in sentences; that takes a while once.", show_time=True):
        return cache.findings(request.model, request.trained)


def sections(found: Findings, request: Request) -> None:
    """Everything the built-in sentences tell."""
    query = kept(request)
    heading("The jobs, and who does them")
    say(_summary(found), "why")
    markup(job_table.job_table(found, query))
    _take_away(found)
    heading("All heads")
    left, right = st.columns([11, 9], gap="large")
    with left:
        head = head_card.all_heads(found)
    with right, st.container(key="card"):
        head_card.card(found, head, query)
    _training(found, request)
    corpus(request)
    say(CAVEAT, "caveat")


def kept(request: Request) -> dict[str, str]:
    """What every link keeps: the model and its weights, where they are not the standard."""
    query = {} if request.model == "minilm" else {"model": request.model}
    return query if request.trained else {**query, "weights": "untrained"}


def _summary(found: Findings) -> str:
    sure = sum(
        any(table.verdict(*head) == "specialist" for head in found.heads) for table in found.jobs.values()
    )
    none = [table.job.title for table in found.jobs.values() if table.verdict(*table.order()[0]) == "none"]
    without = f" No head beats the baseline for {_and(none)}." if none else ""
    weights = "" if found.model.trained else ", with random weights"
    return (
        f"{found.model.title}{weights}: {found.n_sentences:,} sentences written for this page{_random(found)}, "
        f"{len(found.heads)} heads, {len(found.jobs)} jobs. For {sure} of the jobs there is a head that beats the best "
        f"simple rule with room for luck.{without} Open a row to see sentences."
    )


def _random(found: Findings) -> str:
    table = found.study.repeated
    return "" if table is None else f" and {table.n_texts} texts of random tokens said twice"


def _and(words: list[str]) -> str:
    return ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + words[-1]


def _take_away(found: Findings) -> None:
    with st.container(key="job-files", horizontal=True, vertical_alignment="center", gap="small"):
        say("Every head, every job:", "label")
        name = f"headscope-heads-{found.model.name.split('/')[-1]}" + (
            "" if found.model.trained else "-untrained"
        )
        st.download_button("CSV", findings.as_csv(found), f"{name}.csv", "text/csv", on_click="ignore")
        st.download_button(
            "JSON", findings.as_json(found), f"{name}.json", "application/json", on_click="ignore"
        )
    box = st.expander("All heads as a table to sort and filter", key="sortable", on_change="rerun")
    if box.open:
        with box:
            _sortable(found)


def _sortable(found: Findings) -> None:
    titles = {table.job.title: table for table in found.jobs.values()}
    rows = []
    for head in found.heads:
        role = found.roles.get(head)
        row: dict[str, object] = {
            "Head": f"{head[0] + 1}-{head[1] + 1}",
            "Role": role.label if role else NO_ROLE_SAID,
        }
        row |= {title: 100 * float(table.score[head]) for title, table in titles.items()}
        rows.append(row)
    columns = {
        title: st.column_config.NumberColumn(
            title,
            format="%.1f %%",
            help=f"n = {table.n}; baseline {100 * table.baseline:.1f} %, {table.baseline_name}",
        )
        for title, table in titles.items()
    }
    roles = sorted({str(row["Role"]) for row in rows})
    wanted = st.multiselect("Roles", roles, placeholder="all roles", key="sort-roles")
    st.dataframe(
        [row for row in rows if not wanted or row["Role"] in wanted],
        column_config=columns,
        hide_index=True,
        height=420,
        key="sort-table",
        alt="Every head with its role and its score in every job",
    )


def _training(found: Findings, request: Request) -> None:
    heading("What training did")
    box = st.expander(
        "The same sentences, the same model with random weights, side by side",
        key="training",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        try:
            with st.spinner("The other weights read the sentences.", show_time=True):
                twin = cache.findings(request.model, not request.trained)
        except HeadScopeError as error:
            say(str(error), "problem")
            return
        trained, untrained = (found, twin) if found.model.trained else (twin, found)
        say(_learned(trained, untrained), "why")
        markup(job_table.training_table(trained, untrained))
        for column, side, title in zip(
            st.columns(2, gap="large"), (trained, untrained), ("Trained", "Untrained"), strict=True
        ):
            with column:
                heading(title, 3)
                head_card.small_map(side, key=f"twin-{title}")


def _learned(trained: Findings, untrained: Findings) -> str:
    def count(side: Findings) -> int:
        return sum(any(t.verdict(*head) == "specialist" for head in side.heads) for t in side.jobs.values())

    return (
        f"Jobs with a specialist: {count(trained)} of {len(trained.jobs)} with trained weights, {count(untrained)} "
        "with random ones. Both use the same sentences, baselines and rules, so what the second column reaches is "
        "what picking the best of all heads gives for nothing."
    )
