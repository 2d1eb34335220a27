"""Experiment: take heads away, or let them say something else, and read what the model does then."""

from pages.parts.experiment import deciding, matter, pruning, selective, switch
from pages.parts.experiment.frame import PARTS, questions, style, without_decoder
from pages.parts.frame import loading, shell, state

SHOWN = {
    "Switch heads off": switch.view,
    "Which matter?": matter.view,
    "Selective?": selective.view,
    "How many can go?": pruning.view,
    "Where is it decided?": deciding.view,
}


def draw() -> None:
    """The part of the page that is chosen, and what may be asked of it."""
    request = shell.page(
        "Experiment",
        question="What breaks without a head?",
        lead="Looking at something is not using it. Take heads away, and read what the model says then.",
        shown=shell.Shown(sentence=state.own_part("try", PARTS) in PARTS[:3]),
    )
    style()
    part = shell.part_of("What to try", PARTS, "try")
    without_decoder(request)
    if shell.or_show_error(loading.inside, request):
        SHOWN.get(part, switch.view)(request)
    questions()
