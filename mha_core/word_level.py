"""Whole words from a fixed list: what the list lacks is unknown, and keeps its place and its spelling.

In: one text. Out: `Tokens` without special tokens around them: words in small letters, signs of punctuation alone.
"""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer

from mha_core.checkpoint import MOST_TOKENIZER, check_file, model_name, reading
from mha_core.errors import InputError, ModelError
from mha_core.tokens import Role, Row, Tokenizer, Tokens, check_words, clean_text

ROLES: dict[str, Role] = {"[PAD]": "padding", "[UNK]": "unknown", "[MASK]": "mask"}
# A word with the apostrophes and hyphens inside it, or one sign that is no space.
RUNS = r"\w+(?:['-]\w+)*|[^\w\s]"


class WordLevel(Tokenizer):
    """One text, no pair, nothing put around it."""

    takes_pairs = False

    def __init__(self, fast: FastTokenizer, max_tokens: int) -> None:
        super().__init__(fast, max_tokens, ROLES)
        for name in ROLES:
            if fast.token_to_id(name) is None:
                raise ModelError(f"The tokenizer has no {name}; it belongs to another kind of model.")
        self._unknown = int(fast.token_to_id("[UNK]") or 0)

    @classmethod
    def from_folder(cls, folder: Path, max_tokens: int) -> "WordLevel":
        """From vocab.txt, one word a line in the order of their numbers. Raises ModelError without it."""
        path = folder / "vocab.txt"
        if not path.exists():
            raise ModelError(f"'{model_name(folder)}' has no vocab.txt, so no text can be read.")
        with reading(folder, "The vocab.txt"):
            check_file(path, MOST_TOKENIZER)
            words = path.read_text(encoding="utf-8").split()
        if len(set(words)) != len(words):
            raise ModelError(f"The vocab.txt of '{model_name(folder)}' has a word twice.")
        return cls(word_level(words), max_tokens)

    @property
    def known_words(self) -> tuple[str, ...] | None:
        """All words and signs, in order, without the special tokens."""
        names = (self.piece_name(i) for i in self.identities)
        return tuple(sorted(name for name in names if name not in ROLES))

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """A text. Raises InputError for a pair, and if there is nothing to look at."""
        if pair is not None and pair.strip():
            raise InputError("This model reads one running text and takes no pair; give one text.")
        text = clean_text(text)
        encoding = self._fast.encode(text, add_special_tokens=False)
        if not encoding.ids:
            raise InputError("The sentence is empty; type at least one word.")
        found = zip(encoding.tokens, encoding.ids, encoding.offsets, strict=True)
        rows: tuple[Row, ...] = tuple(
            (name, identity, *span, place, "") for place, (name, identity, span) in enumerate(found)
        )
        return self._frame(text, None, [rows])

    def encode_words(self, words: Sequence[str]) -> Tokens:
        """A sentence given as its words (a treebank's): the list is the list of words, whatever is in them."""
        check_words(words)
        if not words:
            raise InputError("The sentence has no words.")
        words, rows, at = [clean_text(word) for word in words], list[Row](), 0
        for place, word in enumerate(words):
            ids = self._fast.encode(word, add_special_tokens=False).ids
            identity = ids[0] if len(ids) == 1 else self._unknown
            rows.append((self.piece_name(identity), identity, at, at + len(word), place, ""))
            at += len(word) + 1
        return self._frame(" ".join(words), None, [tuple(rows)])


def word_level(words: Sequence[str]) -> FastTokenizer:
    """The tokenizer of a list of words; each word's number is its place."""
    fast = FastTokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    fast.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace("’", "'")])
    fast.pre_tokenizer = pre_tokenizers.Split(Regex(RUNS), "removed", invert=True)
    fast.add_special_tokens(list(ROLES))
    return fast
