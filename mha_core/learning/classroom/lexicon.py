"""The words of the classroom model's little English, read once: kinds of nouns, what goes with them, who does what.

In: `assets/classroom/lexicon.toml`. Out: a frozen `Lexicon`, its words in one fixed order, and the split of what
training never shows.
"""

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mha_core.resources import asset

SPLIT_SEED = 22
HELD_OUT = 300  # combinations of a noun and a predicate that occur in no text of the training
# The nouns of the sentences that everybody knows: never together in one text.
APART = frozenset(map(frozenset, (("animal", "street"), ("trophy", "suitcase"), ("cat", "mat"))))
# What those sentences say of them: never of these nouns.
FAMOUS = (
    ("animal", "tired"), ("street", "wide"), ("trophy", "big"), ("suitcase", "small"), ("cat", "tired"),
    ("mat", "warm"),
)  # fmt: skip


@dataclass(frozen=True)
class Verb:
    """A verb with its particle, as words: `base` ("sit", "on") and `past` ("sat", "on")."""

    base: tuple[str, ...]
    past: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """All words and their relations. `kind` of each noun; `nouns` and `predicates` of each kind; `verbs` and
    `verbs_held_out` by (subject's kind, object's kind); `plural` of each noun that has one."""

    version: int
    kind: Mapping[str, str]
    nouns: Mapping[str, tuple[str, ...]]
    predicates: Mapping[str, tuple[str, ...]]
    verbs: Mapping[tuple[str, str], tuple[Verb, ...]]
    verbs_held_out: Mapping[tuple[str, str], tuple[Verb, ...]]
    plural: Mapping[str, str]
    others: Mapping[str, tuple[str, ...]]

    def fits(self, noun: str, predicate: str) -> bool:
        """Whether it can be said of the noun."""
        return predicate in self.predicates[self.kind[noun]]

    @property
    def combinations(self) -> tuple[tuple[str, str], ...]:
        """Every noun with every predicate of its kind, in a fixed order."""
        return tuple((noun, word) for noun, kind in self.kind.items() for word in self.predicates[kind])


def lexicon_path() -> Path:
    """Where the words lie."""
    return asset("classroom", "lexicon.toml")


@cache
def lexicon() -> Lexicon:
    """The words, read once."""
    raw = tomllib.loads(lexicon_path().read_text(encoding="utf-8"))
    kinds: dict[str, Any] = raw["kinds"]
    nouns = {name: tuple(entry["nouns"].split()) for name, entry in kinds.items()}
    others = {name: tuple(text.split()) for name, text in (raw["words"] | raw["frames"]).items()}
    return Lexicon(
        raw["version"],
        {noun: kind for kind, members in nouns.items() for noun in members},
        nouns,
        {name: tuple(entry["predicates"].split()) for name, entry in kinds.items()},
        _verbs(raw["verbs"]),
        _verbs(raw["verbs_held_out"]),
        {noun: _plural(noun, raw["plurals"]) for kind in nouns if kind != "food" for noun in nouns[kind]},
        others,
    )


def _verbs(raw: Mapping[str, str]) -> dict[tuple[str, str], tuple[Verb, ...]]:
    """ "animal / seat" = "sit on: sat on, lie on: lay on": base forms and past forms."""
    found = {}
    for between, text in raw.items():
        subject, _, thing = between.partition(" / ")
        verbs = []
        for base, past in (entry.split(":") for entry in text.split(", ")):
            verbs.append(Verb(tuple(base.split()), tuple(past.split())))
        found[subject, thing] = tuple(verbs)
    return found


def _plural(noun: str, irregular: Mapping[str, str]) -> str:
    if noun in irregular:
        return irregular[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


@cache
def vocabulary() -> tuple[str, ...]:
    """Every word that a text can have, sorted, after the signs: a word's place is its number."""
    words = lexicon()
    found = set(words.kind) | set(words.plural.values())
    for group in (*words.predicates.values(), *words.others.values()):
        found.update(group)
    for verbs in (*words.verbs.values(), *words.verbs_held_out.values()):
        for verb in verbs:
            found.update(verb.base, verb.past)
    return ("[PAD]", "[UNK]", "[MASK]", *sorted(found))


@cache
def held_out() -> frozenset[tuple[str, str]]:
    """The combinations of a noun and a predicate that no text of the training has: at most a third of those of any
    noun or predicate of a kind, so that each word is still met often."""
    words, rng = lexicon(), random.Random(SPLIT_SEED)  # noqa: S311 - a split, no secret
    chosen = set(FAMOUS)
    order = list(words.combinations)
    rng.shuffle(order)
    for noun, predicate in order:
        kind = words.kind[noun]
        of_noun = sum(held == noun for held, _ in chosen)
        of_predicate = sum(held == predicate and words.kind[one] == kind for one, held in chosen)
        if of_noun < len(words.predicates[kind]) // 3 and of_predicate < len(words.nouns[kind]) // 3:
            chosen.add((noun, predicate))
        if len(chosen) == HELD_OUT:
            break
    return frozenset(chosen)
