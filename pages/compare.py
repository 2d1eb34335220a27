"""Compare: the same picture twice, and what changed for one word between the two."""

from pages.parts.explore import comparison, moments
from pages.parts.frame import shell

with shell.page(
    "Compare",
    question="What changes when one word does?",
    lead="Two runs, side by side: change a word, take away the training, or take another model, and see which heads "
    "notice.",
    comparison=True,
) as asked:
    shell.alone(comparison.drawn_request, "Compare", moments.asked(asked))
