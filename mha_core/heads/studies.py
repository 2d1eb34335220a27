"""The questions that a page or the command line asks, each in one call: a corpus and a model in, tables out.

Every corpus is a stream; what can be read twice is given as a function that starts it anew. Roles come from
the corpus where it can tell, and from the built-in sentences where it cannot (a plain text has no gold
relations).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from mha_core.corpus import Choice, Reading, Sentence
from mha_core.errors import InputError
from mha_core.heads.ablation import AblationSums, AblationTable
from mha_core.heads.builtin import AGREEMENT, builtin_items, read_builtin
from mha_core.heads.copying import CopySums, count_tokens
from mha_core.heads.coreference import ChoiceCase, CoreferenceSums, CoreferenceTable, choice_case
from mha_core.heads.positions import HasTokens, PositionSums
from mha_core.heads.relations import RelationCases, RelationCounts, RelationTable, relation_cases
from mha_core.heads.roles import Role, Tables, assign_roles
from mha_core.heads.similarity import SimilaritySums, SimilarityTable
from mha_core.heads.survey import Done, Measure, Options, TextItem, every_item, survey
from mha_core.heads.words import IntArray
from mha_core.models import Model
from mha_core.tokens import Tokenizer

Source = Callable[[], Iterable[HasTokens]]


@dataclass(frozen=True)
class Study:
    """All that is known of a model's heads: the tables, and the roles that follow from them."""

    done: Done
    tables: Tables
    similarity: SimilarityTable | None

    @cached_property
    def roles(self) -> tuple[tuple[Role, ...], ...]:
        """The role of every head, roles[layer][head]."""
        return assign_roles(self.tables)


def study_relations(
    sentences: Iterable[Sentence], model: Model, options: Options | None = None
) -> tuple[RelationTable, Done]:
    """Which head finds which relation of a treebank."""
    counts = RelationCounts(model.n_layers, model.n_heads)
    done = survey(treebank_items(sentences, model.tokenizer), model, [(counts, every_item)], options)
    return counts.result(), done


def study_coreference(
    choices: Iterable[Choice], model: Model, options: Options | None = None, reading: Reading | None = None
) -> tuple[CoreferenceTable, Done]:
    """Which head chooses the right mention for a pronoun."""
    sums = CoreferenceSums(model.n_layers, model.n_heads)
    done = survey(choice_items(choices, model.tokenizer, reading), model, [(sums, every_item)], options)
    return sums.result(), done


def study_similarity(
    items: Iterable[HasTokens], model: Model, options: Options | None = None
) -> tuple[SimilarityTable, Done]:
    """Which heads look alike."""
    sums = SimilaritySums(model.n_layers, model.n_heads)
    done = survey(items, model, [(sums, every_item)], options)
    return sums.result(), done


def study_ablation(texts: Iterable[str], model: Model, options: Options | None = None) -> AblationTable:
    """How far each head moves the embedding, over texts; can be stopped, and keeps what it has."""
    options = options or Options()
    sums = AblationSums(model)
    for text in islice(texts, options.limit):
        sums.add(model.tokenizer.encode(text))
        if options.stop and options.stop():
            break
    return sums.result()


def study_builtin(
    model: Model, path: Path | None = None, options: Options | None = None, similarity: bool = True
) -> Study:
    """Everything about a model's heads that the built-in sentences can tell, in seconds."""
    sentences = read_builtin(path)
    return _study(lambda: builtin_items(sentences, model.tokenizer), model, options, similarity)


def study_corpus(
    source: Source,
    model: Model,
    path: Path | None = None,
    options: Options | None = None,
    similarity: bool = False,
) -> Study:
    """The same for a corpus that can be read twice; what it has no gold for comes from the built-in
    sentences.
    """
    found = _study(source, model, options, similarity)
    if not found.done.n_texts:
        return found
    base = study_builtin(model, path, similarity=False)
    mine, other = found.tables, base.tables
    tables = Tables(
        mine.positions,
        mine.copies,
        mine.relations or other.relations,
        mine.coreference or other.coreference,
        mine.agreement or other.agreement,
    )
    return Study(found.done, tables, found.similarity)


class _Sums:
    """All measures of one pass over a corpus, each with the items that it takes."""

    def __init__(self, model: Model, counts: IntArray) -> None:
        shape = (model.n_layers, model.n_heads)
        self.positions, self.copies = PositionSums(*shape), CopySums(*shape, counts)
        self.similarity, self.relations = SimilaritySums(*shape), RelationCounts(*shape)
        self.coreference, self.agreement = CoreferenceSums(*shape), CoreferenceSums(*shape)

    def measures(self, similarity: bool) -> list[tuple[Measure, Callable[[Any], bool]]]:
        found: list[tuple[Measure, Callable[[Any], bool]]] = [
            (self.positions, every_item),
            (self.copies, every_item),
            (self.relations, lambda item: isinstance(item, RelationCases)),
            (self.coreference, lambda item: isinstance(item, ChoiceCase) and item.kind not in AGREEMENT),
            (self.agreement, lambda item: isinstance(item, ChoiceCase) and item.kind in AGREEMENT),
        ]
        return [*found, (self.similarity, every_item)] if similarity else found

    def study(self, done: Done) -> "Study":
        tables = Tables(
            self.positions.result(),
            self.copies.result(),
            self.relations.result() if self.relations.n_sentences else None,
            self.coreference.result() if self.coreference.n else None,
            self.agreement.result() if self.agreement.n else None,
        )
        return Study(done, tables, self.similarity.result() if self.similarity.n_texts else None)


def _study(source: Source, model: Model, options: Options | None, similarity: bool) -> Study:
    options = options or Options()
    texts = (item.tokens for item in islice(source(), options.limit))
    sums = _Sums(model, count_tokens(texts, model.tokenizer.vocab_size))
    return sums.study(survey(source(), model, sums.measures(similarity), options))


def treebank_items(sentences: Iterable[Sentence], tokenizer: Tokenizer) -> Iterator[RelationCases]:
    """Treebank sentences as items."""
    return (relation_cases(sentence, tokenizer) for sentence in sentences)


def text_items(
    texts: Iterable[tuple[int, str]], tokenizer: Tokenizer, reading: Reading | None = None
) -> Iterator[TextItem]:
    """Plain texts (with their lines) as items; one without a token is refused or skipped as the reading says."""
    reading = reading or Reading()
    for line, text in texts:
        try:
            yield TextItem(tokenizer.encode(text))
        except InputError as flaw:
            reading.broken(line, str(flaw))


def choice_items(
    choices: Iterable[Choice], tokenizer: Tokenizer, reading: Reading | None = None
) -> Iterator[ChoiceCase]:
    """Choices as items; one that the model cannot read whole is refused or skipped as the reading says."""
    reading = reading or Reading()
    for choice in choices:
        try:
            yield choice_case(choice, tokenizer)
        except InputError as flaw:
            reading.broken(choice.line, str(flaw))
