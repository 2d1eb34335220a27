"""Inside's tables and pictures read back, in the way a reader sees them.

In: an open page. Out: texts and numbers.
"""

from typing import Any

MINUS = str.maketrans({"−": "-"})


def number(text: str) -> float:
    return float("nan") if text == "hidden" else float(text.translate(MINUS).removesuffix("%"))


def cells(page: Any, selector: str) -> list[list[str]]:
    return page.locator(selector).first.evaluate(
        "t => [...t.rows].map(r => [...r.cells].map(c => c.textContent))"
    )
