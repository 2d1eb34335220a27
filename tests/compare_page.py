"""Compare's picture read back, in the way a reader sees it: words, arcs, numbers, ranks.

In: an open page. Out: what stands where, with columns counted from 0 over both sentences.
"""

import re
from typing import Any

import numpy as np
import pixels
from two_runs import named


def column(page: Any, place: int) -> Any:
    return page.get_by_label("Both sentences, word under word").get_by_role("button").nth(place)


def said(page: Any) -> str:
    return page.locator("p.inwords").get_attribute("data-said")


def choose(page: Any, head: tuple[int, int]) -> None:
    page.get_by_role("gridcell", name=f"Head {named(head)}:").click()
    page.mouse.move(2, 2)


def matrix(page: Any, label: str) -> Any:
    return page.get_by_role("application", name=label, exact=True)


def line_colour(page: Any) -> tuple[int, ...]:
    return pixels.colour(page.locator(".headscope").evaluate("e => e.style.getPropertyValue('--line')"))


def arcs(page: Any) -> list[tuple[int, int, int, float]]:
    """Every arc as (side, from, to, weight by its darkness): columns; A is 0 and rises from the upper words."""
    boxes = page.evaluate(
        """() => {
          const root = document.querySelector(".sentence");
          const at = (e) => e.getBoundingClientRect();
          const [x0, y0] = [at(root).left, at(root).top - root.scrollTop];
          const box = (e) => ({ x: at(e).left - x0 + at(e).width / 2, top: at(e).top - y0, bottom: at(e).bottom - y0 });
          const words = [...root.querySelectorAll("[data-column]")].map(box);
          const paths = [...root.querySelectorAll(".arcs path")];
          const lines = paths.map((p) => [p.getAttribute("d"), p.getAttribute("stroke")]);
          return { words, lines };
        }"""
    )
    found = []
    middle = np.mean([(box["top"] + box["bottom"]) / 2 for box in boxes["words"]])
    for d, stroke in boxes["lines"]:
        numbers = [float(part) for part in re.findall(r"-?[\d.]+", d)]
        ends = [
            int(np.argmin([abs(box["x"] - x) for box in boxes["words"]])) for x in (numbers[0], numbers[-2])
        ]
        side = int(numbers[1] > middle)
        dark = float(pixels.weights(pixels.colour(stroke), pixels.THEMES["light"]))
        bend = numbers[3] - numbers[1]
        assert (bend < 0) == (side == 0), "arcs of A rise, arcs of B hang"
        found.append((side, *ends, (dark - 0.3) / 0.7))
    return found


def numbers_under(page: Any) -> dict[int, list[str | None]]:
    """The percentages by column: [beside A's word, beside B's word]."""
    at = page.evaluate(
        """() => {
          const all = (what) => [...document.querySelectorAll(`.sentence ${what}`)];
          const middle = (e) => {
            const { left, top, width, height } = e.getBoundingClientRect();
            return [left + width / 2, top + height / 2];
          };
          const words = all("[data-column]").map((c) => [...c.querySelectorAll(".unit")].map(middle));
          return { words, shares: all(".share").map((s) => [s.textContent, ...middle(s)]) };
        }"""
    )
    found: dict[int, list[str | None]] = {}
    for text, x, y in at["shares"]:
        place = int(np.argmin([abs(word[0][0] - x) for word in at["words"]]))
        upper, lower = at["words"][place]
        found.setdefault(place, [None, None])[int(abs(y - upper[1]) > abs(y - lower[1]))] = text
    return found
