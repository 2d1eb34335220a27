"""One wide comparison or many narrow ones: the singular values of W_q W_kᵀ, and how the heads' forms differ.

In: a scene. Out: words and a chart on the page.
"""

import numpy as np

from mha_core.display_names import head_name
from pages.parts.frame import loading
from pages.parts.inside.one_or_many import forms, spectrum
from pages.parts.inside.scene import WalkState
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve import cache


def rank(scene: WalkState) -> None:
    """Say and draw the ranks of one head and of all of them unsplit."""
    used, layer = scene.sizes, scene.head[0]
    narrow, wide = forms(scene)
    model = loading.model(scene.request)
    alike = cache.of_model(model, ("forms alike", layer), lambda: forms_alike(used.W_q, used.W_k))
    split = (
        f"Two of the **{used.n_heads}** heads compare alike by **{alike:.2f}** on average (cosine without sign)."
        if used.n_heads > 1
        else "This layer has a single head: there is nothing to split."
    )
    board = Board()
    board.add(
        paragraph(
            f"Head {head_name(scene.head)}: rank **{narrow.rank}** of {used.d_model}. All heads unsplit: rank "
            f"**{wide.rank}**. {split}"
        )
    )
    board.show("lesson-rank")
    spectrum(scene, 230)


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
