"""Why does a head look there? The parts of the chosen link's score, the heads among them, and the weight without them.

In: what is chosen and the way back of the address. Out: what the picture says and draws of it; None where the question
cannot be asked. It is computed when it is asked for, and kept.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mha_core import (
    AttentionRecord,
    Grid,
    InputError,
    Model,
    TransformersModel,
    mlp_sources,
    score_attribution,
    weight_without_head,
)
from mha_core.causal import mean_steps
from mha_core.causal.mlp_sources import Side
from mha_core.display_names import Head, head_name
from mha_core.draw.text import indexed, spelled
from pages.parts.explore import why_text
from pages.parts.explore.walk import MOST, Step, params_of, steps_of, tokens_of, unit_of
from pages.parts.frame import loading
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import work
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.serve import cache
from pages.parts.serve.jobs import JOBS, MODEL

if TYPE_CHECKING:
    import pandas as pd

SHOWN, KEPT = 3, 20  # of a link's parts
Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What is asked about the link of a step: the tokens of the link, from 0, and the names of all tokens."""

    request: Request
    used: Model
    record: AttentionRecord
    grid: Grid
    step: Step
    query: int
    key: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, request: Request, used: Model, record: AttentionRecord, grid: Grid, step: Step) -> "Asked":
        """The question about one step."""
        names = indexed(spelled(record.grid(), record.tokens)["names"])
        return cls(request, used, record, grid, step, *tokens_of(step, record, grid), tuple(names))

    @property
    def link(self) -> dict[str, Any]:
        """As the library's functions take it."""
        return {"head": head_name(self.step.head), "query": self.query, "key": self.key}

    def token(self, side: Side) -> int:
        """The token of that side."""
        return self.query if side == "query" else self.key

    def kept(self, part: tuple[Any, ...], make: Callable[[], "pd.DataFrame"]) -> list[Row]:
        """The rows of an answer of the library, computed once for all readers."""

        def rows() -> list[Row]:
            with MODEL:
                found: list[Row] = make().to_dict("records")
                return found

        return cache.of_run(self.request.run, self.used, (*part, *self.link.values()), rows)


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
    asked = Asked.of(request, used, record, grid, steps[-1])
    rows = _parts(asked)
    return {
        "of": chosen.as_json(),
        "asked": params_of(steps)["why"],
        "way": [{"name": one.name, "go": params_of(steps[: at + 1])} for at, one in enumerate(steps)],
        "said": _said(asked, rows),
        "tokens": why_text.tokens_said(grid, steps[-1], asked.query, asked.key, asked.names),
        "parts": [_part(asked, row, steps, without) for row in rows[:SHOWN]],
    }


def _parts(asked: Asked) -> list[Row]:
    """The largest parts of the link's score, or of an MLP's part of it: side, part, layer and head from 1, score and
    share."""
    step, tokens = asked.step, asked.record.tokens

    def make() -> "pd.DataFrame":
        if step.mlp is None:
            frame = score_attribution(tokens, asked.used, **asked.link)
        else:
            frame = mlp_sources(tokens, asked.used, **asked.link, mlp=step.mlp, side=step.side)
            share = frame.fall / (frame.attrs["score"] or math.nan)
            frame = frame.assign(side=step.side, part="head", score=frame.fall, share=share)
        order = np.argsort(-frame.score.abs(), kind="stable")[:KEPT]
        return frame.fillna({"layer": 0, "head": 0}).iloc[order]

    return asked.kept(("why", step.mlp, step.side), make)


def _said(asked: Asked, rows: Sequence[Row]) -> str:
    """The finding: what made the link, or what the MLP needed."""
    step, names = asked.step, asked.names
    if step.mlp is not None:
        shown = [(why_text.name_of(row), names[_source(asked, row)[0]], row["share"]) for row in rows[:SHOWN]]
        return why_text.needed(step.mlp, shown)
    if step.head[0] == 0:
        return why_text.first_layer(step.name, names[asked.query], names[asked.key])
    best, source = max(rows, key=lambda row: float(row["score"])), None
    if best["part"] == "head":
        token, weight = _source(asked, best)
        source = (names[token], token - asked.token(best["side"]), weight)
    return why_text.because(step.name, best, names[asked.query], names[asked.key], source)


def head_of(row: Row) -> Head:
    """The head that wrote a part, from 0."""
    return int(row["layer"]) - 1, int(row["head"]) - 1


def _source(asked: Asked, row: Row) -> tuple[int, float]:
    """The token that a head among the parts looks at most, from the one into which it wrote, and its weight."""
    weights = asked.record.weights[head_of(row)][asked.token(row["side"])]
    token = int(weights.argmax())
    return token, float(weights[token])


def _part(asked: Asked, row: Row, steps: Sequence[Step], without: str) -> dict[str, Any]:
    """One bar: what wrote, where, how much, and for a head what it looks at there and where a press leads."""
    side, name = row["side"], why_text.name_of(row)
    token = asked.token(side)
    said = {
        "name": name,
        "side": f"{side} “{asked.names[token]}”",
        "score": row["score"],
        "number": why_text.number(row["score"], row["share"]),
    }
    goes_on = len(steps) < MOST
    if row["part"] == "mlp" and goes_on:
        mlp = replace(asked.step, mlp=int(row["layer"]), side=side)
        return said | {"go": params_of([*steps, mlp]), "does": f"Which heads did {name} need?"}
    if row["part"] != "head":
        return said
    key, weight = _source(asked, row)
    said |= {
        "looks": why_text.looks(asked.names[key], weight),
        "without": _without(asked, name, side, without),
    }
    units = unit_of(token, asked.grid), unit_of(key, asked.grid)
    if units[0] is None or units[1] is None:
        return said
    onward = params_of([*steps, Step(head_of(row), units[0], units[1])])
    return said | {"link": [*units, weight], "go": onward, "does": f"Why does {name} look there?"}


def _without(asked: Asked, head: str, side: Side, measured: str) -> dict[str, Any]:
    """The button that measures the link without a head, and where it was pressed what came out."""
    if measured != head:
        return {"asks": head}
    means = means_known(asked.used)
    rows = asked.kept(
        ("without", head, means),
        lambda: weight_without_head(asked.record.tokens, asked.used, **asked.link, without=head, means=means),
    )
    return {"said": why_text.without(rows, head, side, asked.names[asked.token(side)])}


# ---- mean outputs, which are found once for a model
def means_known(used: Model) -> bool:
    """Whether mean ablation has its means."""
    job = JOBS.peek(_means_of(used))
    return bool(job and job.finished and not job.problem)


def find_means(shown: Mapping[str, Any] | None, used: Model) -> None:
    """Where a head was taken away, find the means, with progress; the page is run again when they are there."""
    measured = any("said" in part.get("without", ()) for part in (shown or {}).get("parts", ()))
    if measured and not means_known(used):
        work(
            _means_of(used), lambda: mean_steps(used), lambda _: None, unit="sentences read for mean ablation"
        )


def _means_of(used: Model) -> tuple[str, ...]:
    """The name of the work, which Experiment shares."""
    return ("means", used.name, used.fingerprint)
