"""The byte-level BPE tokenizer that a GGUF file carries in its metadata.

A text is cut into digits, words, runs of signs and of spaces; each is written in 256 signs, one for a byte, and
its neighbouring parts are joined as long as the file has a merge for them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from mha_core.errors import ModelError
from mha_core.gguf.header import shown

CONTROL, USER_DEFINED = 3, 4


def byte_level_bpe(metadata: Mapping[str, object]) -> Tokenizer:
    """The tokenizer of a GGUF file whose `tokenizer.ggml.model` is gpt2 and whose `pre` is smollm.

    Control tokens such as <|im_start|> are special: never split, and left out when ids are decoded to text.
    Raises ModelError for another kind of tokenizer, naming it, and for lists that do not fit each other.
    """
    _check_kind(metadata, "model", "gpt2")
    _check_kind(metadata, "pre", "smollm")
    tokens = _strings(metadata, "tokens")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise ModelError("The tokenizer in the model's file lists a token twice.")
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=_merges(metadata, vocabulary)))
    # Order matters: digits are split one by one before words are found, as SmolLM2's tokenizer.json says.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    types = _types(metadata, len(tokens))
    tokenizer.add_special_tokens(_added(tokens, types == CONTROL, special=True))
    tokenizer.add_tokens(_added(tokens, types == USER_DEFINED, special=False))
    return tokenizer


def _check_kind(metadata: Mapping[str, object], key: str, taken: str) -> None:
    given = metadata.get(f"tokenizer.ggml.{key}")
    if not isinstance(given, str) or given != taken:  # an array in its place cannot be compared
        named = shown(given) if isinstance(given, str) else "missing"
        raise ModelError(
            f"The tokenizer's '{key}' in the model's file is {named}; only '{taken}' is supported."
        )


def _strings(metadata: Mapping[str, object], key: str) -> list[str]:
    found = metadata.get(f"tokenizer.ggml.{key}")
    if not _are_strings(found):
        raise ModelError(f"The tokenizer in the model's file has no list of {key}.")
    return found


def _are_strings(found: object) -> TypeGuard[list[str]]:
    return isinstance(found, list) and len(found) > 0


def _merges(metadata: Mapping[str, object], vocabulary: Mapping[str, int]) -> list[tuple[str, str]]:
    merges = []
    for merge in _strings(metadata, "merges"):
        left, _, right = merge.partition(" ")
        if not (left and right) or any(part not in vocabulary for part in (left, right, left + right)):
            raise ModelError(f"The merge {shown(merge)} in the model's file joins what is no token.")
        merges.append((left, right))
    return merges


def _types(metadata: Mapping[str, object], count: int) -> np.ndarray[Any, Any]:
    types = metadata.get("tokenizer.ggml.token_type")
    if not isinstance(types, np.ndarray) or len(types) != count:
        raise ModelError(f"The tokenizer in the model's file does not give the types of its {count} tokens.")
    return types


def _added(tokens: Sequence[str], chosen: np.ndarray[Any, Any], *, special: bool) -> list[AddedToken]:
    return [AddedToken(tokens[i], special=special, normalized=False) for i in np.flatnonzero(chosen).tolist()]
