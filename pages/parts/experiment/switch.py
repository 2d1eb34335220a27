"""Ablate heads: all heads as switches, the next words with and without them, and which later heads change."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, Model
from mha_core.causal import LogitDifference, mean_steps
from mha_core.display_names import Head, head_name, visible
from mha_core.draw.figures import charts
from mha_core.draw.payload import record_payload
from mha_core.heads.roles import Role
from pages.parts.experiment.ablation_query import SETTINGS, ZERO, AblationQuery, heads_param, parse_ablation
from pages.parts.experiment.ablation_result import N_KNOWN, AblationResult, NextWord, ablation_result
from pages.parts.experiment.common import about, heads_by_role, named_outcome, roles_of
from pages.parts.experiment.python_lines import ablation_lines
from pages.parts.experiment.text import finding, logit_text, moved_text
from pages.parts.frame import shell, url_params
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import show_job
from pages.parts.frame.request import MEASURES, SPECIALS, UNITS, Request
from pages.parts.frame.selection import parse_head
from pages.parts.picture.attention_view import component_event, head_switches
from pages.parts.serve import cache

# Keys of the session: the picture, and the controls in the row above it.
PICTURE, UNDO, METHOD, ROLE, FOLLOW, RIVAL = (
    "switches",
    "experiment-undo",
    "ablation-method",
    "ablation-role",
    "follow",
    "rival-label",
)
MAX_UNDO = 50
N_RANDOM = 8  # heads drawn where none is ablated
HEIGHT = 320  # of the bars
N_TOKENS = 6  # with the smallest cosine
HINT = "Click a head, drag over several, or press a layer's number."
HINT_MOVED = "Bar: how much of a head's attention moved."


def view(request: Request, record: AttentionRecord, model: Model) -> None:
    """Draw the finding, the controls, all heads, and beside them the effect."""
    query, refused = parse_ablation(url_params.params(), (model.n_layers, model.n_heads))
    for sentence in refused:
        say(sentence, "notice")
    changes = query.interventions if has_means(query, model) else ()
    word = url_params.params().get("word")
    outcome = None
    if model.label_head is not None:
        rival = url_params.params().get("rival", "") if word else ""
        outcome = shell.or_show_error(named_outcome, record, model, word or "", rival)
    label = outcome if isinstance(outcome, LogitDifference) else None
    result = shell.or_show_error(ablation_result, request, record, model, changes, word, label)
    if result is None:
        return
    named = named_word(result, word)
    if word and model.label_head is None and result.words and named is None:
        known = f"is not among the {N_KNOWN:,} likeliest tokens here. The likeliest is followed."
        say(f"`{visible(word)}` {known}", "notice")
    followed = named or max(result.words, key=lambda each: each.before, default=None)
    roles = roles_of(request)
    if changes or not query.heads:
        text = finding(query, result, followed, record)
        if changes and label is not None and result.is_share:
            text += f" {logit_text(label, result.logits)}"
        say(text, "finding")
    _toolbar(query, model, roles, result, followed, label)
    left, right = st.columns([13, 7], gap="medium")
    with left:
        _picture(request, record, query, result, roles)
        if changes:
            n_later = (model.n_layers - 1 - min(layer for layer, _ in query.heads)) * model.n_heads
            say(moved_text(result.moved, record, roles, n_later), "moved")
    with right:
        _bars(request, query if changes else AblationQuery(), result, record, model)


def has_means(query: AblationQuery, model: Model) -> bool:
    """Return whether the heads' mean outputs are known where they are needed; computed once for a model."""
    if query.value != "mean" or not query.heads:
        return True
    return show_job(
        ("means", model.name, model.fingerprint),
        lambda: mean_steps(model),
        lambda _: None,
        unit="built-in sentences read for the mean outputs",
        single="built-in sentence read for the mean outputs",
    )


def named_word(result: AblationResult, word: str | None) -> NextWord | None:
    """Return the word of the link, as typed or with a space before it, if its probability is known."""
    texts = (word, f" {word}")
    return next((each for text in texts for each in result.words if each.text == text), None)


def _toolbar(
    query: AblationQuery,
    model: Model,
    roles: Mapping[Head, Role],
    result: AblationResult,
    followed: NextWord | None,
    label: LogitDifference | None,
) -> None:
    """Draw the controls in one row: the ablation, sets of heads, undo, and the word or labels that are followed."""
    n = len(query.heads)
    st.session_state[METHOD], st.session_state[ROLE] = query.value, None
    with st.container(key="switch-tools", horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Ablation",
            list(SETTINGS),
            format_func=lambda value: SETTINGS[value].label,
            required=True,
            key=METHOD,
            help="; ".join(f"{setting.label}: {setting.title}" for setting in SETTINGS.values()),
            on_change=_set_method,
        )
        if groups := {f"{name} ({len(heads)})": heads for name, heads in heads_by_role(roles)}:
            st.selectbox(
                "Heads of a role",
                list(groups),
                key=ROLE,
                placeholder="Heads of a role",
                label_visibility="collapsed",
                width=190,
                on_change=lambda: _change({"off": heads_param(groups[st.session_state[ROLE]])}),
            )
        st.button(f"Pick {n or N_RANDOM} at random", on_click=_pick_at_random, args=(query.heads, model))
        st.button("Undo", on_click=_undo, disabled=not st.session_state.get(UNDO))
        st.button("Reset", on_click=_change, args=({"off": None},), disabled=not n)
        if followed is not None:
            st.session_state[FOLLOW] = followed.text
            head = model.label_head
            texts = [each.text for each in result.words] if head is None else list(head.names)
            st.selectbox("Follow", texts, format_func=token_text, key=FOLLOW, on_change=_follow, width=210)
        if followed is not None and label is not None and len(texts) > 1:
            others = [text for text in texts if text != label.target]
            st.session_state[RIVAL] = label.against if label.against in others else None
            st.selectbox(
                "Against",
                others,
                index=None,
                key=RIVAL,
                placeholder="no label",
                width=210,
                on_change=lambda: _change({"word": label.target, "rival": st.session_state[RIVAL]}),
            )


def _picture(
    request: Request,
    record: AttentionRecord,
    query: AblationQuery,
    result: AblationResult,
    roles: Mapping[Head, Role],
) -> None:
    plain = replace(request, measure=MEASURES[0], unit=UNITS[0], specials=SPECIALS[0])
    keep = cache.keeper(plain)
    payload = record_payload(cache.grid(plain, record), record.tokens, record.model.title, roles, keep)
    data = {
        "off": [head_name(head) for head in query.heads],
        "heard": st.session_state.get(f"{PICTURE}-heard", 0),
        "badge": query.setting.badge,
        "done": query.setting.done,
        "moved": {head_name(each.head): each.share for each in result.moved},
        "hint": f"{HINT} {HINT_MOVED}" if result.moved else HINT,
    }
    head_switches(payload, data, key=PICTURE, on_ask=_on_ask)


def _bars(
    request: Request, query: AblationQuery, result: AblationResult, record: AttentionRecord, model: Model
) -> None:
    """Draw the next words, the labels, or the cosines, with and without the ablation, a bar each."""
    if model.label_head is not None:
        title, measure = ("Probability" if result.is_share else "Output") + " by label", "predicted_labels"
    elif result.words:
        title = "Next-token probability" if model.is_causal else "Probability at the mask"
        measure = "next_words"
    elif query.heads:
        title, measure = "Cosine with the plain run", "state_cosines"
    else:
        return
    frame = words_frame(query, result) if result.words else cosines_frame(result, record)
    if model.label_head is not None:
        frame = frame.rename(columns={"token": "label"})
    name, *values = frame
    is_share = bool(result.words) and result.is_share
    figure = charts.bars(frame, name, values, title=title, x_title="", percent=is_share, dark=is_dark())
    chart(
        figure.update_layout(height=HEIGHT),
        frame,
        key="before-after",
        about=about(request, ablated=f"{heads_param(query.heads) or 'none'} ({query.setting.done})"),
        lines=ablation_lines(request, query.interventions, measure),
    )


def words_frame(query: AblationQuery, result: AblationResult) -> pd.DataFrame:
    """Return a row a token with its probability with all heads and, where some are ablated, without them."""
    columns = {"all heads": [each.before for each in result.words]}
    if query.heads:
        columns[query.text[:1].lower() + query.text[1:]] = [each.after for each in result.words]
    return pd.DataFrame({"token": [token_text(each.text) for each in result.words], **columns})


def cosines_frame(result: AblationResult, record: AttentionRecord) -> pd.DataFrame:
    """Return the cosine of the text's embedding, and of the last states that turn most, with those of the plain run."""
    states = result.cosines[:-1]
    most = sorted(range(len(states)), key=states.__getitem__)[:N_TOKENS]
    names = ["the whole text", *(visible(record.tokens.pieces[i].text) for i in most)]
    return pd.DataFrame({"token": names, "cosine": result.cosines[[-1, *most]].astype(float)})


def token_text(text: str) -> str:
    """Return a token with its leading spaces as signs."""
    bare = text.lstrip(" ")
    return "␣" * (len(text) - len(bare)) + visible(bare)


# Callbacks: each changes the link and can be undone.


def _set_method() -> None:
    value = st.session_state[METHOD]
    _change({"set": None if value == ZERO else value})


def _follow() -> None:
    word = st.session_state[FOLLOW]
    is_rival = url_params.params().get("rival") == word
    _change({"word": word} | ({"rival": None} if is_rival else {}))


def _pick_at_random(heads: tuple[Head, ...], model: Model) -> None:
    """Ablate as many heads; others than these where enough are left."""
    every = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    n = min(len(heads) or N_RANDOM, len(every))
    rest = [head for head in every if head not in set(heads)]
    _change({"off": heads_param(sorted(random.sample(rest if len(rest) >= n else every, n)))})


def _undo() -> None:
    if undo := st.session_state.get(UNDO):
        url_params.change(undo.pop())


def _on_ask() -> None:
    """Ablate the heads that the picture reports; a browser may send anything."""
    ask = component_event(PICTURE, "ask")
    if not isinstance(ask, Mapping) or (change := parse_ask(ask)) is None:
        return
    if isinstance(ask.get("n"), int):
        st.session_state[f"{PICTURE}-heard"] = ask["n"]
    _change(change)


def parse_ask(ask: Mapping[str, Any]) -> dict[str, str | None] | None:
    """Return the change of the link that an event asks for, or None for an invalid event."""
    if ask.get("do") != "set" or not isinstance(ask.get("off"), list | tuple):
        return None
    heads = {parse_head(value) for value in ask["off"][:10_000] if isinstance(value, str)}
    return {"off": heads_param(sorted(head for head in heads if head is not None))}


def _change(change: Mapping[str, str | None]) -> None:
    undo: list[dict[str, str | None]] = st.session_state.setdefault(UNDO, [])
    undo.append({key: url_params.params().get(key) for key in ("off", "set", "word", "rival")})
    del undo[:-MAX_UNDO]
    url_params.change(change)
