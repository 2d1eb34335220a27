"""A reader's text as pieces and words, each with its place in the reader's own spelling.

In: one text or a pair. Out: `Tokens`: the pieces that the model sees, in order, with the special tokens that it
wants around them, and the words that they spell. Spans are in characters of the text of their own segment.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from tokenizers import Tokenizer as FastTokenizer

from mha_core.errors import InputError, ModelError

Role = Literal["begin", "separator", "padding", "unknown", "mask", "other"]


@dataclass(frozen=True)
class Piece:
    """One token of the model. `start`, `end`: its characters in its segment's text (0, 0 for what we insert).

    `role`: what kind of special token it is, or that it stands for what the vocabulary lacks. `mark`: what is
    written before a piece that continues a word; empty for one that begins a word.
    """

    text: str
    id: int
    start: int
    end: int
    segment: int
    word: int | None
    special: bool
    role: Role | None = None
    mark: str = ""

    @property
    def continues(self) -> bool:
        """Whether it goes on with the word that the piece before it began."""
        return bool(self.mark)

    @property
    def bare(self) -> str:
        """Its text without the mark of a continuation and without the space before it."""
        return self.text.removeprefix(self.mark).strip() or self.text


@dataclass(frozen=True)
class Word:
    """One word in the reader's spelling, made of pieces[first:stop]."""

    text: str
    start: int
    end: int
    segment: int
    first: int
    stop: int


@dataclass(frozen=True)
class Tokens:
    """What the model is given. `n_cut`: how many pieces were left out because the model takes no more."""

    text: str
    pair: str | None
    pieces: tuple[Piece, ...]
    words: tuple[Word, ...]
    n_cut: int = 0

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def ids(self) -> tuple[int, ...]:
        """Vocabulary numbers, one a piece."""
        return tuple(piece.id for piece in self.pieces)

    @property
    def special_names(self) -> tuple[str, ...]:
        """The names of the special tokens in it, each once, in order."""
        return tuple(dict.fromkeys(piece.text for piece in self.pieces if piece.special))

    @property
    def segments(self) -> tuple[int, ...]:
        """0 for the first text and its specials, 1 for the second."""
        return tuple(piece.segment for piece in self.pieces)

    def text_of(self, segment: int) -> str:
        """The reader's text of that segment."""
        return self.text if segment == 0 else self.pair or ""

    def spelling(self, piece: Piece) -> str:
        """The piece in the reader's own spelling; an inserted special token by its name."""
        return self.text_of(piece.segment)[piece.start : piece.end] or piece.text

    def label(self, piece: Piece) -> str:
        """Its spelling, with the mark before it where it continues a word."""
        return piece.mark + self.spelling(piece)


# A piece before the frame of special tokens is put around a text: (text, id, start, end, word or None, mark).
Row = tuple[str, int, int, int, int | None, str]


class Tokenizer(ABC):
    """A model's own tokenizer. Always called in one way, never truncating, so it can be shared.

    `begin`: the special tokens in front of every text; `separator`: the one after every text, or none.
    `special_names`: both, in order, for words on the screen.
    `continuation`: what is written before a piece that continues a word, where that is marked so.
    """

    takes_pairs: ClassVar[bool] = True
    between: ClassVar[int] = 1  # separators between the texts of a pair
    begin: tuple[str, ...] = ()
    separator: str | None = None
    continuation: str = ""

    def __init__(self, fast: FastTokenizer, max_tokens: int, roles: Mapping[str, Role]) -> None:
        fast.no_truncation()
        fast.no_padding()
        self._fast = fast
        self.max_tokens = max_tokens
        known = {fast.token_to_id(name): role for name, role in roles.items()}
        self._roles: dict[int, Role] = {i: role for i, role in known.items() if i is not None}
        ids = {role: identity for identity, role in self._roles.items()}
        self.mask_id: int | None = ids.get("mask")
        self.pad_id: int = ids.get("padding", 0)

    @property
    def special_names(self) -> tuple[str, ...]:
        """The special tokens that are put around every text, for words on the screen."""
        return (*self.begin, *([] if self.separator is None else [self.separator]))

    @property
    def mask_name(self) -> str | None:
        """What a reader types where a word is to be predicted, if the vocabulary has it."""
        return None if self.mask_id is None else self.piece_name(self.mask_id)

    @cached_property
    def identities(self) -> tuple[int, ...]:
        """The numbers that pieces have, in order; a tokenizer may leave out some."""
        return tuple(sorted(set(self._fast.get_vocab().values())))

    @property
    def largest_id(self) -> int:
        """The largest number that a piece has, -1 without any."""
        return self.identities[-1] if self.identities else -1

    @property
    def vocab_size(self) -> int:
        """How many pieces there are to choose from."""
        return len(self.identities)

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """The numbers below the largest that no piece has."""
        return tuple(sorted(set(range(self.largest_id + 1)) - set(self.identities)))

    def has(self, identity: int) -> bool:
        """Whether a piece has that number."""
        return 0 <= identity <= self.largest_id and identity not in self.left_out

    @property
    def known_words(self) -> tuple[str, ...] | None:
        """All words that there are, where a reader can type nothing else; None where any text can be read."""
        return None

    def piece_name(self, identity: int) -> str:
        """The vocabulary entry with that number."""
        return str(self._fast.id_to_token(identity))

    def typed(self, identity: int) -> str:
        """The token with that number as a reader would type it, the space before it included."""
        return self.piece_name(identity)

    def spell(self, ids: Sequence[int]) -> str:
        """What these tokens spell one after the other."""
        return "".join(map(self.typed, ids))

    def ids_of(self, text: str) -> tuple[int, ...]:
        """The numbers of the tokens that spell this text, exactly as it stands and without special tokens."""
        ids: list[int] = self._fast.encode(text, add_special_tokens=False).ids
        return (ids[-1],) if ids and self.typed(ids[-1]) == text else tuple(ids)

    def is_special(self, identity: int) -> bool:
        """Whether the token with that number is a sign of the model's own: no part of any text."""
        return identity in self._roles

    @abstractmethod
    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """A text, or two, as tokens. Raises InputError if there is nothing to look at."""

    @abstractmethod
    def encode_words(self, words: Sequence[str]) -> Tokens:
        """A sentence given as its words (a treebank's): the list is the list of words, whatever is in them."""

    def ordinary(self) -> tuple[int, ...]:
        """The tokens to draw from where random ones are wanted: common ones, and no special ones. None where this
        tokenizer makes no text of any tokens in any order."""
        return ()

    def from_ids(self, ids: Sequence[int]) -> Tokens:
        """Ordinary tokens one after the other as a text, with the special tokens around it."""
        del ids
        raise InputError("This model's tokenizer makes no text of any tokens in any order.")

    def _frame(self, text: str, pair: str | None, parts: list[tuple[Row, ...]]) -> Tokens:
        """The special tokens put around, cut to the model's limit: the longer part loses its end first."""
        keep = [len(part) for part in parts]
        ends = 0 if self.separator is None else len(parts) + (self.between - 1) * (len(parts) - 1)
        room = self.max_tokens - len(self.begin) - ends
        while sum(keep) > room:
            longest = keep.index(max(keep))
            others = sum(keep) - keep[longest]
            second = max((k for i, k in enumerate(keep) if i != longest), default=0)
            keep[longest] = max(room - others, second - 1, 1) if keep[longest] > second else keep[longest] - 1
        pieces, words = [self._special(name, 0) for name in self.begin], list[Word]()
        for segment, (part, count) in enumerate(zip(parts, keep, strict=True)):
            self._append(pieces, words, part[:count], segment, text if segment == 0 else pair or "")
            if self.separator is not None:
                last = segment == len(parts) - 1
                pieces += [self._special(self.separator, segment)] * (1 if last else self.between)
        n_cut = sum(len(part) for part in parts) - sum(keep)
        return Tokens(text, pair, tuple(pieces), tuple(words), n_cut)

    def _append(
        self, pieces: list[Piece], words: list[Word], rows: Sequence[Row], segment: int, text: str
    ) -> None:
        previous: int | None = None
        for name, identity, start, end, group, mark in rows:
            role, at = self._roles.get(identity), len(pieces)
            if group is not None and group == previous:
                last = words[-1]
                end_of_word = max(last.end, end)
                words[-1] = Word(
                    text[last.start : end_of_word], last.start, end_of_word, segment, last.first, at + 1
                )
            elif group is not None:
                words.append(Word(text[start:end], start, end, segment, at, at + 1))
            word = None if group is None else len(words) - 1
            pieces.append(Piece(name, identity, start, end, segment, word, group is None, role, mark))
            previous = group

    def _special(self, name: str, segment: int) -> Piece:
        identity = self._fast.token_to_id(name)
        if identity is None:
            raise ModelError(f"The tokenizer has no {name}; it belongs to another kind of model.")
        return Piece(name, identity, 0, 0, segment, None, True, self._roles.get(identity))


def clean_text(text: str) -> str:
    """The text with lone surrogates (no characters at all) replaced one by one, so that spans stay right.

    Raises InputError for what is no text: every text that is read comes through here.
    """
    if not isinstance(text, str):
        raise InputError(f"A text is asked for and {type(text).__name__} was given.")
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _has_surrogate(text) else text
    )


def check_words(words: object) -> None:
    """Raise InputError for one text where a list of words is asked for."""
    if isinstance(words, str | bytes):
        raise InputError("A sentence is asked for as a list of words; one text was given.")


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
