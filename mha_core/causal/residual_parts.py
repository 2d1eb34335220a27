"""The residual stream as the sum of what was written to it, read by a matrix with every norm's scale held.

A state is the embedding, what every earlier head and feed-forward net wrote, and biases. With the scale of each norm
held at its value in this run, whatever reads the state linearly (W_q, W_k, an unembedding) is the sum of its readings
of these parts, exactly. Where norms come before a layer, parts add up; where they come after (post-LN), every part
goes through all later norms.

Sources: Elhage et al. 2021 (the residual stream); Kobayashi et al. 2021 and Modarressi et al. 2022 (norms held).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from mha_core.causal.activation_cache import ActivationCache, run_with_cache
from mha_core.engine.stack import PreNormBlock
from mha_core.errors import InputError
from mha_core.models.families.bert import EncoderLayer
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens


class ResidualComponent(NamedTuple):
    """The writer of a part: `part` is embedding, head, mlp or bias; layer and head from 1."""

    part: str
    layer: int | None = None
    head: int | None = None


def writer_columns(writers: Sequence[ResidualComponent], prefix: str = "") -> dict[str, Any]:
    """Return the columns part, layer and head of a frame, a row a writer; missing where a part has none."""
    import pandas as pd

    parts, layers, heads = zip(*writers, strict=True)
    numbers = {"layer": pd.array(layers, "Int64"), "head": pd.array(heads, "Int64")}
    return {f"{prefix}{name}": column for name, column in {"part": list(parts), **numbers}.items()}


def at_least_float32(model: Model) -> Model:
    """Return the model, or a float32 copy of one in half precision, whose rounded states are no sum of parts."""
    return model if model.dtype.itemsize >= 4 else model.to(str(model.device), "float32")


def next_matrix(model: Model) -> Tensor:
    """Return a decoder's unembedding, (vocabulary, d_model). Raises InputError for any other model."""
    if not isinstance(model.next_head, nn.Linear):
        raise InputError(f"{model.title} predicts no next word; a decoder such as SmolLM2 does.")
    return model.next_head.weight


def run_rows_with_cache(tokens: Tokens, model: Model, rows: slice) -> ActivationCache:
    """Run one text; return its activations at some positions, without the batch."""
    cache = run_with_cache([tokens], model)
    return ActivationCache(
        [state[0, rows] for state in cache.states],
        [attended[0, rows] for attended in cache.attended],
        [context[0, :, rows] for context in cache.contexts],
    )


def read_parts(
    reader: "FoldedReader", cache: ActivationCache, model: Model
) -> tuple[list[ResidualComponent], Tensor]:
    """Return the writers of a state, in the order of the model with all biases last, and the reader's reading of what
    each wrote, (part, n, width). The reader ends at the embedding; `cache`: see `run_rows_with_cache`."""
    writers, readings = list[ResidualComponent](), list[Tensor]()
    for writer, written in reader.back(cache, model):
        heads = range(model.n_heads, 0, -1)
        writers += [writer] if writer.part != "head" else [writer._replace(head=head) for head in heads]
        readings.extend(reader.read(written).flip(0) if writer.part == "head" else [reader.read(written)])
    return [*writers[::-1], ResidualComponent("bias")], torch.stack([*readings[::-1], reader.bias])


class FoldedReader:
    """A matrix that reads states, carried back through norms: what it reads of a part is `scale` (n, 1) times the part
    times `matrix` (width, d_model), because a norm's scale is one number a token. `bias` (n, width) adds up.

    `layer` and `is_at_mlp`: the part of the model whose input is read, the attention of that layer or its MLP.
    """

    def __init__(self, matrix: Tensor, like: Tensor, layer: int, is_at_mlp: bool = False) -> None:
        self.matrix, self.layer, self.is_at_mlp = matrix, layer, is_at_mlp
        self.scale = like.new_ones(len(like), 1)
        self.bias = like.new_zeros(len(like), len(matrix))

    @classmethod
    def of_attention(cls, cache: ActivationCache, model: Model, layer: int, matrix: Tensor) -> "FoldedReader":
        """Return a reader of the attention's input in `layer` (from 0), at n_layers of the normed final state."""
        reader = cls(matrix, cache.states[0], layer)
        before = norm_before(model, layer)
        if before is not None:
            reader.through(before, cache.states[layer])
        return reader

    def back(self, cache: ActivationCache, model: Model) -> Iterator[tuple[ResidualComponent, Tensor]]:
        """Yield the writers back to the embedding with what each wrote, (n, d_model) or a layer's heads (head, n,
        d_model); meanwhile the reader reads that state."""
        for index in range(self.layer - (not self.is_at_mlp), -1, -1):
            block, x, attended = model.encoder.layer(index), cache.states[index], cache.attended[index]
            if not (self.is_at_mlp and index == self.layer):
                residual = block.residual(x, attended)
                written = block.mlp(residual)
                if isinstance(block, EncoderLayer):
                    self.through(block.output_norm, residual + written)
                yield ResidualComponent("mlp", index + 1), written
            if isinstance(block, EncoderLayer):
                self.through(block.attention_norm, x + attended)
            yield ResidualComponent("head", index + 1), block.attention.contributions(cache.contexts[index])
            if block.attention.W_o.bias is not None:
                self.add(block.attention.W_o.bias)
        yield ResidualComponent("embedding"), cache.states[0]

    def read(self, written: Tensor) -> Tensor:
        """Return the reading of a part, (..., n, d_model) to (..., n, width)."""
        return self.scale * (written @ self.matrix.T)

    def add(self, bias: Tensor) -> None:
        """Add a vector (d_model,) that is written at every token."""
        self.bias = self.bias + self.scale * (self.matrix @ bias)

    def through(self, norm: nn.LayerNorm | nn.RMSNorm, x: Tensor) -> None:
        """Move before a norm that was given x (n, d_model)."""
        is_centred = isinstance(norm, nn.LayerNorm)
        if isinstance(norm, nn.LayerNorm) and norm.bias is not None:
            self.add(cast(Tensor, norm.bias))
        self.matrix = self.matrix * norm.weight
        if is_centred:
            self.matrix = self.matrix - self.matrix.mean(-1, keepdim=True)
        squares = x.var(-1, correction=0, keepdim=True) if is_centred else x.square().mean(-1, keepdim=True)
        self.scale = self.scale * (squares + cast(float, norm.eps)).rsqrt()


def norm_before(model: Model, layer: int) -> nn.LayerNorm | nn.RMSNorm | None:
    """Return the norm between the state before `layer` and its reader."""
    if layer == model.n_layers:
        return cast("nn.LayerNorm | nn.RMSNorm | None", model.encoder.norm)
    block = model.encoder.layer(layer)
    norm = block.attention_norm if isinstance(block, PreNormBlock) else None
    return cast("nn.LayerNorm | nn.RMSNorm | None", norm)
