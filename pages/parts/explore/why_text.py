"""Why a head looks there, in words: the finding, the name and the number of a part. No Streamlit here."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mha_core import Grid
from mha_core.causal.mlp_sources import Side
from mha_core.display_names import head_name, percent, signed
from mha_core.draw.text import listed
from pages.parts.explore.walk import Step

MOST, FEW = 0.5, 0.2  # of the score: a part that is most of it, and one that is one of many


def because(
    head: str, best: Mapping[str, Any], query: str, key: str, source: tuple[str, int, float] | None
) -> str:
    """What made a link, `best` being its largest part and `source` of a head what it looks at there: the token's name,
    how far off it is, and the weight."""
    who = f"{head} looks at “{key}”"
    here = key if best["side"] == "key" else query
    name, share = name_of(best), best["share"]
    if not share > 0:  # also of a score below the mean, and of a query that sees one key alone
        return f"{who} no more than at other words."
    if share < FEW:
        return f"{who} by many small parts, first {name} at “{here}”."
    mostly = f"{who} {'mostly' if share >= MOST else 'partly'} because"
    if source is None:
        reason = {
            "mlp": f"of what {name} wrote at “{here}”",
            "embedding": f"of the word “{here}” itself",
            "bias": "of a bias, whatever the words",
        }[best["part"]]
        return f"{mostly} {reason}."
    word, offset, weight = source
    if best["side"] == "query":
        return f"{mostly} {name} brought “{word}” to “{query}”."
    if offset == -1 and weight >= MOST:
        return f"{mostly} {name} marked it: “{word}” came before."
    return f"{mostly} {name} brought “{word}” to it."


def first_layer(head: str, query: str, key: str) -> str:
    """Before layer 1 nothing was written but the embedding."""
    return f"{head} reads the words “{query}” and “{key}” alone: no head comes before layer 1."


def needed(mlp: int, heads: Sequence[tuple[str, str, float]]) -> str:
    """Which heads an MLP needed for its part: of the largest each the name, the word that it looks at and its share."""
    first, word, share = heads[0]
    if not share > 0:
        return f"MLP {mlp} would add more without {first}, which looks at “{word}”."
    alike = [name for name, seen, part in heads if seen == word and part > 0]
    if len(alike) == 1:
        return f"MLP {mlp} needs {first} most, which looks at “{word}”."
    return f"MLP {mlp} needs {listed(alike)} most: they look at “{word}”."


def tokens_said(grid: Grid, step: Step, query: int, key: int, names: Sequence[str]) -> str:
    """Of words of several tokens, which two were asked."""
    if all(len(grid.units[unit].pieces) == 1 for unit in (step.query, step.key)):
        return ""
    return f"Asked of the tokens “{names[query]}” and “{names[key]}”, the strongest pair."


def name_of(row: Mapping[str, Any]) -> str:
    """What wrote a part: a head by its name, an MLP by its layer."""
    if row["part"] == "head":
        return head_name((row["layer"] - 1, row["head"] - 1))
    return {"mlp": f"MLP {row['layer']}", "embedding": "the word itself", "bias": "bias"}[row["part"]]


def number(score: float, share: float) -> str:
    """A score with its sign, and its share where it has one."""
    of = f" · {percent(share)}" if math.isfinite(share) else ""
    return f"{signed(score)}{of}"


def looks(word: str, weight: float) -> str:
    """What a head looks at most from there."""
    return f"looks at “{word}” {percent(weight)}"


def without(rows: Sequence[Mapping[str, Any]], head: str, side: Side, word: str) -> str:
    """The weight of the link without a head: in the whole run, and without what it wrote at one token alone."""
    after = {(row["place"], row["replacement"]): percent(row["after"]) for row in rows}
    everywhere, here = (
        [after[place, how] for how in ("zero", "mean") if (place, how) in after]
        for place in ("everywhere", side)
    )
    named = [
        f"{share} ({how})" for share, how in zip(everywhere, ("zero ablation", "mean ablation"), strict=False)
    ]
    follows = " Mean ablation follows." if len(named) < 2 else ""
    return (
        f"Without {head}: {percent(rows[0]['before'])} → {', '.join(named)}. "
        f"Without its writing at “{word}” alone: {', '.join(here)}.{follows}"
    )
