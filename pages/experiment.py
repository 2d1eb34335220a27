"""Experiment: ablate heads, or patch them from another run, and read what the model does then."""

from pages.parts.experiment import deciding, matter, pruning, selective, switch
from pages.parts.experiment.frame import PARTS, questions, style, without_decoder
from pages.parts.frame import loading, shell, state

VIEWS = (switch.view, matter.view, deciding.view, selective.view, pruning.view)


def draw() -> None:
    """The part of the page that is chosen, and what may be asked of it."""
    request = shell.page(
        "Experiment",
        question="What breaks without a head?",
        lead="Looking at something is not using it. Ablate heads, and read what the model says then.",
        shown=shell.Shown(sentence=state.own_part("try", PARTS) in PARTS[:3]),
    )
    style()
    part = shell.part_of("What to try", PARTS, "try")
    without_decoder(request)
    if shell.or_show_error(loading.inside, request):
        VIEWS[PARTS.index(part) if part in PARTS else 0](request)
    questions()
