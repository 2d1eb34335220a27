"""Records of numbers computed elsewhere: arrays, layers as transformers gives them, the steps of `generate`, a
`torch.nn.TransformerEncoder`, a cache of TransformerLens.

Nothing here loads a model. `ModelInfo.computed_by`, exports and a record's summary say that the numbers are not this
engine's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from mha_core.arrays import Array, Mask
from mha_core.errors import InputError, SizeError
from mha_core.models.hf_layers import kinds_of, says_causal, seen_in_chunks, settings_of, windows_of
from mha_core.record.record import AttentionRecord, ModelInfo, fault_in_rows
from mha_core.text.spelling import PADDING, SPECIAL
from mha_core.text.tokens import Tokens, spelt_tokens

CALLER = "the caller (arrays of one's own)"
LENS_PATTERN = "blocks.{}.attn.hook_pattern"
WHAT_WORKS = (
    "give an array (layer, head, query, key), the .attentions of a transformers model called with "
    "output_attentions=True, or a torch.nn.TransformerEncoder with x=its input"
)
Given = Sequence[str] | Tokens


def record_from_weights(
    weights: Any,
    tokens: Given,
    *,
    keys: Given | None = None,
    x: Tensor | None = None,
    special: Sequence[str] = (),
    mask: ArrayLike | Tensor | None = None,
    model: Any = None,
    causal: bool | None = None,
    windows: Sequence[int] = (),
    sinks: bool = False,
    title: str = "Weights of one's own",
    computed_by: str = CALLER,
    versions: Mapping[str, str] | None = None,
) -> AttentionRecord:
    """Make a record of attention weights (layer, head, query, key) between tokens given as strings.

        record_from_weights(output, tokenizer.convert_ids_to_tokens(ids), model=model)   # a model of transformers
        record_from_weights(model.generate(..., output_attentions=True, return_dict_in_generate=True), tokens)
        record_from_weights([layer[1:2] for layer in output.attentions], tokens, mask=batch["attention_mask"][1])
        record_from_weights(encoder, tokens, x=x)              # a torch.nn.TransformerEncoder and its input
        record_from_weights(cache, tokens, causal=True)        # TransformerLens: model.run_with_cache(text)[1]

    `weights`: an array, a tensor, a model's output, or a sequence of layers of (head, query, key), each with a batch of
    one before it or not; a layer that is None has no weights and keeps its number, and layers may have different counts
    of heads. The steps of `generate` are joined into one causal record, a row for every token that was read. `x`: what
    input of the encoder, (n, d_model), with a batch of one or without.
    `keys`: the tokens of the columns where they are another text's (cross-attention). Strings are pieces as a tokenizer
    names them ("Ġcat", "▁un", "able</w>", "##ness"), and become the words they spell; without any such sign each is a
    word. Those in `special`, and names such as [CLS] and <|endoftext|>, are no words.
    `mask`: the tokenizer's attention_mask of this text, (n,): padding is left out. Without it, padding is that which no
    other token looks at: special tokens before the first word, and at the end tokens named [PAD] or <pad>.
    `model`: the transformers model, whose settings say what its tokens see. Else `causal`: True if a token sees only
    itself and what stands before it; needed where no weight is of a later token, and `generate` is known to be causal.
    `windows`: tokens that a layer sees to each side, one a layer, 0 for all. `sinks`: the model has learned sinks
    (GPT-OSS), which take what is missing to one.

    Raises SizeError for another shape, InputError for rows that do not sum to one, tokens that are no strings, and
    where neither `model` nor `causal` says what tokens see.
    """
    if isinstance(weights, nn.TransformerEncoder):
        weights, computed_by = of_torch(weights, x), f"torch {torch.__version__}"
        causal = bool(causal)
    layers, is_generated = layers_of(weights, is_cross=keys is not None)
    rows = tokens_of_strings(tokens, special)
    columns = rows if keys is None else tokens_of_strings(keys, special)
    array, heads = stacked(layers)
    if array.shape[2:] != (len(rows), len(columns)):
        unread = " The last generated token was never read: leave it out." * (len(rows) == array.shape[2] + 1)
        raise SizeError(
            f"Weights of {array.shape[2]} x {array.shape[3]} tokens were given with {len(rows)} tokens of rows and "
            f"{len(columns)} of columns.{unread}"
        )
    array, rows, columns = without_padding(array, rows, columns, _real(array, columns, mask))
    if windows and len(windows) != len(array):
        raise SizeError(f"Give one window per layer (0 for all): {len(array)}, not {len(windows)}.")
    sink = sink_of(array, heads) if sinks else None
    if fault := fault_in_rows(array, heads, sink, rows):
        raise InputError(fault)
    visible, model, is_causal = None, getattr(model, "theirs", model), False
    if model is not None and not (hasattr(model, "config") and hasattr(model, "modules")):
        raise InputError(f"`model` must be the transformers model that ran, not {type(model).__name__}.")
    if keys is None:
        causal = True if causal is None and is_generated else causal
        if causal is None and model is not None:
            causal = says_causal(model)
            # Neither settings nor layers of a Bloom say it.
            causal = array.shape[2] > 1 and not looks_ahead(array) if causal is None else causal
        is_causal = _checked_causal(array, causal)
    if model is not None and keys is None:
        config = settings_of(model.config, "decoder" if causal else "encoder")
        kinds = kinds_of(config, model.config)
        windows = windows or windows_of(config, kinds, array, is_causal=is_causal)
        visible = seen_in_chunks(config, kinds, array) if is_causal else None
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
        is_causal=is_causal,
        computed_by=computed_by,
        windows=tuple(windows),
    )
    return AttentionRecord(
        info, rows, array, versions or {}, keys=None if keys is None else columns, visible=visible,
        heads=None if heads.all() else heads, sink=sink,
    )  # fmt: skip


def layers_of(given: Any, *, is_cross: bool = False) -> tuple[Sequence[Any], bool]:
    """Return the layers of any weights, in order, None for one without; and whether they are the steps of `generate`.
    `is_cross`: they are of cross-attention."""
    named = getattr(given, "cache_dict", given)
    if isinstance(named, Mapping):
        is_lens = not named or any(str(name).startswith("blocks.") for name in named)
        return (
            (_of_lens(named), False) if is_lens else layers_of(_of_output(named, is_cross), is_cross=is_cross)
        )
    if isinstance(given, str | bytes) or not (hasattr(given, "__len__") or hasattr(given, "__array__")):
        raise InputError(f"These are no attention weights but {type(given).__name__}; {WHAT_WORKS}.")
    if not isinstance(given, list | tuple):
        return list(np.atleast_1d(_numbers(given))), False
    if given and isinstance(given[0], list | tuple) and any(hasattr(each, "ndim") for each in given[0]):
        return _joined(given, is_cross), True
    if places := [i for i, each in enumerate(given) if isinstance(each, tuple) and hasattr(given[0], "ndim")]:
        raise InputError(
            f"This is a model's whole output as a tuple; give its attentions, such as output[{places[-1]}]."
        )
    return given, False


def _of_output(output: Mapping[str, Any], is_cross: bool) -> Any:
    """Return the attentions in a model's output. Raises InputError where there are none, or several to choose from."""
    present = [name for name, layers in output.items() if name.endswith("attentions") and layers is not None]
    names = [name for name in present if name.startswith("cross") == is_cross]
    names = [name for name in names if any(layer is not None for layer in output[name])]
    if not names:
        raise InputError(
            f"This {type(output).__name__} holds no {'cross-' * is_cross}attentions; call the model with "
            "output_attentions=True, loaded with attn_implementation='eager'."
        )
    if len(names) > 1:
        raise InputError(
            f"This output holds {', '.join(names)}; give one of them, such as output.{names[0]}."
        )
    return output[names[0]]


def _of_lens(cache: Mapping[str, Any]) -> Sequence[Any]:
    """Return the patterns of a TransformerLens cache, layer by layer."""
    numbers = [int(name.split(".")[1]) for name in cache if name.endswith(LENS_PATTERN.split("{}")[1])]
    if not numbers:
        raise InputError(
            "This cache holds no attention patterns; run the model with "
            "names_filter=lambda name: name.endswith('hook_pattern'), or without a filter."
        )
    return [cache.get(LENS_PATTERN.format(layer)) for layer in range(max(numbers) + 1)]


def _joined(steps: Sequence[Sequence[Any]], is_cross: bool) -> list[Any]:
    """Return the layers of a generation: each step has rows for the tokens it read, or, without a cache, for all."""
    layers: list[Any] = []
    for layer in zip(*steps, strict=True):
        parts = [_numbers(part) for part in layer if part is not None]
        if wrong := next((part.shape for part in parts if part.ndim != 4 or len(part) != 1), ()):
            raise SizeError(
                f"The steps of one text are (1, head, query, key) a layer; these are {wrong}. Of several, pick one: "
                "[[layer[:1] for layer in step] for step in out.attentions]; with beams, generate with num_beams=1."
            )
        layers.append(_whole(parts, is_cross) if parts else None)
    return layers


def _whole(parts: Sequence[Array], is_cross: bool) -> Array:
    """Return one layer's steps (1, head, new, seen) as one array (head, n, n), or (head, n, keys) of cross-attention.

    A later step of more rows than one has read the whole text again. A layer with a window remembers its last keys
    alone, so a row that is too short ends at its own token; one that is too long (a static cache) ends after it.
    """
    rows = list[Array]()
    for part in parts:
        if rows and part.shape[2] == len(rows) + 1 and (is_cross or part.shape[2] == part.shape[3]):
            rows = []
        rows += list(part[0].transpose(1, 0, 2))  # (head, seen) each
    if is_cross:
        return np.stack(rows, axis=1)
    n = len(rows)
    whole = np.zeros((parts[0].shape[1], n, n), dtype=np.float32)
    for query, row in enumerate(rows):
        n_read = max(parts[0].shape[2], query + 1)  # tokens read when the row was computed
        seen = row[:, :n_read]
        whole[:, query, n_read - seen.shape[1] : n_read] = seen
    return whole


def of_torch(encoder: nn.TransformerEncoder, x: Tensor | None) -> list[Tensor]:
    """Return the weights (1, head, n, n) of every layer of torch's own encoder for one input."""
    if x is None or x.ndim not in (2, 3):
        raise InputError(
            "A torch.nn.TransformerEncoder needs its input: record_from_weights(encoder, tokens, x=x)."
        )
    if encoder.training:
        raise InputError(
            "The encoder is in training mode, where dropout changes the weights; call encoder.eval()."
        )
    layers = []
    with torch.no_grad():
        for layer in encoder.layers:
            read = layer.norm1(x) if layer.norm_first else x
            _, weights = layer.self_attn(read, read, read, need_weights=True, average_attn_weights=False)
            if weights.ndim == 4 and len(weights) != 1:
                raise SizeError(f"A record is of one text, not {len(weights)}.")
            layers.append(weights)
            x = layer(x)
    return layers


def stacked(layers: Sequence[Any]) -> tuple[Array, Mask]:
    """Stack layers to one float32 array (layer, head, query, key), zero where a layer or head is missing; return it and
    which heads there are, (layer, head). Raises SizeError for other shapes, InputError for no numbers."""
    arrays = [None if layer is None else _numbers(layer) for layer in layers]
    arrays = [each[0] if each is not None and each.ndim == 4 and len(each) == 1 else each for each in arrays]
    present = [each for each in arrays if each is not None]
    if batch := next((len(each) for each in present if each.ndim == 4), 0):
        raise SizeError(
            f"These weights are of a batch of {batch} texts, a record is of one; pick the first: "
            "[layer[:1] for layer in output.attentions], with its own tokens and mask=batch['attention_mask'][0]."
        )
    shape = np.shape(layers) if not present else present[0].shape
    if not present or any(each.ndim != 3 or 0 in each.shape for each in present):
        raise SizeError(f"Weights are (layer, head, query, key); these have shape {shape}.")
    if len({each.shape[1:] for each in present}) > 1:
        raise SizeError(
            "The layers' weights are between different numbers of tokens; give those of one text."
        )
    n_heads = max(each.shape[0] for each in present)
    array = np.zeros((len(arrays), n_heads, *present[0].shape[1:]), dtype=np.float32)
    heads = np.zeros((len(arrays), n_heads), dtype=bool)
    for layer, each in enumerate(arrays):
        if each is not None:
            array[layer, : len(each)], heads[layer, : len(each)] = each, True
    return array, heads


def _real(weights: Array, tokens: Tokens, mask: ArrayLike | Tensor | None) -> Mask:
    """Return an attention mask as one bool a token. Without one, padding is that which no other token looks at: special
    tokens before the first word, and at the end tokens of that name."""
    if mask is not None:
        real: Mask = np.asarray(mask.detach().cpu() if isinstance(mask, Tensor) else mask).reshape(-1) > 0
        if len(real) != len(tokens):
            raise SizeError(
                f"A mask of {len(real)} tokens was given with {len(tokens)} tokens; give this text's row."
            )
        return real
    n, is_square = len(tokens), weights.shape[2] == len(tokens)
    front = next((i for i, piece in enumerate(tokens.pieces) if not piece.special), 0)
    first = next(i for i in range(front, -1, -1) if not weights[:, :, i if is_square else 0 :, :i].any())
    stop = max(
        (i + 1 for i, piece in enumerate(tokens.pieces) if not PADDING.fullmatch(piece.text)), default=n
    )
    stop = n if weights[:, :, : stop if is_square else None, stop:].any() else stop
    places = np.arange(n)
    return (places >= first) & (places < stop)


def without_padding(
    weights: Array, rows: Tokens, columns: Tokens | None = None, real: Mask | None = None
) -> tuple[Array, Tokens, Any]:
    """Return weights (layer, head, query, key) and tokens without padding. `real`: True for columns that are none;
    None: by the tokenizer's own mask."""
    if real is None:
        mask = dict((rows if columns is None else columns).inputs).get("attention_mask", ())
        real = np.array(mask, dtype=bool)
    if real.all():  # of none, too
        return weights, rows, columns
    if not real.any():
        raise InputError("The attention mask leaves no token of this text.")
    weights = np.ascontiguousarray(weights[..., real])
    if columns is None or columns is rows:
        rows = rows.select(real.tolist())
        return np.ascontiguousarray(weights[:, :, real]), rows, None if columns is None else rows
    return weights, rows, columns.select(real.tolist())


def looks_ahead(weights: Array) -> bool:
    """Return whether any weight (layer, head, query, key) is of a later token."""
    return any(np.triu(layer, 1).any() for layer in weights)


def _checked_causal(weights: Array, causal: bool | None) -> bool:
    """Return `causal`. Raises InputError where the weights contradict it, or it is None and they do not show it."""
    if looks_ahead(weights):
        if causal:
            raise InputError("These weights look at later tokens, which causal ones do not.")
    elif causal is None and weights.shape[2] > 1:
        raise InputError(
            "No weight is of a later token. Give causal=True if no token sees later ones, causal=False if it does, or "
            "the transformers model as model=."
        )
    return bool(causal)


def sink_of(weights: Array, heads: Mask) -> Array:
    """Return the shares missing to one, (layer, head, query), which a learned sink took."""
    missing: Array = np.clip(heads[..., None] - weights.sum(axis=-1), 0, 1).astype(np.float32)
    return missing


def tokens_of_strings(given: Given, special: Sequence[str]) -> Tokens:
    """Return strings as tokens of the words they spell, and tokens unchanged."""
    if isinstance(given, Tokens):
        return given
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise InputError("`tokens` must be a list of strings, such as tokenizer.convert_ids_to_tokens(ids).")
    names = list(given.tolist() if hasattr(given, "tolist") else given)
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"Token {number} is {name!r:.40}; tokens are strings that are not empty.")
    names = [str(name) for name in names]
    return spelt_tokens(
        names, range(len(names)), [name in special or bool(SPECIAL.fullmatch(name)) for name in names]
    )


def _numbers(given: ArrayLike | Tensor) -> Array:
    if isinstance(given, Tensor):
        given = given.detach().float().cpu().numpy()
    try:
        numbers: Array = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError(
            f"These are no attention weights but {type(given).__name__}; {WHAT_WORKS}."
        ) from None
    return numbers
