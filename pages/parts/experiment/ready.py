"""Ready experiments, one click each: a question, and an answer drawn from the numbers."""

import html

import streamlit as st

from pages.parts.experiment.answers import Answer
from pages.parts.experiment.frame import caveats
from pages.parts.experiment.trials import BY_KEY, TRIALS, Trial
from pages.parts.frame import shell, state
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import heading, markup, prose, quoted, say
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve.progress import work


def view(_request: Request) -> None:
    """The questions, and below them the chosen one with its answer."""
    chosen = state.params().get("ready", "")
    if chosen and chosen not in BY_KEY:
        say(f"There is no ready experiment {quoted(chosen)}; choose one.", "notice")
    with st.container(key="ready-questions", horizontal=True, gap="small"):
        for trial in TRIALS:
            now = trial.key == chosen
            st.button(
                trial.title,
                key=f"ready-{trial.key}",
                type="primary" if now else "secondary",
                help=trial.question,
                on_click=_open,
                args=(trial,),
            )
    if chosen in BY_KEY:
        _trial(BY_KEY[chosen])
    else:
        say("Each is one click: a question, the runs that answer it, and what came out.", "note")


def _open(trial: Trial) -> None:
    state.change({"ready": trial.key})


def _trial(trial: Trial) -> None:
    heading(trial.question)
    used = shell.or_show_error(cache.named_model, trial.model)
    if used is None:
        return
    say(f"{used.title}, {used.n_layers * used.n_heads} heads.", "label")
    work((f"ready-{trial.key}", used.fingerprint), lambda: trial.run(used), _show, unit="steps", one="step")
    caveats()


def _show(answer: Answer | None) -> None:
    if answer is None:
        return
    say(answer.said, "finding")
    markup(bars(answer))
    if answer.link:
        markup(
            f'<p class="hs-note"><a href="{html.escape(link_to("Experiment", answer.link))}">Switch these heads '
            "yourself</a></p>"
        )


def bars(answer: Answer) -> str:
    """The numbers as a table of bars from zero."""
    top = max(abs(bar.value) for bar in answer.bars) or 1.0
    rows = "".join(
        f'<tr><th scope="row">{prose(bar.name)}</th><td class="wide"><i style="width:{100 * abs(bar.value) / top:.2f}%"'
        f"{' class=less' if bar.value < 0 else ''}></i></td><td>{html.escape(bar.text)}</td></tr>"
        for bar in answer.bars
    )
    return (
        f'<div class="hs-scroll"><table class="answer"><caption>{prose(answer.note)}</caption>'
        f"<tbody>{rows}</tbody></table></div>"
    )
