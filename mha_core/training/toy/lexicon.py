"""The words of the toy model's English: kinds of nouns, their predicates and verbs, and what training never shows.

In: `assets/classroom/lexicon.toml`. Out: a frozen `Lexicon`, the vocabulary in a fixed order, and the held-out split.
"""

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mha_core.resources import asset

SPLIT_SEED = 22
HELD_OUT = 300  # combinations of a noun and a predicate that occur in no training text
PAD, UNKNOWN, MASK = 0, 1, 2
# Nouns of the famous sentences: never together in one text.
APART = frozenset(map(frozenset, (("animal", "street"), ("trophy", "suitcase"), ("cat", "mat"))))
# Predicates of the famous sentences: never of these nouns.
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
    """All words and their relations: `kind` of each noun; `nouns` and `predicates` of each kind; `verbs` and
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
        """Return whether the noun can have the predicate."""
        return predicate in self.predicates[self.kind[noun]]


def lexicon_path() -> Path:
    """Return the file of the words."""
    return asset("classroom", "lexicon.toml")


@cache
def lexicon() -> Lexicon:
    """Return the words, read once."""
    raw = tomllib.loads(lexicon_path().read_text(encoding="utf-8"))
    nouns = {name: tuple(entry["nouns"].split()) for name, entry in raw["kinds"].items()}
    return Lexicon(
        raw["version"],
        {noun: kind for kind, members in nouns.items() for noun in members},
        nouns,
        {name: tuple(entry["predicates"].split()) for name, entry in raw["kinds"].items()},
        _verbs(raw["verbs"]),
        _verbs(raw["verbs_held_out"]),
        {noun: _plural(noun, raw["plurals"]) for kind in nouns if kind != "food" for noun in nouns[kind]},
        {name: tuple(text.split()) for name, text in (raw["words"] | raw["frames"]).items()},
    )


def _verbs(raw: Mapping[str, str]) -> dict[tuple[str, str], tuple[Verb, ...]]:
    """Parse base and past forms by kinds: "animal / seat" = "sit on: sat on, lie on: lay on"."""
    verbs = {}
    for kinds, text in raw.items():
        subject, _, thing = kinds.partition(" / ")
        forms = (entry.split(":") for entry in text.split(", "))
        verbs[subject, thing] = tuple(Verb(tuple(base.split()), tuple(past.split())) for base, past in forms)
    return verbs


def _plural(noun: str, irregular: Mapping[str, str]) -> str:
    if noun in irregular:
        return irregular[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


@cache
def vocabulary() -> tuple[str, ...]:
    """Return every word of any text, sorted, after the special tokens: a word's index is its id."""
    words = lexicon()
    groups = (words.kind, words.plural.values(), *words.predicates.values(), *words.others.values())
    verbs = (
        verb for group in (words.verbs, words.verbs_held_out) for both in group.values() for verb in both
    )
    forms = (form for verb in verbs for form in (verb.base, verb.past))
    return ("[PAD]", "[UNK]", "[MASK]", *sorted(set().union(*groups, *forms)))


@cache
def token_ids() -> Mapping[str, int]:
    """Return the id of each word."""
    return {word: i for i, word in enumerate(vocabulary())}


@cache
def held_out() -> frozenset[tuple[str, str]]:
    """Return the combinations of a noun and a predicate that no training text has: at most a third of those of any
    noun or predicate of a kind, so that each word still occurs often."""
    words, rng = lexicon(), random.Random(SPLIT_SEED)  # noqa: S311 - a split, no secret
    order = [(noun, predicate) for noun, kind in words.kind.items() for predicate in words.predicates[kind]]
    rng.shuffle(order)
    chosen = set(FAMOUS)
    for noun, predicate in order:
        kind = words.kind[noun]
        n_of_noun = sum(other == noun for other, _ in chosen)
        n_of_predicate = sum(held == predicate and words.kind[other] == kind for other, held in chosen)
        if n_of_noun < len(words.predicates[kind]) // 3 and n_of_predicate < len(words.nouns[kind]) // 3:
            chosen.add((noun, predicate))
        if len(chosen) == HELD_OUT:
            break
    return frozenset(chosen)


@cache
def exclusive_predicates(noun: str, *others: str, unseen: bool = False) -> tuple[str, ...]:
    """Return the predicates that fit `noun` and no other noun: those in training texts, or all `unseen` there."""
    words = lexicon()
    return tuple(
        predicate
        for predicate in words.predicates[words.kind[noun]]
        if ((noun, predicate) in held_out()) == unseen
        and not any(words.fits(other, predicate) for other in others)
    )
