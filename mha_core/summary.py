"""A record in a few lines: five for a terminal; for a notebook a small table and a picture of all heads.

In: a record. Out: text, or HTML without a script that loads nothing.
"""

import struct
import zlib
from base64 import b64encode
from hashlib import blake2b
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mha_core.listing import strongest_words
from mha_core.picture.text import visible
from mha_core.thumbnails import thumbnails
from mha_core.wording import counted, head_name, percent

if TYPE_CHECKING:
    from mha_core.grid import Grid
    from mha_core.record import AttentionRecord

LONGEST = 60  # signs of a text that are repeated
STRONGEST = 3
LEVEL = 51  # of 255: a shade of a small picture, of which there are five beside nothing at all
CELLS = 12  # of a small picture's side at most
SIDE, MARGIN = 20, 16  # pixels of a small picture, and before the first
HOW = '["4-2"].to_frame(), .rank("it", "cat"), .grid(words=True), .to_frame()'


def summary(record: "AttentionRecord") -> str:
    """Five lines: the text, the model, who computed it, its strongest links, and what can be asked of it."""
    said = [f"{key}: {value}" for key, value in _facts(record)]
    return "\n".join([*said, f"ask: {HOW}"])


def summary_html(record: "AttentionRecord") -> str:
    """The same as a table, with a small picture of every head: a row a layer, a column a head."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(key)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for key, value in _facts(record)
    )
    return f"<table>{rows}</table>{heads_svg(record.grid())}"


def _facts(record: "AttentionRecord") -> list[tuple[str, str]]:
    model = record.model
    trained = {True: "trained", False: "untrained", None: "weights of unknown training"}[model.trained]
    shape = f"{counted(model.n_layers, 'layer')} x {counted(model.n_heads, 'head')}, {trained}"
    without = layers_without(record)
    digest = f", digest {model.short_digest}" if model.digest else ""
    if model.digest.startswith(trained):  # "untrained, seed 0" is no digest
        digest = model.digest.removeprefix(trained)
    changed = f"; changed: {_cut('; '.join(record.changed))}" if record.changed else ""
    by = model.computed_by if model.is_ours else f"{model.computed_by}, not by HeadScope's engine"
    return [
        ("record", record.said),
        ("model", f"{_cut(model.title)}: {shape}{digest}{changed}"),
        ("computed by", by),
        *([("no attention", without)] if without else []),
        *([("sink", _sink(record))] if record.sink is not None else []),
        ("strongest links", _links(record.grid())),
    ]


def layers_without(record: "AttentionRecord") -> str:
    """Which layers have no attention weights, and what they do instead: "layers 1 to 3 (linear attention)"; "" if all
    have."""
    groups: list[tuple[int, int, str]] = []
    for layer in record.without_attention:
        kind = record.model.layer_kinds[layer] if record.model.layer_kinds else ""
        if groups and groups[-1][1] == layer - 1 and groups[-1][2] == kind:
            groups[-1] = (groups[-1][0], layer, kind)
        else:
            groups.append((layer, layer, kind))
    return ", ".join(
        (f"layer {first + 1}" if first == last else f"layers {first + 1} to {last + 1}")
        + (f" ({kind})" if kind else "")
        for first, last, kind in groups
    )


def _sink(record: "AttentionRecord") -> str:
    """How much a learned sink took, on average and at most in one row."""
    sink = np.zeros(1) if record.sink is None else record.sink
    sink = sink if record.heads is None else sink[record.heads]
    mean, most = percent(float(sink.mean())), percent(float(sink.max()))
    return f"a learned sink takes {mean} of a row on average, {most} at most"


def quoted(text: str, n_tokens: int, n_words: int, n_cut: int = 0) -> str:
    """A text and its sizes, for the first line, and whether it was cut."""
    cut = f", cut after {n_tokens:,} of {n_tokens + n_cut:,} tokens" if n_cut else ""
    return f"“{visible(_cut(' '.join(text.split())))}”, {counted(n_tokens, 'token')}, {counted(n_words, 'word')}{cut}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _links(grid: "Grid") -> str:
    """The heads with the strongest link between two words, each with that link."""
    found = list[tuple[float, str]]()
    for head in np.ndindex(*grid.weights.shape[:2]):
        pair = strongest_words(grid, grid.weights[head])
        if pair is not None:
            q, k = pair
            weight = float(grid.weights[head][q, k])
            link = f"{_cut(grid.labels[q])} → {_cut(grid.key_labels[k])}"
            found.append((weight, f"{head_name(head)} {link} {percent(weight)}"))
    found.sort(key=lambda one: -one[0])
    return "; ".join(text for _, text in found[:STRONGEST]) or "none between two words"


def heads_svg(grid: "Grid") -> str:
    """Every head as a small picture, darker for more weight (the largest under a cell), in the colour of the text."""
    layers, heads, rows, columns = grid.weights.shape
    side = min(CELLS, rows, columns)
    small = thumbnails(grid.weights, side)
    image = _png(_tiled(np.rint(small / LEVEL).astype(np.uint8) * LEVEL))
    shade = f"headscope-{blake2b(image, digest_size=6).hexdigest()}"
    step_x, step_y = (SIDE * (n + 1) / n for n in (small.shape[3], small.shape[2]))
    width, height = round(MARGIN + heads * step_x), round(MARGIN + layers * step_y)
    place = f'x="{MARGIN}" y="{MARGIN}" width="{heads * step_x:g}" height="{layers * step_y:g}"'
    names = "".join(
        f'<text x="{MARGIN + i * step_x + SIDE / 2:g}" y="11" text-anchor="middle">{i + 1}</text>'
        for i in range(heads)
    ) + "".join(
        f'<text x="{MARGIN - 4}" y="{MARGIN + i * step_y + SIDE / 2 + 3:g}" text-anchor="end">{i + 1}</text>'
        for i in range(layers)
    )
    down, across = counted(layers, "layer"), counted(heads, "head")
    label = f"All heads: {down} from top to bottom, {across} from left to right; row looks at column."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><title>{label}</title>'
        f'<mask id="{shade}"><image {place} preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{b64encode(image).decode()}"/></mask>'
        f'<rect {place} fill="currentColor" mask="url(#{shade})"/>'
        f'<g fill="currentColor" font-size="8" font-family="sans-serif">{names}</g></svg>'
    )


def _tiled(small: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(layer, head, q, k) as one image, a cell a pixel and a pixel between heads."""
    layers, heads, rows, columns = small.shape
    spaced = np.zeros((layers, rows + 1, heads, columns + 1), np.uint8)
    spaced[:, :rows, :, :columns] = small.transpose(0, 2, 1, 3)
    return spaced.reshape(layers * (rows + 1), heads * (columns + 1))


def _png(grey: NDArray[np.uint8]) -> bytes:
    """A grey image (row, column) as PNG (ISO/IEC 15948): its header, its compressed rows, its end."""
    high, wide = grey.shape
    # Every row says that it is not filtered.
    rows = np.concatenate([np.zeros((high, 1), np.uint8), grey], axis=1)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
