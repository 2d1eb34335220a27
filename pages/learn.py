"""Learn: a lesson with live pictures, exercises, a quiz, the glossary, and links for a class."""

import streamlit as st

from pages.parts.frame import shell, state
from pages.parts.learn.lesson import lesson_view, style
from pages.parts.learn.reading import glossary_view, quiz_view, references_view
from pages.parts.learn.teacher import teacher_view

SHOWN = ("Lesson", "Quiz", "Glossary", "References", "For teachers")


def draw() -> None:
    """The lesson, or what else is chosen in the row."""
    asked = state.own_part("show", SHOWN)
    request = shell.page(
        "Learn", question="How does multi-head attention work?", shown=shell.Shown(sentence=asked == "Lesson")
    )
    style(request.present, lesson=asked == "Lesson")
    with st.container(key="show-row"):
        shown = shell.part_of("What to show", SHOWN, "show")
    if shown == "Quiz":
        quiz_view()
    elif shown == "Glossary":
        glossary_view()
    elif shown == "References":
        references_view()
    elif shown == "For teachers":
        teacher_view(request)
    elif shell.read(request) is not None:
        lesson_view(request)
