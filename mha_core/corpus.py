"""Files a reader brings → sentences and choices, one at a time: CoNLL-U, GAP's TSV, pairs in JSON, plain
text.

Every reader is a generator over `Lines`, so a file of any size is read in constant memory; JSON alone is read whole,
up to MAX_JSON characters. A broken line is
named by its number: the `Reading` that the caller passes says whether it ends the reading ("refuse") or
leaves out the sentence it stands in ("skip").
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mha_core.errors import InputError

Span = tuple[int, int]
OnError = Literal["refuse", "skip"]

# Bounds for hostile files: no sentence, row or object of a real corpus comes near them.
MAX_LINE = 1_000_000
MAX_WORDS = 5_000
MAX_NOTES = 20
MAX_JSON = 64_000_000

GAP_COLUMNS = (
    "ID",
    "Text",
    "Pronoun",
    "Pronoun-offset",
    "A",
    "A-offset",
    "A-coref",
    "B",
    "B-offset",
    "B-coref",
)


@dataclass(frozen=True)
class Sentence:
    """One sentence of a treebank: its syntactic words, and for each the position of its head (-1 for the
    root).
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    text: str
    line: int


@dataclass(frozen=True)
class PronounCase:
    """A pronoun and two mentions, as character spans of the text; `answer` says which mention is right (0 or
    1).
    """

    text: str
    pronoun: Span
    candidates: tuple[Span, Span]
    answer: int
    pair: str | None = None
    line: int = 0


@dataclass
class Reading:
    """What to do with a broken line, and what was left out so far."""

    on_error: OnError = "refuse"
    n_skipped: int = 0
    n_unused: int = 0
    notes: list[str] = field(default_factory=list)

    def broken(self, line: int, what: str) -> None:
        """Refuse the file with the number of the line, or note it and go on."""
        message = f"Line {line:,}: {what}"
        if self.on_error == "refuse":
            raise InputError(message)
        self._note(message)

    def left_out(self, line: int, what: str) -> None:
        """Note a line that holds nothing to measure, whatever is done about broken ones."""
        self._note(f"Line {line:,}: {what}")

    def _note(self, message: str) -> None:
        self.n_skipped += 1
        if len(self.notes) < MAX_NOTES:
            self.notes.append(message)


class Lines:
    """The lines of a file or of uploaded bytes, decoded one by one; knows how much is behind it."""

    def __init__(self, source: Path | bytes) -> None:
        self.source = source
        self.size = len(source) if isinstance(source, bytes) else _size(source)
        self.read = 0

    @property
    def fraction(self) -> float:
        """Share of the file's bytes that has been read, 0 to 1."""
        return self.read / self.size if self.size else 1.0

    def __iter__(self) -> Iterator[str]:
        self.read = 0
        for number, raw in enumerate(self._raw(), start=1):
            self.read += len(raw)
            if len(raw) > MAX_LINE:
                raise InputError(
                    f"Line {number:,} is longer than {MAX_LINE:,} bytes, the most a line may have."
                )
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InputError(f"Line {number:,} is not UTF-8 text.") from None
            yield text.rstrip("\r\n")

    def _raw(self) -> Iterator[bytes]:
        if isinstance(self.source, bytes):
            start = 0
            while start < self.size:
                stop = self.source.find(b"\n", start, start + MAX_LINE + 1) + 1 or start + MAX_LINE + 1
                yield self.source[start:stop]
                start = stop
            return
        with self.source.open("rb") as file:
            while raw := file.readline(MAX_LINE + 1):
                yield raw


def _size(path: Path) -> int:
    try:
        if not path.is_file():
            raise InputError(f"There is no file {path}.")
        return path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def read_conllu(lines: Iterable[str], reading: Reading | None = None) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file (universaldependencies.org/format.html).

    Only syntactic words count: multiword-token ranges (`3-4`) and empty nodes (`5.1`) are not words.
    Relations keep their subtypes (`nmod:poss`).
    """
    reading = reading or Reading()
    block: list[tuple[int, str]] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            if len(block) < 3 * MAX_WORDS:
                block.append((number, line))
        elif block:
            yield from _conllu_sentence(block, reading)
            block = []
    if block:
        yield from _conllu_sentence(block, reading)


def _conllu_sentence(block: list[tuple[int, str]], reading: Reading) -> Iterator[Sentence]:
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    text = ""
    places: list[int] = []
    for number, line in block:
        if line.startswith("#"):
            if line.startswith("# text = "):
                text = line.removeprefix("# text = ")
            continue
        columns = line.split("\t")
        if flaw := _conllu_flaw(columns, len(words)):
            reading.broken(number, flaw)
            return
        if not columns[0].isdigit():
            continue
        words.append(columns[1])
        heads.append(int(columns[6]) - 1)
        relations.append(columns[7])
        places.append(number)
    for i, head in enumerate(heads):
        if head >= len(words) or head == i:
            reading.broken(
                places[i], f"word {i + 1} has head {head + 1} in a sentence of {len(words)} words."
            )
            return
    if words:
        yield Sentence(tuple(words), tuple(heads), tuple(relations), text or " ".join(words), block[0][0])


def _conllu_flaw(columns: list[str], n_words: int) -> str | None:
    """What is wrong with one line of a sentence that has `n_words` words so far, or None."""
    if len(columns) != 10:
        return f"{len(columns)} columns, and CoNLL-U has 10."
    identity, form, head, relation = columns[0], columns[1], columns[6], columns[7]
    if not identity.isdecimal() or not identity.isascii():
        first, _, second = identity.replace(".", "-", 1).partition("-")
        fine = first.isdecimal() and second.isdecimal()
        return None if fine else f"the word number is {identity[:20]!r}, not a number."
    if len(identity) > 6 or int(identity) != n_words + 1:
        return f"word number {identity[:20]} where {n_words + 1} is due."
    if n_words >= MAX_WORDS:
        return f"more than {MAX_WORDS:,} words in one sentence."
    if not form.strip():
        return "a word without letters."
    if not (head.isdecimal() and head.isascii() and len(head) <= 6):
        return f"the head is {head[:20]!r}, not the number of a word."
    return None if relation.strip() else "a word without a relation."


def read_gap(lines: Iterable[str], reading: Reading | None = None) -> Iterator[PronounCase]:
    """The choices of a GAP file (Webster et al. 2018): only pronouns for which exactly one of A and B is
    right.
    """
    reading = reading or Reading()
    rows = enumerate(lines, start=1)
    header = next(rows, (1, ""))[1].split("\t")
    if missing := [name for name in GAP_COLUMNS if name not in header]:
        raise InputError(f"Line 1: a GAP file has the column {missing[0]!r}, and this one has not.")
    for number, line in rows:
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != len(header):
            reading.broken(number, f"{len(fields)} columns, and the first line has {len(header)}.")
            continue
        row = dict(zip(header, fields, strict=True))
        spans = [_gap_span(row, name) for name in ("Pronoun", "A", "B")]
        right = [row[name].strip().upper() for name in ("A-coref", "B-coref")]
        pronoun, a, b = spans
        if pronoun is None or a is None or b is None:
            reading.broken(number, "an offset does not point at the name it stands beside.")
        elif not set(right) <= {"TRUE", "FALSE"}:
            reading.broken(number, "A-coref and B-coref are TRUE or FALSE.")
        elif right[0] == right[1]:
            reading.n_unused += 1
        else:
            yield PronounCase(row["Text"], pronoun, (a, b), right.index("TRUE"), None, number)


def _gap_span(row: dict[str, str], name: str) -> Span | None:
    word, offset = row[name], row[f"{name}-offset"].strip()
    if not (word and offset.isdecimal() and offset.isascii() and len(offset) <= 7):
        return None
    start = int(offset)
    return (start, start + len(word)) if row["Text"][start : start + len(word)] == word else None


def read_pairs(lines: Iterable[str], reading: Reading | None = None) -> Iterator[PronounCase]:
    """The choices of a JSON list of {"text", "pronoun": [s, e], "candidates": [[s, e], [s, e]], "answer": 0 |
    1}.

    `pair` (optional) is the same for the two versions of a minimal pair.
    """
    reading = reading or Reading()
    text = _whole(lines)
    items = _parsed(text)
    if isinstance(items, _Flaw):
        reading.broken(items.line, items.what)
        return
    for number, item in _with_lines(text, items):
        choice = _choice(item, number)
        if isinstance(choice, str):
            reading.broken(number, choice)
        else:
            yield choice


@dataclass(frozen=True)
class _Flaw:
    line: int
    what: str


def _parsed(text: str) -> list[object] | _Flaw:
    """The items of a JSON list, or where and why it is none."""
    try:
        items = json.loads(text)
    except json.JSONDecodeError as flaw:
        return _Flaw(flaw.lineno, f"the file is no JSON list; here it breaks off ({flaw.msg}).")
    except RecursionError:
        return _Flaw(1, "brackets inside brackets without end.")
    except ValueError:
        return _Flaw(1, "a number with more digits than can be read.")
    return items if isinstance(items, list) else _Flaw(1, "pairs are one JSON list, from “[” to “]”.")


def _whole(lines: Iterable[str]) -> str:
    """All lines as one text. Raises InputError beyond MAX_JSON characters."""
    held, size = [], 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_JSON:
            raise InputError(f"A JSON list of pairs may have {MAX_JSON:,} characters at most.")
        held.append(line)
    return "\n".join(held)


def _with_lines(text: str, items: list[object]) -> Iterator[tuple[int, object]]:
    """Every item of a JSON list with the line it begins on."""
    between, decoder = re.compile(r"[\s,]*"), json.JSONDecoder()
    place, line = text.index("[") + 1, 1 + text.count("\n", 0, text.index("["))
    for item in items:
        start = place
        found = between.match(text, place)
        place = found.end() if found else place
        line += text.count("\n", start, place)
        yield line, item
        start = place
        _, place = decoder.raw_decode(text, place)
        line += text.count("\n", start, place)


def _choice(item: object, line: int) -> PronounCase | str:
    """The choice that one JSON object describes, or what is wrong with it."""
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return 'an item is an object with a "text".'
    text, candidates, answer = item["text"], item.get("candidates"), item.get("answer")
    pronoun = _span(item.get("pronoun"), text)
    if pronoun is None:
        return '"pronoun" is [start, end] inside the text.'
    if not isinstance(candidates, list) or len(candidates) != 2:
        return '"candidates" are two spans.'
    a, b = (_span(candidate, text) for candidate in candidates)
    if a is None or b is None:
        return '"candidates" are two spans [start, end] inside the text.'
    if any(x[0] < y[1] and y[0] < x[1] for x, y in ((a, b), (a, pronoun), (b, pronoun))):
        return "the pronoun and the candidates overlap."
    if isinstance(answer, bool) or answer not in (0, 1):
        return '"answer" is 0 or 1.'
    pair = item.get("pair", item.get("pair_id"))
    return PronounCase(text, pronoun, (a, b), int(answer), None if pair is None else str(pair)[:200], line)


def _span(value: object, text: str) -> Span | None:
    if not isinstance(value, list) or len(value) != 2 or not all(type(x) is int for x in value):
        return None
    start, end = value
    return (start, end) if 0 <= start < end <= len(text) and text[start:end].strip() else None


def read_text(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The texts of a plain file with the lines they stand on: one a line, empty lines left out."""
    for number, line in enumerate(lines, start=1):
        if text := line.strip():
            yield number, text
