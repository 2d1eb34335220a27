"""The first screens of the walk: the sentence as tokens, X, the three readings, and the cut into heads.

In: a scene. Out: a filled stage.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import LayerRun, Projections
from mha_core.wording import head_name, percent
from pages.parts.frame.page_text import visible
from pages.parts.inside.key_groups import shared_keys
from pages.parts.inside.scene import Scene, follow
from pages.parts.inside.selectable import DOTS, heads_of
from pages.parts.inside.shown_code import head_lines, projection_lines
from pages.parts.inside.stage import ROOM, Stage, changed_table, high_of, say, table, written_row
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

SHOWN_ROWS = 16


def sentence(scene: Scene, stage: Stage) -> None:
    """The tokens, and the question that the walk answers."""
    weights = scene.now.weights[scene.h, scene.query, : len(scene.there)]
    best = int(weights.argmax())
    name = head_name(scene.head)
    if scene.small:
        say(
            stage.words,
            "Attention on paper: two [[token|tokens]] of four numbers, two [[head|heads]] of two. Click a number to "
            "see how it arises; edit X or any matrix.",
        )
    elif scene.now.n == 1:
        say(stage.words, "Your sentence is **one** [[token]]: {token}.", token=scene.token)
    else:
        say(
            stage.words,
            f"Your sentence becomes **{scene.now.n}** [[token|tokens]]. We follow {{token}}; click another token to "
            "change.",
            token=scene.token,
        )
    if weights.any():
        say(
            stage.words,
            f"Head {name} (L{scene.head[0]}H{scene.h}, counted from 0) gives {{best}} **{percent(weights[best])}** of "
            "the attention from {token}. Where does that number come from?",
            "verdict",
            token=scene.token,
            best=scene.labels[best],
        )
    else:
        whom = " that {token} could look at" if scene.now.allowed.any() else ""
        say(stage.words, f"Every token{whom} is masked.", "verdict", token=scene.token)
    stage.below = lambda: _tokens(scene)


def _tokens(scene: Scene) -> None:
    """The tokens, to choose one, and where the followed one looks."""
    table, key = tokens(scene), f"inside-tokens-{scene.key}"
    weight = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
    st.dataframe(
        table,
        hide_index=True,
        column_config={"place": st.column_config.NumberColumn("", width="small"), table.columns[2]: weight},
        on_select=partial(_row_pressed, key, "" if scene.small else scene.key.partition("-")[0]),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [scene.query]}},
        height="content" if len(table) <= SHOWN_ROWS else 430,
        row_height=26,
        width=560,
        key=key,
        alt=f"Tokens, and the attention from {visible(scene.token)} in head {head_name(scene.head)}",
    )


def tokens(scene: Scene) -> pd.DataFrame:
    """Return the tokens and how much the followed one looks at each; nan for those that are not there yet."""
    weights = scene.now.weights[scene.h, scene.query, : len(scene.there)]
    attention = f"attention from {visible(scene.token)}"
    table = pd.DataFrame({"place": range(1, len(scene.labels) + 1), "token": map(visible, scene.labels)})
    return table.assign(**{attention: pd.Series(weights)})


def _row_pressed(key: str, sentence: str) -> None:
    rows = (st.session_state.get(key) or {}).get("selection", {}).get("rows", [])
    if rows:
        follow(rows[0], sentence)


def x(scene: Scene, stage: Stage) -> None:
    """The rows that attention is given."""
    now = scene.now
    d = now.projections.d_model
    embedding = "its embedding" if now.rotary else "its embedding plus its position"
    start = embedding if scene.head[0] == 0 else f"the output of layer {scene.head[0]}"
    if scene.small:
        say(
            stage.words,
            "X has one row of four numbers per token, chosen to keep the sums small.",
        )
    else:
        say(
            stage.words,
            f"X has one row of {d} numbers per [[token]]: {start}. All tokens enter [[layer]] {scene.head[0] + 1} at "
            "once.",
        )
    if scene.plain.is_pre_norm:
        say(
            stage.words,
            f"{scene.title} normalises before attention (pre\u2011LN): X is the layer's normalised input.",
        )
    if scene.small:
        note = "two tokens of four numbers; type others"
        typed = {"editable": True, "note": note}
        stage.picture.add(stage.picture.matrix("X", now.x, "tiles", id="X", rows=scene.labels, **typed))
        return
    stage.picture.add(table(stage.picture, scene, "X", now.x, "X", wide=min(2.0, 680 / d)))


def qkv(scene: Scene, stage: Stage) -> None:
    """Fill the stage with the projections of one head: query, key and value."""
    sizes = scene.sizes
    d_k = sizes.d_k
    say(
        stage.words,
        f"Head {scene.h + 1} projects each row of X, {sizes.d_model} numbers, to three of {d_k}. The [[query]] asks "
        "what it looks for, the [[key]] what it matches, the [[value]] what it passes on. The matrices "
        "were " + ("chosen by hand." if scene.small else "learned." if scene.trained else "drawn at random."),
    )
    if scene.small:
        which = f"W{scene.h + 1}" if scene.together else f"W_q{scene.h + 1}"
        say(
            stage.words,
            f"Zeros in {which} drop out, so the query of {{token}} is "
            f"**{written_row(scene, 'Q', scene.query)}**.",
            token=scene.token,
        )
    stage.latex = projection_formula(sizes)
    stage.lines = projection_lines(scene.now)
    if scene.small:
        _by_hand(scene, stage)
        return
    if scene.with_matrices:
        stage.picture.add(row(*(_matrix(stage.picture, scene, name) for name in "qkv")))
    stage.picture.add(row(*(column(*_reading(stage.picture, scene, name), size="slim") for name in "QKV")))


def _by_hand(scene: Scene, stage: Stage) -> None:
    """The example's matrices to type into, and what they make of X."""
    sizes, i = scene.sizes, scene.h + 1
    board = stage.picture
    names = ("q",) if scene.together else ("q", "k", "v")
    typed = {"editable": True, "hue": ""}
    given = [
        board.matrix(
            f"W{i}" if scene.together else f"W_{name}{i}", getattr(sizes, f"W_{name}")[scene.h], "tiles",
            id=f"W_{name}{i}", note="for Q, K and V" if scene.together else "", **typed,
        )
        for name in names
    ]  # fmt: skip
    made = [
        table(
            board,
            scene,
            f"Q{i} = K{i} = V{i}" if scene.together else f"{name.upper()}{i}",
            getattr(scene.now, name)[scene.h],
            name.upper(),
        )
        for name in names
    ]
    x = board.matrix("X", scene.now.x, "tiles", id="X", rows=scene.labels)
    if scene.together:
        board.add(row(x, op("×"), *given, op("="), *made))
    else:
        board.add(row(x, op("×"), *given), row(*made))


def projection_formula(sizes: Projections) -> str:
    """Q, K and V, each with its bias if there is one."""
    parts = [
        rf"{name.upper()} = XW_{name}" + (f" + b_{name}" if getattr(sizes, f"b_{name}") is not None else "")
        for name in "qkv"
    ]
    return r",\; ".join(parts)


def _of(run: LayerRun, name: str) -> np.ndarray:
    """Q, K or V of all heads, before any rotation."""
    unrotated = {"Q": run.q_unrotated, "K": run.k_unrotated}.get(name)
    read = {"Q": run.q, "K": run.k, "V": run.v}[name]
    return read if unrotated is None else unrotated


def _reading(board: Board, scene: Scene, name: str) -> list[Block]:
    now, plain = scene.now, scene.plain
    h = scene.h if name == "Q" else scene.kv
    values, before = (_of(run, name)[h] for run in (now, plain))
    room = 100.0 if scene.with_matrices else ROOM
    wide = min(8.0, (230 if name != "Q" else 150) / values.shape[1])
    options: dict[str, Any] = {"wide": wide, "high": high_of(len(values), room)}
    if name != "Q" and not scene.small:
        options["unlabelled"] = True
        options["wide"] = min(8.0, 200 / values.shape[1])
    return changed_table(board, scene, name, values, before, name, **options)


def _matrix(board: Board, scene: Scene, name: str) -> Block:
    """W and b of one reading, as this head has them."""
    sizes = scene.sizes
    W, b = getattr(sizes, f"W_{name}"), getattr(sizes, f"b_{name}")
    h = scene.h if name == "q" else scene.kv
    heads, d, width = W.shape
    whose = "head" if heads == sizes.n_heads else "key head"
    blocks = [
        paragraph(f"{whose} {h + 1}: columns {h * width + 1} to {(h + 1) * width} of {heads * width}", "quiet"),
        board.matrix(
            f"W_{name}", W[h], id=f"W_{name}", high=80 / d, wide=min(8.0, 200 / width), cells=True, legend=False,
            describe=f"W_{name} of this head, {d} by {width} numbers",
        ),
    ]  # fmt: skip
    if b is not None:
        blocks.append(
            board.matrix(
                f"b_{name}", b[h][None], id=f"b_{name}", high=8, wide=min(8.0, 200 / width), legend=False
            )
        )
    return column(*blocks, size="slim")


def heads(scene: Scene, stage: Stage) -> None:
    """One wide product, cut into the heads' shares."""
    sizes, now = scene.sizes, scene.now
    h, d, d_k = sizes.W_q.shape
    q = now.q if now.q_unrotated is None else now.q_unrotated
    split = f"Each query is reshaped for {h} heads, without arithmetic: **{h * d_k} → {h} × {d_k}**."
    whole = f"This layer has one head, so nothing is split: **{h * d_k} → 1 × {d_k}**."
    say(stage.words, f"{split if h > 1 else whole} W_o joins the heads again: **{h} × {sizes.d_v} → {d}**.")
    stage.words.add(*(block for block in shared_keys(sizes, scene.h) if block["type"] == "paragraph"))
    stage.picture.add(
        *(
            heads_of(scene, block, DOTS)
            for block in shared_keys(sizes, scene.h)
            if block["type"] != "paragraph"
        )
    )
    stage.lines = head_lines(now)
    wide = np.concatenate(list(q), axis=-1)
    options = {
        "cuts": [d_k * i for i in range(1, h)],
        "slice": [scene.h * d_k, (scene.h + 1) * d_k],
    }
    stage.picture.add(
        table(
            stage.picture, scene, "all queries", wide, "Q-all",
            note=f"{h} heads side by side; the frame marks this one" if h > 1 else "",
            wide=min(2.0, 680 / (h * d_k)), high=high_of(now.n, 150), hue="q", **options,
        ),
        heads_of(scene, stage.picture.sheets("q", q, chosen=scene.h), "figure"),
    )  # fmt: skip
    if scene.small:
        stage.picture.add(paragraph("Columns 1 and 2 are head 1, columns 3 and 4 head 2."))
