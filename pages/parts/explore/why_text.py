"""The answer to "Why?" in words: what a score is made of, and what removing a head does to it. No Streamlit here."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mha_core import Grid
from mha_core.causal.mlp_sources import Side
from mha_core.display_names import head_name, percent, signed
from mha_core.draw.text import listed
from pages.parts.explore.walk import Step

MOSTLY, PARTLY = 0.5, 0.2  # shares of a side of the score; a smaller largest part is one of many
CLEAR = 0.01  # of the weight, by which a head must do more than a random one


class LargestPart(NamedTuple):
    """The largest part of one side of a score, and the token that it looks at, where it is a head."""

    side: Side
    name: str
    share: float
    source: str | None


def made_of(head: str, key: str, largest: Sequence[LargestPart]) -> str:
    """Say what the score of a link is made of, a sentence a side."""
    looks_at = f"{head} looks at “{key}”"
    if not largest[0].share > 0:  # a score at or below the mean
        return f"{looks_at} no more than at other words."
    return " ".join([f"{looks_at}.", *map(_side_text, largest)])


def _side_text(part: LargestPart) -> str:
    which = {"embedding": "the word's embedding", "bias": "a bias"}.get(part.name, part.name)
    if part.source is not None:
        which += f", which looks at “{part.source}”"
    if part.share < PARTLY:
        return f"Its {part.side} side is made of many small parts, first {which}."
    return f"Its {part.side} side is {'mostly' if part.share >= MOSTLY else 'partly'} made of {which}."


def first_layer(head: str, query: str, key: str) -> str:
    """Say that before layer 1 only the embedding was written."""
    return f"{head} reads the words “{query}” and “{key}” alone: no head comes before layer 1."


def sees_one(head: str, key: str) -> str:
    """Say that a head has no choice there."""
    return f"{head} sees only “{key}” there: nothing is to be explained."


def needed(mlp: int, heads: Sequence[tuple[str, str, float]]) -> str:
    """Say which heads an MLP needed for its part: of the largest the names, the words they look at, the shares."""
    first, word, share = heads[0]
    if not share > 0:
        return f"MLP {mlp} would add more without {first}, which looks at “{word}”."
    alike = [name for name, seen, part in heads if seen == word and part > 0]
    if len(alike) == 1:
        return f"MLP {mlp} needs {first} most, which looks at “{word}”."
    return f"MLP {mlp} needs {listed(alike)} most: they look at “{word}”."


def whole(row: Mapping[str, Any]) -> str:
    """Return the sum of a side's parts, of which `row` is one: all shares, or without shares a score below the mean."""
    return "100%" if math.isfinite(row["share"]) else "not above the mean"


def sign_text(shares: Sequence[float]) -> str:
    """Explain the negative shares among those shown on one side, and those of more than 100%; empty where none is."""
    if any(abs(share) > 1 for share in shares):
        return "Parts with − work against it, so others exceed 100%."
    return "A part with − works against it." if any(share < 0 for share in shares) else ""


def tokens_text(grid: Grid, step: Step, query: int, key: int, names: Sequence[str]) -> str:
    """Say of words of several tokens between which two tokens the link is."""
    if all(len(grid.units[unit].pieces) == 1 for unit in (step.query, step.key)):
        return ""
    return f"Asked of the tokens “{names[query]}” and “{names[key]}”, the strongest pair."


def part_name(row: Mapping[str, Any]) -> str:
    """Return the name of a part: a head's own, an MLP's by its layer, embedding or bias."""
    if row["part"] == "head":
        return head_name((row["layer"] - 1, row["head"] - 1))
    return f"MLP {row['layer']}" if row["part"] == "mlp" else str(row["part"])


def number(score: float, share: float) -> str:
    """Return a score with its sign, and its share of a score above the mean."""
    return f"{signed(score)} · {percent(share)}" if math.isfinite(share) else signed(score)


def looks(word: str, weight: float) -> str:
    """Say at which word a head looks most from there."""
    return f"looks at “{word}” {percent(weight)}"


def removal(
    rows: Sequence[Mapping[str, Any]], removed: str, side: Side, word: str, link: tuple[str, str]
) -> str:
    """Say what removing a head does to the weight of a link (its head, its key), beside a random head of its layer.

    `rows` as of `weight_without_head`; `word` is the token of that `side`.
    """
    everywhere, here = ([row for row in rows if row["place"] == place] for place in ("everywhere", side))
    before, control = rows[0]["before"], rows[0]["control"]
    kinds = {"zero": "zero ablation", "mean": "mean ablation"}
    after = ", ".join(f"{percent(row['after'])} ({kinds[row['replacement']]})" for row in everywhere)
    text = [f"Without {removed}: {percent(before)} → {after}."]
    if control:
        beside = ", ".join(percent(row["after_control"]) for row in everywhere)
        text.append(f"Without {control}, a random head of its layer: {beside}.")
    text.append(f"Without only its writing at “{word}”: {', '.join(percent(row['after']) for row in here)}.")
    finding = "Mean ablation follows." if len(everywhere) == 1 else _cause_text(everywhere, removed, link)
    return " ".join([*text, finding])


def _cause_text(rows: Sequence[Mapping[str, Any]], removed: str, link: tuple[str, str]) -> str:
    """Judge a removal by all its replacements: a cause, a part that works against the link, or neither."""
    effects = [row["after"] - row["before"] for row in rows]
    by_chance = [row["after_control"] - row["before"] if row["control"] else 0.0 for row in rows]
    if all(effect < min(other, 0) - CLEAR for effect, other in zip(effects, by_chance, strict=True)):
        return f"So {link[0]} looks at “{link[1]}” because of {removed}."
    if all(effect > CLEAR for effect in effects):
        return f"So {removed} works against this: removing it raises the weight."
    return f"So {removed} is no clear cause: removing a random head does about as much."
