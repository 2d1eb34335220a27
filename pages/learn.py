"""Learn: a lesson with live pictures, exercises, a quiz, the glossary, and links for a class."""

from pages.parts.frame import shell
from pages.parts.learn.lesson import lesson_view, style
from pages.parts.learn.quiz import glossary_view, quiz_view
from pages.parts.learn.teacher import teacher_view


def draw() -> None:
    """Draw the lesson, or the part that the URL names."""
    shown = shell.tab_of("Learn")
    request = shell.page(
        "Learn", question="How does multi-head attention work?", shown=shell.Shown(sentence=shown == "Lesson")
    )
    style(request.present, lesson=shown == "Lesson")
    if shown == "Quiz":
        quiz_view()
    elif shown == "Glossary":
        glossary_view()
    elif shown == "For teachers":
        teacher_view(request)
    elif shell.read(request) is not None:
        lesson_view(request)
