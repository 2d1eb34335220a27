"""The live picture of each step of the lesson: blocks for a board, numbers from the model as it is now.

In: a scene (one head, one token of the reader's sentence). Out: blocks. Names are those of lesson.toml.
"""

from collections.abc import Callable

import numpy as np

from mha_core.heads.wordlists import FUNCTION_WORDS
from mha_core.inside import example, kv_cache_bytes, middle_groups, run_layer
from mha_core.inside.costs import CONFIGURATIONS
from mha_core.inside.worked import TOKENS
from mha_core.wording import head_name
from pages.parts.frame.prose import visible
from pages.parts.inside.groups import groups_block
from pages.parts.inside.many import cost_block, one_head
from pages.parts.inside.mixing import head_table
from pages.parts.inside.numbers import format_bytes
from pages.parts.inside.picking import heads_of, tokens_of
from pages.parts.inside.scene import SHOWN_KEYS, Scene
from pages.parts.inside.steps import follow_block
from pages.parts.learn.ranks import rank
from pages.parts.learn.summary import summary
from pages.parts.picture.tiles import Block, Board, column, op, paragraph, row

WORDS_AT_MOST = 24  # to spread a budget over
LARGEST = 6  # weights whose rows are followed to the end, beside the hull
WIDTH = 560  # of a picture beside its text, without its names, in pixels at 1280


def budget(board: Board, scene: Scene) -> list[Block]:
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


def sentence_key_of(scene: Scene) -> str:
    return f"{scene.key.partition('-')[0]}-{scene.query}"


def needed(scene: Scene, places: list[int]) -> list[int]:
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


def pressed(**axes: list[str] | list[int] | list[str | None]) -> Block:
    """What a press on a matrix chooses by its row and its column: heads by name, tokens by place."""
    tells = {
        axis: {"tells": "token" if isinstance(values[-1], int) else "head", "values": values}
        for axis, values in axes.items()
    }
    return {"press": tells}


def names_of(scene: Scene) -> list[str]:
    """The heads of the layer."""
    return [head_name((scene.head[0], i)) for i in range(scene.sizes.n_heads)]


def rows(board: Board, scene: Scene) -> list[Block]:
    """One row as one head, many rows as many."""
    now, i, n = scene.plain, scene.query, len(scene.there)
    one = one_head(scene)
    shown = np.concatenate([one[i, :n][None], now.weights[:, i, :n]])
    names = ["one head", *names_of(scene)]
    press = pressed(rows=[None, *names[1:]], cols=list(range(n)))
    drawn = board.matrix(
        "weights", shown, id="one-or-many", note="rows: heads; columns: what the token looks at",
        rows=names, cols=scene.there, ramp="weight", high=20, wide=min(44.0, WIDTH / n), numbers=False, **press,
    )  # fmt: skip
    return [heads_of(scene, drawn, ".labels span:not(:first-child)")]


def asking(board: Board, scene: Scene) -> list[Block]:
    """A query against every key, as far as the sum."""
    return [_follow(board, scene, upto="raw")]


def handing(board: Board, scene: Scene) -> list[Block]:
    """The same to the end for the keys with most weight: score, weight, and what is let through."""
    return [_follow(board, scene, most=LARGEST)]


def _follow(board: Board, scene: Scene, most: int = SHOWN_KEYS, **options: str) -> Block:
    block = follow_block(board, scene, most) | {"tight": True, **options}
    return tokens_of(scene, block, "tbody tr[data-token] td.word", block["shown"])


def by_hand(board: Board, scene: Scene) -> list[Block]:
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


def mix(board: Board, scene: Scene) -> list[Block]:
    """Before and after W_o."""
    now, sizes = scene.plain, scene.sizes
    d_v = sizes.d_v
    tokens = list(range(now.n))
    high = max(2.0, min(9.0, 130 / now.n))
    wide = min(2.4, 620 / sizes.d_model)
    return [
        board.matrix(
            "Z", now.concatenated, id="Z", rows=scene.labels, follow=True, high=high, wide=wide,
            note="side by side; the frame is this head", slice=[scene.h * d_v, (scene.h + 1) * d_v],
            **pressed(rows=tokens, cols=names_of(scene)),
        ),
        board.matrix(
            "output", now.output, id="output", rows=scene.labels, follow=True, high=high, wide=wide,
            note="= Z W_o: every number mixes all heads", **pressed(rows=tokens),
        ),
    ]  # fmt: skip


def stream(board: Board, scene: Scene) -> list[Block]:
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


def parts(board: Board, scene: Scene) -> list[Block]:
    """What every head adds."""
    del board
    return [heads_of(scene, head_table(scene), "table.heads tbody tr:not(.sum) td:first-child")]


def costs(board: Board, scene: Scene) -> list[Block]:
    """Parameters and operations of one head and of many."""
    del board
    return [cost_block(scene.plain.n, scene.sizes)]


def sharing(board: Board, scene: Scene) -> list[Block]:
    """Who uses whose keys and values, and what models that share keep."""
    del board
    h = scene.sizes.n_heads
    shown = []
    for name, keys in (("Multi-head", h), ("Grouped-query", middle_groups(h)), ("Multi-query", 1)):
        owner = tuple(i * keys // h for i in range(h))
        drawn = heads_of(scene, groups_block(owner, keys, scene.h), "circle")
        shown.append(column(paragraph(f"**{name}**: {keys} of {h}"), drawn, size="third"))
    return [row(*shown, size="narrow"), cache_block()]


CONTEXT = 2048


def cache_block() -> Block:
    """Models that write, with and without shared keys, and the cache that each keeps."""
    lines = []
    for one in CONFIGURATIONS:
        if not one.is_causal or one.name == "GPT-2":  # GPT-2 reads no more than 1,024 tokens
            continue
        kept, unshared = (
            kv_cache_bytes(CONTEXT, one.d_k, heads, one.n_layers) for heads in (one.kv_heads, one.n_heads)
        )
        lines.append(
            [
                one.name,
                f"{one.n_heads} on {one.kv_heads}",
                str(one.d_k),
                format_bytes(kept),
                format_bytes(unshared),
            ]
        )
    return {
        "type": "grid",
        "id": "caches",
        "label": "Models that write and their caches",
        "size": "snug",
        "head": [
            f"{CONTEXT:,} tokens, 16 bits",
            "heads on KV heads",
            "d_k",
            "KV cache",
            "if nothing were shared",
        ],
        "rows": lines,
    }


def norms(board: Board, scene: Scene) -> list[Block]:
    """Where a token looks, and what arrives: weight times the length of the value seen through W_o."""
    del board
    now, h = scene.plain, scene.h
    n = len(scene.there)
    weights = now.weights[h, scene.query, :n]
    arrived = weights * np.linalg.norm(now.v[scene.kv, :n] @ scene.sizes.W_o[h], axis=-1)
    share = arrived / (arrived.sum() or 1.0)
    shown = np.sort(np.argsort(-(weights + share), kind="stable")[:SHOWN_BARS]).tolist()
    lines = [
        {"label": scene.there[j], "values": [float(weights[j]), float(share[j])], "chosen": j == scene.query}
        for j in shown
    ]
    block = {"type": "bars", "id": "norms", "series": ["looks at", "share of what arrives"], "rows": lines}
    drawn = tokens_of(scene, block, "table.heads tbody td:first-child", shown)
    rest = (
        [paragraph(f"The {len(shown)} of {n} tokens with most; {n - len(shown)} more.", "quiet")]
        if len(shown) < n
        else []
    )
    return [drawn, *rest]


SHOWN_BARS = 8

VIEWS: dict[str, Callable[[Board, Scene], list[Block]]] = {
    "budget": budget,
    "rows": rows,
    "asking": asking,
    "follow": handing,
    "example": by_hand,
    "mix": mix,
    "stream": stream,
    "parts": parts,
    "rank": rank,
    "costs": costs,
    "sharing": sharing,
    "norms": norms,
    "summary": summary,
}
