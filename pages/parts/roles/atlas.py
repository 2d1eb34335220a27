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

from mha_core.display_names import Head, count_noun, head_name, percent, size_in_words, visible
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
from pages.parts.frame.page_text import heading, markup, say, together
from pages.parts.frame.request import Request, name_outside, title_of
from pages.parts.frame.selection import parse_head
from pages.parts.roles.head_map import current, draw_map

NONE = "none"  # the feature of heads without a description
NAMES = {feature.key: feature.name for feature in features(is_causal=False)} | {NONE: "no description"}
N_TOP = 5
TYPICAL = (10, 8, 6, 4, 2)  # tenths, of each the first example
N_TOKENS = 5  # raised and lowered at an example
BLANKS = str.maketrans(" \n\t\r", "␣↵⇥↵")
BEFORE, BETWEEN, AFTER = 40, 50, 25  # characters of a passage around the two tokens, at most


def atlas(request: Request) -> None:
    """Draw the atlas of the model in the request."""
    shipped = head_facts.shipped_atlas(request.model, request.trained)
    if shipped is None:
        weights = "" if request.trained else " --untrained"
        command = f"headscope atlas --model {shlex.quote(name_outside(request.model))}{weights}"
        title = title_of(request.model) + ("" if request.trained else " with random weights")
        say(f"{title} has no atlas. Make one on the command line: `{command}`", "notice")
        return
    entries = shipped.atlas.heads
    chosen = _chosen_entry(entries, request)
    feature = url_params.page_param("feature", "")
    say_unknown("feature", tuple(NAMES), "all")
    control = shipped.controls.get("untrained")
    say(
        f"{shipped.atlas.n_described} of {count_noun(len(entries), 'head')} have a pattern; for "
        f"{shipped.atlas.n_by_content} it is not just distance"
        + (
            f" ({control.by_content} with random weights)."
            if control
            else f". Text: {visible(shipped.corpus)}."
        ),
        "why",
    )
    markup(_features(entries, feature))
    about = _about(shipped, request)
    left, right = st.columns([2, 3], gap="large")
    with left:
        title = "Heads without a description" if feature == NONE else "Share of top examples"
        title += f": {NAMES[feature]}" if feature in NAMES and feature != NONE else ""
        frame = shares(entries, feature)
        draw_map(frame, "share", title=title, name="share", chosen=chosen.head, key="atlas-map", about=about)
    with right, st.container(key="atlas-card"):
        _card(shipped.atlas, chosen, request)
    files = {
        "csv": lambda: export.csv_of([{**row, **about} for row in shipped.atlas.example_rows()]),
        "json": lambda: export.json_of({**about, **shipped.atlas.to_data()}),
    }
    with st.container(key="below", horizontal=True, vertical_alignment="center", gap="small"):
        say("All examples:", "label")
        for kind, write in files.items():
            st.download_button(
                kind.upper(), write, f"headscope-atlas-{request.model}.{kind}", on_click="ignore"
            )


def _chosen_entry(entries: Iterable[HeadEntry], request: Request) -> HeadEntry:
    """Return the head of the address, or the one with the strongest description."""
    name = url_params.page_param("head", "")
    by_head = {entry.head: entry for entry in entries}
    if entry := by_head.get(parse_head(name) or (-1, -1)):
        return entry
    best = max(
        by_head.values(), key=lambda each: max((f.weight for f in each.description.findings), default=0.0)
    )
    if name:
        size = size_in_words(*(1 + n for n in max(by_head)))
        say(
            f"Unknown head “{name[:20]}”: {title_of(request.model)} has {size}. Showing {head_name(best.head)}.",
            "notice",
        )
    return best


def _features(entries: Iterable[HeadEntry], chosen: str) -> str:
    """Return every feature as a link with its number of heads; a press shows these heads, another shows all."""
    counts = Counter(key for entry in entries for key in [*_shares(entry)] or [NONE])
    order = sorted(counts, key=lambda key: (key == NONE, -counts[key], NAMES[key]))
    links = "".join(
        f'<a href="{_here(feature="" if key == chosen else key)}"{current(key == chosen)}>'
        f"{html.escape(NAMES[key])} <b>{counts[key]}</b></a>"
        for key in order
    )
    return f'<nav class="atlas-features" aria-label="Descriptions">{links}</nav>'


def _here(**changes: str) -> str:
    """Return this address with changes, escaped."""
    return html.escape(with_params("", {**url_params.params(), **changes}) or "?")


def _shares(entry: HeadEntry) -> dict[str, float]:
    """Return the share of a head's top examples with each feature of its description."""
    return {finding.feature.key: finding.share for finding in entry.description.findings}


def shares(entries: Iterable[HeadEntry], feature: str) -> pd.DataFrame:
    """Return a row a head: `share` of its top examples that have the feature, or its first one; nan without."""
    rows = []
    for entry in entries:
        by_feature = _shares(entry)
        if feature == NONE:
            share = np.nan if by_feature else 1.0
        else:
            share = (
                by_feature.get(feature, np.nan)
                if feature in NAMES
                else next(iter(by_feature.values()), np.nan)
            )
        name = label(entry.description)
        layer, head = entry.head
        text = f"Head {head_name(entry.head)}: {name}"
        rows.append({"layer": layer + 1, "head": head + 1, "description": name, "share": share, "text": text})
    return pd.DataFrame(rows)


def _card(table: Atlas, entry: HeadEntry, request: Request) -> None:
    """Draw one head: what it does with the evidence, and its examples."""
    sink = f"{SPECIALS.begin} and {SPECIALS.separator}" if request.model == EMBEDDED else "the first token"
    effects = dict(zip(entry.top, entry.effects, strict=False))

    def listed(examples: Iterable[Example]) -> str:
        items = (
            example_line(table.passages[example.passage], example, entry.head, request)
            + _effect(effects.get(example))
            for example in examples
        )
        return (
            f'<ol class="atlas-examples" data-uncounted>{"".join(f"<li>{item}</li>" for item in items)}</ol>'
        )

    with together():
        layer, number = entry.head
        heading(f"Head {head_name(entry.head)} · L{layer}H{number}: {label(entry.description)}")
        for sentence in sentences(entry.description):
            say(sentence, "why")
        say(f"{percent(entry.sink)} of its attention goes to {sink}.")
        heading("Top examples", 3)
        markup('<p class="hs-label"><u>Query</u> looks at <mark>key</mark>. Right: weight.</p>')
        markup(listed(entry.top[:N_TOP]))
    box = st.expander("Typical examples", key="atlas-typical", on_change="rerun")
    if box.open:
        with box:
            say("Random rows, from the largest output norm to the smallest.")
            say(
                f"{count_noun(table.n_passages, 'passage')}, {count_noun(table.n_tokens, 'token')}. Shares: held-out "
                "top examples, 95% intervals. Baseline: pairs equally far apart."
            )
            markup(listed(example for tenth in TYPICAL for example in entry.typical[tenth - 1][:1]))


def example_line(passage: Passage, example: Example, head: Head, request: Request) -> str:
    """Return a passage around two tokens, as a link to it in Explore, and the weight."""
    low, high = sorted((example.query, example.key))
    text, starts, ends = passage.text, passage.starts, passage.ends
    parts = [html.escape(_last(text[: starts[low]], BEFORE)), _token(passage, low, example)]
    # Two tokens can share a character, which is written once.
    if low != high and starts[high] >= ends[low]:
        between = text[ends[low] : starts[high]]
        if len(between) > BETWEEN:
            between = f"{_first(between, BETWEEN // 2)} {_last(between, BETWEEN // 2).removeprefix('… ')}"
        parts += [html.escape(visible(between, spaces=True)), _token(passage, high, example)]
    parts.append(html.escape(_first(text[ends[high] :], AFTER)))
    link = link_to(
        "Explore",
        {
            "text": passage.text,
            "model": model_in_link(request.model),
            "head": head_name(head),
            "pin": str(example.query),
            "to": str(example.key),
        },
    )
    return f'<a href="{html.escape(link)}">{"".join(parts)}</a><span>{example.weight:.2f}</span>'


def _token(passage: Passage, place: int, example: Example) -> str:
    text = html.escape(_visible_token(passage.text[passage.starts[place] : passage.ends[place]]))
    text = f"<mark>{text}</mark>" if place == example.key else text
    return f"<u>{text}</u>" if place == example.query else text


def _visible_token(token: str) -> str:
    """Return a token without the space before it; white space as signs."""
    return visible(token.strip() or token.translate(BLANKS))


def _last(text: str, limit: int) -> str:
    return visible(text if len(text) <= limit else "… " + text[-limit:].split(" ", 1)[-1], spaces=True)


def _first(text: str, limit: int) -> str:
    return visible(text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " …", spaces=True)


def _effect(effect: Effect | None) -> str:
    """Return the tokens that a decoder's head raises and lowers there."""
    if effect is None:
        return ""
    raises, lowers = (
        " ".join(f"<b>{html.escape(_visible_token(each.text))}</b>" for each in side[:N_TOKENS])
        for side in effect
    )
    return f"<small>Raises: {raises}; lowers: {lowers}</small>"


def _about(shipped: Shipped, request: Request) -> dict[str, str]:
    """Return a file's description: model, digest, corpus, and the link back."""
    return {
        "model": request.model,
        "digest": shipped.digest,
        "corpus": shipped.corpus,
        "link": with_params(st.context.url or "", url_params.params()),
    }
