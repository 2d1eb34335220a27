"""Why a head looks there, in words: the finding, the name and the number of a part. No Streamlit here."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mha_core import Grid
from mha_core.mlp_sources import Side
from mha_core.picture.text import listed
from mha_core.wording import head_name, percent
from pages.parts.explore.walk import Step

MOST = 0.5  # of the score: a part from there on explains most of it


def because(step: Step, best: pd.Series, query: str, key: str, source: tuple[str, int, float] | None) -> str:
    """What made a link, `best` being its largest part and `source` of a head what it looks at there: the token's name,
    how far off it is, and the weight."""
    who = f"{head_name(step.head)} looks at “{key}”"
    mostly = "mostly because" if best.share >= MOST else "partly because"
    here = key if best.side == "key" else query
    if best.score <= 0:
        return f"{who} no more than at the other words."
    if source is None:
        reason = {
            "mlp": f"of what MLP {best.layer} wrote at “{here}”",
            "embedding": f"of the word “{here}” itself",
            "bias": "of a bias, whatever the words",
        }[best.part]
        return f"{who} {mostly} {reason}."
    name, (word, offset, weight) = head_name((best.layer - 1, best["head"] - 1)), source
    if best.side == "query":
        return f"{who} {mostly} {name} brought “{word}” to “{query}”."
    if offset == -1 and weight >= MOST:
        return f"{who} {mostly} {name} marked it: “{word}” came before."
    return f"{who} {mostly} {name} brought “{word}” to it."


def first_layer(head: str, query: str, key: str) -> str:
    """Before layer 1 nothing was written but the embedding."""
    return f"{head} reads the words “{query}” and “{key}” alone: no head comes before layer 1."


def needed(mlp: int, looks: Sequence[tuple[str, str]]) -> str:
    """Which heads an MLP needed, each with the word that it looks at."""
    if not looks:
        return f"No earlier head adds to this part of MLP {mlp}."
    first, word = looks[0]
    if len(looks) > 1 and len({seen for _, seen in looks}) == 1:
        heads = listed([head for head, _ in looks])
        return f"MLP {mlp} needs {heads} most: they look at “{word}”."
    return f"MLP {mlp} needs {first} most, which looks at “{word}”."


def tokens_said(grid: Grid, step: Step, query: int, key: int, names: Sequence[str]) -> str:
    """Of words of several tokens, which two were asked."""
    if all(len(grid.units[unit].pieces) == 1 for unit in (step.query, step.key)):
        return ""
    return f"Asked of the tokens “{names[query]}” and “{names[key]}”, the strongest pair."


def name_of(row: Mapping[str, Any], word: str) -> str:
    """What wrote a part: a head by its name, an MLP by its layer."""
    if row["part"] == "head":
        return head_name((row["layer"] - 1, row["head"] - 1))
    return {"mlp": f"MLP {row['layer']}", "embedding": f"the word “{word}”", "bias": "bias"}[row["part"]]


def number(score: float, share: float) -> str:
    """A score with its sign, and its share."""
    sign = "−" if score < 0 else "+"
    of = f" · {percent(share)}" if share == share else ""  # noqa: PLR0124 - a row of one key has no share
    return f"{sign}{abs(score):.2f}{of}"


def looks(word: str, weight: float) -> str:
    """What a head looks at most from there."""
    return f"looks at “{word}” {percent(weight)}"


def without(frame: pd.DataFrame, head: str, side: Side, word: str) -> str:
    """The weight of the link without a head: in the whole run, and without what it wrote at one token alone."""
    after = frame.set_index(["place", "replacement"]).after
    zero, mean = (
        {place: percent(after[place, how]) for place in ("everywhere", side)}
        if (side, how) in after
        else None
        for how in ("zero", "mean")
    )
    before = percent(frame.before.iloc[0])
    if zero is None:
        return ""
    if mean is None:
        return (
            f"Without {head}: {before} → {zero['everywhere']} (zero ablation). "
            f"Without its writing at “{word}” alone: {zero[side]}. Mean ablation follows."
        )
    return (
        f"Without {head}: {before} → {zero['everywhere']} (zero), {mean['everywhere']} (mean ablation). "
        f"Without its writing at “{word}” alone: {zero[side]}, {mean[side]}."
    )
