"""A seeded grammar of a small, natural-looking English: texts in which a pronoun's noun follows from the rest.

In: a seed. Out: `Text`s without end. Seven in ten say why something was or was not done ("the dog didn't enter the
bus because it was too old"): of two nouns only one can be what the clause after "because" says. The others show
names that come again, he and she, agreement, and plain sentences. No text has a combination that is held out.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from mha_core.learning.classroom.lexicon import APART, Lexicon, Verb, held_out, lexicon

Task = Literal["because", "names", "gender", "agreement", "repeated", "plain"]
BECAUSE = 0.7  # of all texts
ANIMALS, THINGS = 0.3, 0.2  # of those with a reason: an animal does it; a thing; in the others a person
# What stands after "because": one word in place of "the street", to be found out; "the street"; else a pronoun.
PHRASE, NOUN = 0.55, 0.1
OTHER = 0.6  # of the nouns have "this", "our", ... before them in place of "the"
GIFTS = ("garment", "vessel", "text", "object")
PORTABLE = ("container", "object", "food", "text", "garment", "vessel", "plant")
PLACES = ("seat", "container", "object", "machine", "way", "vessel", "building", "plant")
# How often a word is hidden: by its kind, and less where the text has a phrase to be found out.
RATE = {"function": 0.05, "content": 0.15, "again": 0.4}


@dataclass(slots=True)
class Text:
    """Words, how often each may be hidden, and for "because" texts where what stands: `slot` after "because",
    `right` and `wrong` of the two nouns, all positions from 0. `answer`: the noun that the slot stands for."""

    task: Task
    words: list[str] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    slot: int | None = None
    right: int | None = None
    wrong: int | None = None
    answer: str | None = None
    pronoun: str = "it"

    def add(self, *words: str, rate: float = RATE["function"]) -> int:
        """Put words at the end; the position of the last one."""
        self.words.extend(words)
        self.rates.extend([rate] * len(words))
        return len(self.words) - 1

    def content(self, word: str) -> int:
        """A noun, verb or predicate."""
        return self.add(word, rate=RATE["content"])

    def __str__(self) -> str:
        return " ".join(self.words)


class Grammar:
    """Texts by chance from a seed; the same seed gives the same texts on every machine."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - texts, no secrets
        self.words: Lexicon = lexicon()
        self._kept_out = held_out()
        self._said = {
            noun: tuple(p for p in self.words.predicates[kind] if (noun, p) not in self._kept_out)
            for noun, kind in self.words.kind.items()
        }
        pairs = list(self.words.verbs)
        self._animal = [pair for pair in pairs if pair[0] == "animal"]
        self._thing = [pair for pair in pairs if pair[0] not in ("animal", "person")]
        self._every, self._plural = tuple(self.words.kind), tuple(self.words.plural)
        self._of: dict[tuple[str, ...], tuple[str, ...]] = {}
        both = [*self.words.verbs.items(), *self.words.verbs_held_out.items()]
        self._plain_verbs = [(pair, verb) for pair, verbs in both for verb in verbs]

    def texts(self) -> Iterator[Text]:
        """Texts without end."""
        others = (self._names, self._gender, self._agreement, self._repeated, self._plain)
        while True:
            make = self._because if self.rng.random() < BECAUSE else self.rng.choice(others)
            text = make()
            if text is not None:
                yield text

    def _because(self) -> Text | None:
        subject, thing, verb, person = self._frame()
        a, b = self._two(subject, thing)
        right, wrong = (a, b) if self.rng.random() < 0.5 else (b, a)
        predicate = self._of_one(right, wrong)
        if predicate is None or frozenset((a, b)) in APART:
            return None
        plural = self.rng.random() < 0.12 and a in self.words.plural and b in self.words.plural
        return self._reason(a, b, right, predicate, verb, person, plural)

    def _frame(self) -> tuple[str, str, Verb, bool]:
        """The kinds of the two nouns, the verb, and whether a person does it."""
        chance = self.rng.random()
        if chance < ANIMALS:
            subject, thing = self.rng.choice(self._animal)
        elif chance < ANIMALS + THINGS:
            subject, thing = self.rng.choice(self._thing)
        else:
            subject, thing = self._beside()
            return subject, thing, self.rng.choice(self.words.verbs["person", "two"]), True
        return subject, thing, self.rng.choice(self.words.verbs[subject, thing]), False

    def _beside(self) -> tuple[str, str]:
        """The kinds of a thing that a person can move, and of another that it may stand beside."""
        while True:
            kinds = self.rng.choice(PORTABLE), self.rng.choice(PLACES)
            if kinds[0] != kinds[1]:
                return kinds

    def _two(self, subject: str, thing: str) -> tuple[str, str]:
        return self.rng.choice(self.words.nouns[subject]), self.rng.choice(self.words.nouns[thing])

    def _of_one(self, right: str, *others: str) -> str | None:
        """Something that can be said of one noun and of none of the others."""
        between = (right, *others)
        if between not in self._of:
            self._of[between] = tuple(
                p for p in self._said[right] if not any(self.words.fits(other, p) for other in others)
            )
        said = self._of[between]
        return self.rng.choice(said) if said else None

    def _reason(
        self, a: str, b: str, right: str, predicate: str, verb: Verb, person: bool, plural: bool
    ) -> Text:
        """The text of a reason, the main clause first or last."""
        text = Text("because", pronoun="they" if plural else "it")
        turned = self.rng.random() < 0.15
        if turned:
            self._clause(text, right, predicate, plural)
            text.add(",")
        places = self._main(text, a, b, verb, person, plural, predicate)
        if not turned:
            self._clause(text, right, predicate, plural)
        text.add(".")
        text.right, text.wrong = places if right == a else places[::-1]
        if text.answer is not None:  # what the answer rests on stays to be seen
            text.rates = [min(rate, 0.06) for rate in text.rates]
            for place, word in enumerate(text.words):
                if place in places or word == predicate:
                    text.rates[place] = 0.0
        return text

    def _main(
        self, text: Text, a: str, b: str, verb: Verb, person: bool, plural: bool, predicate: str
    ) -> tuple[int, int]:
        """ "the dog didn't enter the red bus": the positions of the two nouns."""
        if person:
            self._person(text)
            self._verb(text, verb)
            first = self._noun(text, a, plural)
            text.add(self.rng.choice(self.words.others["near"]))
        else:
            first = self._noun(text, a, plural)
            self._verb(text, verb)
        second = self._noun(text, b, plural)
        chance = self.rng.random()
        if chance < 0.12:
            third = self.rng.choice(self._every)
            if third not in (a, b) and not self.words.fits(third, predicate) and not self._apart(third, a, b):
                text.add(self.rng.choice(self.words.others["near"]))
                self._noun(text, third, plural and third in self.words.plural)
        elif chance < 0.24:
            text.add("in", "the", self.rng.choice(self.words.others["places"]))
        elif chance < 0.32:
            text.content(self.rng.choice(self.words.others["times"]))
        return first, second

    def _apart(self, noun: str, *others: str) -> bool:
        return any(frozenset((noun, other)) in APART for other in others)

    def _person(self, text: Text) -> None:
        if self.rng.random() < 0.6:
            text.content(self.rng.choice(self.words.others[self.rng.choice(("women", "men"))]))
        else:
            text.add("the")
            text.content(self.rng.choice(self.words.others["people"]))

    def _verb(self, text: Text, verb: Verb) -> None:
        negated = self.rng.random() < 0.7
        if negated:
            text.add(self.rng.choice(self.words.others["auxiliaries"]))
        for word in verb.base if negated else verb.past:
            text.content(word)

    def _noun(self, text: Text, noun: str, plural: bool = False, article: str = "the") -> int:
        """A noun after "the" or another word of its kind. With "the" before every noun a model looks at "the"
        instead, which in layer 1 takes up the noun that follows."""
        if article == "the" and self.rng.random() < OTHER:
            article = self.rng.choice(self.words.others["before_many" if plural else "before_one"])
        colour = self.rng.choice(self.words.others["colours"]) if self.rng.random() < 0.2 else ""
        text.add("an" if article == "a" and (colour or noun)[0] in "aeiou" else article)
        if colour:
            text.content(colour)
        return text.content(self.words.plural[noun] if plural else noun)

    def _clause(self, text: Text, noun: str, predicate: str, plural: bool) -> None:
        """ "because it was too old": the predicate is never more than three words from the slot."""
        text.add("because")
        chance = self.rng.random()
        slot = "phrase" if chance < PHRASE else "noun" if chance < PHRASE + NOUN else "pronoun"
        named = self.words.plural[noun] if plural else noun
        if slot == "noun":
            text.add("the")
            text.add(named, rate=RATE["again"])
        else:
            text.slot = text.add(text.pronoun, rate=0.0)
            text.answer = named if slot == "phrase" else None
        self._state(text, predicate, plural)

    def _state(self, text: Text, predicate: str, plural: bool) -> None:
        text.add(self.rng.choice(self.words.others["plural_copulas" if plural else "copulas"]))
        if self.rng.random() < 0.8:
            text.add(self.rng.choice(self.words.others["degrees"]))
        text.content(predicate)

    def _names(self) -> Text:
        """Two people, and who gives what to whom: each name comes again."""
        text = Text("names")
        both = self.rng.sample(self.words.others["women"] + self.words.others["men"], 2)
        text.add(both[0], "met", both[1], "in", "the", self.rng.choice(self.words.others["places"]), "and")
        giver, taker = both if self.rng.random() < 0.5 else both[::-1]
        text.add(giver, rate=RATE["again"] if self.rng.random() < 0.5 else 0.0)
        text.add("gave")
        text.add(taker, rate=RATE["again"])
        self._noun(text, self.rng.choice(self.words.nouns[self.rng.choice(GIFTS)]))
        text.add(".")
        return text

    def _gender(self) -> Text:
        """A woman or a man, and how she or he felt."""
        text = Text("gender")
        woman = self.rng.random() < 0.5
        text.add(self.rng.choice(self.words.others["women" if woman else "men"]))
        for word in self.rng.choice(self.words.verbs["person", "two"]).past:
            text.content(word)
        self._noun(text, self.rng.choice(self.words.nouns[self.rng.choice(PORTABLE)]))
        text.add("and")
        text.add("she" if woman else "he", rate=RATE["again"])
        text.add("was")
        text.content(self.rng.choice(self.words.others["feelings"]))
        text.add(".")
        return text

    def _agreement(self) -> Text | None:
        """One and many: "the keys near the door are old" takes its verb from the first noun."""
        text = Text("agreement")
        a, b = self.rng.sample(self._plural, 2)
        if self._apart(a, b):
            return None
        predicate = self._of_one(a, b)
        if predicate is None:
            return None
        many = self.rng.random() < 0.5
        self._noun(text, a, many)
        text.add(self.rng.choice(self.words.others["near"]))
        self._noun(text, b, self.rng.random() < 0.5)
        now = self.rng.random() < 0.5
        copula = ("are" if now else "were") if many else ("is" if now else "was")
        text.add(copula, rate=RATE["again"])
        text.add(self.rng.choice(self.words.others["degrees"]))
        text.content(predicate)
        text.add(".")
        return text

    def _repeated(self) -> Text | None:
        """Two nouns, and one of them again with what only it can be."""
        text = Text("repeated")
        a, b = self.rng.sample(self._every, 2)
        right, wrong = (a, b) if self.rng.random() < 0.5 else (b, a)
        predicate = self._of_one(right, wrong)
        if predicate is None or self._apart(a, b):
            return None
        self._person(text)
        text.add(self.rng.choice(("had", "took")))
        for noun, word in ((a, "and"), (b, ".")):
            self._noun(text, noun, article="a")
            text.add(word)
        text.add("the")
        text.add(right, rate=RATE["again"])
        self._state(text, predicate, plural=False)
        text.add(".")
        return text

    def _plain(self) -> Text | None:
        """Who did what, with the verbs that no reason is given with."""
        text = Text("plain")
        (subject, thing), verb = self.rng.choice(self._plain_verbs)
        kinds = self._beside() if thing == "two" else (subject, thing)
        a, b = self._two(*kinds)
        if self._apart(a, b):
            return None
        if thing == "two":
            self._person(text)
            self._verb(text, verb)
            self._noun(text, a)
            text.add(self.rng.choice(self.words.others["near"]))
        else:
            self._noun(text, a)
            self._verb(text, verb)
        self._noun(text, b)
        if self.rng.random() < 0.5:
            text.content(self.rng.choice(self.words.others["times"]))
        text.add(".")
        return text


def first_texts(seed: int, n: int) -> list[Text]:
    """The first n texts of a seed."""
    return list(itertools.islice(Grammar(seed).texts(), n))
