"""The project's own sentences: what they are examples of, and their gold.

In: a JSON list of {"id", "role", "text", "tags", "spans": {name: [start, end]}}; of sentences with relations, {"role":
"syntax", "gold": {name: "dependent>head"}}, the words as they stand in the text ("the#2" is its second "the"); and of
choices (as in pairs JSON, with a "kind"). "pair_id" is the same for sentences that differ in a word or two, and so
count as one. "tags" are the parts of speech (UPOS) of the text's words and marks: told by a tagger that had learnt
from UD English EWT, looked through by hand, and right by definition where the gold tells them.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mha_core.errors import InputError
from mha_core.heads.corpora import Lines, PronounCase, Reading, Sentence, Span, read_pairs
from mha_core.heads.questions.syntax import Tree
from mha_core.resources import asset
from mha_core.text.tokens import Tokenizer, Tokens

CHOICES = "coreference"
# Kinds of choices that the form of the pronoun decides (he or she, it or they): agreement, not reference.
AGREEMENT = ("gender", "number")
# Relations by their name in the file.
RELATIONS = {
    "determiner": "det",
    "subject-verb": "nsubj",
    "object": "obj",
    "possessive": "nmod:poss",
    "adjective": "amod",
    "preposition": "case",
}
IN_WORD = re.compile(r"[\w'’-]")
TAGGED = re.compile(r"[\w-]+(?:['’]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class BuiltIn:
    """One sentence: `role` is what it is an example of; `choice` is there where that is coreference.

    `gold`: by the relation in UD's names the spans of dependent and head. `pair`: its minimal pairs have the same.
    `famous`: not written for this project, but known from the literature.
    """

    id: str
    role: str
    kind: str | None
    text: str
    spans: dict[str, Span]
    choice: PronounCase | None
    gold: dict[str, tuple[Span, Span]] = field(default_factory=dict)
    pair: str | None = None
    famous: bool = False
    tags: tuple[str, ...] = ()

    @property
    def cluster(self) -> str:
        """A key shared by sentences that differ in a word or two: they count as one."""
        return self.pair or (self.choice.pair if self.choice and self.choice.pair else self.id)

    def tag(self, start: int, end: int) -> str:
        """Return the part of speech of the first word or mark that a stretch of the text touches; "X" for none."""
        touched = (
            tag
            for match, tag in zip(TAGGED.finditer(self.text), self.tags, strict=False)
            if match.start() < end and start < match.end()
        )
        return next(touched, "X")


def builtin_path() -> Path:
    """Return the sentences' file."""
    return asset("sentences.json")


def read_builtin(path: Path | None = None) -> tuple[BuiltIn, ...]:
    """All built-in sentences. Raises InputError if the file is not what this module describes."""
    path = path or builtin_path()
    try:
        rows = json.loads(b"\n".join(line.encode() for line in Lines(path)))
        return tuple(_builtin(row) for row in rows)
    except (KeyError, TypeError, json.JSONDecodeError) as flaw:
        raise InputError(f"{path.name} is not a list of sentences with id, role and text ({flaw}).") from None


def _builtin(row: dict[str, object]) -> BuiltIn:
    choice = None
    if row["role"] == CHOICES:
        (choice,) = read_pairs([json.dumps([row])], Reading())
    spans, gold = row.get("spans") or {}, row.get("gold") or {}
    if not isinstance(spans, dict) or not isinstance(gold, dict):
        raise TypeError("spans")
    kind, pair, text = row.get("kind"), row.get("pair_id"), str(row["text"])
    return BuiltIn(
        str(row["id"]),
        str(row["role"]),
        None if kind is None else str(kind),
        text,
        {str(name): (int(a), int(b)) for name, (a, b) in spans.items()},
        choice,
        {RELATIONS[str(name)]: _ends(text, str(ends)) for name, ends in gold.items()},
        None if pair is None else str(pair),
        bool(row.get("famous")),
        tuple(str(row.get("tags", "")).split()),
    )


def _ends(text: str, ends: str) -> tuple[Span, Span]:
    """The spans of "dependent>head"."""
    dependent, head = ends.split(">")
    return _found(text, dependent), _found(text, head)


def _found(text: str, word: str) -> Span:
    """Return where a word stands in a text: once, or with "#2" the second time."""
    form, _, number = word.partition("#")
    places, start = [], text.find(form)
    while start >= 0:
        end = start + len(form)
        if not IN_WORD.match(text[max(start - 1, 0) : start]) and not IN_WORD.match(text[end : end + 1]):
            places.append((start, end))
        start = text.find(form, start + 1)
    if not (len(places) == 1 and not number) and not 0 < int(number or 0) <= len(places):
        raise InputError(f"{word!r} is not to be found, or more than once, in “{text}”.")
    return places[int(number or 1) - 1]


def tree_of(sentence: BuiltIn, tokenizer: Tokenizer) -> Tree:
    """Return a sentence with its gold relations, in the words of a tokenizer; of the other words no head is known."""
    tokens = tokenizer.encode(sentence.text)
    heads, relations = [-1] * len(tokens.words), ["_"] * len(tokens.words)
    for relation, (dependent, head) in sentence.gold.items():
        place = word_at(tokens, dependent, sentence.id)
        heads[place], relations[place] = word_at(tokens, head, sentence.id), relation
    words = tuple(sentence.text[word.start : word.end] for word in tokens.words)
    tags = tuple(sentence.tag(word.start, word.end) for word in tokens.words)
    gold = Sentence(words, tuple(heads), tuple(relations), sentence.text, 0, tags, pair=sentence.cluster)
    return Tree(gold, tokens)


def choices_of(sentences: Iterable[BuiltIn], is_causal: bool) -> Iterator[PronounCase]:
    """Yield the choices that the meaning alone decides. For a decoder those whose two versions differ after the
    pronoun alone are left out: the pronoun cannot have seen what decides them."""
    known = [
        sentence for sentence in sentences if sentence.choice is not None and sentence.kind not in AGREEMENT
    ]
    before: dict[str, set[str]] = {}
    for sentence in known:
        before.setdefault(sentence.cluster, set()).add(sentence.text[: sentence.choice.pronoun[1]])  # type: ignore[union-attr]
    for sentence in known:
        if sentence.choice is not None and not (is_causal and len(before[sentence.cluster]) == 1):
            yield sentence.choice


def word_at(tokens: Tokens, span: Span, where: str) -> int:
    """Return the last word that a span touches: in English the head of a span of several words."""
    touched = [i for i, word in enumerate(tokens.words) if word.start < span[1] and span[0] < word.end]
    if not touched:
        raise InputError(f"Sentence {where}: characters {span[0]} to {span[1]} are no word.")
    return touched[-1]
