"""Which atlas the page shows: the one that comes with the program, or one that was made here. In: a request. Out: a
`Source`."""

from dataclasses import dataclass

import streamlit as st

from mha_core import Model
from mha_core.experiments import Part
from mha_core.families.bert import SPECIALS
from mha_core.heads.atlas.reader import read_reader
from mha_core.heads.atlas.reading import read_passages
from mha_core.heads.atlas.shipped import Shipped
from mha_core.heads.atlas.sums import AtlasSums
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.shelf import EMBEDDED
from mha_core.wording import counted
from pages.parts.frame import head_facts, loading
from pages.parts.frame.links import model_in_link
from pages.parts.frame.progress import begin_job, time_left, watch
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.shell import or_show_error
from pages.parts.serve import cache
from pages.parts.serve.jobs import JOBS, Job, Parts

TEXT = "the project's own reader"
FIRST = "the first token"


@dataclass(frozen=True, eq=False)
class Source:
    """An atlas, its model, and what more is known of it."""

    atlas: Atlas
    model: str
    more: Shipped
    rests_on: str  # where the heads rest, in words
    trained: bool = True

    @property
    def query(self) -> dict[str, str]:
        """What every link keeps: the model and its weights, where they are not the standard."""
        return {"model": model_in_link(self.model), **({} if self.trained else {"weights": "untrained"})}


def source(request: Request) -> Source | None:
    """What there is to show of a model; None where no numbers come with it and none were made."""
    there = head_facts.shipped_atlas(request.model, request.trained)
    if there is not None:
        framed = request.model == EMBEDDED
        rests_on = f"{SPECIALS.begin} or {SPECIALS.separator}" if framed else FIRST
        return Source(there.atlas, request.model, there, rests_on)
    used = loading.at_hand(request.model, request.trained)
    job = None if used is None else JOBS.peek(job_key(used))
    if used is None or job is None or not job.finished or job.problem or job.step is None:
        return None
    sums: AtlasSums = job.step.result
    found: Atlas = cache.of_model(used, "atlas", lambda: atlas(sums))
    rests_on = FIRST if used.is_causal else " or ".join(used.tokenizer.special_names)
    return Source(found, request.model, Shipped(found, used.digest), rests_on, request.trained)


def offer(request: Request) -> None:
    """Where no atlas comes with a model: let its heads read the same passages here, and say how far that is."""
    used = or_show_error(loading.model, request)
    if used is None:
        return
    key = job_key(used)
    job = JOBS.peek(key)
    if job is not None:
        watch(JOBS, job, "atlas", _how_far)
        return
    weights = "" if request.trained else " with random weights"
    say(f"No atlas comes with {title_of(request.model)}{weights}. Make one here, from {TEXT}.", "notice")
    st.button("Make it", key="atlas-make", on_click=begin_job, args=(key, lambda: _parts(used)))


def job_key(used: Model) -> tuple[str, ...]:
    """Under which readers share the making of an atlas."""
    return ("atlas", used.name, used.fingerprint)


def _parts(used: Model) -> Parts[AtlasSums]:
    lines = [passage.text for passage in read_reader()]
    for part in read_passages(lines, used):
        yield Part(part.n / len(lines), part.n, part.sums)


def _how_far(job: Job[AtlasSums]) -> str:
    return f"{counted(job.step.n if job.step else 0, 'passage')} read{time_left(job)}"
