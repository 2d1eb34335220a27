"""Heads by how well they do one job, in one call: `rank_job("subject-verb", model)[0].name`.

In: a job's name (jobs.py) and a model. Out: all heads, the best first, each with its baseline and its verdict.
"""

from dataclasses import dataclass

from mha_core.errors import InputError
from mha_core.heads.studies import study_builtin
from mha_core.heads.survey import Options
from mha_core.model import Model
from mha_core.wording import head_name


@dataclass(frozen=True)
class HeadForJob:
    """A head as a person reads it ("4-2"): the share of `n` cases in which it does the job, what the best simple rule
    reaches, and whether that makes it a specialist (verdict.py)."""

    name: str
    score: float
    baseline: float
    n: int
    verdict: str


def rank_job(job: str, model: Model, options: Options | None = None) -> tuple[HeadForJob, ...]:
    """All heads by their score on the built-in sentences, the best first: a relation ("determiner", "subject-verb"), a
    place ("previous", "next"), a choice ("coreference"), "rare", "copy", "induction" and the others of `JOBS`.
    `options`: a limit of sentences, progress, and a way to stop.

    Raises InputError for a job that is none, or that this model's heads cannot have.
    """
    tables = study_builtin(model, options=options, similarity=False).tables.jobs
    if job not in tables:
        raise InputError(f"'{str(job)[:40]}' is no job of {model.title}'s heads; choose {', '.join(tables)}.")
    table = tables[job]
    return tuple(
        HeadForJob(head_name(head), float(table.score[head]), table.baseline, table.n, table.verdict(*head))
        for head in table.order()
    )
