"""Words of a text: the characters of each, and the pieces of a tokenizer that spell it.

In: a text and its pieces as rows. Out: the rows with their words. A word is didn't, well-known or 67.7; a sign of
punctuation or a Chinese character is one alone. What the eye sees as one character is in one word: a letter with its
accents, an emoji of several.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from itertools import accumulate, groupby, pairwise, takewhile
from typing import Literal

from tokenizers import Encoding, Regex, pre_tokenizers

from mha_core.errors import InputError
from mha_core.text.spelling import WORDPIECE, Row, Span, spell_rows, style_of

# Source of the runs of letters and single signs: RUNS below; the tokenizer's own first cut of the text (word pieces);
# or that of a tokenizer with one token for every word, where nothing but characters is joined.
Runs = Literal["text", "own", "words"]
CONTINUES = "…"  # what we write before a piece that goes on with a word, where its tokenizer writes nothing
APOSTROPHES_AND_HYPHENS = frozenset("'’‘ʼ`-‐‑_")
DECIMAL_MARKS = frozenset(".,:")
JOINER, NON_JOINER = "\u200d", "\u200c"
MARKS = ("Mn", "Me", "Mc")
# Joiners, the skins of emoji, and the letters inside a flag of a region (England's).
EXTENDS = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
FLAG = re.compile("[\U0001f1e6-\U0001f1ff]+$")
# What BERT's tokenizer has alone: punctuation, the other signs of ASCII, and Chinese characters; with marks on them.
ALONE = r"\p{P}$+<=>^`|~" + "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUNS = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(Regex(f"[{ALONE}][\\p{{M}}{NON_JOINER}{JOINER}]*"), "isolated"),
        pre_tokenizers.WhitespaceSplit(),
    ]
)


def rows_of(encoding: Encoding) -> list[Row]:
    """Return a row for every token; those that were put around have no segment."""
    names, spans, is_special = encoding.tokens, encoding.offsets, encoding.special_tokens_mask
    columns = zip(
        names, encoding.ids, spans, encoding.sequence_ids, is_special, encoding.word_ids, strict=True
    )
    return [
        Row(name, identity, 0, 0, None) if special else Row(name, identity, start, end, segment, run)
        for name, identity, (start, end), segment, special, run in columns
    ]


def rows_of_words(encoding: Encoding, words: Sequence[str]) -> list[Row]:
    """Return the rows of words that were encoded one by one, whose spans count the characters of each word."""
    bases, rows = [start for start, _ in spans_in_sentence(words)], rows_of(encoding)
    for row in rows:
        if row.run is not None:
            row.start, row.end, row.word = row.start + bases[row.run], row.end + bases[row.run], row.run
    return rows


def spans_in_sentence(words: Sequence[str]) -> list[Span]:
    """Return the spans of words with one space between them."""
    ends = accumulate(len(word) + 1 for word in words)
    return [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]


def with_spans(texts: Sequence[str], rows: list[Row]) -> tuple[Sequence[str], list[Row]]:
    """Return texts and rows; without spans from the tokenizer, the text that its tokens spell, with their spans."""
    with_span = {row.segment for row in rows if row.start < row.end}
    if not {row.segment for row in rows if not row.is_space} - with_span - {None}:
        return texts, rows
    if len(texts) > 1:
        raise InputError(
            "This tokenizer does not say which characters its tokens spell; give one text alone."
        )
    return [spell_rows(rows, style_of([row.name for row in rows if row.segment is not None]))], rows


def find_words(
    texts: Sequence[str], rows: Iterable[Row], signs: Container[int] = (), runs: Runs = "text"
) -> None:
    """Give every piece its word, its mark where it continues one, and its span less the spaces around it; `signs` are
    the numbers of those that are in no word."""
    for segment, group in groupby(rows, key=lambda row: row.segment):
        if segment is None:
            continue
        text, part = texts[segment], list(group)
        _trim(text, part)
        words, starts = _joined(
            text, _runs(text) if runs == "text" else _own_runs(part), by_marks=runs != "words"
        )
        for row, owner in zip(part, _owners(part, words), strict=True):
            row.word = None if row.id in signs else owner
        _join_spaces(text, part, len(words))
        _mark(part, starts)


def give_words(text: str, rows: Sequence[Row], words: Sequence[Span]) -> None:
    """Give the pieces of a sentence to the words that were given; the spaces between two belong to the second."""
    own = [row for row in rows if row.segment is not None]
    _trim(text, own)
    owners = _owners(own, words)
    following = max((owner for owner in owners if owner < len(words)), default=0)
    for row, owner in reversed(list(zip(own, owners, strict=True))):
        row.word = following = owner if owner < len(words) else following


def fill_spans(
    text: str, rows: Iterable[Row], words: Sequence[Span], read: Container[int] | None = None
) -> None:
    """Let the pieces of words that were given reach to both ends of their word, and not beyond.

    Raises InputError where a word of those `read` (None: all) has no piece.
    """
    own = [row for row in rows if row.word is not None]
    missing = {number for number in range(len(words)) if read is None or number in read}
    missing -= {row.word for row in own if row.word is not None}
    if missing:
        raise InputError(f"Word {min(missing) + 1} of the sentence has no token of its own in this model.")
    for number, group in groupby(own, key=lambda row: row.word or 0):
        part, (low, high) = list(group), words[number]
        for row in part:
            row.start = min(max(row.start, low), high)
            row.end = min(max(row.end, row.start), high)
        part[0].start, part[-1].end = low, high
    _mark(own, _joined(text, _runs(text), by_marks=True)[1])


def give_names(rows: Iterable[Row]) -> None:
    """Give every piece the word that its name is, or the one before it where it is marked as going on."""
    number, before = -1, None
    for row in rows:
        goes_on = row.is_marked and before is not None
        number += row.segment is not None and not goes_on
        row.word = before = None if row.segment is None else number
        row.mark = WORDPIECE if goes_on else ""


def reach(texts: Sequence[str], rows: Sequence[Row]) -> None:
    """Let every piece reach over the marks after it that the tokenizer drops but the eye does not."""
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        if row.segment is None:
            continue
        text = texts[row.segment]
        stop = following.start if following and following.segment == row.segment else len(text)
        row.end = max(row.start, row.end)
        while row.end < stop and _belongs_to_the_left(text[row.end]):
            row.end += 1


def is_inside(text: str, index: int) -> bool:
    """Return whether a cut before text[index] would fall inside what the eye sees as one character: before an accent,
    between the parts of an emoji or the two letters of a flag (Unicode Standard Annex 29, in short)."""
    if not 0 < index < len(text) or text[index - 1].isspace():
        return False
    kind = unicodedata.category(text[index])
    if kind in MARKS or EXTENDS.match(text[index]):
        return True
    if text[index - 1] == JOINER:
        return kind[0] in "LN" or kind == "So"
    letters = FLAG.search(text, 0, index) if FLAG.match(text[index]) else None
    return letters is not None and len(letters[0]) % 2 == 1


def _belongs_to_the_left(character: str) -> bool:
    return unicodedata.category(character) in (*MARKS, "Cf")


def _runs(text: str) -> list[Span]:
    return [span for _, span in RUNS.pre_tokenize_str(text)]


def _own_runs(rows: Iterable[Row]) -> list[Span]:
    """Return the runs that the tokenizer itself cut a text into."""
    groups = (list(group) for _, group in groupby(rows, key=lambda row: row.run))
    return [(group[0].start, max(row.end for row in group)) for group in groups]


def _joined(text: str, runs: Sequence[Span], by_marks: bool) -> tuple[list[Span], set[int]]:
    """Join runs to words; return these, and the starts of runs that are no part of the one before.

    Joined are runs that cut a character apart, or a word that an invisible joiner holds together; `by_marks`: and those
    around an inner mark.
    """
    words, starts, joins = list[Span](), set[int](), False
    for i, (start, end) in enumerate(runs):
        is_held = i > 0 and runs[i - 1][1] == start < end and _is_held(text, start)
        is_inner = by_marks and 0 < i < len(runs) - 1 and _is_inner_mark(text, *runs[i - 1 : i + 2])
        if is_held or is_inner or joins:
            words[-1] = (words[-1][0], end)
        else:
            words.append((start, end))
        starts |= set() if is_held else {start}
        joins = is_inner
    return words, starts


def _is_held(text: str, index: int) -> bool:
    return is_inside(text, index) or (text[index - 1] == NON_JOINER and text[index].isalnum())


def _is_inner_mark(text: str, left: Span, here: Span, right: Span) -> bool:
    """Return whether a sign stands inside a word (didn't, well-known) or a number (67.7)."""
    if left[1] != here[0] or here[1] != right[0]:
        return False
    sign, after = text[slice(*here)], text[slice(*right)][:1]
    before = next((c for c in reversed(text[slice(*left)]) if not _belongs_to_the_left(c)), "")
    if sign in APOSTROPHES_AND_HYPHENS:
        return before.isalnum() and after.isalnum()
    return sign in DECIMAL_MARKS and before.isdigit() and after.isdigit()


def _trim(text: str, rows: Sequence[Row]) -> None:
    """Take the spaces around every piece from its span. A piece of spaces alone keeps them, and has none where it is
    said to spell the character after it (the space that the tokenizer itself puts in front)."""
    before = 0
    for row in rows:
        inner = text[row.start : row.end]
        if row.is_space and not inner:  # the tokenizer took its own spaces away
            left = text[before : row.start]
            row.start -= len(left) - len(left.rstrip())
        elif row.is_space and inner.strip() and inner != row.name:
            row.end = row.start
        elif inner.strip():
            row.start, row.end = row.end - len(inner.lstrip()), row.start + len(inner.rstrip())
        before = row.end


def _owners(rows: Sequence[Row], words: Sequence[Span]) -> list[int]:
    """Return the word of every piece. Words that one piece spans are one; a piece outside all words (spaces) is a word
    of its own, numbered on."""
    owners, joined, word, extra = list[int](), list(range(len(words))), 0, len(words) - 1
    last: Span | None = None
    for row in rows:
        while word < len(words) and words[word][1] <= row.start:
            word += 1
        if word == len(words) or words[word][0] >= max(row.end, row.start + 1):
            extra += last != (row.start, row.end)  # the bytes of one space (a no-break space) stay together
            owners.append(extra)
        else:
            owners.append(word)
            for later in takewhile(lambda w: words[w][0] < row.end, range(word + 1, len(words))):  # noqa: B023
                joined[later] = joined[word]
        last = (row.start, row.end)
    return [w if w >= len(words) else joined[w] for w in owners]


def _join_spaces(text: str, rows: Sequence[Row], n_words: int) -> None:
    """Let a space that is a piece of its own before a word (SmolLM2's before a number) belong to that word, and begin
    where it begins; a piece without characters belongs to the word before it if to none after it."""

    def is_outside(row: Row) -> bool:
        return row.word is not None and row.word >= n_words

    for row, following in reversed(list(pairwise(rows))):
        before_a_word = following.word is not None and following.word < n_words and following.start == row.end
        if is_outside(row) and before_a_word and text[row.start : row.end] in ("", " "):
            row.start, row.word = row.end, following.word
    for before, row in pairwise(rows):
        if is_outside(row) and row.start == row.end and before.word is not None:
            row.start = row.end = before.end
            row.word = before.word


def _mark(rows: Sequence[Row], starts: Container[int]) -> None:
    """Mark the pieces that continue a word. `starts`: where a sign or a run of letters begins inside a word, whose
    first piece is not marked."""
    for before, row in pairwise(rows):
        if row.word is None or before.word != row.word:
            continue
        if row.is_marked:
            row.mark = WORDPIECE
        elif row.start not in starts or (before.start, before.end) == (row.start, row.end):
            row.mark = CONTINUES
