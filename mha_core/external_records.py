"""Records of what was computed elsewhere: arrays, layers as transformers gives them, the steps of `generate`, a
`torch.nn.TransformerEncoder`, a cache of TransformerLens.

Nothing here loads a model. `ModelInfo.computed_by` says that the numbers are not this engine's, and so do exports and
what a record prints.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from mha_core.errors import InputError, SizeError
from mha_core.families.bert import SPECIALS as BERT
from mha_core.grid import Array, Mask
from mha_core.record import LARGEST_ERROR, AttentionRecord, ModelInfo
from mha_core.spelling import WORDPIECE
from mha_core.tokens import Piece, Tokens, Word

CALLER = "the caller (arrays of one's own)"
SPECIAL = (BERT.begin, BERT.separator, BERT.padding, "<s>", "</s>", "<pad>")
LENS_PATTERN = "blocks.{}.attn.hook_pattern"
WHAT_WORKS = (
    "give an array (layer, head, query, key), the .attentions of a transformers model called with "
    "output_attentions=True, or a torch.nn.TransformerEncoder with x=its input"
)
Given = Sequence[str] | Tokens


def record_of(
    weights: Any,
    tokens: Given,
    *,
    keys: Given | None = None,
    x: Tensor | None = None,
    special: Sequence[str] = SPECIAL,
    causal: bool | None = None,
    windows: Sequence[int] = (),
    sinks: bool = False,
    title: str = "Weights of one's own",
    computed_by: str = CALLER,
    versions: Mapping[str, str] | None = None,
) -> AttentionRecord:
    """A record of attention weights (layer, head, query, key) between tokens given as strings.

        record_of(output.attentions, tokens)                 # a model of transformers
        record_of(model.generate(..., output_attentions=True, return_dict_in_generate=True).attentions, tokens)
        record_of(encoder, tokens, x=x)                      # a torch.nn.TransformerEncoder and its input
        record_of(cache, tokens)                             # TransformerLens: model.run_with_cache(text)[1]

    `weights`: an array, a tensor, or a sequence of layers of (head, query, key), each with a batch of one before it or
    not; a layer that is None has no weights and keeps its number, and layers may have different counts of heads. The
    steps of `generate` are joined into one causal record, a row for every token that was read. `x`: what the encoder is
    given, (n, d_model), with a batch of one or without.
    `keys`: the tokens of the columns where they are another text's (cross-attention). Each string is a piece, and a
    word, but one that begins with BERT's sign for it goes on with the word before it; those in `special` are no words.
    `causal`: whether a token sees only what stands before it; None: it does if no weight says otherwise. `windows`: how
    many tokens to each side every layer sees, 0 for all. `sinks`: the model has learned sinks (GPT-OSS), which take
    what is missing to one.

    Raises SizeError for another shape, InputError for rows that do not sum to one, or tokens that are no strings.
    """
    if isinstance(weights, nn.TransformerEncoder):
        weights, computed_by = of_torch(weights, x), f"torch {torch.__version__}"
    array, heads = stacked(layers_of(weights))
    rows = tokens_of_strings(tokens, special)
    columns = rows if keys is None else tokens_of_strings(keys, special)
    if array.shape[2:] != (len(rows), len(columns)):
        raise SizeError(
            f"Weights of shape {array.shape} were given with {len(rows)} tokens of rows and {len(columns)} of columns."
        )
    if windows and len(windows) != len(array):
        raise SizeError(f"Give one window per layer (0 for all): {len(array)}, not {len(windows)}.")
    sink = sink_of(array, heads) if sinks else None
    _check(array, heads, sink)
    info = ModelInfo(
        name=title,
        title=title,
        trained=None,
        n_layers=len(array),
        n_heads=array.shape[1],
        d_model=0,
        d_k=0,
        n_parameters=0,
        max_tokens=max(len(rows), len(columns)),
        digest="",
        is_causal=keys is None and is_causal(array, causal),
        computed_by=computed_by,
        windows=tuple(windows),
    )
    return AttentionRecord(
        info, rows, array, versions or {}, keys=None if keys is None else columns,
        heads=None if heads.all() else heads, sink=sink,
    )  # fmt: skip


def layers_of(given: Any) -> Sequence[Any]:
    """The layers of whatever weights are given, in order; None for one without."""
    if isinstance(given, Mapping) or hasattr(given, "cache_dict"):
        return _of_lens(given)
    if isinstance(given, str | bytes) or not (hasattr(given, "__len__") or hasattr(given, "__array__")):
        raise InputError(f"These are no attention weights but {type(given).__name__}; {WHAT_WORKS}.")
    if not isinstance(given, list | tuple):
        return list(given.detach() if isinstance(given, Tensor) else np.asarray(given, dtype=np.float32))
    if given and isinstance(given[0], list | tuple) and any(hasattr(each, "ndim") for each in given[0]):
        return _joined(given)
    return given


def _of_lens(cache: Any) -> Sequence[Any]:
    """The patterns of a TransformerLens cache, layer by layer."""
    named = getattr(cache, "cache_dict", cache)
    found = [int(name.split(".")[1]) for name in named if name.endswith(LENS_PATTERN.split("{}")[1])]
    if not found:
        raise InputError(
            "This cache holds no attention patterns; run the model with "
            "names_filter=lambda name: name.endswith('hook_pattern'), or without a filter."
        )
    return [named.get(LENS_PATTERN.format(layer)) for layer in range(max(found) + 1)]


def _joined(steps: Sequence[Sequence[Any]]) -> list[Any]:
    """The layers of a generation: its first step has a square, every later one a row for the token it read. A layer
    with a window remembers its last keys alone, so a row that is too short ends at its own token."""
    layers: list[Any] = []
    for layer in zip(*steps, strict=True):
        parts = [_numbers(part) for part in layer if part is not None]
        if any(part.ndim != 4 or len(part) != 1 for part in parts):
            raise SizeError(
                "The steps of one generated text are asked for, each layer of shape (1, head, query, key)."
            )
        layers.append(_whole(parts) if parts else None)
    return layers


def _whole(parts: Sequence[Array]) -> Array:
    """One layer's steps (1, head, new, seen) as one square (head, n, n)."""
    n, read = sum(part.shape[2] for part in parts), 0
    whole = np.zeros((parts[0].shape[1], n, n), dtype=np.float32)
    for part in parts:
        new, seen = part.shape[2:]
        read += new
        whole[:, read - new : read, read - seen : read] = part[0]
    return whole


def of_torch(encoder: nn.TransformerEncoder, x: Tensor | None) -> list[Tensor]:
    """The weights (1, head, n, n) of every layer of torch's own encoder for one input, as its layers compute them."""
    if x is None or x.ndim not in (2, 3):
        raise InputError("A torch.nn.TransformerEncoder needs its input: record_of(encoder, tokens, x=x).")
    if encoder.training:
        raise InputError(
            "The encoder is in training mode, where dropout changes the weights; call encoder.eval()."
        )
    found = []
    with torch.no_grad():
        for layer in encoder.layers:
            read = layer.norm1(x) if layer.norm_first else x
            _, weights = layer.self_attn(read, read, read, need_weights=True, average_attn_weights=False)
            if weights.ndim == 4 and len(weights) != 1:
                raise SizeError(f"A record is of one text, not {len(weights)}.")
            found.append(weights)
            x = layer(x)
    return found


def stacked(layers: Sequence[Any]) -> tuple[Array, Mask]:
    """Layers as one float32 array (layer, head, query, key), zero where a layer or head is not there, and which heads
    are (layer, head). Raises SizeError for other shapes, InputError for no numbers."""
    found = [None if layer is None else _numbers(layer) for layer in layers]
    found = [each[0] if each is not None and each.ndim == 4 and len(each) == 1 else each for each in found]
    there = [each for each in found if each is not None]
    shape = np.shape(layers) if not there else there[0].shape
    if not there or any(each.ndim != 3 or 0 in each.shape for each in there):
        raise SizeError(f"Weights are (layer, head, query, key); these have shape {shape}.")
    if len({each.shape[1:] for each in there}) > 1:
        raise SizeError(
            "The layers' weights are between different numbers of tokens; give those of one text."
        )
    n_heads = max(each.shape[0] for each in there)
    array = np.zeros((len(found), n_heads, *there[0].shape[1:]), dtype=np.float32)
    heads = np.zeros((len(found), n_heads), dtype=bool)
    for layer, each in enumerate(found):
        if each is not None:
            array[layer, : len(each)], heads[layer, : len(each)] = each, True
    return array, heads


def is_causal(weights: Array, said: bool | None = None) -> bool:
    """Whether no weight (layer, head, query, key) is of a later token. Raises InputError if it is said and not true."""
    ahead = any(np.triu(layer, 1).any() for layer in weights)
    if said and ahead:
        raise InputError("These weights look at later tokens, which causal ones do not.")
    return not ahead and weights.shape[2] > 1 if said is None else said


def sink_of(weights: Array, heads: Mask) -> Array:
    """(layer, head, query): what is missing to one, which a learned sink took."""
    missing: Array = np.clip(heads[..., None] - weights.sum(axis=-1), 0, 1).astype(np.float32)
    return missing


def _check(weights: Array, heads: Mask, sink: Array | None) -> None:
    sums = weights.sum(axis=-1) if sink is None else weights.sum(axis=-1) + sink
    off = np.abs(sums - heads[..., None])
    if np.isfinite(sums).all() and (weights >= 0).all() and off.max(initial=0) <= LARGEST_ERROR:
        return
    if (
        sink is None
        and np.isfinite(sums).all()
        and (weights >= 0).all()
        and (sums <= 1 + LARGEST_ERROR).all()
    ):
        raise InputError(
            "Rows of these weights sum to less than one; where a model has learned sinks (GPT-OSS), give sinks=True."
        )
    raise InputError("Attention weights are from 0 to 1 and every row sums to one; these are not.")


def tokens_of_strings(given: Given, special: Sequence[str]) -> Tokens:
    """Strings as tokens: each a word, or one that goes on with the word before; tokens as they are."""
    if isinstance(given, Tokens):
        return given
    if isinstance(given, str | bytes):
        raise InputError("`tokens` must be a list of strings, not one text.")
    text, pieces, words = "", list[Piece](), list[Word]()
    for at, label in enumerate(given):
        if not isinstance(label, str) or not label:
            raise InputError(f"Token {at} is {label!r:.40}; tokens are strings that are not empty.")
        if label in special:  # the reader did not write it
            pieces.append(Piece(label, at, len(text), len(text), 0, None, special=True))
            continue
        goes_on = (
            label.startswith(WORDPIECE) and len(label) > 2 and bool(words) and pieces[-1].word is not None
        )
        spelt = label.removeprefix(WORDPIECE) if goes_on else label
        start = len(text) if goes_on or not text else len(text) + 1
        text = text + " " * (start - len(text)) + spelt
        if goes_on:
            last = words[-1]
            words[-1] = Word(text[last.start :], last.start, len(text), 0, last.first, at + 1)
        else:
            words.append(Word(spelt, start, len(text), 0, at, at + 1))
        mark = WORDPIECE if goes_on else ""
        pieces.append(Piece(label, at, start, len(text), 0, len(words) - 1, special=False, mark=mark))
    return Tokens(text, None, tuple(pieces), tuple(words))


def _numbers(given: ArrayLike | Tensor) -> Array:
    if isinstance(given, Tensor):
        given = given.detach().float().cpu().numpy()
    try:
        found: Array = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError(
            f"These are no attention weights but {type(given).__name__}; {WHAT_WORKS}."
        ) from None
    return found
