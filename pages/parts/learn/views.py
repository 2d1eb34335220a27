"""The live picture of each step of the lesson: blocks for a board, numbers from the model as it is now.

In: a scene (one head, one token of the reader's sentence). Out: blocks. Names are those of lesson.toml.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import head_name
from mha_core.draw.figures.charts import bars
from mha_core.layer import example, kv_cache_bytes, middle_groups, run_layer
from mha_core.layer.costs import CONFIGURATIONS
from mha_core.layer.worked import TOKENS
from mha_core.wordlists import FUNCTION_WORDS
from pages.parts.frame import state
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import say, visible
from pages.parts.inside.key_groups import groups_block
from pages.parts.inside.one_or_many import cost_table, one_head, rows_block
from pages.parts.inside.scene import SHOWN_KEYS, WalkState
from pages.parts.inside.selectable import heads_of, tokens_of
from pages.parts.inside.walk_pictures import follow_block
from pages.parts.inside.walk_tables import head_table
from pages.parts.learn.circuit import circuit
from pages.parts.learn.ranks import rank
from pages.parts.learn.summary import summary
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

WORDS_AT_MOST = 24  # to spread a budget over
LARGEST = 5  # weights whose rows are followed to the end, beside the hull


def budget(board: Board, scene: WalkState) -> list[Block]:
    """100 % to spread over the words that the followed one needs, and a second head where one is not enough."""
    plain = [i for i, special in enumerate(scene.special) if not special and scene.labels[i].strip("'.,;:!?")]
    places = sorted(sorted(plain, key=lambda i: abs(i - scene.query))[:WORDS_AT_MOST])
    if not places:
        return [paragraph("This text has no words to mix. Enter a sentence.")]
    values = scene.plain.v[scene.kv][places]
    return [
        {
            "type": "budget",
            "labels": [scene.labels[i] for i in places],
            "needs": needed(scene, places),
            "at": board.put(values),
            "width": values.shape[1],
            "token": scene.token,
            "name": sentence_key_of(scene),
            "note": f"Match: cosine similarity of the mix with the word's own value in head {head_name(scene.head)}.",
        },
        *_left_out(len(plain) - len(places), scene.token),
    ]


def _left_out(count: int, token: str) -> list[Block]:
    """How many words of a long text are not offered."""
    if not count:
        return []
    left = f"{count} more {'is' if count == 1 else 'are'} left out"
    return [paragraph(f"The {WORDS_AT_MOST} words nearest to {{token}}; {left}.", "quiet", token=token)]


def sentence_key_of(scene: WalkState) -> str:
    return f"{scene.key.partition('-')[0]}-{scene.query}"


def needed(scene: WalkState, places: list[int]) -> list[int]:
    """Words marked as needed at first: the antecedent and what is said of it where known, else the nearest before and
    after it that are no function words, or, where there is none, its neighbours.
    """
    words = [scene.labels[i].lower() for i in places]
    text = " ".join(words)
    asked = next((names for sentence, names in NEEDS.items() if sentence in text), None)
    if asked and scene.token.lower() == "it" and set(asked) <= set(words):
        return [words.index(word) for word in asked]
    before = [j for j, i in reversed(list(enumerate(places))) if i < scene.query]
    after = [j for j, i in enumerate(places) if i > scene.query]
    return [_telling(side, words) for side in (before, after) if side]


def _telling(side: list[int], words: list[str]) -> int:
    """The nearest word of a side that is no function word, else the nearest; `side` begins with the nearest."""
    return next((j for j in side if words[j] not in FUNCTION_WORDS), side[0])


NEEDS = {"too tired": ("animal", "tired"), "too wide": ("street", "wide")}


def rows(board: Board, scene: WalkState) -> list[Block]:
    """One row as one head, many rows as many."""
    return [rows_block(board, scene, one_head(scene), high=14)]


def asking(board: Board, scene: WalkState) -> list[Block]:
    """A query against every key, as far as the sum."""
    return [_follow(board, scene, upto="raw")]


def handing(board: Board, scene: WalkState) -> list[Block]:
    """The same to the end for the keys with most weight: score, weight, and what is let through."""
    return [_follow(board, scene, most=LARGEST)]


def _follow(board: Board, scene: WalkState, most: int = SHOWN_KEYS, **options: str) -> Block:
    block = follow_block(board, scene, most) | {"tight": True, **options}
    return tokens_of(scene, block, "tbody tr[data-token] td.word", block["shown"])


def by_hand(board: Board, scene: WalkState) -> list[Block]:
    """The first head of the worked example."""
    del scene
    made = example()
    run = run_layer(made.x, made.weights)
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
            "and 43%: the row is **diluted**. One row must do one or the other.",
        ),
    ]


def mix(board: Board, scene: WalkState) -> list[Block]:
    """Before and after W_o."""
    now, sizes = scene.plain, scene.sizes
    d_v = sizes.d_v
    high = max(2.0, min(9.0, 100 / now.n))
    wide = min(2.4, 620 / sizes.d_model)
    return [
        board.matrix(
            "Z", now.concatenated, id="Z", rows=scene.labels, follow=True, high=high, wide=wide,
            note="side by side; the frame is this head", slice=[scene.h * d_v, (scene.h + 1) * d_v],
        ),
        board.matrix(
            "output", now.output, id="output", rows=scene.labels, follow=True, high=high, wide=wide,
            note="= Z W_o: every number mixes all heads",
        ),
    ]  # fmt: skip


def stream(board: Board, scene: WalkState) -> list[Block]:
    """Why W_o returns to d_model: the followed token's input, what attention adds to it, and their sum."""
    now, i = scene.plain, scene.query
    if now.stream is None:
        return []
    added = np.stack([now.stream[i], now.output[i], now.stream[i] + now.output[i]])
    return [
        board.matrix(
            "residual stream", added, id="stream", rows=["input", "+ output", "= sum"], high=16,
            wide=min(2.4, 620 / scene.sizes.d_model), note=f"of {visible(scene.token)}", numbers=False,
        )
    ]  # fmt: skip


def parts(scene: WalkState) -> None:
    """Draw what every head adds."""
    head_table(scene, "lesson-parts", state.choose_head)


def costs(scene: WalkState) -> None:
    """Draw parameters and operations of one head and of many."""
    cost_table(scene.plain.n, scene.sizes)


def sharing(board: Board, scene: WalkState) -> list[Block]:
    """Who uses whose keys and values."""
    del board
    h = scene.sizes.n_heads
    shown = []
    for name, keys in (("Multi-head", h), ("Grouped-query", middle_groups(h)), ("Multi-query", 1)):
        owner = tuple(i * keys // h for i in range(h))
        drawn = heads_of(scene, groups_block(owner, keys, scene.h), "circle")
        shown.append(column(paragraph(f"**{name}**: {keys} of {h}"), drawn, size="third"))
    return [row(*shown, size="narrow")]


CONTEXT = 2048


def caches(scene: WalkState) -> None:
    """Draw what models that write keep for each reader, with and without shared keys."""
    del scene
    mebibytes = st.column_config.NumberColumn(format="localized")
    st.dataframe(
        cache_sizes(),
        hide_index=True,
        column_config={"KV cache (MiB)": mebibytes, "nothing shared (MiB)": mebibytes},
        height="content",
        row_height=28,
        key="caches",
        alt=f"KV caches of models that write, for {CONTEXT:,} tokens in 16 bits",
    )
    say(f"KV cache of {CONTEXT:,} tokens in 16 bits.", "label")


def cache_sizes() -> pd.DataFrame:
    """Return heads, key and value heads, and MiB of the cache of every decoder that reads so many tokens."""
    lines = []
    for one in CONFIGURATIONS:
        if one.is_causal and one.reads(CONTEXT) == CONTEXT:
            kept, unshared = (
                kv_cache_bytes(CONTEXT, one.d_k, heads, one.n_layers) / 1024**2
                for heads in (one.kv_heads, one.n_heads)
            )
            lines.append((one.name, one.n_heads, one.kv_heads, one.d_k, kept, unshared))
    names = ["model", "heads", "KV heads", "d_k", "KV cache (MiB)", "nothing shared (MiB)"]
    return pd.DataFrame(lines, columns=names)


def norms(scene: WalkState) -> None:
    """Draw where a token looks, and what arrives there, as bars."""
    frame = arrivals(scene)
    shown = frame.loc[frame[["looks at", "arrives"]].sum(axis=1).nlargest(SHOWN_BARS).index.sort_values()]
    which = f", {len(shown)} of {len(frame)} tokens" if len(shown) < len(frame) else ""
    title = f"From {visible(scene.token)}, head {head_name(scene.head)}{which}"
    figure = bars(
        shown, "token", ["looks at", "arrives"], title=title,
        x_title="share", percent=True, dark=is_dark(),
    )  # fmt: skip
    figure.update_layout(height=32 * len(shown) + 100)
    chart(figure, shown, key="norms")


def arrivals(scene: WalkState) -> pd.DataFrame:
    """Return the followed token's weights, and the share of what arrives: weight times the length of V W_o."""
    now, h = scene.plain, scene.h
    n = len(scene.there)
    weights = now.weights[h, scene.query, :n]
    arrived = weights * np.linalg.norm(now.v[scene.kv, :n] @ scene.sizes.W_o[h], axis=-1)
    share = arrived / (arrived.sum() or 1.0)
    return pd.DataFrame({"token": list(map(visible, scene.there)), "looks at": weights, "arrives": share})


SHOWN_BARS = 6

VIEWS: dict[str, Callable[[Board, WalkState], list[Block]]] = {
    "budget": budget,
    "rows": rows,
    "asking": asking,
    "follow": handing,
    "example": by_hand,
    "mix": mix,
    "stream": stream,
    "sharing": sharing,
}
# Tables and charts, under the board of a view where it has one.
TABLES: dict[str, Callable[[WalkState], None]] = {
    "parts": parts,
    "rank": rank,
    "costs": costs,
    "sharing": caches,
    "norms": norms,
    "circuit": circuit,
    "summary": summary,
}
