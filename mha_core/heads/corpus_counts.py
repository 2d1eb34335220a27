"""Counts of texts that answer every question about them; parts of them add up to the very same answers.

What any text answers by itself is counted at once. What waits for baselines that are fitted on all texts (a relation's
usual distance, GAP's logistic model) stays as what every head looked at, block by block. Both rounds add up: cases to
fit on are drawn from every block, and with the fitted baselines every block is counted by itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mha_core.arrays import FloatArray
from mha_core.engine.visibility import Visibility
from mha_core.heads.cases import Frame, ScoredCases, joined
from mha_core.heads.question_counts import Key, QuestionCounts, added_up, count_cases
from mha_core.heads.questions.links import LinkQuestions
from mha_core.heads.questions.meaning import RelatedWordQuestions
from mha_core.heads.questions.places import PlaceQuestions
from mha_core.heads.questions.pronouns import ChoiceQuestions
from mha_core.heads.questions.question_set import DrawnCases, FittedBaselines, FrameCollector, QuestionSet
from mha_core.heads.questions.syntax import RelationQuestions

BLOCK = 2048  # texts
# The questions that texts of a kind answer, in the order of the table.
QUESTION_SETS: Mapping[str, tuple[type[QuestionSet], ...]] = {
    "treebank": (RelationQuestions, RelatedWordQuestions, PlaceQuestions),
    "pronouns": (ChoiceQuestions,),
    "links": (LinkQuestions,),
    "texts": (PlaceQuestions,),
}


def question_sets(visibility: Visibility) -> dict[str, list[QuestionSet]]:
    """Return the questions that texts of each kind answer about a model."""
    return {kind: [questions(visibility) for questions in sets] for kind, sets in QUESTION_SETS.items()}


class BlockKey(NamedTuple):
    """Of which corpus and questions a block is, of which shard, and its number in that."""

    corpus: str
    questions: str
    shard: int
    number: int


class CorpusCollectors:
    """Collectors of everything that texts of one kind can answer."""

    def __init__(self, sets: Sequence[QuestionSet]) -> None:
        self.n, self.sets = 0, sets
        self.collectors = [FrameCollector(questions) for questions in sets]

    def add(self, weights: FloatArray, item: Any) -> None:
        """Collect one text; weights (layer, head, query, key) over its tokens."""
        self.n += 1
        for collector in self.collectors:
            collector.add(weights, item)

    def frames(self) -> Iterator[tuple[QuestionSet, Frame]]:
        """Yield what was collected since the last call, of texts with cases."""
        self.n, collectors = 0, self.collectors
        self.collectors = [FrameCollector(questions) for questions in self.sets]
        yield from ((each.questions, each.frame()) for each in collectors if each.rows)

    def scored(self, corpus: str) -> Iterator[ScoredCases]:
        """Yield the answers of these texts alone."""
        for questions, frame in self.frames():
            yield from questions.scored(frame, corpus)


class ShardCollector:
    """Collector of one shard, flushed every BLOCK texts."""

    def __init__(self, counts: "CorpusCounts", kind: str, number: int) -> None:
        self.counts, self.kind, self.number, self.n_blocks = counts, kind, number, 0
        self.collectors = CorpusCollectors(counts.sets[kind])

    def add(self, weights: FloatArray, item: Any) -> None:
        """Collect one text; weights (layer, head, query, key) over its tokens."""
        self.collectors.add(weights, item)
        if self.collectors.n == BLOCK:
            self.flush()

    def flush(self) -> None:
        """Hand over what was collected."""
        for questions, frame in self.collectors.frames():
            self.counts.take(
                questions, frame, BlockKey(self.kind, questions.name, self.number, self.n_blocks)
            )
        self.n_blocks += 1


class CorpusCounts:
    """Counts of texts: those `counted` by corpus and question, `blocks` that are not, by their key, each read when
    called, and what the built-in sentences answer. `orders`: by corpus and set, the questions in the table's order."""

    def __init__(self, visibility: Visibility) -> None:
        self.sets = question_sets(visibility)
        self.counted: Mapping[Key, QuestionCounts] = {}
        self.orders: dict[Key, tuple[str, ...]] = {}
        self.builtin: tuple[QuestionCounts, ...] = ()
        self.blocks: dict[BlockKey, Callable[[], Frame]] = {}

    def take(self, questions: QuestionSet, frame: Frame, key: BlockKey) -> None:
        """Take in a block of texts of one corpus."""
        if questions.fits:
            self.blocks[key] = lambda: frame
        else:
            self._count(questions.scored(frame, key.corpus))

    def merge(self, other: "CorpusCounts") -> None:
        """Add those of other texts."""
        self.counted = added_up(self.counted, other.counted.values())
        self.blocks |= other.blocks
        self.builtin = self.builtin or other.builtin

    def fitted_sets(self) -> dict[Key, QuestionSet]:
        """Return the questions whose baselines are fitted, by the corpus and their name."""
        return {(corpus, each.name): each for corpus, sets in self.sets.items() for each in sets if each.fits}

    def draw(self) -> Iterator[tuple[Key, DrawnCases]]:
        """Yield the cases of all blocks to fit baselines on, by corpus and set."""
        for key, questions in self.fitted_sets().items():
            if drawn := questions.draw_all(map(questions.draw, self._joined(*key))):
                yield key, drawn

    def fit(self) -> dict[Key, FittedBaselines]:
        """Return the baselines of these texts alone, by corpus and set."""
        sets = self.fitted_sets()
        return {key: sets[key].fit(drawn) for key, drawn in self.draw()}

    def score(self, baselines: Mapping[Key, FittedBaselines]) -> None:
        """Count all blocks, with baselines that are fitted on all texts, and let go of them."""
        sets = self.fitted_sets()
        for key, fitted in baselines.items():
            self.orders[key] = fitted.order
            for frame in self._joined(*key):
                self._count(sets[key].scored_by(fitted, frame, key[0]))
        self.blocks.clear()

    def keys(self, corpora: Iterable[str]) -> Iterator[Key]:
        """Yield what was counted of the corpora, in the order of the table."""
        for corpus in corpora:
            n = {key: 1 for name, key in self.counted if name == corpus}
            for questions in self.sets[corpus]:
                order = (
                    self.orders.get((corpus, questions.name), ()) if questions.fits else questions.order(n)
                )
                yield from ((corpus, key) for key in order)

    def _count(self, every: Iterable[ScoredCases]) -> None:
        self.counted = added_up(self.counted, map(count_cases, every))

    def _joined(self, corpus: str, questions: str) -> Iterator[Frame]:
        """Yield every block, small ones as one: each costs milliseconds a question, whatever its size."""
        frames: list[Frame] = []
        for key in sorted(self.blocks):
            if key[:2] == (corpus, questions):
                frames.append(self.blocks[key]())
                if sum(map(len, frames)) >= BLOCK:
                    yield joined(frames)
                    frames = []
        if frames:
            yield joined(frames)
