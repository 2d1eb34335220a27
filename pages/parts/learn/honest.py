"""The pictures about claims: kinds of heads, the claim, its tests, what is true besides, the toy model; and the code.

In: a scene. Out: what stands beside the text; links open the real head.
"""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import streamlit as st

from mha_core.grid import piece_units
from mha_core.heads.conclude import Answer
from mha_core.heads.questions.base import KIND_OF
from mha_core.shelf import EMBEDDED
from mha_core.wording import Head, head_name
from pages.parts.frame import head_facts
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.links import link_to
from pages.parts.frame.presets import TIRED, WIDE
from pages.parts.frame.prose import markup, say
from pages.parts.frame.request import Request
from pages.parts.inside.hulls import hulls
from pages.parts.inside.scene import Scene
from pages.parts.learn import claims
from pages.parts.picture.tiles import Board, column, paragraph
from pages.parts.serve import cache

TESTS_SEEN = "lesson-tests"
ZERO_BASED = "L{}H{}, zero-based".format(*claims.HEAD)
LAYERS = {"Multi-head": "layer.py", "Grouped-query": "grouped.py"}


def kinds(scene: Scene) -> None:
    """A row for each kind of role: the head that comes closest, its score, the strongest baseline and the verdict."""
    del scene
    found = claims.best_of_kinds(head_facts.table(EMBEDDED))
    rows = ((_kind(answer), *_cells(answer, head)) for answer, head in found)
    _table(("MiniLM", "best head", "score", "baseline", "n", "verdict"), rows)
    say("Score: share of right cases; for a sink, of attention; for a diffuse head, of entropy.")


def _kind(answer: Answer) -> str:
    """The kind of role and what such a head looks for."""
    word, title = KIND_OF[answer.kind].word, html.escape(answer.question.title)
    return title if word in title else f"{word}: <span>{title}</span>"


def _cells(answer: Answer, head: Head) -> tuple[str, ...]:
    """The head as a link to Roles, its score, the strongest baseline's, n, and the verdict."""
    name = head_name(head)
    link = html.escape(link_to("Roles", {"head": name, "question": answer.key}))
    return (
        f'<a href="{link}" target="_self">{name}</a>',
        f"{answer.score[head]:.0%}",
        f"{answer.rules[0].score:.0%}",
        f"{answer.n:,}",
        claims.SAID[str(answer.word[head])],
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of escaped cells; the first of a row names it."""
    top = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    markup(
        f'<div class="hs-scroll hs-kinds"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def links(places: Mapping[str, str]) -> None:
    """A line of links, by what they are called."""
    items = (f'<a href="{html.escape(to)}" target="_self">{name}</a>' for name, to in places.items())
    markup(f'<p class="hs-links">{" · ".join(items)}</p>')


def claim(scene: Scene) -> None:
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


def tests(scene: Scene) -> None:
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


def truth(scene: Scene) -> None:
    """What 4-2 does besides, and where 2-4 shows that agreement is not meaning."""
    del scene
    _table(
        ("looks for", "head", "score", "baseline", "n", "verdict", "where every baseline is wrong"),
        (
            (html.escape(answer.question.title), *_cells(answer, head), _where_all_wrong(answer, head))
            for answer, head in claims.besides(head_facts.table(EMBEDDED))
        ),
    )
    board = Board()
    board.add(paragraph(claims.impossible()))
    board.show("lesson-truth")
    links({
        "4-2 in the atlas": link_to("Roles", {"part": "atlas", "head": "4-2"}),
        "2-4 on this sentence": link_to("Explore", {"text": claims.IMPOSSIBLE, "head": "2-4", "pin": "1"}),
    })  # fmt: skip


def _where_all_wrong(answer: Answer, head: Head) -> str:
    if answer.hard is None:
        return "–"
    return f"{answer.hard[head]:.0%} of {answer.n_hard:,} (chance {answer.chance:.0%})"


def classroom(scene: Scene) -> None:
    """A model in which `it` moves, and what it takes."""
    del scene
    _table(("head", "“... too”", "it → animal", "it → street"), claims.moving())
    board = Board()
    board.add(*(paragraph(text) for text in claims.for_and_against()))
    board.show("lesson-classroom")
    pair = {"text": TIRED, "text2": WIDE, "model": "classroom", "against": "sentence"}
    links({
        "Compare both sentences in it": link_to("Compare", pair),
        "Train one yourself": link_to("Training", {"train": "Where does it look?"}),
    })  # fmt: skip


def listing(scene: Scene) -> None:
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


DRAWN: dict[str, Callable[[Scene], None]] = {
    "hulls": partial(hulls, words=False),
    "kinds": kinds,
    "claim": claim,
    "tests": tests,
    "truth": truth,
    "classroom": classroom,
    "code": listing,
}
