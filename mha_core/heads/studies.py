"""The questions that a page or the command line asks, each in one call: a corpus and a model in, tables out.

Every corpus is a stream; what can be read twice is given as a function that starts it anew. Roles come from
the corpus where it can tell, and from the built-in sentences where it cannot (a plain text has no gold
relations).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from mha_core.heads.builtin import read_builtin
from mha_core.heads.copying import count_tokens
from mha_core.heads.corpora import Sentence
from mha_core.heads.corpus_sums import BY_KEY, CORPUS_MEASURES, shape_of
from mha_core.heads.evidence import EvidenceLog
from mha_core.heads.items import treebank_items
from mha_core.heads.job_table import JobTable
from mha_core.heads.positions import HasTokens
from mha_core.heads.relation_table import RelationTable
from mha_core.heads.repeated import RepeatedSums, RepeatedTable, is_repeated, repeated_samples
from mha_core.heads.roles import Role, Tables, assign_roles
from mha_core.heads.samples import Sample, related_samples, samples
from mha_core.heads.similarity import SimilarityTable
from mha_core.heads.survey import Done, Measure, Options, every_item, survey
from mha_core.heads.verdicts.shipped import read_evidence
from mha_core.heads.words import FloatArray, IntArray
from mha_core.model import Model

Source = Callable[[], Iterable[HasTokens]]


@dataclass(frozen=True)
class Study:
    """All that is known of a model's heads: the tables, and the roles that follow from them. `repeated`: what they
    do with random tokens said twice.
    """

    done: Done
    tables: Tables
    similarity: SimilarityTable | None
    repeated: RepeatedTable | None = None

    @cached_property
    def roles(self) -> tuple[tuple[Role, ...], ...]:
        """The role of every head, roles[layer][head]."""
        return assign_roles(self.tables)


def study_items(
    key: str, items: Iterable[HasTokens], model: Model, options: Options | None = None
) -> tuple[Any, Done]:
    """One measure over a corpus, by its key in CORPUS_MEASURES: its table, and how much was read."""
    measure = BY_KEY[key]
    none = np.zeros(model.tokenizer.largest_id + 1, dtype=np.int64)
    sums = measure.start(shape_of(model), none)
    done = survey(items, model, [(sums, measure.takes)], options)
    return sums.result(), done


def study_relations(
    sentences: Iterable[Sentence], model: Model, options: Options | None = None
) -> tuple[RelationTable, Done]:
    """Which head finds which relation of a treebank."""
    return study_items("relations", treebank_items(sentences, model.tokenizer), model, options)


def study_builtin(
    model: Model, path: Path | None = None, options: Options | None = None, similarity: bool = True
) -> Study:
    """Everything about a model's heads that the built-in sentences can tell, in seconds; with the verdicts on real text
    where they come with the program."""
    options = options or Options()
    sentences = list(samples(islice(read_builtin(path), options.limit), model))
    counts = count_tokens((one.tokens for one in sentences), model.tokenizer.largest_id + 1)
    sums = _Sums(model, counts, similarity)
    log = EvidenceLog(model.n_layers, model.n_heads, model.is_causal)
    repeated = RepeatedSums()
    measures: list[tuple[Measure, Callable[[Any], bool]]] = [
        (_OfTheItem(measure), partial(_of_the_item, takes)) for measure, takes in sums.measures()
    ]
    done = survey(sentences, model, [*measures, (log, every_item)], options)
    found = sums.study(done, _with_repeated(log, model, repeated, stopped=done.stopped))
    real = read_evidence(model.name, model.digest) if path is None and model.info.trained else None
    tables = replace(found.tables, real=real)
    return replace(found, tables=tables, repeated=repeated.result() if repeated.n_texts else None)


def _with_repeated(
    log: EvidenceLog, model: Model, sums: RepeatedSums, stopped: bool
) -> Mapping[str, JobTable]:
    """The jobs, with those of random tokens said twice and of related words, unless the reader has stopped before."""
    if not stopped:
        more = chain(repeated_samples(model), related_samples(model))
        survey(more, model, [(log, every_item), (sums, is_repeated)])
    return log.result()


def _of_the_item(takes: Callable[[Any], bool], one: Sample) -> bool:
    return one.item is not None and takes(one.item)


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
    own = {
        "syntactic": mine.relations,
        "coreference": mine.coreference,
        "agreement": mine.agreement,
    }
    lacking = {kind for kind, table in own.items() if table is None}
    tables = Tables(
        mine.positions,
        mine.copies,
        mine.relations or other.relations,
        mine.coreference or other.coreference,
        mine.agreement or other.agreement,
        {name: table for name, table in other.jobs.items() if table.job.kind in lacking},
    )
    return Study(found.done, tables, found.similarity, base.repeated)


class _Sums:
    """All measures of one pass over a corpus, each with the items that it takes."""

    def __init__(self, model: Model, counts: IntArray, similarity: bool) -> None:
        shape = shape_of(model)
        wanted = [each for each in CORPUS_MEASURES if similarity or each.key != "similarity"]
        self.sums = {each.key: each.start(shape, counts) for each in wanted}
        self.seen = dict.fromkeys(self.sums, 0)

    def measures(self) -> list[tuple[Measure, Callable[[Any], bool]]]:
        return [(sums, partial(self._takes, key)) for key, sums in self.sums.items()]

    def _takes(self, key: str, item: object) -> bool:
        takes = BY_KEY[key].takes(item)
        self.seen[key] += takes
        return takes

    def study(self, done: Done, jobs: Mapping[str, JobTable] | None = None) -> "Study":
        """The tables of what was seen; positions and copies always have one."""
        found = {
            key: sums.result()
            for key, sums in self.sums.items()
            if self.seen[key] or key in ("positions", "copies")
        }
        similarity = found.pop("similarity", None)
        return Study(done, Tables(**found, jobs=jobs or {}), similarity)


def _study(source: Source, model: Model, options: Options | None, similarity: bool) -> Study:
    options = options or Options()
    texts = (item.tokens for item in islice(source(), options.limit))
    sums = _Sums(model, count_tokens(texts, model.tokenizer.largest_id + 1), similarity)
    return sums.study(survey(source(), model, sums.measures(), options))


class _OfTheItem:
    """A measure of any corpus, fed with samples."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure

    def add(self, weights: FloatArray, one: Sample) -> None:
        self.measure.add(weights, one.item)
