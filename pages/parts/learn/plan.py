"""The plan for an hour as data: rows with minutes and a view, as a table to read and as a page to print.

In: `assets/lesson/plan.toml`. Out: rows, Markdown, HTML. No Streamlit.
"""

import html
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pages.parts.frame.glossary import LESSON


@dataclass(frozen=True)
class Row:
    """A stretch of the hour: minutes from and to, what happens, and the view it opens."""

    minutes: Sequence[int]
    what: str
    where: str
    page: str
    step: str = ""

    @property
    def time(self) -> str:
        return f"{self.minutes[0]}–{self.minutes[1]}"

    def view(self) -> dict[str, str]:
        """The parameters of its link beyond those of the class."""
        return {"step": self.step} if self.step else {}


@cache
def rows() -> tuple[Row, ...]:
    """The rows in order."""
    entries = tomllib.loads((LESSON / "plan.toml").read_text(encoding="utf-8"))["row"]
    return tuple(Row(**entry | {"minutes": tuple(entry["minutes"])}) for entry in entries)


def as_page(title: str, links: Mapping[Row, str], around: str) -> str:
    """A page of its own to print: each row with its link written out. `around` is the plan's text, as Markdown."""
    body = "".join(
        f"<tr><td>{row.time}</td><td>{_words(row.what)}</td><td>{html.escape(row.where)}<br>"
        f'<a href="{html.escape(links[row])}">{html.escape(links[row])}</a></td></tr>'
        for row in rows()
    )
    before, after = (
        "".join(
            f"<p>{_words(text)}</p>"
            for text in part.split("\n\n")
            if text.strip() and not text.startswith("#")
        )
        for part in (around.partition("|")[0], around.rpartition("|")[2])
    )
    name = html.escape(title)
    titles = "".join(f"<th>{column}</th>" for column in ("Minutes", "What happens", "Where"))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><style>{PRINT}</style>'
        f"<h1>{name}</h1>{before}<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{after}</html>"
    )


PRINT = (
    "body{font:12pt/1.4 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}"
    "td,th{border-top:1px solid #999;padding:.4rem .8rem .4rem 0;text-align:left;vertical-align:top}"
    "a{overflow-wrap:anywhere;font-size:9pt}sub{font-size:75%;line-height:0}tr{break-inside:avoid}@page{margin:1.5cm}"
)


def _words(text: str) -> str:
    """Escaped, with what stands between backticks, stars and double stars set off, and d_k with its k below."""
    safe = re.sub(r"\b([A-Za-z])_([a-z]+)\b", r"\1<sub>\2</sub>", html.escape(text))
    for mark, tag in ((r"`([^`]+)`", "code"), (r"\*\*([^*]+)\*\*", "strong"), (r"\*([^*]+)\*", "em")):
        safe = re.sub(mark, rf"<{tag}>\1</{tag}>", safe)
    return safe
