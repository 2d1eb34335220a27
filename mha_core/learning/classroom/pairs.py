"""Pairs of texts that part in one word, and with it in what the pronoun means: "... too tired" and "... too wide".

In: a seed. Out: `Pair`s of words that no text of the training has together (or, to choose a head on, of words that
it has). The noun that a pronoun means is known, for only it can be what is said.
"""

import random
from dataclasses import dataclass
from typing import Literal

from mha_core.errors import InputError
from mha_core.learning.classroom.grammar import PLACES, PORTABLE
from mha_core.learning.classroom.lexicon import APART, Verb, held_out, lexicon
from mha_core.wording import counted

Kind = Literal["animate", "inanimate"]
TEST_SEED, CHOICE_SEED = 1, 2
N_PAIRS = 400
MOST_PAIRS = 3_000  # half of them have an animal, and of such there are some 1,700


@dataclass(frozen=True)
class Pair:
    """Two texts that part in their last word but one. `nouns`: what "it" means in the first and in the second, and
    `places` where they stand in both; `slot`: where "it" stands. Positions from 0."""

    words: tuple[tuple[str, ...], tuple[str, ...]]
    nouns: tuple[str, str]
    places: tuple[int, int]
    slot: int
    kind: Kind

    @property
    def texts(self) -> tuple[str, str]:
        """Both as a reader would type them."""
        first, second = (" ".join(words).replace(" .", ".").capitalize() for words in self.words)
        return first, second


def pair_of(before: str, nouns: tuple[str, str], predicates: tuple[str, str], kind: Kind) -> Pair:
    """A pair by its main clause and its two predicates: "the animal didn't cross the street"."""
    main = before.split()
    words = [(*main, "because", "it", "was", "too", predicate, ".") for predicate in predicates]
    places = (main.index(nouns[0]), main.index(nouns[1]))
    return Pair((words[0], words[1]), nouns, places, len(main) + 1, kind)


FAMOUS = {
    "street": pair_of("the animal didn't cross the street", ("animal", "street"), ("tired", "wide"), "animate"),
    "suitcase": pair_of(
        "the trophy didn't fit in the suitcase", ("trophy", "suitcase"), ("big", "small"), "inanimate"
    ),
    "mat": pair_of("the cat didn't sit on the mat", ("cat", "mat"), ("tired", "warm"), "animate"),
}  # fmt: skip


def pairs(seed: int, n: int = N_PAIRS, *, unseen: bool = True) -> tuple[Pair, ...]:
    """n different pairs, half of them with an animal. `unseen`: what is said of either noun is held out; else none
    of it is. Raises InputError for fewer than two pairs, and for more than there are."""
    if not 2 <= n <= MOST_PAIRS:
        raise InputError(f"{counted(n, 'pair', ('was', 'were'))} asked for; give 2 to {MOST_PAIRS:,}.")
    rng, found = random.Random(seed), dict[tuple[str, str], Pair]()  # noqa: S311 - a sample, no secret
    while len(found) < n:
        kind: Kind = "animate" if len(found) < n // 2 else "inanimate"
        one = _pair(rng, kind, unseen)
        if one is not None and one.nouns not in found:
            found[one.nouns] = one
    return tuple(found.values())


def _pair(rng: random.Random, kind: Kind, unseen: bool) -> Pair | None:
    words = lexicon()
    frames = [
        pair for pair in words.verbs if pair[0] != "person" and (pair[0] == "animal") == (kind == "animate")
    ]
    verb: Verb
    if kind == "inanimate" and rng.random() < 0.6:
        subject, thing = rng.choice(PORTABLE), rng.choice(PLACES)
        verb, person = rng.choice(words.verbs["person", "two"]), True
    else:
        subject, thing = rng.choice(frames)
        verb, person = rng.choice(words.verbs[subject, thing]), False
    a, b = rng.choice(words.nouns[subject]), rng.choice(words.nouns[thing])
    predicates = _of_one(rng, a, b, unseen), _of_one(rng, b, a, unseen)
    if subject == thing or frozenset((a, b)) in APART or not predicates[0] or not predicates[1]:
        return None
    base = " ".join(verb.base)
    if person:
        name, near = rng.choice(words.others["people"]), rng.choice(words.others["near"])
        main = f"the {name} didn't {base} the {a} {near} the {b}"
    else:
        main = f"the {a} didn't {base} the {b}"
    return pair_of(main, (a, b), (predicates[0], predicates[1]), kind)


def _of_one(rng: random.Random, noun: str, other: str, unseen: bool) -> str:
    """What can be said of one noun and not of the other; empty if nothing can."""
    words = lexicon()
    said = [
        predicate
        for predicate in words.predicates[words.kind[noun]]
        if ((noun, predicate) in held_out()) == unseen and not words.fits(other, predicate)
    ]
    return rng.choice(said) if said else ""
