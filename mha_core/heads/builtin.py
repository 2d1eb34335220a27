"""The project's own sentences: what they are examples of, and the items that the measures are fed with.

In: a JSON list of {"id", "role", "text", "spans": {name: [start, end]}}; of sentences with relations, {"id", "role":
"syntax", "text", "gold": {job: "dependent>head"}}, the words as they stand in the text ("the#2" is its second "the");
and of choices (as in pairs JSON, with a "kind"; a "word" looks in place of a pronoun where it is related to one of two
nouns). "pair_id" is the same for twins: sentences that differ in a word or
two, and so count as one. Out: texts, relation cases and choice cases.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.coreference import ChoiceCase, choice_case
from mha_core.heads.corpora import Lines, PronounCase, Reading, Span, read_pairs
from mha_core.heads.jobs import GOLD
from mha_core.heads.relations import RelationCases
from mha_core.heads.survey import TextItem
from mha_core.resources import asset
from mha_core.tokens import Tokenizer, Tokens

Item = TextItem | RelationCases | ChoiceCase
CHOICES, SEMANTIC = "coreference", "semantic"
# Kinds of choices that the form of the pronoun decides (he or she, it or they): agreement, not reference.
AGREEMENT = ("gender", "number")
# A rare word that is one token of the embedded encoder, and its twin: an everyday word that this encoder splits.
UNSPLIT, SPLIT = "unsplit", "split"

IN_WORD = re.compile(r"[\w'’-]")


@dataclass(frozen=True)
class BuiltIn:
    """One sentence: `role` is what it is an example of; `choice` is there where that is coreference.

    `gold`: of every relation that it is a case of, by the job's name, the spans of dependent and head. `pair`: its
    twins have the same. `famous`: not written for this project, but known from the literature.
    """

    id: str
    role: str
    kind: str | None
    text: str
    spans: dict[str, Span]
    choice: PronounCase | None
    gold: dict[str, dict[str, Span]] = field(default_factory=dict)
    pair: str | None = None
    famous: bool = False

    def __post_init__(self) -> None:
        if self.role in GOLD and self.spans:
            self.gold.setdefault(self.role, self.spans)

    @property
    def cluster(self) -> str:
        """The same for sentences that say the same but for a word or two: they count as one."""
        return self.pair or (self.choice.pair if self.choice and self.choice.pair else self.id)


def builtin_path() -> Path:
    """Where the sentences lie unless a caller says otherwise."""
    return asset("sentences.json")


def related_path() -> Path:
    """Where the sentences about related words lie: they are asked this one question and serve no other measure."""
    return asset("related.json")


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
    if row["role"] in (CHOICES, SEMANTIC):
        looks = {"pronoun": row["word"]} if row["role"] == SEMANTIC else {}
        (choice,) = read_pairs([json.dumps([row | looks])], Reading())
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
        {str(job): _ends(text, str(job), str(ends)) for job, ends in gold.items()},
        None if pair is None else str(pair),
        bool(row.get("famous")),
    )


def _ends(text: str, job: str, ends: str) -> dict[str, Span]:
    """The spans of "dependent>head"."""
    words = ends.split(">")
    return {name: _found(text, word) for name, word in zip(GOLD[job][1:], words, strict=True)}


def _found(text: str, word: str) -> Span:
    """Where a word stands in a text: once, or with "#2" the second time."""
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


def builtin_items(sentences: Iterable[BuiltIn], tokenizer: Tokenizer) -> Iterator[Item]:
    """One item for every sentence: relation cases and choices where there is gold, the text alone elsewhere."""
    return (builtin_item(sentence, tokenizer) for sentence in sentences)


def builtin_item(sentence: BuiltIn, tokenizer: Tokenizer) -> Item:
    """The same for one sentence."""
    if sentence.choice is not None:
        return choice_case(sentence.choice, tokenizer, sentence.kind)
    tokens = tokenizer.encode(sentence.text)
    return _cases(sentence, tokens) if sentence.gold else TextItem(tokens)


def _cases(sentence: BuiltIn, tokens: Tokens) -> RelationCases:
    ends = [
        [_word(tokens, spans[GOLD[job][end]], sentence.id) for job, spans in sentence.gold.items()]
        for end in (1, 2)
    ]
    dependents, heads = (np.array(places, dtype=np.intp) for places in ends)
    return RelationCases(tokens, dependents, heads, tuple(GOLD[job][0] for job in sentence.gold))


def _word(tokens: Tokens, span: Span, where: str) -> int:
    """The last word that the span touches: in English the head of a span of several words."""
    touched = [i for i, word in enumerate(tokens.words) if word.start < span[1] and span[0] < word.end]
    if not touched:
        raise InputError(f"Sentence {where}: characters {span[0]} to {span[1]} are no word.")
    return touched[-1]
