"""A table of text: its first column names the row, the rest are numbers."""

import html
from collections.abc import Sequence

from pages.parts.frame.prose import markup, visible


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of text: first column names the row, the rest are numbers."""
    head = "".join(f'<th scope="col">{html.escape(visible(column))}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row"><bdi>{html.escape(visible(row[0]))}</bdi></th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    markup(
        f'<div class="hs-scroll" tabindex="0" role="region" aria-label="{html.escape(caption)}"><table><caption>'
        f"{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
