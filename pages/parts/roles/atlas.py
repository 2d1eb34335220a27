"""The atlas of heads: what each head does over ordinary text, with its examples.

In: a request, and from the address the head (`head`) and the feature that heads are coloured by (`feature`). Out: the
part of a page below its heading; presses are links that change the address.
"""

import html
import shlex
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.display_names import Head, count_noun, head_name, size_in_words
from mha_core.heads.atlas.collect import Example
from mha_core.heads.atlas.describe import label, sentences
from mha_core.heads.atlas.effects import Effect
from mha_core.heads.atlas.features import features
from mha_core.heads.atlas.shipped import Shipped
from mha_core.heads.atlas.table import Atlas, HeadEntry, Passage
from mha_core.models.families.bert import SPECIALS
from mha_core.models.model_list import EMBEDDED
from mha_core.record import export
from pages.parts.frame import head_facts, url_params
from pages.parts.frame.links import link_to, model_in_link, with_params
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import heading, markup, say, together, visible
from pages.parts.frame.request import Request, title_of
from pages.parts.frame.selection import parse_head
from pages.parts.frame.shell import CSS
from pages.parts.roles.head_map import current, draw_map

NONE = "none"  # the feature of heads without a description
NAMES = {feature.key: feature.name for feature in features(is_causal=False)} | {NONE: "no description"}
TOP = 5
TYPICAL = (10, 8, 6, 4, 2)  # tenths, of each the first example
TOKENS = 5  # raised and lowered at an example
BLANKS = str.maketrans(" \n\t\r", "␣↵⇥↵")
BEFORE, BETWEEN, AFTER = 40, 50, 25  # characters of a passage around the two tokens, at most


def atlas(request: Request) -> None:
    """Draw the atlas of the model that is asked for."""
    st.html(CSS / "atlas.css")
    there = head_facts.shipped_atlas(request.model, request.trained)
    if there is None:
        weights = "" if request.trained else " --untrained"
        command = f"headscope atlas --model {shlex.quote(request.model)}{weights}"
        title = title_of(request.model) + ("" if request.trained else " with random weights")
        say(
            f"{title} has no atlas. Make one on the command line: `{command}`",
            "notice",
        )
        return
    found = there.atlas
    chosen = _chosen(found, request)
    feature = url_params.page_param("feature", "")
    say_unknown("feature", tuple(NAMES), "all")
    _summary(there)
    markup(_features(found, feature))
    left, right = st.columns([2, 3], gap="large")
    with left:
        title = "Heads without a description" if feature == NONE else "Share of top examples"
        title += f": {NAMES[feature]}" if feature in NAMES and feature != NONE else ""
        draw_map(
            filled(found, feature),
            "share",
            title=title,
            name="share",
            chosen=chosen.head,
            key="atlas-map",
            about=_about(there, request),
        )
    with right, st.container(key="atlas-card"):
        _card(found, chosen, request)
    _downloads(there, request)


def _chosen(found: Atlas, request: Request) -> HeadEntry:
    """The head of the address, or the one with the most telling description."""
    asked = url_params.page_param("head", "")
    by_head = {entry.head: entry for entry in found.heads}
    entry = by_head.get(parse_head(asked) or (-1, -1))
    if entry is not None:
        return entry
    best = max(found.heads, key=lambda one: max((f.weight for f in one.description.findings), default=0.0))
    if asked:
        size = size_in_words(*(1 + n for n in max(by_head)))
        say(
            f"Unknown head “{asked[:20]}”: {title_of(request.model)} has {size}. Showing {head_name(best.head)}.",
            "notice",
        )
    return best


def _summary(there: Shipped) -> None:
    """How many heads have a description, and how many of the controls."""
    found, controls = there.atlas, there.controls
    say(
        f"{found.n_described} of {count_noun(len(found.heads), 'head')} show a pattern. {found.n_by_content} are more "
        f"than a distance (random weights: {controls['untrained'].by_content}).",
        "why",
    )


def _here(**changes: str) -> str:
    """This address with changes, whichever page this is a part of."""
    return html.escape(with_params("", {**url_params.params(), **changes}) or "?")


def _features(found: Atlas, chosen: str) -> str:
    """Every feature with the number of heads that it describes; a press shows these heads, another shows all."""
    counts = Counter(key for entry in found.heads for key in _keys(entry))
    order = sorted(counts, key=lambda key: (key == NONE, -counts[key], NAMES[key]))
    links = "".join(
        f'<a href="{_here(feature="" if key == chosen else key)}"{current(key == chosen)}>'
        f"{html.escape(NAMES[key])} <b>{counts[key]}</b></a>"
        for key in order
    )
    return f'<nav class="atlas-features" aria-label="Descriptions">{links}</nav>'


def _keys(entry: HeadEntry) -> list[str]:
    return [one.feature.key for one in entry.description.findings] or [NONE]


def filled(found: Atlas, feature: str) -> pd.DataFrame:
    """Return a row a head: `share` of its top examples that have the feature, or its first one; nan without."""
    rows = []
    for entry in found.heads:
        shares = {one.feature.key: one.share for one in entry.description.findings}
        if feature == NONE:
            share = np.nan if shares else 1.0
        else:
            share = shares.get(feature, np.nan) if feature in NAMES else next(iter(shares.values()), np.nan)
        rows.append(
            {
                "layer": entry.head[0] + 1,
                "head": entry.head[1] + 1,
                "description": label(entry.description),
                "share": share,
                "text": f"Head {head_name(entry.head)}: {label(entry.description)}",
            }
        )
    return pd.DataFrame(rows)


def _card(found: Atlas, entry: HeadEntry, request: Request) -> None:
    """One head: what it does with the evidence, and its examples."""
    sink = f"{SPECIALS.begin}, {SPECIALS.separator}" if request.model == EMBEDDED else "the first token"
    effects = dict(zip(entry.top, entry.effects, strict=False))

    def listed(examples: Iterable[Example]) -> str:
        items = (
            example_line(found.passages[one.passage], one, entry.head, request) + _effect(effects.get(one))
            for one in examples
        )
        return (
            f'<ol class="atlas-examples" data-uncounted>{"".join(f"<li>{item}</li>" for item in items)}</ol>'
        )

    with together():
        layer, number = entry.head
        heading(f"Head {head_name(entry.head)} · L{layer}H{number}: {label(entry.description)}")
        for sentence in sentences(entry.description):
            say(sentence, "why")
        say(f"{100 * entry.sink:.0f}% of the time: attention sink ({sink}).")
        heading("Top examples", 3)
        markup('<p class="hs-label"><u>Query</u> looks at <mark>key</mark>. Right: weight.</p>')
        markup(listed(entry.top[:TOP]))
    box = st.expander("Typical examples", key="atlas-typical", on_change="rerun")
    if box.open:
        with box:
            tenths = [entry.typical[tenth - 1][:1] for tenth in TYPICAL]
            say("Random rows, from the largest output norm to the smallest.")
            say(
                f"{count_noun(found.n_passages, 'passage')}, {count_noun(found.n_tokens, 'token')}. Shares: held-out "
                "top examples, 95% intervals. Baseline: pairs equally far apart."
            )
            markup(listed(one for tenth in tenths for one in tenth))


def example_line(passage: Passage, one: Example, head: Head, request: Request) -> str:
    """A passage around two tokens, as a link to it in Explore, and the weight."""
    low, high = sorted((one.query, one.key))
    text, starts, ends = passage.text, passage.starts, passage.ends
    parts = [html.escape(_last(text[: starts[low]], BEFORE)), _token(passage, low, one)]
    # Two tokens can share a character, which is written once.
    if low != high and starts[high] >= ends[low]:
        between = text[ends[low] : starts[high]]
        if len(between) > BETWEEN:
            between = _first(between, BETWEEN // 2) + " " + _last(between, BETWEEN // 2).removeprefix("… ")
        parts += [html.escape(visible(between)), _token(passage, high, one)]
    parts.append(html.escape(_first(text[ends[high] :], AFTER)))
    link = link_to(
        "Explore",
        {
            "text": passage.text,
            "model": model_in_link(request.model),
            "head": head_name(head),
            "pin": str(one.query),
            "to": str(one.key),
        },
    )
    return f'<a href="{html.escape(link)}">{"".join(parts)}</a><span>{one.weight:.2f}</span>'


def _token(passage: Passage, place: int, one: Example) -> str:
    shown = html.escape(_shown(passage.text[passage.starts[place] : passage.ends[place]]))
    shown = f"<mark>{shown}</mark>" if place == one.key else shown
    return f"<u>{shown}</u>" if place == one.query else shown


def _shown(token: str) -> str:
    """A token without the space before it; white space as signs."""
    return visible(token.strip() or token.translate(BLANKS)) or "␣"


def _last(text: str, most: int) -> str:
    return visible(text if len(text) <= most else "… " + text[-most:].split(" ", 1)[-1])


def _first(text: str, most: int) -> str:
    return visible(text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …")


def _effect(effect: Effect | None) -> str:
    """What a decoder's head raises and lowers there."""
    if effect is None:
        return ""
    raises, lowers = (
        " ".join(f"<b>{html.escape(_shown(one.text))}</b>" for one in side[:TOKENS]) for side in effect
    )
    return f"<small>Raises: {raises}; lowers: {lowers}</small>"


def _downloads(there: Shipped, request: Request) -> None:
    about = _about(there, request)
    files = {
        "csv": lambda: export.csv_of([{**row, **about} for row in there.atlas.example_rows()]),
        "json": lambda: export.json_of({**about, **there.atlas.to_data()}),
    }
    with st.container(key="atlas-files", horizontal=True, vertical_alignment="center", gap="small"):
        say("All heads and examples:", "label")
        for kind, made in files.items():
            name = f"headscope-atlas-{request.model}.{kind}"
            st.download_button(kind.upper(), made, name, on_click="ignore")


def _about(there: Shipped, request: Request) -> dict[str, str]:
    """What a file of the atlas says of itself."""
    return {
        "model": request.model,
        "digest": there.digest,
        "corpus": "the project's own passages",
        "link": with_params(st.context.url or "", url_params.params()),
    }
