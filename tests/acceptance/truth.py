"""What the library computes for a sentence, and whether a page or a file says the same."""

import csv
import io
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from mha_core import load_model, trace

PERCENT = r"(\d+(?:\.\d+)?)\s*%"
LOOKS = re.compile(r"Head (\d+-\d+)(?:, [^:]+)?: “?(\S+?)”? looks at (.*)", re.DOTALL)
PART = re.compile(rf"“?([^\s“”]+?)”? \({PERCENT}")
BOTH = re.compile(rf"to “?([^\s“”]+)”? {PERCENT} in A, {PERCENT} in B")
CELL = re.compile(rf"(\S+) looks at (\S+): {PERCENT}")


@dataclass(frozen=True)
class Engine:
    """What the library computes for a sentence whose words all differ; heads have the names of the screen: 4-2."""

    words: list[str]
    weights: np.ndarray
    heads: list[str]

    def matrix(self, head: str) -> np.ndarray:
        layer, number = (int(part) - 1 for part in head.split("-"))
        return self.weights[layer, number]

    def row(self, head: str, query: str) -> np.ndarray:
        return self.matrix(head)[self.words.index(query)]

    def weight(self, head: str, query: str, key: str) -> float:
        return float(self.row(head, query)[self.words.index(key)])

    def strongest(self, head: str, query: str) -> str:
        return self.words[int(self.row(head, query).argmax())]


@cache
def engine(text: str, model: str = "minilm") -> Engine:
    grid = trace(text, load_model(model)).grid()
    words = list(grid.labels)
    assert len(set(words)) == len(words), "a word is told by its name"
    heads = [f"{layer + 1}-{head + 1}" for layer, head in np.ndindex(grid.weights.shape[:2])]
    return Engine(words, grid.weights.astype(float), heads)


def agrees(shown: str, truth: float, about: object = "") -> None:
    """A number in percent or points is this share, to the digits that it is shown with."""
    sign, digits, decimals = re.search(r"([+−-]?)(\d+(?:\.(\d+))?)", shown).groups()
    value = float(digits) * (-1 if sign in ("−", "-") else 1)
    assert abs(value - 100 * truth) <= 0.5 * 10 ** -len(decimals or "") + 1e-3, (shown, 100 * truth, about)


FINDING = re.compile(rf"Head (\d+-\d+) looks from “?(\S+?)”? to “?([^\s“”]+?)”? \({PERCENT}")


CHANGED = re.compile(r"Head (\d+-\d+), from “?(\S+?)”?: (.+)")
MOVE = re.compile(rf"“?([^\s“”]+)”? (rises|falls) from {PERCENT} to {PERCENT}")


def looks_right(text: str, truth: Engine, head: str, word: str, before: Engine | None = None) -> None:
    """A sentence such as “Head 4-2: it looks at cat (49%) and mat (14%).” is of this head and word, and true.

    After a changed word: how far other words' shares moved from those of the text `before`.
    """
    if (change := CHANGED.search(text)) and (moves := MOVE.findall(change[3])):
        assert change.groups()[:2] == (head, word), text
        for key, direction, old, new in moves:
            assert (float(new) > float(old)) == (direction == "rises"), text
            agrees(new, truth.weight(head, word, key), text)
            if before is not None:
                agrees(old, before.weight(head, word, key), text)
        return None
    if finding := FINDING.search(text):
        assert finding.groups()[:3] == (head, word, truth.strongest(head, word)), text
        return agrees(finding[4], truth.weight(head, word, finding[3]), text)
    found = LOOKS.search(text)
    assert found, text
    assert found.groups()[:2] == (head, word), text
    parts = PART.findall(found[3])
    assert [key for key, _ in parts][:1] == [truth.strongest(head, word)], text
    for key, share in parts:
        agrees(share, truth.weight(head, word, key), text)
    return None


def both_are_right(text: str, a: Engine, b: Engine, head: str, word: str) -> None:
    assert re.match(rf"Head {head}: from “?{word}”? to ", text)
    key, *shown = BOTH.search(text.replace(" / ", "/")).groups()
    place = a.words.index(key.split("/")[0])
    for number, run in zip(shown, (a, b), strict=True):
        agrees(number, float(run.row(head, word)[place]), text)


def lines_of(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))


def table_is_right(lines: list[dict[str, str]], truth: Engine, heads: list[str]) -> None:
    """A line for every head, query and key, in this order, with the weight of that query on that key."""
    places = [(head, q, k) for head in heads for q, k in np.ndindex(truth.matrix(head).shape)]
    for line, (head, q, k) in zip(lines, places, strict=True):
        place = (f"{line['layer']}-{line['head']}", int(line["query"]), int(line["key"]))
        assert (*place, line["query_text"], line["key_text"]) == (head, q, k, truth.words[q], truth.words[k])
        assert abs(float(line["weight"]) - truth.matrix(head)[q, k]) < 1e-6
