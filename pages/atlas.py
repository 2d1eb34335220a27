"""Atlas: what each head does over ordinary text, found without being told what to look for."""

from pages.parts.frame import shell
from pages.parts.frame.prose import say
from pages.parts.roles.atlas import atlas


def draw() -> None:
    """All heads by their descriptions, and the examples of the chosen one."""
    request = shell.page(
        "Atlas",
        question="What does each head do over ordinary text?",
        lead="A head is described only where one of a fixed list of features sets its top examples apart.",
        shown=shell.Shown(sentence=False),
    )
    atlas(request)
    say(shell.CAVEAT, "caveat")
