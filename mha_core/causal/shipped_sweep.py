"""The shipped ablation sweep: SmolLM2's heads in twelve prompts, which takes minutes to run."""

from collections.abc import Sequence

import numpy as np

from mha_core.causal.prompt_sweep import Method, PromptEffects
from mha_core.causal.prompts import Prompt
from mha_core.models.model import Model
from mha_core.resources import asset

FILE = "mary-and-john.npz"
# Wang et al. 2022's task: of two names, the one that occurs once is given the drink. `mha_core.tools.sweep` makes it.
PROMPT = Prompt("When Mary and John went to the store, John gave a drink to", " Mary", " John")
METHOD: Method = "resample"


def read_sweep(model: Model, prompts: Sequence[Prompt], method: Method) -> PromptEffects | None:
    """Return the shipped sweep of these prompts by this model and method; None of all others."""
    with np.load(asset("experiments", FILE), allow_pickle=False) as stored:
        texts = [(prompt.text, *prompt.answers) for prompt in prompts]
        same = str(stored["fingerprint"]) == model.fingerprint and str(stored["method"]) == method
        if not same or stored["prompts"].tolist() != list(map(list, texts)):
            return None
        return PromptEffects(
            tuple(prompts), method, stored["before"].astype(float), stored["after"].astype(float)
        )
