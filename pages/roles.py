"""Roles: which head does which job, with the evidence, on real text and on built-in sentences."""

from pages.parts.frame import shell
from pages.parts.specialization import view


def draw() -> None:
    """Every head with its role, and the evidence for the one that is chosen."""
    request = shell.page(
        "Roles",
        question="Which head does which job?",
        lead="Each head is asked questions with a known answer. It counts as a specialist only where it beats the best "
        "simple rule by more than luck explains.",
        shown=shell.Shown(sentence=False),
    )
    view.style()
    view.sections(request)
