"""Compare: the same picture twice, and what changed for one word between the two."""

from pages.parts.explore import comparison, moments
from pages.parts.frame import shell


def draw() -> None:
    """The two pictures, at the moment of its training that a model is asked for."""
    request = shell.page(
        "Compare",
        question="What changes when one word does?",
        lead="Two runs, side by side: change a word, take away the training, or take another model, and see which "
        "heads notice.",
        shown=shell.Shown(comparison=True),
    )
    comparison.draw(moments.asked(request))
