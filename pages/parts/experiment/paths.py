"""Path patching: from one head to the query, key or value of every later head, a map for each input."""

import numpy as np

from mha_core import AttentionRecord
from mha_core.causal import SweepResult
from mha_core.display_names import Head, head_name, parse_head, percent
from mha_core.draw.text import listed
from mha_core.engine.visibility import attention_sinks
from mha_core.record.record import ModelInfo
from pages.parts.experiment.common import explore_link
from pages.parts.frame import url_params
from pages.parts.frame.request import Request
from pages.parts.frame.selection import opening_head

WHY_HINT = "Click a head to list it. Its name in the table asks why it looks where it does."


def default_sender(request: Request, model: ModelInfo) -> Head:
    """Return the head of the address, or the one that the sentence opens with, if a later layer can read it."""
    head = parse_head(url_params.page_param("head", ""))
    layer, number = head or opening_head(request.text, request.pair, request.model)
    return max(0, min(layer, model.n_layers - 2)), min(number, model.n_heads - 1)


def paths_text(effects: SweepResult, sender: Head, model: ModelInfo) -> str:
    """Name the three paths with the largest effects, and the middle one; heads that share an input count once."""
    frame, n_shared = effects.to_frame(), model.n_heads // (model.n_kv_heads or model.n_heads)
    is_own = (frame["input"] == "query") | ((frame["head"] - 1) % n_shared == 0)
    frame = frame[is_own & frame["recovered"].notna()]
    largest = frame.loc[frame["recovered"].abs().sort_values(ascending=False, kind="stable").index].head(3)
    if largest.empty:
        return f"Patching the paths from {head_name(sender)}."
    names = list[str]()
    for row in largest.itertuples():
        first = last = head_name((row.layer - 1, row.head - 1))
        if row.input != "query" and n_shared > 1:
            last = head_name((row.layer - 1, row.head + n_shared - 2))
        heads = first if first == last else f"{first} to {last}"
        names.append(f"the {row.input} of {heads} ({percent(row.recovered)})")
    middle = percent(float(frame["recovered"].abs().median()))
    return (
        f"Head {head_name(sender)} acts most through {listed(names)}. "
        f"Share of the effect recovered; median of {len(frame):,} inputs: {middle}."
    )


def why_link(request: Request, record: AttentionRecord, place: int | None, head: Head) -> str:
    """Return the address that asks why a head looks where it does: from the token at `place`, or from any, to the key
    with the largest weight that is no attention sink."""
    n = len(record.tokens)
    sinks = attention_sinks(
        np.array([piece.special for piece in record.tokens.pieces]), record.model.is_causal
    )
    weights = np.where(sinks, -1, record.weights[head])
    weights[sinks if place is None else np.arange(n) != place] = -1
    query, key = divmod(int(weights.argmax()), n)
    link = f"{head_name(head)}.{query}.{key}"
    return explore_link(request, head, pin=str(query), to=str(key), why=link)
