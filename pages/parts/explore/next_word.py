"""What the model predicts next: its ten likeliest tokens to click, and text generated token by token.

In: a request, its record and what is pinned. Out: Streamlit's own widgets under the picture; a click or a generated
token puts a longer text into the sentence box.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import streamlit as st

from mha_core import HeadScopeError, Model
from mha_core.display_names import count_noun, number, percent, visible
from mha_core.text.tokens import Token
from pages.parts.explore import lens, predictions
from pages.parts.frame import url_params
from pages.parts.frame.context import Context
from pages.parts.frame.page_text import heading, say, unmarked
from pages.parts.frame.request import Request
from pages.parts.serve import cache

LABELS_SHOWN = 5
MOST = 40  # tokens of one "Generate"
PACE = 0.2  # seconds that a reader sees a token before the next is asked for
WARMEST = 1.5
PROBLEM = "next-problem"  # why the last click was not taken
NEXT_TEXT = "generated-text"  # waits for the next run, in which the sentence box is not yet drawn


@dataclass
class Generation:
    """One reader's generating: whether it runs, how many tokens are left, `text` as it was generated last, `model` and
    whether its weights are trained, and what is said of how it ended."""

    running: bool = False
    left: int = 0
    text: str = ""
    model: tuple[str, bool] | None = None
    note: str = ""
    drawn: bool = False

    def start(self, text: str) -> None:
        self.running, self.left, self.text, self.note = True, MOST, text, ""

    def stop(self, note: str = "") -> None:
        self.running, self.note = False, note

    def pause(self) -> None:
        self.stop(f"Stopped after {self.length}.")

    @property
    def length(self) -> str:
        """The number of tokens so far, in words."""
        return count_noun(MOST - self.left, "token")


class Place(NamedTuple):
    """Where the next token is asked for: a piece's position, named as the reader sees it."""

    label: str
    position: int


def put_generated() -> None:
    """Put the text that was generated into the box; before the box is drawn."""
    text = st.session_state.pop(NEXT_TEXT, None)
    if text is not None:
        url_params.put(text)


def draw(context: Context) -> None:
    """Draw the predictions of the model under the picture; nothing for one that predicts no word."""
    model = context.model
    if model.next_head is not None:
        _next(context)
    elif model.masked_head is not None and model.tokenizer.mask_name:
        _masked(context.request, model)


def labels_text(context: Context) -> str:
    """Name the likeliest labels of a classifier with their probabilities, or a regression's outputs."""
    listed = [
        f"`{label.text}` {number(label.logit) if label.probability is None else chance(label.probability)}"
        for label in predictions.labels(context.request, context.model)
    ]
    rest = f" and {len(listed) - LABELS_SHOWN} more" if len(listed) > LABELS_SHOWN else ""
    return f"Label: {', '.join(listed[:LABELS_SHOWN])}{rest}."


def places(context: Context) -> list[Place]:
    """Return the end of the text, and after the last selected word unless it is the end."""
    end, pins = len(context.record.tokens) - 1, context.pins
    last = [context.grid.units[pin] for pin in pins[-1:] if context.grid.units[pin].pieces[-1] < end]
    return [
        Place("At the end", end),
        *(Place(f"After “{visible(unit.bare)}”", unit.pieces[-1]) for unit in last),
    ]


# ---- a decoder
def _next(context: Context) -> None:
    request, model, record = context.request, context.model, context.record
    generation = my_generation(request)
    heading("Next token")
    offered = places(context)
    place = offered[_choose_label([place.label for place in offered])]
    tokens = predictions.following(request, model, place.position)
    rest = record.tokens.pieces[place.position + 1 :]
    cut = record.tokens.text[: record.tokens.pieces[place.position].end]
    start = replace(request, text=cut) if rest else request
    _choices(
        "Click a token to append it" if not rest else "Click a token to go on from there",
        [(token.text, token.probability) for token in tokens],
        lambda number: replace(start, text=predictions.append(start, model, tokens[number].id).text),
        about=(request.text, place.position),
        help=_about(model),
    )
    if rest:
        say(f"The text goes on with “{visible(rest[0].text, spaces=True)}”.")
    _generate(request, model, generation)
    if generation.note and generation.text == request.text:
        say(generation.note, "notice")
    lens.draw(context, place.position)


def _choose_label(labels: Sequence[str]) -> int:
    """Draw a choice of places and return the number of the chosen one; nothing is drawn where there is one."""
    if len(labels) < 2:
        return 0
    chosen = st.segmented_control(
        "Where", labels, default=labels[0], required=True, label_visibility="collapsed"
    )
    return labels.index(chosen or labels[0])


def _about(model: Model) -> str:
    weights = "" if model.trained else " with random weights"
    return f"Predictions of {model.title}{weights}: likely, not true."


def _choices(
    label: str,
    offered: Sequence[tuple[str, float]],
    taken: Callable[[int], Request],
    *,
    about: tuple[str, int],
    help: str,
) -> None:
    """Tokens with their probabilities as buttons in a row; one that is pressed makes another text."""
    key = f"next-{hash(about)}"

    def take() -> None:
        number = st.session_state.get(key)
        if not isinstance(number, int) or not 0 <= number < len(offered):
            return
        st.session_state[key] = None
        try:
            longer = taken(number)
            url_params.put(longer.text, longer.pair or "")
        except HeadScopeError as error:
            st.session_state[PROBLEM] = str(error)

    names = [(unmarked(predictions.spelled_token(text)), chance(p)) for text, p in offered]
    st.pills(
        label,
        range(len(offered)),
        format_func=lambda number: " ".join(names[number]),
        key=key,
        help=help,
        on_change=take,
    )
    if problem := st.session_state.pop(PROBLEM, ""):
        say(problem, "problem")


def chance(probability: float) -> str:
    """A probability in percent; one that is too small for its decimal is not called none."""
    return "<0.1%" if 0 < probability < 0.0005 else percent(probability)


# ---- generating
def my_generation(request: Request) -> Generation:
    """This reader's generating; stopped where its model or its text was changed."""
    generation: Generation = st.session_state.setdefault("generation", Generation())
    model = request.model, request.trained
    if generation.model not in (None, model):
        generation.stop()
    elif generation.running and generation.text != request.text:
        generation.stop("Stopped: the text was changed.")
        generation.text = request.text
    generation.model = model
    return generation


def _generate(request: Request, model: Model, generation: Generation) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="generate"):
        st.button(
            "Stop" if generation.running else "Generate",
            key="generate-go",
            on_click=generation.pause if generation.running else generation.start,
            args=() if generation.running else (request.text,),
        )
        temperature = st.slider(
            "Temperature",
            0.0,
            WARMEST,
            0.0,
            0.1,
            key="temperature",
            bind="query-params",
            width=180,
            help="0: always the likeliest",
        )
        seed = 0
        if temperature:
            seed = int(st.number_input("Seed", 0, 9999, 0, key="sample-seed", bind="query-params", width=120))
    if generation.running:
        generation.drawn = False
        st.fragment(_advance, run_every=PACE)(request, model, temperature, seed)


def _advance(request: Request, model: Model, temperature: float, seed: int) -> None:
    """One token more. The run in which the text is drawn comes first; those after it go on."""
    generation = my_generation(request)
    if not generation.drawn:
        generation.drawn = True
        return
    if not generation.running:
        return
    try:
        st.session_state[NEXT_TEXT] = one_more(request, model, generation, temperature, seed)
    except HeadScopeError as error:
        generation.stop(str(error))
    st.rerun()


def one_more(request: Request, model: Model, generation: Generation, temperature: float, seed: int) -> str:
    """Return the text with the next token; the same where the model ends it there."""
    identity = predictions.chosen(request, model, temperature, seed)
    generation.text = request.text
    if model.tokenizer.is_special(identity):
        name = model.tokenizer.typed(identity)
        generation.stop(f"The text ends here, with {name}, after {generation.length}.")
        return request.text
    longer = predictions.append(request, model, identity)
    generation.text, generation.left = longer.text, generation.left - longer.n
    if generation.left <= 0:
        generation.pause()
    return longer.text


# ---- a masked model
def _masked(request: Request, model: Model) -> None:
    """Draw what the model would put in the place of a mask, or how to mask a word."""
    name = str(model.tokenizer.mask_name)
    heading("Masked words")
    masks = predictions.masks(request, model)
    if not masks:
        say(f"Type {name} in place of a word to see what {model.title} predicts there.")
        return
    number = _choose_label([f"{name} {number + 1}" for number in range(len(masks))])
    guesses = predictions.hidden_words(request, model)[number]
    _choices(
        f"Click a word to put it in place of {name}",
        guesses,
        lambda guess: with_word(request, model, masks[number], guesses[guess][0]),
        about=(f"{request.text}\n{request.pair}", number),
        help=_about(model),
    )


def with_word(request: Request, model: Model, piece: Token, name: str) -> Request:
    """Return the request with a word in place of a masked piece."""
    tokens = cache.record_from_weights(request.run, model).tokens
    before, after = tokens.text_of(piece.segment)[: piece.start], tokens.text_of(piece.segment)[piece.end :]
    mark = model.tokenizer.continuation
    if mark and name.startswith(mark):
        before, name = before.rstrip(), name.removeprefix(mark)
    if piece.segment:
        return replace(request, text=tokens.text, pair=before + name + after)
    return replace(request, text=before + name + after, pair=tokens.pair)
