"""Ablate heads: all heads as switches, the next words with and without them, and who looks elsewhere now."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, Model
from mha_core.experiments import mean_steps
from mha_core.figures import charts
from mha_core.heads.roles import Role
from mha_core.picture.payload import Payload, record_payload
from mha_core.wording import Head, head_name
from pages.parts.experiment.asked import BY_VALUE, SETTINGS, Asked, asked, spelled
from pages.parts.experiment.changed import KNOWN, Changed, Guess, changed_by
from pages.parts.experiment.frame import caveat, heads_by_role, roles_of
from pages.parts.experiment.text import elsewhere, finding
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
HINT = (
    "Click a head, drag over several, or press the number of a layer. The bar on a head says how much of its attention "
    "moved."
)
UNLIKELY = f"`{{}}` is none of the {KNOWN:,} likeliest tokens here; the likeliest of all is followed."
NO_ROLES = "Roles of this model's heads are known here once the page Roles has found them."


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
    left, right = st.columns([5, 2], gap="medium")
    with left:
        _picture(request, record, wanted, found, roles)
    with right:
        _bars(wanted if how else Asked(), found, followed, record)
    if how:  # below, or the heads would move away under the pointer
        above = (used.n_layers - 1 - min(layer for layer, _ in wanted.heads)) * used.n_heads
        say(elsewhere(found.moved, record, roles, above), "moved")
    caveat()


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
    payload = record_payload(
        grid, record.tokens, record.model.title if record.model else "", roles, cache.keeper(shown)
    )
    view: Payload = {
        "off": [head_name(head) for head in wanted.heads],
        "heard": st.session_state.get(f"{PICTURE}-heard", 0),
        "factor": wanted.setting.value,
        "factors": [{"value": s.value, "label": s.label, "title": s.title} for s in SETTINGS],
        "badge": wanted.setting.badge,
        "done": wanted.setting.done,
        "groups": [
            {"label": name, "heads": list(map(head_name, heads))} for name, heads in heads_by_role(roles)
        ],
        "undo": bool(st.session_state.get(UNDONE)),
        "moved": {head_name(each.head): each.share for each in found.moved},
        "hint": HINT if roles else f"{HINT} {NO_ROLES}",
    }  # fmt: skip
    head_switches(payload, view, key=PICTURE, on_ask=_heard)


def _bars(wanted: Asked, found: Changed, followed: Guess | None, record: AttentionRecord) -> None:
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
    chart(figure.update_layout(height=HEIGHT), frame, key="before-after")


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
    if not isinstance(ask, Mapping):
        return
    if ask.get("do") == "undo":
        if undone := st.session_state.get(UNDONE):
            state.change(undone.pop())
        return
    change = changes(ask)
    if change is None:
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


def changes(ask: Mapping[str, Any]) -> dict[str, str | None] | None:
    """What the link is to say after a browser's wish, or None for what is no wish."""
    does = ask.get("do")
    if does == "set" and isinstance(ask.get("off"), list | tuple):
        heads = [head for value in ask["off"][:10_000] if (head := _head(value)) is not None]
        return {"off": spelled(sorted(set(heads)))}
    if does == "factor" and ask.get("value") in BY_VALUE:
        return {"set": None if ask["value"] == SETTINGS[0].value else ask["value"]}
    return None


def _head(value: Any) -> Head | None:
    return parse_head(value) if isinstance(value, str) else None
