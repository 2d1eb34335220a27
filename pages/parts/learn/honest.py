"""The pictures about claims: kinds of heads, the claim, its tests, what is true besides, the toy model; and the code.

In: a scene. Out: what stands beside the text; links open the real head.
"""

import html
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, head_name
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.verdict_text import outcome
from mha_core.models.model_list import EMBEDDED
from mha_core.record.grid import piece_units
from pages.parts.frame import head_facts
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.presets import TIRED, WIDE
from pages.parts.frame.request import Request
from pages.parts.inside.hulls import draw_hulls
from pages.parts.inside.scene import WalkState
from pages.parts.learn import claims
from pages.parts.picture.tiles import Board, column, paragraph
from pages.parts.serve import cache

TESTS_SEEN = "lesson-tests"
ZERO_BASED = "L{}H{}, zero-based".format(*claims.HEAD)
LOW = 250  # pixels of a chart that stands under another picture
LAYERS = {"Multi-head": "layer.py", "Grouped-query": "grouped.py"}


def kinds(scene: WalkState) -> None:
    """A row for each kind of role: the head that comes closest, its score, the strongest baseline and the verdict."""
    del scene
    found = claims.best_of_kinds(head_facts.table(EMBEDDED))
    rows = [{"role in MiniLM": _kind(answer), **_cells(answer, head)} for answer, head in found]
    _table(pd.DataFrame(rows), "lesson-kinds", "Kinds of roles in MiniLM, each with its best head")
    say("Score: share of right cases; for a sink, of attention; for a diffuse head, of entropy.")


def _kind(answer: QuestionResult) -> str:
    """The kind of role and what such a head looks for."""
    word, title = KIND_OF[answer.kind].word, answer.question.title
    return title if word in title else f"{word}: {title}"


def _cells(answer: QuestionResult, head: Head) -> dict[str, str | float]:
    """The head as a link to Roles, its score, the strongest baseline's, n, and the verdict."""
    return {
        "head": link_to("Roles", {"head": head_name(head), "question": answer.key}),
        "score": 100 * float(answer.score[head]),
        "baseline": 100 * answer.baselines[0].score,
        "n": answer.n,
        "verdict": outcome(answer, head),
    }


def _table(frame: pd.DataFrame, key: str, alt: str) -> None:
    """A table in which heads are links to Roles and shares are percent."""
    share = st.column_config.NumberColumn(format="%.0f%%")
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            frame.columns[0]: st.column_config.TextColumn(width=230),
            "head": st.column_config.LinkColumn(display_text="head=([0-9]+-[0-9]+)"),
            "n": st.column_config.NumberColumn(format="localized"),
            **dict.fromkeys(("score", "baseline", *claims.CANDIDATES), share),
        },
        height="content",
        row_height=30,
        key=key,
        alt=alt,
    )


def links(places: Mapping[str, str]) -> None:
    """A line of links, by what they are called."""
    items = (f'<a href="{html.escape(to)}" target="_self">{name}</a>' for name, to in places.items())
    markup(f'<p class="hs-links">{" · ".join(items)}</p>')


def claim(scene: WalkState) -> None:
    """The picture that the claim is made from."""
    del scene
    record = cache.record(Request(TIRED))
    names = [unit.label for unit in piece_units(record.tokens)]
    row = record.weights[claims.HEAD][names.index("it")][None]
    board = Board()
    board.add(
        board.matrix(
            "it", row, id="claim", note=f"head {head_name(claims.HEAD)} of MiniLM ({ZERO_BASED}), “too tired”",
            rows=["it"], cols=names, ramp="weight", top=1, high=44, wide=34, numbers=False,
        ),
        paragraph(f"`it` looks at `animal`: **{row[0][names.index('animal')]:.0%}**.", "verdict"),
    )  # fmt: skip
    board.show("lesson-claim")


def tests(scene: WalkState) -> None:
    """The tests so far, and the button for the next."""
    del scene
    names = list(claims.TESTS)
    seen = st.session_state.get(TESTS_SEEN, 0)
    board = Board()
    if not seen:
        board.add(paragraph("No test yet. The claim stands.", "big"))
    for number, test in enumerate(list(claims.TESTS.values())[:seen], 1):
        asks, got, says = test()
        asked = paragraph(f"**{number} · {asks}.** {got}.", "result")
        board.add(column(asked, paragraph(says, "result-said"), size="close"))
    if seen == len(names):
        board.add(paragraph(claims.conclusion(), "verdict"))
    board.show("lesson-claim-tests")
    with st.container(horizontal=True, gap="small", key="claim-buttons"):
        if seen < len(names):
            label = f"Run test {seen + 1}: {names[seen]}"
            st.button(label, key="claim-next", type="primary", on_click=_see, args=(seen + 1,))
        head = head_name(claims.HEAD)
        pair = {"text": TIRED, "text2": WIDE, "head": head, "against": "sentence"}
        links({
            "Compare the two sentences": link_to("Compare", pair),
            "All pronouns in Roles": link_to("Roles", {"head": head, "question": claims.PRONOUNS}),
        })  # fmt: skip


def _see(count: int) -> None:
    st.session_state[TESTS_SEEN] = count


def truth(scene: WalkState) -> None:
    """What 4-2 does besides, and where 2-4 shows that agreement is not meaning."""
    del scene
    found = claims.besides(head_facts.table(EMBEDDED))
    rows = [{"looks for": answer.question.title, **_cells(answer, head)} for answer, head in found]
    _table(pd.DataFrame(rows), "lesson-besides", "What heads 4-2 and 2-4 do besides")
    hard = "; ".join(
        f"{answer.question.title}, {answer.right_where_all_wrong[head]:.0%} of {answer.n_all_wrong:,} "
        f"(chance {answer.chance:.0%})"
        for answer, head in found
        if answer.right_where_all_wrong is not None
    )
    board = Board()
    board.add(paragraph(f"Right where every baseline is wrong: {hard}."), paragraph(claims.impossible()))
    board.show("lesson-truth")
    links({
        "4-2 in the atlas": link_to("Roles", {"part": "atlas", "head": "4-2"}),
        "2-4 on this sentence": link_to("Explore", {"text": claims.IMPOSSIBLE, "head": "2-4", "pin": "1"}),
    })  # fmt: skip


def classroom(scene: WalkState) -> None:
    """A model in which `it` moves, and what it takes."""
    del scene
    _table(claims.moving(), "lesson-moving", "How much “it” looks at animal and street, tired and wide")
    board = Board()
    board.add(*(paragraph(text) for text in claims.for_and_against()))
    board.show("lesson-classroom")
    pair = {"text": TIRED, "text2": WIDE, "model": "classroom", "against": "sentence"}
    links({
        "Compare both sentences in it": link_to("Compare", pair),
        "Train one yourself": link_to("Training", {"train": "Pronoun head"}),
    })  # fmt: skip


def listing(scene: WalkState) -> None:
    """The layer in PyTorch, to copy and to run, with or without shared keys and values."""
    del scene
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = st.segmented_control(
            "Which layer", tuple(LAYERS), default="Multi-head", required=True, key="listing",
            label_visibility="collapsed",
        )  # fmt: skip
        file = LAYERS.get(name or "", "layer.py")
        text = (LESSON / file).read_text(encoding="utf-8")
        st.download_button("Download", text, file, "text/x-python", key=f"save-{file}", type="tertiary")
    st.code(text.rstrip(), language="python", wrap_lines=True)


DRAWN: dict[str, Callable[[WalkState], None]] = {
    "hulls": partial(draw_hulls, height=LOW),
    "kinds": kinds,
    "claim": claim,
    "tests": tests,
    "truth": truth,
    "classroom": classroom,
    "code": listing,
}
