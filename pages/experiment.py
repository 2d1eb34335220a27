"""Experiment: ablate heads, or patch them from another run, and read what the model does then."""

import streamlit as st

from pages.parts.experiment import ablation_sweep, patching, switch
from pages.parts.experiment.common import PATCH, SWEEP, cut_for_decoder, offered_examples, say_without_decoder
from pages.parts.frame import loading, shell
from pages.parts.frame.page_text import say

CAVEAT = "A small effect does not prove a head unused: later heads can take over (self-repair, McGrath et al. 2023)."
VIEWS = {SWEEP: ablation_sweep.view, PATCH: patching.view}


def draw() -> None:
    """Draw the open part of the page."""
    part = shell.tab_of("Experiment")
    request = shell.page(
        "Experiment",
        question="What breaks without a head?",
        lead="Looking at something is not using it.",
        shown=shell.Shown(offered=offered_examples(part)),
    )
    st.html(shell.CSS / "experiment_page.css")
    say_without_decoder(request)
    model = shell.or_show_error(loading.inside, request)
    if model is None:
        return
    request = cut_for_decoder(request, model)
    record = shell.read(request)
    if record is not None:
        VIEWS.get(part, switch.view)(request, record, model)
        with st.popover("How to read this", type="tertiary"):
            say(CAVEAT)
