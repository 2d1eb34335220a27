"""The quiz, the glossary and the references.

In: the lesson's files and what was typed. Out: the page.
"""

import html

import streamlit as st

from pages.parts.frame.glossary import terms
from pages.parts.frame.page_text import heading, lowered, markup, say
from pages.parts.learn.asking import Asked, ask, judge
from pages.parts.learn.exercises import quiz, references
from pages.parts.learn.memory import forget_all, remember
from pages.parts.learn.progress import here


@st.fragment
def quiz_view() -> None:
    """Five questions to close with."""
    verdicts = judge(quiz(), Asked())
    place = here()
    heading("Five questions")
    right = sum(key in place.done for key in quiz())
    say(f"{right} of {len(quiz())} done. Free answers are yours to compare with ours; nobody grades them.")
    for key in quiz():
        ask(key, Asked(), verdicts.get(key))
    say("Answers and marks are kept in this browser, and nowhere else.")
    st.button("Forget my answers", key="lesson-forget", type="tertiary", on_click=forget_all)
    remember()


def glossary_view() -> None:
    """Every term, in one place."""
    heading("Glossary")
    lines = "".join(
        f'<dt id="term-{html.escape(t.key)}"><strong>{lowered(html.escape(t.term))}</strong></dt>'
        f"<dd>{lowered(html.escape(f'{t.short} {t.more}'))}</dd>"
        for t in terms().values()
    )
    markup(f'<dl class="hs-glossary">{lines}</dl>')


def references_view() -> None:
    """What to read."""
    heading("References")
    lines = "".join(
        f'<li><a href="{html.escape(r.link)}">{html.escape(r.text)}</a><br>{html.escape(r.why)}</li>'
        for r in references()
    )
    markup(f'<ul class="hs-references">{lines}</ul>')
