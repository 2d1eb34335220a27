"""Atlas: what every head does over ordinary text, found without being told what to look for."""

from pages.parts.atlas import view
from pages.parts.frame import shell


def draw() -> None:
    """What there is to find of all heads, and of the one that is chosen."""
    request = shell.page(
        "Atlas",
        question="What does each head do all day?",
        lead="No head was asked for anything here. Each one's strongest moments over ordinary text are shown, and "
        "described only where a fixed feature sets them apart.",
        shown=shell.Shown(sentence=False),
    )
    view.style()
    view.sections(request)
