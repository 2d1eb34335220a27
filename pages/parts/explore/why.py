"""Why does a head look there? What the chosen link's score is made of, and its weight without a head among the parts.

In: what is chosen and the steps back of the address. Out: what the picture says and draws of it; None where the
question cannot be asked. It is computed on demand, and cached.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mha_core import InputError, Model, TransformersModel, mlp_sources, score_attribution, weight_without_head
from mha_core.causal import mean_steps
from mha_core.causal.mlp_sources import Side
from mha_core.display_names import Head, head_name
from mha_core.draw.text import indexed, spelled
from pages.parts.explore import why_text
from pages.parts.explore.walk import MAX_STEPS, Step, params_of, steps_of, tokens_of, unit_of
from pages.parts.frame.context import Context
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import show_job
from pages.parts.serve import cache
from pages.parts.serve.jobs import JOBS, MODEL

if TYPE_CHECKING:
    import pandas as pd

SHOWN, CACHED = 3, 20  # parts of each side
SIDES: tuple[Side, Side] = ("query", "key")
Row = dict[str, Any]


@dataclass(frozen=True)
class LinkQuestion:
    """The question about the link of a step: the tokens of the link, from 0, and the names of all tokens."""

    context: Context
    step: Step
    query: int
    key: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, context: Context, step: Step) -> "LinkQuestion":
        """Return the question about one step."""
        record = context.record
        names = indexed(spelled(record.grid(), record.tokens)["names"])
        return cls(context, step, *tokens_of(step, record, context.grid), tuple(names))

    @property
    def link(self) -> dict[str, Any]:
        """The link as the library's functions take it."""
        return {"head": head_name(self.step.head), "query": self.query, "key": self.key}

    @property
    def sees_one(self) -> bool:
        """True where the head sees a single token from the query."""
        visible = self.context.record.visible
        if visible is None:
            return len(self.names) == 1
        return bool(visible[self.step.head[0], self.query].sum() == 1)

    def token(self, side: Side) -> int:
        """Return the token of that side."""
        return self.query if side == "query" else self.key

    def rows(self, part: tuple[Any, ...], compute: Callable[[], "pd.DataFrame"]) -> list[Row]:
        """Return the rows of an answer of the library, computed once for all users."""

        def rows() -> list[Row]:
            with MODEL:
                records: list[Row] = compute().to_dict("records")
                return records

        context = self.context
        return cache.of_run(context.request.run, context.model, (*part, *self.link.values()), rows)


def can_explain(context: Context) -> bool:
    """Return whether the question can be asked: of raw weights, of a model whose inside is known."""
    request = context.request
    is_known = not isinstance(context.model, TransformersModel)
    return request.raw and request.specials != "renormalised" and is_known


def settle(
    context: Context, params: dict[str, str], moved: dict[str, str]
) -> tuple[tuple[Step, ...], dict[str, str], dict[str, str]]:
    """Return the steps that the address asks for, its parameters as they are meant, and those to be changed in it:
    where the words have moved no step is left, and steps without a chosen link choose it.

    What is refused is said, and nothing else is lost.
    """
    if not params.get("why"):
        return (), params, moved
    if moved:
        return (), params, {**moved, "why": "", "without": ""}
    try:
        if not can_explain(context):
            raise InputError("“Why?” needs raw attention of a model whose inside is known.")
        steps = steps_of(params["why"], context.grid)
    except InputError as error:
        say(str(error), "notice")
        return (), params, moved
    if "pin" in params:
        return steps, params, moved
    return steps, {**params, **steps[-1].link}, steps[-1].link


def of_choice(context: Context, steps: Sequence[Step], without: str) -> dict[str, Any] | None:
    """Return what the picture says: that the question can be asked, and where it is, the answer."""
    if not can_explain(context):
        return None
    if not steps or not steps[-1].is_of(context.selection):
        return {"of": None}
    question = LinkQuestion.of(context, steps[-1])
    step, tokens = question.step, (question.query, question.key)
    answer = {
        "of": context.selection.as_json(),
        "asked": params_of(steps)["why"],
        "way": [{"name": each.name, "go": params_of(steps[: i + 1])} for i, each in enumerate(steps)],
        "tokens": why_text.tokens_text(context.grid, step, *tokens, question.names),
    }
    if question.sees_one:
        return {**answer, "said": why_text.sees_one(step.name, question.names[question.key]), "sides": []}
    rows = _parts(question)
    sides = {side: [row for row in rows if row["side"] == side] for side in SIDES}
    return {
        **answer,
        "said": _finding(question, rows),
        "sides": [_side(question, side, parts, steps, without) for side, parts in sides.items() if parts],
    }


def _parts(question: LinkQuestion) -> list[Row]:
    """Return the largest parts of each side of the link's score, or of an MLP's part of it: side, part, layer and head
    from 1, score and share; no shares of a score that is not above the mean."""
    step, model, tokens = question.step, question.context.model, question.context.record.tokens

    def compute() -> "pd.DataFrame":
        if step.mlp is None:
            frame = score_attribution(tokens, model, **question.link)
        else:
            frame = mlp_sources(tokens, model, **question.link, mlp=step.mlp, side=step.side)
            frame = frame.assign(side=step.side, part="head", score=frame.fall)
        total = frame.attrs["score"]
        frame["share"] = frame.score / total if total > 0 or step.mlp else math.nan
        order = np.argsort(-frame.score.abs(), kind="stable")
        return frame.fillna({"layer": 0, "head": 0}).iloc[order].groupby("side").head(CACHED)

    return question.rows(("why", step.mlp, step.side), compute)


def _finding(question: LinkQuestion, rows: Sequence[Row]) -> str:
    """Say what the link's score is made of, or what the MLP needed."""
    step, names = question.step, question.names
    if step.mlp is not None:
        shown = [
            (why_text.part_name(row), names[_source(question, row)[0]], row["share"]) for row in rows[:SHOWN]
        ]
        return why_text.needed(step.mlp, shown)
    if step.head[0] == 0:
        return why_text.first_layer(step.name, names[question.query], names[question.key])
    largest = list[why_text.LargestPart]()
    for side in SIDES:
        row = max((row for row in rows if row["side"] == side), key=lambda row: float(row["score"]))
        source = names[_source(question, row)[0]] if row["part"] == "head" else None
        largest.append(why_text.LargestPart(side, why_text.part_name(row), row["share"], source))
    return why_text.made_of(step.name, names[question.key], largest)


def head_of(row: Row) -> Head:
    """Return the head that wrote a part, from 0."""
    return int(row["layer"]) - 1, int(row["head"]) - 1


def _source(question: LinkQuestion, row: Row) -> tuple[int, float]:
    """Return the token that a head among the parts looks at most, from the one into which it wrote, and its weight."""
    weights = question.context.record.weights[head_of(row)][question.token(row["side"])]
    token = int(weights.argmax())
    return token, float(weights[token])


def _side(
    question: LinkQuestion, side: Side, rows: Sequence[Row], steps: Sequence[Step], without: str
) -> dict[str, Any]:
    """Return one column: the side of the score with its largest parts, and what their signs mean."""
    mlp, shown = question.step.mlp, rows[:SHOWN]
    title = f"{side.capitalize()} “{question.names[question.token(side)]}”"
    return {
        "title": f"{title}: what MLP {mlp} loses without a head"
        if mlp
        else f"{title}: {why_text.whole(shown[0])}",
        "note": why_text.sign_text([row["share"] for row in shown]),
        "parts": [_part(question, row, steps, without) for row in shown],
    }


def _part(question: LinkQuestion, row: Row, steps: Sequence[Step], without: str) -> dict[str, Any]:
    """Return one bar: the part's name and size, and of a head what it looks at there and where a press leads."""
    side, name = row["side"], why_text.part_name(row)
    token = question.token(side)
    part = {"name": name, "score": row["score"], "number": why_text.number(row["score"], row["share"])}
    goes_on = len(steps) < MAX_STEPS
    if row["part"] == "mlp" and goes_on:
        mlp = replace(question.step, mlp=int(row["layer"]), side=side)
        return part | {"go": params_of([*steps, mlp]), "does": f"Which heads did {name} need?"}
    if row["part"] != "head":
        return part
    key, weight = _source(question, row)
    part |= {
        "looks": why_text.looks(question.names[key], weight),
        "without": _removal(question, name, side, without),
    }
    units = [unit_of(each, question.context.grid) for each in (token, key)]
    if units[0] is None or units[1] is None:
        return part
    part |= {"link": [*units, weight]}
    onward = params_of([*steps, Step(head_of(row), units[0], units[1])])
    return part | ({"go": onward, "does": f"Why does {name} look there?"} if goes_on else {})


def _removal(question: LinkQuestion, head: str, side: Side, measured: str) -> dict[str, Any]:
    """Return the button that measures the link without a head, and once it is pressed the result."""
    if measured != head:
        return {"asks": head}
    model, tokens = question.context.model, question.context.record.tokens
    means = means_known(model)
    rows = question.rows(
        ("without", head, means),
        lambda: weight_without_head(tokens, model, **question.link, without=head, means=means),
    )
    link = head_name(question.step.head), question.names[question.key]
    return {"said": why_text.removal(rows, head, side, question.names[question.token(side)], link)}


# ---- mean outputs, computed once for a model
def means_known(model: Model) -> bool:
    """Return whether mean ablation has its means."""
    job = JOBS.peek(_means_of(model))
    return bool(job and job.finished and not job.problem)


def find_means(answer: Mapping[str, Any] | None, model: Model) -> None:
    """Compute the means where a head was removed, with progress, and run the page again."""
    parts = [part for side in (answer or {}).get("sides", ()) for part in side["parts"]]
    if any("said" in part.get("without", ()) for part in parts) and not means_known(model):
        unit = "sentences read for mean ablation"
        show_job(_means_of(model), lambda: mean_steps(model), lambda _: None, unit=unit)


def _means_of(model: Model) -> tuple[str, ...]:
    """Return the name of the job, which Experiment shares."""
    return ("means", model.name, model.fingerprint)
