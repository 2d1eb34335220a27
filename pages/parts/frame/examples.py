"""A row of links that stand as words: the example sentences and the minimal pairs."""

import html
from collections.abc import Mapping

from pages.parts.frame.links import with_params
from pages.parts.frame.prose import markup


def row(label: str, offered: Mapping[str, Mapping[str, str]]) -> None:
    """Draw the names; each leads to this page with these parameters. Who points at one sees its text."""
    links = "".join(
        f'<a href="{html.escape(with_params("", to))}" title="{html.escape(_text(to))}">{html.escape(name)}</a>'
        for name, to in offered.items()
    )
    markup(f'<nav class="hs-examples" aria-label="{label}"><span>{label}</span> {links}</nav>', inline=True)


def _text(to: Mapping[str, str]) -> str:
    return " / ".join(to[key] for key in ("text", "pair", "text2") if to.get(key))
