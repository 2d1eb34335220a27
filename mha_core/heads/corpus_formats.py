"""Formats of corpora, told by the endings of files: how each is read, text by text."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from mha_core.errors import InputError
from mha_core.heads.corpora import (
    Lines,
    LinkedText,
    PronounCase,
    Reading,
    Sentence,
    addresses,
    has_links,
    name_of,
    read_conllu,
    read_gap,
    read_json_lines,
    read_links,
    read_pairs,
    read_text,
)
from mha_core.heads.corpora.reading import OnError
from mha_core.heads.questions.choices import choice_of
from mha_core.heads.questions.syntax import Tree
from mha_core.heads.survey import HasTokens, TextItem
from mha_core.models.model import Model

Item = Callable[[Any, Reading, Model], HasTokens | None]


@dataclass(frozen=True)
class CorpusFormat:
    """One kind of file: the key of its corpus, how its texts are read, and how each is made an item for a model."""

    key: str
    texts: Callable[[Lines, Reading], Iterable[Any]]
    item: Item

    def read(self, lines: Lines, reading: Reading, model: Model) -> Iterator[HasTokens]:
        """Yield the items of a file."""
        items = (self.item(text, reading, model) for text in self.texts(lines, reading))
        yield from (item for item in items if item is not None)


def _tree(sentence: Sentence, reading: Reading, model: Model) -> HasTokens | None:
    try:
        return Tree(sentence, model.tokenizer.encode_words(sentence.words))
    except InputError as flaw:
        reading.left_out(sentence.line, str(flaw))
        return None


def _choice(choice: PronounCase, reading: Reading, model: Model) -> HasTokens | None:
    try:
        return choice_of(choice, model.tokenizer)
    except InputError as flaw:
        reading.broken(choice.line, str(flaw))
        return None


def _linked(linked: LinkedText, reading: Reading, model: Model) -> HasTokens | None:
    words, tokenizer = linked.words, model.tokenizer
    try:
        tokens = tokenizer.encode_words(words) if words else tokenizer.encode(linked.text)
    except InputError as flaw:
        reading.left_out(linked.line, str(flaw))
        return None
    is_whole, words = bool(words) or not tokens.n_cut, words or tuple(word.text for word in tokens.words)
    if is_whole and any(max(link) >= len(words) for link in linked.links):
        reading.broken(linked.line, f"a link goes beyond word {len(words) - 1}, the last one.")
        return None
    if model.info.is_causal and all(start < end for start, end in linked.links):
        what = "no link goes to an earlier word, and a decoder sees no later one."
        reading.left_out(linked.line, what)
        return None
    return Tree(replace(linked, words=words), tokens)


def _text(numbered: tuple[int, str], reading: Reading, model: Model) -> HasTokens | None:
    try:
        return TextItem(model.tokenizer.encode(numbered[1]))
    except InputError as flaw:
        reading.left_out(numbered[0], str(flaw))
        return None


FORMATS = {
    ".conllu": CorpusFormat("treebank", read_conllu, _tree),
    ".tsv": CorpusFormat("pronouns", read_gap, _choice),
    ".json": CorpusFormat("pronouns", read_pairs, _choice),
    ".txt": CorpusFormat("texts", read_text, _text),
    ".jsonl": CorpusFormat("texts", read_json_lines, _text),
}
LINKS = CorpusFormat("links", read_links, _linked)


def format_of(lines: Lines) -> CorpusFormat:
    """Return what a file is by its ending, .gz apart; JSON lines are links where the first object has "links".

    Raises InputError for an ending that is none of FORMATS.
    """
    name = name_of(lines.source)
    ending = PurePath(name.removesuffix(".gz")).suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"{name} must end in one of {', '.join(FORMATS)} (.gz too).")
    return LINKS if ending == ".jsonl" and has_links(lines) else FORMATS[ending]


def empty_files(files: Sequence[str | Path], on_error: OnError = "refuse") -> list[str]:
    """Return the names of files of a kind of which none has a text, before any model is loaded.

    Raises InputError for a file that is not there, cannot be used, or breaks off before its first text.
    """
    names, has_text = defaultdict[str, list[str]](list), set[str]()
    for file in addresses(files):
        lines, name = Lines(file), name_of(file)
        corpus = format_of(lines)
        names[corpus.key].append(name)
        if corpus.key not in has_text and any(
            True for _ in corpus.texts(lines, Reading(on_error, file=name))
        ):
            has_text.add(corpus.key)
    return [name for key, of_kind in names.items() if key not in has_text for name in of_kind]
