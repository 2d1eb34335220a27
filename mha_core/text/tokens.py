"""A user's text as tokens and words, each with its place in the text as typed.

In: one text or a pair, through any tokenizer of the library tokenizers. Out: `Tokens`: the pieces that the model sees,
in order, with the special tokens around them, and the words that they spell. Spans are in characters of the text of
their own segment, without the spaces around a piece. Pieces that share one character (an emoji's bytes) share its span.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from textwrap import shorten
from typing import Any, Literal

from tokenizers import Encoding, models
from tokenizers import Tokenizer as FastTokenizer
from tokenizers.processors import TemplateProcessing

from mha_core.display_names import count_noun
from mha_core.errors import InputError, ModelError
from mha_core.text import word_spans
from mha_core.text.spelling import SPACES, WORDPIECE, Row, Style, bytes_of, spell_bytes, spell_rows, style_of
from mha_core.text.word_spans import Runs

Text = str | Sequence[str] | Sequence[Mapping[str, Any]]  # a text, its words, or chat messages
Role = Literal["begin", "separator", "padding", "unknown", "mask", "other"]
CUT_SHOWN = 60  # characters of what was cut off
NO_WORDS: tuple[Role, ...] = ("begin", "separator", "padding", "other")
# Of a large vocabulary neither bytes and special tokens at the beginning nor the rarest entries at the end.
COMMON = (1_000, 40_000)


@dataclass(frozen=True)
class Token:
    """One token of the model. `start`, `end`: its characters in its segment's text (0, 0 for an inserted one).

    `role`: the kind of special token, or "unknown" for a word that the vocabulary lacks. `mark`: the sign before a
    piece that continues a word; empty for one that begins a word.
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
        """True if it goes on with the word that the piece before it began."""
        return bool(self.mark)

    @property
    def bare(self) -> str:
        """Text without the mark of a continuation and without the space before it."""
        return self.text.removeprefix(self.mark).strip() or self.text


@dataclass(frozen=True)
class Word:
    """One word as typed, made of pieces[first:stop]."""

    text: str
    start: int
    end: int
    segment: int
    first: int
    stop: int


@dataclass(frozen=True)
class Tokens:
    """Input of the model. `n_cut`: number of pieces left out because the model takes no more. `inputs`: other inputs by
    a tokenizer of transformers, a number a piece."""

    text: str
    pair: str | None
    pieces: tuple[Token, ...]
    words: tuple[Word, ...]
    n_cut: int = 0
    inputs: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def ids(self) -> tuple[int, ...]:
        """Vocabulary numbers, one a piece."""
        return tuple(piece.id for piece in self.pieces)

    @property
    def special_names(self) -> tuple[str, ...]:
        """Names of the special tokens in it, each once, in order."""
        return tuple(dict.fromkeys(piece.text for piece in self.pieces if piece.special))

    @property
    def segments(self) -> tuple[int, ...]:
        """One number a piece: 0 for the first text and its specials, 1 for the second."""
        return tuple(piece.segment for piece in self.pieces)

    def text_of(self, segment: int) -> str:
        """Return a segment's text as typed."""
        return self.text if segment == 0 else self.pair or ""

    @property
    def cut_text(self) -> str:
        """Sentence on the tokens that were cut off, at which side, and the words they spell; "" where none was."""
        if not self.n_cut:
            return ""
        own = [piece for piece in self.pieces if piece.word is not None]
        ends = [list(group) for _, group in groupby(own, key=lambda piece: piece.segment)]
        left = " ".join(self.text_of(part[0].segment)[: part[0].start] for part in ends)
        right = " ".join(self.text_of(part[0].segment)[part[-1].end :] for part in ends)
        where = "before the last" if len(left) > len(right) else "after"
        words = shorten(f"{left} {right}", CUT_SHOWN, placeholder=" …")
        unread = f" (unread: “{words}”)" * bool(words)
        return f"cut {where} {len(self):,} of {len(self) + self.n_cut:,} tokens{unread}"

    def select(self, is_selected: Sequence[bool]) -> "Tokens":
        """Return the tokens marked True, for example all but padding; a word that loses all of its own is gone."""
        places = [i for i, selected in enumerate(is_selected) if selected]
        new = {old: i for i, old in enumerate(places)}
        words, numbers = list[Word](), dict[int, int]()
        for number, word in enumerate(self.words):
            own = [new[i] for i in range(word.first, word.stop) if i in new]
            if own:
                numbers[number] = len(words)
                words.append(replace(word, first=own[0], stop=own[-1] + 1))
        pieces = (self.pieces[i] for i in places)
        pieces = (p if p.word is None else replace(p, word=numbers[p.word]) for p in pieces)
        inputs = tuple((name, tuple(values[i] for i in places)) for name, values in self.inputs)
        return replace(self, pieces=tuple(pieces), words=tuple(words), inputs=inputs)

    def spelling(self, piece: Token) -> str:
        """Return a piece as typed; an inserted one by its name."""
        own = self.text_of(piece.segment)[piece.start : piece.end]
        return own or (piece.text if piece.text.strip() else SPACES[0])

    def label(self, piece: Token) -> str:
        """Return a piece's spelling, with the mark before it where it continues a word."""
        return piece.mark + self.spelling(piece)


@dataclass(frozen=True)
class SpecialTokenNames:
    """Names of a family's special tokens. `begin` stands before a text, `separator` after each, and so many `between`
    the texts of a pair; empty where nothing is put there."""

    begin: str
    separator: str
    padding: str
    unknown: str
    mask: str
    between: int = 1

    def roles(self) -> dict[str, Role]:
        """Return the role of each name."""
        roles: dict[str, Role] = {
            self.padding: "padding", self.unknown: "unknown", self.mask: "mask",
            self.begin: "begin", self.separator: "separator",
        }  # fmt: skip
        return {name: role for name, role in roles.items() if name}


class Tokenizer:
    """A model's own tokenizer, of any kind. Always called in one way, never truncating, so it can be shared.

    `specials`: those of an encoder. Without them it is a decoder's: one text, no pair, and in front of it the tokens
    `begin`, or else the tokenizer's own. A list of whole words has a token for every word.
    """

    def __init__(
        self,
        fast: FastTokenizer,
        max_tokens: int,
        specials: SpecialTokenNames | None = None,
        begin: Sequence[str] | None = None,
    ) -> None:
        fast.no_truncation()
        fast.no_padding()
        self._fast, self.max_tokens = fast, max_tokens
        self.is_list = isinstance(fast.model, models.WordLevel)
        self.continuation = WORDPIECE if isinstance(fast.model, models.WordPiece) else ""
        self._spells = not (self.is_list or self.continuation)
        self._runs: Runs = "words" if self.is_list else "own" if self.continuation else "text"
        added = fast.get_added_tokens_decoder()
        self._added = {identity: token.content for identity, token in added.items()}
        if begin is None:
            begin = _front(fast) if specials is None else [specials.begin]
        specials = specials or SpecialTokenNames("", "", "", "", "")
        self.begin, self.separator = tuple(name for name in begin if name), specials.separator
        self.end: tuple[str, ...] = (self.separator,) if self.separator else ()
        names = fast.get_vocab(with_added_tokens=False) if self._spells else ()
        self._style: Style = style_of(names)
        self.takes_pairs = bool(self.separator)
        self._unknown, self._between = "" if self._spells else specials.unknown, specials.between
        roles: dict[str, Role] = {token.content: "other" for token in added.values() if token.special}
        roles |= dict.fromkeys(self.begin, "begin")
        roles |= specials.roles()
        ids_of_names = {name: fast.token_to_id(name) for name in (*roles, self._unknown)}
        known = {name: identity for name, identity in ids_of_names.items() if identity is not None}
        for name in (*self.special_names, self._unknown):
            if name and name not in known:
                raise ModelError(f"The tokenizer has no {name}; it belongs to another kind of model.")
        self._roles: dict[int, Role] = {known[name]: role for name, role in roles.items() if name in known}
        ids = {role: identity for identity, role in self._roles.items()}
        self.mask_id, self.pad_id = ids.get("mask"), ids.get("padding", 0)
        # Typed by the user these become the token itself, and are no part of any word.
        self._signs = set() if self.is_list else {i for i, role in self._roles.items() if role in NO_WORDS}
        self._around = [known[name] for name in self.special_names]
        self._put_around()

    def _put_around(self) -> None:
        """Let the tokenizer itself put the special tokens around a text and a pair."""
        single = [*self.begin, "$A", *self.end]
        pair = [*self.begin, "$A", *self.end * self._between, "$B", *self.end]
        room = len(pair) if self.takes_pairs else 2
        if self.max_tokens < room:
            raise ModelError(f"The model takes {self.max_tokens} tokens; a text in its frame needs {room}.")
        if any(":" in name for name in self.special_names):
            raise ModelError(f"A token named {self.special_names[0]} cannot be put around a text.")
        self._fast.post_processor = TemplateProcessing(
            single=single, pair=pair, special_tokens=list(zip(self.special_names, self._around, strict=True))
        )

    @property
    def special_names(self) -> tuple[str, ...]:
        """Special tokens that are put around every text, in order, for words on the screen."""
        return (*self.begin, *self.end)

    @property
    def mask_name(self) -> str | None:
        """Token to type where a word is to be predicted; None without one in the vocabulary."""
        return None if self.mask_id is None else self.piece_name(self.mask_id)

    @cached_property
    def identities(self) -> tuple[int, ...]:
        """Numbers of the pieces, in order; a tokenizer may leave out some."""
        return tuple(sorted(set(self._fast.get_vocab().values())))

    @property
    def largest_id(self) -> int:
        """Largest number of a piece, -1 without any."""
        return self.identities[-1] if self.identities else -1

    @property
    def vocab_size(self) -> int:
        """Number of pieces to choose from."""
        return len(self.identities)

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """Numbers below the largest that no piece has."""
        return tuple(sorted(set(range(self.largest_id + 1)) - set(self.identities)))

    def has(self, identity: int) -> bool:
        """Return whether a piece has that number."""
        return 0 <= identity <= self.largest_id and identity not in self.left_out

    @property
    def known_words(self) -> tuple[str, ...] | None:
        """All words, where a user can type nothing else; None where any text can be read."""
        if not self.is_list:
            return None
        return tuple(sorted(self.piece_name(i) for i in self.identities if i not in self._roles))

    def piece_name(self, identity: int) -> str:
        """Return the vocabulary entry with that number."""
        return str(self._fast.id_to_token(identity))

    def typed(self, identity: int) -> str:
        """Return the token with that number as a user would type it, the space before it included."""
        return self.spell((identity,))

    def spell(self, ids: Sequence[int]) -> str:
        """Return the text that tokens spell together: a character may be cut into tokens of single bytes."""
        if not self._spells:
            return "".join(map(self.piece_name, ids))
        return b"".join(map(self._bytes, ids)).decode("utf-8", "replace")

    def _bytes(self, identity: int) -> bytes:
        added = self._added.get(identity)
        return bytes_of(self.piece_name(identity), self._style) if added is None else added.encode()

    def ids_of(self, text: str) -> tuple[int, ...]:
        """Return the numbers of the tokens that spell this text, exactly as it stands and without special tokens."""
        ids: list[int] = self._fast.encode(text, add_special_tokens=False).ids
        return (ids[-1],) if ids and self.typed(ids[-1]) == text else tuple(ids)

    def is_special(self, identity: int) -> bool:
        """Return whether the token with that number is a sign of the model's own: no part of any text."""
        return identity in self._roles

    def is_outside_words(self, identity: int) -> bool:
        """Return whether that token is in no word where a user typed it."""
        return identity in self._signs

    def to_json(self) -> str:
        """Return the tokenizer as the text of a tokenizer.json."""
        return str(self._fast.to_str())

    def read(self, text: Text | Tokens, pair: str | None = None) -> Tokens:
        """Return the tokens of a text: a string, its words (a list or an array), or chat messages with a role and a
        content each. Tokens stay as they are. Raises InputError for anything else."""
        if isinstance(text, str) and isinstance(pair, str | None):
            return self.encode(text, pair)
        if pair is not None:
            raise InputError("A pair is of two strings; give both texts so.")
        if isinstance(text, Tokens):
            return text
        given: Any = text.tolist() if hasattr(text, "tolist") else text
        if not isinstance(given, list | tuple):
            raise InputError(f"`text` must be a string or a list of words, not {type(text).__name__}.")
        if given and all(isinstance(part, Mapping) for part in given):
            return self.encode_chat(given)
        return self.encode_words(given)

    def encode_chat(self, messages: Sequence[Mapping[str, Any]]) -> Tokens:
        """Return a conversation's tokens, as the tokenizer's own template renders it. Raises InputError without one."""
        raise InputError(
            f"No chat template is known here for {count_noun(len(messages), 'message')}; give one string, such as "
            "AutoTokenizer's apply_chat_template(messages, tokenize=False)."
        )

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """Encode a text, or two. One separator typed between two texts is read as the border of a pair; special tokens
        typed around a text as they are put there are not doubled.

        Raises InputError for a text without words, and for a pair where the model takes none.
        """
        texts = self._texts_of(text, pair)
        encoding = self._fast.encode(texts[0], texts[1] if texts[1:] else None)
        for segment, which in enumerate(("sentence", "second sentence")[: len(texts)]):
            if segment not in encoding.sequence_ids or not texts[segment].strip():
                raise InputError(f"The {which} is empty. Type a word.")
        return self._of_texts(texts, self._rows(encoding))

    def encode_words(self, words: Sequence[str]) -> Tokens:
        """Encode a sentence given as its words (a treebank's): the list is the list of words, whatever is in them.

        Raises InputError for no words, and where a token spells more than one word.
        """
        words = clean_words(words, may_be_empty=not self._spells)
        text, spans = " ".join(words), word_spans.spans_in_sentence(words)
        if self._spells:  # cut apart, its words would lose the spaces that their tokens begin with
            rows = self._rows(self._fast.encode(text))
            word_spans.give_words(text, rows, spans)
        else:
            encoding = self._fast.encode(self._known(words), is_pretokenized=True)
            rows = word_spans.rows_of_words(encoding, words)
        word_spans.fill_spans(text, rows, spans)
        rows, n_cut = self._cut(rows)
        return _tokens([text], rows, self._roles, n_cut)

    def _known(self, words: Sequence[str]) -> list[str]:
        """Return the words, but unknown ones for those without a token (control characters alone); of a list of words
        also for those that are more than one."""
        ids = Counter(self._fast.encode(words, is_pretokenized=True, add_special_tokens=False).word_ids)
        most = 1 if self.is_list else max(ids.values(), default=1)
        return [word if 1 <= ids[i] <= most else self._unknown for i, word in enumerate(words)]

    def ordinary(self) -> tuple[int, ...]:
        """Return tokens to draw random ones from: common ones, and no special ones; of word pieces whole words, for in
        any order they are read as they stand. None of a list of words."""
        if self.is_list:
            return ()
        if self.continuation:
            named = ((i, self.piece_name(i)) for i in self.identities)
            return tuple(i for i, name in named if len(name) > 2 and name.isascii() and name.isalpha())
        low, high = COMMON if self.vocab_size >= COMMON[1] else (0, self.largest_id + 1)
        return tuple(i for i in self.identities if low <= i < high and not self.is_special(i))

    def from_ids(self, ids: Sequence[int]) -> Tokens:
        """Return the tokens with these numbers, whatever text they spell, with the special tokens around it: a model's
        own output, token by token; of word pieces whole words."""
        if not self._spells:
            return self.encode_words([self.piece_name(i) for i in ids])
        front = len(self.begin)
        if tuple(self.piece_name(i) for i in ids[:front]) == self.begin:
            ids = ids[front:]
        text, spans = spell_bytes([self._bytes(identity) for identity in ids])
        rows = [Row(self.typed(i), i, *span, 0) for i, span in zip(ids, spans, strict=True)]
        frame = [Row(self.piece_name(i), i, 0, 0, None) for i in self._around]
        return self._of_texts([text], frame[:front] + rows + frame[front:])

    def _rows(self, encoding: Encoding) -> list[Row]:
        return [replace(row, name=self.typed(row.id)) for row in word_spans.rows_of(encoding)]

    def _of_texts(self, texts: Sequence[str], rows: list[Row]) -> Tokens:
        texts, rows = word_spans.with_spans(texts, rows)
        word_spans.reach(texts, rows)
        rows, n_cut = self._cut(rows)
        word_spans.find_words(texts, rows, self._signs, self._runs)
        return _tokens(texts, rows, self._roles, n_cut)

    def _cut(self, rows: list[Row]) -> tuple[list[Row], int]:
        """Cut to the model's limit; return the rows left and the number lost. The longer text loses its end first."""
        n_cut = len(rows) - self.max_tokens
        if n_cut <= 0:
            return rows, 0
        keep = [sum(row.segment == segment for row in rows) for segment in (0, 1)]
        room = sum(keep) - n_cut
        while sum(keep) > room:
            longer = keep.index(max(keep))
            other = keep[1 - longer]
            keep[longer] = max(room - other, other - 1, 1) if keep[longer] > other else keep[longer] - 1
        places = [iter(range(most)) for most in keep]  # each text's first so many
        rows = [row for row in rows if row.segment is None or next(places[row.segment], None) is not None]
        return rows, n_cut

    def _texts_of(self, text: str, pair: str | None) -> list[str]:
        """Return one text or two, as they stand between the special tokens, whether or not these were typed."""
        texts = [self._unframed(clean_text(part)) for part in (text, pair) if part is not None]
        texts = texts if texts[-1].strip() else texts[:1]
        if len(texts) > 1 and not self.takes_pairs:
            raise InputError("This model takes no pair. Give one text.")
        if pair is None and self.takes_pairs:
            first, *second = _at_border(texts[0], self.separator, self._between)
            texts = [first, *map(self._unframed, second)]
        return texts

    def _unframed(self, text: str) -> str:
        """Remove what a user typed of the frame; a decoder reads the spaces beside it."""
        for name in self.begin:
            if text.lstrip().startswith(name):
                text = text.lstrip().removeprefix(name)
                text = text.lstrip() if self.takes_pairs else text
        for name in reversed(self.end):
            if text.rstrip().endswith(name):
                text = text.rstrip().removesuffix(name).rstrip()
        return text


def tokens_of(
    texts: Sequence[str], encoding: Encoding, *, n_cut: int = 0, words: Sequence[str] | None = None,
    roles: Mapping[int, Role] | None = None,
) -> Tokens:  # fmt: skip
    """Return the tokens of one text or a pair, as any tokenizer of the library tokenizers encoded them.

    Special tokens are those that the encoding says were put around. `n_cut`: number of tokens left out before.
    `words`: those encoded with is_pretokenized=True; these are the words then, with one space between them.
    `roles`: of special tokens by number; one that a user typed is in no word, unless unknown or a mask.

    Raises InputError where one of `words` has no token, and where the tokenizer does not say which text of a pair a
    token spells.
    """
    if words is None:
        texts, rows = word_spans.with_spans(texts, word_spans.rows_of(encoding))
        word_spans.reach(texts, rows)
        signs = {number for number, role in (roles or {}).items() if role in NO_WORDS}
        word_spans.find_words(texts, rows, signs, "own" if any(row.is_marked for row in rows) else "text")
    else:
        texts, rows = [" ".join(words)], word_spans.rows_of_words(encoding, words)
        read = {row.word for row in rows if row.word is not None} if n_cut else set(range(len(words)))
        word_spans.fill_spans(texts[0], rows, word_spans.spans_in_sentence(words), read)
    return _tokens(texts, rows, roles or {}, n_cut)


def spelt_tokens(
    names: Sequence[str], ids: Sequence[int], special: Sequence[bool], style: Style | None = None
) -> Tokens:
    """Return tokens in the text that their names spell, by the tokenizer's style (`style_of` the names unless given).
    Names without any sign of one are words, each as it stands."""
    rows = [
        Row(name, identity, 0, 0, None if put_around else 0)
        for name, identity, put_around in zip(names, ids, special, strict=True)
    ]
    style = style or style_of([row.name for row in rows if row.segment is not None])
    text = spell_rows(rows, style)
    if style in ("words", "pieces"):
        word_spans.give_names(rows)
    else:
        word_spans.find_words([text], rows)
    return _tokens([text], rows, {}, 0)


def clean_text(text: str) -> str:
    """Replace lone surrogates (no characters at all) one by one, so that spans stay right.

    Raises InputError for anything but a string: every text that is read comes through here.
    """
    if not isinstance(text, str):
        raise InputError(f"`text` must be a string, not {type(text).__name__}.")
    lone = any("\ud800" <= character <= "\udfff" for character in text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if lone else text


def clean_words(words: Sequence[str], *, may_be_empty: bool = False) -> list[str]:
    """Clean the words of a sentence as `clean_text` does. Raises InputError for no words, or for other things."""
    if isinstance(words, str | bytes):
        raise InputError("The words must be a list, not one text.")
    given: Sequence[Any] = words
    for number, word in enumerate(given, 1):
        if isinstance(word, list | tuple):
            raise InputError(f"Word {number} is a list; give the words of one text, not of several.")
        if not isinstance(word, str):
            raise InputError(
                f"Word {number} is {word!r:.40}, not a string; give words, not numbers or token ids."
            )
    if not len(words) or not (may_be_empty or all(words)):
        raise InputError("A sentence has one word or more, with a character each; give such words.")
    return [clean_text(str(word)) for word in words]


def _tokens(texts: Sequence[str], rows: Iterable[Row], roles: Mapping[int, Role], n_cut: int) -> Tokens:
    """Return finished rows as pieces and words."""
    pieces, words, segment, last = list[Token](), list[Word](), 0, None
    for i, row in enumerate(rows):
        segment = segment if row.segment is None else row.segment
        if row.word is not None:
            continued = (segment, row.word) == last
            old = words.pop() if continued else Word("", row.start, row.end, segment, i, i)
            end = max(old.end, row.end)
            words.append(Word(texts[segment][old.start : end], old.start, end, segment, old.first, i + 1))
        last = None if row.word is None else (segment, row.word)
        word, role = None if row.word is None else len(words) - 1, roles.get(row.id)
        pieces.append(
            Token(row.name, row.id, row.start, row.end, segment, word, word is None, role, row.mark)
        )
    return Tokens(texts[0], texts[1] if len(texts) > 1 else None, tuple(pieces), tuple(words), n_cut)


def _front(fast: FastTokenizer) -> tuple[str, ...]:
    """Return the special tokens that the tokenizer itself puts in front of a text."""
    whole = fast.encode("a")
    return tuple(whole.tokens[: [*whole.special_tokens_mask, 0].index(0)])


def _at_border(text: str, separator: str, between: int) -> list[str]:
    """Return the two texts that one typed border lies between, or the one text."""
    first, border, second = text.partition(separator)
    second = second.removeprefix(separator) if between > 1 else second
    if border and separator not in second and first.strip() and second.strip():
        return [first.rstrip(), second.lstrip()]
    return [text]
