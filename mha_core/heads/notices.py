"""Why does it look like this? What a reader should know before reading a picture, each with its number.

In: a record (weights: layer, head, query, key). Out: notices, most telling first. All numbers are taken from
the model's own pieces, whatever the picture groups or hides. "More than half" is Clark et al. (2019).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mha_core.grid import Grid
from mha_core.heads.measures import BY_KEY, RAW
from mha_core.heads.role_here import role_said
from mha_core.heads.roles import Role
from mha_core.heads.words import FloatArray
from mha_core.record import AttentionRecord, sharing
from mha_core.wording import Head, Per, counted, head_name, percent, place_name

HALF = 0.5
NEARLY_UNIFORM = 0.9
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Notice:
    """One finding: its kind, a sentence for the screen, and its number (a share from 0 to 1, or a count)."""

    kind: str
    text: str
    value: float


def notices(record: AttentionRecord, head: Head | None, role: Role | None = None) -> tuple[Notice, ...]:
    """What explains the look of one head, (layer, head) from 0, and of the whole record; and the role that the
    head was found to have on other text, if it has one, with what it does in this. Without a head, only what holds for
    all of them.
    """
    found = list(record_notices(record))
    if head is not None:
        of_head = head_notices(record, head)
        if any(notice and notice.kind == "first" for notice in of_head):
            found = [notice for notice in found if notice and notice.kind != "resting"]
        found = [_role(record, head, role), *of_head, *found]
    return tuple(notice for notice in found if notice is not None)


def against_raw(record: AttentionRecord, grid: Grid, measure: str, head: Head) -> tuple[Notice, ...]:
    """What is drawn where it is not the raw weights, and in how many rows of the head that picks another place.

    `grid` holds what is drawn, and `head` (from 0) is one of its own.
    """
    if measure not in BY_KEY or measure == RAW.key:
        return ()
    share, rows = float(_differing(record, grid)[head]), len(grid)
    per = BY_KEY[measure].per
    whole = "" if per == "head" else f" ({place_name(head, per)})"
    said = in_rows(round(share * rows), rows, per)
    return (Notice("measure", f"Shown: {BY_KEY[measure].drawn}{whole}. {said}", share),)


def differing_rows(record: AttentionRecord, grid: Grid, measure: str) -> tuple[str, list[int]]:
    """In how many rows the top word differs from the raw weights, for the switch of measures: the sentence, with `{}`
    in place of a head's number, and the numbers of all heads, layer by layer; empty for the raw weights."""
    if measure == RAW.key:
        return "", []
    numbers = (_differing(record, grid) * len(grid)).round().astype(int)
    return in_rows("{}", len(grid), BY_KEY[measure].per), numbers.ravel().tolist()


def in_rows(number: int | str, rows: int, per: Per = "head") -> str:
    """The sentence of both."""
    raw = {
        "head": "the raw weights",
        "layer": "the mean of the layer's raw weights",
        "model": "the mean of the last layer's raw weights",
    }[per]
    return f"In {number} of {rows} rows the top word differs from {raw}."


def _differing(record: AttentionRecord, grid: Grid) -> FloatArray:
    return disagreement(record.grid(grid.words, grid.specials).weights, grid.weights)


def disagreement(raw: FloatArray, other: FloatArray) -> FloatArray:
    """The share of rows whose largest entry lies elsewhere, (layer, head); raw is averaged where heads are
    mixed.
    """
    if other.shape[1] != raw.shape[1]:
        raw = raw.mean(axis=1, keepdims=True)
    if other.shape[0] != raw.shape[0]:
        raw = raw[-1:]
    found: FloatArray = (raw.argmax(-1) != other.argmax(-1)).mean(-1)
    return found


def _role(record: AttentionRecord, head: Head, role: Role | None) -> Notice | None:
    return Notice("role", role_said(record, head, role), role.score) if role else None


def unread(record: AttentionRecord) -> tuple[Notice, ...]:
    """Where the model did not read what was written: a text that was cut, and pieces that its vocabulary lacks."""
    return tuple(notice for notice in (_cut(record), _unknown(record)) if notice is not None)


def head_notices(record: AttentionRecord, head: Head) -> tuple[Notice | None, ...]:
    """The notices that one head's own matrix explains."""
    weights, name = record.weights[head], head_name(head)
    seen = None if record.visible is None else record.visible[head[0]]
    if record.model.is_causal:
        return (
            _first(record, weights, name),
            _neighbour(record, weights, name, -1, "previous", "the token before it"),
            _neighbour(record, weights, name, 0, "itself", "itself"),
            _uniform(weights, name, seen),
            _shared(record, head),
        )
    return (
        _sink(record, weights, name),
        _neighbour(record, weights, name, -1, "previous", "the token before it"),
        _neighbour(record, weights, name, 1, "next", "the token after it"),
        _neighbour(record, weights, name, 0, "itself", "itself"),
        _uniform(weights, name, seen),
    )


def record_notices(record: AttentionRecord) -> tuple[Notice | None, ...]:
    """The notices that hold for every head."""
    resting = _sinking if record.model.is_causal else _resting
    return _untrained(record), _cut(record), _unknown(record), _short(record), resting(record)


def to_specials(record: AttentionRecord) -> npt.NDArray[np.float64]:
    """Share of attention that words send to special tokens: (layer, head), mean over the words' pieces."""
    special = _special(record)
    if special.all() or not special.any():
        return np.zeros(record.weights.shape[:2])
    return np.asarray(record.weights[..., special].sum(-1)[..., ~special].mean(-1), dtype=np.float64)


def at_offset(weights: Floats, offset: int, special: npt.NDArray[np.bool_]) -> float:
    """Mean weight from a piece to the one `offset` further on, over the pairs where neither is special."""
    queries = np.arange(max(0, -offset), len(weights) - max(0, offset))
    queries = queries[~special[queries] & ~special[queries + offset]]
    return float(weights[queries, queries + offset].mean()) if len(queries) > 1 else 0.0


def to_first(record: AttentionRecord) -> npt.NDArray[np.float64]:
    """Share of attention that rests on the first token: (layer, head), mean over the tokens after it, which in a
    decoder are all that have a choice.
    """
    if len(record.tokens) < 2:
        return np.zeros(record.weights.shape[:2])
    rows = record.weights[..., 1:, 0].astype(np.float64)
    if record.visible is None:
        return np.asarray(rows.mean(-1))
    seen = record.visible[
        :, None, 1:, 0
    ]  # a row whose window does not reach the first token says nothing of it
    return np.asarray(rows.sum(-1) / np.maximum(seen.sum(-1), 1))


def evenness(weights: Floats, visible: npt.NDArray[np.bool_] | None = None) -> float:
    """Entropy of a row as a share of the largest possible one, mean over rows: 1 is looking at all alike.

    Each row has its own largest: that of the keys it can see (`visible`, (query, key); None: all). A row that sees one
    key has no choice and is left out.
    """
    rows = np.asarray(weights, dtype=np.float64)
    entropy = -(rows * np.log(np.where(rows > 0, rows, 1.0))).sum(-1)
    count = np.full(len(rows), rows.shape[-1]) if visible is None else visible.sum(axis=-1)
    chose = count > 1
    return float((entropy[chose] / np.log(count[chose])).mean()) if chose.any() else 0.0


def _sink(record: AttentionRecord, weights: Floats, name: str) -> Notice | None:
    special = _special(record)
    if special.all() or not special.any():
        return None
    received = np.where(special, weights[~special].mean(0), 0.0)
    shares: dict[str, float] = {}
    for piece, share in zip(record.tokens.pieces, received, strict=True):
        if piece.special:
            shares[piece.text] = shares.get(piece.text, 0.0) + float(share)
    token, share = max(shares.items(), key=lambda item: item[1])
    if share <= HALF:
        return None
    return Notice(
        "sink",
        f"In head {name} words send {percent(share)} of their attention to `{token}`: often a resting place "
        "for a head that finds nothing to do here.",
        share,
    )


def _first(record: AttentionRecord, weights: Floats, name: str) -> Notice | None:
    """Xiao et al. (2023) call it the attention sink."""
    if len(weights) < 4:
        return None
    share = float(weights[1:, 0].mean())
    if share <= HALF:
        return None
    count, total = _sinks(record)
    return Notice(
        "first",
        f"{percent(share)} of the attention of head {name} rests on the first token, `{_spelled_first(record)}`, "
        "whatever it is: here it has no meaning of its own, but is a resting place that every token can see (an "
        f"attention sink). In this sentence that is so in {count} of {total} heads.",
        share,
    )


def _sinking(record: AttentionRecord) -> Notice | None:
    count, total = _sinks(record)
    if len(record.tokens) < 4 or count <= total // 4:
        return None
    return Notice(
        "resting",
        f"In {count} of {total} heads more than half of the attention rests on the first token, "
        f"`{_spelled_first(record)}`, whatever it is. That is a finding, not a fault.",
        count,
    )


def _sinks(record: AttentionRecord) -> tuple[int, int]:
    shares = to_first(record)
    return int((shares > HALF).sum()), shares.size


def _spelled_first(record: AttentionRecord) -> str:
    return record.tokens.pieces[0].bare


def _shared(record: AttentionRecord, head: Head) -> Notice | None:
    size = sharing(record.model)
    if size < 2:
        return None
    layer, number = head
    first = number // size * size
    others = [head_name((layer, other)) for other in range(first, first + size) if other != number]
    who = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} and {others[-1]}"
    return Notice(
        "shared",
        f"Head {head_name(head)} shares its keys and values with {who}; only its queries are its own.",
        size,
    )


def _neighbour(
    record: AttentionRecord, weights: Floats, name: str, offset: int, kind: str, where: str
) -> Notice | None:
    ruled_out = _special(record)
    if record.model.is_causal and offset == 0:
        ruled_out = ruled_out | (np.arange(len(weights)) == 0)  # the first token can only look at itself
    share = at_offset(weights, offset, ruled_out)
    if share <= HALF:
        return None
    text = f"Head {name} goes by place: a token looks at {where} with {percent(share)} of its attention."
    return Notice(kind, text, share)


def _uniform(weights: Floats, name: str, visible: npt.NDArray[np.bool_] | None) -> Notice | None:
    share = evenness(weights, visible)
    if len(weights) < 4 or share <= NEARLY_UNIFORM:
        return None
    return Notice(
        "uniform",
        f"Head {name} looks at everything nearly alike: its spread is {percent(share)} of the largest "
        "possible.",
        share,
    )


def _untrained(record: AttentionRecord) -> Notice | None:
    if record.model.trained is not False:  # of another's weights it may not be known
        return None
    return Notice(
        "untrained",
        f"The {record.model.n_parameters:,} weights are random: any pattern here comes from chance and from "
        "the shape of the network, not from language.",
        float(record.model.n_parameters),
    )


def _cut(record: AttentionRecord) -> Notice | None:
    cut = record.tokens.n_cut
    if not cut:
        return None
    limit = record.model.max_tokens
    return Notice(
        "cut",
        f"The text was cut: {counted(cut, 'piece', ('was', 'were'))} left out, for this model takes {limit} at most.",
        cut,
    )


def _unknown(record: AttentionRecord) -> Notice | None:
    unknown = [piece.text for piece in record.tokens.pieces if piece.role == "unknown"]
    if not unknown:
        return None
    return Notice(
        "unknown",
        f"{counted(len(unknown), 'piece', ('was', 'were'))} not in the model's vocabulary: "
        f"the model sees only `{unknown[0]}` there.",
        len(unknown),
    )


def _short(record: AttentionRecord) -> Notice | None:
    count = int((~_special(record)).sum())
    if count != 1:
        return None
    return Notice(
        "short", f"There is 1 piece of text, so it can only look at itself{_and_at_specials(record)}.", count
    )


def _resting(record: AttentionRecord) -> Notice | None:
    resting = int((to_specials(record) > HALF).sum())
    total = record.weights.shape[0] * record.weights.shape[1]
    if resting <= total // 4 or record.model.is_causal:
        return None
    return Notice(
        "resting",
        f"In {resting} of {total} heads words send more than half of their attention to {_specials(record)}. "
        "That is a finding, not a fault.",
        resting,
    )


def _specials(record: AttentionRecord) -> str:
    return " and ".join(f"`{name}`" for name in record.tokens.special_names)


def _and_at_specials(record: AttentionRecord) -> str:
    names = ", ".join(f"`{name}`" for name in record.tokens.special_names)
    return f" and at {names}" if names else ""


def _special(record: AttentionRecord) -> npt.NDArray[np.bool_]:
    return np.array([piece.special for piece in record.tokens.pieces], dtype=bool)
