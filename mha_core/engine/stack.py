"""The one loop over layers of every model family, with a gate on every head and hooks on every activation.

In: token ids (batch, n), segments (batch, n), and which positions are real (batch, n). Out: the hidden states
of every layer (batch, n, d_model) and the weights of every layer (batch, n_heads, n, n). Everything else in a
layer is its family's block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_core.engine.multihead import AttentionDetails, KVCache, MultiHeadAttention
from mha_core.engine.rotary import Rotary
from mha_core.engine.torch_modes import is_transformed
from mha_core.engine.visibility import visible_keys
from mha_core.errors import SizeError
from mha_core.interrupt import check_interrupt

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
    "tanh": torch.tanh,
}
# Twice and more the sizes of any model of these families, and small enough to build.
MAX_SIZES = {
    "vocab_size": 1_000_000,
    "d_model": 16_384,
    "n_layers": 200,
    "n_heads": 256,
    "d_ff": 131_072,
    "max_positions": 10_000_000,
    "n_segments": 1_000,
    "n_kv_heads": 256,
    "d_k": 16_384,
}
MAX_BYTES = 64_000_000_000  # of all matrices in fp32
MAX_EPS = 1e-3


@dataclass(frozen=True)
class StackConfig:
    """Sizes of a model; a family adds its own. Raises SizeError for sizes that do not fit.

    `n_kv_heads` is n_heads, and `d_k` d_model / n_heads, unless they are given.
    """

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    max_positions: int = 512
    n_segments: int = 1
    norm_eps: float = 1e-12
    activation: str = "gelu"
    n_kv_heads: int = 0
    d_k: int = 0

    model_type: ClassVar[str]
    is_causal: ClassVar[bool] = False
    # False: only separators mark a pair's two texts.
    reads_segments: ClassVar[bool] = True
    # Standard deviations of random weights and embeddings, as in BERT and GPT-2.
    first_std: ClassVar[float] = 0.02
    first_embedding_std: ClassVar[float] = 0.02

    def __post_init__(self) -> None:
        if not self.n_kv_heads:
            object.__setattr__(self, "n_kv_heads", self.n_heads)
        if self.n_heads > 0 and not self.d_k:
            if self.d_model % self.n_heads:
                raise SizeError(
                    f"d_model = {self.d_model} cannot be split into {self.n_heads} heads of equal width."
                )
            object.__setattr__(self, "d_k", self.d_model // self.n_heads)
        for name, limit in MAX_SIZES.items():
            if not 1 <= getattr(self, name) <= limit:
                raise SizeError(f"{name} is {getattr(self, name)}; it must be from 1 to {limit:,}.")
        if not 0 < self.norm_eps < MAX_EPS:
            raise SizeError(f"The norms' epsilon is {self.norm_eps}; it must be above 0 and below {MAX_EPS}.")
        if self.n_bytes > MAX_BYTES:
            raise SizeError(f"Its weights would take {self.n_bytes:,} bytes; at most {MAX_BYTES:,} are read.")
        if self.n_heads % self.n_kv_heads:
            raise SizeError(f"{self.n_heads} query heads cannot share {self.n_kv_heads} key heads evenly.")
        if self.activation not in ACTIVATIONS:
            raise SizeError(
                f"The activation {self.activation[:40]!a} is not one of {', '.join(ACTIVATIONS)}."
            )

    @property
    def n_bytes(self) -> int:
        """Bytes of the matrices in fp32, three of the feed-forward net counted."""
        attention = 2 * self.d_model * self.d_k * (self.n_heads + self.n_kv_heads)
        learned = 0 if self.n_segments == 1 and self.is_causal else self.max_positions
        tables = (self.vocab_size + learned + self.n_segments) * self.d_model
        return 4 * (tables + self.n_layers * (attention + 3 * self.d_model * self.d_ff))


class Block(nn.Module, ABC):
    """One layer of a family: attention, with its norms and feed-forward net."""

    attention: MultiHeadAttention
    window: int | None = None  # tokens visible to each side; None: all

    def attention_input(self, x: Tensor) -> Tensor:
        """Return the attention's input: the layer's own, or that input normalised (pre-LN)."""
        return x

    @abstractmethod
    def residual(self, x: Tensor, attended: Tensor) -> Tensor:
        """Return the feed-forward net's input: the layer's own with the attention output."""

    @abstractmethod
    def mlp(self, residual: Tensor) -> Tensor:
        """Return the feed-forward net's output."""

    @abstractmethod
    def output(self, residual: Tensor, written: Tensor) -> Tensor:
        """Return the next layer's input: the residual with the feed-forward net's output."""

    def feed_forward(self, x: Tensor, attended: Tensor) -> Tensor:
        """Run the rest of the layer, from its input and attention output."""
        residual = self.residual(x, attended)
        return self.output(residual, self.mlp(residual))


class PreNormBlock(Block):
    """Block whose attention reads the normalised input and adds to the input itself (pre-LN)."""

    attention_norm: nn.Module

    def attention_input(self, x: Tensor) -> Tensor:
        """Return the layer's input, normalised."""
        normed: Tensor = self.attention_norm(x)
        return normed

    def residual(self, x: Tensor, attended: Tensor) -> Tensor:
        """Return x + attended."""
        return x + attended

    def output(self, residual: Tensor, written: Tensor) -> Tensor:
        """Return residual + written."""
        return residual + written


class Embedder(Protocol):
    """Embedding of token ids and segments (batch, n) as (batch, n, d_model); `first`: the first token's position."""

    def __call__(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor: ...


class RunHooks(Protocol):
    """Edits of a run, layers from 0: states (batch, n, d_model) before layer `index` (n_layers: after the last), and
    each layer's weights, where `rewrites_weights`, and contexts, as in `HeadHooks`."""

    def state(self, index: int, x: Tensor) -> Tensor: ...

    def rewrites_weights(self, layer: int) -> bool: ...

    def weights(self, layer: int, weights: Tensor) -> Tensor: ...

    def context(self, layer: int, context: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class LayerHooks:
    """One layer's view of a run's hooks, as `HeadHooks`."""

    run: RunHooks
    layer: int

    @property
    def rewrites_weights(self) -> bool:
        return self.run.rewrites_weights(self.layer)

    def weights(self, weights: Tensor) -> Tensor:
        return self.run.weights(self.layer, weights)

    def context(self, context: Tensor) -> Tensor:
        return self.run.context(self.layer, context)


@dataclass(frozen=True)
class LayerStep:
    """Run of one layer (`index` from 0): its input `x`, its attention's input and output (`attention_input`,
    `attended`), and the next layer's input `hidden`, all (batch, n, d_model)."""

    index: int
    x: Tensor
    attention_input: Tensor
    attended: Tensor
    hidden: Tensor
    weights: Tensor | None
    details: AttentionDetails | None


@dataclass(frozen=True)
class StackOutput:
    """`hidden_states`: n_layers + 1 tensors (batch, n, d_model), the embedding first. `weights`: (n_layers, batch,
    n_heads, n, n_k), empty without `need_weights`. `hidden`: the last layer's output, after the final norm where the
    family has one."""

    hidden_states: tuple[Tensor, ...]
    weights: Tensor
    hidden: Tensor


class Stack(nn.Module):
    """Embeddings, layers, and a final norm or none. Gates and hooks are arguments; a call leaves nothing on the module,
    so it can be shared. `rotary` turns queries and keys by position; None: it does not."""

    rotary: Rotary | None = None

    def __init__(
        self,
        config: StackConfig,
        embeddings: nn.Module,
        layers: Sequence[Block],
        norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.embeddings = embeddings
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def layer(self, index: int) -> Block:
        """Return a layer, counted from 0."""
        return cast(Block, self.layers[index])

    def finish(self, x: Tensor) -> Tensor:
        """Return the last layer's states as the prediction head reads them."""
        return x if self.norm is None else cast(Tensor, self.norm(x))

    def forward(
        self,
        ids: Tensor,
        segments: Tensor | None = None,
        real: Tensor | None = None,
        *,
        gates: Tensor | None = None,
        need_weights: bool = True,
        stores: Sequence[KVCache] | None = None,
        hooks: RunHooks | None = None,
    ) -> StackOutput:
        """Run all layers; arguments as in `steps`."""
        states, weights = list[Tensor](), list[Tensor]()
        room = None
        if need_weights and not torch.is_grad_enabled() and not is_transformed(ids):
            room = self._room(ids, stores)
        for step in self.steps(
            ids,
            segments,
            real,
            gates=gates,
            need_weights=need_weights,
            stores=stores,
            hooks=hooks,
            room=room,
        ):
            states.append(step.x)
            if room is None and step.weights is not None:
                weights.append(step.weights)
        states.append(step.hidden)
        if room is None:
            room = torch.stack(weights) if weights else step.hidden.new_empty(0)
        return StackOutput(tuple(states), room, self.finish(step.hidden))

    def steps(
        self,
        ids: Tensor,
        segments: Tensor | None = None,
        real: Tensor | None = None,
        *,
        gates: Tensor | None = None,
        need_weights: bool = True,
        details_of: Collection[int] = (),
        differentiable: bool = False,
        stores: Sequence[KVCache] | None = None,
        hooks: RunHooks | None = None,
        room: Tensor | None = None,
    ) -> Iterator[LayerStep]:
        """Run the layers, one for each step taken.

        `real` (batch, n) is True where a token is no padding; `gates` (n_layers, n_heads) or (n_layers, batch,
        n_heads) multiplies every head's context; `details_of`: layers, from 0, to return details of;
        `differentiable`: gradients can be taken with respect to every layer's weights, the first one's too, in
        float32 and float64; `stores`, one a layer, hold the keys and values of the tokens before;
        `hooks` edit states, weights and contexts; `room` (n_layers, batch, n_heads, n, n_k), without gradients,
        receives all weights.

        Raises SizeError for too many positions, or gates of another shape.
        """
        segments, before = torch.zeros_like(ids) if segments is None else segments, _n_before(stores)
        self._check(ids, segments, gates, before)
        x = cast(Embedder, self.embeddings)(ids, segments, before)
        if differentiable:
            x = x.detach().requires_grad_()
        if hooks is not None:
            x = hooks.state(0, x)
        yield from self._layers(
            x, 0, real, gates=gates, need_weights=need_weights, details_of=details_of, stores=stores,
            hooks=hooks, room=room,
        )  # fmt: skip

    def resume(
        self, x: Tensor, layer: int, *, gates: Tensor | None = None, hooks: RunHooks | None = None
    ) -> Tensor:
        """Run the layers from `layer` (from 0) on, from its input (batch, n, d_model); return `forward`'s `hidden`.

        The hooks do not edit that input. `gates` are those of all layers, as in `forward`.
        """
        for step in self._layers(x, layer, None, gates=gates, need_weights=False, hooks=hooks):
            x = step.hidden
        return self.finish(x)

    def _layers(
        self,
        x: Tensor,
        start: int,
        real: Tensor | None,
        *,
        gates: Tensor | None,
        need_weights: bool,
        details_of: Collection[int] = (),
        stores: Sequence[KVCache] | None = None,
        hooks: RunHooks | None = None,
        room: Tensor | None = None,
    ) -> Iterator[LayerStep]:
        """Run the loop from layer `start` on, from its input."""
        n, before = x.shape[1], _n_before(stores)
        padding = None if real is None or bool(real.all()) else real[:, None, None, :]
        # One token sees all before it; several after cached ones need a mask.
        is_causal = self.config.is_causal and n > 1
        masks = {
            window: _mask(n, before, is_causal and before > 0, window, padding, x.device)
            for window in {self.layer(index).window for index in range(start, self.config.n_layers)}
        }
        rotation = None if self.rotary is None else self.rotary.at(before, n, x)
        for index in range(start, self.config.n_layers):
            check_interrupt()
            block = self.layer(index)
            attention_input = block.attention_input(x)
            attended, attention = block.attention(
                attention_input,
                mask=masks[block.window],
                is_causal=is_causal and not before,
                rotation=rotation,
                need_weights=need_weights,
                details=index in details_of,
                gates=None if gates is None else gates[index].to(x.device),
                out=None if room is None else room[index],
                store=None if stores is None else stores[index],
                hooks=None if hooks is None else LayerHooks(hooks, index),
            )
            details = attention if isinstance(attention, AttentionDetails) else None
            hidden = block.feed_forward(x, attended)
            if hooks is not None:
                hidden = hooks.state(index + 1, hidden)
            yield LayerStep(
                index,
                x,
                attention_input,
                attended,
                hidden,
                attention if details is None else details.weights,
                details,
            )
            x = hidden

    def _room(self, ids: Tensor, stores: Sequence[KVCache] | None) -> Tensor:
        """Return an empty tensor for the weights of all layers, which saves stacking them."""
        (batch, n), like = ids.shape, self.get_submodule("embeddings.word").weight
        sizes = self.config.n_layers, batch, self.config.n_heads, n, _n_before(stores) + n
        return cast(Tensor, like).new_empty(sizes)

    def _check(self, ids: Tensor, segments: Tensor, gates: Tensor | None, first: int) -> None:
        if ids.dim() != 2 or segments.shape != ids.shape:
            raise SizeError(
                f"Token ids {tuple(ids.shape)} and segments {tuple(segments.shape)} must be (batch, n)."
            )
        if first + ids.shape[1] > self.config.max_positions:
            raise SizeError(
                f"The text has {first + ids.shape[1]} tokens; this model takes {self.config.max_positions} at most."
            )
        if gates is not None:
            layers, heads = self.config.n_layers, self.config.n_heads
            if gates.shape not in ((layers, heads), (layers, ids.shape[0], heads)):
                raise SizeError(
                    f"Gates of shape {tuple(gates.shape)} were given; this model has {layers} layers of "
                    f"{heads} heads, so they are ({layers}, {heads}) or ({layers}, batch, {heads})."
                )


def _n_before(stores: Sequence[KVCache] | None) -> int:
    """Return the number of tokens before."""
    return 0 if stores is None else len(stores[0])


def _mask(
    n: int, before: int, is_causal: bool, window: int | None, padding: Tensor | None, device: torch.device
) -> Tensor | None:
    """Return the mask of n tokens after `before` others, (n, before + n); None: all but padding is visible."""
    if not window and not is_causal:
        return padding
    keys = torch.arange(before + n, device=device)
    visible: Tensor = visible_keys(keys[before:], keys, is_causal=is_causal, window=window)
    return visible if padding is None else visible & padding


def table(rows: int, width: int) -> nn.Embedding:
    """Build an embedding; on the meta device without random values, for which torch would import its compiler."""
    empty = torch.empty(rows, width)
    return nn.Embedding(rows, width, _weight=empty if empty.is_meta else None)
