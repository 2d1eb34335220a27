"""Ask by example: two words of a sentence, the heads that link them here, and whether they do that elsewhere."""

import html

import numpy as np
import streamlit as st

from mha_core import AttentionRecord
from mha_core.heads.atlas.features import features, pair_features
from mha_core.heads.atlas.said import label
from mha_core.picture.text import in_a_list
from mha_core.run import Run
from mha_core.wording import percent
from pages.parts.atlas.lines import head_anchor
from pages.parts.atlas.source import Source
from pages.parts.frame import loading
from pages.parts.frame.prose import markup, say, visible
from pages.parts.frame.request import Request
from pages.parts.frame.shell import or_show_error
from pages.parts.serve import cache

MOST = 10
KEYS = ("ask", "looks", "seen")  # of the link
FIRST = "You can either stay in the village or walk to the harbour."


def ask(found: Source, request: Request) -> None:
    """The section: a sentence, the word that looks, the word looked at, and a table of heads."""
    say("Choose two words of a sentence: these heads link them here. Is that what they do elsewhere?")
    text = st.text_input("Sentence", FIRST, key="ask", bind="query-params", max_chars=400)
    record = or_show_error(_record, text or FIRST, request)
    if record is None:
        return
    labels = [visible(record.tokens.label(piece)) for piece in record.tokens.pieces]
    places = [i for i, piece in enumerate(record.tokens.pieces) if not piece.special]
    first = _place(labels, places, "or", places[-1])
    with st.container(horizontal=True, gap="medium", key="ask-words"):
        named = [in_a_list(record.tokens, i) for i in places]
        last = places.index(_place(labels, places, "either", places[0]))
        looks, seen = (
            st.selectbox(said, named, index=index, key=name, width=220, bind="query-params")
            for said, index, name in (
                ("looks from", places.index(first), "looks"),
                ("to", last, "seen"),
            )
        )
    query, key = (int((chosen or named[0]).split(":")[0]) for chosen in (looks, seen))
    if record.model.is_causal and key > query:
        say("A decoder's word cannot look at a later one; choose an earlier word to look at.", "notice")
        return
    markup(_table(found, record, query, key))


def _record(text: str, request: Request) -> AttentionRecord:
    return cache.record_of(Run(request.model, text, None, request.trained), loading.model(request))


def _place(labels: list[str], places: list[int], word: str, otherwise: int) -> int:
    return next((i for i in places if labels[i].strip() == word), otherwise)


def _table(found: Source, record: AttentionRecord, query: int, key: int) -> str:
    weights = record.weights[:, :, query, key]
    order = np.argsort(-weights, axis=None, kind="stable")[:MOST]
    true = pair_features(record.tokens, record.model.is_causal).of[:, query, key]
    here = {feature.key for feature, yes in zip(features(record.model.is_causal), true, strict=True) if yes}
    rows = []
    for flat in order:
        head = divmod(int(flat), weights.shape[1])
        entry = found.atlas.entry(head)
        of = [one.feature for one in entry.description.findings]
        same = [feature.name for feature in of if feature.key in here]
        verdict = (
            f"as elsewhere: {'; '.join(same)}" if same else ("not what it is described by" if of else "")
        )
        rows.append(
            f'<tr><th scope="row">{head_anchor(found.query, head)}</th>'
            f"<td>{percent(float(weights[head]))}</td><td>{html.escape(label(entry.description))}</td>"
            f"<td>{html.escape(verdict)}</td></tr>"
        )
    titles = "".join(
        f'<th scope="col">{title}</th>' for title in ("Head", "Weight here", "Elsewhere it is", "So this is")
    )
    return (
        f'<div class="hs-scroll"><table class="measures"><thead><tr>{titles}</tr></thead><tbody>{"".join(rows)}</tbody>'
        "</table></div>"
    )
