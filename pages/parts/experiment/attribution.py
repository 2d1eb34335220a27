"""Direct logit attribution beside the ablation sweep: what every head and MLP writes to the answers' logits itself.

In: the outcome and prompts of the sweep, and its effects. Out: the parts' scores, their map, and how far they agree.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from mha_core import AttentionRecord, Model, logit_attribution
from mha_core.causal import LogitDifference, Outcome, Prompt
from mha_core.causal.logit_attribution import mean_attribution
from mha_core.display_names import count_noun, number, signed
from mha_core.draw.figures import charts
from pages.parts.frame.charts import chart, is_dark

MAP = "attribution"


def attributed(
    record: AttentionRecord, used: Model, outcome: Outcome, prompts: Sequence[Prompt]
) -> pd.DataFrame | None:
    """Return the attribution of the sweep's outcome, averaged over its prompts; None for a model that predicts no next
    word."""
    if used.next_head is None or not isinstance(outcome, LogitDifference):
        return None
    if prompts:
        return mean_attribution(prompts, used)
    return logit_attribution(record.tokens, used, outcome.target, outcome.against)


def agreement_text(parts: pd.DataFrame, effects: pd.DataFrame) -> str:
    """Return how attribution and ablation effect correlate over the heads; "" until all are tried, or where one of the
    two is the same for all."""
    heads = parts.merge(effects, on=["layer", "head"])
    r = heads["score"].corr(heads["effect"])
    if heads["effect"].isna().any() or pd.isna(r):
        return ""
    return (
        f"Attribution and ablation effect correlate at r = {number(r)} "
        f"(Pearson, n = {count_noun(len(heads), 'head')}). "
        "Ablation also changes what later heads write."
    )


def draw_attribution(
    parts: pd.DataFrame,
    effects: pd.DataFrame,
    *,
    on_select: Literal["rerun"] | None,
    about: Mapping[str, str],
) -> None:
    """Draw the map of heads and MLPs; its numbers have every part, and its title their sum."""
    drawn = parts[parts["layer"].notna()].astype({"layer": int})
    drawn = drawn.merge(effects[["layer", "head", "effect"]], on=["layer", "head"], how="left")
    figure = charts.head_map(
        drawn.assign(text=[_hover_text(row) for row in drawn.to_dict("records")]),
        "score",
        title=f"Direct logit attribution (sum {signed(parts['score'].sum())})",
        name="score",
        text="text",
        signed=True,
        dark=is_dark(),
    )
    chart(figure, parts, key=MAP, on_select=on_select, about=about)


def _hover_text(row: Mapping[str, float]) -> str:
    """What a part writes; of a head that was tried also what its ablation does."""
    if pd.isna(row["head"]):
        return f"MLP {row['layer']}: {signed(row['score'])}"
    said = f"Head {row['layer']}-{row['head']}: {signed(row['score'])}"
    return said if pd.isna(row["effect"]) else f"{said}, ablated {signed(row['effect'])}"
