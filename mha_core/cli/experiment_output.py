"""Output of `ablate` and `patch`: rows, and what stands beside them in JSON. Layers and heads count from 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mha_core.causal.outcomes import LogitDifference, Outcome
from mha_core.causal.prompt_sweep import LEVEL, PromptEffects
from mha_core.causal.sweep import SweepResult
from mha_core.cli.output import CommandOutput
from mha_core.display_names import Head, head_name
from mha_core.models.prediction import Label, NextToken
from mha_core.record.export import model_of
from mha_core.record.record import ModelInfo
from mha_core.text.tokens import Tokens

Measurement = tuple[
    tuple[float, ...], Sequence[Label | NextToken]
]  # the outcome's numbers, and the likeliest next tokens or labels


@dataclass(frozen=True)
class Experiment:
    """A text, a model, the outcome, the edited heads, the method and the text that is patched from.

    `method`: the factor of the heads' output, "mean", "patch", or "path" from the one head that is edited.
    """

    tokens: Tokens
    model: ModelInfo
    outcome: Outcome
    edited: Sequence[Head]
    method: float | str
    source: Tokens | None = None

    @property
    def heads(self) -> str:
        """Names of the edited heads."""
        return ", ".join(map(head_name, self.edited))

    @property
    def about(self) -> dict[str, Any]:
        """The experiment for JSON."""
        word = self.outcome if isinstance(self.outcome, LogitDifference) else None
        return {
            "model": model_of(self.model),
            "text": self.tokens.text,
            "source": None if self.source is None else self.source.text,
            "tokens": [piece.text for piece in self.tokens.pieces],
            "target": word and word.target,
            "against": word and word.against,
            "heads": self.heads,
            "how": self.method,
        }

    def outcome_name(self, name: str) -> str:
        """Return a number's name with the words whose logits it compares."""
        if not isinstance(self.outcome, LogitDifference) or not name.startswith("logit"):
            return name
        against = "" if self.outcome.against is None else f" against {self.outcome.against!r}"
        return f"{name} of {self.outcome.target!r}{against}"

    def edit_text(self, each: str = "") -> str:
        """Describe the edit of the heads, or of `each` of them in turn."""
        heads = each or self.heads
        if self.source is not None and self.method == "path":
            is_grouped = self.model.n_kv_heads not in (None, self.model.n_heads)
            shared = "; heads that share keys and values have one effect" * is_grouped
            return f"path patching from {self.heads} to {each}, source '{self.source.text}'{shared}"
        if self.source is not None:
            return f"activation patching of {heads} from '{self.source.text}'"
        method = "mean ablation" if self.method == "mean" else "zero ablation" if self.method == 0 else None
        text = f"{method} of {heads}" if method else f"{heads} times {self.method:g}"
        return f"{text}, {self.heads} throughout" if each and self.heads else text


def run_output(
    experiment: Experiment, names: Sequence[str], before: Measurement, after: Measurement
) -> CommandOutput:
    """Return a run without and with the intervention: a row for each number and each likely next token or label."""
    import pandas as pd

    is_label = any(isinstance(answer, Label) for answer in before[1])
    listed, noun = ("labels", "label") if is_label else ("next", "token")
    frame = pd.DataFrame(
        {"run": run, "what": what, "value": value}
        for run, (numbers, words) in (("before", before), ("after", after))
        for what, value in {
            **dict(zip(names, numbers, strict=True)),
            **{
                f"probability of {word.text!r}": word.probability
                for word in words
                if word.probability is not None
            },
        }.items()
    )
    about = {
        "effect": after[0][0] - before[0][0],
        listed: {
            run: [{noun: word.text, "probability": word.probability, "logit": word.logit} for word in words]
            for run, (_, words) in (("before", before), ("after", after))
        },
    }
    table = frame.pivot(index="what", columns="run", values="value")[["before", "after"]]
    table = table.reindex(frame["what"].unique()).rename_axis(experiment.outcome_name(names[0]), columns=None)
    heading = f"{experiment.model.title}: {experiment.edit_text()}.\n"
    return CommandOutput(frame, experiment.about | about, heading, table)


def sweep_output(experiment: Experiment, effects: SweepResult, top: int) -> CommandOutput:
    """Return each head, input of a head, or state and token of one prompt in turn.

    The table has the `top` largest effects.
    """
    frame, names = effects.to_frame(), effects.names
    if effects.axes[-1] == "token":
        labels = [experiment.tokens.label(piece) for piece in experiment.tokens.pieces]
        frame.insert(2, "token_text", frame["token"].map(dict(enumerate(labels))))
    about = {"before": dict(zip(names, effects.before, strict=True))}
    if effects.source is not None:
        about["source_outcome"] = dict(zip(names, effects.source, strict=True))
    unit = "prompt" if isinstance(experiment.outcome, LogitDifference) else "sentence"
    each = f"each {'later ' * ('input' in effects.axes)}{effects.axes[-1]}"
    heading = (
        f"{experiment.model.title}, a single {unit}'s map: {experiment.outcome_name(names[0])} "
        f"{effects.before[0]:.4f}; {experiment.edit_text(each)}.\n"
    )
    table = frame.sort_values("effect", key=abs, ascending=False).head(top)
    return CommandOutput(frame, experiment.about | about, heading, table)


def prompts_output(model: ModelInfo, sweeps: Sequence[PromptEffects], top: int) -> CommandOutput:
    """Return each head over many prompts, by each method: means with their 95 % intervals.

    The table has the `top` largest effects by the first method. `named`: the heads that matter by resample ablation,
    their interval corrected for the number of heads.
    """
    import pandas as pd

    frames = [sweep.to_frame() for sweep in sweeps]
    first, prompts = sweeps[0], sweeps[0].prompts
    named = [head_name(head) for sweep in sweeps for head in sweep.named]
    about = {
        "model": model_of(model),
        "prompts": [
            {"text": prompt.text, "target": prompt.target, "against": prompt.against} for prompt in prompts
        ],
        "before": first.outcome,
        "level": LEVEL,
        "named": named,
    }
    heading = (
        f"{model.title}, {len(prompts)} prompts such as '{prompts[0].text}': mean logit difference "
        f"{first.outcome:.2f}.\nHeads that matter by resample ablation: {', '.join(named) or 'none'}.\n"
    )
    table = frames[0][["layer", "head", "effect", "low", "high"]].rename(columns={"effect": first.method})
    effects = {sweep.method: frame["effect"] for sweep, frame in zip(sweeps, frames, strict=True)}
    table = table.assign(**effects).sort_values(first.method, key=abs, ascending=False).head(top)
    return CommandOutput(pd.concat(frames, ignore_index=True), about, heading, table)
