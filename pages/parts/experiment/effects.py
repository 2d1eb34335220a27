"""One effect a head: a map to select heads on, and the table of those that are selected, the largest effect first."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, count_noun, head_name, number, signed
from mha_core.draw.figures import charts
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role
from pages.parts.experiment.asked import spelled
from pages.parts.experiment.attribution import MAP, draw_attribution
from pages.parts.experiment.frame import PARTS
from pages.parts.frame import state
from pages.parts.frame.charts import chart, is_dark, selected_heads
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import markup, say

HINT = "Click a head on the map, or Shift-click several, to ablate them."
HEIGHT = 460  # of the table
STEPS = 6  # in which a map fills
NUMBER = st.column_config.NumberColumn


def draw_effects(
    frame: pd.DataFrame,
    value: str,
    *,
    measure: str,
    title: str,
    links: Mapping[str, str],
    roles: Mapping[Head, Role],
    key: str,
    about: Mapping[str, str],
    attribution: pd.DataFrame | None = None,
) -> None:
    """Draw the column `value` of a frame of effects of `measure`; `links` lead from a head's name to where it opens,
    `about` goes into its file. `attribution`: the same heads' direct logit attribution, as a map beside it.

    Heads can be selected once all of them are tried: a map that changes loses what is selected on it.
    """
    filled = in_steps(frame, value)
    filled = filled.assign(text=[hover_text(row, value, measure, roles) for row in filled.to_dict("records")])
    percent = value == "recovered"
    on_select: Literal["rerun"] | None = "rerun" if frame[value].notna().all() else None
    left, *beside, right = st.columns([3, 2] if attribution is None else 3, gap="medium")
    with left:
        figure = charts.head_map(
            filled, value, title=title, name=value, text="text", signed=True, percent=percent, dark=is_dark()
        )
        chart(figure, frame, key=key, on_select=on_select, about=about)
    if attribution is not None:
        with beside[0]:
            draw_attribution(attribution, frame, on_select=on_select, about=about)
    with right:
        chosen = sorted({*selected_heads(key), *selected_heads(MAP)}) if on_select else []
        st.dataframe(
            listed(frame, value, chosen, links, roles),
            hide_index=True,
            height="content" if chosen else HEIGHT,
            column_config=_columns(percent),
            key=f"{key}-listed",
            alt=f"{title}: {count_noun(len(chosen), 'selected head') if chosen else 'all heads'}",
        )
        if chosen:
            these = "these heads" if len(chosen) > 1 else "this head"
            markup(
                f'<p class="hs-next"><a href="{html.escape(ablate_link(chosen))}" target="_self">Ablate {these}</a></p>'
            )
        elif on_select:
            say(HINT, "label")


def in_steps(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the frame with `value` of as many layers as make whole steps; a figure that changes is drawn anew."""
    tried = frame.groupby("layer")[value].agg(lambda values: values.notna().all())
    wait = int(tried.sum()) % max(1, len(tried) // STEPS) if not tried.all() else 0
    hidden = (
        tried.index[tried][:wait].tolist() + tried.index[~tried].tolist()
    )  # the last layers are tried first
    return frame.assign(**{value: frame[value].mask(frame["layer"].isin(hidden))})


def listed(
    frame: pd.DataFrame,
    value: str,
    chosen: Sequence[Head],
    links: Mapping[str, str],
    roles: Mapping[Head, Role],
) -> pd.DataFrame:
    """Return the chosen heads, or all that were tried, by size of `value`: link, role, effect and interval."""
    heads = list(zip(frame["layer"] - 1, frame["head"] - 1, strict=True))
    found = frame.assign(
        head=[links[head_name(head)] for head in heads],
        role=[KIND_OF[roles[head].kind].word if head in roles else "" for head in heads],
        half=(frame["high"] - frame["low"]) / 2 if "low" in frame else None,
    )
    if chosen:
        found = found[[head in chosen for head in heads]]
    found = found[found[value].notna()].sort_values(value, key=abs, ascending=False, kind="stable")
    columns = ["head", "role", value, "half", "after", "matters"]
    dropped = {
        "role": not roles,
        "half": "low" not in frame,
        "after": "low" in frame,
        "matters": "matters" not in frame or not (frame["method"] == "resample").all(),
    }
    return found[[name for name in columns if not dropped.get(name)]]


def ablate_link(heads: Sequence[Head]) -> str:
    """Return the address at which these heads are ablated, with the same sentence and model."""
    kept = {key: value for key, value in state.params().items() if key not in ("map", "method", "from")}
    return link_to("Experiment", {**kept, "try": PARTS[0], "off": spelled(heads) or ""})


def hover_text(row: Mapping[str, float], value: str, measure: str, roles: Mapping[Head, Role]) -> str:
    """Return what is said of a head that is pointed at: its name and role, the outcome before and after."""
    head = (int(row["layer"]) - 1, int(row["head"]) - 1)
    who = f"Head {head_name(head)}" + (f", {roles[head].name}" if head in roles else "")
    if pd.isna(row[value]):
        return f"{who}: not tried yet"
    half = f" ± {number((row['high'] - row['low']) / 2)}" if "low" in row else ""
    moved = f"{measure} {number(row['before'])} → {number(row['after'])} ({signed(row['effect'])}{half})"
    return f"{who}: {row['recovered']:.0%} recovered, {moved}" if "recovered" in row else f"{who}: {moved}"


def _columns(percent: bool) -> dict[str, Any]:
    return {
        "head": st.column_config.LinkColumn(
            "head", width=55, display_text=r"[?&]head=(\d+-\d+)", pinned=True
        ),
        "role": st.column_config.TextColumn(width=130),
        "effect": NUMBER("effect", width=60, format="%+.2f"),
        "recovered": NUMBER("recovered", width=90, format="percent", help="Share of the effect recovered"),
        "half": NUMBER("±", width=50, format="%.2f", help="Half the 95% interval of the mean over prompts"),
        "after": NUMBER("ablated", width=65, format="%.2f", help="The outcome with this head changed"),
        "matters": st.column_config.CheckboxColumn(
            "clear of 0", width=75, help="Also when corrected for the number of heads"
        ),
    }
