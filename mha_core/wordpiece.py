"""WordPiece: whole words where the vocabulary has them, else the longest pieces that it has, from the left.

In: a text or a pair, and the names of the family's special tokens. Out: `Tokens`.
Source: Devlin et al. 2019, section 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Encoding, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer

from mha_core.checkpoint import MOST_TOKENIZER, check_file, fast_tokenizer, model_name, read_json, reading
from mha_core.errors import InputError, ModelError
from mha_core.tokens import Role, Row, Tokenizer, Tokens, check_words, clean_text
from mha_core.word_spans import belongs_to_the_left, joined_spans

SMALLEST_LIMIT = 5  # the begin, a piece, the separator, a piece, the separator


@dataclass(frozen=True)
class SpecialNames:
    """What a family calls its special tokens, and what it writes before a piece that continues a word."""

    begin: str
    separator: str
    padding: str
    unknown: str
    mask: str
    continuation: str

    def roles(self) -> dict[str, Role]:
        """The role of each name."""
        return {
            self.begin: "begin",
            self.separator: "separator",
            self.padding: "padding",
            self.unknown: "unknown",
            self.mask: "mask",
        }


class WordPiece(Tokenizer):
    """WordPiece by the model's own files, with the special tokens of its family."""

    def __init__(self, fast: FastTokenizer, max_tokens: int, names: SpecialNames) -> None:
        if max_tokens < SMALLEST_LIMIT:
            raise ModelError(
                f"The model takes {max_tokens} tokens; a pair of words in their frame needs {SMALLEST_LIMIT}."
            )
        super().__init__(fast, max_tokens, names.roles())
        for name in (names.begin, names.separator, names.unknown):
            if fast.token_to_id(name) is None:
                raise ModelError(f"The tokenizer has no {name}; it belongs to another kind of model.")
        self.names = names
        self.begin, self.separator = (names.begin,), names.separator
        self.continuation = names.continuation
        # Typed by the reader these become the token itself, and are never split into their signs.
        self._typed = {i for i, role in self._roles.items() if role in ("begin", "separator", "padding")}

    @classmethod
    def from_folder(cls, folder: Path, max_tokens: int, names: SpecialNames) -> "WordPiece":
        """From tokenizer.json, or vocab.txt with tokenizer_config.json. Raises ModelError without them."""
        with reading(folder, "The tokenizer files"):
            if (folder / "tokenizer.json").exists():
                return cls(fast_tokenizer(folder), max_tokens, names)
            if (folder / "vocab.txt").exists():
                settings = folder / "tokenizer_config.json"
                found = read_json(settings) if settings.exists() else {}
                lower = found.get("do_lower_case", True) if isinstance(found, dict) else True
                return cls(_from_vocabulary(folder / "vocab.txt", bool(lower), names), max_tokens, names)
        raise ModelError(
            f"'{model_name(folder)}' has neither tokenizer.json nor vocab.txt, so no text can be read."
        )

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """A text, or two. One separator typed between two texts is read as the border of a pair; special tokens
        typed first and last as they are put around every text are not doubled.

        Raises InputError if there is nothing to look at.
        """
        text, pair = (
            self._unframe(clean_text(text)),
            None if pair is None else self._unframe(clean_text(pair)),
        )
        if pair is None:
            text, pair = self._split_at_separator(text)
        elif not pair.strip():
            pair = None
        parts = [self._part(text)] + ([] if pair is None else [self._part(pair)])
        for which, part in zip(("sentence", "second sentence"), parts, strict=False):
            if not part:
                raise InputError(f"The {which} is empty; type at least one word.")
        return self._frame(text, pair, parts)

    def encode_words(self, words: Sequence[str]) -> Tokens:
        """A sentence given as its words (a treebank's): the list is the list of words, whatever is in them."""
        check_words(words)
        if not words:
            raise InputError("The sentence has no words.")
        words = [clean_text(word) for word in words]
        encoding = self._fast.encode(words, is_pretokenized=True, add_special_tokens=False)
        found = set(encoding.word_ids)
        if len(found) < len(words):  # a word of control characters alone has no piece: it becomes unknown
            known = [word if index in found else self.names.unknown for index, word in enumerate(words)]
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
            pieces.append((piece, identity, base + begin, base + stop, index, self._mark(piece)))
        return self._frame(text, None, [tuple(pieces)])

    def ordinary(self) -> tuple[int, ...]:
        """Whole words of letters, for in any order they are read as they stand."""
        return tuple(i for i in self.identities if self._is_word(self.piece_name(i)))

    def from_ids(self, ids: Sequence[int]) -> Tokens:
        """Whole words one after the other as a text, with the special tokens around it."""
        return self.encode_words([self.piece_name(i) for i in ids])

    @staticmethod
    def _is_word(name: str) -> bool:
        return len(name) > 2 and name.isascii() and name.isalpha()

    def _part(self, text: str) -> tuple[Row, ...]:
        encoding = self._fast.encode(text, add_special_tokens=False)
        rows = list(_rows(encoding))
        groups = _join_words(text, rows)
        ends = [end for _, _, (_, end), _ in rows]
        for index, (_, _, (start, _), _) in enumerate(rows):
            following = rows[index + 1][2][0] if index + 1 < len(rows) else len(text)
            ends[index] = max(ends[index], start)
            while ends[index] < following and belongs_to_the_left(text[ends[index]]):
                ends[index] += 1
        return tuple(
            (name, identity, start, ends[i], None if identity in self._typed else groups[i], self._mark(name))
            for i, (name, identity, (start, _), _) in enumerate(rows)
        )

    def _mark(self, name: str) -> str:
        """What is written before a piece that continues a word."""
        return self.names.continuation if name.startswith(self.names.continuation) else ""

    def _unframe(self, text: str) -> str:
        begin, separator = self.names.begin, self.names.separator
        if text.lstrip().startswith(begin):
            text = text.lstrip().removeprefix(begin).lstrip()
        if text.rstrip().endswith(separator):
            text = text.rstrip().removesuffix(separator).rstrip()
        return text

    def _split_at_separator(self, text: str) -> tuple[str, str | None]:
        separator = self.names.separator
        first, found, second = text.partition(separator)
        if found and separator not in second and first.strip() and second.strip():
            return first.rstrip(), second.lstrip()
        return text, None


def _rows(encoding: Encoding) -> list[tuple[str, int, tuple[int, int], int | None]]:
    return list(zip(encoding.tokens, encoding.ids, encoding.offsets, encoding.word_ids, strict=True))


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
    joined = joined_spans(text, spans)
    return [joined[span] for span in owner]


def _from_vocabulary(path: Path, lower: bool, names: SpecialNames) -> FastTokenizer:
    """BERT's tokenizer from its list of pieces alone, which has every piece once."""
    check_file(path, MOST_TOKENIZER)
    pieces = [line.rstrip("\r") for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n")]
    seen = set[str]()
    for number, piece in enumerate(pieces, start=1):
        if not piece or piece in seen:
            raise ModelError(
                f"The vocab.txt of '{model_name(path.parent)}' is damaged: line {number:,} is empty or stands twice."
            )
        seen.add(piece)
    fast = FastTokenizer(models.WordPiece.from_file(str(path), unk_token=names.unknown))
    fast.normalizer = normalizers.BertNormalizer(lowercase=lower)
    fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast.decoder = decoders.WordPiece(prefix=names.continuation)
    fast.add_special_tokens(list(names.roles()))
    return fast
