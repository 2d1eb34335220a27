"""Spelling of tokens by their names, where a tokenizer tells no more: bytes, signs for a space or a word's end.

The alphabet of 256 signs, one for a byte, is GPT-2's (Radford et al. 2019); "▁" is SentencePiece's.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Span = tuple[int, int]
# Ways to write tokens: a sign for every byte (GPT-2), "▁" for a space (SentencePiece), "</w>" at the end of a word
# (CLIP), "##" where a word goes on (BERT), or whole words alone.
Style = Literal["bytes", "spaces", "ends", "pieces", "words"]
BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")
# Names of special tokens that no text spells; unknown and masked words are in a text.
SPECIAL = re.compile(
    r"<[|｜].*[|｜]>|</?s>|<(bos|eos|pad|cls|sep|extra_id_\d+|(start|end)_of_\w+)>|\[(CLS|SEP|PAD|BOS|EOS)\]"
)
PADDING = re.compile(r"<pad>|\[PAD\]|<[|｜].*pad.*[|｜]>")
# Signs of pieces that begin with a space, that end a word, and that go on with one.
SPACES, END_OF_WORD, WORDPIECE = ("▁", "Ġ", " "), "</w>", "##"
# GPT-2's sign for every byte: printable ones stand for themselves, the others follow from 256 on.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
OTHERS = sorted(set(range(256)) - set(PRINTABLE))
BYTES = {chr(b): b for b in PRINTABLE} | {chr(256 + i): b for i, b in enumerate(OTHERS)}


@dataclass
class Row:
    """A piece before it is a `Token`: `segment` is None for one put around a text, `word` None for one in no word;
    pieces of one `run` were not cut apart by the tokenizer's own first cut."""

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
        """True if it stands for nothing but a space."""
        return not self.name.strip("".join(SPACES))

    @property
    def is_marked(self) -> bool:
        """True if its tokenizer writes that it continues a word."""
        return self.name.startswith(WORDPIECE) and len(self.name) > len(WORDPIECE)


def style_of(names: Collection[str]) -> Style:
    """Return the style of a tokenizer from some of its names; "words" where no name has a sign of another."""
    if any(name.startswith(SPACES[0]) or BYTE.fullmatch(name) for name in names):
        return "spaces"
    if any(name.endswith(END_OF_WORD) for name in names):
        return "ends"
    if any(name.startswith(WORDPIECE) and len(name) > len(WORDPIECE) for name in names):
        return "pieces"
    whole = "".join(names)
    if any(name.startswith(("Ġ", "Ċ")) for name in names):
        return "bytes"
    if whole.isascii() or not all(sign in BYTES for sign in whole):
        return "words"
    try:  # letters beyond ASCII that are UTF-8 when read as bytes are such
        bytes(BYTES[sign] for sign in whole).decode()
    except UnicodeDecodeError:
        return "words"
    return "bytes"


def spell_rows(rows: Iterable[Row], style: Style) -> str:
    """Return the text that pieces spell by their names, and give each its span in it. A special token ends a word."""
    text = ""
    for is_text, group in groupby(rows, key=lambda row: row.segment is not None):
        part = list(group)
        if not is_text:
            continue
        own, spans = _spell(part, style)
        start = len(text) + 1 if text and own else len(text)
        text = text.ljust(start) + own
        for row, (first, stop) in zip(part, spans, strict=True):
            row.start, row.end = start + first, start + stop
    return text


def _spell(rows: list[Row], style: Style) -> tuple[str, list[Span]]:
    if style in ("bytes", "spaces"):
        text, spans = spell_bytes(bytes_of(row.name, style) for row in rows)
        front = int(text.startswith(" ") and bool(text.strip()))  # before the first word nothing stands
        return text[front:], [(max(first - front, 0), max(stop - front, 0)) for first, stop in spans]
    text, spans, ended = "", list[Span](), False
    for i, row in enumerate(rows):
        begins = ended if style == "ends" else i > 0 and not row.is_marked
        bare = row.name.removesuffix(END_OF_WORD) if style == "ends" else row.name
        bare = bare.removeprefix(WORDPIECE) or bare if i > 0 and row.is_marked else bare
        start, ended = len(text) + begins, row.name.endswith(END_OF_WORD)
        text = text.ljust(start) + bare
        spans.append((start, len(text)))
    return text, spans


def bytes_of(name: str, style: Style) -> bytes:
    """Return a token's bytes: by GPT-2's signs for them, or SentencePiece's "▁" for a space and bytes by number."""
    if style == "spaces":
        byte = BYTE.fullmatch(name)
        return bytes.fromhex(byte[1]) if byte else name.replace(SPACES[0], " ").encode()
    return bytes(BYTES[sign] for sign in name) if all(sign in BYTES for sign in name) else name.encode()


def spell_bytes(parts: Iterable[bytes]) -> tuple[str, list[Span]]:
    """Return the text of all parts together, and the span of characters that each has a byte of."""
    parts = list(parts)
    text, owner = _decode(b"".join(parts))
    spans, start = list[Span](), 0
    for part in parts:
        end = start + len(part)
        first = owner[start] if start < len(owner) else len(text)
        spans.append((first, owner[end - 1] + 1 if part else first))
        start = end
    return text, spans


def _decode(whole: bytes) -> tuple[str, list[int]]:
    """Return the text, and for every byte the number of its character; bytes of no character become one \\ufffd."""
    text, owner = "", list[int]()
    while len(owner) < len(whole):
        rest = whole[len(owner) :]
        try:
            good, n_broken = rest.decode(), 0
        except UnicodeDecodeError as problem:
            good, n_broken = rest[: problem.start].decode(), problem.end - problem.start
        owner += [len(text) + i for i, character in enumerate(good) for _ in character.encode()]
        text += good
        owner += [len(text)] * n_broken
        text += "\ufffd" if n_broken else ""
    return text, owner
