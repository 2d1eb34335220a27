"""One wide comparison or many narrow ones: the singular values of W_q W_kᵀ, and how the heads' forms differ.

In: a scene. Out: blocks.
"""

import numpy as np

from mha_core.inside import Bilinear, bilinear, unsplit
from pages.parts.frame import loading
from pages.parts.inside.scene import Scene
from pages.parts.picture.tiles import Block, Board, paragraph
from pages.parts.serve import cache


def rank(board: Board, scene: Scene) -> list[Block]:
    """Ranks of one head and of all of them unsplit, drawn and said."""
    used, h, layer = scene.sizes, scene.h, scene.head[0]
    model = loading.model(scene.request)
    narrow: Bilinear = cache.of_model(
        model, ("ranks", layer, h), lambda: bilinear(used.W_q[h], used.W_k[scene.kv])
    )
    wide: Bilinear = cache.of_model(model, ("ranks", layer), lambda: _unsplit(scene))
    alike = cache.of_model(model, ("forms alike", layer), lambda: forms_alike(used.W_q, used.W_k))
    split = (
        f"Split: **{used.n_heads}** forms. Two of them are alike by **{alike:.2f}** on average (cosine, without "
        "sign; 1 would be the same comparison twice)."
        if used.n_heads > 1
        else "This layer has a single head: there is nothing to split."
    )
    return [
        paragraph(
            f"Head {h + 1} of layer {layer + 1}: rank **{narrow.rank}** of {used.d_model}. The same matrices, not "
            f"split: one form of rank **{wide.rank}**. {split}"
        ),
        {
            "type": "curve",
            "axis": "singular values in order, the largest drawn as 1",
            "describe": f"Singular values: {narrow.rank} above zero in one head, {wide.rank} unsplit",
            "lines": [
                _line(board, f"head {h + 1}: {narrow.rank}", narrow),
                _line(board, f"unsplit: {wide.rank}", wide),
            ],
        },
    ]


def _line(board: Board, label: str, form: Bilinear) -> Block:
    return {"label": label, "at": board.put(form.singular), "count": len(form.singular)}


def _unsplit(scene: Scene) -> Bilinear:
    wide = unsplit(scene.sizes)
    return bilinear(wide.W_q[0], wide.W_k[0])


def forms_alike(W_q: np.ndarray, W_k: np.ndarray) -> float:
    """The mean cosine, without sign, between the forms W_q W_kᵀ of any two heads (Frobenius); 0 for a single head.

    W_q (heads, d_model, d_k), W_k (key heads, d_model, d_k). Never makes a form: <A Bᵀ, C Dᵀ> = tr((Aᵀ C)(Dᵀ B)).
    """
    keys = np.repeat(W_k, len(W_q) // len(W_k), axis=0).astype(np.float64)
    queries = W_q.astype(np.float64)
    across_q = np.einsum("adi,bdj->abij", queries, queries)
    across_k = np.einsum("adi,bdj->abij", keys, keys)
    inner = np.einsum("abij,abij->ab", across_q, across_k)
    size = np.sqrt(np.diagonal(inner))
    cosines = np.abs(inner / np.outer(size, size))
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    return float(pairs.mean()) if pairs.size else 0.0
