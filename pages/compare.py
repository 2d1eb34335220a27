"""Compare: the same picture twice, and what changed for one word between the two."""

from pages.parts.explore import comparison, moments
from pages.parts.frame import parts
from pages.parts.frame.request import Request


def moment(asked: Request) -> None:
    """The two pictures, at the moment of its training that a model is asked for."""
    parts.picture(comparison.drawn_request, "Compare", moments.asked(asked))


parts.sentence_and_picture(
    moment,
    "Compare",
    question="What changes when one word does?",
    lead="Two runs, side by side: change a word, take away the training, or take another model, and see which heads "
    "notice.",
    comparison=True,
)
