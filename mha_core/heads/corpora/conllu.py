"""CoNLL-U, the form of treebanks (universaldependencies.org/format.html)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mha_core.display_names import count_noun
from mha_core.heads.corpora.lines import MAX_LINE, Flaw, numbered
from mha_core.heads.corpora.reading import Reading

MAX_WORDS = 5_000
MAX_FORM = 1_000
TOO_LONG = f"a sentence of more than {3 * MAX_WORDS:,} lines or {MAX_LINE:,} characters."


@dataclass(frozen=True)
class Sentence:
    """One sentence of a treebank: its syntactic words, and for each the position of its head (-1 for the
    root), and its part of speech (UPOS) where the treebank tells it. `document`: where it comes from; `pair`: the same
    for sentences that differ in a word or two, which count as one.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    text: str
    line: int
    tags: tuple[str, ...] = ()
    document: str = ""
    pair: str = ""

    @property
    def source(self) -> str:
        """Key of what is resampled together."""
        return self.pair or self.document or self.text


def read_conllu(lines: Iterable[str], reading: Reading | None = None) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file.

    Only syntactic words count: multiword-token ranges (`3-4`) and empty nodes (`5.1`) are not words.
    Relations keep their subtypes (`nmod:poss`). What is no tree (one root, no cycle) is broken.
    """
    reading = reading or Reading()
    block: list[tuple[int, str | Flaw]] = []
    size, document = 0, ""
    for number, line in numbered(lines):
        if isinstance(line, str) and line.startswith("# newdoc"):
            document = line
        if isinstance(line, Flaw) or line.strip():
            size += 0 if isinstance(line, Flaw) else len(line)
            if len(block) < 3 * MAX_WORDS and size <= MAX_LINE:
                block.append((number, line))
            elif not isinstance(block[-1][1], Flaw):
                block.append((number, Flaw(number, TOO_LONG)))
        elif block:
            yield from _sentence(block, reading, document)
            block, size = [], 0
    if block:
        yield from _sentence(block, reading, document)


def _sentence(block: list[tuple[int, str | Flaw]], reading: Reading, document: str) -> Iterator[Sentence]:
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    tags: list[str] = []
    text = ""
    places: list[int] = []
    n_multiword = 0
    for number, line in block:
        if isinstance(line, Flaw):
            reading.broken(number, line.what)
            return
        if line.startswith("#"):
            if line.startswith("# text = "):
                text = line.removeprefix("# text = ")
            continue
        columns = line.split("\t")
        if flaw := _flaw(columns, len(words)):
            reading.broken(number, flaw)
            return
        if not columns[0].isdigit():
            n_multiword += "-" in columns[0]
            continue
        words.append(columns[1])
        heads.append(int(columns[6]) - 1)
        relations.append(columns[7])
        tags.append(columns[3])
        places.append(number)
    if problem := _no_tree(heads, relations):
        reading.broken(places[problem[0]], problem[1])
    elif words:
        text = text or " ".join(words)
        reading.n_multiword += n_multiword
        first = block[0][0]
        yield Sentence(tuple(words), tuple(heads), tuple(relations), text, first, tuple(tags), document)


def _flaw(columns: list[str], n_words: int) -> str | None:
    """Return what is wrong with one line of a sentence that has `n_words` words so far, or None."""
    if len(columns) != 10:
        return f"{count_noun(len(columns), 'column')}, and CoNLL-U has 10."
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
    if len(form) > MAX_FORM:
        return f"a word of {len(form):,} characters; {MAX_FORM:,} are read at most."
    if not (head.isdecimal() and head.isascii() and len(head) <= 6):
        return f"the head is {head[:20]!r}, not the number of a word."
    return None if relation.strip() else "a word without a relation."


def _no_tree(heads: Sequence[int], relations: Sequence[str]) -> tuple[int, str] | None:
    """The word (from 0) at which the sentence is seen to be no tree, and why; None for a tree."""
    n = len(heads)
    for i, head in enumerate(heads):
        if head >= n or head == i:
            return i, f"word {i + 1} has head {head + 1} in a sentence of {count_noun(n, 'word')}."
        if (head == -1) != (relations[i].partition(":")[0].lower() == "root"):
            has = f"head {head + 1} and the relation {relations[i][:20]!r}"
            return i, f"word {i + 1} has {has}; the root alone has head 0, and is called root."
    roots = [i for i, head in enumerate(heads) if head == -1]
    if n and len(roots) != 1:
        return (roots[1], "a second root.") if roots else (0, "a sentence without a root.")
    return _cycle(heads)


def _cycle(heads: Sequence[int]) -> tuple[int, str] | None:
    """A word that is above itself."""
    fine = {-1}
    for i in range(len(heads)):
        path, word = set[int](), i
        while word not in fine:
            if word in path:
                return word, f"word {word + 1} is above itself: the heads go round in a circle."
            path.add(word)
            word = heads[word]
        fine |= path
    return None
