"""GAP's table of pronouns with two names each (Webster et al. 2018)."""

from collections.abc import Iterable, Iterator

from mha_core.display_names import count_noun
from mha_core.errors import InputError
from mha_core.heads.corpora.choices import PronounCase, Span, choice_flaw
from mha_core.heads.corpora.lines import Flaw, numbered
from mha_core.heads.corpora.reading import Reading

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


def read_gap(lines: Iterable[str], reading: Reading | None = None) -> Iterator[PronounCase]:
    """The choices of a GAP file (Webster et al. 2018): only pronouns for which exactly one of A and B is
    right.
    """
    reading = reading or Reading()
    rows = numbered(lines)
    header = _header(next(rows, (1, ""))[1])
    for number, line in rows:
        if isinstance(line, Flaw):
            reading.broken(number, line.what)
            continue
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != len(header):
            reading.broken(
                number, f"{count_noun(len(fields), 'column')}, and the first line has {len(header)}."
            )
            continue
        choice = _choice(dict(zip(header, fields, strict=True)), number)
        if isinstance(choice, str):
            reading.broken(number, choice)
        elif choice is None:
            reading.n_unused += 1
        else:
            yield choice


def _header(line: str | Flaw) -> list[str]:
    """The names of the columns. Raises InputError unless all that are needed are there, each once."""
    if isinstance(line, Flaw):
        raise InputError(f"Line 1: {line.what}")
    header = line.split("\t")
    for name in GAP_COLUMNS:
        if name not in header:
            raise InputError(f"Line 1: a GAP file has the column {name!r}, and this one has not.")
        if header.count(name) > 1:
            raise InputError(f"Line 1: the column {name!r} stands there twice.")
    return header


def _choice(row: dict[str, str], number: int) -> PronounCase | str | None:
    """The choice of one row, what is wrong with it, or None where not exactly one name is right."""
    pronoun, a, b = (_span(row, name) for name in ("Pronoun", "A", "B"))
    right = [row[name].strip().upper() for name in ("A-coref", "B-coref")]
    if pronoun is None or a is None or b is None:
        return "an offset does not point at the name it stands beside."
    if not set(right) <= {"TRUE", "FALSE"}:
        return "A-coref and B-coref are TRUE or FALSE."
    if flaw := choice_flaw(row["Text"], pronoun, a, b):
        return flaw
    if right[0] == right[1]:
        return None
    return PronounCase(row["Text"], pronoun, (a, b), right.index("TRUE"), None, number, row.get("URL", ""))


def _span(row: dict[str, str], name: str) -> Span | None:
    word, offset = row[name], row[f"{name}-offset"].strip()
    if not (word and offset.isdecimal() and offset.isascii() and len(offset) <= 7):
        return None
    start = int(offset)
    return (start, start + len(word)) if row["Text"][start : start + len(word)] == word else None
