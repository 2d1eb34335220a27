"""A tokenizer of the library transformers, asked as any other: texts, pairs and words to `Tokens`, cut to the model's
limit. What is loaded already is passed in; nothing of transformers is imported here."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from mha_core.errors import InputError
from mha_core.tokens import Tokenizer, Tokens, clean_text, spelt_tokens, tokens_of

NO_LIMIT = 1_000_000  # tokenizers without a limit name one with thirty digits
LONGEST = 1024  # tokens that are read where neither says a limit, and of longer ones: all heads grow with its square


class HubTokenizer(Tokenizer):
    """A tokenizer of transformers as the rest of the program asks one: texts, pairs and words to `Tokens`, cut to the
    model's limit. `is_sequence`: an encoder-decoder's, whose second text is what its decoder reads."""

    def __init__(self, theirs: Any, max_tokens: int, *, is_sequence: bool = False) -> None:
        self.theirs, self.max_tokens, self.is_sequence = theirs, max_tokens, is_sequence
        self.is_list, self.continuation = False, ""
        self.begin, self.separator = (), ""
        self.is_fast = bool(getattr(theirs, "is_fast", False))
        self.mask_id = getattr(theirs, "mask_token_id", None)
        self.pad_id = getattr(theirs, "pad_token_id", None) or 0
        inputs = getattr(theirs, "model_input_names", ())
        # What tells the texts of a pair apart; a decoder has neither.
        has_pairs = getattr(theirs, "sep_token", None) or "token_type_ids" in inputs
        self.takes_pairs = self.is_fast and bool(has_pairs) and not is_sequence
        self.special_ids = frozenset(int(i) for i in theirs.all_special_ids)

    @cached_property
    def special_names(self) -> tuple[str, ...]:
        """The special tokens that are put around every text."""
        return self.encode("a").special_names

    @cached_property
    def identities(self) -> tuple[int, ...]:
        """The numbers that tokens have, in order."""
        return tuple(range(len(self.theirs)))

    def piece_name(self, identity: int) -> str:
        """The vocabulary entry with that number."""
        return str(self.theirs.convert_ids_to_tokens([identity])[0])

    def spell(self, ids: Sequence[int]) -> str:
        """What these tokens spell together."""
        return str(self.theirs.decode(list(ids)))

    def ids_of(self, text: str) -> tuple[int, ...]:
        """The numbers of the tokens of this text, without special tokens."""
        return tuple(int(i) for i in self.theirs(text, add_special_tokens=False)["input_ids"])

    def is_special(self, identity: int) -> bool:
        """Whether the token with that number is a sign of the model's own: no part of any text."""
        return identity in self.special_ids

    def ordinary(self) -> tuple[int, ...]:
        """None: it is not known which of its tokens make a text in any order."""
        return ()

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """A text, or two, as tokens. Raises InputError if there is nothing to look at."""
        texts = [clean_text(part) for part in (text, pair) if part is not None]
        if not all(part.strip() for part in texts):
            raise InputError("The sentence is empty. Type a word.")
        return self._tokens(texts)

    def encode_target(self, text: str) -> Tokens:
        """What an encoder-decoder is to write, as its tokenizer cuts that: Marian has two vocabularies."""
        if not text.strip():
            raise InputError("The decoder's text is empty. Type a word.")
        return self._tokens([clean_text(text)], target=True)

    def encode_words(self, words: Sequence[str]) -> Tokens:
        """A sentence given as its words: the list is the list of words, whatever is in them."""
        if not self.is_fast:
            raise InputError("This tokenizer does not say which piece is of which word; give one text.")
        encoding = self.theirs(list(words), is_split_into_words=True, **self._limits())
        return tokens_of([" ".join(words)], encoding.encodings[0], n_cut=_n_cut(encoding), words=list(words))

    def of_ids(self, ids: Sequence[int]) -> Tokens:
        """Tokens that somebody wrote by their numbers, spelt by their names."""
        names = [str(name) for name in self.theirs.convert_ids_to_tokens(list(ids))]
        return spelt_tokens(names, list(ids), [identity in self.special_ids for identity in ids])

    def _limits(self) -> dict[str, Any]:
        return {"truncation": True, "max_length": self.max_tokens, "return_overflowing_tokens": self.is_fast}

    def _tokens(self, texts: list[str], *, target: bool = False) -> Tokens:
        given = {"text_target": texts[0]} if target else dict(zip(("text", "text_pair"), texts, strict=False))
        if self.is_fast:
            encoding = self.theirs(**(self._limits() | given))
            return tokens_of(texts, encoding.encodings[0], n_cut=_n_cut(encoding))
        if len(texts) > 1:
            raise InputError("This tokenizer does not say which piece is of which text; give one text.")
        ids = [int(identity) for identity in self.theirs(**given)["input_ids"]]
        n_cut = max(len(ids) - self.max_tokens, 0)
        return replace(self.of_ids(ids[: self.max_tokens]), n_cut=n_cut)


def _n_cut(encoding: Any) -> int:
    """How many pieces of the text were left out: those of the overflow that are no special tokens."""
    return sum(part.special_tokens_mask.count(0) for part in encoding.encodings[0].overflowing)


def limit_of(tokenizer: Any, config: Any) -> int:
    """How many tokens fit, as the tokenizer or the settings say; LONGEST at most."""
    said = (
        getattr(tokenizer, "model_max_length", None),
        *(
            getattr(config, name, None)
            for name in ("max_position_embeddings", "n_positions", "max_encoder_position_embeddings")
        ),
    )
    return min(int(n) for n in (*said, LONGEST) if n and 0 < n < NO_LIMIT)
