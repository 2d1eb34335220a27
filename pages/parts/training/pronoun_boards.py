"""Pictures of the toy model's training: arcs from `it` in both texts, curves, every head, and the results.

In: the rows and the state of a training. Out: boards, charts and a table on the page.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from mha_core.arrays import FloatArray
from mha_core.display_names import head_name, percent
from mha_core.draw.text import listed
from mha_core.training.toy.evaluation import TASKS
from mha_core.training.toy.pairs import FAMOUS
from mha_core.training.toy.toy_updates import WATCHED
from pages.parts.frame.charts import SHARE, course, show_table
from pages.parts.frame.selection import parse_head
from pages.parts.picture.tiles import Block, Board, column, paragraph, row, show_text
from pages.parts.training.boards import head_sheets

PAIR = FAMOUS["street"]
MASKED = {  # the masked word of each task of the grammar
    "because": "what “it” is",
    "names": "a name again",
    "gender": "she or he",
    "agreement": "one or many",
    "repeated": "a noun again",
}
SIDE = 76  # of a head's picture


def live(rows: Sequence[Mapping[str, Any]], state: Mapping[str, Any]) -> None:
    """Draw attention from `it` in both texts, how many pairs one head passes, the loss, and all heads."""
    board, last, weights = Board(), rows[-1], state["weights"]
    board.add(
        paragraph(
            f"Step {state['step']:,}. Best head **{last['head']}** solves {percent(last['pass'])} of {WATCHED} unseen "
            f"pairs: from `it`, {percent(last['right'])} on the right noun, {percent(last['wrong'])} on the other."
        ),
        *(arcs(board, weights, last["head"], text) for text in (0, 1)),
    )
    board.show("training-live")
    left, right = st.columns(2, gap="large")
    with left:
        named = {"solved": "pass", "on the right noun": "right", "on the other": "wrong"}
        lines = {label: [(r["step"], r[key]) for r in rows] for label, key in named.items()}
        course(f"Best head, {WATCHED} pairs", lines, key="training-pairs", share=True)
    with right:
        loss = [(r["step"], r["loss"]) for r in rows if r["loss"] is not None]
        course("Loss", {"loss": loss}, key="training-loss")
    board = Board()
    board.add(
        row(*(column(_rows_of_it(board, weights, text), size="half") for text in (0, 1))),
        row(*(column(_heads(board, weights, text), size="half") for text in (0, 1))),
        paragraph("Each small picture is one head: row looks at column.", "quiet"),
    )
    board.show("training-heads")


def arcs(board: Board, weights: FloatArray, head: str, text: int, name: str = "") -> Block:
    """Draw one head's attention from `it` in one of the two texts; weights (text, layer, head, query, key)."""
    where = parse_head(head) or (0, 0)
    return {
        "type": "arcs",
        "id": f"arcs-{text}{name}",
        "name": f"{name or head}: where “it” looks when the {PAIR.nouns[text]} is too {PAIR.words[text][-2]}",
        "words": list(PAIR.words[text]),
        "from": PAIR.slot,
        "meant": PAIR.places[text],
        "at": board.put(weights[text, *where, PAIR.slot]),
    }


def _names(weights: FloatArray) -> list[str]:
    return [head_name((i, j)) for i in range(weights.shape[1]) for j in range(weights.shape[2])]


def _rows_of_it(board: Board, weights: FloatArray, text: int) -> Block:
    """Draw the attention from `it`, a row a head."""
    heads, words = _names(weights), PAIR.words[text]
    return board.matrix(
        f"“… {words[-2]}”: attention from “it”, one row per head",
        weights[text, :, :, PAIR.slot].reshape(len(heads), -1),
        id=f"it-{text}",
        rows=heads,
        cols=list(words),
        ramp="weight",
        top=1,
        high=18,
        wide=30,
    )


def _heads(board: Board, weights: FloatArray, text: int) -> Block:
    """Draw every head's weights in one text, a layer a line."""
    return head_sheets(board, weights[text], _names(weights), weights.shape[2], SIDE)


def verdict(state: Mapping[str, Any], guess: str | None = None) -> None:
    """Draw the best head, and accuracy without it, task by task; untrained beside it."""
    card, untrained = state["report"], state["untrained"]
    guesses = [f"You guessed “{guess}”."] if guess else []
    sentences = passed(card, untrained["report"]), *answered(card), *guesses
    show_text("training-verdict", *sentences, style="verdict")
    table = by_task(card, untrained["report"])
    alt = "Accuracy at a masked word, by task"
    show_table(table, key="training-by-task", alt=alt, columns=dict.fromkeys(table.columns[1:], SHARE))
    board = Board()
    board.add(
        paragraph(f"Before training, head {card['head']}:"),
        *(arcs(board, untrained["weights"], card["head"], text, "Untrained") for text in (0, 1)),
    )
    board.show("training-untrained")


def by_task(card: Mapping[str, Any], untrained: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row a task: accuracy with all heads, with the best one ablated, and untrained."""
    without, before = card["without_head"]["tasks"], untrained["tasks"]
    return pd.DataFrame(
        {
            "masked word": [MASKED[task] for task in TASKS],
            "all heads": [card["tasks"][task] for task in TASKS],
            f"without {card['head']}": [without[task] for task in TASKS],
            "untrained": [before[task] for task in TASKS],
        }
    )


def passed(card: Mapping[str, Any], untrained: Mapping[str, Any]) -> str:
    """Say how many pairs the best head solves, and the best untrained one."""
    low, high = card["interval"]
    return (
        f"Head **{card['head']}** solves {percent(card['pass'])} of {card['pairs']} unseen pairs (95% interval "
        f"{percent(low)} to {percent(high)}). Untrained, the best head ({untrained['head']}) solves "
        f"{percent(untrained['pass'])}."
    )


def answered(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Say how often the model answers right, with all heads and with those ablated that pass the pairs or point."""
    answers, without, pointing = card["answers"], card["without_head"], card["pointing"]
    left = card["without_pointing"]
    sentences = (
        f"With `it` masked, the model restores the noun in {percent(answers['exact'])} of pairs. It prefers the right "
        f"one of the two in {percent(answers['better'])}. With {card['head']} ablated: {percent(without['exact'])} and "
        f"{percent(without['better'])}.",
        f"Heads {listed(pointing)} all look mostly at the right noun. With all of them ablated: "
        f"{percent(left['exact'])} and {percent(left['better'])}.",
    )
    return sentences if len(pointing) > 1 else sentences[:1]
