"""Which characters of a text make one word: runs of letters and digits, joined by what stands inside a word.

In: spans of a text, in order. Out: which of them belong together (didn't, well-known, 67.7).
"""

import unicodedata
from collections.abc import Sequence

APOSTROPHES_AND_HYPHENS = frozenset("'’‘ʼ`-‐‑_")
DECIMAL_MARKS = frozenset(".,:")


def joined_spans(text: str, spans: Sequence[Sequence[int]]) -> list[int]:
    """For every span the number of the first one of its word."""
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
    return joined


def _is_inner_mark(mark: str, before: str, after: str) -> bool:
    """Whether `mark` stands inside a word (didn't, well-known) or a number (67.7)."""
    if mark in APOSTROPHES_AND_HYPHENS:
        return before.isalnum() and after.isalnum()
    return mark in DECIMAL_MARKS and before.isdigit() and after.isdigit()


def belongs_to_the_left(character: str) -> bool:
    """Combining marks, joiners and variation selectors, which the tokenizer drops but the eye does not."""
    return unicodedata.category(character) in ("Mn", "Me", "Mc", "Cf") or character == "\ufe0f"
