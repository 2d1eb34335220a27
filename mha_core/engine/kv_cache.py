"""A decoder that reads on, one token at a time: keys and values of earlier tokens are cached, not computed again.

In: the tokens to begin with, then token ids. Out: for every new token the row of weights of every head, and the
scores of the next token. A state belongs to one user; the model is shared and never changed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mha_core.arrays import Array, freeze
from mha_core.engine.stack import Stack
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError, SizeError

SPARE = 64  # tokens of room that a new state has beyond its text; then the room doubles


@dataclass(frozen=True)
class DecodingStep:
    """Result of one more token: `weights` (layer, head, key), its row in every head; `logits` (vocabulary,), the scores
    of the token after it; `n`, the number of tokens read."""

    weights: Array
    logits: Array
    n: int


class LayerKVCache:
    """The keys and values of one layer for one text, (1, n_kv_heads, n, d_k), in room that doubles when full."""

    def __init__(self, room: int) -> None:
        self.room, self.n = room, 0
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        return self.n

    def keys_and_values(self) -> tuple[Tensor, ...]:
        """Return keys and values, (1, n_kv_heads, n, d_k) each, without the spare room; none before the first token."""
        return tuple(x[:, :, : self.n] for x in (self.k, self.v) if x is not None)

    @property
    def held_bytes(self) -> int:
        """Bytes allocated, with the spare room."""
        return sum(x.nbytes for x in (self.k, self.v) if x is not None)

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of new tokens; return all keys and values so far."""
        end = self.n + k.shape[2]
        while end > self.room:
            self.room *= 2
        self.k, self.v = self._with(self.k, k, end), self._with(self.v, v, end)
        self.n = end
        return self.k[:, :, :end], self.v[:, :, :end]

    def _with(self, cached: Tensor | None, new: Tensor, end: int) -> Tensor:
        if cached is None or cached.shape[2] < self.room:
            larger = new.new_empty(*new.shape[:2], self.room, new.shape[3])
            if cached is not None:
                larger[:, :, : self.n] = cached[:, :, : self.n]
            cached = larger
        cached[:, :, self.n : end] = new
        return cached


class DecoderState:
    """One user's place in a text. `ids`: tokens read so far; `logits` (vocabulary,): scores of the next one; `weights`
    (layer, head, query, key) of the tokens it began with. Raises InputError for a model that predicts no next token."""

    def __init__(
        self, stack: Stack, head: nn.Module | None, ids: tuple[int, ...], title: str, max_tokens: int
    ) -> None:
        if head is None or not stack.config.is_causal:
            raise InputError(f"{title} predicts no next token. Choose a decoder such as SmolLM2.")
        if len(ids) > max_tokens:
            raise SizeError(f"The text has {len(ids)} tokens; {title} takes {max_tokens} at most.")
        self._stack, self._head, self._title, self.max_tokens = stack, head, title, max_tokens
        room = min(max_tokens, len(ids) + SPARE)
        self._stores = [LayerKVCache(room) for _ in range(stack.config.n_layers)]
        self.ids: tuple[int, ...] = ()
        self.weights, self.logits = self._read(ids)

    @property
    def n_bytes(self) -> int:
        """Size of the cache: 2 x layers x key heads x tokens x width, times the bytes of a number."""
        return sum(x.nbytes for store in self._stores for x in store.keys_and_values())

    @property
    def held_bytes(self) -> int:
        """Memory taken: the cache with its spare room, and the weights of the start."""
        return self.weights.nbytes + sum(store.held_bytes for store in self._stores)

    def keys_and_values(self) -> tuple[Array, Array]:
        """Return the cached keys and values, (layer, kv head, token, width) each, as they are now."""
        k, v = zip(*(store.keys_and_values() for store in self._stores), strict=True)
        return freeze(torch.cat(k).float().cpu().numpy()), freeze(torch.cat(v).float().cpu().numpy())

    def step(self, token_id: int) -> DecodingStep:
        """Read one more token. Raises InputError for an id that is not in the vocabulary, or a full text."""
        if not 0 <= token_id < self._stack.config.vocab_size:
            raise InputError(
                f"Unknown token {token_id}. {self._title} has {self._stack.config.vocab_size} tokens, counted from 0."
            )
        if len(self.ids) >= self.max_tokens:
            raise InputError(f"The text is full: {self._title} takes {self.max_tokens} tokens at most.")
        weights, self.logits = self._read((token_id,))
        return DecodingStep(weights[:, :, 0], self.logits, len(self.ids))

    def _read(self, ids: tuple[int, ...]) -> tuple[Array, Array]:
        with torch.inference_mode(), plain_numbers():
            device = next(self._stack.parameters()).device
            output = self._stack(torch.tensor([ids], device=device), stores=self._stores)
            logits = self._head(output.hidden[0, -1])
        self.ids += ids
        return (
            freeze(output.weights[:, 0].float().cpu().numpy()),
            freeze(logits.float().cpu().numpy()),
        )
