"""The one loop over layers that every family of models runs through, with a gate on every head.

In: token ids (batch, n), segments (batch, n), and which positions are real (batch, n). Out: the hidden states
of every layer (batch, n, d_model) and the weights of every layer (batch, n_heads, n, n). What a layer does
beside its attention is its family's block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_core.errors import SizeError
from mha_core.interrupt import check_interrupt
from mha_core.multihead import AttentionDetails, HeadChange, KeyValueStore, MultiHeadAttention
from mha_core.rotary import Rotary
from mha_core.torch_modes import is_transformed
from mha_core.visibility import visible_keys

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
}
# What a size may be at most: twice and more what any model of these families has, and little enough to be built.
SIZES = {
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
MOST_BYTES = 64_000_000_000  # of all matrices in fp32
LARGEST_EPS = 1e-3


@dataclass(frozen=True)
class StackConfig:
    """The sizes of a model; a family adds its own. Raises SizeError if they cannot be.

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
    # False: a pair's two texts are told apart by their separators alone.
    reads_segments: ClassVar[bool] = True
    # The deviations of random weights and of random embeddings, as BERT and GPT-2 start.
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
        for name, most in SIZES.items():
            if not 1 <= getattr(self, name) <= most:
                raise SizeError(f"{name} is {getattr(self, name)}; it must be from 1 to {most:,}.")
        if not 0 < self.norm_eps < LARGEST_EPS:
            raise SizeError(
                f"The norms' epsilon is {self.norm_eps}; it must be above 0 and below {LARGEST_EPS}."
            )
        if self.n_bytes > MOST_BYTES:
            raise SizeError(
                f"Its weights would take {self.n_bytes:,} bytes; at most {MOST_BYTES:,} are read."
            )
        if self.n_heads % self.n_kv_heads:
            raise SizeError(f"{self.n_heads} query heads cannot share {self.n_kv_heads} key heads evenly.")
        if self.activation not in ACTIVATIONS:
            raise SizeError(
                f"The activation {self.activation[:40]!a} is not one of {', '.join(ACTIVATIONS)}."
            )

    @property
    def n_bytes(self) -> int:
        """What the matrices take in fp32, three of the feed-forward net counted."""
        attention = 2 * self.d_model * self.d_k * (self.n_heads + self.n_kv_heads)
        learned = 0 if self.n_segments == 1 and self.is_causal else self.max_positions
        tables = (self.vocab_size + learned + self.n_segments) * self.d_model
        return 4 * (tables + self.n_layers * (attention + 3 * self.d_model * self.d_ff))


class Block(nn.Module, ABC):
    """One layer of a family: attention, and what stands before and after it."""

    attention: MultiHeadAttention
    window: int | None = None  # how many tokens to each side its attention can reach; None: all

    def attention_input(self, x: Tensor) -> Tensor:
        """What the attention reads: the layer's input itself, or that input normalised first (pre-LN)."""
        return x

    @abstractmethod
    def residual(self, x: Tensor, attended: Tensor) -> Tensor:
        """The layer's input with the output of its attention, as the feed-forward net is given it."""

    @abstractmethod
    def mlp(self, residual: Tensor) -> Tensor:
        """What the feed-forward net writes."""

    @abstractmethod
    def output(self, residual: Tensor, written: Tensor) -> Tensor:
        """The residual with what the feed-forward net wrote, as the next layer is given it."""

    def feed_forward(self, x: Tensor, attended: Tensor) -> Tensor:
        """The rest of the layer, from its input and the output of its attention."""
        residual = self.residual(x, attended)
        return self.output(residual, self.mlp(residual))


class PreNormBlock(Block):
    """A block whose attention reads its input normalised, and is added to the input itself (pre-LN)."""

    attention_norm: nn.Module

    def attention_input(self, x: Tensor) -> Tensor:
        """The layer's input, normalised."""
        normed: Tensor = self.attention_norm(x)
        return normed

    def residual(self, x: Tensor, attended: Tensor) -> Tensor:
        """x + attended."""
        return x + attended

    def output(self, residual: Tensor, written: Tensor) -> Tensor:
        """residual + written."""
        return residual + written


class Embedder(Protocol):
    """Token ids and segments (batch, n) to vectors (batch, n, d_model); `first` is the first one's position."""

    def __call__(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor: ...


class RunChange(Protocol):
    """What a run does otherwise: with the states (batch, n, d_model) before layer `index` (n_layers: after the last),
    and with the heads of a layer, both from 0."""

    def state(self, index: int, x: Tensor) -> Tensor: ...

    def heads(self, layer: int) -> HeadChange | None: ...


@dataclass(frozen=True)
class LayerStep:
    """What one layer (`index` from 0) did: `x` came in, attention was given `attention_input` and gave
    `attended`, `hidden` goes on, all (batch, n, d_model)."""

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
    n_heads, n, n_k), of no layers where they were not asked for. `hidden`: what the last layer gives, after the final
    norm where the family has one."""

    hidden_states: tuple[Tensor, ...]
    weights: Tensor
    hidden: Tensor


class Stack(nn.Module):
    """Embeddings, layers, and a final norm or none. Gates are an argument; nothing of a call stays on the
    module, so it can be shared. `rotary` says how positions turn queries and keys; None where they do not."""

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
        """One layer, from 0."""
        return cast(Block, self.layers[index])

    def finish(self, x: Tensor) -> Tensor:
        """The last layer's states as the prediction head reads them."""
        return x if self.norm is None else cast(Tensor, self.norm(x))

    def forward(
        self,
        ids: Tensor,
        segments: Tensor | None = None,
        real: Tensor | None = None,
        *,
        gates: Tensor | None = None,
        need_weights: bool = True,
        stores: Sequence[KeyValueStore] | None = None,
        change: RunChange | None = None,
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
            change=change,
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
        stores: Sequence[KeyValueStore] | None = None,
        change: RunChange | None = None,
        room: Tensor | None = None,
    ) -> Iterator[LayerStep]:
        """Run the layers, one at a time as it is asked for.

        `real` (batch, n) is True where a token is no padding; `gates` (n_layers, n_heads) or (n_layers, batch,
        n_heads) multiplies every head's context; `details_of`: layers, from 0, whose details are wanted;
        `differentiable`: gradients can be taken with respect to every layer's weights, the first one's too, in
        float32 and float64; `stores`, one a layer, hold the keys and values of the tokens that came before;
        `change` replaces states, weights and contexts on the way; `room` (n_layers, batch, n_heads, n, n_k), without
        gradients, is what all weights are written into.

        Raises SizeError for too many positions, or gates of another shape.
        """
        segments, before = torch.zeros_like(ids) if segments is None else segments, _n_before(stores)
        self._check(ids, segments, gates, before)
        x = cast(Embedder, self.embeddings)(ids, segments, before)
        if differentiable:
            x = x.detach().requires_grad_()
        if change is not None:
            x = change.state(0, x)
        yield from self._layers(
            x, 0, real, gates=gates, need_weights=need_weights, details_of=details_of, stores=stores,
            change=change, room=room,
        )  # fmt: skip

    def resume(
        self, x: Tensor, layer: int, *, gates: Tensor | None = None, change: RunChange | None = None
    ) -> Tensor:
        """The layers from `layer` (from 0) on, given their input (batch, n, d_model): what `forward` calls `hidden`.

        The input is taken as it is, without the change's own of that state. `gates` are those of all layers, as in
        `forward`.
        """
        for step in self._layers(x, layer, None, gates=gates, need_weights=False, change=change):
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
        stores: Sequence[KeyValueStore] | None = None,
        change: RunChange | None = None,
        room: Tensor | None = None,
    ) -> Iterator[LayerStep]:
        """The loop, from layer `start` on, given its input."""
        n, before = x.shape[1], _n_before(stores)
        padding = None if real is None or bool(real.all()) else real[:, None, None, :]
        # One token sees all that came before it; several that are read after others need a mask that says so.
        is_causal = self.config.is_causal and n > 1
        masks = {
            window: _mask(n, before, is_causal and before > 0, window, padding, x.device)
            for window in {self.layer(index).window for index in range(start, self.config.n_layers)}
        }
        rotation = None if self.rotary is None else self.rotary.at(before, n, x)
        for index in range(start, self.config.n_layers):
            check_interrupt()
            block = self.layer(index)
            read = block.attention_input(x)
            attended, seen = block.attention(
                read,
                mask=masks[block.window],
                is_causal=is_causal and not before,
                rotation=rotation,
                need_weights=need_weights,
                details=index in details_of,
                gates=None if gates is None else gates[index].to(x.device),
                out=None if room is None else room[index],
                store=None if stores is None else stores[index],
                change=None if change is None else change.heads(index),
            )
            details = seen if isinstance(seen, AttentionDetails) else None
            hidden = block.feed_forward(x, attended)
            if change is not None:
                hidden = change.state(index + 1, hidden)
            yield LayerStep(
                index, x, read, attended, hidden, seen if details is None else details.weights, details
            )
            x = hidden

    def _room(self, ids: Tensor, stores: Sequence[KeyValueStore] | None) -> Tensor:
        """One tensor for the weights of all layers, so that nothing has to be put together afterwards."""
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


def _n_before(stores: Sequence[KeyValueStore] | None) -> int:
    """How many tokens came before."""
    return 0 if stores is None else len(stores[0])


def _mask(
    n: int, before: int, is_causal: bool, window: int | None, padding: Tensor | None, device: torch.device
) -> Tensor | None:
    """Return what n tokens after `before` others may see, (n, before + n); None: all that is no padding."""
    if not window and not is_causal:
        return padding
    keys = torch.arange(before + n, device=device)
    visible: Tensor = visible_keys(keys[before:], keys, is_causal=is_causal, window=window)
    return visible if padding is None else visible & padding


def table(rows: int, width: int) -> nn.Embedding:
    """An embedding; on the meta device without its random start, for which torch would import its compiler."""
    empty = torch.empty(rows, width)
    return nn.Embedding(rows, width, _weight=empty if empty.is_meta else None)
