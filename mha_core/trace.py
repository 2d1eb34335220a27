"""One run of a model: a text in, the record of every head out; and, on demand, all that one layer computed.

Nothing of a run stays on the model, so any number of readers can trace through the same one at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mha_core.errors import InputError, SizeError
from mha_core.models import Model
from mha_core.record import Array, Record, freeze
from mha_core.stack import LayerStep, StackOutput
from mha_core.tokens import Tokens

WINDOW = 8  # batches that are sorted by length together
HELD_BYTES = 256 * 1024 * 1024  # weights that wait for their turn to be handed out
VERSIONS = ("torch", "tokenizers", "numpy")


def trace(text: str, model: Model, *, pair: str | None = None, gates: ArrayLike | None = None) -> Record:
    """The record of a text, or of a pair of texts, through a model.

    `gates` (n_layers, n_heads) multiplies each head's context before W_o; zero switches a head off.
    Raises InputError for an empty text, SizeError for gates of another shape.
    """
    return trace_tokens(model.tokenizer.encode(text, pair), model, gates=gates)


def trace_tokens(tokens: Tokens, model: Model, *, gates: ArrayLike | None = None) -> Record:
    """The record of tokens that are already there (a treebank's words, for example)."""
    factors = gate_tensor(gates, model)
    output = run([tokens], model, gates=factors)
    weights = output.stacked()[:, 0]
    kept = None if factors is None else factors.float().cpu().numpy().copy()
    return Record(model.info, tokens, to_numpy(weights), versions(), kept)


def trace_many(
    tokens: Iterable[Tokens], model: Model, *, batch_size: int = 32, gates: ArrayLike | None = None
) -> Iterator[Array]:
    """The weights (layer, head, query, key) of many texts, one array each, in the order given.

    Texts are sorted by length inside a window of at most eight batches and 256 MB of weights, run together,
    padded and masked; the padding is cut off again. Memory does not grow with their number.
    """
    if batch_size < 1:
        raise InputError(f"A batch of {batch_size} texts was asked for; it takes at least one.")
    factors = gate_tensor(gates, model)
    for window in _windows(tokens, model, batch_size * WINDOW):
        order = sorted(range(len(window)), key=lambda i: len(window[i]))
        done: dict[int, Array] = {}
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            weights = to_numpy(run([window[i] for i in batch], model, gates=factors).stacked())
            for place, i in enumerate(batch):
                n = len(window[i])
                done[i] = weights[:, place, :, :n, :n]
        for i in range(len(window)):
            yield done.pop(i)


def _windows(tokens: Iterable[Tokens], model: Model, most: int) -> Iterator[list[Tokens]]:
    """Texts in the order given, as many as fit in HELD_BYTES."""
    window: list[Tokens] = []
    held = 0
    for text in tokens:
        size = 4 * model.n_layers * model.n_heads * len(text) ** 2
        if window and held + size > HELD_BYTES:
            yield window
            window, held = [], 0
        window.append(text)
        held += size
        if len(window) == most:
            yield window
            window, held = [], 0
    if window:
        yield window


@dataclass(frozen=True, eq=False)
class LayerDetails:
    """All that the attention of one layer computed for one text, in NumPy; H heads of widths d_k and d_v, of
    which G are key and value heads (G = H unless queries are grouped).

    x (n, d_model) is what the attention is given; W_q (H, d_model, d_k) and b_q (H, d_k) so that q = x W_q + b_q,
    and so on with G for W_k and W_v; scores (H, n, n) are q kᵀ / sqrt(d_k); contributions (H, n, d_model) sum,
    plus b_o, to output (n, d_model). stream (n, d_model) is the layer's own input: x itself, or what x is the
    norm of (pre-LN). residual = LayerNorm(stream + output), or that sum itself (pre-LN); hidden is what the whole
    layer gives on. With rotary positions q and k are rotated; q_unrotated and k_unrotated (else None) are not.
    """

    x: Array
    W_q: Array
    b_q: Array
    W_k: Array
    b_k: Array
    W_v: Array
    b_v: Array
    q: Array
    k: Array
    v: Array
    scores: Array
    weights: Array
    context: Array
    W_o: Array
    b_o: Array
    contributions: Array
    output: Array
    residual: Array
    hidden: Array
    stream: Array
    q_unrotated: Array | None = None
    k_unrotated: Array | None = None


def layer_details(
    tokens: Tokens, model: Model, layer: int, *, gates: ArrayLike | None = None
) -> LayerDetails:
    """What one layer (from 0) computed for a text. Raises InputError for a layer that is not there."""
    if not 0 <= layer < model.n_layers:
        raise InputError(f"Layer {layer + 1} was asked for; {model.title} has {model.n_layers}.")
    factors = gate_tensor(gates, model)
    for step in _steps(tokens, model, gates=factors, need_weights=True, details_of=(layer,)):
        if step.index == layer:
            return _as_arrays(step, model)
    raise SizeError(f"Layer {layer + 1} gave no details.")


def every_layer_details(tokens: Tokens, model: Model) -> Iterator[LayerDetails]:
    """The same of every layer, one at a time, out of one run."""
    for step in _steps(tokens, model, need_weights=False, details_of=range(model.n_layers)):
        yield _as_arrays(step, model)


def _steps(tokens: Tokens, model: Model, **options: Any) -> Iterator[LayerStep]:
    """The steps of one text, each computed when it is asked for, without gradients."""
    steps = iter(model.encoder.steps(*_batch([tokens], model), **options))
    while True:
        with torch.inference_mode():  # not around the yield: the caller's own code would run in it
            step = next(steps, None)
        if step is None:
            return
        yield step


def _as_arrays(step: LayerStep, model: Model) -> LayerDetails:
    block, details = model.encoder.layer(step.index), step.details
    attention = block.attention
    if details is None:
        raise SizeError(f"Layer {step.index + 1} gave no details.")

    def split(linear: torch.nn.Linear, heads: int) -> tuple[Array, Array]:
        weight = linear.weight.view(heads, -1, attention.d_model).transpose(1, 2)
        return to_numpy(weight), to_numpy(_bias(linear).view(heads, -1))

    W_q, b_q = split(attention.W_q, attention.n_heads)
    W_k, b_k = split(attention.W_k, attention.n_kv_heads)
    W_v, b_v = split(attention.W_v, attention.n_kv_heads)
    W_o = attention.W_o.weight.view(attention.d_model, attention.n_heads, attention.d_v).permute(1, 2, 0)
    with torch.inference_mode():
        residual = block.residual(step.x[0], details.output[0])
    steps = (details.q, details.k, details.v, details.scores, details.weights, details.context)
    q, k, v, scores, weights, context = (to_numpy(part[0]) for part in steps)
    before = (
        None if part is None else to_numpy(part[0]) for part in (details.q_unrotated, details.k_unrotated)
    )
    return LayerDetails(
        to_numpy(step.attention_input[0]), W_q, b_q, W_k, b_k, W_v, b_v, q, k, v, scores, weights, context,
        to_numpy(W_o), to_numpy(_bias(attention.W_o)), to_numpy(details.contributions[0]),
        to_numpy(details.output[0]), to_numpy(residual), to_numpy(step.hidden[0]), to_numpy(step.x[0]), *before,
    )  # fmt: skip


def _bias(linear: torch.nn.Linear) -> Tensor:
    """Its bias; zeros where it has none."""
    return linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias


def hidden_states(tokens: Tokens, model: Model) -> Array:
    """The states between layers, (n_layers + 1, n, d_model): the embedding first, the last layer's last."""
    states = run([tokens], model, need_weights=False).hidden_states
    return to_numpy(torch.stack([state[0] for state in states]))


def embedding(tokens: Tokens, model: Model, *, gates: ArrayLike | None = None) -> Array:
    """The text as one vector (d_model,): the mean of the last layer over all tokens (mean pooling)."""
    output = run([tokens], model, gates=gate_tensor(gates, model), need_weights=False)
    return to_numpy(output.hidden[0].mean(dim=0))


def run(
    batch: Sequence[Tokens],
    model: Model,
    *,
    gates: Tensor | None = None,
    need_weights: bool = True,
    details_of: int | None = None,
) -> StackOutput:
    """A batch of texts through the model, without gradients; shorter ones are padded and the padding masked."""
    with torch.inference_mode():
        output: StackOutput = model.encoder(
            *_batch(batch, model), gates=gates, need_weights=need_weights, details_of=details_of
        )
    return output


def _batch(batch: Sequence[Tokens], model: Model) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, segments, and which positions are real, (batch, n) each."""
    longest = max(len(tokens) for tokens in batch)
    ids = np.full((len(batch), longest), model.tokenizer.pad_id, dtype=np.int64)
    segments = np.zeros((len(batch), longest), dtype=np.int64)
    real = np.zeros((len(batch), longest), dtype=bool)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens.ids
        segments[row, : len(tokens)] = tokens.segments
        real[row, : len(tokens)] = True
    if segments.max(initial=0) >= model.config.n_segments:
        raise InputError(f"{model.title} was made for single texts; it takes no pair.")
    on_device = [torch.from_numpy(array).to(model.device) for array in (ids, segments, real)]
    return on_device[0], on_device[1], on_device[2]


def gate_tensor(gates: ArrayLike | None, model: Model) -> Tensor | None:
    """Gates as a tensor where the model is. Raises SizeError unless they are (n_layers, n_heads)."""
    if gates is None:
        return None
    try:
        factors = torch.tensor(np.asarray(gates, dtype=np.float32), device=model.device)
    except (TypeError, ValueError):
        raise InputError("Gates are one number for every head, in rows of one layer each.") from None
    if not bool(factors.isfinite().all()):
        raise InputError("A gate is not a finite number; 0 switches a head off, 1 leaves it as it is.")
    if factors.shape != (model.n_layers, model.n_heads):
        raise SizeError(
            f"Gates of shape {tuple(factors.shape)} were given; {model.title} has {model.n_layers} layers of "
            f"{model.n_heads} heads."
        )
    return factors


def to_numpy(tensor: Tensor) -> Array:
    """A tensor as a read-only float32 array on the CPU."""
    return freeze(tensor.detach().float().cpu().numpy())


@cache
def versions() -> Mapping[str, str]:
    """The versions of what computed the numbers; read once, for it takes a millisecond."""
    found = {}
    for package in VERSIONS:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return MappingProxyType(found)
