"""What only Streamlit draws on the walk: tables, lines of torch, and a layer without some heads.

In: a scene. Out: parts of the page.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import head_name, percent
from mha_core.layer import ablate_in_layer, shares
from pages.parts.frame import state
from pages.parts.frame.page_text import visible
from pages.parts.inside.arrays import row_height
from pages.parts.inside.scene import WalkState, code, follow, format_error, parity_of
from pages.parts.inside.selectable import LABELS, on_choice, tokens_of
from pages.parts.inside.shown_code import comparison_lines, difference_line, function_lines, program
from pages.parts.picture.tiles import Block, Board, paragraph

SHOWN_ROWS = 16


def token_table(scene: WalkState) -> None:
    """Draw the tokens, to choose one, and where the followed one looks; empty for those that it cannot see."""
    weights = scene.now.weights[scene.h, scene.query, : len(scene.there)]
    n, attention = len(scene.labels), f"attention from {visible(scene.token)}"
    table = pd.DataFrame({"place": range(1, n + 1), "token": map(visible, scene.labels)})
    sentence = "" if scene.small else scene.key.partition("-")[0]
    _choosing_table(
        table.assign(**{attention: pd.Series(weights)}),
        f"inside-tokens-{scene.key}",
        scene.query,
        lambda row: follow(row, sentence),
        column_config={
            "place": st.column_config.NumberColumn("", width="small"),
            attention: st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
        },
        height="content" if n <= SHOWN_ROWS else 430,
        width=560,
        alt=f"Tokens, and the attention from {visible(scene.token)} in head {head_name(scene.head)}",
    )


def head_table(
    scene: WalkState, key: str = "inside-parts", choose: Callable[[str], None] | None = None
) -> None:
    """Draw length, share and cosine of what each head, and b_o, adds to the output of the followed token.

    `choose` gets the name of the head whose row is pressed; without one, it opens.
    """
    contributions = shares(scene.now, scene.query)
    names = [head_name((scene.head[0], i)) for i in range(scene.sizes.n_heads)]
    columns = {"head": names, "length": contributions.norms, "share": contributions.share}
    table = pd.DataFrame(columns | {"cosine": contributions.cosine})
    if scene.sizes.b_o is not None:
        table.loc[len(table)] = [
            "b_o",
            float(np.linalg.norm(scene.sizes.b_o)),
            contributions.bias_share,
            np.nan,
        ]
    longest, number = float(table["length"].max()) or 1.0, st.column_config.NumberColumn
    length = st.column_config.ProgressColumn(format="%.3f", min_value=0, max_value=longest, width=120)
    _choosing_table(
        table,
        f"{key}-{scene.h}",  # another head, another row is marked
        scene.h,
        lambda row: (choose or _open_head)(names[row]) if row < len(names) else None,
        column_config={"length": length, "share": number(format="percent"), "cosine": number(format="%.2f")},
        height="content",
        alt=f"Contribution of each head to the output of {visible(scene.token)}",
    )


def _open_head(name: str) -> None:
    state.change({"head": name, "cell": None})


def _choosing_table(
    table: pd.DataFrame, key: str, row: int, choose: Callable[[int], None], **look: Any
) -> None:
    """Draw a table with one row marked; `choose` gets another that is pressed."""
    st.dataframe(
        table,
        hide_index=True,
        on_select=partial(_choose_row, key, choose),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [row]}},
        row_height=26,
        key=key,
        **look,
    )


def _choose_row(key: str, choose: Callable[[int], None]) -> None:
    rows = (st.session_state.get(key) or {}).get("selection", {}).get("rows", [])
    if rows and rows[0] >= 0:
        choose(rows[0])


def torch_program(scene: WalkState) -> None:
    """Write the layer in torch, its comparison with torch's own, and their difference."""
    run, parity = scene.now, parity_of(scene)
    lines = [*program(run), *(function_lines(run) if parity.weights is None else comparison_lines(run))]
    if parity.rows:
        lines.append((difference_line(run), format_error(parity.output)))
    code(*lines)


def ablated_heads(scene: WalkState) -> None:
    """Draw a choice of heads, and the layer's output without those chosen."""
    layer = scene.head[0]
    heads = st.pills(
        "Ablate heads",
        range(scene.sizes.n_heads),
        selection_mode="multi",
        format_func=lambda head: head_name((layer, head)),
        key=f"inside-gone-{layer}",
    )
    board, key = Board(), "inside-board-gone"
    if heads:
        board.add(*_ablated(board, scene, heads))
    else:
        board.add(_output(board, scene, "output", scene.now.output, "output-whole", "no head ablated"))
    board.show(key, on_choice(key, scene))
    board.numbers(key, scene.source)


def _output(board: Board, scene: WalkState, name: str, values: np.ndarray, ident: str, note: str) -> Block:
    size = {"high": row_height(len(values), 220), "wide": min(2.0, 680 / values.shape[1])}
    block = board.matrix(name, values, id=ident, note=note, rows=scene.labels, follow=True, **size)
    return tokens_of(scene, block, LABELS)


def _ablated(board: Board, scene: WalkState, heads: Sequence[int]) -> list[Block]:
    """Return the output without these heads, and how much of it is left."""
    output = ablate_in_layer(scene.now, heads)
    before, after = scene.now.output[scene.query], output[scene.query]
    lengths = float(np.linalg.norm(before)), float(np.linalg.norm(after))
    cosine = float(before @ after) / (lengths[0] * lengths[1] or 1.0)
    names = ", ".join(head_name((scene.head[0], head)) for head in sorted(heads))
    text = (
        f"Without {names} the output of {{token}} keeps **{percent(lengths[1] / (lengths[0] or 1.0))}** of its length "
        f"(cosine **{cosine:.2f}**)."
    )
    note = f"rows of W_o of {names} set to zero"
    return [
        paragraph(text, "verdict", token=scene.token),
        _output(board, scene, "output after ablation", output, "output-without", note),
    ]
