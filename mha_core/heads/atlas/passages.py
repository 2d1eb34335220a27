"""Ordinary text through a model: the project's own 214 passages, or lines of any text, cut at 96 tokens.

In: assets/reader/ (a file a register, a passage a line; no passage made to test a head), or lines. Out: for each
passage its tokens, its weights, and the norm of what every head would write for each key.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

import numpy as np
import torch

from mha_core.arrays import FloatArray
from mha_core.errors import InputError
from mha_core.models.hf import TransformersModel
from mha_core.models.model import Model
from mha_core.models.trace import every_step
from mha_core.resources import asset
from mha_core.text.tokens import Tokens

# In the order in which passages are read.
REGISTERS = (
    "news", "story", "letter", "recipe", "dialogue", "science", "sport", "contract", "instructions", "review",
)  # fmt: skip
MOST_TOKENS = 96
LEAST_TOKENS = 4  # a line with fewer has next to nothing to look at
BATCH = 4
WINDOW = 8  # batches that are sorted by length together
Seen = tuple[int, Tokens, FloatArray, FloatArray]


@cache
def own_passages() -> tuple[str, ...]:
    """Return the project's own passages, register by register. Raises InputError where a file is missing."""
    files = [asset("reader", f"{register}.txt") for register in REGISTERS]
    for file in files:
        if not file.is_file():
            raise InputError(f"assets/reader/{file.name} is missing; get it from the repository.")
    return tuple(line for file in files for line in file.read_text(encoding="utf-8").splitlines())


@cache
def own_digest() -> str:
    """Return the SHA-256 of these passages, one a line: shipped numbers are compared with it."""
    return hashlib.sha256("".join(f"{text}\n" for text in own_passages()).encode()).hexdigest()


def passage_tokens(line: str, model: Model) -> Tokens | None:
    """Return a line's tokens, cut between words to 96 at most; None where there are fewer than 4."""
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
    """Whole words, unless the first is longer than 96 tokens."""
    last = MOST_TOKENS - sum(piece.special for piece in tokens.pieces)
    ordinary = [piece for piece in tokens.pieces if not piece.special][:last]
    ends = [word.end for word in tokens.words if word.end <= ordinary[-1].end]
    for end in (*reversed(ends), ordinary[-1].end):
        shorter = model.tokenizer.encode(line[:end])
        if len(shorter) <= MOST_TOKENS:
            return shorter
    raise InputError("A passage could not be cut.")


def read_passages(lines: Iterable[str], model: Model) -> Iterator[list[Seen]]:
    """Yield batches of passages, each as its number in the text (from 0), its tokens, and `attention_and_norms`."""
    passages = (tokens for line in lines if (tokens := passage_tokens(line, model)) is not None)
    numbered = enumerate(passages)
    window = list(islice(numbered, 1))  # so that there is soon something to see
    while window:
        window.sort(key=lambda passage: len(passage[1]))
        for start in range(0, len(window), BATCH):
            batch = window[start : start + BATCH]
            seen = attention_and_norms([tokens for _, tokens in batch], model)
            yield [(*passage, *numbers) for passage, numbers in zip(batch, seen, strict=True)]
        window = list(islice(numbered, BATCH * WINDOW))


def attention_and_norms(batch: list[Tokens], model: Model) -> list[tuple[FloatArray, FloatArray]]:
    """Return for each text its weights (layer, head, query, key) and the norms |f(x_key)| (layer, head, key).

    f(x) is what a head writes for a key of weight 1, with the bias of the values (Kobayashi et al. 2020, section 2.2).
    Of a model that transformers computes it is not known: every key counts as its weight.
    """
    if isinstance(model, TransformersModel):
        alone = [model.trace_tokens(tokens).weights for tokens in batch]
        return [(each, np.ones((*each.shape[:2], each.shape[3]), np.float32)) for each in alone]
    weights, norms = [], []
    for step in every_step(batch, model, need_weights=True):
        if step.weights is None:
            raise InputError(f"{model.title} gives no weights.")
        attention = model.encoder.layer(step.index).attention
        with torch.inference_mode():
            v = attention.W_v(step.attention_input)
            v = v.view(*v.shape[:2], attention.n_kv_heads, attention.d_v).transpose(1, 2)
            v = v.repeat_interleave(attention.n_heads // attention.n_kv_heads, dim=1)
            norms.append(attention.contributions(v).norm(dim=-1).float().cpu().numpy())
        weights.append(step.weights.float().cpu().numpy())
    every_weight, every_norm = np.stack(weights), np.stack(norms)
    sizes = [len(tokens) for tokens in batch]
    return [(every_weight[:, i, :, :n, :n], every_norm[:, i, :, :n]) for i, n in enumerate(sizes)]
