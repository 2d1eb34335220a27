"""Compare: two runs side by side, and which heads change between them."""

from pages.parts.explore import comparison, moments
from pages.parts.frame import shell


def draw() -> None:
    """The two pictures, at the moment of its training that a model is asked for."""
    request = shell.page(
        "Compare",
        question="What changes when you change one word?",
        lead="Compare two sentences, two models, or trained and random weights.",
        shown=shell.Shown(comparison=True),
    )
    comparison.draw(moments.asked(request))
