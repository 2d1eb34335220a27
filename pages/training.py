"""Training: heads learn their roles before the reader's eyes, in seconds, from nothing."""

from pages.parts.frame import shell
from pages.parts.training import parts, picture, view

PARTS = {
    parts.PARTS["jobs"]: view.jobs_part,
    parts.PARTS["induction"]: view.induction_part,
    parts.PARTS["picture"]: picture.picture_part,
}


def draw() -> None:
    """What is trained is chosen in a row."""
    shell.page(
        "Training",
        question="Where do the heads get their roles?",
        lead="Nobody gives a head its role: training does. Small models learn here, before your eyes, with the very "
        "layer of attention that runs the large ones.",
        shown=shell.Shown(sentence=False),
    )
    view.style()
    part = shell.part_of("What to train", tuple(PARTS), "train")
    PARTS.get(part, view.jobs_part)()
