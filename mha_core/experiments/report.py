"""What an experiment on the command line answers: a frame, and what stands beside it. Layers and heads count from 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mha_core.command_io import Answer
from mha_core.experiments.outcomes import Outcome, Word
from mha_core.experiments.prompt_sweep import LEVEL, PromptEffects
from mha_core.experiments.sweep import Effects
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

    @property
    def data(self) -> dict[str, Any]:
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
    """A run without and with the intervention: a row for every number and every likely next word."""
    import pandas as pd

    frame = pd.DataFrame(
        {"run": run, "what": what, "value": value}
        for run, (numbers, words) in (("before", before), ("after", after))
        for what, value in {
            **dict(zip(names, numbers, strict=True)),
            **{f"probability of {word.text!r}": word.probability for word in words},
        }.items()
    )
    beside = {
        "effect": after[0][0] - before[0][0],
        "next": {
            run: [{"token": w.text, "probability": w.probability, "logit": w.logit} for w in words]
            for run, (_, words) in (("before", before), ("after", after))
        },
    }
    shown = frame.pivot(index="what", columns="run", values="value")[["before", "after"]]
    shown = shown.reindex(frame["what"].unique()).rename_axis(asked.measured(names[0]), columns=None)
    return Answer(frame, asked.data | beside, f"{asked.model.title}: {asked.change()}.\n", shown)


def sweep_answer(asked: Asked, effects: Effects, top: int) -> Answer:
    """Every head, or every state and token, of one prompt in turn; a person is shown the `top` largest effects."""
    frame, names = effects.to_frame(), effects.names
    if effects.axes[1] == "token":
        labels = [asked.tokens.label(piece) for piece in asked.tokens.pieces]
        frame.insert(2, "token_text", frame["token"].map(dict(enumerate(labels))))
    beside = {"before": dict(zip(names, effects.before, strict=True))}
    if effects.source is not None:
        beside["source_outcome"] = dict(zip(names, effects.source, strict=True))
    what = "prompt" if isinstance(asked.outcome, Word) else "sentence"
    told = f"{asked.measured(names[0])} {effects.before[0]:.4f}; {asked.change(f'each {effects.axes[1]}')}"
    shown = frame.sort_values("effect", key=abs, ascending=False).head(top)
    return Answer(frame, asked.data | beside, f"{asked.model.title}, a single {what}'s map: {told}.\n", shown)


def prompts_answer(model: ModelInfo, found: Sequence[PromptEffects], top: int) -> Answer:
    """Every head over many prompts, by every method that was tried: means with their 95 % intervals.

    A person is shown the `top` largest effects by the first method. `named`: the heads that matter by resample
    ablation, their interval corrected for the number of heads.
    """
    import pandas as pd

    frames = [one.to_frame() for one in found]
    first, prompts = found[0], found[0].prompts
    named = [head_name(head) for one in found for head in one.named]
    about = {
        "model": model_of(model),
        "prompts": [{"text": one.text, "target": one.target, "against": one.against} for one in prompts],
        "before": first.outcome,
        "level": LEVEL,
        "named": named,
    }
    said = (
        f"{model.title}, {len(prompts)} prompts such as '{prompts[0].text}': mean logit difference "
        f"{first.outcome:.2f}.\nHeads that matter by resample ablation: {', '.join(named) or 'none'}.\n"
    )
    shown = frames[0][["layer", "head", "effect", "low", "high"]].rename(columns={"effect": first.method})
    shown = shown.assign(**{one.method: rows["effect"] for one, rows in zip(found, frames, strict=True)})
    shown = shown.sort_values(first.method, key=abs, ascending=False).head(top)
    return Answer(pd.concat(frames, ignore_index=True), about, said, shown)
