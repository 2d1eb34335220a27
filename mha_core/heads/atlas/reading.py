"""Passages through a model: for each its weights and how long what every key writes is, without the model's states.

In: lines of text, one a passage, cut at 96 tokens. Out: the atlas so far, after every few passages; so a page or a
command line can say how far it is, and stop.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from mha_core.errors import InputError
from mha_core.heads.atlas.sums import AtlasSums
from mha_core.heads.words import FloatArray
from mha_core.hf import TransformersModel
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.trace import every_step, trace_together

MOST_TOKENS = 96
BATCH = 4
WINDOW = 8  # batches that are sorted by length together
LEAST_TOKENS = 4  # a line with fewer has next to nothing to look at


@dataclass(frozen=True)
class ReadSoFar:
    """How many passages have been read, and what is kept of them."""

    n: int
    sums: AtlasSums


def passage_tokens(line: str, model: Model) -> Tokens | None:
    """A line's tokens, cut between words to 96 at most; None for a line with next to none."""
    if not line.strip():
        return None
    try:
        tokens = model.tokenizer.encode(line)
        if len(tokens) > MOST_TOKENS:
            tokens = _cut(line, tokens, model)
    except InputError:  # nothing visible in it
        return None
    return tokens if len(tokens) >= LEAST_TOKENS else None


def _cut(line: str, tokens: Tokens, model: Model) -> Tokens:
    """The beginning of the line that makes 96 tokens at most: whole words, unless the first is longer than that."""
    last = MOST_TOKENS - sum(piece.special for piece in tokens.pieces)
    ordinary = [piece for piece in tokens.pieces if not piece.special][:last]
    ends = [word.end for word in tokens.words if word.end <= ordinary[-1].end]
    for end in (*reversed(ends), ordinary[-1].end):
        shorter = model.tokenizer.encode(line[:end])
        if len(shorter) <= MOST_TOKENS:
            return shorter
    raise InputError("A passage could not be cut.")


def read_passages(lines: Iterable[str], model: Model) -> Iterator[ReadSoFar]:
    """Everything kept of the lines, growing; what is yielded is the same sums, further on."""
    sums = AtlasSums(model.n_layers, model.n_heads, model.is_causal)
    found = (tokens for line in lines if (tokens := passage_tokens(line, model)) is not None)
    numbered = enumerate(found)
    window = list(islice(numbered, 1))  # so that there is soon something to see
    while window:
        window.sort(key=lambda one: len(one[1]))
        for start in range(0, len(window), BATCH):
            batch = window[start : start + BATCH]
            seen = looked_at([tokens for _, tokens in batch], model)
            for (number, tokens), (weights, lengths) in zip(batch, seen, strict=True):
                sums.add(weights, lengths, tokens, number)
            yield ReadSoFar(sums.n_passages, sums)
        window = list(islice(numbered, BATCH * WINDOW))


def looked_at(batch: list[Tokens], model: Model) -> list[tuple[FloatArray, FloatArray]]:
    """For each text its weights (layer, head, query, key) and the length |f(x_key)| (layer, head, key) of what a head
    writes for a key with weight 1, bias of the values included (Kobayashi et al. 2020, section 2.2)."""
    if isinstance(
        model, TransformersModel
    ):  # what its heads write is not known: each key counts as its weight
        alone = [record.weights for record in trace_together(batch, model)]
        return [(each, np.ones((*each.shape[:2], each.shape[3]), dtype=np.float32)) for each in alone]
    weights, lengths = [], []
    for step in every_step(batch, model, need_weights=True):
        if step.weights is None:
            raise InputError("This model gives no weights.")
        attention = model.encoder.layer(step.index).attention
        with torch.inference_mode():
            v = attention.W_v(step.attention_input)
            v = v.view(*v.shape[:2], attention.n_kv_heads, attention.d_v).transpose(1, 2)
            v = v.repeat_interleave(attention.n_heads // attention.n_kv_heads, dim=1)
            lengths.append(attention.contributions(v).norm(dim=-1).float().cpu().numpy())
        weights.append(step.weights.float().cpu().numpy())
    all_weights, all_lengths = np.stack(weights), np.stack(lengths)
    sizes = [len(tokens) for tokens in batch]
    return [(all_weights[:, i, :, :n, :n], all_lengths[:, i, :, :n]) for i, n in enumerate(sizes)]
