"""The pictures about claims: kinds of heads, the claim, its tests, other roles, the toy model; and the code.

In: a scene. Out: parts of the page beside the text; links open the real head.
"""

import html
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from mha_core.display_names import Head, head_name
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.verdict_text import outcome
from mha_core.models.model_list import EMBEDDED
from mha_core.record.grid import piece_units
from pages.parts.frame import head_facts
from pages.parts.frame.charts import HEAD_NAME, show_table
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import markup, say
from pages.parts.frame.presets import TIRED, WIDE
from pages.parts.frame.request import Request
from pages.parts.inside.scene import WalkState
from pages.parts.learn import claims
from pages.parts.learn.progress import here
from pages.parts.picture.tiles import Board, column, paragraph, show_text
from pages.parts.serve import cache

TESTS_SEEN = "lesson-tests"
SHARES = ("score", "baseline", *claims.CANDIDATES)  # columns in percent
ZERO_BASED = "L{}H{}, zero-based".format(*claims.HEAD)
LAYERS = {"Multi-head": "layer.py", "Grouped-query": "grouped.py"}
PAIR = {"text": TIRED, "text2": WIDE, "against": "sentence"}


def kinds(_scene: WalkState) -> None:
    """Draw a row for each kind of role: the head that comes closest, its score, the strongest baseline, the verdict."""
    best = claims.best_of_kinds(head_facts.table(EMBEDDED))
    rows = [{"role in MiniLM": _kind(answer), **_cells(answer, head)} for answer, head in best]
    _table(pd.DataFrame(rows), "lesson-kinds", "Kinds of roles in MiniLM, each with its best head")
    say("Score: share of right cases; for a sink, of attention; for a diffuse head, of entropy.")


def _kind(answer: QuestionResult) -> str:
    """Return a kind of role with what such a head looks for."""
    word, title = KIND_OF[answer.kind].word, answer.question.title
    return title if word in title else f"{word}: {title}"


def _cells(answer: QuestionResult, head: Head) -> dict[str, str | float]:
    """Return a head as a link to Roles, its score, the strongest baseline's, n, and the verdict."""
    return {
        "head": link_to("Roles", {"head": head_name(head), "question": answer.key}),
        "score": 100 * float(answer.score[head]),
        "baseline": 100 * answer.baselines[0].score,
        "n": answer.n,
        "verdict": outcome(answer, head),
    }


def _table(frame: pd.DataFrame, key: str, alt: str) -> None:
    """Draw a table in which heads are links to Roles and shares are percent."""
    columns = {
        frame.columns[0]: st.column_config.TextColumn(width=230),
        "head": st.column_config.LinkColumn(display_text=HEAD_NAME),
        "n": st.column_config.NumberColumn(format="localized"),
        **dict.fromkeys(SHARES, st.column_config.NumberColumn(format="%.0f%%")),
    }
    show_table(frame, key=key, alt=alt, columns=columns, row_height=30)


def links(places: Mapping[str, str]) -> None:
    """Draw a line of links, by their names."""
    items = (f'<a href="{html.escape(to)}" target="_self">{name}</a>' for name, to in places.items())
    markup(f'<p class="hs-links">{" · ".join(items)}</p>')


def claim(_scene: WalkState) -> None:
    """Draw the picture that the claim comes from."""
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


def tests(_scene: WalkState) -> None:
    """Draw the tests so far, and the button for the next; after the last, what they say to the vote."""
    names, n_seen = list(claims.TESTS), st.session_state.get(TESTS_SEEN, 0)
    board = Board()
    if not n_seen:
        board.add(paragraph("No test yet. The claim stands.", "big"))
    for number, name in enumerate(names[:n_seen], 1):
        title, result, says = claims.TESTS[name]()
        text = paragraph(f"**{number} · {title}.** {result}.", "result")
        board.add(column(text, paragraph(says, "result-said"), size="close"))
    if n_seen == len(names):
        board.add(paragraph(claims.conclusion(), "verdict"))
        if vote := here().answers.get("vote"):
            board.add(paragraph(claims.vote_result(vote), "result-said"))
    board.show("lesson-claim-tests")
    with st.container(horizontal=True, gap="small", key="claim-buttons"):
        if n_seen < len(names):
            label = f"Run test {n_seen + 1}: {names[n_seen]}"
            st.button(label, key="claim-next", type="primary", on_click=_see, args=(n_seen + 1,))
        head = head_name(claims.HEAD)
        links({
            "Compare the two sentences": link_to("Compare", PAIR | {"head": head}),
            "All pronouns in Roles": link_to("Roles", {"head": head, "question": claims.PRONOUNS}),
        })  # fmt: skip


def _see(count: int) -> None:
    st.session_state[TESTS_SEEN] = count


def truth(_scene: WalkState) -> None:
    """Draw the other roles of 4-2, and where 2-4 shows that agreement is not meaning."""
    roles = claims.besides(head_facts.table(EMBEDDED))
    rows = [{"looks for": answer.question.title, **_cells(answer, head)} for answer, head in roles]
    _table(pd.DataFrame(rows), "lesson-besides", "Other roles of heads 4-2 and 2-4")
    hard = "; ".join(
        f"{answer.question.title}, {answer.right_where_all_wrong[head]:.0%} of {answer.n_all_wrong:,} "
        f"(chance {answer.chance:.0%})"
        for answer, head in roles
        if answer.right_where_all_wrong is not None
    )
    show_text("lesson-truth", f"Right where every baseline is wrong: {hard}.", claims.impossible())
    links({
        "4-2 in the atlas": link_to("Roles", {"part": "atlas", "head": "4-2"}),
        "2-4 on this sentence": link_to("Explore", {"text": claims.IMPOSSIBLE, "head": "2-4", "pin": "1"}),
    })  # fmt: skip


def classroom(_scene: WalkState) -> None:
    """Draw a model in which `it` moves, and what speaks for and against that."""
    _table(claims.moving(), "lesson-moving", "Attention of “it” to animal and street, tired and wide")
    show_text("lesson-classroom", *claims.for_and_against())
    links({
        "Compare both sentences in it": link_to("Compare", PAIR | {"model": "classroom"}),
        "Train one yourself": link_to("Training", {"train": "Pronoun head"}),
    })  # fmt: skip


def listing(_scene: WalkState) -> None:
    """Draw the layer in PyTorch, to copy and to run, with or without shared keys and values."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = st.segmented_control(
            "Which layer", tuple(LAYERS), default="Multi-head", required=True, key="listing",
            label_visibility="collapsed",
        )  # fmt: skip
        file = LAYERS.get(name or "", "layer.py")
        text = (LESSON / file).read_text(encoding="utf-8")
        st.download_button("Download", text, file, "text/x-python", key=f"save-{file}", type="tertiary")
    st.code(text.rstrip(), language="python", wrap_lines=True)
