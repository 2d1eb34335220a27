"""Which heads matter here? Every head taken away in turn, and what that does to the word that is followed, as a map."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from mha_core import AttentionRecord, Model
from mha_core.experiments import Effects, Outcome, default_outcome, every_head, token_of
from mha_core.heads.roles import Role
from mha_core.wording import Head, counted, head_name
from pages.parts.experiment.frame import caveats, kept, roles_of
from pages.parts.experiment.said import moves, number, shown, signed, word_of
from pages.parts.frame import loading, presets, shell, state
from pages.parts.frame.links import link_to
from pages.parts.frame.progress import work
from pages.parts.frame.prose import say
from pages.parts.frame.request import Request
from pages.parts.picture.head_switches import head_effects

NAMED = 3
HOW = {"factor": "nothing", "mean": "its mean"}
HINT = "Point at a head for its numbers; a click opens it in Explore with this sentence."


def view(request: Request) -> None:
    """The whole part."""
    record = shell.read(request)
    if record is None:
        return
    used = loading.model(request)
    how = "mean" if state.own("set", "0") == "mean" else "factor"
    with st.container(key="trying", horizontal=True, vertical_alignment="bottom", gap="medium"):
        outcome = shell.or_show_error(followed, record, used)
        how = setting(how)
    if outcome is None:
        return
    roles = roles_of(request)
    key = ("every", *map(repr, (request.run, used.fingerprint, outcome, how)))
    with st.container(key="sweep"):
        work(
            key,
            lambda: every_head(record.tokens, used, outcome, factor=0.0 if how == "factor" else None),
            lambda effects: picture(effects, request, record, used, roles, how),
            button="Try every head",
            unit=f"of {counted(used.n_layers * used.n_heads, 'head')} tried",
        )
    caveats()


def followed(record: AttentionRecord, used: Model) -> Outcome:
    """What is measured: two words of the reader's choice, else those the sentence is about, else the two likeliest;
    the embedding where none is said."""
    if used.next_head is None:
        return default_outcome(record.tokens, used)
    usual = presets.FOLLOWED.get(record.tokens.text, ("the likeliest", "the one after it"))
    word = word_box(usual[0].strip())
    against = usual[1].strip() if not word or spaced(word, used) == usual[0] else "no word"
    rival = st.text_input("Against", key="rival", bind="query-params", placeholder=against, width=150)
    return outcome_of(record, used, word, rival or "")


def word_box(placeholder: str) -> str:
    """The word of the link, which another part of the page writes, too."""
    st.session_state["word"] = state.params().get("word", "")
    said = st.text_input("Word", key="word", placeholder=placeholder, width=150, on_change=_keep_word)
    return said or ""


def _keep_word() -> None:
    state.change({"word": st.session_state["word"] or None})


def outcome_of(record: AttentionRecord, used: Model, word: str, rival: str) -> Outcome:
    """The same of what was typed. A word without a space before it gets one, where that is a token.

    Raises InputError for words that are no token of this model.
    """
    usual = presets.FOLLOWED.get(record.tokens.text)
    if usual and (not word or spaced(word, used) == usual[0]):
        word, rival = usual[0], rival or usual[1]
    asked = [spaced(each, used) if each else None for each in (word, rival)]
    for each in filter(None, asked):
        token_of(each, used)
    return default_outcome(record.tokens, used, *asked)


def spaced(word: str, used: Model) -> str:
    """The word as it would be the next one, " Mary"."""
    with_space = f" {word}"
    return word if word.startswith(" ") or len(used.tokenizer.ids_of(with_space)) != 1 else with_space


def setting(how: str) -> str:
    """What a head gives when its turn comes: what the link says, also after Back."""
    st.session_state["every-how"] = how
    chosen = st.segmented_control(
        "In its turn a head gives",
        list(HOW),
        format_func=HOW.__getitem__,
        required=True,
        key="every-how",
        on_change=_keep_setting,
    )
    return chosen or how


def _keep_setting() -> None:
    state.change({"set": "mean" if st.session_state["every-how"] == "mean" else None})


def picture(
    effects: Effects | None,
    request: Request,
    record: AttentionRecord,
    used: Model,
    roles: Mapping[Head, Role],
    how: str,
) -> None:
    """The sentence and the map, of as many heads as were tried."""
    if effects is None:
        return
    say(finding(effects, roles, how), "finding")
    last = str(len(record.tokens) - 1) if used.next_head is not None else ""
    links = {
        head_name((layer, head)): link_to(
            "Explore", {**kept(request), "head": head_name((layer, head)), "pin": last}
        )
        for layer in range(used.n_layers)
        for head in range(used.n_heads)
    }
    head_effects(
        np.asarray(effects.effect),
        measure=effects.names[0],
        was=effects.before[0],
        addresses=links,
        roles=roles,
        hint=HINT,
        key="effects",
    )


def finding(effects: Effects, roles: Mapping[Head, Role], how: str) -> str:
    """The strongest head, and what becomes of the outcome without it."""
    numbers = np.asarray(effects.effect)
    tried = int(np.isfinite(numbers).sum())
    names, before = effects.names, effects.before
    if not tried:
        return f"As it is, the {names[0]} is {number(before[0])}."
    ((layer, head), _), *rest = effects.strongest(NAMED)
    after = effects.numbers[layer, head]
    done = "without it" if how == "factor" else "with its mean output instead"
    first = (
        f"Of {counted(tried, 'head')} {named((layer, head), roles)} matters most: {done} the {names[0]} goes from "
        f"{number(before[0])} to {number(float(after[0]))}"
    )
    if len(names) > 1:
        first += f", and `{shown(word_of(names[1]))}` {moves(before[1], float(after[1]))}"
    return f"{first}. Then {listed(rest, roles)}." if rest else f"{first}."


def listed(found: Sequence[tuple[Head, float]], roles: Mapping[Head, Role]) -> str:
    """Heads with their effects."""
    return ", ".join(f"{named(head, roles)} ({signed(value)})" for head, value in found)


def named(head: Head, roles: Mapping[Head, Role]) -> str:
    """A head with its role, if it has one."""
    role = roles.get(head)
    return f"{head_name(head)}, {role.label}," if role else head_name(head)
