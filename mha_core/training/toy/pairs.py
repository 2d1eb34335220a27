"""Minimal pairs: two texts that differ in one word, and with it in what the pronoun means ("too tired", "too wide").

In: a seed. Out: `Pair`s of words that no training text has together (or, to choose a head on, of words that it has).
The noun that a pronoun means is known: the predicate fits no other.
"""

import random
from dataclasses import dataclass
from typing import Literal

from mha_core.display_names import count_noun
from mha_core.errors import InputError
from mha_core.training.toy.grammar import PLACES, PORTABLE
from mha_core.training.toy.lexicon import APART, exclusive_predicates, lexicon

Animacy = Literal["animate", "inanimate"]
TEST_SEED, CHOICE_SEED = 1, 2
N_PAIRS = 400
MAX_PAIRS = 3_000  # half of them have an animal, and there are some 1,700 of these


@dataclass(frozen=True)
class Pair:
    """Two texts that differ in their last word but one. `nouns`: what "it" means in the first and in the second, and
    `places` their positions in both; `slot`: the position of "it". Positions from 0."""

    words: tuple[tuple[str, ...], tuple[str, ...]]
    nouns: tuple[str, str]
    places: tuple[int, int]
    slot: int
    kind: Animacy

    @property
    def texts(self) -> tuple[str, str]:
        """Both texts as typed."""
        first, second = (" ".join(words).replace(" .", ".").capitalize() for words in self.words)
        return first, second


def pair_of(main: str, nouns: tuple[str, str], predicates: tuple[str, str], kind: Animacy) -> Pair:
    """Return a pair by its main clause ("the animal didn't cross the street") and its two predicates."""
    words = main.split()
    first, second = ((*words, "because", "it", "was", "too", predicate, ".") for predicate in predicates)
    return Pair((first, second), nouns, (words.index(nouns[0]), words.index(nouns[1])), len(words) + 1, kind)


FAMOUS = {
    "street": pair_of("the animal didn't cross the street", ("animal", "street"), ("tired", "wide"), "animate"),
    "suitcase": pair_of(
        "the trophy didn't fit in the suitcase", ("trophy", "suitcase"), ("big", "small"), "inanimate"
    ),
    "mat": pair_of("the cat didn't sit on the mat", ("cat", "mat"), ("tired", "warm"), "animate"),
}  # fmt: skip


def pairs(seed: int, n: int = N_PAIRS, *, unseen: bool = True) -> tuple[Pair, ...]:
    """Return n different pairs, half of them with an animal. `unseen`: the predicate of either noun is held out; else
    none of them is. Raises InputError for fewer than two pairs, and for more than MAX_PAIRS."""
    if not 2 <= n <= MAX_PAIRS:
        raise InputError(f"{count_noun(n, 'pair', ('was', 'were'))} asked for; give 2 to {MAX_PAIRS:,}.")
    rng, drawn = random.Random(seed), dict[tuple[str, str], Pair]()  # noqa: S311 - a sample, no secret
    while len(drawn) < n:
        pair = _draw(rng, "animate" if len(drawn) < n // 2 else "inanimate", unseen)
        if pair is not None:
            drawn.setdefault(pair.nouns, pair)
    return tuple(drawn.values())


def _draw(rng: random.Random, kind: Animacy, unseen: bool) -> Pair | None:
    """Draw a pair; None for two nouns that go together in no text."""
    words = lexicon()
    person = kind == "inanimate" and rng.random() < 0.6
    if person:
        subject, thing = rng.choice(PORTABLE), rng.choice(PLACES)
    else:
        frames = [
            pair
            for pair in words.verbs
            if pair[0] != "person" and (pair[0] == "animal") == (kind == "animate")
        ]
        subject, thing = rng.choice(frames)
    verb = rng.choice(words.verbs["person", "two"] if person else words.verbs[subject, thing])
    a, b = rng.choice(words.nouns[subject]), rng.choice(words.nouns[thing])
    both = exclusive_predicates(a, b, unseen=unseen), exclusive_predicates(b, a, unseen=unseen)
    first, second = (rng.choice(fitting) if fitting else "" for fitting in both)
    if subject == thing or frozenset((a, b)) in APART or not first or not second:
        return None
    base = " ".join(verb.base)
    main = f"the {a} didn't {base} the {b}"
    if person:
        name, near = rng.choice(words.others["people"]), rng.choice(words.others["near"])
        main = f"the {name} didn't {base} the {a} {near} the {b}"
    return pair_of(main, (a, b), (first, second), kind)
