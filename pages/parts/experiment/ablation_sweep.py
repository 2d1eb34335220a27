"""Ablation sweep: every head ablated in turn, over prompts with other names where the sentence allows, as a map."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, Model
from mha_core.causal import (
    METHODS,
    LogitDifference,
    Method,
    Outcome,
    PartialResult,
    Prompt,
    PromptEffects,
    SweepResult,
    default_outcome,
    read_sweep,
    spaced,
    sweep_heads,
    sweep_prompts,
    token_of,
    with_other_names,
)
from mha_core.display_names import Head, count_noun, head_name, number, signed
from mha_core.heads.roles import Role
from pages.parts.experiment.attribution import agreement_text, attributed
from pages.parts.experiment.effects import draw_effects
from pages.parts.experiment.frame import about, explore_links, named, roles_of
from pages.parts.experiment.save import save_box, sweep_lines
from pages.parts.experiment.text import moves, shown, word_of
from pages.parts.frame import loading, presets, shell, state
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import work
from pages.parts.frame.request import Request

Found = tuple[SweepResult | PromptEffects, pd.DataFrame | None]  # the sweep and the direct logit attribution
NAMED = 3  # beside the first
MOSTLY = 2  # times as large a change of one answer's logit as of the other's
HELP = (
    "Zero: the output is 0. Mean: its mean over the built-in sentences; a decoder's first token keeps its own. "
    "Resample: its output in a prompt with other names, so only what tells the prompts apart is lost."
)


def view(request: Request) -> None:
    """The whole part."""
    record = shell.read(request)
    if record is None:
        return
    used = loading.model(request)
    with st.container(key="trying", horizontal=True, vertical_alignment="bottom", gap="medium"):
        outcome = shell.or_show_error(followed, record, used)
        if outcome is None:
            return
        prompts = prompts_of(record, used, outcome)
        method = chosen_method(METHODS if prompts else ("zero", "mean"))
    roles = roles_of(request)

    def begin() -> Iterator[PartialResult[Found]]:
        parts = attributed(record, used, outcome, prompts)
        if prompts and (shipped := read_sweep(used, prompts, method)):
            yield PartialResult(1.0, used.n_layers * used.n_heads, (shipped, parts))
        elif prompts:
            for many in sweep_prompts(prompts, used, method):
                yield PartialResult(many.fraction, many.n, (many.result, parts))
        else:
            factor = None if method == "mean" else 0.0
            for one in sweep_heads(record.tokens, used, outcome, factor=factor):
                yield PartialResult(one.fraction, one.n, (one.result, parts))

    def draw(both: Found | None) -> None:
        if both is None:
            return
        found, parts = both
        if isinstance(found, PromptEffects):
            text, measure = prompts_text(found, roles), found.measure
        else:
            text, measure = one_text(found, roles, method), found.names[0]
        say(text, "finding")
        frame = found.to_frame()
        if parts is not None and (agreement := agreement_text(parts, frame)):
            say(agreement)
        described, title = about(request, outcome=measure, ablation=method), f"Effect of {method} ablation"
        draw_effects(
            frame,
            "effect",
            measure=measure,
            title=title,
            links=explore_links(request, used, pin=str(len(record.tokens) - 1) if used.next_head else ""),
            roles=roles,
            key="effects",
            about=described,
            attribution=parts,
        )
        if frame["effect"].notna().all():
            save_box("effects", title, frame, described, sweep_lines(request, outcome, method, prompts))

    with st.container(key="sweep"):
        work(
            ("every", *map(repr, (request.run, used.fingerprint, outcome, method))),
            begin,
            draw,
            unit=f"of {count_noun(used.n_layers * used.n_heads, 'head')} tried",
        )


def followed(record: AttentionRecord, used: Model) -> Outcome:
    """What is measured: two words of the reader's choice, else those the sentence is about, else the two likeliest;
    the embedding where it predicts no word."""
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
    typed = st.text_input("Word", key="word", placeholder=placeholder, width=150, on_change=_keep_word)
    return typed or ""


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


def prompts_of(record: AttentionRecord, used: Model, outcome: Outcome) -> tuple[Prompt, ...]:
    """Twelve prompts with other names; none where the sentence has no two names."""
    if not isinstance(outcome, LogitDifference) or record.tokens.pair:
        return ()
    return with_other_names(Prompt(record.tokens.text, outcome.target, outcome.against), used)


def chosen_method(offered: Sequence[Method]) -> Method:
    """The method that the link says, also after Back; the first that is offered unless it says another."""
    asked = state.own("method", offered[0])
    say_unknown("method", offered, offered[0])
    st.session_state["sweep-method"] = asked if asked in offered else offered[0]
    chosen = st.segmented_control(
        "Ablation",
        offered,
        required=True,
        key="sweep-method",
        help=HELP,
        on_change=lambda: state.change({"method": st.session_state["sweep-method"]}),
    )
    return chosen or offered[0]


def one_text(effects: SweepResult, roles: Mapping[Head, Role], method: Method) -> str:
    """Which head changes a single prompt's outcome most, or of a model that says no next word a sentence's."""
    names, before = effects.names, effects.before
    what = "prompt" if len(names) > 1 else "sentence"
    strongest = effects.strongest(1)
    if not strongest:
        return f"One {what}: the {names[0]} is {number(before[0])}."
    head = strongest[0][0]
    after = effects.numbers[head]
    text = (
        f"Head {named(head, roles)} changes the {names[0]} most: {number(before[0])} → {number(float(after[0]))} "
        f"({method} ablation, one {what})."
    )
    if len(names) > 1:
        text += f" `{shown(word_of(names[1]))}` {moves(before[1], float(after[1]))}."
    return text


def prompts_text(effects: PromptEffects, roles: Mapping[Head, Role]) -> str:
    """Which heads matter over the prompts: by resample ablation alone, else which has the largest effect."""
    mean, n, measure = effects.mean, len(effects.prompts), effects.measure
    if not np.isfinite(mean).any():
        return f"The {measure} is {number(effects.outcome)} (mean of {n} prompts with other names)."
    if effects.method != "resample":
        head = divmod(int(np.nan_to_num(np.abs(mean)).argmax()), mean.shape[1])
        return (
            f"{effects.method.capitalize()} ablation of {named(head, roles)} changes the {measure} most: "
            f"{signed(mean[head])} ± {number(effects.half_width()[head])} (n = {n} prompts). "
            "Resample ablation tells which heads matter."
        )
    if not effects.named:
        return f"No head's effect on the {measure} is clear of zero (n = {n} prompts)."
    return _of_named(effects, effects.named, roles)


def _of_named(effects: PromptEffects, heads: Sequence[Head], roles: Mapping[Head, Role]) -> str:
    """The heads that matter, the first with what becomes of its answers."""
    mean, half, n = effects.mean, effects.half_width(), len(effects.prompts)
    first, *others = heads
    text = (
        f"Head {named(first, roles)} matters most: swapping in its output from another prompt changes the "
        f"{effects.measure} by "
        f"{signed(mean[first])} ± {number(half[first])} (n = {n} prompts)."
    )
    text += answers_text(effects, first)
    if others:
        rest = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        some = ", ".join(f"{head_name(head)} ({signed(mean[head])})" for head in others[:NAMED])
        text += f" Then {some}{rest}."
    return text


def answers_text(effects: PromptEffects, head: Head) -> str:
    """Which answer a head's ablation raises or lowers, where it is one of the two."""
    changes = dict(zip(effects.prompts[0].answers, effects.changes[:, head[0], head[1]].mean(0), strict=True))
    word = max(changes, key=lambda answer: abs(changes[answer]))
    others = [abs(change) for answer, change in changes.items() if answer != word]
    if not others or abs(changes[word]) < MOSTLY * others[0]:
        return ""
    does = "lowers" if changes[word] > 0 else "raises"
    return f" It {does} `{shown(word)}`."
