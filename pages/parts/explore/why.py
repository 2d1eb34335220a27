"""Why does a head look there? The parts of the chosen link's score, the heads among them, and the weight without them.

In: what is chosen and the way back of the address. Out: what the picture says and draws of it; None where the question
cannot be asked. It is computed when it is asked for, and kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mha_core import (
    AttentionRecord,
    Grid,
    InputError,
    Model,
    TransformersModel,
    mlp_sources,
    weight_without,
    why,
)
from mha_core.experiments import mean_steps
from mha_core.mlp_sources import Side
from mha_core.picture.text import indexed, spelled
from mha_core.wording import Head, head_name
from pages.parts.explore import why_text
from pages.parts.explore.walk import MOST, Step, looked_at, params_of, steps_of, tokens_of, unit_of
from pages.parts.frame import loading
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import work
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.serve import cache
from pages.parts.serve.jobs import JOBS, MODEL

SHOWN = 3


@dataclass(frozen=True)
class Link:
    """The link of a step as it is computed: tokens from 0, and the names of all tokens for a sentence."""

    step: Step
    query: int
    key: int
    names: tuple[str, ...]

    @property
    def args(self) -> dict[str, Any]:
        """As the library's functions take it."""
        return {"head": head_name(self.step.head), "query": self.query, "key": self.key}

    def token(self, side: Side) -> int:
        """The token of that side."""
        return self.query if side == "query" else self.key


def offered(request: Request, used: Model) -> bool:
    """Whether the question can be asked: of weights as they are, of a model whose inside is known."""
    return request.raw and request.specials != "renormalised" and not isinstance(used, TransformersModel)


def settle(
    request: Request, grid: Grid, asked: dict[str, str], moved: dict[str, str]
) -> tuple[tuple[Step, ...], dict[str, str], dict[str, str]]:
    """The steps that the address asks for, its parameters as they are meant, and those that it has to say otherwise:
    where the words have moved no step is left, and a way that leaves out its link chooses it.

    What is refused is said, and nothing else is lost.
    """
    if not asked.get("why"):
        return (), asked, moved
    if moved:
        return (), asked, {**moved, "why": "", "without": ""}
    try:
        if not offered(request, loading.model(request)):
            raise InputError("“Why?” needs raw attention of a model whose inside is known.")
        steps = steps_of(asked["why"], grid)
    except InputError as error:
        say(str(error), "notice")
        return (), asked, moved
    if "pin" in asked:
        return steps, asked, moved
    return steps, {**asked, **steps[-1].link}, steps[-1].link


def of_choice(
    request: Request,
    record: AttentionRecord,
    grid: Grid,
    chosen: Selection,
    steps: Sequence[Step],
    without: str,
) -> dict[str, Any] | None:
    """What the picture says: that it can be asked, and where it is, the answer."""
    used = loading.model(request)
    if not offered(request, used):
        return None
    if not steps or not steps[-1].is_of(chosen):
        return {"of": None}
    step = steps[-1]
    pieces = record.grid()
    names = tuple(indexed(spelled(pieces, record.tokens)["names"]))
    link = Link(step, *tokens_of(step, record, grid), names)
    table = _answer(request, used, record, link)
    top = table.head(SHOWN)
    return {
        "of": chosen.as_json(),
        "asked": params_of(steps)["why"],
        "way": [{"name": one.name, "go": params_of(steps[: at + 1])} for at, one in enumerate(steps)],
        "said": _said(record, link, table),
        "tokens": why_text.tokens_said(grid, step, link.query, link.key, names),
        "parts": [
            _part(request, used, record, grid, link, row, steps, without) for row in top.to_dict("records")
        ],
    }


def _answer(request: Request, used: Model, record: AttentionRecord, link: Link) -> pd.DataFrame:
    """A row a part, the largest first: side, part, layer, head (0 where there is none), score and share."""
    step = link.step
    frame = _kept(request, used, record, link, ("why", step.mlp, step.side))
    return frame.iloc[np.argsort(-frame.score.abs(), kind="stable")]


def _kept(
    request: Request, used: Model, record: AttentionRecord, link: Link, part: tuple[Any, ...]
) -> pd.DataFrame:
    """One answer of the library, computed once for all readers."""
    step, tokens = link.step, record.tokens

    def make() -> pd.DataFrame:
        with MODEL:
            if part[0] == "without":
                return weight_without(tokens, used, **link.args, without=part[1], means=part[2])
            if step.mlp is None:
                return why(tokens, used, **link.args).fillna({"layer": 0, "head": 0})
            frame = mlp_sources(tokens, used, **link.args, mlp=step.mlp, side=step.side)
        share = frame.fall / frame.attrs["score"]
        return frame.assign(side=step.side, part="head", score=frame.fall, share=share)

    return cache.of_run(request.run, used, (*part, *link.args.values()), make)


def _said(record: AttentionRecord, link: Link, table: pd.DataFrame) -> str:
    """The finding: what made the link, or what the MLP needed."""
    if link.step.mlp is not None:
        heads = table[table.share > 0].head(SHOWN)
        looks = [
            (
                head_name((layer - 1, head - 1)),
                link.names[_source(record, link, link.step.side, (layer - 1, head - 1))[0]],
            )
            for layer, head in zip(heads.layer, heads["head"], strict=True)
        ]
        return why_text.needed(link.step.mlp, looks)
    best = table.loc[table.score.idxmax()]
    if link.step.head[0] == 0:
        return why_text.first_layer(head_name(link.step.head), link.names[link.query], link.names[link.key])
    source = None
    if best.part == "head":
        token, weight = _source(record, link, best.side, (best.layer - 1, best["head"] - 1))
        source = (link.names[token], token - link.token(best.side), weight)
    return why_text.because(link.step, best, link.names[link.query], link.names[link.key], source)


def _source(record: AttentionRecord, link: Link, side: Side, head: Head) -> tuple[int, float]:
    """What a head among the parts looks at most, from the token into which it wrote."""
    return looked_at(head, link.token(side), record)


def _part(
    request: Request,
    used: Model,
    record: AttentionRecord,
    grid: Grid,
    link: Link,
    row: Mapping[str, Any],
    steps: Sequence[Step],
    without: str,
) -> dict[str, Any]:
    """One bar: what wrote, where, how much, and for a head what it looks at there and where a press leads."""
    side, token = row["side"], link.token(row["side"])
    said = {
        "name": why_text.name_of(row, link.names[token]),
        "side": f"{side} “{link.names[token]}”",
        "score": row["score"],
        "number": why_text.number(row["score"], row["share"]),
    }
    goes_on = len(steps) < MOST
    if row["part"] == "mlp" and goes_on:
        asked = replace(link.step, mlp=int(row["layer"]), side=side)
        return said | {"go": params_of([*steps, asked]), "does": f"Which heads did MLP {row['layer']} need?"}
    if row["part"] != "head":
        return said
    head = (int(row["layer"]) - 1, int(row["head"]) - 1)
    key, weight = _source(record, link, side, head)
    query, to = unit_of(token, grid), unit_of(key, grid)
    said["looks"] = why_text.looks(link.names[key], weight)
    said["without"] = _without(request, used, record, link, head, side, without)
    if query is None or to is None:
        return said
    said["link"] = [query, to, weight]
    if goes_on:
        said |= {
            "go": params_of([*steps, Step(head, query, to)]),
            "does": f"Why does {head_name(head)} look there?",
        }
    return said


def _without(
    request: Request, used: Model, record: AttentionRecord, link: Link, head: Head, side: Side, asked: str
) -> dict[str, Any]:
    """The button that measures the link without a head, and where it was pressed what came out."""
    name = head_name(head)
    if asked != name:
        return {"asks": name}
    frame = _kept(request, used, record, link, ("without", name, means_known(used)))
    return {"said": why_text.without(frame, name, side, link.names[link.token(side)])}


# ---- mean outputs, which are found once for a model
def means_known(used: Model) -> bool:
    """Whether mean ablation has its means."""
    job = JOBS.peek(_means_of(used))
    return bool(job and job.finished and not job.problem)


def find_means(shown: Mapping[str, Any] | None, used: Model) -> None:
    """Where a head was taken away, find the means behind the page, with progress; it is run again when they are there."""
    measured = any("said" in part.get("without", ()) for part in (shown or {}).get("parts", ()))
    if measured and not means_known(used):
        work(
            _means_of(used), lambda: mean_steps(used), lambda _: None, unit="sentences read for mean ablation"
        )


def _means_of(used: Model) -> tuple[str, ...]:
    """The name of the work, which Experiment shares."""
    return ("means", used.name, used.fingerprint)
