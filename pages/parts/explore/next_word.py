"""What would it say next? The likeliest tokens under the sentence, a click that takes one, going on word by word.

In: a request and what is pinned. Out: what the picture draws there; and, from what a reader asks for, a longer text in
the box. Drawn by assets/js/next.js.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from mha_core import AttentionRecord, Grid, HeadScopeError, InputError, Model
from mha_core.extended_record import check_choice
from mha_core.model_list import DECODER
from mha_core.picture.text import visible
from mha_core.tokens import Piece
from pages.parts.explore import speech
from pages.parts.frame import loading, state
from pages.parts.frame.mounts import heard_from
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.serve import cache

Payload = dict[str, Any]

MOST = 40  # tokens that one press of "Go on" says
SILENCE = 15.0  # seconds without the browser asking on: its page was left
END, PIN = "end", "pin"


@dataclass
class Talk:
    """How one reader lets a model go on. `turn` counts what was said; `text` is what was said last, `by` the model
    that is asked and whether its weights are trained."""

    place: str = END
    temperature: float = 0.0
    seed: int = 0
    running: bool = False
    left: int = 0
    turn: int = 0
    text: str = ""
    note: str = ""
    heard: float = 0.0
    by: tuple[str, bool] | None = None

    def stop(self, note: str = "") -> None:
        self.running, self.note = False, note


@dataclass(frozen=True)
class Place:
    """Where the next token is asked for: at the end, after a pinned word, or in a mask; `position` is a piece's."""

    value: str
    label: str
    position: int


def under(
    request: Request, record: AttentionRecord, grid: Grid, key: str, now: Selection
) -> tuple[Payload | None, Callable[[], None]]:
    """What the picture of that key draws under the sentence (nothing for a model that predicts no word), and its
    callback for what a reader asks for there."""
    used = loading.model(request)
    offered = places(record, grid, now.pins)
    shown = panel(request, used, record, offered, my_talk())
    if shown is not None:
        shown["pins"] = list(now.pins)
    return shown, partial(_heard, key, request, offered)


def panel(
    request: Request, used: Model, record: AttentionRecord, offered: Sequence[Place], talk: Talk
) -> Payload | None:
    """What is drawn under the sentence; None for a model that predicts no word."""
    by = request.model, request.trained
    if talk.by not in (None, by):
        talk.stop("Stopped, because the model was changed." if talk.running else "")
    talk.by = by
    if used.next_head is not None:
        return _next(request, used, record, offered, talk)
    if used.masked_head is not None and used.tokenizer.mask_name:
        return _masked(request, used, talk)
    return None


def my_talk() -> Talk:
    talk: Talk = st.session_state.setdefault("talk", Talk())
    return talk


def places(record: AttentionRecord, grid: Grid, pins: Sequence[int]) -> list[Place]:
    """The end, and the last pinned word unless it is the end."""
    end = len(record.tokens) - 1
    found = [Place(END, "At the end", end)]
    if pins and (after := grid.units[pins[-1]].pieces[-1]) < end:
        found.append(Place(PIN, f"After “{visible(grid.units[pins[-1]].bare)}”", after))
    return found


def _next(
    request: Request, used: Model, record: AttentionRecord, offered: Sequence[Place], talk: Talk
) -> Payload:
    if talk.text != request.text:
        talk.stop("Stopped, because the text was changed." if talk.running else "")
        talk.text = request.text
    elif talk.running and time.monotonic() - talk.heard > SILENCE:
        talk.stop()
    place = _chosen(offered, talk) or offered[0]
    tokens = speech.following(request, used, place.position)
    following = record.tokens.pieces[place.position + 1 :]
    stands = following[0] if following else None
    rows = [
        {"id": token.id, "p": token.probability, "stands": stands is not None and token.id == stands.id}
        | _spelled(token.text, "Append" if stands is None else "Go on from there with")
        for token in tokens
    ]
    note = talk.note
    if stands is not None and not any(row["stands"] for row in rows):
        note = f"The text goes on with “{visible(stands.text, spaces=True)}”, which is not among these ten."
    return {
        "title": "What would it say next?",
        "caption": _caption(used, stands),
        "note": note,
        "rows": rows,
        "places": [{"value": each.value, "label": each.label} for each in offered],
        "place": place.value,
        "talk": {
            "running": talk.running,
            "turn": talk.turn,
            "temperature": talk.temperature,
            "seed": talk.seed,
        },
    }


def _caption(used: Model, stands: Piece | None) -> str:
    click = "A click appends a token." if stands is None else "A click replaces all that follows there."
    if not used.trained:
        return f"{click} The weights of {used.title} are random: these probabilities know nothing."
    size = f"{used.title.partition(',')[0]}, a small model with its weights cut to 4 bits"
    whose = size if used.name == DECODER else used.title
    return f"{click} These are the probabilities of {whose}: what it would say, not what is true."


def _masked(request: Request, used: Model, talk: Talk) -> Payload:
    found = speech.masks(request, used)
    offered = [Place(str(i), f"{used.tokenizer.mask_name} {i + 1}", i) for i in range(len(found))]
    place = _chosen(offered, talk)
    rows: list[Payload] = []
    if place is not None:
        guesses = speech.hidden_words(request, used)[place.position]
        rows = [
            {"id": number, "p": p, "stands": False} | _spelled(name, "Put in")
            for number, (name, p) in enumerate(guesses)
        ]
    name = used.tokenizer.mask_name
    caption = (
        f"A click puts the piece in place of {name}. These are the probabilities of {used.title}, not truth."
    )
    return {
        "title": f"What would it put for {name}?",
        "caption": caption if rows else f"Type {name} in place of a word to see what {used.title} would put.",
        "note": talk.note if talk.text == request.text else "",
        "rows": rows,
        "places": [{"value": each.value, "label": each.label} for each in offered],
        "place": "" if place is None else place.value,
        "talk": None,
    }


def _spelled(text: str, does: str) -> Payload:
    """A token as it is typed: the space before it as a mark, other invisible characters as signs."""
    bare = text.lstrip(" ")
    shown = visible(bare) if bare else ""
    return {
        "mark": "␣" * (len(text) - len(bare)),
        "text": shown,
        "does": f"{does} “{' ' * (bare != text)}{shown}”",
    }


def _heard(key: str, request: Request, offered: Sequence[Place]) -> None:
    ask = heard_from(key, "ask")
    used = loading.at_hand(request.model, request.trained)
    if not isinstance(ask, Mapping) or used is None:
        return
    talk = my_talk()
    try:
        longer = answer(ask, request, used, offered, talk)
    except HeadScopeError as error:
        talk.text = request.text
        talk.stop(str(error))
        return
    if longer is None:
        return
    state.put(longer.text, longer.pair or "")


def answer(
    ask: Mapping[str, Any], request: Request, used: Model, offered: Sequence[Place], talk: Talk
) -> Request | None:
    """Do what a browser asks for, which may be anything; the request with the new text, or None if it stays.

    Raises HeadScopeError where it cannot be done.
    """
    does, talk.heard = ask.get("do"), time.monotonic()
    if does == "place":
        talk.place = str(ask.get("value"))
    elif does == "stop" and talk.running:
        talk.stop(f"Stopped after {_tokens(MOST - talk.left)}.")
        return replace(request, text=talk.text)  # the browser may not have heard of the last of it
    elif does == "append":
        return _taken(_number(ask, "id"), request, used, offered, talk)
    elif does == "go" and used.next_head is not None:
        return _begun(_number(ask, "temperature"), int(_number(ask, "seed")), request, used, talk)
    elif does == "on" and talk.running and ask.get("turn") == talk.turn and talk.text == request.text:
        return _one_more(request, used, talk)
    return None


def _number(ask: Mapping[str, Any], name: str) -> float:
    value = ask.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"The browser sent no number for {name}.")
    return value


def _begun(temperature: float, seed: int, request: Request, used: Model, talk: Talk) -> Request:
    check_choice(temperature, seed)
    talk.temperature, talk.seed, talk.place = temperature, seed, END
    talk.running, talk.left, talk.note = True, MOST, ""
    return _one_more(request, used, talk)


def _one_more(request: Request, used: Model, talk: Talk) -> Request:
    identity = speech.chosen(request, used, talk.temperature, talk.seed)
    talk.turn, talk.text = talk.turn + 1, request.text
    if used.tokenizer.is_special(identity):
        name, said = used.tokenizer.typed(identity), _tokens(MOST - talk.left)
        talk.stop(f"After {said} it ends its text here, with {name}.")
        return request
    said_on = speech.append(request, used, identity)
    talk.text, talk.left = said_on.text, talk.left - said_on.n
    if talk.left <= 0:
        talk.stop(f"It said {_tokens(MOST - talk.left)}.")
    return replace(request, text=said_on.text)


def _tokens(n: int) -> str:
    return f"{n} token{'s' * (n != 1)}"


def _taken(
    number: float, request: Request, used: Model, offered: Sequence[Place], talk: Talk
) -> Request | None:
    talk.stop()
    if used.next_head is None:
        changed = _unmasked(int(number), request, used, talk)
        talk.text = changed.text
        return changed
    place = _chosen(offered, talk)
    tokens = cache.record_of(request.run, used).tokens
    if place is not None and place.value != END:
        request = replace(request, text=tokens.text[: tokens.pieces[place.position].end])
    said = speech.append(request, used, int(number))
    talk.text, talk.place, talk.turn = said.text, END, talk.turn + 1
    return replace(request, text=said.text)


def _chosen(offered: Sequence[Place], talk: Talk) -> Place | None:
    return next((place for place in offered if place.value == talk.place), offered[0] if offered else None)


def _unmasked(number: int, request: Request, used: Model, talk: Talk) -> Request:
    found, tokens = speech.masks(request, used), cache.record_of(request.run, used).tokens
    which = int(talk.place) if talk.place.isdecimal() and int(talk.place) < len(found) else 0
    guesses = speech.hidden_words(request, used)[which]
    if not 0 <= number < len(guesses):
        raise InputError(f"There is no guess {number + 1}; there are {len(guesses)}.")
    piece, (name, _) = found[which], guesses[number]
    before, after = tokens.text_of(piece.segment)[: piece.start], tokens.text_of(piece.segment)[piece.end :]
    mark = used.tokenizer.continuation
    if mark and name.startswith(mark):
        before, name = before.rstrip(), name.removeprefix(mark)
    filled = before + name + after
    if piece.segment:
        return replace(request, text=tokens.text, pair=filled)
    return replace(request, text=filled, pair=tokens.pair)
