"""The end of the lesson: the whole formula, the notation, and the numbers of the model at hand.

In: a scene. Out: blocks.
"""

from pages.parts.inside.scene import Scene
from pages.parts.picture.tiles import Block, Board, paragraph

NOTATION = (
    ("n (also T)", "tokens of the text"),
    ("d_model", "numbers of a token between the layers"),
    ("h", "heads of a layer"),
    ("d_k, d_v (also d_h)", "numbers of a token in a head: d_model / h"),
    ("Q, K, V", "queries, keys and values of a head: n × d_k"),
    ("A (also α)", "attention weights of a head: n × n, each row 100 %"),
    ("Z", "what a head brings: A V, n × d_v"),
    ("W_q, W_k, W_v, W_o", "the learnt matrices"),
)


def summary(board: Board, scene: Scene) -> list[Block]:
    """What to keep, on one screen."""
    del board
    sizes, n = scene.sizes, scene.plain.n
    of_heads = f"{sizes.d_model} × {sizes.n_heads * sizes.d_k}"
    of_shared = f"{sizes.d_model} × {sizes.n_kv_heads * sizes.d_k}"
    here = {
        "n (also T)": f"{n}",
        "d_model": f"{sizes.d_model}",
        "h": f"{sizes.n_heads}",
        "d_k, d_v (also d_h)": f"{sizes.d_k}",
        "Q, K, V": f"{n} × {sizes.d_k}",
        "A (also α)": f"{n} × {n}",
        "Z": f"{n} × {sizes.d_v}",
        "W_q, W_k, W_v, W_o": f"{of_heads} for all heads"
        + (f"; W_k, W_v {of_shared}" if of_shared != of_heads else ""),
    }
    return [
        paragraph("headᵢ = softmax(Qᵢ Kᵢᵀ / √d_k) Vᵢ", "formula"),
        paragraph("MultiHead(X) = Concat(head₁, …, headₕ) W_o", "formula"),
        paragraph("Qᵢ, Kᵢ and Vᵢ are the columns of X W_q, X W_k and X W_v that belong to head i.", "quiet"),
        {
            "type": "grid",
            "id": "notation",
            "label": "Notation",
            "size": "said",
            "head": ["sign", "what it is", "here"],
            "rows": [[sign, said, here[sign]] for sign, said in NOTATION],
        },
    ]
