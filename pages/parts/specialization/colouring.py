"""All heads in one picture, coloured by the job that is pressed above it, and which head is chosen.

In: the sheets of one text, and the findings where they are known. Out: the picture, drawn by head_map.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mha_core.heads.findings import Findings
from mha_core.heads.jobs import CHOICES, GROUPS, KIND_OF, KINDS, NO_ROLE_SAID
from mha_core.heads.positions import LABELS
from mha_core.heads.verdict import DOES
from mha_core.wording import Head, counted, head_name, percent
from pages.parts.frame import state
from pages.parts.frame.prose import say
from pages.parts.frame.selection import parse_head
from pages.parts.picture import evidence
from pages.parts.picture.head_map import Mark, head_map
from pages.parts.specialization.sheets import Sheet, with_key

BY_ROLE = "role"
ALWAYS = CHOICES  # kinds that are offered whatever the verdict
PLACE = "place:"
GREY = "#8a8a8a"
OUTLINED = 3  # heads at least of a cluster that the map draws an outline around (assets/js/head_map.js)
NATS = LABELS["entropy"]  # the one measure that is no share
CHIPS = 30  # of more jobs only those that a head does are offered; the table has them all


@dataclass(frozen=True)
class Called:
    """What a head is called: the kind of its job, the words, and the evidence in a sentence."""

    key: str
    label: str
    evidence: str


def chosen_job(sheets: Sequence[Sheet], found: Findings | None = None) -> str:
    """What the link colours the heads by, or what a head ties together best. Which measures there are is known once the
    built-in sentences were read."""
    asked = state.params().get("by", "")
    is_measure = asked.startswith(PLACE) if found is None else asked in measures(found)
    if asked == BY_ROLE or with_key(sheets, asked) or is_measure:
        return asked
    done = [sheet for sheet in sheets if sheet.word in DOES] or list(sheets)
    telling = [sheet for sheet in done if sheet.kind.key == "syntactic"] or done
    return max(telling, key=lambda sheet: sheet.shown).key


def chosen_head(shape: tuple[int, int], sheet: Sheet | None, called: Mapping[Head, Called]) -> Head:
    """The head of the link, or the best one in the job that is shown."""
    given = state.params().get("head", "")
    asked = parse_head(given)
    layers, heads = shape
    if asked and asked[0] < layers and asked[1] < heads:
        return asked
    if given:
        say(f"There is no head “{given[:20]}” in {counted(layers, 'layer')} of {heads}.", "notice")
    return sheet.best if sheet else min(called, default=(0, 0))


def jobs_to_press(sheets: Sequence[Sheet], by: str) -> None:
    """The row of jobs above the picture, by kind."""
    offered = (
        sheets
        if len(sheets) <= CHIPS
        else [s for s in sheets if s.word in DOES or s.key == by or s.kind.key in ALWAYS]
    )
    groups = [
        {"title": group.title, "chips": [_chip(s) for s in mine]}
        for group in GROUPS
        if (mine := [sheet for sheet in offered if sheet.kind.group == group.key])
    ]
    everything = {"key": BY_ROLE, "letter": "…", "colour": GREY, "name": "what each head is called"}
    data = {"kind": "chips", "groups": [*groups, {"title": "All", "chips": [everything]}], "job": by}
    evidence.draw(data, key="jobs-to-press")


def _chip(sheet: Sheet) -> dict[str, str]:
    kind = sheet.kind
    return {"key": sheet.key, "letter": kind.letter, "colour": kind.colour, "name": sheet.title}


def picture(
    sheets: Sequence[Sheet],
    by: str,
    head: Head,
    called: Mapping[Head, Called],
    found: Findings | None,
    layout: str,
) -> None:
    """All heads, coloured by a job, by a measure, or by what they are called; `found` gives the map."""
    shape = sheets[0].heads.shape
    every = [(layer, h) for layer in range(shape[0]) for h in range(shape[1])]
    sheet, places = with_key(sheets, by), measures(found)
    if sheet:
        marks = [_scored(sheet, one) for one in every]
    elif by in places:
        marks = [_measured(*places[by], one) for one in every]
    else:
        marks = [_called(one, called.get(one)) for one in every]
    if found is not None:
        marks = [_placed(mark, found) for mark in marks]
    head_map(
        marks,
        chosen=head,
        legend=[] if sheet or by in places else _legend(called),
        layout="map" if layout == "map" else "grid",
        key="all-heads",
        hue=sheet.kind.colour if sheet else "",
    )
    say(_note(sheet, by, layout, found, called, len(every), head))


def measures(found: Findings | None) -> dict[str, tuple[str, np.ndarray]]:
    """The measures that are no job: mass at a place, entropy."""
    if found is None:
        return {}
    return {key: pair for key, pair in found.measures().items() if key.startswith(PLACE)}


def _scored(sheet: Sheet, head: Head) -> Mark:
    """A head with its score; its shade goes from the lowest of all heads to the best."""
    score, low, most = (float(value) for value in (sheet.heads[head], sheet.heads.min(), sheet.heads.max()))
    does = "does it" if sheet.does(head) else "does not do it"
    label = f"Head {head_name(head)}: {percent(score)} in {sheet.title}, {does} by the verdict, rank {sheet.rank(head)}"
    fill = (score - low) / ((most - low) or 1.0)
    return Mark(head, label, sheet.letter(head), sheet.kind.colour, fill, f"{100 * score:.0f}")


def _measured(title: str, values: np.ndarray, head: Head) -> Mark:
    value, largest = float(values[head]), max(1.0, float(values.max()))
    in_nats = title == NATS
    text = f"{value:.2f}" if in_nats else f"{100 * value:.0f}"
    said = f"{value:.2f}" if in_nats else percent(value)
    return Mark(head, f"Head {head_name(head)}: {title} {said}", fill=value / largest, text=text)


def _called(head: Head, role: Called | None) -> Mark:
    name = head_name(head)
    if role is None:
        return Mark(head, f"Head {name}: {NO_ROLE_SAID}.")
    kind = KIND_OF[role.key]
    return Mark(head, f"Head {name}: {role.label}. {role.evidence}", kind.letter, kind.colour)


def _placed(mark: Mark, found: Findings) -> Mark:
    i = found.heads.index(mark.head)
    x, y = (float(value) for value in found.points[i])
    place: dict[str, Any] = {"x": x, "y": y, "cluster": int(found.cluster[i])}
    return Mark(mark.head, mark.label, mark.letter, mark.colour, mark.fill, mark.text, **place)


def _legend(called: Mapping[Head, Called]) -> list[tuple[str, str, str]]:
    there = {role.key for role in called.values()}
    return [(kind.letter, kind.name, kind.colour) for kind in KINDS if kind.key in there]


def _note(
    sheet: Sheet | None,
    by: str,
    layout: str,
    found: Findings | None,
    called: Mapping[Head, Called],
    n: int,
    head: Head,
) -> str:
    if layout == "map" and found is not None:
        size = int((found.cluster == found.cluster[found.heads.index(head)]).sum())
        outline = (
            f"The outline is drawn around the cluster of the chosen head, {size} of {n}, joined by the distances "
            "themselves; a plane may put other heads inside it."
            if size >= OUTLINED
            else f"The chosen head's cluster has {counted(size, 'head')} of {n}, too few for an outline."
        )
        return (
            "Heads that behave alike lie close together. Distance: Jensen-Shannon divergence of the heads' rows over "
            f"{found.n_sentences:,} sentences, laid out on a plane (stress {found.stress:.2f}: what a plane cannot "
            f"show), pulled towards the middle and pushed apart so that the names can be read. {outline}"
        )
    if sheet is not None:
        return (
            "Each number is a head's share in percent, shaded from the lowest to the best. The letter "
            f"{sheet.kind.letter} marks the heads that do this job by the verdict."
        )
    if by in measures(found):
        return "Each number is that head's own, in percent or in nats (natural units of entropy; 0 is one place alone)."
    unnamed = n - len(called)
    return (
        f"{unnamed} of {counted(n, 'head')} {'has' if 1 in (unnamed, n) else 'have'} no clear role on these sentences. "
        "That is a finding about the sentences as much as about the heads."
    )
