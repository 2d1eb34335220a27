"""The payload of a picture for the browser: records (big, constant for a text) and a view (small, changes often).

In: grids (layer, head, query, key) and a selection. Out: dicts of JSON values and flat integer arrays. Short
texts send every head in full; long ones small pictures of all heads, the chosen head in full, and the strongest links
of the pinned words in every head, so that rankings stay exact.
"""

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from mha_core.display_names import Head, head_name
from mha_core.draw.selection import Selection
from mha_core.draw.text import indexed, marks, spelled
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import Role
from mha_core.record.compact_weights import changes, quantise, strongest_by_kind, thumbnails
from mha_core.record.compare import Pairs
from mha_core.record.compare import align as align_labels
from mha_core.record.grid import Grid
from mha_core.record.links import between_words, strongest
from mha_core.text.tokens import Tokens

# All heads travel in full up to here (72 heads of 69 units, 144 of 48); longer texts get small pictures.
FULL_BYTES = 680_000
SIDE = 64
PACKED = "packed"

Payload = dict[str, Any]
Keep = Callable[[Hashable, Callable[[], Payload]], Payload]


def make_now(_part: Hashable, make: Callable[[], Payload]) -> Payload:
    """Make a part without keeping it."""
    return make()


def explore_payload(
    grid: Grid,
    tokens: Tokens,
    *,
    model_title: str,
    selection: Selection,
    roles: Mapping[Head, Role] | None = None,
    present: bool = False,
    about: Payload | None = None,
    full_bytes: int = FULL_BYTES,
) -> Payload:
    """Return everything the browser needs for one text: {records, view, selection}. Pure.

    The records are big and stay for a text; the view is small and changes with the selection. `full_bytes`: up to
    this size every head comes, in steps of 1/65535.
    """
    record = record_payload(grid, tokens, model_title, roles, about=about, full_bytes=full_bytes)
    view = explore_view_payload(grid, record, selection=selection, present=present)
    return {"records": [record], "view": view, "selection": selection.inside(grid.weights.shape).as_json()}


def explore_view_payload(grid: Grid, record: Payload, *, selection: Selection, present: bool) -> Payload:
    """Return the small, often changing part of `explore_payload`; of a long text with the chosen head in full."""
    selection = selection.inside(grid.weights.shape)
    view: Payload = {"mode": "explore", "records": [record["id"]], "present": present}
    if record["packing"] == "small":
        view |= opened(grid, 0, selection.head) | _links(grid, selection)
    return view


def record_payload(
    grid: Grid,
    tokens: Tokens,
    model_title: str,
    roles: Mapping[Head, Role] | None = None,
    keep: Keep = make_now,
    about: Payload | None = None,
    full_bytes: int = FULL_BYTES,
) -> Payload:
    """Return one text for the browser: names, spacing and the weights, in full or as small pictures.

    `keep(part, make)` may return a part made before for this grid: every click needs it again. `about`: facts about the
    numbers, see `mha_core.draw.about`.
    """
    named = spelled(grid, tokens)
    title = tokens.text if tokens.pair is None else f"{tokens.text} {tokens.pair}"
    record = {
        **keep(PACKED, lambda: _pack(grid, full_bytes)),
        **grid_facts(grid, model_title, title),
        "labels": list(grid.labels),
        **named,
        "indexed": indexed(named["names"]),
        **marks(grid, tokens),
        **(about or {}),
        "segments": [unit.segment for unit in grid.units],
        "specials": [int(unit.special) for unit in grid.units],
        "roles": _roles(roles),
    }
    record["id"] = digest_of(record)
    return record


def grid_facts(grid: Grid, model_title: str, title: str) -> Payload:
    """Return the sizes and kind of a grid, the heads without weights, the keys that each layer's window reaches, and
    the shares of a learned sink."""
    facts: Payload = {
        "layers": grid.weights.shape[0],
        "heads": grid.weights.shape[1],
        "model": model_title,
        "title": title,
        "words": grid.words,
        "causal": grid.is_causal,
        "sharing": grid.sharing,
        "specialsShown": grid.specials,
    }
    if grid.reach is not None:
        kinds = [layer.tolist() for layer in np.unique(grid.reach, axis=0)]
        facts["reach"] = {"of": [kinds.index(layer.tolist()) for layer in grid.reach], "kinds": kinds}
    if grid.heads is not None and not grid.heads.all():
        facts["absent"] = [head_name((int(layer), int(head))) for layer, head in np.argwhere(~grid.heads)]
    if grid.sink is not None:
        facts["sink"] = np.round(grid.sink, 4).ravel().tolist()
    return facts


def _pack(grid: Grid, full_bytes: int) -> Payload:
    if grid.weights.size * 2 <= full_bytes:
        return {"packing": "full", "weights": quantise(grid.weights).ravel()}
    small = thumbnails(grid.weights, SIDE)
    queries, keys, weights = strongest(grid.weights, between_words(grid))
    return {
        "packing": "small",
        "side": small.shape[-1],  # shorter texts of models with many heads are not made larger
        "weights": small.ravel(),
        "loudest": np.stack([queries, keys, quantise(weights)], axis=-1).ravel().tolist(),
    }


def compare_payload(
    a: Grid,
    a_tokens: Tokens,
    b: Grid,
    b_tokens: Tokens,
    *,
    titles: tuple[str, str],
    selection: Selection,
    present: bool = False,
    abouts: Sequence[Payload | None] = (None, None),
    full_bytes: int = FULL_BYTES,
) -> Payload:
    """Return everything the browser needs for two runs: {records, view, selection}. Pure."""
    records = compare_records(a, a_tokens, b, b_tokens, titles, abouts=abouts, full_bytes=full_bytes)
    view = compare_view_payload(a, b, records, titles=titles, selection=selection, present=present)
    return {"records": records, "view": view, "selection": selection.inside(a.weights.shape).as_json()}


def compare_records(
    a: Grid,
    a_tokens: Tokens,
    b: Grid,
    b_tokens: Tokens,
    titles: tuple[str, str],
    keeps: tuple[Keep, Keep, Keep] = (make_now, make_now, make_now),
    abouts: Sequence[Payload | None] = (None, None),
    full_bytes: int = FULL_BYTES,
) -> list[Payload]:
    """Return A's record and B's; for long texts without weights, and a third with the small differences."""
    records = [
        record_payload(a, a_tokens, titles[0], keep=keeps[0], about=abouts[0], full_bytes=full_bytes),
        record_payload(b, b_tokens, titles[1], keep=keeps[1], about=abouts[1], full_bytes=full_bytes),
    ]
    if all(record["packing"] == "full" for record in records):
        return records
    plain, pairs = [_without_pictures(record) for record in records], align(a, b)
    names = (plain[0]["id"], plain[1]["id"])
    return [*plain, keeps[2](names, lambda: _change_payload(a, b, pairs, plain))]


def compare_view_payload(
    a: Grid,
    b: Grid,
    records: Sequence[Payload],
    *,
    titles: tuple[str, str],
    selection: Selection,
    present: bool,
) -> Payload:
    """Return the small, often changing part of `compare_payload`."""
    selection, pairs = selection.inside(a.weights.shape), align(a, b)
    view: Payload = {
        "mode": "compare",
        "records": [record["id"] for record in records],
        "titles": list(titles),
        "present": present,
        "pairs": [list(pair) for pair in pairs],
        "opened": [],
    }
    for number, grid in enumerate((a, b)):
        if records[number]["packing"] == "full":
            continue
        part = opened(grid, number, selection.inside(grid.weights.shape).head)
        view |= part | {"opened": view["opened"] + part["opened"]}
    return view


def _without_pictures(record: Payload) -> Payload:
    """Return a record whose heads come one at a time: the sheet shows the difference instead."""
    rest = {name: value for name, value in record.items() if name not in ("weights", "loudest", "side")}
    return rest | {"packing": "none", "id": f"{record['id']}-plain"}


def _change_payload(a: Grid, b: Grid, pairs: Pairs, records: list[Payload]) -> Payload:
    """Return A minus B of every head over the units that both have, small: the largest change under a cell."""
    both = [(i, j) for i, j in pairs if i is not None and j is not None]
    layers, heads = (min(x, y) for x, y in zip(a.weights.shape[:2], b.weights.shape[:2], strict=True))
    left, right = [i for i, _ in both], [j for _, j in both]
    parts = []
    for layer in range(layers):  # one layer at a time: two long texts in full would be hundreds of megabytes
        of_a = a.weights[layer, :heads][:, left][:, :, left]
        change = of_a - b.weights[layer, :heads][:, right][:, :, right]
        for grid, units in ((a, left), (b, right)):
            if grid.visible is not None:  # where one of the two sees nothing there is nothing to compare
                change = change * grid.visible[layer][np.ix_(units, units)]
        parts.append(changes(change, SIDE))
    cells = np.stack(parts)
    return {
        "kind": "change",
        "id": f"{records[0]['id']}-{records[1]['id']}",
        "side": cells.shape[-1],
        "weights": cells.ravel(),
    }


def align(a: Grid, b: Grid) -> Pairs:
    """Return positions of A beside positions of B, None where one has no counterpart."""
    return align_labels(a.labels, b.labels)


def opened(grid: Grid, record: int, head: Head) -> Payload:
    """Return one head in full for the record of that number."""
    name = f"opened_{record}"
    return {
        "opened": [{"record": record, "head": list(head), "column": name}],
        name: grid.weights[head].ravel(),
    }


def _links(grid: Grid, selection: Selection) -> Payload:
    """Return the strongest links of the pinned words in every head, in each sentence, among words and among special
    tokens, so that each is known whichever of them is left out; and the exact weight of the target."""
    if not selection.pins:
        return {}
    row = grid.weights[:, :, list(selection.pins)].astype(np.float64).mean(axis=2)
    index, weight = strongest_by_kind(row, np.array([2 * unit.segment + unit.special for unit in grid.units]))
    links: Payload = {
        "links": {
            "pins": list(selection.pins),
            "to": selection.to,
            "k": index.shape[-1],
            "scale": len(selection.pins),
        },
        "link_index": index.ravel(),
        "link_weight": weight.ravel(),
    }
    if selection.to is not None:
        links["link_toward"] = quantise(row[..., selection.to]).ravel()
    return links


def _roles(roles: Mapping[Head, Role] | None) -> list[list[str]]:
    """Return [name, kind, colour, the heads called by it, those that have it besides] of every role, in the
    order of KINDS; a description is none."""
    groups: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for head, role in (roles or {}).items():
        if role.has:
            groups.setdefault((role.kind, role.name), ([], []))[0].append(head_name(head))
            for kind in role.kinds[1:]:
                groups.setdefault((kind, KIND_OF[kind].name), ([], []))[1].append(head_name(head))
    return [
        [name, KIND_OF[kind].word, KIND_OF[kind].colour, *map(" ".join, groups[kind, name])]
        for kind, name in sorted(groups, key=lambda group: [*KIND_OF].index(group[0]))
    ]


def digest_of(record: Payload) -> str:
    """Return the name under which the browser keeps a record."""
    weights = record["weights"]
    rest = {name: value for name, value in record.items() if name != "weights"}
    digest = hashlib.blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=12)
    digest.update(weights.tobytes())
    return digest.hexdigest()
