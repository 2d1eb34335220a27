"""The end of the lesson: the whole formula, the notation, and the numbers of the model at hand.

In: a scene. Out: words and a table on the page.
"""

import pandas as pd
import streamlit as st

from pages.parts.inside.scene import WalkState
from pages.parts.picture.tiles import Board, paragraph

NOTATION = (
    ("n (also T)", "tokens of the text"),
    ("d_model", "numbers of a token between the layers"),
    ("h", "heads of a layer"),
    ("d_k, d_v (also d_h)", "numbers of a token in a head: d_model / h"),
    ("Q, K, V", "queries, keys and values of a head: n × d_k"),
    ("A (also α)", "attention weights of a head: n × n, each row 100%"),
    ("Z", "head output: A V, n × d_v"),
    ("W_q, W_k, W_v, W_o", "the learned matrices"),
)


def summary(scene: WalkState) -> None:
    """Draw what to keep, on one screen."""
    board = Board()
    board.add(
        paragraph("headᵢ = softmax(Qᵢ Kᵢᵀ / √d_k) Vᵢ", "formula"),
        paragraph("MultiHead(X) = Concat(head₁, …, headₕ) W_o", "formula"),
        paragraph("Qᵢ, Kᵢ and Vᵢ are the columns of X W_q, X W_k and X W_v that belong to head i.", "quiet"),
    )
    board.show("lesson-summary")
    st.dataframe(
        notation(scene),
        hide_index=True,
        column_config={"here": st.column_config.TextColumn(width=210)},
        height="content",
        row_height=28,
        key="notation",
        alt="Notation",
    )


def notation(scene: WalkState) -> pd.DataFrame:
    """Return every sign, what it is, and its size here."""
    sizes, n = scene.sizes, scene.plain.n
    of_heads = f"{sizes.d_model} × {sizes.n_heads * sizes.d_k}"
    of_shared = f"{sizes.d_model} × {sizes.n_kv_heads * sizes.d_k}"
    here = [
        f"{n}",
        f"{sizes.d_model}",
        f"{sizes.n_heads}",
        f"{sizes.d_k}",
        f"{n} × {sizes.d_k}",
        f"{n} × {n}",
        f"{n} × {sizes.d_v}",
        f"{of_heads} for all heads" + (f"; W_k, W_v {of_shared}" if of_shared != of_heads else ""),
    ]
    rows = [(*entry, size) for entry, size in zip(NOTATION, here, strict=True)]
    return pd.DataFrame(rows, columns=["sign", "what it is", "here"])
