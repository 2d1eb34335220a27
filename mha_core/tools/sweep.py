"""Make the shipped ablation sweep, of SmolLM2: `python -m mha_core.tools.sweep`, some minutes."""

import sys

import numpy as np

from mha_core.causal import final_result, sweep_prompts, with_other_names
from mha_core.causal.shipped_sweep import FILE, METHOD, PROMPT
from mha_core.models.load import load_model
from mha_core.models.model_list import DECODER
from mha_core.resources import asset


def main() -> None:
    """Ablate every head over the prompts, and write the answers' logits to `assets/experiments`."""
    model = load_model(DECODER)
    effects = final_result(sweep_prompts(with_other_names(PROMPT, model), model, METHOD))
    path = asset("experiments", FILE)
    np.savez_compressed(
        path,
        fingerprint=model.fingerprint,
        method=METHOD,
        prompts=[(prompt.text, *prompt.answers) for prompt in effects.prompts],
        before=effects.before.astype(np.float32),
        after=effects.after.astype(np.float32),
    )
    sys.stderr.write(f"{path}\n")


if __name__ == "__main__":
    main()
