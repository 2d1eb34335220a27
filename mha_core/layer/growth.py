"""The key-value cache of a decoder growing token by token, measured while the model really reads that way.

In: tokens and a decoder. Out: the bytes that its cache held after each of them, and the keys and values in it.
"""

from dataclasses import dataclass, replace

from mha_core.arrays import Array
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

MAX_TOKENS = 32  # each of them is a run of its own through the model


@dataclass(frozen=True, eq=False)
class Growth:
    """A cache as it grew: `n_bytes[i]` after i + 1 tokens, as measured; `k`, `v` (layer, kv head, token, width) at the
    end, whose first rows are those held before, for a cache only grows. `cut`: the number of tokens left out."""

    n_bytes: tuple[int, ...]
    k: Array
    v: Array
    cut: int

    @property
    def n(self) -> int:
        return len(self.n_bytes)


def growth(tokens: Tokens, model: Model, limit: int = MAX_TOKENS) -> Growth:
    """Read a text one token at a time, up to `limit`. Raises InputError for a model without a cache or no token."""
    if limit < 1:
        raise InputError(f"The number of tokens must be 1 or more, not {limit}.")
    ids = tokens.ids[:limit]
    state = model.start(replace(tokens, pieces=tokens.pieces[:1]))
    n_bytes = [state.n_bytes]
    for token in ids[1:]:
        state.step(token)
        n_bytes.append(state.n_bytes)
    k, v = state.keys_and_values()
    return Growth(tuple(n_bytes), k, v, len(tokens.ids) - len(ids))
