"""Ablation sweep: every head ablated in turn, over prompts with other names where the sentence allows, as a map."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mha_core import AttentionRecord, Model, logit_attribution
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
    with_other_names,
)
from mha_core.causal.logit_attribution import mean_attribution
from mha_core.display_names import Head, count_noun, head_name, number, signed
from mha_core.heads.roles import Role
from pages.parts.experiment.common import about, chosen_labels, explore_link, named_outcome, roles_of
from pages.parts.experiment.effects import draw_effects
from pages.parts.experiment.python_lines import sweep_lines
from pages.parts.experiment.text import change_text, head_with_role, visible_token, word_of
from pages.parts.frame import presets, shell, url_params
from pages.parts.frame.option_row import say_unknown
from pages.parts.frame.page_text import say
from pages.parts.frame.progress import show_job
from pages.parts.frame.request import Request

Sweep = tuple[SweepResult | PromptEffects, pd.DataFrame | None]  # with the direct logit attribution
MAX_NAMED = 3  # beside the first
MAIN_ANSWER = 2  # times as large a change of one answer's logit as of the other's
HELP = (
    "Zero: the output is 0. Mean: its mean over the built-in sentences; a decoder's first token keeps its own. "
    "Resample: its output in a prompt with other names, so only what tells the prompts apart is lost."
)


def view(request: Request, record: AttentionRecord, model: Model) -> None:
    """Draw the controls, the work and its result."""
    with st.container(key="trying", horizontal=True, vertical_alignment="bottom", gap="medium"):
        outcome = shell.or_show_error(chosen_outcome, record, model)
        if outcome is None:
            return
        prompts = prompts_of(record, model, outcome)
        # Resampling comes first where names decide: the next word of a sentence, seldom its label.
        offered = METHODS if prompts and model.label_head is None else METHODS[::-1]
        method = chosen_method([each for each in offered if prompts or each != "resample"])

    def begin() -> Iterator[PartialResult[Sweep]]:
        parts = attribution(record, model, outcome, prompts)
        if prompts and (shipped := read_sweep(model, prompts, method)):
            yield PartialResult(1.0, model.n_layers * model.n_heads, (shipped, parts))
            return
        factor = None if method == "mean" else 0.0
        steps: Iterator[PartialResult[SweepResult]] | Iterator[PartialResult[PromptEffects]] = (
            sweep_prompts(prompts, model, method)
            if prompts
            else sweep_heads(record.tokens, model, outcome, factor=factor)
        )
        for step in steps:
            yield PartialResult(step.fraction, step.n, (step.result, parts))

    def draw(sweep: Sweep | None) -> None:
        if sweep is None:
            return
        (effects, parts), roles = sweep, roles_of(request)
        if isinstance(effects, PromptEffects):
            text, measure = prompts_text(effects, roles), effects.measure
        else:
            text, measure = sentence_text(effects, roles, method), effects.names[0]
        say(text, "finding")
        frame = effects.to_frame()
        if parts is not None and (agreement := agreement_text(parts, frame)):
            say(agreement)
        draw_effects(
            frame,
            request,
            measure=measure,
            title=f"Effect of {method} ablation",
            about=about(request, outcome=measure, ablation=method),
            lines=sweep_lines(request, outcome, method, prompts),
            link_of=partial(
                explore_link, request, pin=str(len(record.tokens) - 1) if model.next_head else ""
            ),
            attribution=parts,
        )

    with st.container(key="sweep"):
        show_job(
            ("every", *map(repr, (request.run, model.fingerprint, outcome, method))),
            begin,
            draw,
            unit=f"of {count_noun(model.n_layers * model.n_heads, 'head')} tried",
        )


def chosen_outcome(record: AttentionRecord, model: Model) -> Outcome:
    """Draw the boxes for the two words or labels; return their logit difference, or where the model predicts neither
    the embedding's cosine. Empty boxes: the words that the sentence is about, else the two likeliest."""
    if model.label_head is not None:
        names, is_softmax = model.label_head.names, model.label_head.scale == "softmax"
        labels = chosen_labels(names, "the likeliest", "the second" if is_softmax else "no label")
        return named_outcome(record, model, *labels)
    if model.next_head is None:
        return default_outcome(record.tokens, model)
    preset = presets.FOLLOWED.get(record.tokens.text, ("the likeliest", "the one after it"))
    st.session_state["word"] = url_params.params().get("word", "")
    word = st.text_input(
        "Word",
        key="word",
        placeholder=preset[0].strip(),
        width=150,
        on_change=lambda: url_params.change({"word": st.session_state["word"] or None}),
    )
    other = preset[1].strip() if not word or spaced(word, model) == preset[0] else "no word"
    rival = st.text_input("Against", key="rival", bind="query-params", placeholder=other, width=150)
    return named_outcome(record, model, word or "", rival or "")


def prompts_of(record: AttentionRecord, model: Model, outcome: Outcome) -> tuple[Prompt, ...]:
    """Return twelve prompts with other names; none where the sentence has no two names."""
    if not isinstance(outcome, LogitDifference) or record.tokens.pair:
        return ()
    return with_other_names(Prompt(record.tokens.text, outcome.target, outcome.against), model)


def chosen_method(offered: Sequence[Method]) -> Method:
    """Draw the choice of the ablation; return the one in the link, the first unless it is offered."""
    method = url_params.page_param("method", offered[0])
    say_unknown("method", offered, offered[0])
    st.session_state["sweep-method"] = method if method in offered else offered[0]
    chosen = st.segmented_control(
        "Ablation",
        offered,
        required=True,
        key="sweep-method",
        help=HELP,
        on_change=lambda: url_params.change({"method": st.session_state["sweep-method"]}),
    )
    return chosen or offered[0]


def attribution(
    record: AttentionRecord, model: Model, outcome: Outcome, prompts: Sequence[Prompt]
) -> pd.DataFrame | None:
    """Return the direct logit attribution of the outcome, averaged over prompts; None without a next word."""
    if model.next_head is None or not isinstance(outcome, LogitDifference):
        return None
    if prompts:
        return mean_attribution(prompts, model)
    return logit_attribution(record.tokens, model, outcome.target, outcome.against)


def agreement_text(parts: pd.DataFrame, effects: pd.DataFrame) -> str:
    """Correlate attribution with ablation effect over heads; "" until all are tried, or where either is constant."""
    heads = parts.merge(effects, on=["layer", "head"])
    r = heads["score"].corr(heads["effect"])
    if heads["effect"].isna().any() or pd.isna(r):
        return ""
    return (
        f"Attribution and ablation effect correlate at r = {number(r)} "
        f"(Pearson, n = {count_noun(len(heads), 'head')}). "
        "Ablation also changes what later heads write."
    )


def sentence_text(effects: SweepResult, roles: Mapping[Head, Role], method: Method) -> str:
    """Name the head that changes the outcome of one text most."""
    noun = "prompt" if len(effects.names) > 1 else "sentence"
    strongest = effects.strongest(1)
    if not strongest:
        return f"One {noun}: the {effects.names[0]} is {number(effects.before[0])}."
    layer, column = strongest[0][0]
    head = layer, column
    before, after = ([float(value) for value in side] for side in (effects.before, effects.numbers[head]))
    text = (
        f"Head {head_with_role(head, roles)} changes the {effects.names[0]} most: {number(before[0])} → "
        f"{number(after[0])} ({method} ablation, one {noun})."
    )
    if len(effects.names) > 1:
        text += f" `{visible_token(word_of(effects.names[1]))}` {change_text(before[1], after[1])}."
    return text


def prompts_text(effects: PromptEffects, roles: Mapping[Head, Role]) -> str:
    """Name the heads that matter over the prompts by resample ablation; by another one the largest effect."""
    mean, half, n, measure = effects.mean, effects.half_width(), len(effects.prompts), effects.measure
    if not np.isfinite(mean).any():
        return f"The {measure} is {number(effects.outcome)} (mean of {n} prompts with other names)."
    if effects.method != "resample":
        head = divmod(int(np.nan_to_num(np.abs(mean)).argmax()), mean.shape[1])
        verb = "matter" if len({prompt.answers for prompt in effects.prompts}) > 1 else "read the names"
        return (
            f"{effects.method.capitalize()} ablation of {head_with_role(head, roles)} changes the {measure} most: "
            f"{signed(mean[head])} ± {number(half[head])} (n = {n} prompts). "
            f"Resample ablation tells which heads {verb}."
        )
    if not effects.named:
        return f"No head's effect on the {measure} is clear of zero (n = {n} prompts)."
    first, *others = effects.named
    text = (
        f"Head {head_with_role(first, roles)} matters most: swapping in its output from another prompt changes the "
        f"{measure} by {signed(mean[first])} ± {number(half[first])} (n = {n} prompts).{answer_text(effects, first)}"
    )
    if not others:
        return text
    names = ", ".join(f"{head_name(head)} ({signed(mean[head])})" for head in others[:MAX_NAMED])
    return f"{text} Then {names}{f' and {len(others) - MAX_NAMED} more' * (len(others) > MAX_NAMED)}."


def answer_text(effects: PromptEffects, head: Head) -> str:
    """Name the answer that a head raises or lowers, where it changes mainly one of the two."""
    changes = dict(zip(effects.prompts[0].answers, effects.changes[:, head[0], head[1]].mean(0), strict=True))
    word = max(changes, key=lambda answer: abs(changes[answer]))
    others = [abs(change) for answer, change in changes.items() if answer != word]
    if not others or abs(changes[word]) < MAIN_ANSWER * others[0]:
        return ""
    return f" It {'lowers' if changes[word] > 0 else 'raises'} `{visible_token(word)}`."
