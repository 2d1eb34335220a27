"""The payload of cross-attention for the browser: one text that looks at another, source above target.

In: the record of it and its grid. Out: a payload like Explore's, whose units are those of the source and then those of
the target; its weights are query x key (assets/js/cross_attention.js).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mha_core.draw.about import about, title_of
from mha_core.draw.payload import Payload, digest_of, grid_facts
from mha_core.draw.selection import Selection
from mha_core.draw.text import indexed, marks, spelled
from mha_core.errors import SizeError
from mha_core.record.compact_weights import quantise
from mha_core.record.grid import Grid
from mha_core.record.record import AttentionRecord
from mha_core.text.tokens import Tokens

MAX_BYTES = 24_000_000  # of all heads


def cross_payload(record: AttentionRecord, grid: Grid, selection: Selection) -> Payload:
    """Return everything the browser needs: {records, view, selection}. `selection` counts queries and keys each from 0.

    Raises SizeError for texts whose heads together would be too many bytes.
    """
    content = cross_record(record, grid)
    n_keys = len(grid.key_labels)
    chosen = replace(selection, pins=tuple(pin + n_keys for pin in selection.pins))
    view: Payload = {"mode": "explore", "records": [content["id"]], "present": False}
    return {"records": [content], "view": view, "selection": chosen.as_json()}


def cross_record(record: AttentionRecord, grid: Grid) -> Payload:
    """Return both texts for the browser: see `record_payload`. Raises SizeError for too many bytes."""
    if grid.weights.size * 2 > MAX_BYTES:
        raise SizeError(
            f"{grid.weights.size:,} weights are too many for one picture ({MAX_BYTES // 2:,} at most); show a "
            "shorter text, or words instead of pieces."
        )
    keys = record.key_tokens
    source, target = _side(grid, keys, keys=True), _side(grid, record.tokens, keys=False)
    content = {
        **grid_facts(grid, title_of(record), f"{keys.text} → {record.tokens.text}"),
        "causal": False,
        "sharing": 1,
        "packing": "full",
        "weights": quantise(grid.weights).ravel(),
        "keys": len(grid.key_labels),
        "roles": [],
        **about(record, grid),
        **{name: source[name] + target[name] for name in source if name != "cut"},
    }
    cuts = [side["cut"] for side in (source, target) if "cut" in side]
    content |= {"cut": ", ".join(cuts)} if cuts else {}
    content["id"] = digest_of(content)
    return content


def _side(grid: Grid, tokens: Tokens, *, keys: bool) -> dict[str, Any]:
    """Return one text's units as the browser lists them; a pair of texts stands in one line."""
    units = grid.columns if keys else grid.units
    line = replace(
        grid,
        units=units,
        key_units=None,
        visible=None,
        heads=None,
        sink=None,
        weights=np.zeros((0, 0, 0, 0), np.float32),
    )
    spelling = spelled(line, tokens)
    before = [
        space or (" " if i and unit.segment != units[i - 1].segment else "")
        for i, (unit, space) in enumerate(zip(units, spelling["before"], strict=True))
    ]
    marked = {"joined": [0] * len(units), "unknown": [0] * len(units)} | marks(line, tokens)
    marked.pop("unknownName", None)
    return {
        "labels": [unit.label for unit in units],
        "names": spelling["names"],
        "before": before,
        "after": ["".join(spelling["after"])],
        "indexed": indexed(spelling["names"]),
        "segments": [0 if keys else 1] * len(units),
        "specials": [int(unit.special) for unit in units],
        **marked,
    }
