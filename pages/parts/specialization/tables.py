"""The tables of evidence: every job with its best head, and every job of one head. No Streamlit here.

In: sheets. Out: data for assets/js/jobs.js; each score with its interval, the strongest simple rule, control and n.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from mha_core.heads.jobs import GROUPS
from mha_core.wording import Head, head_name, percent
from pages.parts.specialization.sheets import SAID, Sheet, with_key, word_said

Row = dict[str, Any]
RULE = ("Strongest simple rule", "what one gets without looking at the model")


def of_jobs(
    sheets: Sequence[Sheet], twins: Sequence[Sheet], job: str, caption: str, trained: bool = True
) -> dict[str, Any]:
    """All jobs by kind, each with its best head; the best of the twin beside it where it is known, which has random
    weights where these are `trained`, and else trained ones."""
    halves = any(sheet.held_out is not None for sheet in sheets)
    score = ("Held out", "on the half where it was not chosen") if halves else ("Score", "best of all heads")
    usual = _usual(s.control_name for s in sheets if s.control is not None), _usual(s.where for s in sheets)
    columns = [("Job", ""), ("Best head", ""), score, ("On a line", "dot, interval; line: simple rule"), RULE]
    columns += [
        ("Control", usual[0]),
        ("n", usual[1]),
        *([("Random weights" if trained else "Trained", "its best head")] if twins else []),
    ]
    columns.append(("Verdict", ""))
    groups = [
        {"title": group.title, "rows": [_of_job(s, with_key(twins, s.key), bool(twins), usual) for s in mine]}
        for group in GROUPS
        if (mine := [sheet for sheet in sheets if sheet.kind.group == group.key])
    ]
    return _table(caption, job, columns, groups)


def _usual(names: Iterable[str]) -> str:
    """What most of them say: it is said once, above its column."""
    return next((name for name, _ in Counter(names).most_common(1)), "")


def _of_job(sheet: Sheet, twin: Sheet | None, twins: bool, usual: tuple[str, str]) -> Row:
    also = [head for head in sheet.equals if head != sheet.best]
    chosen = "" if sheet.chosen_on is None else f"{percent(sheet.chosen_on)} where it was chosen"
    cells = [
        {"head": head_name(sheet.best), "note": _also(also)},
        {"text": percent(sheet.shown), "note": f"{percent(sheet.low)} to {percent(sheet.high)}"},
        {"text": "", "note": chosen, "bar": _bar(sheet.shown, sheet.low, sheet.high, sheet.rule)},
        {"text": percent(sheet.rule), "note": sheet.rule_name},
        _control(sheet.control, _unless(usual[0], sheet.control_name)),
        {"text": f"{sheet.n:,}", "note": _unless(usual[1], sheet.where)},
        *([_twin(twin)] if twins else []),
        {"text": word_said(sheet, sheet.word), "note": sheet.because},
    ]
    name = sheet.name if sheet.word in ("specialist", "rule") else sheet.title
    return {"key": sheet.key, "name": name, "note": "", "marked": sheet.word == "specialist", "cells": cells}


def _unless(usual: str, name: str) -> str:
    return "" if name == usual else name


def _also(heads: Sequence[Head]) -> str:
    shown = ", ".join(head_name(head) for head in heads[:3])
    return f"not told apart from {shown}{' …' if len(heads) > 3 else ''}" if heads else ""


def _control(value: float | None, name: str) -> Row:
    return {"text": "none", "note": ""} if value is None else {"text": percent(value), "note": name}


def _twin(twin: Sheet | None) -> Row:
    if twin is None:
        return {"text": "", "note": ""}
    return {"text": f"{head_name(twin.best)}: {percent(twin.shown)}", "note": word_said(twin, twin.word)}


def _bar(score: float, low: float, high: float, rule: float) -> dict[str, float]:
    return {"dot": _r(score), "low": _r(low), "high": _r(high), "base": _r(rule)}


def _r(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)


def of_head(
    head: Head,
    groups: Sequence[tuple[str, Sequence[Sheet]]],
    job: str,
    caption: str,
) -> dict[str, Any]:
    """All jobs of one head, by the text they were tried on."""
    titles = ("Job", "This head", "Simple rule", "Control", "n", "Rank", "Verdict")
    columns = [(title, "") for title in titles]
    made = [
        {"title": title, "rows": [_of_head(head, sheet) for sheet in sheets]}
        for title, sheets in groups
        if sheets
    ]
    return _table(caption, job, columns, made)


def _of_head(head: Head, sheet: Sheet) -> Row:
    verdict = word_said(sheet, str(sheet.words[head]))
    control = None if sheet.controls is None else float(sheet.controls[head])
    cells = [
        {"text": percent(float(sheet.heads[head])), "note": ""},
        {"text": percent(sheet.rule), "note": sheet.rule_name},
        _control(control, ""),
        {"text": f"{sheet.n:,}", "note": sheet.where if sheet.again else ""},
        {"text": f"{sheet.rank(head)}", "note": ""},
        {"text": verdict, "note": ""},
    ]
    does = verdict in (SAID["specialist"], SAID["rule"])
    return {"key": sheet.key, "name": sheet.title, "note": "", "marked": does, "cells": cells}


def _table(
    caption: str, job: str, columns: Sequence[tuple[str, str]], groups: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    titles = [{"title": title, "note": note} for title, note in columns]
    return {"kind": "table", "caption": caption, "job": job, "columns": titles, "groups": list(groups)}
