"""A reader's text as pieces and words, each with its place in the reader's own spelling.

In: one text or a pair. Out: `Tokens`: the pieces that the model sees, in order, with [CLS] and [SEP] around
them, and the words that they spell. Spans are in characters of the text of their own segment.
"""

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Encoding, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer

from mha_core.errors import InputError, ModelError

APOSTROPHES_AND_HYPHENS = frozenset("'’‘ʼ`-‐‑_")
DECIMAL_MARKS = frozenset(".,:")
SMALLEST_LIMIT = 5  # [CLS], a piece, [SEP], a piece, [SEP]


@dataclass(frozen=True)
class Piece:
    """One token of the model. `start`, `end`: its characters in its segment's text (0, 0 for what we insert)."""

    text: str
    id: int
    start: int
    end: int
    segment: int
    word: int | None
    special: bool


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
    def segments(self) -> tuple[int, ...]:
        """0 for the first text and its specials, 1 for the second."""
        return tuple(piece.segment for piece in self.pieces)

    def text_of(self, segment: int) -> str:
        """The reader's text of that segment."""
        return self.text if segment == 0 else self.pair or ""

    def spelling(self, piece: Piece) -> str:
        """The piece in the reader's own spelling; an inserted special token by its name."""
        return self.text_of(piece.segment)[piece.start : piece.end] or piece.text


@dataclass(frozen=True)
class _Part:
    """A text's pieces before the frame of [CLS] and [SEP] is put around them: (text, id, start, end, group)."""

    pieces: tuple[tuple[str, int, int, int, int | None], ...]


class Tokenizer:
    """WordPiece by the model's own files. Always called in one way, never truncating, so it can be shared."""

    def __init__(self, fast: FastTokenizer, max_tokens: int) -> None:
        if max_tokens < SMALLEST_LIMIT:
            raise ModelError(
                f"The model takes {max_tokens} tokens; a pair of words in their frame needs {SMALLEST_LIMIT}."
            )
        fast.no_truncation()
        fast.no_padding()
        self._fast = fast
        self.max_tokens = max_tokens
        self._ids = {name: self._id(name) for name in ("[CLS]", "[SEP]", "[UNK]")}
        self.mask_id: int | None = fast.token_to_id("[MASK]")
        self.pad_id: int = fast.token_to_id("[PAD]") or 0
        # Typed by the reader these become the token itself, and never "[", "se", "##p", "]".
        self._typed = {fast.token_to_id(name) for name in ("[CLS]", "[SEP]", "[PAD]")} - {None}

    @classmethod
    def from_folder(cls, folder: Path, max_tokens: int) -> "Tokenizer":
        """From tokenizer.json, or vocab.txt with tokenizer_config.json. Raises ModelError without them."""
        try:
            if (folder / "tokenizer.json").is_file():
                return cls(FastTokenizer.from_file(str(folder / "tokenizer.json")), max_tokens)
            if (folder / "vocab.txt").is_file():
                settings = folder / "tokenizer_config.json"
                found = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
                lower = found.get("do_lower_case", True)
                return cls(_from_vocabulary(folder / "vocab.txt", bool(lower)), max_tokens)
        except ModelError:
            raise
        except Exception as problem:  # the tokenizers library raises bare Exception
            raise ModelError(
                f"The tokenizer files of '{model_name(folder)}' cannot be read: {problem}."
            ) from problem
        raise ModelError(
            f"'{model_name(folder)}' has neither tokenizer.json nor vocab.txt, so no text can be read."
        )

    @property
    def vocab_size(self) -> int:
        """How many pieces there are to choose from."""
        return int(self._fast.get_vocab_size())

    def piece_name(self, identity: int) -> str:
        """The vocabulary entry with that number."""
        return str(self._fast.id_to_token(identity))

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """A text, or two. One "[SEP]" typed between two texts is read as the border of a pair; a "[CLS]" typed
        first and a "[SEP]" typed last are the frame that is put around every text, and are not doubled.

        Raises InputError if there is nothing to look at.
        """
        text, pair = _unframe(_clean(text)), None if pair is None else _unframe(_clean(pair))
        if pair is None:
            text, pair = _split_at_separator(text)
        elif not pair.strip():
            pair = None
        parts = [self._part(text)] + ([] if pair is None else [self._part(pair)])
        for which, part in zip(("sentence", "second sentence"), parts, strict=False):
            if not part.pieces:
                raise InputError(f"The {which} is empty; type at least one word.")
        return self._frame(text, pair, parts)

    def encode_words(self, words: Sequence[str]) -> Tokens:
        """A sentence given as its words (a treebank's): the list is the list of words, whatever is in them."""
        if not words:
            raise InputError("The sentence has no words.")
        words = [_clean(word) for word in words]
        encoding = self._fast.encode(words, is_pretokenized=True, add_special_tokens=False)
        found = set(encoding.word_ids)
        if len(found) < len(words):  # a word of control characters alone has no piece: it becomes [UNK]
            known = [word if index in found else "[UNK]" for index, word in enumerate(words)]
            encoding = self._fast.encode(known, is_pretokenized=True, add_special_tokens=False)
        text, starts = " ".join(words), [0]
        for word in words:
            starts.append(starts[-1] + len(word) + 1)
        rows, pieces = _rows(encoding), []
        for at, (piece, identity, (start, end), group) in enumerate(rows):
            index = group or 0
            base, limit = starts[index], len(words[index])
            first = at == 0 or rows[at - 1][3] != group
            last = at + 1 == len(rows) or rows[at + 1][3] != group
            begin, stop = (0 if first else min(start, limit)), (limit if last else min(end, limit))
            pieces.append((piece, identity, base + begin, base + stop, index))
        return self._frame(text, None, [_Part(tuple(pieces))])

    def _part(self, text: str) -> _Part:
        encoding = self._fast.encode(text, add_special_tokens=False)
        rows = list(_rows(encoding))
        groups = _join_words(text, rows)
        ends = [end for _, _, (_, end), _ in rows]
        for index, (_, _, (start, _), _) in enumerate(rows):
            following = rows[index + 1][2][0] if index + 1 < len(rows) else len(text)
            ends[index] = max(ends[index], start)
            while ends[index] < following and _belongs_to_the_left(text[ends[index]]):
                ends[index] += 1
        return _Part(
            tuple(
                (name, identity, start, ends[i], None if identity in self._typed else groups[i])
                for i, (name, identity, (start, _), _) in enumerate(rows)
            )
        )

    def _frame(self, text: str, pair: str | None, parts: list[_Part]) -> Tokens:
        """[CLS] first [SEP] (second [SEP]), cut to the model's limit: the longer part loses its end first."""
        keep = [len(part.pieces) for part in parts]
        room = self.max_tokens - 1 - len(parts)
        while sum(keep) > room:
            longest = keep.index(max(keep))
            others = sum(keep) - keep[longest]
            second = max((k for i, k in enumerate(keep) if i != longest), default=0)
            keep[longest] = max(room - others, second - 1, 1) if keep[longest] > second else keep[longest] - 1
        pieces, words = [self._special("[CLS]", 0)], list[Word]()
        for segment, (part, count) in enumerate(zip(parts, keep, strict=True)):
            self._append(pieces, words, part.pieces[:count], segment, text if segment == 0 else pair or "")
            pieces.append(self._special("[SEP]", segment))
        n_cut = sum(len(part.pieces) for part in parts) - sum(keep)
        return Tokens(text, pair, tuple(pieces), tuple(words), n_cut)

    def _append(
        self,
        pieces: list[Piece],
        words: list[Word],
        rows: Sequence[tuple[str, int, int, int, int | None]],
        segment: int,
        text: str,
    ) -> None:
        previous: int | None = None
        for name, identity, start, end, group in rows:
            if group is None:
                pieces.append(Piece(name, identity, start, end, segment, None, special=True))
            elif group == previous:
                last = words[-1]
                words[-1] = Word(
                    text[last.start : end], last.start, end, segment, last.first, len(pieces) + 1
                )
                pieces.append(Piece(name, identity, start, end, segment, len(words) - 1, special=False))
            else:
                words.append(Word(text[start:end], start, end, segment, len(pieces), len(pieces) + 1))
                pieces.append(Piece(name, identity, start, end, segment, len(words) - 1, special=False))
            previous = group

    def _special(self, name: str, segment: int) -> Piece:
        return Piece(name, self._ids[name], 0, 0, segment, None, special=True)

    def _id(self, name: str) -> int:
        identity = self._fast.token_to_id(name)
        if identity is None:
            raise ModelError(f"The tokenizer has no {name}; only BERT's kind of tokenizer is supported.")
        return int(identity)


def model_name(folder: Path) -> str:
    """What to call the model in a folder; in the hub's cache the folder itself is named by a commit."""
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/")
    return folder.name


def _rows(encoding: Encoding) -> list[tuple[str, int, tuple[int, int], int | None]]:
    return list(zip(encoding.tokens, encoding.ids, encoding.offsets, encoding.word_ids, strict=True))


def _clean(text: str) -> str:
    """The text with lone surrogates (no characters at all) replaced one by one, so that spans stay right."""
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _has_surrogate(text) else text
    )


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _unframe(text: str) -> str:
    if text.lstrip().startswith("[CLS]"):
        text = text.lstrip().removeprefix("[CLS]").lstrip()
    if text.rstrip().endswith("[SEP]"):
        text = text.rstrip().removesuffix("[SEP]").rstrip()
    return text


def _split_at_separator(text: str) -> tuple[str, str | None]:
    first, found, second = text.partition("[SEP]")
    if found and "[SEP]" not in second and first.strip() and second.strip():
        return first.rstrip(), second.lstrip()
    return text, None


def _join_words(text: str, rows: list[tuple[str, int, tuple[int, int], int | None]]) -> list[int]:
    """The word number of every piece: pre-tokens, joined where an apostrophe or hyphen stands inside a word."""
    spans: list[list[int]] = []
    owner, last = [], object()
    for _, _, (start, end), group in rows:
        if group != last or group is None:
            spans.append([start, end])
            last = group
        spans[-1][1] = max(spans[-1][1], end)
        owner.append(len(spans) - 1)
    joined = list(range(len(spans)))
    for middle in range(1, len(spans) - 1):
        left, here, right = spans[middle - 1], spans[middle], spans[middle + 1]
        if (
            left[1] == here[0]
            and here[1] == right[0]
            and _is_inner_mark(
                text[here[0] : here[1]], text[left[1] - 1 : left[1]], text[right[0] : right[0] + 1]
            )
        ):
            joined[middle] = joined[middle - 1]
            joined[middle + 1] = joined[middle - 1]
    return [joined[span] for span in owner]


def _is_inner_mark(mark: str, before: str, after: str) -> bool:
    """Whether `mark` stands inside a word (didn't, well-known) or a number (67.7)."""
    if mark in APOSTROPHES_AND_HYPHENS:
        return before.isalnum() and after.isalnum()
    return mark in DECIMAL_MARKS and before.isdigit() and after.isdigit()


def _belongs_to_the_left(character: str) -> bool:
    """Combining marks, joiners and variation selectors, which the tokenizer drops but the eye does not."""
    return unicodedata.category(character) in ("Mn", "Me", "Mc", "Cf") or character == "\ufe0f"


def _from_vocabulary(path: Path, lower: bool) -> FastTokenizer:
    """BERT's tokenizer from its list of pieces alone."""
    fast = FastTokenizer(models.WordPiece.from_file(str(path), unk_token="[UNK]"))  # noqa: S106 - a token, no password
    fast.normalizer = normalizers.BertNormalizer(lowercase=lower)
    fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast.decoder = decoders.WordPiece()
    fast.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return fast
