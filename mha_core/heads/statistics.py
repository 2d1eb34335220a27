"""What is kept of texts to answer every question about them; parts of it add up to the very same answers.

What any text answers is added up at once. What waits for rules that are learnt from all texts (a relation's usual
distance, GAP's logistic model) is kept as what every head looked at, block by block. Answering reads the blocks twice,
one at a time: to learn, and to count.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from mha_core.heads.questions.base import Measured
from mha_core.heads.questions.meaning import Kept, Meanings, Related, RelatedLog, meanings
from mha_core.heads.questions.places import ORDER, PlaceLog
from mha_core.heads.questions.pronouns import Choice, ChoiceLog, Choices
from mha_core.heads.questions.syntax import Asked, Looks, LooksLog, Relations, among, measure
from mha_core.heads.survey import Log
from mha_core.heads.tally import Tally, tally
from mha_core.heads.words import FloatArray
from mha_core.visibility import Visibility

BLOCK = 2048  # texts
Place = tuple[int, int]  # a shard's number, and the number of a block of it


@dataclass
class Block:
    """Some texts of one corpus, as what every head looked at in them."""

    corpus: str
    looks: list[Looks] = field(default_factory=list)
    related: list[Kept] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    def __add__(self, other: "Block") -> "Block":
        return Block(
            self.corpus,
            self.looks + other.looks,
            self.related + other.related,
            self.choices + other.choices,
        )

    def __len__(self) -> int:
        return len(self.looks) + len(self.choices)


class Logs:
    """A log of everything that texts of one kind can answer: treebank, pronouns or texts."""

    def __init__(self, kind: str, visibility: Visibility, known: Callable[[], Meanings] = meanings) -> None:
        self.is_causal, self.n = visibility.is_causal, 0
        self.places, self.looks = PlaceLog(visibility), LooksLog(visibility)
        self.choices = ChoiceLog(visibility)
        self.related = RelatedLog(known(), visibility) if kind == "treebank" else None
        trees: list[Log] = [] if self.related is None else [self.looks, self.related]
        self.logs: list[Log] = [self.choices] if kind == "pronouns" else [*trees, self.places]

    def add(self, weights: FloatArray, item: Any) -> None:
        """Take in one text; weights (layer, head, query, key) over its tokens."""
        self.n += 1
        for log in self.logs:
            log.add(weights, item)

    def block(self, corpus: str) -> Block:
        """Return what was looked at in these texts."""
        related = [] if self.related is None else self.related.found
        return Block(corpus, self.looks.found, related, self.choices.found)

    def measured(self, corpus: str) -> Iterator[Measured]:
        """Yield the answers of these texts alone."""
        block, learnt = self.block(corpus), Learnt(self.is_causal)
        learnt.read(block)
        yield from learnt.measured(block)
        yield from self.places.measured(corpus)


class ShardLog:
    """The log of one shard: it hands over what it has every BLOCK texts."""

    def __init__(self, kept: "Statistics", kind: str, number: int) -> None:
        self.kept, self.kind, self.number, self.n_blocks = kept, kind, number, 0
        self.logs = Logs(kind, kept.visibility, lambda: kept.known)

    def add(self, weights: FloatArray, item: Any) -> None:
        """Take in one text; weights (layer, head, query, key) over its tokens."""
        self.logs.add(weights, item)
        if self.logs.n == BLOCK:
            self.fold()

    def fold(self) -> None:
        """Hand over."""
        self.kept.keep(self.logs, self.kind, (self.number, self.n_blocks))
        self.logs = Logs(self.kind, self.kept.visibility, lambda: self.kept.known)
        self.n_blocks += 1


class Learnt:
    """The rules of one corpus, learnt block by block."""

    def __init__(self, is_causal: bool) -> None:
        self.relations, self.related, self.choices = Relations(is_causal), Related(), Choices(is_causal)
        self.asked: list[Asked] | None = None

    def read(self, block: Block) -> None:
        """Learn from a block."""
        self.relations.read(block.looks)
        self.related.read(block.related)
        if block.choices:
            self.choices.read(block.choices)

    def measured(self, block: Block) -> Iterator[Measured]:
        """Yield the answers of a block, once all are read."""
        if self.asked is None:
            self.asked = list(self.relations.questions(block.corpus))
        yield from (measure(one, block.looks) for one in among(self.asked, block.looks))
        yield from self.related.measured(block.related, block.corpus)
        if block.choices:
            yield from self.choices.measured(block.choices, block.corpus)


class Statistics:
    """What is kept of texts: `places` by corpus and question, `blocks` by their place, each read when called, and
    what the built-in sentences answer."""

    def __init__(self, visibility: Visibility) -> None:
        self.visibility = visibility
        self.places: dict[tuple[str, str], Tally] = {}
        self.builtin: tuple[Tally, ...] = ()
        self.blocks: dict[Place, Callable[[], Block]] = {}

    @cached_property
    def known(self) -> Meanings:
        """What is known of words that are alike."""
        return meanings()

    def keep(self, logs: Logs, corpus: str, place: Place) -> None:
        """Keep what is in the logs of one kind of text."""
        add_up(self.places, map(tally, logs.places.measured(corpus)))
        block = logs.block(corpus)
        if len(block):
            self.blocks[place] = lambda: block

    def merge(self, other: "Statistics") -> None:
        """Add those of other texts."""
        add_up(self.places, other.places.values())
        self.blocks |= other.blocks
        self.builtin = self.builtin or other.builtin

    def tallies(self, corpora: Iterable[str]) -> Iterator[Tally]:
        """Yield every question of the corpora with all its cases, what was learnt first."""
        learnt: dict[str, Learnt] = {corpus: Learnt(self.visibility.is_causal) for corpus in corpora}
        for block in self._joined():
            learnt[block.corpus].read(block)
        found: dict[tuple[str, str], Tally] = {}
        for block in self._joined():
            add_up(found, map(tally, learnt[block.corpus].measured(block)))
        for corpus, rules in learnt.items():
            ours = [one for (of, _), one in found.items() if of == corpus]
            yield from sorted(ours, key=partial(_order, [one.question.key for one in rules.asked or ()]))
            ours = [one for (of, _), one in self.places.items() if of == corpus]
            yield from sorted(ours, key=partial(_order, ORDER))

    def _joined(self) -> Iterator[Block]:
        """Every block, small ones of a corpus as one: each costs milliseconds a question, whatever its size."""
        held: dict[str, Block] = {}
        for place in sorted(self.blocks):
            block = self.blocks[place]()
            held[block.corpus] = held.get(block.corpus, Block(block.corpus)) + block
            if len(held[block.corpus]) >= BLOCK:
                yield held.pop(block.corpus)
        yield from held.values()


def _order(keys: Sequence[str], one: Tally) -> tuple[int, str]:
    key = one.question.key
    return (keys.index(key), "") if key in keys else (len(keys), key.replace(":", " "))


def add_up(tallies: dict[tuple[str, str], Tally], found: Iterable[Tally]) -> None:
    """Add tallies to those of the same corpus and question."""
    for one in found:
        key = one.question.corpus, one.question.key
        tallies[key] = tallies[key] + one if key in tallies else one
