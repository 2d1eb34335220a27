"""Activation patching: one head's output, or one state of one token, from another sentence at a time."""

from collections.abc import Mapping

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
    sweep_state_patches,
)
from mha_core.display_names import Head, count_noun, head_name, number, percent
from mha_core.draw.figures import charts
from mha_core.heads.roles import Role
from mha_core.text.tokens import Tokens
from pages.parts.experiment.effects import draw_effects
from pages.parts.experiment.frame import about, explore_links, roles_of
from pages.parts.experiment.save import patch_lines, save_box
from pages.parts.experiment.text import measured, shown
from pages.parts.frame import examples, loading, presets, shell
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.page_text import quoted, say
from pages.parts.frame.progress import work
from pages.parts.frame.request import Request

MAPS = ("heads", "layers and tokens")
DECIDED = 0.5  # a state that alone recovers half of the effect carries what differs
PAIRS = (
    ("tired / wide", presets.TIRED, presets.WIDE),
    ("Mary / John", presets.MARY, presets.JOHN),
    ("key / keys", presets.KEY, presets.KEYS),
)


def view(request: Request) -> None:
    """The whole part."""
    record = shell.read(request)
    if record is None:
        return
    used = loading.model(request)
    with st.container(key="trying", horizontal=True, vertical_alignment="bottom", gap="medium"):
        usual = twin(request.text)
        donor = (
            st.text_input("Source sentence", key="from", bind="query-params", placeholder=usual, width=560)
            or usual
        )
        examples.row("Pairs", {name: {"text": into, "from": source} for name, source, into in PAIRS})
        shape = st.segmented_control(
            "Patch", MAPS, default=MAPS[0], required=True, key="map", bind="query-params"
        )
    other = shell.or_show_error(used.tokenizer.encode, donor)
    outcome = None if other is None else shell.or_show_error(outcome_of, other, record, used)
    if other is None or outcome is None:
        return
    sweep = sweep_head_patches if shape != MAPS[1] else sweep_state_patches
    key = ("patch", *map(repr, (request.run, donor, used.fingerprint, outcome, sweep.__name__)))
    roles = roles_of(request)

    def draw(effects: SweepResult | None) -> None:
        if effects is None:
            return
        if effects.source is not None and effects.source[0] == effects.before[0]:
            say(no_way(effects), "finding")
            return
        if sweep is sweep_head_patches:
            say(of_heads(effects), "finding")
            _heads(effects, request, used, roles, donor)
        else:
            say(of_states(effects, record.tokens, other), "finding")
            _states(effects, record.tokens, other, about(request, source=donor))
        frame = effects.to_frame()
        if frame["recovered"].notna().all():
            described = about(request, outcome=effects.names[0], source=donor)
            lines = patch_lines(request, donor, outcome, sweep.__name__)
            save_box("patched", "Share of the effect recovered", frame, described, lines)

    work(
        key,
        lambda: sweep(other, record.tokens, used, outcome),
        draw,
        unit=f"of {count_noun(used.n_layers * used.n_heads, 'head')} tried"
        if sweep is sweep_head_patches
        else "states tried",
        one="" if sweep is sweep_head_patches else "state tried",
    )


def twin(text: str) -> str:
    """The sentence to patch from, if the reader names none: the other of a pair, else the first there is."""
    both = {source: into for _, source, into in PAIRS} | {into: source for _, source, into in PAIRS}
    return both.get(text) or presets.twin_sentence(text)


def outcome_of(source: Tokens, record: AttentionRecord, used: Model) -> Outcome:
    """What is measured: what the other sentence says next against what this one says; else the embedding.

    Raises InputError where the texts do not have as many tokens.
    """
    if len(source) != len(record.tokens):
        raise InputError(
            f"The source sentence needs {len(record.tokens)} tokens, as yours; {quoted(source.text)} has {len(source)}."
        )
    usual = presets.FOLLOWED.get(source.text)
    if used.next_head is None:
        return default_outcome(record.tokens, used)
    if usual:
        return LogitDifference(*usual)
    theirs, own = (default_outcome(tokens, used) for tokens in (source, record.tokens))
    if (
        isinstance(theirs, LogitDifference)
        and isinstance(own, LogitDifference)
        and own.target != theirs.target
    ):
        return LogitDifference(theirs.target, own.target)
    return theirs


def no_way(effects: SweepResult) -> str:
    """Say that both sentences come to the same."""
    same = number(effects.before[0])
    return f"The {measured(effects.names)} is {same} in both sentences. Choose a source that differs."


def ways(effects: SweepResult) -> str:
    """Where the outcome stands, and where it stands in the other sentence."""
    there = "" if effects.source is None else f" in your sentence, {number(effects.source[0])} in the source"
    return f"The {measured(effects.names)} is {number(effects.before[0])}{there}"


def of_heads(effects: SweepResult) -> str:
    """The heads that recover most of the effect."""
    share = np.asarray(effects.recovered)
    if not np.isfinite(share).any():
        return f"{ways(effects)}."
    order = np.argsort(-np.nan_to_num(share, nan=-9.0), axis=None, kind="stable")[:3]
    found = [head for head in (divmod(int(i), share.shape[1]) for i in order) if share[head] > 0]
    if not found:
        return f"{ways(effects)}. No single head recovers any of the effect."
    heads = ", ".join(f"{head_name(head)} ({percent(float(share[head]))})" for head in found)
    return f"Patching one head recovers at most {percent(float(share[found[0]]))} of the effect: {heads}."


def of_states(effects: SweepResult, into: Tokens, source: Tokens) -> str:
    """Which token carries the difference, layer by layer."""
    share = np.asarray(effects.recovered)
    carried = carriers(share)
    if not carried:
        return f"{ways(effects)}. No single state recovers half of the effect."
    parts = [f"`{label(into, source, token)}` {_layers(first, final)}" for token, first, final in carried]
    return f"The difference is carried by {', then by '.join(parts)}."


def carriers(share: FloatArray) -> list[tuple[int, int, int]]:
    """Runs of states in which one token alone recovers most, and at least half, of the effect: (token, first, last)."""
    found: list[tuple[int, int, int]] = []
    for index, row in enumerate(share):
        if not np.isfinite(row).any() or np.nanmax(row) < DECIDED:
            continue
        token = int(np.nanargmax(row))
        if found and (found[-1][0], found[-1][2]) == (token, index - 1):
            found[-1] = (token, found[-1][1], index)
        else:
            found.append((token, index, index))
    return found


def _layers(first: int, final: int) -> str:
    names = ["the embedding" if i == 0 else f"layer {i}" for i in (first, final)]
    return f"({names[0]})" if first == final else f"({names[0]} to {names[1]})"


def label(into: Tokens, source: Tokens, position: int) -> str:
    """A token of both sentences; where they differ, the other's, then this one's."""
    theirs, own = (shown(tokens.pieces[position].bare) for tokens in (source, into))
    return own if own == theirs else f"{theirs} → {own}"


def _heads(
    effects: SweepResult, request: Request, used: Model, roles: Mapping[Head, Role], donor: str
) -> None:
    draw_effects(
        effects.to_frame(),
        "recovered",
        measure=effects.names[0],
        title="Share of the effect recovered",
        links=explore_links(request, used),
        roles=roles,
        key="patched-heads",
        about=about(request, outcome=effects.names[0], source=donor),
    )


def _states(effects: SweepResult, into: Tokens, source: Tokens, said: Mapping[str, str]) -> None:
    tokens = [label(into, source, i) for i in range(len(into))]
    share = np.asarray(effects.recovered).T
    figure = charts.cells(
        share,
        tokens,
        list(map(str, range(share.shape[1]))),
        title="Share of the effect recovered",
        name="recovered",
        column_title="layer",
        signed=True,
        percent=True,
        dark=is_dark(),
    )
    frame = effects.to_frame()
    chart(figure, frame.assign(token=[tokens[i] for i in frame["token"]]), key="patched-states", about=said)
