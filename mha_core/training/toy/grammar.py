"""A seeded grammar of a small English: texts in which a pronoun's noun follows from the rest.

In: a seed. Out: `Text`s without end. Seven in ten give a reason ("the dog didn't enter the bus because it was too
old"): of two nouns the predicate fits one. The others show names that repeat, he and she, agreement, and plain
sentences. No text has a held-out combination.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from mha_core.training.toy.lexicon import APART, Lexicon, Verb, exclusive_predicates, lexicon

TextKind = Literal["because", "names", "gender", "agreement", "repeated", "plain"]
BECAUSE = 0.7  # of all texts
ANIMALS, THINGS = 0.3, 0.2  # of the reasons: an animal acts; a thing; else a person
PHRASE, NOUN = (
    0.55,
    0.1,
)  # after "because": one word for "the street", to be restored; "the street"; else a pronoun
OTHER = 0.6  # of the nouns have "this", "our", ... before them, not "the"
GIFTS = ("garment", "vessel", "text", "object")
PORTABLE = ("container", "object", "food", "text", "garment", "vessel", "plant")
PLACES = ("seat", "container", "object", "machine", "way", "vessel", "building", "plant")
# How often a word is hidden, by its kind; less where the text has a phrase to be restored.
RATE = {"function": 0.05, "content": 0.15, "again": 0.4}
MARKS = {"=": "content", "+": "again"}
MAX_RATE_BESIDE_PHRASE = 0.06


@dataclass(slots=True)
class Text:
    """Words, and how often each may be hidden. Of "because" texts also positions from 0: the `slot` after "because",
    the `right` and the `wrong` noun; `answer`: the noun that the slot stands for."""

    task: TextKind
    words: list[str] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    slot: int | None = None
    right: int | None = None
    wrong: int | None = None
    answer: str | None = None
    pronoun: str = "it"

    def add(self, *words: str, rate: float = RATE["function"]) -> int:
        """Append words; return the position of the last one."""
        self.words.extend(words)
        self.rates.extend([rate] * len(words))
        return len(self.words) - 1

    def content(self, *words: str) -> int:
        """Append nouns, verbs or predicates; return the position of the last one."""
        return self.add(*words, rate=RATE["content"])

    def __str__(self) -> str:
        return " ".join(self.words)


class Grammar:
    """Random texts from a seed; the same seed gives the same texts on every machine."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - texts, no secrets
        self.words: Lexicon = lexicon()
        kinds = list(self.words.verbs)
        self._animal_frames = [pair for pair in kinds if pair[0] == "animal"]
        self._thing_frames = [pair for pair in kinds if pair[0] not in ("animal", "person")]
        self._nouns, self._nouns_with_plural = tuple(self.words.kind), tuple(self.words.plural)
        groups = [*self.words.verbs.items(), *self.words.verbs_held_out.items()]
        self._plain_verbs = [(pair, verb) for pair, verbs in groups for verb in verbs]

    def texts(self) -> Iterator[Text]:
        """Yield texts without end."""
        others = (self._names, self._gender, self._agreement, self._repeated, self._plain)
        while True:
            draw = self._because if self._chance(BECAUSE) else self.rng.choice(others)
            if (text := draw()) is not None:
                yield text

    # ---- words at random

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share

    def _one_of(self, name: str) -> str:
        """Draw a word of one of the lexicon's lists."""
        return self.rng.choice(self.words.others[name])

    def _noun_of(self, *kinds: str) -> str:
        """Draw a noun of one of these kinds."""
        return self.rng.choice(self.words.nouns[self.rng.choice(kinds)])

    def _predicate(self, right: str, *others: str) -> str | None:
        """Draw a predicate of one noun that fits no other; None where there is none, or the nouns never meet."""
        fitting = exclusive_predicates(right, *others)
        predicate = self.rng.choice(fitting) if fitting else None
        return None if self._is_apart(right, *others) else predicate

    def _is_apart(self, noun: str, *others: str) -> bool:
        return any(frozenset((noun, other)) in APART for other in others)

    def _two_kinds(self) -> tuple[str, str]:
        """Draw the kinds of a thing that a person can move, and of another that it may stand beside."""
        while True:
            kinds = self.rng.choice(PORTABLE), self.rng.choice(PLACES)
            if kinds[0] != kinds[1]:
                return kinds

    def _two_nouns(self, subject: str, thing: str) -> tuple[str, str]:
        return self.rng.choice(self.words.nouns[subject]), self.rng.choice(self.words.nouns[thing])

    # ---- parts of a text

    def _write(self, text: Text, pattern: str) -> None:
        """Append the words of a pattern: <list> is a random word of a list, "=" before it marks content, "+" a word
        that follows from the rest."""
        for word in pattern.split():
            form = word.lstrip("=+")
            form = self._one_of(form[1:-1]) if form.startswith("<") else form
            text.add(form, rate=RATE[MARKS.get(word[0], "function")])

    def _person(self, text: Text) -> None:
        if self._chance(0.6):
            self._write(text, f"=<{self.rng.choice(('women', 'men'))}>")
        else:
            self._write(text, "the =<people>")

    def _verb(self, text: Text, verb: Verb) -> None:
        if self._chance(0.7):
            self._write(text, "<auxiliaries>")
            text.content(*verb.base)
        else:
            text.content(*verb.past)

    def _noun(self, text: Text, noun: str, plural: bool = False, article: str = "the") -> int:
        """Append a noun after "the" or another word of its kind; return its position. With "the" before every noun a
        model looks at "the" instead, which in layer 1 takes up the noun that follows."""
        if article == "the" and self._chance(OTHER):
            article = self._one_of("before_many" if plural else "before_one")
        colour = self._one_of("colours") if self._chance(0.2) else ""
        text.add("an" if article == "a" and (colour or noun)[0] in "aeiou" else article)
        if colour:
            text.content(colour)
        return text.content(self.words.plural[noun] if plural else noun)

    def _action(
        self, text: Text, a: str, b: str, verb: Verb, has_person: bool, plural: bool = False
    ) -> tuple[int, int]:
        """Append "the dog entered the bus", or "Ann moved the cup near the bus"; return the nouns' positions."""
        if has_person:
            self._person(text)
            self._verb(text, verb)
            first = self._noun(text, a, plural)
            self._write(text, "<near>")
        else:
            first = self._noun(text, a, plural)
            self._verb(text, verb)
        return first, self._noun(text, b, plural)

    def _state(self, text: Text, predicate: str, plural: bool) -> None:
        """Append "was too old"."""
        self._write(text, "<plural_copulas>" if plural else "<copulas>")
        if self._chance(0.8):
            self._write(text, "<degrees>")
        text.content(predicate)

    # ---- reasons

    def _because(self) -> Text | None:
        """Draw a reason, the main clause first or last."""
        subject, thing, verb, has_person = self._frame()
        a, b = self._two_nouns(subject, thing)
        right, wrong = (a, b) if self._chance(0.5) else (b, a)
        predicate = self._predicate(right, wrong)
        if predicate is None:
            return None
        plural = self._chance(0.12) and a in self.words.plural and b in self.words.plural
        text = Text("because", pronoun="they" if plural else "it")
        is_turned = self._chance(0.15)
        if is_turned:
            self._clause(text, right, predicate, plural)
            text.add(",")
        places = self._main(text, a, b, verb, has_person, plural, predicate)
        if not is_turned:
            self._clause(text, right, predicate, plural)
        text.add(".")
        text.right, text.wrong = places if right == a else places[::-1]
        if text.answer is not None:  # the words that give the answer stay visible
            evidence = [i in places or word == predicate for i, word in enumerate(text.words)]
            rates = zip(text.rates, evidence, strict=True)
            text.rates = [0.0 if is_shown else min(rate, MAX_RATE_BESIDE_PHRASE) for rate, is_shown in rates]
        return text

    def _frame(self) -> tuple[str, str, Verb, bool]:
        """Draw the kinds of the two nouns, the verb, and whether a person acts."""
        chance = self.rng.random()
        if chance < ANIMALS + THINGS:
            kinds = self.rng.choice(self._animal_frames if chance < ANIMALS else self._thing_frames)
            return *kinds, self.rng.choice(self.words.verbs[kinds]), False
        return *self._two_kinds(), self.rng.choice(self.words.verbs["person", "two"]), True

    def _main(
        self, text: Text, a: str, b: str, verb: Verb, has_person: bool, plural: bool, predicate: str
    ) -> tuple[int, int]:
        """Append "the dog didn't enter the red bus"; return the positions of the two nouns."""
        places = self._action(text, a, b, verb, has_person, plural)
        chance = self.rng.random()
        if chance < 0.12:
            third = self.rng.choice(self._nouns)
            is_other = third not in (a, b) and not self.words.fits(third, predicate)
            if is_other and not self._is_apart(third, a, b):
                self._write(text, "<near>")
                self._noun(text, third, plural and third in self.words.plural)
        elif chance < 0.24:
            self._write(text, "in the <places>")
        elif chance < 0.32:
            self._write(text, "=<times>")
        return places

    def _clause(self, text: Text, noun: str, predicate: str, plural: bool) -> None:
        """Append "because it was too old": the predicate is at most three words after the slot."""
        text.add("because")
        chance = self.rng.random()
        form = self.words.plural[noun] if plural else noun
        if PHRASE <= chance < PHRASE + NOUN:
            self._write(text, f"the +{form}")
        else:
            text.slot = text.add(text.pronoun, rate=0.0)
            text.answer = form if chance < PHRASE else None
        self._state(text, predicate, plural)

    # ---- the other texts

    def _names(self) -> Text:
        """Draw two people, and who gives what to whom: each name repeats."""
        text = Text("names")
        both = self.rng.sample(self.words.others["women"] + self.words.others["men"], 2)
        self._write(text, f"{both[0]} met {both[1]} in the <places> and")
        giver, taker = both if self._chance(0.5) else both[::-1]
        text.add(giver, rate=RATE["again"] if self._chance(0.5) else 0.0)
        self._write(text, f"gave +{taker}")
        self._noun(text, self._noun_of(*GIFTS))
        text.add(".")
        return text

    def _gender(self) -> Text:
        """Draw a woman or a man, and how she or he felt."""
        text = Text("gender")
        is_woman = self._chance(0.5)
        self._write(text, "<women>" if is_woman else "<men>")
        text.content(*self.rng.choice(self.words.verbs["person", "two"]).past)
        self._noun(text, self._noun_of(*PORTABLE))
        self._write(text, f"and +{'she' if is_woman else 'he'} was =<feelings> .")
        return text

    def _agreement(self) -> Text | None:
        """Draw "the keys near the door are old", whose verb agrees with the first noun."""
        text = Text("agreement")
        a, b = self.rng.sample(self._nouns_with_plural, 2)
        if self._is_apart(a, b) or (predicate := self._predicate(a, b)) is None:
            return None
        is_plural = self._chance(0.5)
        self._noun(text, a, is_plural)
        self._write(text, "<near>")
        self._noun(text, b, self._chance(0.5))
        present, past = ("are", "were") if is_plural else ("is", "was")
        copula = present if self._chance(0.5) else past
        self._write(text, f"+{copula} <degrees> ={predicate} .")
        return text

    def _repeated(self) -> Text | None:
        """Draw two nouns, and one of them again with a predicate that fits it alone."""
        text = Text("repeated")
        a, b = self.rng.sample(self._nouns, 2)
        right, wrong = (a, b) if self._chance(0.5) else (b, a)
        predicate = self._predicate(right, wrong)
        if predicate is None:
            return None
        self._person(text)
        text.add(self.rng.choice(("had", "took")))
        for noun, word in ((a, "and"), (b, ".")):
            self._noun(text, noun, article="a")
            text.add(word)
        self._write(text, f"the +{right}")
        self._state(text, predicate, plural=False)
        text.add(".")
        return text

    def _plain(self) -> Text | None:
        """Draw a sentence with a verb that never stands before a reason."""
        text = Text("plain")
        (subject, thing), verb = self.rng.choice(self._plain_verbs)
        has_person = thing == "two"
        a, b = self._two_nouns(*(self._two_kinds() if has_person else (subject, thing)))
        if self._is_apart(a, b):
            return None
        self._action(text, a, b, verb, has_person)
        self._write(text, "=<times> ." if self._chance(0.5) else ".")
        return text
