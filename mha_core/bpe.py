"""Byte-pair encoding: the pieces of a decoder's text, which spell it byte by byte, spaces included.

In: one text. Out: `Tokens`: spans in the reader's own spelling without the space before a word, and the words of
the text as they are elsewhere (didn't is one). Pieces that share one character (an emoji's bytes) share its span.
Source: Sennrich et al. 2016; the alphabet of 256 signs, one for a byte, is GPT-2's (Radford et al. 2019).
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Regex, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer

from mha_core.checkpoint import fast_tokenizer, model_name, reading
from mha_core.errors import InputError, ModelError
from mha_core.tokens import Role, Row, Tokenizer, Tokens, check_words, clean_text
from mha_core.word_spans import joined_spans

CONTINUES = "…"
LOWEST_LINE = "▁"  # how a vocabulary that was made by SentencePiece writes a space
# Runs between spaces, signs of punctuation alone, and Chinese characters alone: what BERT's tokenizer starts from.
RUNS = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(Regex("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"), "isolated"),
        pre_tokenizers.BertPreTokenizer(),
    ]
)
# Of a large vocabulary neither bytes and special tokens at the beginning nor the rarest entries at the end.
COMMON = (1_000, 40_000)


def _byte_signs() -> dict[str, int]:
    """GPT-2's sign for every byte: printable ones stand for themselves, the others follow from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}


BYTES = _byte_signs()


class BytePairs(Tokenizer):
    """A decoder's tokenizer: one text, no pair, and only those special tokens in front that the model wants."""

    takes_pairs = False

    def __init__(self, fast: FastTokenizer, max_tokens: int, begin: tuple[str, ...] | None = None) -> None:
        if max_tokens < 2:
            raise ModelError(f"The model takes {max_tokens} tokens; a decoder needs 2 at least.")
        added = fast.get_added_tokens_decoder()
        roles: dict[str, Role] = {token.content: "other" for token in added.values() if token.special}
        self.begin = _front(fast) if begin is None else begin
        super().__init__(fast, max_tokens, roles | dict.fromkeys(self.begin, "begin"))
        self._added = {identity: token.content for identity, token in added.items()}

    @classmethod
    def from_folder(cls, folder: Path, max_tokens: int) -> "BytePairs":
        """From tokenizer.json. Raises ModelError without it."""
        if not (folder / "tokenizer.json").exists():
            raise ModelError(f"'{model_name(folder)}' has no tokenizer.json, so no text can be read.")
        with reading(folder, "The tokenizer files"):
            return cls(fast_tokenizer(folder), max_tokens)

    def typed(self, identity: int) -> str:
        """The token with that number as a reader would type it, the space before it included."""
        return self.spell((identity,))

    def spell(self, ids: Sequence[int]) -> str:
        """What these tokens spell together: a character may be cut into tokens of single bytes."""
        return b"".join(map(self._bytes, ids)).decode("utf-8", "replace")

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """A text. The special token in front is not doubled where the reader typed it.

        Raises InputError for a pair, and if there is nothing to look at.
        """
        if pair is not None and pair.strip():
            raise InputError("This model reads one running text and takes no pair; give one text.")
        text = clean_text(text)
        for name in self.begin:
            text = text.removeprefix(name)
        if not text.strip():
            raise InputError("The sentence is empty; type at least one word.")
        return self._frame(text, None, [self._rows(text, joined_runs(text))])

    def encode_words(self, words: Sequence[str]) -> Tokens:
        """A sentence given as its words (a treebank's), with one space between them. Raises InputError for
        no words, or a word without characters."""
        check_words(words)
        if not words:
            raise InputError("The sentence has no words.")
        words = [clean_text(word) for word in words]
        empty = next((number for number, word in enumerate(words, 1) if not word), None)
        if empty is not None:
            raise InputError(f"Word {empty} of the sentence has no characters.")
        ends = list(itertools.accumulate(len(word) + 1 for word in words))
        spans = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
        text = " ".join(words)
        rows = self._rows(text, spans, words_given=True)
        if {group for *_, group, _ in rows} != set(range(len(words))):
            raise InputError(
                "Two words of the sentence are one token of this model; it cannot tell them apart."
            )
        return self._frame(text, None, [_filling(rows, spans)])

    def ordinary(self) -> tuple[int, ...]:
        """All tokens but the special ones; of a large vocabulary the common ones."""
        low, high = COMMON if self.vocab_size >= COMMON[1] else (0, self.largest_id + 1)
        return tuple(i for i in self.identities if low <= i < high and not self.is_special(i))

    def from_ids(self, ids: Sequence[int]) -> Tokens:
        """The tokens with these numbers, whatever text they spell: what a model has said, token by token."""
        front = len(self.begin)
        if [self.piece_name(i) for i in ids[:front]] == list(self.begin):
            ids = ids[front:]
        text, spans = _spell([self._bytes(identity) for identity in ids])
        return self._frame(text, None, [self._placed(text, ids, spans, joined_runs(text))])

    def _rows(
        self, text: str, words: Sequence[tuple[int, int]], words_given: bool = False
    ) -> tuple[Row, ...]:
        encoding = self._fast.encode(text, add_special_tokens=False)
        spelled, spans = _spell([self._bytes(identity) for identity in encoding.ids])
        if spelled == " " + text:  # SentencePiece's vocabularies put a space in front
            spans = [(max(0, start - 1), max(0, end - 1)) for start, end in spans]
        elif spelled != text:  # a tokenizer that changes the text first: its own spans are the best there is
            spans = encoding.offsets
        return self._placed(text, encoding.ids, spans, words, words_given)

    def _placed(
        self,
        text: str,
        ids: Sequence[int],
        spans: Sequence[tuple[int, int]],
        words: Sequence[tuple[int, int]],
        words_given: bool = False,
    ) -> tuple[Row, ...]:
        """Every piece with its span less the spaces around it, its word, and whether it continues a run.

        With `words_given` a special token is a part of its word, and spaces between words belong to the next.
        """
        special = [not words_given and self._is_sign(identity) for identity in ids]
        names = [self.typed(identity) for identity in ids]
        return placed(text, names, ids, spans, words, special, words_given=words_given)

    def _is_sign(self, identity: int) -> bool:
        """Whether the token with that number, typed by the reader, is no part of any word."""
        return identity in self._roles

    def _bytes(self, identity: int) -> bytes:
        """What the token with that number spells."""
        if identity in self._added:
            return self._added[identity].encode()
        name = self.piece_name(identity)
        if LOWEST_LINE in name:
            return name.replace(LOWEST_LINE, " ").encode()
        if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
            return bytes.fromhex(name[3:5])
        if all(sign in BYTES for sign in name):
            return bytes(BYTES[sign] for sign in name)
        return name.encode()


def placed(
    text: str,
    names: Sequence[str],
    ids: Sequence[int],
    spans: Sequence[tuple[int, int]],
    words: Sequence[tuple[int, int]],
    special: Sequence[bool],
    *,
    words_given: bool = False,
) -> tuple[Row, ...]:
    """Pieces with their spans in a text, as rows: less the spaces around them, in their words, special ones in none."""
    trimmed = [_trim(text, start, end) for start, end in spans]
    groups = _groups(trimmed, special, words)
    if words_given:
        groups = _without_spaces(groups, len(words))
    else:
        groups, trimmed = _lone_spaces_joined(text, groups, trimmed, len(words))
    runs = {start for start, _ in _runs(text)}
    rows = list[Row]()
    for at, (identity, (start, end), group) in enumerate(zip(ids, trimmed, groups, strict=True)):
        inside = start not in runs or (at > 0 and trimmed[at - 1] == (start, end))
        goes_on = at > 0 and group is not None and group == groups[at - 1] and inside
        rows.append((names[at], identity, start, end, group, CONTINUES if goes_on else ""))
    return tuple(rows)


def joined_runs(text: str) -> list[tuple[int, int]]:
    """The words of a text: runs of letters and digits, joined by what stands inside a word; signs alone."""
    runs = _runs(text)
    words = dict[int, tuple[int, int]]()
    for (start, end), owner in zip(runs, joined_spans(text, runs), strict=True):
        words[owner] = (words.get(owner, (start, end))[0], end)
    return list(words.values())


def _runs(text: str) -> list[tuple[int, int]]:
    return [span for _, span in RUNS.pre_tokenize_str(text)]


def _front(fast: FastTokenizer) -> tuple[str, ...]:
    """The special tokens that the tokenizer itself puts in front of a text."""
    whole = fast.encode("a", add_special_tokens=True)
    front = itertools.takewhile(
        lambda pair: pair[1], zip(whole.tokens, whole.special_tokens_mask, strict=True)
    )
    return tuple(name for name, _ in front)


def _spell(parts: Sequence[bytes]) -> tuple[str, list[tuple[int, int]]]:
    """The text of all parts together, and the characters that each has a byte of."""
    text, owner = _decode(b"".join(parts))
    spans, at = list[tuple[int, int]](), 0
    for part in parts:
        end = at + len(part)
        first = owner[at] if at < len(owner) else len(text)
        spans.append((first, owner[end - 1] + 1 if part else first))
        at = end
    return text, spans


def _lone_spaces_joined(
    text: str, groups: Sequence[int | None], spans: Sequence[tuple[int, int]], n_words: int
) -> tuple[list[int | None], list[tuple[int, int]]]:
    """A space that is a piece of its own before a word (SmolLM2's before a number) belongs to that word, and
    begins where it begins."""
    groups, spans = list(groups), list(spans)
    for at in range(len(groups) - 1):
        group, following, end = groups[at], groups[at + 1], spans[at][1]
        outside = group is not None and group >= n_words and text[slice(*spans[at])] == " "
        if outside and following is not None and following < n_words and spans[at + 1][0] == end:
            groups[at], spans[at] = following, (end, end)
    return groups, spans


def _without_spaces(groups: Sequence[int | None], n_words: int) -> list[int | None]:
    """Pieces outside all words are given to the word after them, at the end to the one before."""
    found, following = list[int | None](), None
    for group in reversed(groups):
        following = group if group is not None and group < n_words else following
        found.append(n_words - 1 if following is None else following)
    return found[::-1]


def _filling(rows: Sequence[Row], words: Sequence[tuple[int, int]]) -> tuple[Row, ...]:
    """Rows whose first and last pieces reach to the ends of their words, and none beyond."""
    found = list[Row]()
    for at, (name, identity, start, end, group, mark) in enumerate(rows):
        low, high = words[group or 0]
        first = at == 0 or rows[at - 1][4] != group
        last = at + 1 == len(rows) or rows[at + 1][4] != group
        begin = low if first else min(max(start, low), high)
        found.append((name, identity, begin, high if last else min(max(end, begin), high), group, mark))
    return tuple(found)


def _decode(whole: bytes) -> tuple[str, list[int]]:
    """The text, and for every byte the number of its character; bytes that are no character become one \ufffd."""
    try:
        text = whole.decode()
    except UnicodeDecodeError as problem:
        good, owner = _decode(whole[: problem.start])
        rest, later = _decode(whole[problem.end :])
        owner += [len(good)] * (problem.end - problem.start)
        return good + "\ufffd" + rest, owner + [len(good) + 1 + index for index in later]
    return text, [index for index, character in enumerate(text) for _ in character.encode()]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the spaces around it; a piece of spaces alone keeps them."""
    inner = text[start:end]
    if not inner.strip():
        return start, end
    return start + len(inner) - len(inner.lstrip()), start + len(inner.rstrip())


def _groups(
    spans: Sequence[tuple[int, int]], special: Sequence[bool], words: Sequence[tuple[int, int]]
) -> list[int | None]:
    """The word of every piece, None for special ones; words that one piece spans are one, and a piece outside
    all words (spaces) is a word of its own, numbered on."""
    first_word = list[int | None]()
    joined, at, extra = list(range(len(words))), 0, len(words) - 1
    for (start, end), skip in zip(spans, special, strict=True):
        while at < len(words) and words[at][1] <= start:
            at += 1
        if skip:
            first_word.append(None)
        elif at == len(words) or words[at][0] >= max(end, start + 1):
            same = len(first_word) > 0 and spans[len(first_word) - 1] == (start, end)
            extra += not same  # the bytes of one space (a no-break space) stay together
            first_word.append(extra)
        else:
            first_word.append(at)
            for later in itertools.takewhile(lambda w: words[w][0] < end, range(at + 1, len(words))):  # noqa: B023
                joined[later] = joined[at]
    return [w if w is None or w >= len(words) else joined[w] for w in first_word]
