"""Formats of corpora, told by the endings of files: how each is read, text by text."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from mha_core.errors import InputError
from mha_core.heads.corpora import (
    Lines,
    PronounCase,
    Reading,
    has_links,
    name_of,
    read_conllu,
    read_gap,
    read_json_lines,
    read_links,
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


def _links(lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
    for linked in read_links(lines, reading):
        words, tokenizer = linked.words, model.tokenizer
        try:
            tokens = tokenizer.encode_words(words) if words else tokenizer.encode(linked.text)
        except InputError as flaw:
            reading.left_out(linked.line, str(flaw))
            continue
        is_whole, words = bool(words) or not tokens.n_cut, words or tuple(word.text for word in tokens.words)
        if is_whole and any(max(link) >= len(words) for link in linked.links):
            reading.broken(linked.line, f"a link goes beyond word {len(words) - 1}, the last one.")
        elif model.info.is_causal and all(start < end for start, end in linked.links):
            reading.left_out(linked.line, "no link goes to an earlier word, and a decoder sees no later one.")
        else:
            yield Tree(replace(linked, words=words), tokens)


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
LINKS = CorpusFormat("links", _links)


def format_of(lines: Lines) -> CorpusFormat:
    """Return what a file is by its ending, .gz apart; JSON lines are links where the first object has "links".

    Raises InputError for an ending that is none of FORMATS.
    """
    name = name_of(lines.source)
    ending = PurePath(name.removesuffix(".gz")).suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"{name} must end in one of {', '.join(FORMATS)} (.gz too).")
    return LINKS if ending == ".jsonl" and has_links(lines) else FORMATS[ending]
