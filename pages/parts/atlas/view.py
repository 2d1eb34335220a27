"""The sections of the Atlas page, in the order a reader meets them."""

import html
from typing import Any

import streamlit as st

from mha_core import export
from mha_core.heads.atlas.habits import HABITS
from mha_core.heads.atlas.said import label
from mha_core.heads.atlas.table import Atlas, HeadEntry, atlas_data
from mha_core.wording import counted, head_name
from pages.parts.atlas import ask, head
from pages.parts.atlas.component import draw
from pages.parts.atlas.points import BY, counts, points_data
from pages.parts.atlas.source import TEXT, Source, offer, source
from pages.parts.frame import state
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import heading, markup, say
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.selection import parse_head
from pages.parts.frame.shell import CAVEAT, CSS

X, Y = "rests", "brings"
BOX, ASKED = "ask-box", "ask-in-link"


def style() -> None:
    """What this page has beyond the frame."""
    st.html(CSS / "atlas_page.css")


def sections(request: Request) -> None:
    """Everything there is to see for the model of the link."""
    found = source(request)
    if found is None:
        offer(request)
        return
    say(_summary(found), "why")
    _heads(request)
    _files(found)
    _open_if_asked()
    box = st.expander("Ask by example: which heads link two words?", key=BOX, on_change="rerun")
    if box.open:
        with box:
            ask.ask(found, request)
    say(CAVEAT, "caveat")


def _open_if_asked() -> None:
    """A link with an example opens its box; after that it is open or closed as the reader leaves it."""
    before, asks = st.session_state.get(ASKED), any(key in state.params() for key in ask.KEYS)
    if asks and not (before and BOX in st.session_state):
        st.session_state[BOX] = True
    st.session_state[ASKED] = asks


@st.fragment
def _heads(request: Request) -> None:
    """All heads and the chosen one. A fragment: a click redraws them and nothing else of the page."""
    found = source(request)
    if found is None:
        return
    chosen = _chosen(found.atlas)
    asked = state.params().get("head", "")
    if asked and chosen.head != parse_head(asked):
        say(f"There is no head “{asked[:20]}” here.", "notice")
    _overview(found, chosen)
    with st.container(key="atlas-card"):
        head.card(found, chosen, request)


def _summary(found: Source) -> str:
    atlas = found.atlas
    has = "has" if 1 in (atlas.n_described, len(atlas.heads)) else "have"
    said = (
        f"{title_of(found.model)} read {TEXT}: {counted(atlas.n_passages, 'passage')}, "
        f"{counted(atlas.n_tokens, 'token')}. "
        f"{atlas.n_described} of {counted(len(atlas.heads), 'head')} {has} a description, {atlas.n_by_content} of "
        "them by more than a distance; the others have none, and none is guessed."
    )
    controls = found.more.controls
    for name, words in (
        ("untrained", "random weights"),
        ("shuffled", "the tokens of every passage shuffled under the same moments"),
    ):
        if name in controls:
            twin = controls[name]
            said += f" With {words} it is {twin.described}, {twin.by_content} by more than a distance."
    return said


def _chosen(found: Atlas) -> HeadEntry:
    """The head of the link, or the most telling one."""
    asked = parse_head(state.params().get("head", ""))
    for entry in found.heads:
        if entry.head == asked:
            return entry
    return max(
        found.heads, key=lambda entry: max((one.weight for one in entry.description.findings), default=0.0)
    )


def _overview(found: Source, chosen: HeadEntry) -> None:
    heading("All heads")
    counted = counts(found.atlas)
    asked = state.params().get("does", "")
    only = asked if asked in dict(counted) else ""
    left, right = st.columns([2, 5], gap="large")
    with left:
        markup(_descriptions(found, counted, only, chosen))
    with right:
        names = {key: words for key, (words, _) in HABITS.items()}
        with st.container(key="atlas-axes", horizontal=True, vertical_alignment="bottom", gap="medium"):
            x = _measure("Across", "x", X, names)
            y = _measure("Upwards", "y", Y, names)
            by = st.segmented_control(
                "Colour by", BY, default=BY[0], required=True, key="colour", bind="query-params"
            )
        draw(points_data(found.atlas, x, y, by or BY[0], only, chosen.head), key="points")


def _measure(title: str, key: str, first: str, names: dict[str, str]) -> str:
    options = list(names)
    chosen = st.selectbox(
        title,
        options,
        index=options.index(first),
        format_func=lambda one: names[one],
        key=key,
        bind="query-params",
        width=280,
    )
    return chosen or first


def _descriptions(found: Source, counted: list[tuple[str, int]], only: str, chosen: HeadEntry) -> str:
    """Every description with how many heads have it; a press shows these heads alone."""
    kept = {**state.params(), **found.query, "head": head_name(chosen.head)}

    def anchor(words: str, does: str) -> str:
        link = html.escape(link_to("Atlas", {**kept, "does": does}))
        return f'<a href="{link}">{html.escape(words)}</a>'

    rows = "".join(
        f"<li{' class=this' if name == only else ''}>{anchor(name, '' if name == only else name)} <b>{n}</b></li>"
        for name, n in counted
    )
    everything = f'<p class="hs-note">{anchor("Show all heads", "")}</p>'
    return f'<ul class="does">{rows}</ul>{everything if only else ""}'


def _files(found: Source) -> None:
    with st.container(key="atlas-files", horizontal=True, vertical_alignment="center", gap="small"):
        say("Every head, its strongest moments:", "label")
        name = f"headscope-atlas-{found.model}"
        st.download_button("CSV", lambda: _csv(found.atlas), f"{name}.csv", "text/csv", on_click="ignore")
        st.download_button(
            "JSON",
            lambda: export.json_of({**_of(found), **atlas_data(found.atlas)}),
            f"{name}.json",
            "application/json",
            on_click="ignore",
        )


def _of(found: Source) -> dict[str, Any]:
    """Which model and text the numbers belong to, as `heads atlas` names them."""
    return {
        "model": {"name": found.model, "trained": found.trained, "digest": found.more.digest},
        "text": TEXT,
    }


def _csv(found: Atlas) -> str:
    return export.csv_of(row for entry in found.heads for row in _rows(found, entry))


def _rows(found: Atlas, entry: HeadEntry) -> list[dict[str, object]]:
    """One row a moment."""
    return [
        {
            "layer": entry.head[0] + 1,
            "head": entry.head[1] + 1,
            "description": label(entry.description),
            "passage": one.passage,
            "query": one.query,
            "key": one.key,
            "query_text": found.passages[one.passage].labels[one.query],
            "key_text": found.passages[one.passage].labels[one.key],
            "weight": one.weight,
            "brings": one.brings,
        }
        for one in entry.strongest
    ]
