"""Facts about the selected head: what it usually does, and how often it is right where such links were tested.

In: a context, and the model's table of roles. Out: sentences for the picture, each with the selection that it is about;
None where nothing is known.
"""

from typing import Any

import numpy as np

from mha_core.display_names import Head, head_name, visible
from mha_core.draw.text import indexed, spelled
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.link_kind import link_kind
from mha_core.heads.role_in_sentence import usually
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict_text import question_text
from pages.parts.frame import head_facts
from pages.parts.frame.context import Context
from pages.parts.frame.links import link_to, model_in_link


def of_choice(context: Context) -> dict[str, Any]:
    """Return the picture's sentences about the selected head, `usual` and `evidence`; both are of raw weights alone."""
    request, head = context.request, context.head
    table = head_facts.known_table(request.model, request.trained) if request.raw else None
    if table is None:
        return {"usual": None, "evidence": None}
    selection = context.selection.as_json()
    weights = {"model": model_in_link(request.model), "weights": "" if request.trained else "untrained"}
    result = test_of_link(context, table)
    evidence = result and {
        "said": test_text(result, head),
        "href": link_to("Roles", {**weights, "head": head_name(head), "question": result.key}),
        "of": selection,
    }
    return {"usual": {"said": usual_text(context, table), "of": selection}, "evidence": evidence}


def usual_text(context: Context, table: RoleTable) -> str:
    """Return what the head usually does, with the word that the selected one looks at most."""
    record, grid, head = context.record, context.grid, context.head
    looks, step = None, None
    if len(context.pins) == 1:
        (query,) = context.pins
        key = int(grid.weights[head][query].argmax())
        names = indexed(spelled(grid, record.tokens)["names"])
        looks, step = (
            (visible(names[query]), visible(names[key])),
            None if grid.units[key].special else key - query,
        )
    return usually(record, head, table, looks, step)


def test_of_link(context: Context, table: RoleTable) -> QuestionResult | None:
    """Return the question that the selected link is a case of: to the second word, or the strongest other one."""
    grid, pins, key = context.grid, context.pins, context.selection.to
    if not pins:
        return None
    query = pins[0]
    if key is None:
        row = np.array(grid.weights[context.head][query], dtype=float)
        row[[i for i, unit in enumerate(grid.units) if unit.special or i == query]] = -1.0
        key = int(row.argmax())
        if row[key] <= 0:
            return None
    looked_at = context.record.tokens.pieces[grid.units[key].pieces[0]]
    kind = link_kind(grid.units, query, key, table.by_key, str(looked_at.role))
    return None if kind is None else table.by_key[kind]


def test_text(result: QuestionResult, head: Head) -> str:
    """Return a question and its result for a head, with n and the baseline."""
    title = result.question.title
    return f"{title[0].upper()}{title[1:]}? {question_text(result, head)}"
