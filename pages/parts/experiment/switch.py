"""Ablate heads: all heads as switches, the next words with and without them, and who looks elsewhere now."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import AttentionRecord, Model
from mha_core.experiments import mean_steps
from mha_core.heads.roles import Role
from mha_core.picture.payload import Payload, record_payload
from mha_core.wording import Head, head_name
from pages.parts.experiment.asked import BY_VALUE, SETTINGS, Asked, asked, spelled
from pages.parts.experiment.changed import KNOWN, Changed, Guess, changed_by
from pages.parts.experiment.frame import caveat, heads_by_role, roles_of
from pages.parts.experiment.text import elsewhere, finding
from pages.parts.frame import loading, shell, state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.progress import work
from pages.parts.frame.prose import say, visible
from pages.parts.frame.request import MEASURES, SPECIALS, UNITS, Request
from pages.parts.frame.selection import parse_head
from pages.parts.picture.head_switches import head_switches
from pages.parts.serve import cache

PICTURE = "switches"
UNDONE = "experiment-undo"
UNDO_AT_MOST = 50
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
    _picture(
        request, record, wanted, found, result(wanted if how else Asked(), found, followed, record), roles
    )
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
    bars: Payload,
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
        "result": bars,
        "hint": HINT if roles else f"{HINT} {NO_ROLES}",
    }  # fmt: skip
    head_switches(payload, view, key=PICTURE, on_ask=_heard)


def result(wanted: Asked, found: Changed, followed: Guess | None, record: AttentionRecord) -> Payload:
    """The bars beside the heads."""
    sides = {"before": "as it is", "after": wanted.text[:1].lower() + wanted.text[1:] if wanted.heads else ""}
    if found.words:
        rows = [
            {"id": guess.text, "before": guess.before, "after": guess.after, "target": guess == followed}
            | _spelled(guess.text)
            for guess in found.words
        ]
        title, what = (
            ("What it says next", "the next token")
            if record.model.is_causal
            else ("What it says for the mask", "the first mask")
        )
        note = f"Click a word to follow it. Probabilities are this model's, of {what} only."
        return {"title": title, **sides, "unit": "percent", "rows": rows, "note": note}
    cosines = found.cosines.tolist()
    names = [*(piece.text for piece in record.tokens.pieces), "the whole text"]
    order = [len(names) - 1, *sorted(range(len(names) - 1), key=cosines.__getitem__)][:7]
    rows = [
        {
            "id": None,
            "mark": "",
            "text": visible(names[i]),
            "before": 1.0,
            "after": cosines[i],
            "target": False,
        }
        for i in order
    ]
    note = "Cosine of each token's last state, and of their mean, with what it was: 1 is the same direction."
    return {"title": "What becomes of the meaning", **sides, "unit": "cosine", "rows": rows, "note": note}


def _spelled(text: str) -> dict[str, str]:
    bare = text.lstrip(" ")
    return {"mark": "␣" * (len(text) - len(bare)), "text": visible(bare) if bare else ""}


def _heard() -> None:
    """Callback of the picture: what the reader switched goes into the link. A browser may send anything."""
    ask = heard_from(PICTURE, "ask")
    if not isinstance(ask, Mapping):
        return
    now = {key: state.params().get(key) for key in ("off", "set", "word")}
    undone: list[dict[str, str | None]] = st.session_state.setdefault(UNDONE, [])
    if ask.get("do") == "undo":
        if undone:
            state.change(undone.pop())
        return
    change = changes(ask)
    if change is None:
        return
    if isinstance(ask.get("n"), int):
        st.session_state[f"{PICTURE}-heard"] = ask["n"]
    undone.append(now)
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
    if does == "word" and isinstance(ask.get("text"), str) and len(ask["text"]) < 200:
        return {"word": ask["text"]}
    return None


def _head(value: Any) -> Head | None:
    return parse_head(value) if isinstance(value, str) else None
