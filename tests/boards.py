"""What a page drew with `pages.parts.picture.tiles`, read back: blocks by id, and the numbers a reader would see."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from visit import data_of
from visit import figures as charts  # noqa: F401 - read through here
from visit import numbers as numbers_in  # noqa: F401

Block = dict[str, Any]


def boards(at: Any) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """The data and the column of numbers of every mounted board."""
    for element in at.get("bidi_component"):
        if "blocks" in json.loads(element.proto.mixed.json or "{}"):
            data = data_of(element.proto)
            yield data, data["numbers"]


def flat(blocks: list[Block]) -> Iterator[Block]:
    """Every block, rows and columns and pictures to choose in opened."""
    for block in blocks:
        yield block
        yield from flat(block.get("items", [])) if block["type"] in ("row", "column") else ()
        yield from flat([block["item"]]) if block["type"] == "choosing" else ()


def found(at: Any) -> list[tuple[Block, np.ndarray]]:
    return [(block, numbers) for data, numbers in boards(at) for block in flat(data["blocks"])]


def matrix(at: Any, name: str) -> np.ndarray:
    """The matrix of that id, as it is drawn."""
    hits = [(b, n) for b, n in found(at) if b.get("id") == name and "shape" in b]
    assert hits, f"no matrix {name} on the page"
    block, numbers = hits[0]
    return numbers[block["at"] :][: int(np.prod(block["shape"]))].reshape(block["shape"])


def one(at: Any, kind: str) -> tuple[Block, np.ndarray]:
    """The only block of a kind."""
    hits = [(b, n) for b, n in found(at) if b["type"] == kind]
    assert len(hits) == 1, f"{len(hits)} blocks of kind {kind}"
    return hits[0]


def prose(at: Any) -> str:
    """All sentences of the boards, as a reader sees them."""
    return "\n".join(words_of(block) for block, _ in found(at) if block["type"] == "paragraph")


def words_of(block: Block) -> str:
    return "".join(span if isinstance(span, str) else span[1] for span in block["spans"])


class Walked:
    """What several screens of a page drew, one after the other, read back as if they stood on one."""

    def __init__(self, at: Any, keys: Iterator[str] | tuple[str, ...]) -> None:
        self.at = at
        self.latex: list[Any] = []
        self.dataframe: list[Any] = []
        self._elements: dict[str, list[Any]] = {"bidi_component": [], "html": [], "plotly_chart": []}
        for key in keys:
            at.query_params["at"] = key
            at.run()
            assert not at.exception, at.exception[0].message
            self.latex += list(at.latex)
            self.dataframe += list(at.dataframe)
            for kind, kept in self._elements.items():
                kept += list(at.get(kind))

    def get(self, kind: str) -> list[Any]:
        return self._elements[kind]
