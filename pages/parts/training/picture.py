"""The famous picture, learnt live: a small model in which `it` moves from one noun to the other, or does not.

In: a seed, and whether layer 1 has its window. Out: the page's third part; one training at a time for all readers.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from mha_core.shelf import CLASSROOM, TWIN
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import heading, markup
from pages.parts.frame.request import models
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.training.live import Course, course_of
from pages.parts.training.picture_board import PAIR, live, verdict
from pages.parts.training.view import seed_of, training

WINDOWS = {"three words": False, "the whole sentence": True}
QUESTION = (
    "Every text on attention shows `it` looking at `animal` when the animal is tired, and at `street` when the "
    "street is wide. Here a model of two layers learns to, or does not, from texts of some 700 words. Will a head of "
    "it point at the right noun?"
)
REWARDED = (
    "The loss never sees attention, but it is not true that nobody told the model. It restores hidden words; and where "
    "a noun after “because” was hidden, its pronoun was left standing 3 times in 10, and the noun is what it must "
    "restore. A model learns what its task rewards. This one reads no other words and knows one construction."
)


def picture_part() -> None:
    """Start it, watch it, and see what came out."""
    board = Board()
    board.add(paragraph(QUESTION, "big"), paragraph(REWARDED, "quiet"))
    board.show("training-question")
    with st.container(key="training-choices", horizontal=True, vertical_alignment="bottom", gap="medium"):
        window = st.segmented_control(
            "Layer 1 sees to each side",
            tuple(WINDOWS),
            default="three words",
            required=True,
            key="window",
            bind="query-params",
        )
        seed = seed_of(1)
    twin = WINDOWS.get(window or "", False)
    takes = "It takes some four minutes on one processor core."
    job = training("classroom", {"seed": seed, "twin": twin}, takes, _draw)
    if job is not None and job.finished and not job.problem:
        _came_out(course_of(job).now)
    _trained_before()


def _draw(course: Course) -> None:
    live(course.rows, course.now)


def _came_out(now: Mapping[str, Any]) -> None:
    heading("What came out")
    verdict(now)


def _trained_before() -> None:
    """The models that come with the project, on the same two sentences."""
    tired, wide = PAIR.texts
    links = ", ".join(
        f'<a href="{link_to("Compare", {"text": tired, "text2": wide, "model": model, "against": "sentence"})}" '
        f'target="_self">{name}</a>'
        for model, name in ((CLASSROOM, "the model in which it moves"), (TWIN, "the twin"))
        if model in models()
    )
    markup(f'<p class="hs-why">Trained before: compare the two sentences in {links}.</p>')
