"""One job on one text, as the page speaks of it: the same for real text and for the built-in sentences.

In: an entry of the shipped evidence, or a table of the built-in sentences. Out: a `Sheet` with every head's score, the
best head, what it is held against and the verdict, and the sentence that concludes from them. No Streamlit here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mha_core.heads.findings import Findings
from mha_core.heads.job_table import JobTable
from mha_core.heads.jobs import KIND_OF, JobKind, gold_of
from mha_core.heads.verdict import DOES
from mha_core.heads.verdicts.entries import Entry
from mha_core.heads.verdicts.making import BUILT_IN
from mha_core.heads.verdicts.measured import APART, BACK, RELATED, RELATED_BY
from mha_core.heads.verdicts.table import Verdicts
from mha_core.heads.words import FloatArray
from mha_core.shelf import EMBEDDED
from mha_core.wording import Head, counted, head_name, percent

BUILTIN = "built-in sentences"
SAID = {
    "specialist": "specialist",
    "rule": "a simple rule does as well",
    "unsure": "not sure",
    "none": "no",
}
# Kinds of which the name alone says what the head does there.
RESTS = frozenset(("separator", "sink"))
# What real text is asked under another name than the built-in sentences are.
OTHER_NAME = {"coreference": "antecedent", "separator": "rest-begin"}


@dataclass(frozen=True, eq=False)
class Sheet:
    """All heads in one job on one text. Shares from 0 to 1; `heads` and `words` are (layer, head).

    `held_out` is the score on the half of the cases on which the head was not chosen, `chosen_on` that on the other;
    both are None where the halves were not told apart, and `score` is over all cases. `rule`: the strongest simple one.
    `again`: it stands among those of real text, and was asked of the built-in sentences, with other controls.
    """

    key: str
    kind: JobKind
    title: str
    name: str
    question: str
    where: str
    n: int
    heads: FloatArray
    words: np.ndarray
    best: Head
    score: float
    low: float
    high: float
    held_out: float | None
    chosen_on: float | None
    rule: float
    rule_name: str
    control: float | None
    control_name: str
    word: str
    because: str
    equals: tuple[Head, ...] = ()
    others: tuple[tuple[str, float, int], ...] = ()
    controls: FloatArray | None = None
    table: JobTable | None = None
    again: bool = False

    @property
    def shown(self) -> float:
        """The score that is said of the best head: the held-out one where there is one."""
        return self.score if self.held_out is None else self.held_out

    def rank(self, head: Head) -> int:
        """The place of a head among all, from 1."""
        return 1 + int((self.heads > self.heads[head]).sum())

    def does(self, head: Head) -> bool:
        """Does this head do the job, by the verdict on it?"""
        return str(self.words[head]) in DOES

    def letter(self, head: Head) -> str:
        """The letter of the kind for a head that does the job."""
        return self.kind.letter if self.does(head) else ""


def real_sheets(found: Verdicts) -> tuple[Sheet, ...]:
    """Every entry of the evidence from real text, in its order."""
    return tuple(of_entry(entry, found) for entry in found.entries)


def of_entry(entry: Entry, found: Verdicts) -> Sheet:
    """An entry of the shipped evidence."""
    low, high = entry.interval
    return Sheet(
        key=f"real:{entry.key}",
        kind=KIND_OF[entry.kind],
        title=entry.name if entry.kind in RESTS else entry.title,
        name=entry.name,
        question=entry.question,
        where=found.corpora[entry.corpus].title,
        n=entry.n,
        heads=entry.heads,
        words=entry.words,
        best=entry.head,
        score=entry.score,
        low=low,
        high=high,
        held_out=entry.held_out,
        chosen_on=entry.chosen,
        rule=entry.baseline,
        rule_name=entry.baseline_name,
        control=entry.control,
        control_name=entry.control_name,
        word=entry.verdict.word,
        because=entry.verdict.because,
        equals=entry.equals,
        others=tuple((one.name, one.score, one.n) for one in entry.substitutes),
        controls=entry.controls,
        again=entry.corpus == BUILT_IN,
    )


def builtin_sheets(found: Findings) -> tuple[Sheet, ...]:
    """Every job of the built-in sentences, in the order of the catalogue."""
    return tuple(of_table(table) for table in found.jobs.values())


def of_table(table: JobTable) -> Sheet:
    """A job of the built-in sentences."""
    best, job = table.order()[0], table.job
    verdict = table.verdicts[best]
    words = np.array([one.word for one in table.verdicts.values()])
    return Sheet(
        key=f"job:{job.name}",
        kind=KIND_OF[job.kind],
        title=job.title,
        name=job.title,
        question=f"Correct when {job.does}.",
        where="random tokens said twice" if job.repeated else BUILTIN,
        n=table.n,
        heads=table.score,
        words=words.reshape(table.score.shape),
        best=best,
        score=float(table.score[best]),
        low=float(table.low[best]),
        high=float(table.high[best]),
        held_out=None,
        chosen_on=None,
        rule=table.baseline,
        rule_name=table.baseline_name,
        control=None if table.control is None else float(table.control[best]),
        control_name=job.control,
        word=verdict.word,
        because=verdict.because,
        controls=table.control,
        table=table,
    )


def word_said(sheet: Sheet, word: str) -> str:
    """A verdict in words. That the built-in sentences show no head alone is nothing that can be said of all text."""
    return "not on these sentences" if word == "none" and sheet.table is not None else SAID[word]


def with_key(sheets: Sequence[Sheet], key: str) -> Sheet | None:
    """The sheet of that key."""
    return next((sheet for sheet in sheets if sheet.key == key), None)


def counterpart(sheet: Sheet, others: Sequence[Sheet]) -> Sheet | None:
    """The sheet of the same job on the other text: on built-in sentences for one of real text, and back."""
    mine = _asked(sheet)
    return next((other for other in others if mine is not None and _asked(other) == mine), None)


def _asked(sheet: Sheet) -> tuple[str, bool] | None:
    """What a job asks, by the same name on both texts, and whether it reads it backwards."""
    if sheet.table is not None:
        job = sheet.table.job
        back = job.direction == "column" or job.from_head
        if job.kind == "syntactic":
            return gold_of(job)[0], back
        return OTHER_NAME.get(job.kind, job.name.split(",")[0]), back
    name = sheet.key.removeprefix("real:")
    return name.removesuffix(BACK), name.endswith(BACK)


def conclusion(sheet: Sheet) -> str:
    """What follows for a job, in one sentence with everything it rests on."""
    best, interval = head_name(sheet.best), f"95 % interval {percent(sheet.low)} to {percent(sheet.high)}"
    of = "of the possible entropy in" if sheet.kind.key == "broad" else "of"
    scored = f"{percent(sheet.shown)} {of} {counted(sheet.n, 'case')} in {sheet.where} ({interval})"
    if sheet.chosen_on is not None:
        scored = (
            f"{percent(sheet.shown)} where it was not chosen ({interval}) and {percent(sheet.chosen_on)} where it was, "
            f"in two halves of {sheet.n:,} cases of {sheet.where}"
        )
    control = "" if sheet.control is None else f"; control: {sheet.control_name} {percent(sheet.control)}"
    return (
        f"Best is head {best}: {scored}. The strongest simple rule, {sheet.rule_name}, reaches {percent(sheet.rule)}"
        f"{control}. Verdict: {word_said(sheet, sheet.word)} ({sheet.because})."
    )


def firm(text: str) -> str:
    """The same with every number held to its percent sign, so that no line breaks between them."""
    return text.replace(" %", "\u00a0%")


def related_by(sheet: Sheet, model: str) -> str:
    """What tells that two words are related, since no head may."""
    if sheet.table is not None:
        return (
            "The pairs of nouns were chosen by hand. Each noun is the related one in two sentences and the other one "
            "in two, and first in half of them: frequency and place are right in half of the cases."
        )
    circle = (
        "These heads read the same embeddings, so a head that matches like with like is right by it: for MiniLM this "
        "says where such a head looks, not that it knows what words mean"
        if model.split("@")[0] == EMBEDDED
        else "These embeddings are another model's, so the heads are not asked for what they were given"
    )
    if sheet.key.endswith(APART):
        circle += ". Apart: neither word depends on the other in the tree, nor stands beside it"
    return (
        f"Related is told by no head but by the {RELATED_BY} ({RELATED} at least, which one pair of words in a hundred "
        f"has). {circle}. Forms of one word are no candidates."
    )
