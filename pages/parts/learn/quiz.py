"""The quiz and the glossary.

In: the lesson's files and typed answers. Out: the page.
"""

import html

import streamlit as st

from pages.parts.frame.glossary import terms
from pages.parts.frame.page_text import heading, lowered, markup, say
from pages.parts.learn.asking import ExerciseContext, ask, judge
from pages.parts.learn.exercises import quiz
from pages.parts.learn.progress import forget_all, here, remember


@st.fragment
def quiz_view() -> None:
    """Draw the questions to close with."""
    verdicts = judge(quiz(), ExerciseContext())
    heading("Quiz")
    n_right = sum(key in here().done for key in quiz())
    say(f"{n_right} of {len(quiz())} right.")
    for key in quiz():
        ask(key, ExerciseContext(), verdicts.get(key))
    say("Your answers are saved in this browser only.")
    st.button("Clear answers", key="lesson-forget", type="tertiary", on_click=forget_all)
    remember()


def glossary_view() -> None:
    """Draw every term, with a link to the paper that it is from."""
    heading("Glossary")
    lines = []
    for term in terms().values():
        key, name, meaning = (
            html.escape(text) for text in (term.key, term.term, f"{term.short} {term.more}")
        )
        link = f' <a href="{html.escape(term.link)}" target="_blank" rel="noopener">{html.escape(term.source)}</a>'
        lines.append(f'<dt id="term-{key}"><strong>{lowered(name)}</strong></dt>')
        lines.append(f"<dd>{lowered(meaning)}{link if term.link else ''}</dd>")
    markup(f'<dl class="hs-glossary">{"".join(lines)}</dl>')
