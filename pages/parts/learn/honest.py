"""The steps about claims: kinds of heads, the pretty picture, its tests, what is true instead, the classroom, and code.

In: a scene. Out: what stands beside the text; links open the real head.
"""

import html
from collections.abc import Callable

import streamlit as st

from mha_core.grid import piece_units
from mha_core.heads.findings import Findings
from mha_core.heads.job_table import ExampleRow, JobTable
from mha_core.shelf import EMBEDDED
from mha_core.wording import Head, head_name, percent
from pages.parts.frame import head_facts
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.links import link_to
from pages.parts.frame.presets import TIRED, WIDE
from pages.parts.frame.prose import markup, say
from pages.parts.frame.request import Request
from pages.parts.inside.scene import Scene
from pages.parts.learn import claims
from pages.parts.learn.outcome import fallen
from pages.parts.picture.tiles import Board, column, paragraph
from pages.parts.serve import cache

JOBS_SHOWN = (
    *("previous", "next", "determiner", "adjective", "preposition", "object", "possessive"),
    *("agreement", "coreference", "semantic", "copy", "rare", "separator"),
)
TESTS_SEEN = "lesson-tests"
LAYERS = {"Multi-head": "layer.py", "Grouped-query": "grouped.py"}
SECOND = "    def split("  # where the printed layer is cut in two, so that all of it is on one screen


def found() -> Findings:
    """What MiniLM's heads do on the built-in sentences."""
    with st.spinner("Every head reads the built-in sentences; that takes a while once.", show_time=True):
        return head_facts.findings(EMBEDDED)


def kinds(scene: Scene) -> None:
    """A row for each kind of job: the best head, its evidence, and two sentences to open."""
    del scene
    heads = found()
    rows = "".join(_kind(heads.jobs[name]) for name in JOBS_SHOWN if name in heads.jobs)
    titles = ("MiniLM: a head for", "best", "correct", "to beat", "n", "beats it?", "see it")
    top = "".join(f'<th scope="col">{title}</th>' for title in titles)
    markup(
        f'<div class="hs-scroll hs-kinds"><table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table></div>'
    )
    say(
        "Counted now on sentences written for this page; n: those in which the job can be asked for. “Antecedent” is "
        "told by the meaning alone."
    )


def _kind(table: JobTable) -> str:
    best = table.order()[0]
    word = claims.BEATS[table.verdict(*best)]
    good, bad = table.examples(*best, 1), table.examples(*best, 1, right=False)
    links = [
        f'<a href="{html.escape(example_link(look, best, table.job.group == "syntactic"))}" target="_self">{name}</a>'
        for name, looks in (("works", good), ("fails", bad))
        for look in looks
    ]
    return (
        f'<tr><th scope="row">{html.escape(table.job.title)}</th><td>{head_name(best)}</td>'
        f"<td>{percent(float(table.score[best]))}</td><td>{percent(table.baseline)}</td><td>{table.n}</td>"
        f"<td>{word}</td><td>{' · '.join(links)}</td></tr>"
    )


def example_link(look: ExampleRow, head: Head, words: bool) -> str:
    """The view of Explore that shows a case; a job that is counted by whole words opens by whole words."""
    text = look.sample.sentence.text
    units = cache.record(Request(text)).grid(words=words, specials="shown").units
    ends = [
        next(i for i, unit in enumerate(units) if place[0] in unit.pieces)
        for place in (look.query, look.target)
        if place
    ]
    view = {"text": text, "head": head_name(head), "unit": "words" if words else ""}
    return link_to("Explore", view | dict(zip(("pin", "to"), map(str, ends), strict=False)))


def claim(scene: Scene) -> None:
    """The picture that the claim is made from."""
    del scene
    record = cache.record(Request(TIRED))
    names = [unit.label for unit in piece_units(record.tokens)]
    row = record.weights[claims.HEAD][names.index("it")][None]
    board = Board()
    board.add(
        board.matrix(
            "it", row, id="claim", note=f"head {head_name(claims.HEAD)} of MiniLM, “too tired”",
            rows=["it"], cols=names, ramp="weight", top=1, high=44, wide=34, numbers=False,
        ),
        paragraph(f"`it` looks at `animal`: **{percent(row[0][names.index('animal')])}**.", "verdict"),
        paragraph("The claim: 4-2 finds what a pronoun stands for.", "big"),
    )  # fmt: skip
    board.show("lesson-claim")


def tests(scene: Scene) -> None:
    """The tests so far, and the button for the next."""
    del scene
    seen = st.session_state.get(TESTS_SEEN, 0)
    board = Board()
    if seen:
        with st.spinner("The model reads the sentences of this test."):
            done = [test() for _, test in claims.TESTS[:seen]]
        for number, test in enumerate(done, 1):
            board.add(
                column(
                    paragraph(
                        f"**{number} · {test.asks}.** {head_name(claims.HEAD)}: **{test.got}**. {test.beat}",
                        "result",
                    ),
                    paragraph(test.says, "result-said"),
                    size="close",
                )
            )
    else:
        board.add(paragraph("The claim stands: 4-2 finds what a pronoun stands for.", "big"))
    if seen == len(claims.TESTS):
        board.add(paragraph(fallen(done), "verdict"))
    board.show("lesson-claim-tests")
    with st.container(horizontal=True, gap="small", key="claim-buttons"):
        if seen < len(claims.TESTS):
            st.button(
                f"Run test {seen + 1}: {claims.TESTS[seen][0]}",
                key="claim-next",
                type="primary",
                on_click=_see,
                args=(seen + 1,),
            )
        link = link_to(
            "Compare", {"text": TIRED, "text2": WIDE, "head": head_name(claims.HEAD), "against": "sentence"}
        )
        markup(
            f'<p><a href="{html.escape(link)}" target="_self">Compare the two sentences</a></p>', inline=True
        )


def _see(count: int) -> None:
    st.session_state[TESTS_SEEN] = count


def truth(scene: Scene) -> None:
    """What 4-2 is good at, beside what it was thought to be."""
    del scene
    board = Board()
    board.add(
        {
            "type": "grid",
            "id": "instead",
            "label": "What heads 4-2 and 2-4 are good at",
            "size": "snug",
            "head": ["built-in sentences", "head", "correct", "to beat", "n", "beats it?"],
            "rows": claims.instead(found()),
        },
        paragraph(claims.impossible()),
        paragraph(
            "To beat: always guessing the word at the best fixed distance; for two candidates, a coin. "
            "Built-in sentences are few and of one kind; on other texts another head can be the best. “What 4-2 does” "
            "is true of what it was tested on. The atlas asks without being told what to look for.",
            "quiet",
        ),
    )
    board.show("lesson-truth")
    links = {
        "4-2 in the atlas": link_to("Roles", {"part": "atlas", "head": "4-2"}),
        "4-2 among the roles": link_to("Roles", {"head": "4-2"}),
        "2-4 on this sentence": link_to("Explore", {"text": claims.IMPOSSIBLE, "head": "2-4", "pin": "1"}),
    }
    items = " · ".join(
        f'<a href="{html.escape(link)}" target="_self">{name}</a>' for name, link in links.items()
    )
    markup(f"<p>{items}</p>")


def classroom(scene: Scene) -> None:
    """A model in which `it` moves, and what it takes."""
    del scene
    board = Board()
    board.add(
        {
            "type": "grid",
            "id": "moving",
            "label": "What `it` looks at in two models",
            "head": ["head", "“... too”", "it → animal", "it → street"],
            "rows": claims.moving(),
        },
        *(paragraph(text) for text in claims.card_said()),
    )
    board.show("lesson-classroom")
    links = {
        "Compare both sentences in it": link_to(
            "Compare", {"text": TIRED, "text2": WIDE, "model": "classroom", "against": "sentence"}
        ),
        "Train one yourself": link_to("Training", {"train": "Where does it look?"}),
    }
    items = " · ".join(
        f'<a href="{html.escape(link)}" target="_self">{name}</a>' for name, link in links.items()
    )
    markup(f"<p>{items}</p>")


def listing_begins() -> None:
    """The first part of the printed layer, under the text: what it consists of."""
    _, text, rest = printed()
    _print(text.removesuffix(rest))


def listing(scene: Scene) -> None:
    """Which layer is printed, and the rest of it: what it computes. Both parts are the file, to copy and to run."""
    del scene
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Which layer",
            tuple(LAYERS),
            default="Multi-head",
            required=True,
            key="listing",
            label_visibility="collapsed",
        )
        file, text, rest = printed()
        st.download_button("Download", text, file, "text/x-python", key=f"save-{file}", type="tertiary")
    _print(rest)


def printed() -> tuple[str, str, str]:
    """The file of the chosen layer: its name, its text, and the part of it from SECOND on."""
    file = LAYERS.get(st.session_state.get("listing") or "", "layer.py")
    text = (LESSON / file).read_text(encoding="utf-8")
    return file, text, text[text.index(SECOND) :]


def _print(text: str) -> None:
    st.code(text.rstrip(), language="python", wrap_lines=True)


DRAWN: dict[str, Callable[[Scene], None]] = {
    "kinds": kinds,
    "claim": claim,
    "tests": tests,
    "truth": truth,
    "classroom": classroom,
    "code": listing,
}
UNDER_THE_TEXT: dict[str, Callable[[], None]] = {"code": listing_begins}
