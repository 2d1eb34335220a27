"""One run of a model: a text in, the record of every head out; on demand, all activations of a layer.

A run leaves nothing on the model, so any number of users can trace through the same one at once.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mha_core.arrays import Array, freeze
from mha_core.display_names import size_in_words
from mha_core.engine.hooks import Hook, UserHooks
from mha_core.engine.layer_activations import LayerActivations, Projections
from mha_core.engine.stack import LayerStep, RunHooks, StackOutput
from mha_core.engine.torch_modes import plain_numbers
from mha_core.engine.visibility import visible_keys
from mha_core.errors import InputError, SizeError
from mha_core.models.hf import INSIDE, TransformersModel
from mha_core.models.hf_layers import Part
from mha_core.models.model import Model
from mha_core.record.record import AttentionRecord
from mha_core.text.tokens import Text, Tokens

WINDOW = 8  # batches sorted by length together
MAX_WINDOW_BYTES = 256 * 1024 * 1024  # of weights computed before their turn
VERSIONS = ("torch", "tokenizers", "numpy")
COMPUTED = ("q", "k", "v", "scores", "weights", "context", "contributions", "output")


def trace(
    text: Text,
    model: Model,
    *,
    pair: str | None = None,
    gates: ArrayLike | None = None,
    hook: Hook | None = None,
    target: str | None = None,
    part: Part | None = None,
) -> AttentionRecord:
    """Trace a text, a pair of texts, or a text given as its words or chat messages, through a model.

    `target`, `part`: for an encoder-decoder, the decoder's text (None: the model's own output), and which attention,
    "encoder", "decoder" or "cross".
    `gates` (n_layers, n_heads) multiplies each head's context before W_o; zero switches a head off.
    `hook` reads or edits activations (hooks.py).
    Raises InputError for an empty text, or a text or model of another type, SizeError for gates of another shape.
    """
    if isinstance(model, TransformersModel):
        if gates is not None or hook is not None:
            raise InputError(INSIDE.format(model.title))
        return (model if part is None else model.of(part)).trace(text, pair, target)
    check_model(model)
    if target is not None or part not in (None, "encoder"):
        raise InputError(f"{model.title} is not an encoder-decoder. Give one text, or a pair.")
    return trace_tokens(model.tokenizer.read(text, pair), model, gates=gates, hook=hook)


def as_tokens(text: Tokens | Text, model: Model) -> Tokens:
    """Return a text as the model's tokens; tokens as they are."""
    return model.tokenizer.read(text)


def check_model(model: object) -> None:
    """Raise InputError unless it is a loaded model whose activations can be read."""
    if isinstance(model, TransformersModel):
        raise InputError(INSIDE.format(model.title))
    if not isinstance(model, Model):
        kind = f"the name '{model[:40]}'" if isinstance(model, str) else type(model).__name__
        raise InputError(f"`model` must be a loaded model, not {kind}. load_model(name) loads one.")


def trace_tokens(
    tokens: Tokens,
    model: Model,
    *,
    gates: ArrayLike | None = None,
    hook: Hook | None = None,
) -> AttentionRecord:
    """Trace tokens (of a treebank's words, for example); options as in `trace`."""
    if isinstance(model, TransformersModel) and gates is None and hook is None:
        return model.trace_tokens(tokens)
    check_model(model)
    factors = gate_tensor(gates, model)
    hooks = None if hook is None else UserHooks(hook)
    output = run([tokens], model, gates=factors, hooks=hooks)
    weights = output.weights[:, 0]
    gates_used = None if factors is None else factors.float().cpu().numpy().copy()
    edits = (f"hook {getattr(hook, '__name__', '')}".strip(),) if hooks and hooks.has_edited else ()
    return AttentionRecord(model.info, tokens, to_numpy(weights), versions(), gates_used, edits)


def trace_many(
    texts: Iterable[Tokens | str],
    model: Model,
    *,
    batch_size: int = 32,
    gates: ArrayLike | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Iterator[Array]:
    """Yield the weights (layer, head, query, key) of many texts (strings or tokens), one array each, in order.

    `progress(done, total)` is called after every batch; total is None where `texts` has no length.
    Texts are sorted by length inside a window of at most eight batches and 256 MB of weights, run together,
    padded and masked; the padding is cut off. Memory does not grow with their number.
    """
    if batch_size < 1:
        raise InputError(f"batch_size must be 1 or more, not {batch_size}.")
    if isinstance(texts, str | bytes | Tokens):
        raise InputError("`texts` must be a list. For one text use trace.")
    if isinstance(model, TransformersModel) and gates is None:
        yield from _one_by_one(texts, model, progress)
        return
    check_model(model)
    factors, ready = gate_tensor(gates, model), 0
    total = len(texts) if isinstance(texts, Sized) else None
    for window in _windows((as_tokens(text, model) for text in texts), model, batch_size * WINDOW):
        order = sorted(range(len(window)), key=lambda i: len(window[i]))
        done: dict[int, Array] = {}
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            weights = to_numpy(run([window[i] for i in batch], model, gates=factors).weights)
            for place, i in enumerate(batch):
                n = len(window[i])
                done[i] = weights[:, place, :, :n, :n]
            ready += len(batch)
            if progress is not None:
                progress(ready, total)
        for i in range(len(window)):
            yield done.pop(i)


def _one_by_one(
    texts: Iterable[Tokens | str],
    model: TransformersModel,
    progress: Callable[[int, int | None], None] | None,
) -> Iterator[Array]:
    """Yield the weights of many texts, each in a run of its own: some transformers models give a padded text other
    weights than the text alone."""
    total = len(texts) if isinstance(texts, Sized) else None
    for done, text in enumerate(texts, 1):
        yield model.trace_tokens(as_tokens(text, model)).weights
        if progress is not None:
            progress(done, total)


def _windows(tokens: Iterable[Tokens], model: Model, n_most: int) -> Iterator[list[Tokens]]:
    """Group texts in order, as many as fit in MAX_WINDOW_BYTES, at most `n_most`."""
    window: list[Tokens] = []
    n_bytes = 0
    for text in tokens:
        size = 4 * model.n_layers * model.n_heads * len(text) ** 2
        if window and n_bytes + size > MAX_WINDOW_BYTES:
            yield window
            window, n_bytes = [], 0
        window.append(text)
        n_bytes += size
        if len(window) == n_most:
            yield window
            window, n_bytes = [], 0
    if window:
        yield window


def layer_details(
    tokens: Tokens | str,
    model: Model,
    layer: int,
    *,
    gates: ArrayLike | None = None,
    projections: Projections | None = None,
) -> LayerActivations:
    """Return one layer's activations (from 0) for a text; `projections`: its weights, if already computed.

    Raises InputError for a layer that the model does not have.
    """
    if not 0 <= layer < model.n_layers:
        raise InputError(f"Unknown layer {layer + 1}. {model.title} has layers 1 to {model.n_layers}.")
    tokens, factors = as_tokens(tokens, model), gate_tensor(gates, model)
    for step in every_step([tokens], model, gates=factors, need_weights=True, details_of=(layer,)):
        if step.index == layer:
            return _as_run(step, model, projections or projections_of(model, layer))
    raise SizeError(f"Layer {layer + 1} gave no details.")


def every_layer_details(tokens: Tokens, model: Model) -> Iterator[LayerActivations]:
    """Yield every layer's activations, as `layer_details`, from one run."""
    for step in every_step([tokens], model, need_weights=False, details_of=range(model.n_layers)):
        yield _as_run(step, model, projections_of(model, step.index))


def projections_of(model: Model, layer: int) -> Projections:
    """Return the weights of one layer's attention (from 0), by head: views of the model's own if they are on the CPU
    in float32; else copies."""
    attention = model.encoder.layer(layer).attention

    def split(linear: torch.nn.Linear, heads: int) -> tuple[Array, Array | None]:
        weight = to_numpy(linear.weight.view(heads, -1, attention.d_model).transpose(1, 2))
        return weight, None if linear.bias is None else to_numpy(linear.bias.view(heads, -1))

    W_o = attention.W_o.weight.view(attention.d_model, attention.n_heads, attention.d_v).permute(1, 2, 0)
    b_o = attention.W_o.bias
    return Projections(
        *split(attention.W_q, attention.n_heads),
        *split(attention.W_k, attention.n_kv_heads),
        *split(attention.W_v, attention.n_kv_heads),
        to_numpy(W_o),
        None if b_o is None else to_numpy(b_o),
    )


def every_step(batch: Sequence[Tokens], model: Model, **options: Any) -> Iterator[LayerStep]:
    """Yield the steps of a batch of texts, each computed when taken, without gradients; options as in `Stack.steps`."""
    check_model(model)
    steps = iter(model.encoder.steps(*batch_of(batch, model), **options))
    while True:
        # Not around the yield: the caller's own code would run in it.
        with torch.inference_mode(), plain_numbers():
            step = next(steps, None)
        if step is None:
            return
        yield step


def _as_run(step: LayerStep, model: Model, projections: Projections) -> LayerActivations:
    """Return the activations of a step, its one text without the batch."""
    block, details = model.encoder.layer(step.index), step.details
    if details is None:
        raise SizeError(f"Layer {step.index + 1} gave no details.")
    with torch.inference_mode(), plain_numbers():
        residual = block.residual(step.x[0], details.output[0])
    x = to_numpy(step.attention_input[0])
    before = (details.q_unrotated, details.k_unrotated)
    q_unrotated, k_unrotated = (None if part is None else to_numpy(part[0]) for part in before)
    computed: dict[str, Any] = {name: _cut_out(getattr(details, name)[0]) for name in COMPUTED}
    positions = np.arange(len(x))
    return LayerActivations(
        projections=projections,
        x=x,
        keys_from=x,
        **computed,
        allowed=visible_keys(positions, positions, is_causal=model.is_causal, window=block.window),
        divisor=math.sqrt(projections.d_k),
        is_causal=model.is_causal,
        rotary=model.encoder.rotary,
        q_unrotated=q_unrotated,
        k_unrotated=k_unrotated,
        stream=x if step.attention_input is step.x else to_numpy(step.x[0]),
        residual=to_numpy(residual),
        hidden=to_numpy(step.hidden[0]),
        window=block.window,
    )


def _cut_out(tensor: Tensor) -> Array:
    """Convert as `to_numpy`, into own memory: a view would keep its whole storage alive, such as every layer's
    weights."""
    array = to_numpy(tensor)
    return freeze(array.copy()) if tensor.untyped_storage().nbytes() > 2 * array.nbytes else array


def hidden_states(tokens: Tokens | str, model: Model) -> Array:
    """Return the states between layers, (n_layers + 1, n, d_model): the embedding first, the last layer's last."""
    states = run([as_tokens(tokens, model)], model, need_weights=False).hidden_states
    return to_numpy(torch.stack([state[0] for state in states]))


def embedding(tokens: Tokens | str, model: Model, *, gates: ArrayLike | None = None) -> Array:
    """Return the text as one vector (d_model,): the mean of the last layer over all tokens (mean pooling)."""
    output = run([as_tokens(tokens, model)], model, gates=gate_tensor(gates, model), need_weights=False)
    return to_numpy(output.hidden[0].mean(dim=0))


def run(
    batch: Sequence[Tokens],
    model: Model,
    *,
    gates: Tensor | None = None,
    need_weights: bool = True,
    hooks: RunHooks | None = None,
) -> StackOutput:
    """Run a batch of texts, without gradients; shorter ones are padded and the padding masked.

    `hooks` edit the run; `mha_core.causal.intervention_hooks` builds them from interventions.
    """
    check_model(model)
    with torch.inference_mode(), plain_numbers():
        output: StackOutput = model.encoder(
            *batch_of(batch, model),
            gates=gates,
            need_weights=need_weights,
            hooks=hooks,
        )
    return output


def batch_of(batch: Sequence[Tokens], model: Model) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, segments, and which positions are no padding, (batch, n) each."""
    longest = max(len(tokens) for tokens in batch)
    ids = np.full((len(batch), longest), model.tokenizer.pad_id, dtype=np.int64)
    segments = np.zeros((len(batch), longest), dtype=np.int64)
    real = np.zeros((len(batch), longest), dtype=bool)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens.ids
        segments[row, : len(tokens)] = tokens.segments
        real[row, : len(tokens)] = True
    if model.config.reads_segments and segments.max(initial=0) >= model.config.n_segments:
        raise InputError(f"{model.title} was made for single texts; it takes no pair.")
    on_device = [torch.from_numpy(array).to(model.device) for array in (ids, segments, real)]
    return on_device[0], on_device[1], on_device[2]


def gate_tensor(gates: ArrayLike | None, model: Model) -> Tensor | None:
    """Return gates as a tensor on the model's device. Raises SizeError unless they are (n_layers, n_heads)."""
    if gates is None:
        return None
    try:
        factors = torch.tensor(np.asarray(gates, dtype=np.float32), device=model.device)
    except (TypeError, ValueError):
        raise InputError("Gates must be one number per head, in one row per layer.") from None
    if not bool(factors.isfinite().all()):
        raise InputError("Gates must be finite numbers: 0 ablates a head, 1 keeps it.")
    if factors.shape != (model.n_layers, model.n_heads):
        raise SizeError(
            f"Gates of shape {tuple(factors.shape)} were given; {model.title} has "
            f"{size_in_words(model.n_layers, model.n_heads)}."
        )
    return factors


def to_numpy(tensor: Tensor) -> Array:
    """Convert a tensor to a read-only float32 array on the CPU."""
    array: Array = freeze(tensor.detach().float().cpu().numpy())
    return array


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of the computing packages; read once, for it takes a millisecond."""
    installed = {}
    for package in VERSIONS:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "unknown"
    return MappingProxyType(installed)
