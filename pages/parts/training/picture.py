"""A small model trained live, in which a head may learn what `it` stands for.

In: a seed, and whether layer 1 has its window. Out: the page's third part; one training at a time for all readers.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from mha_core.models.model_list import CLASSROOM, TWIN
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import heading, markup, say
from pages.parts.frame.request import models
from pages.parts.training.boards import show_text
from pages.parts.training.live import Course, course_of
from pages.parts.training.picture_board import PAIR, live, verdict
from pages.parts.training.view import seed_of, training

WINDOWS = {"3 words": False, "whole sentence": True}
GUESSES = ("yes", "no")
QUESTION = (
    "Textbooks show `it` looking at `animal` when the animal is tired, and at `street` when the street is wide. Will a "
    "head of this two-layer model learn that?"
)
REWARDED = (
    "The loss does not mention attention, but it rewards resolving `it`. Hidden nouns must be restored. In 3 of 10 "
    "cases only the pronoun is left."
)


def picture_part() -> None:
    """Start it, watch it, and see what came out."""
    show_text("training-question", QUESTION, style="big")
    with st.container(key="training-choices", horizontal=True, vertical_alignment="bottom", gap="medium"):
        window = st.segmented_control(
            "Layer 1 window",
            tuple(WINDOWS),
            default="3 words",
            required=True,
            key="window",
            bind="query-params",
        )
        seed = seed_of(1)
        guess = st.segmented_control(
            "Your guess: will one head learn it?", GUESSES, key="learns", bind="query-params"
        )
    twin = WINDOWS.get(window or "", False)
    takes = "About four minutes."
    job = training("classroom", {"seed": seed, "twin": twin}, takes, _draw)
    if job is not None and job.finished and not job.problem:
        _results(course_of(job).now, guess)
    _trained_before()


def _draw(course: Course) -> None:
    live(course.rows, course.now)


def _results(now: Mapping[str, Any], guess: str | None) -> None:
    heading("Results")
    verdict(now, guess)
    say(REWARDED)


def _trained_before() -> None:
    """The models that come with the project, on the same two sentences."""
    tired, wide = PAIR.texts
    links = ", ".join(
        f'<a href="{link_to("Compare", {"text": tired, "text2": wide, "model": model, "against": "sentence"})}" '
        f'target="_self">{name}</a>'
        for model, name in ((CLASSROOM, "the toy model"), (TWIN, "its control model"))
        if model in models()
    )
    markup(f'<p class="hs-why">Already trained: compare the two sentences in {links}.</p>')
