"""A decoder's text that grows at its end: the longer text's record is the shorter one's and a row for each new token.

In: a record, the state that read its tokens, the rows of new tokens. Out: a record, equal to a trace of the longer
text: in a causal model no token sees later ones, so earlier rows do not change.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from mha_core.arrays import Array, freeze
from mha_core.engine.kv_cache import DecoderState
from mha_core.errors import InputError, SizeError
from mha_core.models.model import Model
from mha_core.models.prediction import of_pieces
from mha_core.models.trace import versions
from mha_core.record.record import AttentionRecord
from mha_core.seeds import check_seed
from mha_core.text.tokens import Tokens

BROKEN = "\ufffd"  # spelling of bytes that are no character
CHARACTER_BYTES = 4  # the most that a character takes in UTF-8
MAX_TEMPERATURE = 2.0


def begin(tokens: Tokens, model: Model) -> tuple[AttentionRecord, DecoderState]:
    """Return the record of a text and the state that goes on from it, out of one run.

    Raises InputError for a model that predicts no next token.
    """
    state = model.start(tokens)
    record = AttentionRecord(model.info, tokens, state.weights, versions())
    # A state may live for as long as its user goes on; the record's weights need not.
    state.weights = freeze(np.zeros((*state.weights.shape[:2], 0, 0), dtype=np.float32))
    return record, state


def extended(record: AttentionRecord, tokens: Tokens, rows: Sequence[Array]) -> AttentionRecord:
    """Return the record of `tokens`, those of `record` and some more; `rows` (layer, head, key), one for each of these.

    Raises InputError for an encoder's record, SizeError unless tokens and rows go on from it.
    """
    before, n = len(record.tokens), len(tokens)
    if not record.model.is_causal:
        raise InputError(f"{record.model.title} sees the whole text at once, so every row changes with it.")
    sizes = [(record.n_layers, record.n_heads, key) for key in range(before + 1, n + 1)]
    if tokens.ids[:before] != record.tokens.ids or [row.shape for row in rows] != sizes:
        raise SizeError(f"{len(rows)} rows were given for {n} tokens that should go on from {before}.")
    weights = np.zeros((record.n_layers, record.n_heads, n, n), dtype=np.float32)
    weights[:, :, :before, :before] = record.weights
    for query, row in enumerate(rows, before):
        weights[:, :, query, : query + 1] = row
    return replace(record, tokens=tokens, weights=weights, visible=None)


def append_token(state: DecoderState, token_id: int, model: Model) -> tuple[str, list[Array]]:
    """Read one more token; return its spelling and its row. A token that is a part of a character is followed by the
    likeliest ones until the character is whole, with a row each.

    Raises InputError for an unknown id, or a full text.
    """
    n_before = len(state.ids)
    rows = [state.step(token_id).weights]
    spelling = model.tokenizer.spell(state.ids[n_before:])
    while spelling.endswith(BROKEN) and len(rows) < CHARACTER_BYTES and len(state.ids) < state.max_tokens:
        rows.append(state.step(sample_token(state.logits, model)).weights)
        spelling = model.tokenizer.spell(state.ids[n_before:])
    return spelling, rows


def sample_token(logits: Array, model: Model, temperature: float = 0.0, seed: int = 0, place: int = 0) -> int:
    """Return the id of one token: the likeliest at temperature 0, else drawn by probabilities ~ exp(logit/temperature).

    The draw follows from `seed` and `place` (the number of tokens before it) alone: the same seed gives the same text,
    with or without a stop in between. Raises InputError for a temperature or a seed outside its range.
    """
    if not 0 <= temperature <= MAX_TEMPERATURE:
        raise InputError(f"The temperature must be from 0 to {MAX_TEMPERATURE:g}, not {temperature}.")
    check_seed(seed)
    scores = of_pieces(torch.from_numpy(np.array(logits, dtype=np.float64)), model).numpy()
    if temperature == 0:
        return int(scores.argmax())
    shares = np.exp((scores - scores.max()) / temperature).cumsum()
    drawn = np.random.default_rng([seed, place]).random() * shares[-1]
    return int(np.searchsorted(shares, drawn, side="right"))
