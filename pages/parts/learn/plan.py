"""The plan for an hour: rows with minutes and a step of the lesson, and a page of it to print.

In: `assets/lesson-plan.md`. Out: rows, HTML. No Streamlit.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pages.parts.frame.glossary import LESSON
from pages.parts.frame.page_text import lowered

PLAN = LESSON.parent / "lesson-plan.md"
_ROW = re.compile(r"^\| (\d+)–(\d+) \| (.+) \| (.+) \(`/learn\?step=(\w+)`\) \|$", re.MULTILINE)
PRINT = (
    "body{font:12pt/1.4 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}"
    "td,th{border-top:1px solid #999;padding:.4rem .8rem .4rem 0;text-align:left;vertical-align:top}"
    "a{overflow-wrap:anywhere;font-size:9pt}sub{font-size:75%;line-height:0}tr{break-inside:avoid}@page{margin:1.5cm}"
)


@dataclass(frozen=True)
class Row:
    """A span of the hour: its minutes, what happens, and the step of the lesson by name and key."""

    start: int
    end: int
    what: str
    title: str
    step: str

    @property
    def time(self) -> str:
        return f"{self.start}–{self.end}"


@cache
def text() -> str:
    """Return the plan as Markdown."""
    return PLAN.read_text(encoding="utf-8")


@cache
def rows() -> tuple[Row, ...]:
    """Return the rows of its table, in order."""
    return tuple(Row(int(start), int(end), *rest) for start, end, *rest in _ROW.findall(text()))


def around() -> tuple[str, str]:
    """Return the text before the table, without the title, and after it; as Markdown."""
    before, after = text().partition("|")[0], text().rpartition("|")[2]
    return before.partition("\n")[2].strip(), after.strip()


def as_page(links: Mapping[Row, str]) -> str:
    """Return a page of its own to print: each row with its link written out."""
    body = "".join(
        f"<tr><td>{row.time}</td><td>{_markup(row.what)}</td><td>{html.escape(row.title)}<br>"
        f'<a href="{html.escape(links[row])}">{html.escape(links[row])}</a></td></tr>'
        for row in rows()
    )
    before, after = ("".join(f"<p>{_markup(part)}</p>" for part in side.split("\n\n")) for side in around())
    name = html.escape(text().partition("\n")[0].removeprefix("# "))
    titles = "".join(f"<th>{column}</th>" for column in ("Minutes", "What happens", "Where"))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><style>{PRINT}</style>'
        f"<h1>{name}</h1>{before}<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{after}</html>"
    )


def _markup(markdown: str) -> str:
    """Return a line of Markdown as HTML: code, strong and em, and d_k with its k lowered."""
    safe = lowered(html.escape(markdown))
    for mark, tag in ((r"`([^`]+)`", "code"), (r"\*\*([^*]+)\*\*", "strong"), (r"\*([^*]+)\*", "em")):
        safe = re.sub(mark, rf"<{tag}>\1</{tag}>", safe)
    return safe
