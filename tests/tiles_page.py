"""Inside's tables and pictures read back, in the way a reader sees them.

In: an open page. Out: texts, numbers and colours by the name of the matrix.
"""

from typing import Any

import numpy as np
import pixels

MINUS = str.maketrans({"−": "-"})


def number(text: str) -> float:
    return float("nan") if text == "hidden" else float(text.translate(MINUS).removesuffix(" %"))


def cells(page: Any, selector: str) -> list[list[str]]:
    return page.locator(selector).first.evaluate(
        "t => [...t.rows].map(r => [...r.cells].map(c => c.textContent))"
    )


def numbers_of(tab: Any, name: str) -> tuple[list[list[str]], np.ndarray]:
    button = tab.page.locator(f"button.numbers[data-matrix='{name}']").first
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    lines = cells(tab.page, f".scroll table[data-matrix='{name}']")
    return lines, np.array([[number(cell) for cell in line[1:]] for line in lines[1:]])


def colours_of(tab: Any, name: str) -> np.ndarray:
    figure = tab.page.locator("figure", has=tab.page.locator(f"button[data-matrix='{name}']")).last
    return pixels.of_canvas(figure.locator("canvas").first)
