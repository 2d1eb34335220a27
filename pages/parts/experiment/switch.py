"""Ablate heads: all heads as switches, the next words with and without them, and which later heads change."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, Model
from mha_core.causal import mean_steps
from mha_core.display_names import Head, head_name
from mha_core.draw.figures import charts
from mha_core.draw.payload import Payload, record_payload
from mha_core.heads.roles import Role
from pages.parts.experiment.asked import BY_VALUE, SETTINGS, Asked, asked, spelled
from pages.parts.experiment.changed import KNOWN, Changed, Guess, changed_by
from pages.parts.experiment.frame import about, heads_by_role, roles_of
from pages.parts.experiment.save import ablation_lines, save_box
from pages.parts.experiment.text import finding, moved_text
from pages.parts.frame import loading, shell, state
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.page_text import say, visible
from pages.parts.frame.progress import work
from pages.parts.frame.request import MEASURES, SPECIALS, UNITS, Request
from pages.parts.frame.selection import parse_head
from pages.parts.picture.head_switches import head_switches
from pages.parts.serve import cache

PICTURE = "switches"
UNDONE = "experiment-undo"
UNDO_AT_MOST = 50
FOLLOW = "follow"
HEIGHT = 360  # of the bars, however many tokens there are
TOKENS = 6  # whose cosine is smallest
HINT = "Click a head, drag over several, or press a layer's number."
HINT_MOVED = "Bar: how much of a head's attention moved."
UNLIKELY = f"`{{}}` is not among the {KNOWN:,} likeliest tokens here. The likeliest is followed."
METHOD, ROLE, DRAWN = (
    "ablation-method",
    "ablation-role",
    8,
)  # heads that are drawn at random where none is ablated
METHODS_HELP = "; ".join(f"{setting.label}: {setting.title}" for setting in SETTINGS)


def view(request: Request) -> None:
    """The whole part."""
    record = shell.read(request)
    if record is None:
        return
    used = loading.model(request)
    wanted, refused = asked(state.params(), (used.n_layers, used.n_heads))
    for sentence in refused:
        say(sentence, "notice")
    how = wanted.interventions if ready(wanted, used) else ()
    found = shell.or_show_error(changed_by, request, record, used, how, state.params().get("word"))
    if found is None:
        return
    followed = the_followed(found)
    if unlikely(found):
        say(UNLIKELY.format(visible(state.params()["word"])), "notice")
    roles = roles_of(request)
    if how or not wanted.heads:
        say(finding(wanted, found, followed, record), "finding")
    _toolbar(wanted, (used.n_layers, used.n_heads), heads_by_role(roles))
    left, right = st.columns([3, 2] if used.n_heads >= used.n_layers else [2, 5], gap="medium")
    with left:
        _picture(request, record, wanted, found, roles)
    with right:
        _bars(request, wanted if how else Asked(), found, followed, record)
        if how:
            above = (used.n_layers - 1 - min(layer for layer, _ in wanted.heads)) * used.n_heads
            say(moved_text(found.moved, record, roles, above), "moved")


def _toolbar(wanted: Asked, shape: tuple[int, int], groups: Sequence[tuple[str, tuple[Head, ...]]]) -> None:
    """How heads are ablated, and whole sets of them: a role's, as many at random, none."""
    st.session_state[METHOD] = wanted.setting.value
    with st.container(key="switch-tools", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.segmented_control(
            "Ablation",
            list(BY_VALUE),
            format_func=lambda value: BY_VALUE[value].label,
            required=True,
            key=METHOD,
            help=METHODS_HELP,
            on_change=_set_method,
        )
        if groups:
            heads_of = {f"{name} ({len(heads)})": heads for name, heads in groups}
            st.session_state[ROLE] = None
            st.selectbox(
                "Heads of a role",
                list(heads_of),
                key=ROLE,
                placeholder="Choose",
                width=200,
                on_change=lambda: _change({"off": spelled(heads_of[st.session_state[ROLE]])}),
            )
        n = len(wanted.heads)
        st.button(f"Pick {n or DRAWN} at random", on_click=_pick_at_random, args=(wanted.heads, shape))
        st.button("Undo", on_click=_undo, disabled=not st.session_state.get(UNDONE))
        st.button("Reset", on_click=_change, args=({"off": None},), disabled=not n)


def _set_method() -> None:
    value = st.session_state[METHOD]
    _change({"set": None if value == SETTINGS[0].value else value})


def _pick_at_random(heads: Sequence[Head], shape: tuple[int, int]) -> None:
    """Ablate as many heads, none of those that are where enough others are left."""
    every = [(layer, head) for layer in range(shape[0]) for head in range(shape[1])]
    n = min(len(heads) or DRAWN, len(every))
    rest = [head for head in every if head not in set(heads)]
    _change({"off": spelled(sorted(random.sample(rest if len(rest) >= n else every, n)))})


def _undo() -> None:
    if undone := st.session_state.get(UNDONE):
        state.change(undone.pop())


def ready(wanted: Asked, used: Model) -> bool:
    """Is it known what the heads are set to? Mean outputs are found once for a model, from the built-in sentences."""
    if wanted.setting.value != "mean" or not wanted.heads:
        return True
    return work(
        ("means", used.name, used.fingerprint),
        lambda: mean_steps(used),
        lambda _: None,
        unit="built-in sentences read for the mean outputs",
        one="built-in sentence read for the mean outputs",
    )


def the_followed(found: Changed) -> Guess | None:
    """The word that the sentence is about: the link's, else the likeliest as the model is."""
    return _named(found) or max(found.words, key=lambda guess: guess.before, default=None)


def _named(found: Changed) -> Guess | None:
    """The word of the link, as it is typed or with a space before it, if it is known how likely it is."""
    word = state.params().get("word") or ""
    return next((guess for text in (word, f" {word}") for guess in found.words if guess.text == text), None)


def unlikely(found: Changed) -> bool:
    """Whether a word is asked about of which nothing is known here."""
    return bool(found.words and state.params().get("word")) and _named(found) is None


def _picture(
    request: Request,
    record: AttentionRecord,
    wanted: Asked,
    found: Changed,
    roles: Mapping[Head, Role],
) -> None:
    shown = replace(request, measure=MEASURES[0], unit=UNITS[0], specials=SPECIALS[0])
    grid = cache.grid(shown, record)
    keep = cache.picture_parts((shown.run, record.model.digest, *cache.drawn(shown)))
    payload = record_payload(grid, record.tokens, record.model.title, roles, keep)
    view: Payload = {
        "off": [head_name(head) for head in wanted.heads],
        "heard": st.session_state.get(f"{PICTURE}-heard", 0),
        "badge": wanted.setting.badge,
        "done": wanted.setting.done,
        "moved": {head_name(each.head): each.share for each in found.moved},
        "hint": f"{HINT} {HINT_MOVED}" if found.moved else HINT,
    }  # fmt: skip
    head_switches(payload, view, key=PICTURE, on_ask=_heard)


def _bars(
    request: Request, wanted: Asked, found: Changed, followed: Guess | None, record: AttentionRecord
) -> None:
    """Before and after, a bar a token; the token that is followed can be chosen."""
    if followed is not None:
        texts = [guess.text for guess in found.words]
        st.session_state[FOLLOW] = followed.text
        st.selectbox("Follow", texts, format_func=spelled_token, key=FOLLOW, on_change=_follow, width=240)
        title = (
            "Next-token probability" if record.model and record.model.is_causal else "Probability at the mask"
        )
        frame = words_frame(wanted, found)
    elif wanted.heads:
        title, frame = "Cosine with the plain run", cosines_frame(found, record)
    else:
        return
    values = [name for name in frame if name != "token"]
    figure = charts.bars(
        frame, "token", values, title=title, x_title="", percent=bool(found.words), dark=is_dark()
    )
    ablated = f"{spelled(wanted.heads) or 'none'} ({wanted.setting.done})"
    described = about(request, ablated=ablated)
    chart(figure.update_layout(height=HEIGHT), frame, key="before-after", about=described)
    lines = ablation_lines(request, wanted.interventions, words=bool(found.words))
    save_box("before-after", title, frame, described, lines)


def words_frame(wanted: Asked, found: Changed) -> pd.DataFrame:
    """Return a row a token that may come next, with its probability as it is and, where heads are ablated, after."""
    frame = pd.DataFrame(
        {
            "token": [spelled_token(guess.text) for guess in found.words],
            "as it is": [guess.before for guess in found.words],
        }
    )
    if wanted.heads:
        frame[wanted.text[:1].lower() + wanted.text[1:]] = [guess.after for guess in found.words]
    return frame


def cosines_frame(found: Changed, record: AttentionRecord) -> pd.DataFrame:
    """Return the cosine of the text's embedding, and of the last states that turn most, with what they were."""
    states = found.cosines[:-1]
    most = sorted(range(len(states)), key=states.__getitem__)[:TOKENS]
    names = ["the whole text", *(visible(record.tokens.pieces[i].text) for i in most)]
    return pd.DataFrame({"token": names, "cosine": found.cosines[[-1, *most]].astype(float)})


def spelled_token(text: str) -> str:
    """Return a token with its spaces as signs."""
    bare = text.lstrip(" ")
    return "␣" * (len(text) - len(bare)) + visible(bare)


def _follow() -> None:
    _change({"word": st.session_state[FOLLOW]})


def _heard() -> None:
    """Callback of the picture: what the reader switched goes into the link. A browser may send anything."""
    ask = heard_from(PICTURE, "ask")
    if not isinstance(ask, Mapping) or (change := switched(ask)) is None:
        return
    if isinstance(ask.get("n"), int):
        st.session_state[f"{PICTURE}-heard"] = ask["n"]
    _change(change)


def _change(change: Mapping[str, str | None]) -> None:
    """Change the link, and remember what it said."""
    undone: list[dict[str, str | None]] = st.session_state.setdefault(UNDONE, [])
    undone.append({key: state.params().get(key) for key in ("off", "set", "word")})
    del undone[:-UNDO_AT_MOST]
    state.change(change)


def switched(ask: Mapping[str, Any]) -> dict[str, str | None] | None:
    """Return what the link is to say after a browser's wish, or None for what is no wish."""
    if ask.get("do") != "set" or not isinstance(ask.get("off"), list | tuple):
        return None
    heads = [head for value in ask["off"][:10_000] if (head := _head(value)) is not None]
    return {"off": spelled(sorted(set(heads)))}


def _head(value: Any) -> Head | None:
    return parse_head(value) if isinstance(value, str) else None
