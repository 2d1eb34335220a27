"""The live picture of each step of the lesson, with numbers of the model on the user's sentence.

In: a scene (one head, one token of the user's sentence). Out: blocks for a board, or parts of the page.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import head_name, visible
from mha_core.draw.figures.charts import bars
from mha_core.layer import example, kv_cache_bytes, middle_groups, run_layer
from mha_core.layer.costs import CONFIGURATIONS
from mha_core.layer.worked import TOKENS
from mha_core.record.grid import word_units
from pages.parts.frame import loading
from pages.parts.frame.charts import chart, is_dark, show_table
from pages.parts.frame.page_text import say
from pages.parts.inside.many import forms, spectrum
from pages.parts.inside.pictures import groups_block
from pages.parts.inside.scene import WalkState
from pages.parts.inside.selectable import DOTS, heads_of
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row, show_text
from pages.parts.serve import cache

MAX_WORDS = 24  # to spread a budget over
SHOWN_BARS = 6
CONTEXT = 2048
# Words that `it` needs in the two sentences of the lesson, word by word; of another sentence the user marks them.
_BEGINNING = "the animal didn't cross the street because it was too"
NEEDS = {f"{_BEGINNING} tired": ("animal", "tired"), f"{_BEGINNING} wide": ("street", "wide")}
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


def budget(board: Board, scene: WalkState) -> list[Block]:
    """Draw 100% to spread over the words that the followed one needs, and a second head where one is not enough."""
    units = word_units(cache.record(scene.request).tokens)
    words = [unit for unit in units if not unit.special and unit.label.strip("'.,;:!?")]
    nearest = sorted(words, key=lambda unit: min(abs(i - scene.query) for i in unit.pieces))[:MAX_WORDS]
    shown, n_left_out = [unit for unit in words if unit in nearest], len(words) - len(nearest)
    if not shown:
        return [paragraph("This text has no words to mix. Enter a sentence.")]
    labels, values = [unit.label for unit in shown], scene.plain.v[scene.kv]
    followed = next((unit.label for unit in units if scene.query in unit.pieces), "")
    needs = NEEDS.get(" ".join(labels).lower(), ())
    block = {
        "type": "budget",
        "labels": labels,
        "needs": [labels.index(word) for word in needs] if followed == "it" else [],
        "at": board.put(np.stack([values[list(unit.pieces)].mean(axis=0) for unit in shown])),
        "width": values.shape[1],
        "token": scene.token,
        "name": f"{scene.sentence}-{scene.query}",
        "note": f"Match: cosine similarity of the mix with the word's own value in head {head_name(scene.head)}.",
    }
    left = f"{n_left_out} more {'is' if n_left_out == 1 else 'are'} left out"
    note = paragraph(f"The {MAX_WORDS} words nearest to {{token}}; {left}.", "quiet", token=scene.token)
    return [block, note] if n_left_out else [block]


def by_hand(board: Board, _scene: WalkState) -> list[Block]:
    """Draw the first head of the worked example."""
    worked = example()
    run = run_layer(worked.x, worked.weights)
    labels = {"rows": TOKENS, "cols": TOKENS}
    return [
        row(
            board.matrix("Q = K", run.q[0], "tiles", id="Q1", rows=TOKENS),
            op("→"),
            board.matrix("scores", run.scores[0], "tiles", id="scores", note="÷ √2", **labels),
            op("→"),
            board.matrix("weights", run.weights[0], "tiles", id="weights", ramp="weight", **labels),
        ),
        paragraph(
            "Scores of 2.83 and 0 are far apart, so the first row peaks on one token. Scores of 0.3 and 0 give 57% "
            "and 43%: the row is **diluted**. One row must do one or the other."
        ),
    ]


def mix(board: Board, scene: WalkState) -> list[Block]:
    """Draw the heads' outputs before and after W_o."""
    run, d_v = scene.plain, scene.sizes.d_v
    size = {"high": max(2.0, min(9.0, 100 / run.n)), "wide": min(2.4, 620 / scene.sizes.d_model)}
    look: dict[str, Any] = {"rows": scene.labels, "follow": True, **size}
    marked = [scene.h * d_v, (scene.h + 1) * d_v]
    note = "side by side; the frame is this head"
    return [
        board.matrix("Z", run.concatenated, id="Z", note=note, slice=marked, **look),
        board.matrix("output", run.output, id="output", note="= Z W_o: every number mixes all heads", **look),
    ]


def stream(board: Board, scene: WalkState) -> list[Block]:
    """Draw why W_o returns to d_model: the followed token's input, what attention adds to it, and their sum."""
    run, i = scene.plain, scene.query
    if run.stream is None:
        return []
    added = np.stack([run.stream[i], run.output[i], run.stream[i] + run.output[i]])
    return [
        board.matrix(
            "residual stream", added, id="stream", rows=["input", "+ output", "= sum"], high=16,
            wide=min(2.4, 620 / scene.sizes.d_model), note=f"of {visible(scene.token)}", numbers=False,
        )
    ]  # fmt: skip


def sharing(_board: Board, scene: WalkState) -> list[Block]:
    """Draw who uses whose keys and values."""
    h, columns = scene.sizes.n_heads, []
    for name, keys in (("Multi-head", h), ("Grouped-query", middle_groups(h)), ("Multi-query", 1)):
        owner = tuple(i * keys // h for i in range(h))
        picture = heads_of(scene, groups_block(owner, keys, scene.h), DOTS)
        columns.append(column(paragraph(f"**{name}**: {keys} of {h}"), picture, size="third"))
    return [row(*columns, size="narrow")]


def caches(_scene: WalkState) -> None:
    """Draw the KV cache of every decoder that reads so many tokens, with and without shared keys."""
    rows = []
    for config in CONFIGURATIONS:
        if config.is_causal and config.reads(CONTEXT) == CONTEXT:
            sizes = [
                kv_cache_bytes(CONTEXT, config.d_k, heads, config.n_layers) / 1024**2
                for heads in (config.kv_heads, config.n_heads)
            ]
            rows.append((config.name, config.n_heads, config.kv_heads, config.d_k, *sizes))
    names = ["model", "heads", "KV heads", "d_k", "KV cache (MiB)", "nothing shared (MiB)"]
    mebibytes = dict.fromkeys(names[-2:], st.column_config.NumberColumn(format="localized"))
    text = f"KV cache of {CONTEXT:,} tokens in 16 bits."
    show_table(pd.DataFrame(rows, columns=names), key="caches", alt=text, columns=mebibytes)
    say(text, "label")


def norms(scene: WalkState) -> None:
    """Draw where a token looks, and the share of what arrives: weight times the length of V W_o."""
    run, n = scene.plain, len(scene.visible_labels)
    arrived = scene.weights * np.linalg.norm(run.v[scene.kv, :n] @ scene.sizes.W_o[scene.h], axis=-1)
    values = {"looks at": scene.weights, "arrives": arrived / (arrived.sum() or 1.0)}
    frame = pd.DataFrame({"token": list(map(visible, scene.visible_labels)), **values})
    shown = frame.loc[frame[[*values]].sum(axis=1).nlargest(SHOWN_BARS).index.sort_values()]
    which = f", {len(shown)} of {n} tokens" if len(shown) < n else ""
    title = f"From {visible(scene.token)}, head {head_name(scene.head)}{which}"
    figure = bars(shown, "token", [*values], title=title, x_title="share", percent=True, dark=is_dark())
    figure.update_layout(height=32 * len(shown) + 100)
    chart(figure, shown, key="norms")


def rank(scene: WalkState) -> None:
    """Say and draw the ranks of one head and of all of them unsplit."""
    sizes, (narrow, wide) = scene.sizes, forms(scene)
    key, model = ("forms alike", scene.head[0]), loading.model(scene.request)
    alike = cache.of_model(model, key, lambda: forms_alike(sizes.W_q, sizes.W_k))
    split = (
        f"Two of the **{sizes.n_heads}** heads compare alike by **{alike:.2f}** on average (cosine without sign)."
        if sizes.n_heads > 1
        else "This layer has a single head: there is nothing to split."
    )
    text = (
        f"Head {head_name(scene.head)}: rank **{narrow.rank}** of {sizes.d_model}. All heads unsplit: rank "
    )
    show_text("lesson-rank", f"{text}**{wide.rank}**. {split}")
    spectrum(scene, 230)


def forms_alike(W_q: np.ndarray, W_k: np.ndarray) -> float:
    """Return the mean cosine, without sign, between the forms W_q W_kᵀ of any two heads (Frobenius); 0 for one head.

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


def summary(scene: WalkState) -> None:
    """Draw the whole formula, and each sign of it with its size here."""
    sizes, n = scene.sizes, scene.plain.n
    show_text(
        "lesson-summary",
        paragraph("headᵢ = softmax(Qᵢ Kᵢᵀ / √d_k) Vᵢ", "formula"),
        paragraph("MultiHead(X) = Concat(head₁, …, headₕ) W_o", "formula"),
        paragraph("Qᵢ, Kᵢ and Vᵢ are the columns of X W_q, X W_k and X W_v that belong to head i.", "quiet"),
    )
    all_heads, key_heads = (
        f"{sizes.d_model} × {heads * sizes.d_k}" for heads in (sizes.n_heads, sizes.n_kv_heads)
    )
    shared = f"; W_k, W_v {key_heads}" if key_heads != all_heads else ""
    here = [
        n, sizes.d_model, sizes.n_heads, sizes.d_k, f"{n} × {sizes.d_k}", f"{n} × {n}", f"{n} × {sizes.d_v}",
        f"{all_heads} for all heads{shared}",
    ]  # fmt: skip
    rows = [(*entry, str(size)) for entry, size in zip(NOTATION, here, strict=True)]
    columns = {"here": st.column_config.TextColumn(width=210)}
    table = pd.DataFrame(rows, columns=["sign", "what it is", "here"])
    show_table(table, key="notation", alt="Notation", columns=columns)
