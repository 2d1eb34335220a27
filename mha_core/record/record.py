"""Record of one run: the attention weights of every head of a model over one text. Frozen, on the CPU, in NumPy.

Everything above (analysis, figures, pages) reads this and knows no model; everything below makes it and knows
no screen. Axes of the weights: (layer, head, query, key), all from 0; layers and heads have the model's own numbers.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mha_core.arrays import Array, Mask, ReadOnlyArrays, freeze
from mha_core.display_names import Head, head_name
from mha_core.engine.visibility import Visibility
from mha_core.errors import HeadScopeError, InputError, SizeError
from mha_core.record.grid import (
    Grid,
    HeadWeights,
    Specials,
    distinct,
    head_from_name,
    pool_to_units,
    pool_visibility,
    units_of,
)
from mha_core.record.links import find_unit
from mha_core.record.summary import quoted, summary, summary_html
from mha_core.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

    from mha_core.draw.widget import Widget

ENGINE = "mha_core"
MAX_ERROR = 1e-2  # of the sum of a row
MAX_ROUNDING = 5e-2  # so far rounding can take it


@dataclass(frozen=True)
class ModelInfo:
    """Facts of a model: sizes, training, and the digest of its weights.

    `files`: name and SHA-256 of every file it was made from; `pinned`: True if these were compared with digests known
    before. `computed_by`: ENGINE, another library, or the caller. Of a model that another library computed `trained`
    can be None (unknown), and unknown sizes are 0. `n_heads` is the most that a layer has. `windows`: tokens that a
    layer sees to each side, one a layer, 0 for all; empty: every layer sees all. `layer_kinds`: kind of a layer without
    attention, one a layer, empty where it attends.
    """

    name: str
    title: str
    trained: bool | None
    n_layers: int
    n_heads: int
    d_model: int
    d_k: int
    n_parameters: int
    max_tokens: int
    digest: str
    n_kv_heads: int | None = None  # None: as many as query heads
    is_causal: bool = False
    files: tuple[tuple[str, str], ...] = ()
    pinned: bool = False
    computed_by: str = ENGINE
    windows: tuple[int, ...] = ()
    layer_kinds: tuple[str, ...] = ()

    @property
    def short_digest(self) -> str:
        """First letters of the digest, for people; "untrained, seed 0" is none, and stays whole."""
        return self.digest[:12] if re.match("[0-9a-f]{12}", self.digest) else self.digest

    @property
    def is_ours(self) -> bool:
        """True if this engine computed the numbers."""
        return self.computed_by == ENGINE

    @property
    def visibility(self) -> Visibility:
        """Masks of the layers."""
        return Visibility(self.is_causal, self.windows)

    def visible(self, n: int) -> Mask | None:
        """Return the masks of n tokens, (layer, query, key); None where all see all."""
        if not self.is_causal and not any(self.windows):
            return None
        return np.broadcast_to(self.visibility.mask(n), (self.n_layers, n, n))


@dataclass(frozen=True, eq=False, repr=False)
class AttentionRecord(ReadOnlyArrays):
    """One text through one model, looking at itself, or at another text (`keys`): an encoder's, a decoder's or
    cross-attention. Raises SizeError for weights of another shape, HeadScopeError for rows that do not sum to one.

    `tokens`: those of the rows. `gates`, `interventions`: changes of its heads in the run; the weights are those after
    them. `visible`, `heads`, `sink`: as in `Grid`, between pieces; `visible` is the model's unless it is given.
    """

    model: ModelInfo
    tokens: Tokens
    weights: Array
    versions: Mapping[str, str] = field(default_factory=dict)
    gates: Array | None = None
    interventions: tuple[Hashable, ...] = ()
    keys: Tokens | None = None
    visible: Mask | None = None
    heads: Mask | None = None
    sink: Array | None = None

    def __post_init__(self) -> None:
        expected = (self.model.n_layers, self.model.n_heads, len(self.tokens), len(self.key_tokens))
        if self.weights.shape != expected or self.weights.dtype != np.float32:
            raise SizeError(
                f"A record of {len(self.tokens)} tokens needs float32 weights of shape {expected}; given are "
                f"{self.weights.dtype} of {self.weights.shape}."
            )
        if fault := fault_in_rows(self.weights, self.heads, self.sink, self.tokens):
            raise HeadScopeError(fault)
        if self.keys is None and self.visible is None:
            object.__setattr__(self, "visible", self.model.visible(len(self.tokens)))
        if self.visible is not None and any(
            bool(layer[:, ~seen].any()) for layer, seen in zip(self.weights, self.visible, strict=True)
        ):
            raise HeadScopeError(
                "The model gave attention to tokens that cannot be seen, such as later ones in a decoder."
            )
        for array in (self.weights, self.gates, self.visible, self.heads, self.sink):
            if array is not None:
                freeze(array)
        object.__setattr__(self, "versions", MappingProxyType(dict(self.versions)))

    @property
    def key_tokens(self) -> Tokens:
        """Tokens of the columns."""
        return self.tokens if self.keys is None else self.keys

    @property
    def is_cross(self) -> bool:
        """True if its rows look at another text."""
        return self.keys is not None

    @property
    def headline(self) -> str:
        """Text and sizes, in a line."""
        if self.keys is not None:
            return f"cross-attention, rows {quoted(self.tokens)}; columns {quoted(self.keys)}"
        return quoted(self.tokens)

    @property
    def changed(self) -> tuple[str, ...]:
        """Changes of its heads: by interventions, and by gates."""
        gates = {} if self.gates is None else dict(np.ndenumerate(self.gates))
        gated = (
            f"{head_name((layer, head))} times {gate:g}" for (layer, head), gate in gates.items() if gate != 1
        )
        return (*map(str, self.interventions), *gated)

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return self.model.n_layers

    @property
    def n_heads(self) -> int:
        """Number of heads, the most that a layer has."""
        return self.model.n_heads

    @property
    def without_attention(self) -> tuple[int, ...]:
        """Layers (from 0) that have no attention weights."""
        return () if self.heads is None else tuple(np.flatnonzero(~self.heads.any(axis=1)).tolist())

    def grid(self, words: bool = False, specials: Specials = "shown") -> Grid:
        """Return the weights between pieces or words.

        Words by Clark et al. 2019, section 4.1: attention to a split word is the sum over its pieces, from it
        the mean. `specials`: "shown"; "hidden" (their rows and columns removed, the rest as it is, so rows sum
        to less than one); "renormalised" (removed, and every row divided by its sum).
        """
        return _grid(self, self.weights, words, specials, self.visible, self.sink)

    def __getitem__(self, name: str) -> HeadWeights:
        """Return one head between pieces, by its name with layer and head from 1: record["4-2"]; between words it is
        record.grid(words=True)["4-2"]. Raises InputError for another name."""
        return self.grid()[name]

    def rank(self, source: str, target: str | None = None, words: bool = True) -> "pd.DataFrame":
        """Rank all heads by their weight from one word to another, strongest first: record.rank("it", "animal").

        Without a target, by the largest weight in the row of `source`. Columns and errors: see `Grid.rank`.
        """
        return self.grid(words).rank(source, target)

    def plot(
        self,
        kind: str = "matrix",
        heads: str | Sequence[str | Head] = "4-2",
        words: str | Sequence[str] = (),
        *,
        width_cm: float | None = None,
        unit: Literal["pieces", "words"] = "pieces",
        specials: Specials = "shown",
        dark: bool = False,
    ) -> Any:
        """Draw its heads as a Plotly figure, which Jupyter shows: record.plot("arcs", "4-2", "it").

        `kind`: "matrix", "heads" (all of them), "arcs", "lines" or "bars". `heads`: names with layer and head from 1,
        or (layer, head) from 0; a panel each. `words` are looked from; "it#2" is the second. `width_cm`: its width on
        paper, for `.write_image` with kaleido; `.write_html` and `.to_json` need nothing else.

        Raises InputError for a kind, head or word that is not there, and for a text that has no room.
        """
        from mha_core.draw.figures.attention import captioned, figure

        if unit not in ("pieces", "words"):
            raise InputError(f"Unknown unit “{unit}”. Choose one of: pieces, words.")
        grid = self.grid(unit == "words", specials)
        chosen = [heads] if isinstance(heads, str) else heads
        pairs = [
            head_from_name(head, self.n_layers, self.n_heads) if isinstance(head, str) else head
            for head in chosen
        ]
        queries = [find_unit(grid.units, word) for word in ([words] if isinstance(words, str) else words)]
        title = captioned(self, kind, pairs)
        return figure(grid, kind, heads=pairs, queries=queries, width_cm=width_cm, title=title, dark=dark)

    def to_frame(self, words: bool = False, specials: Specials = "shown") -> "pd.DataFrame":
        """Return all heads as a tidy pandas DataFrame, a row a weight; see `Grid.to_frame`."""
        return self.grid(words, specials).to_frame()

    def widget(self, **options: Any) -> "Widget":
        """Return the picture for a notebook, whose presses Python hears of; options and errors as of `Widget`.

        Raises Unavailable without anywidget.
        """
        from mha_core.draw.widget import Widget

        return Widget(self, **options)

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return summary_html(self)


def grid_of(
    record: AttentionRecord, weights: Array, words: bool = False, specials: Specials = "shown"
) -> Grid:
    """Return any numbers between the pieces of a record's text, (layer, head, query, key), as a grid; see
    `AttentionRecord.grid`. Numbers of another count of heads or layers (mixed ones) have all of them.

    Raises SizeError if the numbers are not between these pieces.
    """
    visible, is_mixed = record.visible, weights.shape[:2] != record.weights.shape[:2]
    if visible is not None and len(visible) != len(weights):
        visible = np.broadcast_to(visible.any(axis=0), (len(weights), *visible.shape[1:]))
    return _grid(record, weights, words, specials, visible, None, is_mixed=is_mixed)


def _grid(
    record: AttentionRecord, weights: Array, words: bool, specials: Specials, visible: Mask | None,
    sink: Array | None, *, is_mixed: bool = False,
) -> Grid:  # fmt: skip
    if specials not in ("shown", "hidden", "renormalised"):
        raise InputError(f"Specials can be shown, hidden or renormalised, not '{specials}'.")
    rows, columns = record.tokens, record.key_tokens
    if weights.ndim != 4 or weights.shape[2:] != (len(rows), len(columns)):
        raise SizeError(
            f"Weights of shape {weights.shape} are not between {len(rows)} pieces that look and {len(columns)}."
        )
    units = units_of(rows, words)
    keys = units if record.keys is None else units_of(columns, words)
    weights = pool_to_units(weights, units, keys, (len(rows), len(columns)))
    masks = None if visible is None else pool_visibility(distinct(visible), units, keys)
    if sink is not None and len(units) < len(rows):
        counts = np.array([len(unit.pieces) for unit in units], dtype=np.float32)
        sums = np.add.reduceat(sink, [unit.pieces[0] for unit in units], axis=-1)
        sink = (sums / counts).astype(np.float32)
    if specials != "shown":
        left, right = ([i for i, unit in enumerate(side) if not unit.special] for side in (units, keys))
        units, keys = tuple(units[i] for i in left), tuple(keys[i] for i in right)
        weights = weights[:, :, left][:, :, :, right]
        masks = None if masks is None else masks[:, left][:, :, right]
        sink = None if sink is None else sink[:, :, left]
        if specials == "renormalised":
            sums, sink = weights.sum(axis=-1, keepdims=True), None
            weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    if masks is not None:
        visible = np.broadcast_to(masks, (len(weights), *masks.shape[1:]))
    for array in (weights, visible, sink):
        if array is not None:
            freeze(array)
    model, key_units = record.model, None if record.keys is None else keys
    if is_mixed:
        return Grid(units, weights, words, specials, visible, key_units=key_units, sink=sink)
    sharing = model.n_heads // model.n_kv_heads if model.n_kv_heads else 1
    return Grid(units, weights, words, specials, visible, sharing, key_units, record.heads, sink)


def fault_in_rows(weights: Array, heads: Mask | None, sink: Array | None, rows: Tokens) -> str:
    """Return a sentence on the first row of weights (layer, head, query, key) that is no attention, its sum and the
    likely reason; "" where all rows are finite numbers from 0 that sum to one, a learned sink's share included."""
    sums = weights.sum(axis=-1) if sink is None else weights.sum(axis=-1) + sink
    off = np.abs(sums - (1 if heads is None else heads[..., None]))
    if np.isfinite(sums).all() and off.max(initial=0) <= MAX_ERROR and (weights >= 0).all():
        return ""
    lowest = weights.min(axis=-1)
    wrong = ~(off <= MAX_ERROR) | (lowest < 0)
    is_rounded = np.full_like(wrong, (sums > 1 - MAX_ROUNDING)[wrong].all())
    reasons = (
        (~np.isfinite(sums), "half precision overflowed, or every key was masked; compute attention in float32"),
        (lowest < 0, "these are scores; take the weights after the softmax"),
        (sums > 1 + MAX_ERROR, "dropout was on (call model.eval() before the run), or these are scores"),
        (sums < MAX_ERROR, "every key was masked, as for padding; give mask=attention_mask"),
        (is_rounded, "rounding, as half precision or few decimals do; compute attention in float32"),
        (wrong, "keys were cut off or dropout was on (call model.eval()); if the model has learned sinks (GPT-OSS), "
         "give sinks=True"),
    )  # fmt: skip
    which, reason = next((wrong & each, reason) for each, reason in reasons if (wrong & each).any())
    layer, head, query = (int(place) for place in np.argwhere(which)[0])
    value, low = float(sums[layer, head, query]), float(lowest[layer, head, query])
    what = f"has a weight of {low:.3g}" if low < 0 else f"sums to {value:.3f}".replace("nan", "NaN")
    others = f"; wrong are {int(wrong.sum()):,} of {wrong.size:,} rows" if wrong.sum() > 1 else ""
    return (
        f"Every row of attention sums to 1; row {query + 1} ({rows.label(rows.pieces[query])!r:.40}) of head "
        f"{head_name((layer, head))} {what}{others}. Likely cause: {reason}."
    )
