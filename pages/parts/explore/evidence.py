"""What is known of the chosen head: what it usually does, and how often it is right where such links were tested.

In: what is chosen in the picture, and the model's table of roles. Out: sentences for the picture, each with the choice
that it is about; None where nothing is known.
"""

from typing import Any

import numpy as np

from mha_core import AttentionRecord, Grid
from mha_core.display_names import Head, head_name, visible
from mha_core.draw.text import indexed, spelled
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.link_kind import link_kind
from mha_core.heads.role_in_sentence import usually
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict_text import question_text
from pages.parts.frame import head_facts
from pages.parts.frame.links import link_to, model_in_link
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection


def of_choice(request: Request, record: AttentionRecord, grid: Grid, chosen: Selection) -> dict[str, Any]:
    """Return what the picture says of the chosen head, `usual` and `evidence`; both are of raw weights alone."""
    table = head_facts.known_table(request.model, request.trained) if request.raw else None
    if table is None:
        return {"usual": None, "evidence": None}
    of = chosen.as_json()
    usual = {"said": usual_said(table, record, grid, chosen), "of": of}
    answer = asked(table, record, grid, chosen)
    if answer is None:
        return {"usual": usual, "evidence": None}
    return {
        "usual": usual,
        "evidence": {
            "said": tested(answer, chosen.head),
            "href": _test(request, answer, chosen.head),
            "of": of,
        },
    }


def usual_said(table: RoleTable, record: AttentionRecord, grid: Grid, chosen: Selection) -> str:
    """Return what the head usually does, with the word that the chosen one looks at most."""
    head = chosen.head
    looks, step = None, None
    if len(chosen.pins) == 1:
        (query,) = chosen.pins
        key = int(grid.weights[head][query].argmax())
        names = indexed(spelled(grid, record.tokens)["names"])
        looks, step = (
            (visible(names[query]), visible(names[key])),
            None if grid.units[key].special else key - query,
        )
    return usually(record, head, table, looks, step)


def asked(table: RoleTable, record: AttentionRecord, grid: Grid, chosen: Selection) -> QuestionResult | None:
    """Return the question that the chosen link is a case of: to the chosen word, or else to the strongest other one."""
    if not chosen.pins:
        return None
    query, key = chosen.pins[0], chosen.to
    if key is None:
        row = np.array(grid.weights[chosen.head][query], dtype=float)
        row[[i for i, unit in enumerate(grid.units) if unit.special or i == query]] = -1.0
        key = int(row.argmax())
        if row[key] <= 0:
            return None
    looked_at = record.tokens.pieces[grid.units[key].pieces[0]]
    kind = link_kind(grid.units, query, key, table.by_key, str(looked_at.role))
    return None if kind is None else table.by_key[kind]


def tested(answer: QuestionResult, head: Head) -> str:
    """Return the question and what came out of it for a head, with n and the baseline."""
    title = answer.question.title
    return f"{title[0].upper()}{title[1:]}? {question_text(answer, head)}"


def _test(request: Request, answer: QuestionResult, head: Head) -> str:
    """Return the address of the test on Roles."""
    weights = "" if request.trained else "untrained"
    chosen = {"head": head_name(head), "question": answer.key}
    return link_to("Roles", {"model": model_in_link(request.model), "weights": weights, **chosen})
