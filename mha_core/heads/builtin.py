"""The project's own sentences: what they are examples of, and the items that the measures are fed with.

In: a JSON list of {"id", "role", "text", "spans": {name: [start, end]}} and of choices (as in pairs JSON,
with a "kind"). Out: texts, relation cases and choice cases.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mha_core.corpus import Lines, PronounCase, Reading, Span, read_pairs
from mha_core.errors import InputError
from mha_core.heads.coreference import ChoiceCase, choice_case
from mha_core.heads.jobs import GOLD
from mha_core.heads.relations import RelationCases
from mha_core.heads.survey import TextItem
from mha_core.resources import asset
from mha_core.tokens import Tokenizer, Tokens

Item = TextItem | RelationCases | ChoiceCase
CHOICES = "coreference"
# Kinds of choices that the form of the pronoun decides (he or she, it or they): agreement, not reference.
AGREEMENT = ("gender", "number")


@dataclass(frozen=True)
class BuiltIn:
    """One sentence: `role` is what it is an example of; `choice` is there where that is coreference."""

    id: str
    role: str
    kind: str | None
    text: str
    spans: dict[str, Span]
    choice: PronounCase | None


def builtin_path() -> Path:
    """Where the sentences lie unless a caller says otherwise."""
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
    spans = row.get("spans") or {}
    if not isinstance(spans, dict):
        raise TypeError("spans")
    kind = row.get("kind")
    return BuiltIn(
        str(row["id"]),
        str(row["role"]),
        None if kind is None else str(kind),
        str(row["text"]),
        {str(name): (int(a), int(b)) for name, (a, b) in spans.items()},
        choice,
    )


def builtin_items(sentences: Iterable[BuiltIn], tokenizer: Tokenizer) -> Iterator[Item]:
    """One item for every sentence: relation cases and choices where there is gold, the text alone elsewhere."""
    return (builtin_item(sentence, tokenizer) for sentence in sentences)


def builtin_item(sentence: BuiltIn, tokenizer: Tokenizer) -> Item:
    """The same for one sentence."""
    if sentence.choice is not None:
        return choice_case(sentence.choice, tokenizer, sentence.kind)
    tokens = tokenizer.encode(sentence.text)
    return _cases(sentence, tokens) if sentence.role in GOLD else TextItem(tokens)


def _cases(sentence: BuiltIn, tokens: Tokens) -> RelationCases:
    relation, dependent, head = GOLD[sentence.role]
    ends = [_word(tokens, sentence.spans[name], sentence.id) for name in (dependent, head)]
    return RelationCases(tokens, np.array(ends[:1]), np.array(ends[1:]), (relation,))


def _word(tokens: Tokens, span: Span, where: str) -> int:
    """The last word that the span touches: in English the head of a span of several words."""
    touched = [i for i, word in enumerate(tokens.words) if word.start < span[1] and span[0] < word.end]
    if not touched:
        raise InputError(f"Sentence {where}: characters {span[0]} to {span[1]} are no word.")
    return touched[-1]
