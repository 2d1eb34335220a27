"""Beside the classroom's model: what it is, what it cannot do, its twin, and MiniLM with the same two sentences.

In: what is compared. Out: sentences and a table on the page; every number is of the records at hand.
"""

from dataclasses import replace
from typing import Any

import pandas as pd

from mha_core import Grid, HeadScopeError
from mha_core.compare import align, counterpart
from mha_core.heads.notices import unread
from mha_core.model_list import CLASSROOM, CLASSROOM_FOLDERS, EMBEDDED, TWIN
from mha_core.wording import Head, head_name
from pages.parts.explore.changes import HEAD
from pages.parts.explore.tables import table
from pages.parts.frame import presets
from pages.parts.frame.links import link_to
from pages.parts.frame.page_text import heading, markup, say
from pages.parts.frame.request import Request, models, title_of
from pages.parts.serve import cache

MODELS = (CLASSROOM, TWIN, EMBEDDED)
WHAT_IT_IS = (
    "Classroom was trained by this project, in minutes, on texts of one grammar with some 700 words. Its loss never "
    "sees attention. But it rewards this: where a noun was hidden after “because”, its pronoun was left standing 3 "
    "times in 10, and the noun had to be restored. It knows no other words and, of reference, one construction."
)
THE_TWIN = (
    "The twin learnt the same task on the same texts, but its first layer sees the whole sentence. It answers as well, "
    "and no head of it tells the noun that is meant from the other."
)
WHAT_IT_PROVES = (
    "The same task, the same texts, the same answers; in one model a head points at the right noun, in the other none "
    "does. A large weight shows where a head looks and what it can fetch there. It does not prove that the answer "
    "rests on it, and its absence does not prove that the model does not know. What a head is worth shows when "
    "it is gone."
)
WHY_MINILM = (
    "MiniLM was never asked who `it` is: it was trained to give texts of one meaning similar vectors, on other data, "
    "and is 60 times as large. No head of it moves from one noun to the other with so much of its attention."
)
UNKNOWN_WORDS = (
    "Classroom and its twin do not know all words of these two sentences: from their rows nothing follows."
)


def classroom(request: Request) -> None:
    """Under two sentences in a classroom model: the other models with the same two."""
    other = request.other
    if request.model not in CLASSROOM_FOLDERS or other is None or other.model != request.model:
        return
    heading("The same in other models")
    say(WHAT_IT_IS)
    pair = presets.minimal_pair(request.text, other.text)
    if pair is None or not pair.candidates:
        return
    rows = [row for model in MODELS if model in models() and (row := _row(request, other, model, pair))]
    first, second = pair.candidates
    names = ("Model", "Head", f"A: {first}", f"A: {second}", f"B: {first}", f"B: {second}")
    title = f"The head of each model that moves most from “{first}” to “{second}”: its attention from “{pair.word}”"
    say(f"{title}.", "label")
    table(pd.DataFrame(rows, columns=names), title, "same-pair", {"Head": HEAD})
    if any(unread(cache.record(side)) for side in (request, other)):
        say(UNKNOWN_WORDS)
    else:
        if TWIN in models():
            say(f"{THE_TWIN} {WHAT_IT_PROVES}")
        say(WHY_MINILM)
    links = ", ".join(
        f'<a href="{link_to("Compare", _link(request, other, model))}" target="_self">{title_of(model)}</a>'
        for model in MODELS
        if model != request.model and model in models()
    )
    markup(f"<p>Open this pair in {links}.</p>")


def _link(request: Request, other: Request, model: str) -> dict[str, str]:
    return {"text": request.text, "text2": other.text, "model": model, "against": "sentence"}


def _row(request: Request, other: Request, model: str, pair: presets.MinimalPair) -> tuple[Any, ...] | None:
    """The head that carries the word's attention furthest from the first candidate to the second; None where a model
    cannot be had or the word is not there."""
    sides = [
        replace(side, model=model, trained=True, unit="words", measure="raw") for side in (request, other)
    ]
    try:
        a, b = (cache.grid(side, cache.record(side)) for side in sides)
    except HeadScopeError:
        return None
    found = moved_most(a, b, pair)
    if found is None:
        return None
    head, masses = found
    return (
        title_of(model),
        link_to("Compare", {**_link(request, other, model), "head": head_name(head)}),
        *masses,
    )


def moved_most(a: Grid, b: Grid, pair: presets.MinimalPair) -> tuple[Head, tuple[float, ...]] | None:
    """The head whose smaller mass on the noun that is meant is largest, with its four masses."""
    pairs = align(a.labels, b.labels)
    places = [a.find(word) for word in (pair.word, *pair.candidates)]
    there = [counterpart(pairs, place[0]) if place else None for place in places]
    if not all(places) or None in there:
        return None
    query, first, second = (place[0] for place in places)
    query_b, first_b, second_b = there
    meant = (a.weights[:, :, query, first], b.weights[:, :, query_b, second_b])
    smaller = meant[0].clip(max=meant[1])
    layer, head = divmod(int(smaller.argmax()), smaller.shape[1])
    masses = (
        a.weights[layer, head, query, first], a.weights[layer, head, query, second],
        b.weights[layer, head, query_b, first_b], b.weights[layer, head, query_b, second_b],
    )  # fmt: skip
    return (layer, head), tuple(map(float, masses))
