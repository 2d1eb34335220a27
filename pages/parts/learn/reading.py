"""The quiz and the glossary.

In: the lesson's files and what was typed. Out: the page.
"""

import html

import streamlit as st

from pages.parts.frame.glossary import Term, terms
from pages.parts.frame.page_text import heading, lowered, markup, say
from pages.parts.learn.asking import Asked, ask, judge
from pages.parts.learn.exercises import quiz
from pages.parts.learn.memory import forget_all, remember
from pages.parts.learn.progress import here


@st.fragment
def quiz_view() -> None:
    """Questions to close with."""
    verdicts = judge(quiz(), Asked())
    place = here()
    heading("Quiz")
    right = sum(key in place.done for key in quiz())
    say(f"{right} of {len(quiz())} right.")
    for key in quiz():
        ask(key, Asked(), verdicts.get(key))
    say("Your answers are saved in this browser only.")
    st.button("Clear answers", key="lesson-forget", type="tertiary", on_click=forget_all)
    remember()


def glossary_view() -> None:
    """Every term, in one place."""
    heading("Glossary")
    lines = "".join(
        f'<dt id="term-{html.escape(t.key)}"><strong>{lowered(html.escape(t.term))}</strong></dt>'
        f"<dd>{lowered(html.escape(f'{t.short} {t.more}'))}{_paper(t)}</dd>"
        for t in terms().values()
    )
    markup(f'<dl class="hs-glossary">{lines}</dl>')


def _paper(term: Term) -> str:
    """The paper a term is from, as a link."""
    if not term.link:
        return ""
    return (
        f' <a href="{html.escape(term.link)}" target="_blank" rel="noopener">{html.escape(term.source)}</a>'
    )
