"""Atlas: what every head does over ordinary text, found without being told what to look for."""

from pages.parts.atlas import view
from pages.parts.frame import shell

with shell.page(
    "Atlas",
    question="What does each head do all day?",
    lead="No head was asked for anything here. Each one's strongest moments over ordinary text are shown, and "
    "described only where a fixed feature sets them apart.",
    sentence=False,
) as request:
    view.style()
    view.sections(request)
