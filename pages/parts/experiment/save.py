"""Save: the numbers of an experiment, the link to it, and the Python lines that give them again.

In: the frame that a chart was drawn from, and what its file says of itself. Out: a part of the page, closed at first.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from mha_core.causal import Intervention, Outcome, Prompt
from mha_core.record import export
from pages.parts.frame.charts import file_name
from pages.parts.frame.page_text import say
from pages.parts.frame.request import Request

WRITERS: Mapping[str, Callable[[pd.DataFrame], str]] = {"csv": export.csv_of, "json": export.json_of}


def save_box(
    key: str, title: str, frame: pd.DataFrame, about: Mapping[str, str], lines: Sequence[str]
) -> None:
    """Draw the box; `about` goes into every file and has the link, `lines` are Python."""
    box = st.expander("Save", key=f"{key}-save", on_change="rerun")
    if not box.open:
        return
    with box:
        say("Figure: the camera on the chart saves PNG or SVG.")
        with st.container(horizontal=True, key=f"{key}-files"):
            for kind, write in WRITERS.items():
                st.download_button(
                    kind.upper(),
                    partial(write, frame.assign(**about)),
                    f"{file_name(title)}.{kind}",
                    on_click="ignore",
                    key=f"{key}-save-{kind}",
                )
        say("Link to this view:")
        st.code(about["link"], language=None, wrap_lines=True)
        say("Python, where HeadScope is installed:")
        st.code("\n".join(lines), language="python", wrap_lines=True)


def model_lines(request: Request, *names: str) -> list[str]:
    """Return the lines that import `names` of the experiments, load the model and read the sentence."""
    trained = "" if request.trained else ", trained=False"
    pair = f", {request.pair!r}" if request.pair else ""
    return [
        "from mha_core import load_model",
        f"from mha_core.causal import {', '.join(sorted(names))}",
        "",
        f"model = load_model({request.model!r}{trained})",
        f"tokens = model.tokenizer.encode({request.text!r}{pair})",
    ]


def ablation_lines(request: Request, changes: Sequence[Intervention], *, words: bool) -> list[str]:
    """Return the lines that print the next words, or the cosines of the last states, with these interventions."""
    measure = "next_words" if words else "state_cosines"
    names = {type(change).__name__ for change in changes}
    return [
        *model_lines(request, measure, *names),
        f"changes = {tuple(changes)!r}",
        f"print({measure}(tokens, model, changes){'' if words else '[-1]'})",
    ]


def sweep_lines(request: Request, outcome: Outcome, method: str, prompts: Sequence[Prompt]) -> list[str]:
    """Return the lines that sweep all heads of the sentence, or of its prompts with other names."""
    kind = type(outcome).__name__
    if prompts:
        (first, *_), names = prompts, ("Prompt", "final_result", "sweep_prompts", "with_other_names")
        return [
            *model_lines(request, *names),
            f"prompts = with_other_names({first!r}, model)",
            f"print(final_result(sweep_prompts(prompts, model, {method!r})).to_frame())",
        ]
    factor = None if method == "mean" else 0.0
    run = f"sweep_heads(tokens, model, {outcome!r}, factor={factor})"
    return [
        *model_lines(request, kind, "sweep_heads", "final_result"),
        f"print(final_result({run}).to_frame())",
    ]


def patch_lines(request: Request, source: str, outcome: Outcome, sweep: str) -> list[str]:
    """Return the lines that patch heads or states from the text `source`."""
    return [
        *model_lines(request, type(outcome).__name__, "final_result", sweep),
        f"source = model.tokenizer.encode({source!r})",
        f"print(final_result({sweep}(source, tokens, model, {outcome!r})).to_frame())",
    ]
