"""A pronoun and two mentions, as both kinds of file say it, and the rules that both must keep."""

from dataclasses import dataclass

from mha_core.heads.corpora.reading import MAX_TEXT

Span = tuple[int, int]


@dataclass(frozen=True)
class PronounCase:
    """A pronoun and two mentions, as character spans of the text; `answer`: which mention is right, 0 or 1.

    `pair`: the same for the two versions of a minimal pair; `document`: where the text comes from.
    """

    text: str
    pronoun: Span
    candidates: tuple[Span, Span]
    answer: int
    pair: str | None = None
    line: int = 0
    document: str = ""

    @property
    def source(self) -> str:
        """Key of what is resampled together."""
        return self.pair or self.document or self.text


def choice_flaw(text: str, pronoun: Span, a: Span, b: Span) -> str | None:
    """Return what is wrong with a choice whose spans lie inside its text, or None."""
    if len(text) > MAX_TEXT:
        return f"a text of {len(text):,} characters; {MAX_TEXT:,} are read at most."
    if any(x[0] < y[1] and y[0] < x[1] for x, y in ((a, b), (a, pronoun), (b, pronoun))):
        return "the pronoun and the candidates overlap."
    for start, end in (pronoun, a, b):
        if not any(character.isalnum() for character in text[start:end]):
            return f"{text[start:end][:20]!r} is not a word, so it cannot be the pronoun or a candidate."
    return None
