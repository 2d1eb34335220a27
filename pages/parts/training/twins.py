"""Two models of one task side by side: one in which a head points at the noun, and its twin, in which none does.

In: their report cards. Out: a table, and the sentences of what a weight proves.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mha_core.learning.classroom.tasks import TASKS
from mha_core.wording import percent
from pages.parts.frame.prose import heading
from pages.parts.picture.classroom import ASKED, WHAT_IT_PROVES
from pages.parts.picture.tiles import Board, paragraph

Card = Mapping[str, Any]


def beside(first: Card, twin: Card) -> None:
    """What both do, what either loses without its best head, and where the twin looks instead."""
    heading("The picture and its twin", 3)
    board = Board()
    board.add(
        paragraph(
            "The twin learnt the same without the window: its layer 1 may look at the whole "
            "sentence, takes up both nouns alike, and leaves the choice to layer 2."
        ),
        {
            "type": "grid",
            "id": "twins",
            "label": "One task, two models: shares of pairs and of answers",
            "head": [
                "",
                "with the window",
                f"without {first['head']}",
                "the twin",
                f"without {twin['head']}",
            ],
            "rows": rows_of(first, twin),
        },
        paragraph(elsewhere(twin)),
        paragraph(WHAT_IT_PROVES),
    )
    board.show("training-twins")


def rows_of(first: Card, twin: Card) -> list[tuple[str, ...]]:
    """A line a measure: with all heads and without the best one, in both models."""
    cards = (first, twin)
    rows = [
        ("Pairs that one head passes", *_each(*((card["pass"], None) for card in cards))),
        ("Its attention on the right noun", *_each(*((card["right"], None) for card in cards))),
    ]
    for name, key in (
        ("“it” hidden: the very noun", "exact"),
        ("“it” hidden: the right one of two", "better"),
    ):
        rows.append((name, *_each(*((card["answers"][key], card["without_head"][key]) for card in cards))))
    for task in TASKS:
        left = ((card["tasks"][task], card["without_head"]["tasks"][task]) for card in cards)
        rows.append((f"Hidden word: {ASKED[task]}", *_each(*left)))
    return rows


def _each(*pairs: tuple[float, float | None]) -> Sequence[str]:
    return [percent(share) if share is not None else "" for pair in pairs for share in pair]


def elsewhere(twin: Card) -> str:
    """Which heads of the twin look from `it` at both nouns, and which at what is said."""
    jobs = twin["jobs"]
    nouns = max(jobs, key=lambda head: min(jobs[head]["because"], jobs[head]["other"]))
    reads = max(jobs, key=lambda head: float(jobs[head]["said"]))
    return (
        f"Where the twin looks from `it`: most evenly at both nouns {nouns}, with {percent(jobs[nouns]['because'])} on "
        f"the right one and {percent(jobs[nouns]['other'])} on the other; most at what is said of the noun {reads}, "
        f"with {percent(jobs[reads]['said'])}."
    )
