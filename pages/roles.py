"""Roles: what each attention head does, with the evidence; and the atlas of the same heads over ordinary text."""

from pages.parts.frame import shell, state
from pages.parts.frame.links import link_to
from pages.parts.frame.pages import CARRIED
from pages.parts.frame.prose import markup, say
from pages.parts.roles.atlas import atlas
from pages.parts.roles.view import roles

PARTS = {"roles": roles, "atlas": atlas}


def draw() -> None:
    """The part that the address names."""
    request = shell.page(
        "Roles",
        question="Which head has which role?",
        lead="A head has a role only if it beats every baseline on questions with known answers.",
        shown=shell.Shown(sentence=False),
    )
    part = state.own_part("part", tuple(PARTS))
    markup(_tabs(part))
    PARTS[part](request)
    say(shell.CAVEAT, "caveat")


def _tabs(chosen: str) -> str:
    """The parts as links, which take along what is chosen."""
    links = "".join(
        f'<a href="{link_to("Roles", {"part": part})}" data-carries="{" ".join(CARRIED)}"'
        f"{' aria-current=page' * (part == chosen)}>{part.title()}</a>"
        for part in PARTS
    )
    return f'<nav class="hs-tabs" aria-label="Parts of Roles">{links}</nav>'
