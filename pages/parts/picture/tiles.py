"""Matrices, token rows and bars on the page: blocks that `assets/js/tiles.js` draws.

In: NumPy arrays and labels. Out: one mounted component a board; all numbers of a board travel in one flat
column, blocks point into it. Text is only ever drawn as text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import visible
from mha_core.draw.bundle import bundle, style
from mha_core.record.export import csv_of
from pages.parts.frame import url_params
from pages.parts.frame.glossary import spans
from pages.parts.picture.attention_view import component_event

Block = dict[str, Any]
OnEvent = Callable[[object], None]

_draw = st.components.v2.component("headscope_tiles", css=style("tiles"), js=bundle("tiles"))


def paragraph(text: str, style: str = "", **tokens: str) -> Block:
    """A paragraph; marks as in `glossary.spans`, tokens of the reader by name."""
    return {
        "type": "paragraph",
        "spans": spans(text, {k: visible(v) for k, v in tokens.items()}),
        "style": style,
    }


def row(*items: Block, size: str = "") -> Block:
    """Side by side, wrapping where there is no room."""
    return {"type": "row", "items": list(items), "size": size}


def column(*items: Block, size: str = "") -> Block:
    """One under the other."""
    return {"type": "column", "items": list(items), "size": size}


def op(text: str) -> Block:
    """A sign between two pictures."""
    return {"type": "op", "text": text}


class Board:
    """Collects blocks and the numbers they show, then mounts them as one component."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._tables: dict[str, tuple[np.ndarray, Block]] = {}
        self._arrays: list[np.ndarray] = []
        self._size = 0

    def put(self, array: np.ndarray) -> int:
        """Add numbers to the column; return where they begin."""
        start = self._size
        flat = np.asarray(array, np.float32).reshape(-1)
        self._arrays.append(flat)
        self._size += flat.size
        return start

    def add(self, *blocks: Block) -> None:
        self.blocks.extend(blocks)

    def matrix(self, name: str, values: np.ndarray, kind: str = "matrix", **options: Any) -> Block:
        """A picture of a matrix (kind "matrix"), or its numbers as tiles (kind "tiles"); NaN is drawn as hidden."""
        rows, columns = values.shape
        for axis in ("rows", "cols"):
            if options.get(axis) is not None:
                options[axis] = [visible(str(label), spaces=True) for label in options[axis]]
        options.setdefault("ramp", "signed")
        self._tables[name] = values, options
        return {"type": kind, "name": name, "shape": [rows, columns], "at": self.put(values), **options}

    def sheets(self, name: str, values: np.ndarray, **options: Any) -> Block:
        """A stack (head, row, column) as small pictures side by side, `wide` by `high` pixels, `line` in a row."""
        size = {"wide": 52, "high": max(32, min(88, 4 * values.shape[1]))}
        return {
            "type": "sheets",
            "name": name,
            "shape": list(values.shape),
            "at": self.put(values),
            **size,
            **options,
        }

    def show(self, key: str, on_event: Mapping[str, OnEvent] | None = None, **data: Any) -> None:
        """Mount the board. `on_event`: by the event's name, what is called with its value, which may be anything."""
        numbers = np.concatenate(self._arrays) if self._arrays else np.zeros(1, np.float32)
        callbacks: dict[str, Any] = {
            f"on_{name}_change": partial(_report, key, name, call) for name, call in (on_event or {}).items()
        }
        data.setdefault("large", url_params.is_presented())
        _draw(key=key, data={"blocks": self.blocks, "numbers": numbers, **data}, **callbacks)

    def numbers(self, key: str, source: Mapping[str, str] | None = None) -> None:
        """Offer the numbers of the board's matrices as tables, one at a time.

        source: what they were computed from ("model", "head", "text"); with it the table can be downloaded.
        """
        if not self._tables:
            return
        box = st.popover("Numbers", type="tertiary", key=f"{key}-numbers", on_change="rerun")
        if not box.open:
            return
        with box:
            names = list(self._tables)
            name = (
                st.selectbox("Matrix", names, key=f"{key}-{'-'.join(names)}") if len(names) > 1 else names[0]
            )
            values, options = self._tables[name]
            index, columns = (
                _numbered(options.get(axis), size)
                for axis, size in zip(("rows", "cols"), values.shape, strict=True)
            )
            table = pd.DataFrame(values, index, columns)
            st.dataframe(table, key=f"{key}-table", alt=f"{name}, numbers")
            if source:
                rows = table.rename_axis(name).reset_index().assign(**source)
                file = "-".join(["headscope", *re.findall("[a-z0-9]+", f"{name} {source['head']}".lower())])
                st.download_button("Download CSV", csv_of(rows), f"{file}.csv", "text/csv", on_click="ignore")


def _report(key: str, event: str, call: OnEvent) -> None:
    call(component_event(key, event))


def _numbered(labels: Sequence[str] | None, size: int) -> list[str]:
    """Names of rows or columns, each once: a token may stand in a sentence twice."""
    if labels is None or len(labels) != size:
        return [str(i + 1) for i in range(size)]
    return [f"{i + 1} {label}" for i, label in enumerate(labels)]


def token_row(labels: Sequence[str], special: Sequence[bool], label: str, **options: Any) -> Block:
    """Tokens to choose one of; `apart=True` is a choice of its own, not the token the page follows."""
    return {
        **options,
        "type": "tokens",
        "labels": [visible(text) for text in labels],
        "special": list(special),
        "label": label,
    }


def show_text(key: str, *paragraphs: str | Block, style: str = "") -> None:
    """Mount paragraphs; of sentences the first is drawn in a style."""
    board = Board()
    for i, each in enumerate(paragraphs):
        board.add(paragraph(each, "" if i else style) if isinstance(each, str) else each)
    board.show(key)
