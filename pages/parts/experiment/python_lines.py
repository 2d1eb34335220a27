"""Python lines that compute the numbers of an experiment again. No Streamlit here."""

from collections.abc import Sequence

from mha_core.causal import Intervention, Outcome, Prompt
from pages.parts.frame.request import Request, name_outside


def model_lines(request: Request, *names: str) -> list[str]:
    """Return the lines that import `names` of the experiments, load the model and read the sentence."""
    trained = "" if request.trained else ", trained=False"
    pair = f", {request.pair!r}" if request.pair else ""
    return [
        "from mha_core import load_model",
        f"from mha_core.causal import {', '.join(sorted(names))}",
        "",
        f"model = load_model({name_outside(request.model)!r}{trained})",
        f"tokens = model.tokenizer.encode({request.text!r}{pair})",
    ]


def ablation_lines(request: Request, changes: Sequence[Intervention], measure: str) -> list[str]:
    """Return the lines that print `next_words`, `predicted_labels`, or the last of the `state_cosines`, with these
    interventions."""
    names = {type(change).__name__ for change in changes}
    return [
        *model_lines(request, measure, *names),
        f"changes = {tuple(changes)!r}",
        f"print({measure}(tokens, model, changes){'[-1]' * (measure == 'state_cosines')})",
    ]


def sweep_lines(request: Request, outcome: Outcome, method: str, prompts: Sequence[Prompt]) -> list[str]:
    """Return the lines that sweep all heads of the sentence, or of its prompts with other names."""
    if prompts:
        names = ("Prompt", "final_result", "sweep_prompts", "with_other_names")
        return [
            *model_lines(request, *names),
            f"prompts = with_other_names({prompts[0]!r}, model)",
            f"print(final_result(sweep_prompts(prompts, model, {method!r})).to_frame())",
        ]
    factor = None if method == "mean" else 0.0
    return [
        *model_lines(request, type(outcome).__name__, "sweep_heads", "final_result"),
        f"print(final_result(sweep_heads(tokens, model, {outcome!r}, factor={factor})).to_frame())",
    ]


def patch_lines(request: Request, source: str, outcome: Outcome, sweep: str, **options: object) -> list[str]:
    """Return the lines that patch heads, states or paths from the text `source`, with these options of the sweep."""
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    return [
        *model_lines(request, type(outcome).__name__, "final_result", sweep),
        f"source = model.tokenizer.encode({source!r})",
        f"print(final_result({sweep}(source, tokens, model, {outcome!r}{more})).to_frame())",
    ]
