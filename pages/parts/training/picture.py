"""The famous picture, learnt live: a small model in which `it` moves from one noun to the other, or does not.

In: a seed, and whether layer 1 has its window. Out: the page's third part; one training at a time for all readers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from mha_core import HeadScopeError
from mha_core.embedded import CLASSROOM, TWIN
from mha_core.learning.classroom.pairs import FAMOUS
from mha_core.learning.classroom.shipped import report as shipped
from mha_core.wording import head_name, percent
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import heading, markup, say
from pages.parts.frame.request import models
from pages.parts.picture.tiles import Block, Board, column, paragraph, row
from pages.parts.serve.training import TRAINER, LiveTraining
from pages.parts.training.boards import course
from pages.parts.training.view import TICK, how_far, is_working, reader

PAIR = FAMOUS["street"]
WINDOWS = {"three words": False, "the whole sentence": True}
QUESTION = (
    "Every text on attention shows `it` looking at `animal` when the animal is tired, and at `street` when the "
    "street is wide. Here a model of two layers learns to, or does not, from texts of some 700 words. Will a head of "
    "it point at the right noun?"
)
REWARDED = (
    "The loss never sees attention, but it is not true that nobody told the model. It restores hidden words; and where "
    "a noun after “because” was hidden, its pronoun was left standing 3 times in 10, and the noun is what it must "
    "restore. A model learns what its task rewards. This one reads no other words and knows one construction."
)


def picture_part() -> None:
    """Start it, watch it, and see what came out."""
    board = Board()
    board.add(paragraph(QUESTION, "big"), paragraph(REWARDED, "quiet"))
    board.show("training-question")
    with st.container(key="training-choices", horizontal=True, vertical_alignment="bottom", gap="medium"):
        window = st.segmented_control(
            "Layer 1 sees to each side",
            tuple(WINDOWS),
            default="three words",
            required=True,
            key="window",
            bind="query-params",
        )
        seed = st.number_input("Seed", 0, 2**31 - 1, 1, key="seed", bind="query-params", width=130)
    TRAINER.warm()
    twin = WINDOWS.get(window or "", False)
    training = TRAINER.ask("classroom", {"seed": int(seed), "twin": twin})
    working = is_working(training, reader())
    st.fragment(_watch, run_every=TICK if working else None)(training, working)
    if training.state == "finished":
        _came_out(training.now["report"])
    _shipped()


def _watch(training: LiveTraining, was_working: bool) -> None:
    """How far it is, its buttons, and its pictures; runs every second while it goes on."""
    TRAINER.look(training, reader())
    working = is_working(training, reader())
    if working != was_working:
        st.rerun()
    with st.container(key="training-progress", horizontal=True, vertical_alignment="bottom", gap="medium"):
        if working:
            st.button("Stop", key="training-stop", on_click=TRAINER.stop, args=(training, reader()))
        elif training.state != "finished":
            words = "Go on" if training.rows else "Start"
            st.button(
                words, key="training-start", type="primary", on_click=TRAINER.start, args=(training, reader())
            )
        if training.rows or working:
            st.progress(min(training.fraction, 1.0), text=how_far(training, TRAINER.ahead(training), working))
        else:
            say("It takes some four minutes on one processor core.", "label")
    if training.problem:
        say(training.problem, "problem")
    if training.rows:
        live_board(training.rows, training.now).show("training-live")


def live_board(rows: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> Board:
    """What `it` looks at in both texts, how many pairs one head passes, and the loss."""
    board, last, weights = Board(), rows[-1], now["weights"]
    heads = [head_name((i, j)) for i in range(weights.shape[1]) for j in range(weights.shape[2])]

    def looks(text: int) -> Block:
        words = PAIR.words[text]
        values = weights[text, :, :, PAIR.slot].reshape(len(heads), -1)
        said = f"“... {words[-2]}”: where “it” looks, a row for each head"
        return board.matrix(
            said,
            values,
            id=f"it-{text}",
            rows=heads,
            cols=list(words),
            ramp="weight",
            top=1,
            high=18,
            wide=30,
        )

    board.add(
        paragraph(
            f"Step {now['step']:,}. The head that passes most of other pairs, **{last['head']}**, has "
            f"{percent(last['right'])} of its attention from `it` on the right noun and {percent(last['wrong'])} on "
            f"the other, and passes {percent(last['pass'])} of 40 pairs of words that no text has together."
        ),
        row(column(looks(0), size="half"), column(looks(1), size="half")),
        row(
            course(
                board,
                "pairs",
                "One head, 40 pairs",
                [
                    (label, [(one["step"], one[key]) for one in rows])
                    for label, key in (
                        ("passed", "pass"),
                        ("on the right noun", "right"),
                        ("on the other", "wrong"),
                    )
                ],
                1.0,
            ),
            course(
                board,
                "loss",
                "Loss, in nats",
                [("loss", [(one["step"], one["loss"]) for one in rows if one["loss"] is not None])],
                None,
            ),
        ),
    )
    return board


def _came_out(card: Mapping[str, Any]) -> None:
    heading("What came out")
    board = Board()
    board.add(*(paragraph(text, "verdict" if i == 0 else "") for i, text in enumerate(said(card))))
    board.show("training-verdict")


def said(card: Mapping[str, Any]) -> tuple[str, ...]:
    """What a model does, and what is left without its head."""
    answers, without = card["answers"], card["without_head"]
    low, high = card["interval"]
    return (
        f"Head **{card['head']}** passes {percent(card['pass'])} of {card['pairs']} pairs (95 %: {percent(low)} to "
        f"{percent(high)}); untrained none does. With an animal {percent(card['animate'])}, without "
        f"{percent(card['inanimate'])}.",
        f"Where `it` is hidden the model names the very noun in {percent(answers['exact'])} and prefers the right one "
        f"of the two in {percent(answers['better'])}. Without {card['head']}: {percent(without['exact'])} and "
        f"{percent(without['better'])}. What a head shows is not all that the answer rests on.",
    )


def _shipped() -> None:
    """The models that come with the project, with the twin beside them."""
    try:
        card = shipped()
    except HeadScopeError as problem:
        say(str(problem), "problem")
        return
    seeds, twin = card["over_seeds"], card["models"].get("twin")
    heading("Trained before")
    with_interval = ""
    if "interval" in seeds:
        low, high = seeds["interval"]
        with_interval = f" (mean over the seeds, 95 %: {percent(low)} to {percent(high)})"
    say(
        f"Of {seeds['seeds']} seeds, none left out, one head passes {percent(seeds['pass'])} of the pairs"
        f"{with_interval}; the worst seed {percent(seeds['least'])}."
    )
    if twin:
        say(
            f"The twin learnt without the window. It names the very noun in {percent(twin['answers']['exact'])}, "
            f"prefers the right one of the two in {percent(twin['answers']['better'])}, and its best head passes "
            f"{percent(twin['pass'])} of the pairs: a right answer does not say where a model looks."
        )
    tired, wide = PAIR.texts
    links = ", ".join(
        f'<a href="{link_to("Compare", {"text": tired, "text2": wide, "model": model, "against": "sentence"})}" '
        f'target="_self">{name}</a>'
        for model, name in ((CLASSROOM, "the model in which it moves"), (TWIN, "the twin"))
        if model in models()
    )
    markup(f"<p>Compare the two sentences in {links}.</p>")
