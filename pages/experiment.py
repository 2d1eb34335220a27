"""Experiment: ablate heads, or patch them from another run, and read what the model does then."""

from pages.parts.experiment import ablation_sweep, patching, switch
from pages.parts.experiment.frame import PARTS, cut_for_decoder, draw_examples, style, without_decoder
from pages.parts.frame import loading, shell

VIEWS = dict(zip(PARTS, (switch.view, ablation_sweep.view, patching.view), strict=True))


def draw() -> None:
    """The part of the page that is chosen, and what may be asked of it."""
    request = shell.page(
        "Experiment",
        question="What breaks without a head?",
        lead="Looking at something is not using it. Switch heads off and see.",
    )
    style()
    part = shell.part_of("Experiment", PARTS, "try")
    without_decoder(request)
    used = shell.or_show_error(loading.inside, request)
    if used:
        VIEWS.get(part, switch.view)(cut_for_decoder(request, used))
    draw_examples()
