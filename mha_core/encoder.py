"""A BERT-shaped encoder made of our own attention layer, with a gate on every head.

In: token ids (batch, n), segments (batch, n), and which positions are real (batch, n). Out: the hidden states
of every layer (batch, n, d_model) and the weights of every layer (batch, n_heads, n, n).
Source: Devlin et al. 2019; post-LN layers as in Vaswani et al. 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_core.errors import SizeError
from mha_core.multihead import AttentionDetails, MultiHeadAttention
from mha_core.packed import linear_gelu

ACTIVATIONS: dict[str, Callable[[nn.Linear, Tensor], Tensor]] = {
    "gelu": linear_gelu,
    "gelu_new": lambda linear, x: F.gelu(linear(x), approximate="tanh"),
    "gelu_pytorch_tanh": lambda linear, x: F.gelu(linear(x), approximate="tanh"),
    "relu": lambda linear, x: F.relu(linear(x)),
    "silu": lambda linear, x: F.silu(linear(x)),
}


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of an encoder. Raises SizeError if they cannot be."""

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    max_positions: int = 512
    n_segments: int = 2
    norm_eps: float = 1e-12
    activation: str = "gelu"

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "n_layers", "n_heads", "d_ff", "max_positions", "n_segments"):
            if getattr(self, name) < 1:
                raise SizeError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.d_model % self.n_heads:
            raise SizeError(
                f"d_model = {self.d_model} cannot be split into {self.n_heads} heads of equal width."
            )
        if self.activation not in ACTIVATIONS:
            raise SizeError(f"The activation '{self.activation}' is not one of {', '.join(ACTIVATIONS)}.")


@dataclass(frozen=True)
class EncoderOutput:
    """`hidden_states`: n_layers + 1 tensors (batch, n, d_model), the embedding first. `weights`: n_layers
    tensors (batch, n_heads, n, n), or none. `details`: those of the one layer asked for. `whole`: the one
    tensor that all weights are views of, where they are."""

    hidden_states: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]
    details: AttentionDetails | None = None
    whole: Tensor | None = None

    @property
    def hidden(self) -> Tensor:
        """What the last layer gives, (batch, n, d_model)."""
        return self.hidden_states[-1]

    def stacked(self) -> Tensor:
        """All weights as one tensor (layer, batch, head, query, key); uncopied where they already are one."""
        return torch.stack(self.weights) if self.whole is None else self.whole


class Embeddings(nn.Module):
    """Word, position and segment embeddings, summed and normalised: (batch, n) to (batch, n, d_model)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.word = _table(config.vocab_size, config.d_model)
        self.position = _table(config.max_positions, config.d_model)
        self.segment = _table(config.n_segments, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        summed = self.word(ids) + self.segment(segments) + self.position.weight[: ids.shape[1]]
        normed: Tensor = self.norm(summed)
        return normed


def _table(rows: int, width: int) -> nn.Embedding:
    """An embedding; on the meta device without its random start, for which torch would import its compiler."""
    empty = torch.empty(rows, width)
    return nn.Embedding(rows, width, _weight=empty if empty.is_meta else None)


class EncoderLayer(nn.Module):
    """Attention and a feed-forward net, each added to its input and normalised after (post-LN)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.attention_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.up = nn.Linear(config.d_model, config.d_ff)
        self.down = nn.Linear(config.d_ff, config.d_model)
        self.output_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.activation = config.activation

    def feed_forward(self, x: Tensor, attended: Tensor) -> Tensor:
        """The rest of the layer, from its input and the output of its attention."""
        x = self.attention_norm(x + attended)
        result: Tensor = self.output_norm(x + self.down(ACTIVATIONS[self.activation](self.up, x)))
        return result


class Encoder(nn.Module):
    """The whole stack. Gates are an argument; nothing of a call stays on the module, so it can be shared."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))

    def layer(self, index: int) -> EncoderLayer:
        """One layer, from 0."""
        return cast(EncoderLayer, self.layers[index])

    def forward(
        self,
        ids: Tensor,
        segments: Tensor | None = None,
        real: Tensor | None = None,
        *,
        gates: Tensor | None = None,
        need_weights: bool = True,
        details_of: int | None = None,
    ) -> EncoderOutput:
        """Run all layers. `real` (batch, n) is True where a token is no padding; `gates` (n_layers, n_heads)
        or (n_layers, batch, n_heads) multiplies every head's context; `details_of` asks for one layer, from 0.

        Raises SizeError for too many positions, or gates of another shape.
        """
        segments = torch.zeros_like(ids) if segments is None else segments
        self._check(ids, segments, gates)
        mask = None if real is None or bool(real.all()) else real[:, None, None, :]
        x = self.embeddings(ids, segments)
        room = self._room(x, need_weights, gates)
        states, weights, details = [x], [], None
        for index in range(self.config.n_layers):
            layer = self.layer(index)
            gate = None if gates is None else gates[index].to(x.device)
            out = None if room is None else room[index]
            if index == details_of:
                attended, details = layer.attention(x, mask=mask, gates=gate, details=True, out=out)
                seen: Tensor | None = details.weights
            else:
                attended, seen = layer.attention(x, mask=mask, need_weights=need_weights, gates=gate, out=out)
            x = layer.feed_forward(x, attended)
            states.append(x)
            if need_weights and seen is not None:
                weights.append(seen)
        return EncoderOutput(tuple(states), tuple(weights), details, room)

    def _room(self, x: Tensor, need_weights: bool, gates: Tensor | None) -> Tensor | None:
        """One tensor for the weights of all layers, written into by the layers where that is possible."""
        plain = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
        autocast = torch.amp.is_autocast_available(x.device.type) and torch.is_autocast_enabled(x.device.type)
        trains = torch.is_grad_enabled() and (
            x.requires_grad
            or (gates is not None and gates.requires_grad)
            or any(p.requires_grad for p in self.parameters())
        )
        if not need_weights or not plain or trains or autocast or torch.compiler.is_compiling():
            return None
        batch, n, _ = x.shape
        return x.new_empty(self.config.n_layers, batch, self.config.n_heads, n, n)

    def _check(self, ids: Tensor, segments: Tensor, gates: Tensor | None) -> None:
        if ids.dim() != 2 or segments.shape != ids.shape:
            raise SizeError(
                f"Token ids {tuple(ids.shape)} and segments {tuple(segments.shape)} must be (batch, n)."
            )
        if ids.shape[1] > self.config.max_positions:
            raise SizeError(
                f"{ids.shape[1]} tokens were given; this model takes {self.config.max_positions} at most."
            )
        if gates is not None:
            layers, heads = self.config.n_layers, self.config.n_heads
            if gates.shape not in ((layers, heads), (layers, ids.shape[0], heads)):
                raise SizeError(
                    f"Gates of shape {tuple(gates.shape)} were given; this model has {layers} layers of "
                    f"{heads} heads, so they are ({layers}, {heads}) or ({layers}, batch, {heads})."
                )


class MaskedHead(nn.Module):
    """BERT's masked-language-model head: hidden states (..., d_model) to a score for every word piece."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.transform = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.decoder = nn.Linear(config.d_model, config.vocab_size)
        self.activation = config.activation

    def forward(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.decoder(self.norm(ACTIVATIONS[self.activation](self.transform, hidden)))
        return scores
