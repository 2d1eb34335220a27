"""An experiment as data for JSON, and that data as lines for a person. Layers, heads and tokens of lines from 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mha_core.experiments.effects import Effects
from mha_core.experiments.outcomes import Outcome, Word
from mha_core.export import model_of
from mha_core.prediction import NextToken
from mha_core.record import ModelInfo
from mha_core.tokens import Tokens
from mha_core.wording import head_name

Outcomes = tuple[tuple[float, ...], Sequence[NextToken]]


@dataclass(frozen=True)
class Asked:
    """What was asked: the text, the model, what is measured, the heads by their names, how they are changed (a
    factor, "mean" or "patch"), and the text that is taken from."""

    tokens: Tokens
    model: ModelInfo
    outcome: Outcome
    heads: str
    how: float | str
    source: Tokens | None = None


def once_data(asked: Asked, names: Sequence[str], before: Outcomes, after: Outcomes) -> dict[str, Any]:
    """A run without and with the intervention."""
    found = _asked(asked)
    for name, (numbers, words) in (("before", before), ("after", after)):
        found[name] = {
            **dict(zip(names, numbers, strict=True)),
            "next": [{"token": w.text, "probability": w.probability, "logit": w.logit} for w in words],
        }
    return found | {"effect": after[0][0] - before[0][0]}


def effects_data(asked: Asked, effects: Effects, top: int) -> dict[str, Any]:
    """Every head or place in turn: `effects` [layer][head] or [state][token], the change of the outcome."""
    names = effects.names
    of_heads = len(effects.after) == asked.model.n_layers  # states are one more: the embedding
    found = _asked(asked) | {
        "axes": ["layer", "head"] if of_heads else ["state", "token"],
        "before": dict(zip(names, effects.before, strict=True)),
        "effects": effects.effect.tolist(),
        "after": {name: effects.numbers[..., i].tolist() for i, name in enumerate(names)},
        "strongest": [
            {"place": _place(place, asked.tokens, of_heads), "effect": effect}
            for place, effect in effects.strongest(top)
        ],
    }
    if effects.source is not None:
        found["source_outcome"] = dict(zip(names, effects.source, strict=True))
    return found


def once_rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for every number and every next word, before and after."""
    rows = list[dict[str, Any]]()
    for when in ("before", "after"):
        for name, number in data[when].items():
            if name != "next":
                rows.append({"run": when, "what": name, "value": number})
        rows += [
            {"run": when, "what": f"probability of {word['token']!r}", "value": word["probability"]}
            for word in data[when]["next"]
        ]
    return rows


def effects_rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for every head (layer and head from 1) or place (state and token from 0): the change of the outcome."""
    first, second = data["axes"]
    base = 1 if first == "layer" else 0
    return [
        {first: i + base, second: j + base, "effect": effect}
        for i, row in enumerate(data["effects"])
        for j, effect in enumerate(row)
    ]


def once_text(data: Mapping[str, Any]) -> str:
    """The outcome before and after, and the words beside each other."""
    lines = [f"{data['model']['title']}: {_what(data)}"]
    for name, number in data["before"].items():
        if name != "next":
            lines.append(f"{_measured(name, data):32} {number:9.4f} -> {data['after'][name]:9.4f}")
    for old, new in zip(data["before"]["next"], data["after"]["next"], strict=True):
        left, right = (f"{100 * row['probability']:5.1f} %  {row['token']!r}" for row in (old, new))
        lines.append(f"{left:26} {right}")
    return "\n".join(lines) + "\n"


def effects_text(data: Mapping[str, Any]) -> str:
    """The strongest, by how much they change the outcome."""
    name, before = next(iter(data["before"].items()))
    told = _measured(name, data)
    lines = [f"{data['model']['title']}: {told} {before:.4f}; the strongest changes, {_what(data)}"]
    lines += [f"{row['place']:>24}  {row['effect']:+9.4f}" for row in data["strongest"]]
    return "\n".join(lines) + "\n"


def _measured(name: str, data: Mapping[str, Any]) -> str:
    """What a number is of, with the words whose logits it compares."""
    if name not in ("logit", "logit difference") or data.get("target") is None:
        return name
    against = "" if data["against"] is None else f" against {data['against']!r}"
    return f"{name} of {data['target']!r}{against}"


def _what(data: Mapping[str, Any]) -> str:
    """What was done, in words."""
    how, axes = data["how"], data.get("axes")
    if how == "patch":
        each = data["heads"] if axes is None else "each head" if axes[1] == "head" else "each place"
        return f"{each} taken over from '{data['source']}'."
    done = "replaced by its mean output" if how == "mean" else f"times {how:g}"
    if axes is None:
        return f"{data['heads']} {done}."
    beside = f", with {data['heads']} the same throughout" if data["heads"] else ""
    return f"each head {done}{beside}."


def _asked(asked: Asked) -> dict[str, Any]:
    outcome = asked.outcome
    return {
        "model": model_of(asked.model),
        "text": asked.tokens.text,
        "source": None if asked.source is None else asked.source.text,
        "tokens": [piece.text for piece in asked.tokens.pieces],
        "target": outcome.target if isinstance(outcome, Word) else None,
        "against": outcome.against if isinstance(outcome, Word) else None,
        "heads": asked.heads,
        "how": asked.how,
    }


def _place(place: tuple[int, int], tokens: Tokens, of_heads: bool) -> str:
    """A head as 4-2; a state by its layer and its token, the embedding as layer 0."""
    if of_heads:
        return head_name(place)
    state, token = place
    return f"layer {state}, token {token + 1} {tokens.label(tokens.pieces[token])!r}"
