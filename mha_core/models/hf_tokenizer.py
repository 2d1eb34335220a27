"""A tokenizer of the library transformers, as any other: texts, pairs and words to `Tokens`, cut to the model's limit.
It is passed in; nothing of transformers is imported here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from mha_core.errors import InputError
from mha_core.text.spelling import style_of
from mha_core.text.tokens import Role, Tokenizer, Tokens, clean_text, clean_words, spelt_tokens, tokens_of

NO_LIMIT = 1_000_000  # tokenizers without a limit name one with thirty digits
MAX_TOKENS = 1024  # where neither says a limit, or a larger one: all heads grow with its square


class HubTokenizer(Tokenizer):
    """A tokenizer of transformers as a `Tokenizer`. `is_sequence`: an encoder-decoder's, whose second text is read by
    its decoder."""

    def __init__(self, theirs: Any, max_tokens: int, *, is_sequence: bool = False) -> None:
        self.theirs, self.max_tokens, self.is_sequence = theirs, max_tokens, is_sequence
        self.is_list, self.continuation = False, ""
        self.is_fast = bool(getattr(theirs, "is_fast", False))
        self.mask_id = getattr(theirs, "mask_token_id", None)
        self.pad_id = getattr(theirs, "pad_token_id", None) or 0
        inputs = getattr(theirs, "model_input_names", ())
        # Signs that tell the texts of a pair apart; a decoder has neither.
        has_pairs = getattr(theirs, "sep_token", None) or "token_type_ids" in inputs
        self.takes_pairs = self.is_fast and bool(has_pairs) and not is_sequence
        self.special_ids = frozenset(int(i) for i in theirs.all_special_ids)
        around = self._framed("a")
        self.begin = tuple(takewhile(bool, around))
        self.end = tuple(takewhile(bool, reversed(around)))[::-1]
        self.separator = getattr(theirs, "sep_token", None) or (self.end or ("",))[0]
        between = self._framed("a", "a")[len(self.begin) : -len(self.end) or None] if self.takes_pairs else []
        self._between = max(sum(map(bool, between)), 1)
        self.takes_pairs = self.takes_pairs and bool(self.separator)

    def _framed(self, *texts: str) -> list[str]:
        """Return the names of the special tokens that are put around texts, "" for each of their own."""
        output = self.theirs(*texts, return_special_tokens_mask=True)
        ids = _first(output["input_ids"])
        put = _first(output.get("special_tokens_mask", [number in self.special_ids for number in ids]))
        real = _first(output.get("attention_mask", [1] * len(ids)))
        names = zip(self.theirs.convert_ids_to_tokens(ids), put, real, strict=True)
        return [str(name) if is_put else "" for name, is_put, is_real in names if is_real]

    @cached_property
    def roles(self) -> dict[int, Role]:
        """Role of every special token, by number; of several the last one below."""
        named: dict[str, Role] = {
            "unk": "unknown", "mask": "mask", "pad": "padding", "eos": "separator", "sep": "separator", "bos": "begin",
            "cls": "begin",
        }  # fmt: skip
        own = {getattr(self.theirs, f"{name}_token_id", None): role for name, role in named.items()}
        return {number: own.get(number, "other") for number in self.special_ids}

    @cached_property
    def special_names(self) -> tuple[str, ...]:
        """Special tokens that are put around every text."""
        return self.encode("a").special_names

    @cached_property
    def identities(self) -> tuple[int, ...]:
        """Numbers of the tokens, in order."""
        return tuple(range(len(self.theirs)))

    def piece_name(self, identity: int) -> str:
        """Return the vocabulary entry with that number."""
        return str(self.theirs.convert_ids_to_tokens([identity])[0])

    def spell(self, ids: Sequence[int]) -> str:
        """Return the text that tokens spell together."""
        return str(self.theirs.decode(list(ids)))

    def ids_of(self, text: str) -> tuple[int, ...]:
        """Return the numbers of the tokens of this text, without special tokens."""
        return tuple(int(i) for i in self.theirs(text, add_special_tokens=False)["input_ids"])

    def is_special(self, identity: int) -> bool:
        """Return whether the token with that number is a sign of the model's own: no part of any text."""
        return identity in self.special_ids

    def ordinary(self) -> tuple[int, ...]:
        """Return none: it is unknown which of its tokens make a text in any order."""
        return ()

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """Encode a text, or two. Raises InputError for an empty one."""
        texts = self._texts_of(text, pair)
        if not all(part.strip() for part in texts):
            raise InputError("The sentence is empty. Type a word.")
        return self._tokens(texts, **dict(zip(("text", "text_pair"), texts, strict=False)))

    def encode_target(self, text: str) -> Tokens:
        """Encode an encoder-decoder's target by its tokenizer's own way for targets: Marian has two vocabularies."""
        text = self._unframed(clean_text(text))
        if not text.strip():
            raise InputError("The decoder's text is empty. Type a word.")
        return self._tokens([text], text_target=text)

    def encode_words(self, words: Sequence[str]) -> Tokens:
        """Encode a sentence given as its words: the list is the list of words, whatever is in them."""
        words = clean_words(words)
        if not self.is_fast:
            raise InputError("This tokenizer does not say which piece is of which word; give one text.")
        return self._tokens([" ".join(words)], words, text=words, is_split_into_words=True)

    def encode_chat(self, messages: Sequence[Mapping[str, Any]]) -> Tokens:
        """Return a conversation's tokens as the tokenizer's own template renders it, with the special tokens in it."""
        if not getattr(self.theirs, "chat_template", None):
            return super().encode_chat(messages)
        from jinja2 import TemplateError

        try:
            text = str(self.theirs.apply_chat_template(list(messages), tokenize=False))
        except (TemplateError, LookupError, AttributeError, TypeError, ValueError) as problem:
            reason = " ".join(str(problem).split())[:160].rstrip(".")
            raise InputError(f"The tokenizer's chat template refuses these messages: {reason}.") from None
        return self._tokens([clean_text(text)], text=clean_text(text), add_special_tokens=False)

    def of_ids(self, ids: Sequence[int]) -> Tokens:
        """Return tokens by their numbers, spelt by their names."""
        names = [str(name) for name in self.theirs.convert_ids_to_tokens(list(ids))]
        special = [identity in self.special_ids for identity in ids]
        return spelt_tokens(names, list(ids), special, style_of(self._vocabulary))

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        added = set(map(str, getattr(self.theirs, "added_tokens_decoder", {}).values()))
        return frozenset(self.theirs.get_vocab()) - added

    def _tokens(self, texts: list[str], words: Sequence[str] | None = None, **given: Any) -> Tokens:
        """Return texts as the tokenizer encodes `given`, cut to the model's limit at the side it cuts, with all its
        outputs for the model."""
        if len(texts) > 1 and not self.is_fast:
            raise InputError("This tokenizer does not say which piece is of which text; give one text.")
        limits = {
            "truncation": True,
            "max_length": self.max_tokens,
            "return_overflowing_tokens": self.is_fast,
        }
        output = self.theirs(**(limits | given))
        columns = {name: _first(values) for name, values in output.items()}
        ids = tuple(int(number) for number in columns["input_ids"])
        encoding = output.encodings[0] if self.is_fast and getattr(output, "encodings", None) else None
        is_whole = encoding is not None and not encoding.overflowing
        n_cut = 0 if is_whole else len(_first(self.theirs(**given)["input_ids"])) - len(ids)
        if encoding is not None and tuple(encoding.ids) == ids:
            tokens = tokens_of(texts, encoding, n_cut=n_cut, words=words, roles=self.roles)
        else:
            tokens = replace(self.of_ids(ids), n_cut=max(n_cut, 0))
        inputs = {
            name: tuple(map(int, values))
            for name, values in columns.items()
            if name != "input_ids" and _is_row(values, len(ids))
        }
        return replace(tokens, inputs=tuple(inputs.items()))


def _first(values: Any) -> Any:
    """Return the first text's values of a tokenizer's output: one that returns its overflow makes a batch."""
    values = values.tolist() if hasattr(values, "tolist") else values
    is_batch = isinstance(values, list) and values and isinstance(values[0], list | tuple)
    return values[0] if is_batch else values


def _is_row(values: Any, n: int) -> bool:
    return isinstance(values, list | tuple) and len(values) == n and all(isinstance(v, int) for v in values)


def limit_of(tokenizer: Any, config: Any) -> int:
    """Return the number of tokens that fit, by the tokenizer or the settings; MAX_TOKENS at most."""
    names = ("max_position_embeddings", "n_positions", "max_encoder_position_embeddings")
    limits = [getattr(tokenizer, "model_max_length", None), *(getattr(config, name, None) for name in names)]
    return min(int(n) for n in (*limits, MAX_TOKENS) if n and 0 < n < NO_LIMIT)
