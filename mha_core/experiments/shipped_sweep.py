"""The ablation sweep that comes with the program: SmolLM2's heads in twelve prompts, which take minutes to try."""

from collections.abc import Sequence

import numpy as np

from mha_core.experiments.prompt_sweep import Method, PromptEffects
from mha_core.experiments.prompts import Prompt
from mha_core.model import Model
from mha_core.resources import asset

FILE = "mary-and-john.npz"
# Wang et al. 2022's task: of two names the one that was said once is given the drink. `mha_core.tools.sweep` makes it.
PROMPT = Prompt("When Mary and John went to the store, John gave a drink to", " Mary", " John")
METHOD: Method = "resample"


def read_sweep(model: Model, prompts: Sequence[Prompt], method: Method) -> PromptEffects | None:
    """Return the shipped sweep of these prompts by this model and method; None of all others."""
    with np.load(asset("experiments", FILE), allow_pickle=False) as kept:
        texts = [(one.text, *one.answers) for one in prompts]
        same = str(kept["fingerprint"]) == model.fingerprint and str(kept["method"]) == method
        if not same or kept["prompts"].tolist() != list(map(list, texts)):
            return None
        return PromptEffects(
            tuple(prompts), method, kept["before"].astype(float), kept["after"].astype(float)
        )
