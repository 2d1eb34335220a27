"""An experiment as data for JSON, and that data as lines for a person. Layers, heads and tokens of lines from 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mha_core.experiments.outcomes import Outcome, Word
from mha_core.experiments.prompt_sweep import LEVEL, PromptEffects
from mha_core.experiments.sweep import Effects
from mha_core.export import model_of
from mha_core.prediction import NextToken
from mha_core.record import ModelInfo
from mha_core.tokens import Tokens
from mha_core.wording import head_name

Row = dict[str, Any]
Outcomes = tuple[tuple[float, ...], Sequence[NextToken]]


@dataclass(frozen=True)
class Answer:
    """What a command says: everything, its rows, and its table."""

    data: Row
    rows: Sequence[Row]
    text: str


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

    @property
    def data(self) -> Row:
        """The same for JSON."""
        word = self.outcome if isinstance(self.outcome, Word) else None
        return {
            "model": model_of(self.model),
            "text": self.tokens.text,
            "source": None if self.source is None else self.source.text,
            "tokens": [piece.text for piece in self.tokens.pieces],
            "target": word and word.target,
            "against": word and word.against,
            "heads": self.heads,
            "how": self.how,
        }

    def measured(self, name: str) -> str:
        """What a number is of, with the words whose logits it compares."""
        if not isinstance(self.outcome, Word) or not name.startswith("logit"):
            return name
        against = "" if self.outcome.against is None else f" against {self.outcome.against!r}"
        return f"{name} of {self.outcome.target!r}{against}"

    def change(self, each: str = "") -> str:
        """What was done to the heads, or to `each` of them in turn, in the field's words."""
        if self.source is not None:
            return f"activation patching of {each or self.heads} from '{self.source.text}'"
        method = "mean ablation" if self.how == "mean" else "zero ablation" if self.how == 0 else None
        done = f"{method} of {each or self.heads}" if method else f"{each or self.heads} times {self.how:g}"
        return f"{done}, {self.heads} throughout" if each and self.heads else done


def once_answer(asked: Asked, names: Sequence[str], before: Outcomes, after: Outcomes) -> Answer:
    """A run without and with the intervention: a row for every number and every next word."""
    data, rows = asked.data, list[Row]()
    for run, (numbers, words) in (("before", before), ("after", after)):
        told = [{"token": w.text, "probability": w.probability, "logit": w.logit} for w in words]
        data[run] = {**dict(zip(names, numbers, strict=True)), "next": told}
        shares = {f"probability of {w.text!r}": w.probability for w in words}
        found = (*zip(names, numbers, strict=True), *shares.items())
        rows += [{"run": run, "what": what, "value": value} for what, value in found]
    data["effect"] = after[0][0] - before[0][0]
    lines = [f"{asked.model.title}: {asked.change()}."]
    for name, old, new in zip(names, before[0], after[0], strict=True):
        lines.append(f"{asked.measured(name):32} {old:9.4f} -> {new:9.4f}")
    for left, right in zip(before[1], after[1], strict=True):
        was, now = (f"{100 * word.probability:5.1f} %  {word.text!r}" for word in (left, right))
        lines.append(f"{was:26} {now}")
    return Answer(data, rows, "\n".join(lines) + "\n")


def sweep_answer(asked: Asked, effects: Effects, top: int) -> Answer:
    """Every head or place of one prompt in turn: `effects` [layer][head] or [state][token], the outcome's change.

    Rows have layer and head from 1, or state and token from 0.
    """
    names, of_heads = effects.names, len(effects.after) == asked.model.n_layers  # or states, one more
    axes = ("layer", "head") if of_heads else ("state", "token")
    strongest = [
        {"place": _place(place, asked.tokens, of_heads), "effect": effect}
        for place, effect in effects.strongest(top)
    ]
    data = asked.data | {
        "axes": axes,
        "before": dict(zip(names, effects.before, strict=True)),
        "effects": effects.effect.tolist(),
        "after": {name: effects.numbers[..., i].tolist() for i, name in enumerate(names)},
        "strongest": strongest,
    }
    if effects.source is not None:
        data["source_outcome"] = dict(zip(names, effects.source, strict=True))
    rows = [
        {axes[0]: i + of_heads, axes[1]: j + of_heads, "effect": effect}
        for i, row in enumerate(data["effects"])
        for j, effect in enumerate(row)
    ]
    what = "prompt" if isinstance(asked.outcome, Word) else "sentence"
    told = f"{asked.measured(names[0])} {effects.before[0]:.4f}; {asked.change(f'each {axes[1]}')}"
    lines = [f"{asked.model.title}, a single {what}'s map: {told}."]
    lines += [f"{row['place']:>24}  {row['effect']:+9.4f}" for row in strongest]
    return Answer(data, rows, "\n".join(lines) + "\n")


def prompts_answer(model: ModelInfo, found: Sequence[PromptEffects], top: int) -> Answer:
    """Every head over many prompts, by every method that was tried: means with their 95 % intervals.

    `named`: the heads that matter by resample ablation, their interval corrected for the number of heads.
    """
    prompts, n = found[0].prompts, len(found[0].prompts)
    named = next(([head_name(head) for head in one.named] for one in found if one.method == "resample"), [])
    widths = {one.method: one.half_width() for one in found}
    rows = [
        {
            "layer": layer + 1,
            "head": head + 1,
            **{
                f"{one.method} {what}": float(one.mean[layer, head] + sign * widths[one.method][layer, head])
                for one in found
                for what, sign in (("effect", 0), ("low", -1), ("high", 1))
            },
            "named": head_name((layer, head)) in named,
        }
        for layer in range(model.n_layers)
        for head in range(model.n_heads)
    ]
    before = found[0].before
    outcome = float((before[:, 0] - (before[:, 1] if before.shape[1] > 1 else 0)).mean())
    data = {
        "model": model_of(model),
        "prompts": [{"text": one.text, "target": one.target, "against": one.against} for one in prompts],
        "before": outcome,
        "level": LEVEL,
        "named": named,
        "heads": rows,
        "answers": {
            one.method: one.changes.mean(0).tolist() for one in found
        },  # [layer][head][answer]: the change of its logit
    }
    lines = [f"{model.title}, {n} prompts such as '{prompts[0].text}': mean logit difference {outcome:.2f}."]
    lines.append(f"Heads that matter by resample ablation: {', '.join(named) or 'none'}.")
    lines.append(f"{'':6}" + "".join(f"{f'{one.method} ablation':>20}" for one in found))
    ranked = sorted(rows, key=lambda row: -abs(row[f"{found[0].method} effect"]))[:top]
    for row in ranked:
        numbers = [
            f"{row[f'{m} effect']:+.2f} ± {(row[f'{m} high'] - row[f'{m} effect']):.2f}" for m in widths
        ]
        lines.append(f"{row['layer']}-{row['head']:<4}" + "".join(f"{number:>20}" for number in numbers))
    return Answer(data, rows, "\n".join(lines) + "\n")


def _place(place: tuple[int, int], tokens: Tokens, of_heads: bool) -> str:
    """A head as 4-2; a state by its layer and its token, the embedding as layer 0."""
    if of_heads:
        return head_name(place)
    state, token = place
    return f"layer {state}, token {token + 1} {tokens.label(tokens.pieces[token])!r}"


def listed(found: Sequence[Answer], numbered: bool) -> list[Mapping[str, Any]]:
    """The rows of all answers, `numbered` by their text."""
    return [
        {**({"sentence": number} if numbered else {}), **row}
        for number, one in enumerate(found, 1)
        for row in one.rows
    ]
