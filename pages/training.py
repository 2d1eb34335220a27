"""Training: small models whose heads learn their roles while the reader watches."""

from pages.parts.frame import shell
from pages.parts.training import parts, picture, view

PARTS = {
    parts.PARTS["jobs"]: view.jobs_part,
    parts.PARTS["induction"]: view.induction_part,
    parts.PARTS["picture"]: picture.picture_part,
}


def draw() -> None:
    """Draw the page: what to train, then the chosen part."""
    shell.page(
        "Training",
        question="How do heads get their roles?",
        lead="Train a small model and watch.",
        shown=shell.Shown(sentence=False),
    )
    view.style()
    part = shell.part_of("What to train", tuple(PARTS), "train")
    PARTS.get(part, view.jobs_part)()
