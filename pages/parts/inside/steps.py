"""The middle screens of the walk: products, scores, weights, and the values they mix.

In: a scene. Out: a filled stage.
"""

from typing import Any

import numpy as np

from mha_core.inside import follow, spread
from mha_core.wording import counted, percent
from pages.parts.frame.page_text import visible
from pages.parts.inside.scene import SHOWN_KEYS, Scene
from pages.parts.inside.selectable import WORDS, tokens_of
from pages.parts.inside.shown_code import mixing_lines, product_lines, score_lines, weight_lines
from pages.parts.inside.stage import Stage, changed_table, digits, high_of, say, table
from pages.parts.picture.tiles import Block, Board, column, row

ROWS = 16  # of a table on a screen; the rest is one line


def scores(scene: Scene, stage: Stage) -> None:
    """Every query times every key, before anything is divided."""
    now, n = scene.now, scene.now.n
    say(
        stage.words,
        "Take the dot product of every query with every key. Large means a good match. Row looks at column."
        + (f" {scene.title} is causal: later tokens are hatched." if now.is_causal else ""),
    )
    stage.latex = r"Q K^\top"
    stage.lines = product_lines(now)
    there = np.where(_there(scene), now.raw(scene.h), np.nan)
    before = np.where(_there(scene), scene.plain.raw(scene.h), np.nan)
    stage.picture.add(*_square(stage.picture, scene, "Q K ᵀ", there, before, "raw", n))


def _there(scene: Scene) -> np.ndarray:
    now = scene.now
    return np.tril(np.ones_like(now.allowed)) if now.is_causal else np.ones_like(now.allowed)


def _square(
    board: Board,
    scene: Scene,
    name: str,
    values: np.ndarray,
    before: np.ndarray,
    ident: str,
    n: int,
    **more: Any,
) -> list[Block]:
    """Tokens by tokens; what the reader changed stands to its right."""
    wide = min(22.0, 300 / n)
    made = changed_table(
        board, scene, name, values, before, ident, cols=scene.labels, wide=wide, high=high_of(n, 290), **more
    )
    return [row(*made)]


def scaled(scene: Scene, stage: Stage) -> None:
    """The division and the mask, with the variance of these very scores."""
    now, d_k = scene.now, scene.sizes.d_k
    with_, without = (spread(now.raw(scene.h), d, scene.plain.allowed) for d in (np.sqrt(d_k), 1.0))
    say(
        stage.words,
        f"Divide by √{d_k} ([[scaling]]): the variance of these scores drops from **{without.variance:.1f}** to "
        f"**{with_.variance:.1f}**. The mean largest weight of a row drops from **{percent(without.largest)}** to "
        f"**{percent(with_.largest)}**. If one weight takes everything, gradients vanish and training stalls.",
    )
    say(
        stage.words,
        "A [[mask]] removes tokens, such as [[padding]] or [[causal|future tokens]]."
        + (f" {scene.title} always masks the future (hatched)." if scene.plain.is_causal else "")
        + (
            f" Layer {scene.head[0] + 1} of {scene.title} sees only {counted(scene.plain.window, 'token')} each way."
            if scene.plain.window is not None
            else ""
        ),
    )
    stage.latex = r"\frac{QK^\top}{\sqrt{d_k}} + M"
    stage.lines = score_lines(now)
    seen = np.where(now.allowed, now.scores[scene.h], np.nan)
    before = np.where(scene.plain.allowed, scene.plain.scores[scene.h], np.nan)
    origins = None
    if scene.small:
        origins = [
            f"{digits(float(a))} ÷ {digits(now.divisor)} = {digits(float(b))}" if np.isfinite(b) else "masked"
            for a, b in zip(now.raw(scene.h).ravel(), seen.ravel(), strict=True)
        ]
    note = f"Q Kᵀ ÷ {now.divisor:.4g}"
    stage.picture.add(
        *_square(stage.picture, scene, "scores", seen, before, "scores", now.n, note=note, origins=origins)
    )


def weights(scene: Scene, stage: Stage) -> None:
    """A row of scores becomes shares of 100 %."""
    now, h, i = scene.now, scene.h, scene.query
    here = now.weights[h, i, : len(scene.there)]
    best = int(here.argmax())
    say(
        stage.words,
        "[[softmax|Softmax]] turns each row of scores into attention [[weight|weights]]: e to the power of each score, "
        "divided by their sum.",
    )
    if here.any():
        say(
            stage.words,
            "{token} looks most at {best}: " + f"**{percent(here[best])}**.",
            "verdict",
            token=scene.token,
            best=scene.labels[best],
        )
    else:
        which = " that it could look at" if now.allowed.any() else ""
        said = f"{{token}} looks at nothing: every token{which} is masked."
        say(stage.words, said, "verdict", token=scene.token)
    typed = "" if scene.small else " Edit a score and watch the weights change."
    say(stage.words, said_sums(now.weights[h].sum(axis=-1)) + typed)
    stage.latex = r"A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)"
    stage.lines = weight_lines(now)
    drawn = np.where(now.allowed, now.weights[h], np.nan) if now.is_causal else now.weights[h]
    picture = table(
        stage.picture, scene, "attention weights", drawn, "weights", ramp="weight", cols=scene.labels,
        wide=min(20.0, 300 / now.n), high=high_of(now.n, 280), origins=_softmax_sums(scene),
    )  # fmt: skip
    if scene.small:
        stage.picture.add(picture)
        stage.origin.add(softmax_block(stage.origin, scene))
    else:
        block = softmax_block(stage.picture, scene)
        shares = tokens_of(scene, block, f"tbody tr[data-key] {WORDS}", block["shown"])
        stage.picture.add(row(picture, column(shares, size="narrow")))


def _softmax_sums(scene: Scene) -> list[str] | None:
    """The softmax of the example, written out."""
    if not scene.small:
        return None
    made = list[str]()
    for line, shares in zip(scene.now.scores[scene.h], scene.now.weights[scene.h], strict=True):
        powers = " + ".join(f"e^{digits(score)}" for score in line)
        made += [
            f"e^{digits(a)} ÷ ({powers}) = {digits(share)}" for a, share in zip(line, shares, strict=True)
        ]
    return made


def softmax_block(board: Board, scene: Scene) -> Block:
    """The row of the asked token: scores to type over, powers, weights, and the weights before a change."""
    now, h = scene.now, scene.h
    i = scene.cell[1] if scene.cell and scene.cell[0] == "weights" else scene.query
    seen = now.seen(i)
    line = np.where(now.allowed[i, :seen], now.scores[h, i, :seen], np.nan)
    powers = np.exp(line - np.nanmax(line)) if np.isfinite(line).any() else line
    here, before = now.weights[h, i, :seen], scene.plain.weights[h, i, :seen]
    typed = [edit.key for edit in now.edits.scores if (edit.head, edit.query) == (h, i) and edit.key < seen]
    chosen = scene.cell[2] if scene.cell and scene.cell[0] == "weights" else int(here.argmax())
    asked = [key for key in dict.fromkeys((*typed, chosen)) if key < seen][:ROWS]
    largest = [int(key) for key in np.argsort(-here, kind="stable") if key not in asked]
    return {
        "type": "softmax",
        "tokens": [visible(label) for label in scene.labels[:seen]],
        "query": i,
        "shown": sorted((*asked, *largest[: ROWS - len(asked)])),
        "chosen": chosen,
        "editable": not scene.small,
        "edited": typed,
        "scores": board.put(line),
        "powers": board.put(powers),
        "weights": board.put(here),
        "before": board.put(before) if scene.changed else None,
    }


def said_sums(sums: np.ndarray) -> str:
    """What the rows of a table of weights add up to."""
    low, high = percent(sums.min()), percent(sums.max())
    return f"Each row sums to {low}." if low == high else f"Rows sum to {low} to {high}."


def z(scene: Scene, stage: Stage) -> None:
    """The weights mix the values."""
    now, h = scene.now, scene.h
    say(
        stage.words,
        "A row of Z, the [[context|head output]], is a weighted mean: each value times its attention weight, added up.",
    )
    stage.latex = r"z_i = \sum_j a_{ij}\, v_j"
    stage.lines = mixing_lines(now)
    d_v = now.v.shape[-1]
    options: dict[str, Any] = {"wide": min(8.0, 240 / d_v)}
    stage.picture.add(
        row(
            column(table(stage.picture, scene, "V", now.v[scene.kv], "V", **options), size="narrow"),
            column(
                *changed_table(
                    stage.picture, scene, "Z", now.context[h], scene.plain.context[h], "z",
                    note="= attention weights × V",
                    **options,
                ),
                size="narrow",
            ),
        )
    )  # fmt: skip


def one_query(scene: Scene, stage: Stage) -> None:
    """Fill the stage with one query's row, number by number."""
    say(
        stage.words,
        "The row of {token}: its q with each k, their dot product, the score, the weight, and the weighted value. The "
        "last column adds up to z.",
        token=scene.token,
    )
    stage.latex = r"z_i = \sum_j \mathrm{softmax}_j\!\left(\tfrac{q_i \cdot k_j}{\sqrt{d_k}}\right) v_j"
    block = {**follow_block(stage.picture, scene, ROWS), "tight": True}
    stage.picture.add(tokens_of(scene, block, f"tbody tr[data-token] {WORDS}", block["shown"]))


def follow_block(board: Board, scene: Scene, most: int = SHOWN_KEYS) -> Block:
    """The row of one query, element by element, for the keys it looks at most."""
    now, h = scene.now, scene.h
    found = follow(now, h, scene.query)
    order = np.sort(np.argsort(-found.weights, kind="stable")[:most])
    return {
        "type": "follow",
        "tokens": [visible(label) for label in scene.there],
        "query": scene.query,
        "shown": order.tolist(),
        "d_k": now.q.shape[-1],
        "d_v": now.v.shape[-1],
        "divisor": now.divisor,
        "q": board.put(found.q),
        "k": board.put(now.k[scene.kv, : len(scene.there)]),
        "products": board.put(found.products),
        "raw": board.put(found.raw),
        "scores": board.put(np.where(found.allowed, found.scores, np.nan)),
        "weights": board.put(found.weights),
        "weighted": board.put(found.weighted),
        "z": board.put(found.context),
    }
