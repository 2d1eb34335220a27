"""Effect of a change at every head: a map to select heads on, direct logit attribution below it, and a table."""

import html
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, count_noun, head_name, number, signed
from mha_core.draw.figures import charts
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role
from pages.parts.experiment.ablation_query import heads_param
from pages.parts.experiment.common import ABLATE, PATHS, roles_of
from pages.parts.experiment.text import head_with_role
from pages.parts.frame import url_params
from pages.parts.frame.charts import chart, is_dark, selected_heads
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.request import Request

MAP, ATTRIBUTION = "effects", "attribution"
ABLATE_HINT = "Click a head on the map, or Shift-click several, to ablate them."
HEIGHT = 460  # of the table
STEPS = 6  # redraws while a map fills
COLUMNS: Mapping[str, Any] = {
    "head": st.column_config.LinkColumn("head", width=55, display_text=r"[?&]head=(\d+-\d+)", pinned=True),
    "role": st.column_config.TextColumn(width=130),
    "effect": st.column_config.NumberColumn(width=60, format="%+.2f"),
    "recovered": st.column_config.NumberColumn(
        width=90, format="percent", help="Share of the effect recovered"
    ),
    "half": st.column_config.NumberColumn(
        "±", width=50, format="%.2f", help="95% interval of the mean over prompts"
    ),
    "after": st.column_config.NumberColumn(
        "after", width=65, format="%.2f", help="Outcome with this head changed"
    ),
    "matters": st.column_config.CheckboxColumn(
        "clear of 0", width=75, help="Also when corrected for the number of heads"
    ),
}


def draw_effects(
    frame: pd.DataFrame,
    request: Request,
    *,
    measure: str,
    title: str,
    about: Mapping[str, str],
    lines: Sequence[str],
    link_of: Callable[[Head], str],
    hint: str = ABLATE_HINT,
    attribution: pd.DataFrame | None = None,
) -> None:
    """Draw the effects on an outcome `measure`, a row a head; `link_of`: the address that a head in the table leads to.

    `attribution`: direct logit attribution of heads and MLPs, as a second map. Heads can be selected once all of them
    are tried: a map that changes loses its selection.
    """
    roles = roles_of(request)
    value = "recovered" if "recovered" in frame else "effect"
    on_select: Literal["rerun"] | None = "rerun" if frame[value].notna().all() else None
    draw_map = partial(charts.head_map, name=value, text="text", signed=True, dark=is_dark())
    left, right = st.columns([3, 2], gap="medium")
    with left:
        filled = in_steps(frame, value)
        filled = filled.assign(
            text=[hover_text(row, value, measure, roles) for row in filled.to_dict("records")]
        )
        figure = draw_map(filled, value, title=title, percent=value == "recovered")
        chart(figure, frame, key=MAP, on_select=on_select, about=about, lines=lines)
        if attribution is not None:
            parts = attribution[attribution["layer"].notna()].astype({"layer": int})
            parts = parts.merge(frame[["layer", "head", "effect"]], on=["layer", "head"], how="left")
            parts["text"] = [part_text(row) for row in parts.to_dict("records")]
            total = f"Direct logit attribution (sum {signed(attribution['score'].sum())})"
            chart(
                draw_map(parts, "score", title=total),
                attribution,
                key=ATTRIBUTION,
                on_select=on_select,
                about=about,
            )
    with right:
        chosen = sorted({*selected_heads(MAP), *selected_heads(ATTRIBUTION)}) if on_select else []
        st.dataframe(
            listed(frame, value, chosen, link_of, roles),
            hide_index=True,
            height="content" if chosen else HEIGHT,
            column_config=COLUMNS,
            key="effects-listed",
            alt=f"{title}: {count_noun(len(chosen), 'selected head') if chosen else 'all heads'}",
        )
        if chosen:
            links = {f"Ablate {'these heads' if len(chosen) > 1 else 'this head'}": ablate_link(chosen)}
            if value == "recovered" and len(chosen) == 1:
                links["Patch its paths"] = paths_link(chosen[0])
            for label, address in links.items():
                text = f'<a href="{html.escape(address)}" target="_self">{label}</a>'
                markup(f'<p class="hs-next">{text}</p>')
        elif on_select:
            say(hint, "label")


def in_steps(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the frame with `value` of so many layers as make whole steps, the last layers first."""
    is_tried = frame.groupby("layer")[value].agg(lambda values: values.notna().all())
    wait = 0 if is_tried.all() else int(is_tried.sum()) % max(1, len(is_tried) // STEPS)
    hidden = [*is_tried.index[is_tried][:wait], *is_tried.index[~is_tried]]
    return frame.assign(**{value: frame[value].mask(frame["layer"].isin(hidden))})


def listed(
    frame: pd.DataFrame,
    value: str,
    chosen: Sequence[Head],
    link_of: Any,
    roles: Mapping[Head, Role],
) -> pd.DataFrame:
    """Return the chosen heads, or all that were tried, by size of `value`: link, role, effect and interval."""
    heads = list(zip(frame["layer"] - 1, frame["head"] - 1, strict=True))
    has_interval = "low" in frame
    rows = frame.assign(
        head=[link_of(head) for head in heads],
        role=[KIND_OF[roles[head].kind].word if head in roles else "" for head in heads],
        half=(frame["high"] - frame["low"]) / 2 if has_interval else None,
    )[[not chosen or head in chosen for head in heads]]
    shown = {
        "head": True,
        "role": bool(roles),
        value: True,
        "half": has_interval,
        "after": not has_interval,
        "matters": "matters" in frame and (frame["method"] == "resample").all(),
    }
    rows = rows[rows[value].notna()].sort_values(value, key=abs, ascending=False, kind="stable")
    return rows[[name for name, is_shown in shown.items() if is_shown]]


def ablate_link(heads: Sequence[Head]) -> str:
    """Return the address that ablates these heads, with the same sentence and model."""
    params = {
        key: value
        for key, value in url_params.params().items()
        if key not in ("map", "method", "from", "sender", "input")
    }
    return link_to("Experiment", {**params, "try": ABLATE, "off": heads_param(heads) or ""})


def paths_link(sender: Head) -> str:
    """Return the address that patches the paths from a head, with the same sentences and model."""
    return link_to("Experiment", {**url_params.params(), "map": PATHS, "sender": head_name(sender)})


def hover_text(row: Mapping[str, float], value: str, measure: str, roles: Mapping[Head, Role]) -> str:
    """Return a head's name and role, and the outcome before and after."""
    name = f"Head {head_with_role((int(row['layer']) - 1, int(row['head']) - 1), roles)}"
    if pd.isna(row[value]):
        return f"{name}: not tried yet"
    half = f" ± {number((row['high'] - row['low']) / 2)}" if "low" in row else ""
    change = f"{measure} {number(row['before'])} → {number(row['after'])} ({signed(row['effect'])}{half})"
    return (
        f"{name}: {row['recovered']:.0%} recovered, {change}" if value == "recovered" else f"{name}: {change}"
    )


def part_text(row: Mapping[str, float]) -> str:
    """Return what a head or MLP writes to the answers' logits; of a head also the effect of its ablation."""
    if pd.isna(row["head"]):
        return f"MLP {row['layer']}: {signed(row['score'])}"
    text = f"Head {row['layer']}-{int(row['head'])}: {signed(row['score'])}"
    return text if pd.isna(row["effect"]) else f"{text}, ablated {signed(row['effect'])}"
