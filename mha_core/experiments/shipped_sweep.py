"""The ablation sweep that comes with the program: SmolLM2's heads in twelve prompts, which take minutes to try."""

from collections.abc import Sequence

import numpy as np

from mha_core.experiments.prompt_sweep import Method, PromptEffects
from mha_core.experiments.prompts import Prompt
from mha_core.model import Model
from mha_core.resources import asset

FILE = "mary-and-john.npz"


def read_sweep(model: Model, prompts: Sequence[Prompt], method: Method) -> PromptEffects | None:
    """Return the shipped sweep of these prompts by this model and method; None where none is shipped."""
    path = asset("experiments", FILE)
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as kept:
        texts = [(one.text, *one.answers) for one in prompts]
        same = str(kept["fingerprint"]) == model.fingerprint and str(kept["method"]) == method
        if not same or kept["prompts"].tolist() != list(map(list, texts)):
            return None
        return PromptEffects(
            tuple(prompts), method, kept["before"].astype(float), kept["after"].astype(float)
        )


def write_sweep(effects: PromptEffects, model: Model) -> None:
    """Write a finished sweep as the shipped one."""
    path = asset("experiments", FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        fingerprint=model.fingerprint,
        method=effects.method,
        prompts=[(one.text, *one.answers) for one in effects.prompts],
        before=effects.before.astype(np.float32),
        after=effects.after.astype(np.float32),
    )
