"""Formats of corpora, told by the endings of files: how each is read, text by text."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from mha_core.errors import InputError
from mha_core.heads.corpora import (
    Lines,
    PronounCase,
    Reading,
    name_of,
    read_conllu,
    read_gap,
    read_json_lines,
    read_pairs,
    read_text,
)
from mha_core.heads.questions.choices import choice_of
from mha_core.heads.questions.syntax import Tree
from mha_core.heads.survey import HasTokens, TextItem
from mha_core.models.model import Model

Items = Callable[[Lines, Reading, Model], Iterator[HasTokens]]


@dataclass(frozen=True)
class CorpusFormat:
    """One kind of file: the key of its corpus, and how it is read."""

    key: str
    read: Items


def _trees(lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
    for sentence in read_conllu(lines, reading):
        try:
            yield Tree(sentence, model.tokenizer.encode_words(sentence.words))
        except InputError as flaw:
            reading.left_out(sentence.line, str(flaw))


def _choices(read: Callable[..., Iterable[PronounCase]]) -> Items:
    def items(lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
        for choice in read(lines, reading):
            try:
                yield choice_of(choice, model.tokenizer)
            except InputError as flaw:
                reading.broken(choice.line, str(flaw))

    return items


def _texts(read: Callable[..., Iterable[tuple[int, str]]]) -> Items:
    def items(lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
        for line, text in read(lines, reading):
            try:
                yield TextItem(model.tokenizer.encode(text))
            except InputError as flaw:
                reading.left_out(line, str(flaw))

    return items


FORMATS = {
    ".conllu": CorpusFormat("treebank", _trees),
    ".tsv": CorpusFormat("pronouns", _choices(read_gap)),
    ".json": CorpusFormat("pronouns", _choices(read_pairs)),
    ".txt": CorpusFormat("texts", _texts(read_text)),
    ".jsonl": CorpusFormat("texts", _texts(read_json_lines)),
}


def format_of(file: str | PurePath) -> CorpusFormat:
    """Return what a file is by its ending, .gz apart. Raises InputError for an ending that is none of FORMATS."""
    ending = PurePath(name_of(file).removesuffix(".gz")).suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"{name_of(file)} must end in one of {', '.join(FORMATS)} (.gz too).")
    return FORMATS[ending]
