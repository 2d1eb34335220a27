"""What tokens spell by their names, where a tokenizer tells no more: bytes, and the signs for a space.

The alphabet of 256 signs, one for a byte, is GPT-2's (Radford et al. 2019); "▁" is SentencePiece's.
"""

from collections.abc import Iterable
from dataclasses import dataclass

Span = tuple[int, int]
# How pieces are written that begin with a space, that end a word, and that go on with one.
SPACES, END_OF_WORD, WORDPIECE = ("▁", "Ġ", " "), "</w>", "##"
# GPT-2's sign for every byte: printable ones stand for themselves, the others follow from 256 on.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
OTHERS = sorted(set(range(256)) - set(PRINTABLE))
BYTES = {chr(b): b for b in PRINTABLE} | {chr(256 + i): b for i, b in enumerate(OTHERS)}


@dataclass
class Row:
    """A piece on its way: `segment` is None for what is put around a text, `word` None for what is in no word; pieces
    of one `run` are what the tokenizer itself did not cut apart first."""

    name: str
    id: int
    start: int
    end: int
    segment: int | None
    run: int | None = None
    word: int | None = None
    mark: str = ""

    @property
    def is_space(self) -> bool:
        """Whether it stands for nothing but a space."""
        return not self.name.strip("".join(SPACES))

    @property
    def is_marked(self) -> bool:
        """Whether its tokenizer writes that it continues a word."""
        return self.name.startswith(WORDPIECE) and len(self.name) > len(WORDPIECE)


def spell_rows(rows: Iterable[Row]) -> str:
    """The text that pieces spell by their names; each gets its span in it."""
    text, ended = "", False
    for row in rows:
        if row.segment is None:
            continue
        begins, ended = row.name.startswith(SPACES) or ended, row.name.endswith(END_OF_WORD)
        bare = row.name.removesuffix(END_OF_WORD)
        bare = bare[1:] if bare.startswith(SPACES) else bare.removeprefix(WORDPIECE) or bare
        row.start = len(text) + (1 if begins and text else 0)
        text = text.ljust(row.start) + bare
        row.end = len(text)
    return text


def bytes_of(name: str) -> bytes:
    """What a token spells: GPT-2's signs for bytes, SentencePiece's line for a space, or a byte by its number."""
    if SPACES[0] in name:
        return name.replace(SPACES[0], " ").encode()
    if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
        return bytes.fromhex(name[3:5])
    return bytes(BYTES[sign] for sign in name) if all(sign in BYTES for sign in name) else name.encode()


def spell_bytes(parts: Iterable[bytes]) -> tuple[str, list[Span]]:
    """The text of all parts together, and the characters that each has a byte of."""
    parts = list(parts)
    text, owner = _decode(b"".join(parts))
    spans, at = list[Span](), 0
    for part in parts:
        end = at + len(part)
        first = owner[at] if at < len(owner) else len(text)
        spans.append((first, owner[end - 1] + 1 if part else first))
        at = end
    return text, spans


def _decode(whole: bytes) -> tuple[str, list[int]]:
    """The text, and for every byte the number of its character; bytes that are no character become one \\ufffd."""
    text, owner, at = "", list[int](), 0
    while at < len(whole):
        try:
            good, broken = whole[at:].decode(), 0
        except UnicodeDecodeError as problem:
            good, broken = whole[at : at + problem.start].decode(), problem.end - problem.start
        owner += [len(text) + i for i, character in enumerate(good) for _ in character.encode()]
        text += good
        owner += [len(text)] * broken
        text += "\ufffd" if broken else ""
        at = len(owner)
    return text, owner
