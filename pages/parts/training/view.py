"""A part of the training page: choose, guess, start, watch, read the results.

In: the user's choices. Out: the page. One training runs at a time for all users; this page says how many wait.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from mha_core.display_names import count_noun
from mha_core.models.model_list import CLASSROOM, DECODER, TWIN
from mha_core.seeds import MAX_SEED
from mha_core.training.tasks import TEXT
from pages.parts.frame import url_params
from pages.parts.frame.links import link_to
from pages.parts.frame.option_row import follow_url, is_loose, loose, option_row, say_unknown
from pages.parts.frame.page_text import heading, markup, quoted, say
from pages.parts.frame.progress import tab_id, watch
from pages.parts.frame.request import models
from pages.parts.picture.tiles import show_text
from pages.parts.serve.jobs import Job
from pages.parts.training import after, boards, parts, pronoun_boards
from pages.parts.training.parts import Choice, Report
from pages.parts.training.training_jobs import TRAININGS, TrainingProgress, progress_of

TICK = 1.0  # seconds
WINDOWS = {"3 words": False, "whole sentence": True}
AGAIN = "tower lemon river candle horse silver garden winter "  # said twice: the same kind of text
QUESTIONS = {
    "jobs": f"Task: repeat, mirror or rotate {TEXT} random tokens; the first token says which. Models A and B have one "
    "layer and the same size, but different numbers of [[head|heads]].",
    "induction": "Task: predict random tokens that repeat. After the first copy, a model that finds the earlier token "
    "can predict the next one ([[induction]], Olsson et al. 2022).",
    "picture": "Textbooks show `it` looking at `animal` when the animal is tired, and at `street` when the street is "
    "wide. Will a head of this two-layer model learn that?",
}
REWARDED = (
    "The loss does not mention attention, but it rewards resolving `it`. Hidden nouns must be restored. In 3 of 10 "
    "cases only the pronoun is left."
)


def jobs_part() -> None:
    """Draw one head or four: three jobs in one stream."""
    with _choices("jobs"):
        left = option_row("Model A heads", parts.HEADS, "left", first=1)
        right = option_row("Model B heads", parts.HEADS, "right", first=4)
        seed, limit = seed_of(0), _limit(parts.LIMITS, 8_000, "limit")
        choice = parts.choice_of("jobs", (1, left), (1, right), seed, limit)
        names = choice.names()
        guess = _guess(
            f"Your guess: how accurate will the model with {names[0]} be?", tuple(parts.GUESSES), "guess"
        )
    if reports := _reports(choice):
        _show_verdict(
            parts.jobs_guess_text(guess, names[0], reports[0]),
            *map(parts.jobs_text, names, reports),
            parts.jobs_why(choice, reports),
        )
        after.take_away(choice, reports)
        after.downloads(choice, reports)


def induction_part() -> None:
    """Draw two heads that need each other: repeated random text."""
    with _choices("induction"):
        shallow = option_row("Model A layers", parts.LAYERS, "shallow", first=1)
        deep = option_row("Model B layers", parts.LAYERS, "deep", first=2)
        heads = option_row("Heads per layer", parts.HEADS, "each", first=4)
        seed, limit = seed_of(0), _limit(parts.UP_TO, 1_500, "upto")
        choice = parts.choice_of("induction", (shallow, heads), (deep, heads), seed, limit)
        names = choice.names()
        words = parts.expected_words(names)
        guess = _guess(
            "Your guess: which will learn it?", parts.EXPECTED, "expect", format_func=words.__getitem__
        )
    if reports := _reports(choice):
        _show_verdict(
            parts.induction_guess_text(guess, names, reports),
            *map(parts.induction_text, names, reports),
            *map(parts.roles_text, names, reports),
            parts.induction_why(choice, reports),
        )
        after.take_away(choice, reports)
        heading("Induction in SmolLM2")
        text = (AGAIN * 2).strip()
        links = {head: {"text": text, "model": DECODER, "head": head} for head in ("19-7", "18-4")}
        _show_links("SmolLM2 has induction heads too: see {} on repeated words.", "Explore", links, " and ")
        after.downloads(choice, reports)


def pronoun_part() -> None:
    """Draw a small model in which a head may learn what `it` stands for."""
    with _choices("picture"):
        window = st.segmented_control(
            "Layer 1 window",
            tuple(WINDOWS),
            default="3 words",
            required=True,
            key="window",
            bind="query-params",
        )
        settings = {"seed": seed_of(1), "twin": WINDOWS.get(window or "", False)}
        guess = _guess("Your guess: will one head learn it?", ("yes", "no"), "learns")
    job = training(
        "classroom",
        settings,
        "About four minutes.",
        lambda progress: pronoun_boards.live(progress.rows, progress.state),
    )
    if job is not None and job.finished and not job.problem:
        heading("Results")
        pronoun_boards.verdict(progress_of(job).state, guess)
        say(REWARDED)
    tired, wide = pronoun_boards.PAIR.texts
    pair = {"text": tired, "text2": wide, "against": "sentence"}
    names = {CLASSROOM: "the toy model", TWIN: "its control model"}
    links = {name: pair | {"model": model} for model, name in names.items() if model in models()}
    _show_links(
        "Already trained: compare the two sentences in {}.", "Compare", links, ", ", ' class="hs-why"'
    )


def _choices(part: str) -> Any:
    """Draw the question of a part; return the place for its choices."""
    show_text("training-question", QUESTIONS[part], style="big")
    return st.container(key="training-choices", horizontal=True, vertical_alignment="bottom", gap="medium")


def _guess(label: str, options: Sequence[str], key: str, **look: Any) -> str | None:
    guess: str | None = st.segmented_control(label, options, key=key, bind="query-params", **look)
    return guess


def _show_links(
    text: str, page: str, links: Mapping[str, Mapping[str, str]], between: str, look: str = ""
) -> None:
    """Write a sentence with links to a page in the place of {}, by their names."""
    shown = (f'<a href="{link_to(page, query)}" target="_self">{name}</a>' for name, query in links.items())
    markup(f"<p{look}>{text.format(between.join(shown))}</p>")


def seed_of(first: int) -> int:
    """Return the URL's seed, also after Back and from another part; else the first one of this part."""
    text = url_params.params().get("seed", "")
    known = re.fullmatch(r"[0-9]{1,10}", text) and int(text) <= MAX_SEED
    if text and not known:
        say(f"Unknown seed {quoted(text)} in the link. Showing “{first}”.", "notice")

    def write(seed: int) -> None:  # a browser's first message brings one that nobody has changed
        if str(seed) != url_params.params().get("seed", str(first)):
            url_params.change({"seed": str(seed)})

    seed = int(text) if known else first
    return int(
        follow_url(st.number_input, "Seed", "seed", seed, write, min_value=0, max_value=MAX_SEED, width=130)
    )


def _limit(options: Sequence[int], first: int, key: str) -> int:
    look: dict[str, Any] = {"width": 130, "format_func": str}
    if is_loose(key, options):
        say_unknown(key, options, first)
        return loose(st.selectbox, "Max steps", options, key, first, index=None, **look)
    chosen = st.selectbox("Max steps", options, options.index(first), key=key, bind="query-params", **look)
    return chosen if chosen in options else first


def _reports(choice: Choice) -> list[Report]:
    """Start, watch and stop it; return the reports once both models are trained, else nothing."""
    job = training("small", choice.settings, "Up to a minute.", partial(boards.live, choice))
    if job is None or not job.finished or job.problem:
        return []
    return [run["report"] for run in progress_of(job).state["runs"]]


def training(
    kind: str, settings: Mapping[str, Any], duration: str, draw: Callable[[TrainingProgress], None]
) -> Job[TrainingProgress] | None:
    """Draw the button, then a training's progress and pictures; None where this user has neither begun nor opened it.

    A run that others have finished is only offered.
    """
    TRAININGS.worker.warm()
    job = TRAININGS.begun(kind, settings, tab_id())
    others = job if job is not None and tab_id() not in job.last_seen else None
    job = None if others else job
    with st.container(key="training-progress"):
        if job is None or job.problem:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                start = (kind, settings, tab_id())
                st.button("Start", key="training-start", type="primary", on_click=TRAININGS.start, args=start)
                if others and others.finished and not others.problem:
                    show = (others, tab_id())
                    st.button("Show a finished run", key="training-show", on_click=TRAININGS.show, args=show)
            say(duration, "label")
        if job is not None:
            again = partial(TRAININGS.restart, kind, settings, tab_id())
            watch(TRAININGS.line, job, "training", _progress_text, partial(_draw, job, draw), TICK, again)
    return job


def _draw(job: Job[TrainingProgress], draw: Callable[[TrainingProgress], None]) -> None:
    progress = progress_of(job)
    if progress.rows:
        draw(progress)


def _progress_text(job: Job[TrainingProgress]) -> str:
    """Say in one sentence what a training does."""
    if not job.goes_on_for(tab_id()):
        return "Stopped."
    ahead = TRAININGS.line.ahead(job)
    if ahead:
        return f"{count_noun(ahead, 'training')} ahead of you …"
    return "Training …" if job.step else "Starting …"


def _show_verdict(*sentences: str) -> None:
    heading("Results")
    show_text("training-verdict", *filter(None, sentences), style="verdict")
