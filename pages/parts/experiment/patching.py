"""Activation patching: one head's output, one state of one token, or one path, from another sentence at a time."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mha_core import AttentionRecord, InputError, Model
from mha_core.arrays import FloatArray
from mha_core.causal import (
    LogitDifference,
    Outcome,
    SweepResult,
    default_outcome,
    sweep_head_patches,
    sweep_receivers,
    sweep_state_patches,
)
from mha_core.causal.outcomes import place_of
from mha_core.causal.sweep import INPUTS
from mha_core.display_names import Head, count_noun, head_name, number, percent
from mha_core.draw.figures import charts
from mha_core.record.grid import head_from_name
from mha_core.text.tokens import Tokens
from pages.parts.experiment.common import PAIRS, PATHS, about, chosen_labels, explore_link, named_outcome
from pages.parts.experiment.effects import ABLATE_HINT, draw_effects
from pages.parts.experiment.paths import WHY_HINT, default_sender, paths_text, why_link
from pages.parts.experiment.python_lines import patch_lines
from pages.parts.experiment.text import outcome_text, visible_token
from pages.parts.frame import presets, shell, url_params
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.option_row import option_row
from pages.parts.frame.page_text import quoted, say
from pages.parts.frame.progress import show_job
from pages.parts.frame.request import Request

MAPS = ("heads", "layers and tokens", PATHS)
CARRIES = 0.5  # share of the effect that a state recovers alone, to carry the difference
TITLE = "Share of the effect recovered"


def view(request: Request, record: AttentionRecord, model: Model) -> None:
    """Draw the controls, the work and its result."""
    with st.container(key="trying", horizontal=True, vertical_alignment="bottom", gap="medium"):
        preset, head = source_for(request.text), model.label_head
        is_narrow = head is not None or url_params.page_part("map", MAPS) == PATHS
        typed = st.text_input(
            "Source sentence",
            key="from",
            bind="query-params",
            placeholder=preset,
            width=360 if is_narrow else 560,
        )
        shape = st.segmented_control(
            "Patch", MAPS, default=MAPS[0], required=True, key="map", bind="query-params"
        )
        sender, side = _path_controls(request, model) if shape == PATHS else (None, "")
        answers = ("", "") if head is None else chosen_labels(head.names, "the source's", "yours")
    source = shell.or_show_error(model.tokenizer.encode, typed or preset)
    outcome = None if source is None else shell.or_show_error(outcome_of, source, record, model, *answers)
    if source is None or outcome is None or (shape == PATHS and sender is None):
        return
    sweep: Any = {MAPS[1]: sweep_state_patches, PATHS: sweep_receivers}.get(str(shape), sweep_head_patches)
    options = {"sender": sender} if sender else {}
    n_heads = model.n_layers * model.n_heads
    unit = f"of {count_noun(n_heads, 'head')} tried"
    if shape == MAPS[1]:
        unit = "states tried"
    elif sender:
        unit = f"of {count_noun(len(INPUTS) * (n_heads - (sender[0] + 1) * model.n_heads), 'input')} tried"

    def draw(effects: SweepResult | None) -> None:
        if effects is None:
            return
        if effects.source is not None and effects.source[0] == effects.before[0]:
            text = f"The {outcome_text(effects.names)} is {number(effects.before[0])} in both sentences."
            say(f"{text} Choose a source that differs.", "finding")
            return
        description = about(request, outcome=effects.names[0], source=source.text)
        lines = patch_lines(request, source.text, outcome, sweep.__name__, **options)
        if shape == MAPS[1]:
            tokens = [token_label(record.tokens, source, i) for i in range(len(source))]
            say(states_text(effects, tokens), "finding")
            _draw_states(effects, tokens, description, lines)
            return
        frame, title, hint = effects.to_frame(), TITLE, ABLATE_HINT
        link_of: Callable[[Head], str] = partial(explore_link, request)
        if sender:
            frame = frame[frame["input"] == side]
            title, hint = f"{TITLE} through the {side}", WHY_HINT
            place = place_of(None, record.tokens, model) if isinstance(outcome, LogitDifference) else None
            link_of = partial(why_link, request, record, place)
        say(paths_text(effects, sender, model.info) if sender else heads_text(effects), "finding")
        draw_effects(
            frame,
            request,
            measure=effects.names[0],
            title=title,
            about=description,
            lines=lines,
            link_of=link_of,
            hint=hint,
        )

    show_job(
        ("patch", *map(repr, (request.run, source.text, model.fingerprint, outcome, sweep.__name__, sender))),
        lambda: sweep(source, record.tokens, model, outcome, **options),
        draw,
        unit=unit,
        single="state tried" if shape == MAPS[1] else "",
    )


def _path_controls(request: Request, model: Model) -> tuple[Head | None, str]:
    """Draw the controls of path patching; return the sender, None where there is no such head, and the input."""
    first = head_name(default_sender(request, model.info))
    typed = st.text_input("Sender", key="sender", bind="query-params", placeholder=first, width=90)
    side = option_row("Map of", INPUTS, "input")
    return shell.or_show_error(head_from_name, typed or first, model.n_layers, model.n_heads), side


def source_for(text: str) -> str:
    """Return the sentence to patch from where the user names none: the other of a pair, else the first preset."""
    pairs = {source: into for _, source, into in PAIRS} | {into: source for _, source, into in PAIRS}
    return pairs.get(text) or presets.twin_sentence(text)


def outcome_of(
    source: Tokens, record: AttentionRecord, model: Model, label: str = "", against: str = ""
) -> Outcome:
    """Return the logit difference of these labels, else of the source's next word or label against this text's; without
    one the embedding's cosine.

    Raises InputError where the texts do not have as many tokens, and for a label that the model does not have.
    """
    if len(source) != len(record.tokens):
        raise InputError(
            f"The source sentence needs {len(record.tokens)} tokens, as yours; {quoted(source.text)} has {len(source)}."
        )
    if label or against:
        return named_outcome(record, model, label, against)
    if model.next_head is not None and (preset := presets.FOLLOWED.get(source.text)):
        return LogitDifference(*preset)
    theirs, own = (default_outcome(tokens, model) for tokens in (source, record.tokens))
    words = {each.target for each in (theirs, own) if isinstance(each, LogitDifference)}
    if isinstance(theirs, LogitDifference) and isinstance(own, LogitDifference) and len(words) == 2:
        return LogitDifference(theirs.target, own.target)
    return theirs


def effect_text(effects: SweepResult) -> str:
    """Return the outcome here and in the source sentence."""
    other = "" if effects.source is None else f" in your sentence, {number(effects.source[0])} in the source"
    return f"The {outcome_text(effects.names)} is {number(effects.before[0])}{other}."


def heads_text(effects: SweepResult) -> str:
    """Name the three heads that recover most of the effect."""
    share = np.asarray(effects.recovered)
    if not np.isfinite(share).any():
        return effect_text(effects)
    order = np.argsort(-np.nan_to_num(share, nan=-9.0), axis=None, kind="stable")[:3]
    heads = [head for head in (divmod(int(i), share.shape[1]) for i in order) if share[head] > 0]
    if not heads:
        return f"{effect_text(effects)} No single head recovers any of the effect."
    first, *_ = names = [f"{head_name(head)} ({percent(float(share[head]))})" for head in heads]
    most = first.partition("(")[2].rstrip(")")
    return f"Patching one head recovers at most {most} of the effect: {', '.join(names)}."


def states_text(effects: SweepResult, tokens: list[str]) -> str:
    """Name the tokens that carry the difference, layer by layer."""
    runs = carriers(np.asarray(effects.recovered))
    if not runs:
        return f"{effect_text(effects)} No single state recovers half of the effect."
    parts = [f"`{tokens[token]}` {_layers_text(first, last)}" for token, first, last in runs]
    return f"The difference is carried by {', then by '.join(parts)}."


def carriers(share: FloatArray) -> list[tuple[int, int, int]]:
    """Return runs of states in which one token alone recovers at least half of the effect: (token, first, last)."""
    runs: list[tuple[int, int, int]] = []
    for index, row in enumerate(share):
        if not np.isfinite(row).any() or np.nanmax(row) < CARRIES:
            continue
        token = int(np.nanargmax(row))
        if runs and (runs[-1][0], runs[-1][2]) == (token, index - 1):
            runs[-1] = (token, runs[-1][1], index)
        else:
            runs.append((token, index, index))
    return runs


def _layers_text(first: int, last: int) -> str:
    names = ["the embedding" if i == 0 else f"layer {i}" for i in (first, last)]
    return f"({names[0]})" if first == last else f"({names[0]} to {names[1]})"


def token_label(into: Tokens, source: Tokens, position: int) -> str:
    """Return a token of both sentences; where they differ "theirs → own"."""
    theirs, own = (visible_token(tokens.pieces[position].bare) for tokens in (source, into))
    return own if own == theirs else f"{theirs} → {own}"


def _draw_states(
    effects: SweepResult, tokens: list[str], description: Mapping[str, str], lines: list[str]
) -> None:
    share = np.asarray(effects.recovered).T
    figure = charts.cells(
        share,
        tokens,
        list(map(str, range(share.shape[1]))),
        title=TITLE,
        name="recovered",
        column_title="layer",
        signed=True,
        percent=True,
        dark=is_dark(),
    )
    frame = effects.to_frame()
    frame["token"] = [tokens[i] for i in frame["token"]]
    chart(figure, frame, key="patched-states", about=description, lines=lines)
