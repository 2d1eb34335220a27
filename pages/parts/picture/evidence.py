"""What is known of heads and jobs, drawn by assets/js/jobs.js: jobs to press, a table, heads, or one head among all.

In: plain data. Out: a mounted component; pressing a head puts it into the link, pressing a job puts that there.
"""

from collections.abc import Sequence
from typing import Any

from mha_core.heads.words import FloatArray
from mha_core.picture.bundle import style
from mha_core.wording import Head, head_name, percent
from pages.parts.frame import state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.selection import parse_head
from pages.parts.picture.attention_view import component

Mark = tuple[str, float]
NAME_AT_MOST = 60
DIGITS = 6  # with fewer, the tenths of a percent would be rounded twice


def draw(data: dict[str, Any], key: str) -> None:
    """Mount it."""
    component("jobs", "jobs", style("jobs"))(
        key=key, data=data, on_head_change=lambda: _choose_head(key), on_job_change=lambda: _choose_job(key)
    )


def _choose_head(key: str) -> None:
    pressed = heard_from(key, "head")
    if isinstance(pressed, str) and parse_head(pressed):
        state.choose_head(pressed)


def _choose_job(key: str) -> None:
    """What the heads are coloured by; the page takes only what it knows."""
    pressed = heard_from(key, "job")
    if isinstance(pressed, str) and len(pressed) <= NAME_AT_MOST:
        state.change({"by": pressed})


def strip_data(
    head: Head,
    scores: FloatArray,
    twin: FloatArray | None,
    marks: Sequence[Mark],
    what: str,
    trained: bool = True,
) -> dict[str, Any]:
    """One head among all of its model, (layer, head), and the same of its twin with other weights.

    `marks` are rules and controls with their share; `what` says what the share is of, for those who do not see it;
    `trained` says which of the two has random weights.
    """
    names = ("Trained", "Random weights") if trained else ("Random weights", "Trained")
    rows = [{"name": names[0], "heads": _shares(scores)}]
    said = (
        f"{what}: head {head_name(head)} {percent(float(scores[head]))}, rank "
        f"{1 + int((scores > scores[head]).sum())} of {scores.size} heads"
    )
    if twin is not None:
        rows.append({"name": names[1], "heads": _shares(twin)})
        said += f"; {names[1].lower()}: this head {percent(float(twin[head]))}, the best {percent(float(twin.max()))}"
    said += "".join(f"; {name} {percent(value)}" for name, value in marks)
    named = [{"name": name, "value": round(value, DIGITS)} for name, value in marks]
    return {"kind": "strip", "said": f"{said}.", "rows": rows, "chosen": head_name(head), "marks": named}


def _shares(scores: FloatArray) -> list[tuple[str, float]]:
    layers, heads = scores.shape
    return [
        (head_name((la, h)), round(float(scores[la, h]), DIGITS))
        for la in range(layers)
        for h in range(heads)
    ]
