"""What a reader may do to the heads of a run: frozen values, part of the run's name (`Run.interventions`).

They act in the order in which they are given. Heads are (layer, head), positions those of tokens, all from 0; a state
is what stands before a layer: 0 is the embedding, n_layers what the last layer gives, before the final norm.

Sources: Michel et al. 2019, section 2.3, and Voita et al. 2019 for factors (gates); Meng et al. 2022 and Zhang &
Nanda 2023 for outputs and states taken over from another run (patching). Zero is not a neutral value: what is mixed
after a head was made with its usual output there, hence `MeanAblation` beside it.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.errors import InputError
from mha_core.grid import check_heads, head_from_name
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.wording import Head, counted, head_name

LARGEST = 100.0  # a factor beyond it says nothing that one below it does not


@dataclass(frozen=True)
class Factor:
    """What these heads mixed, times a factor: 0 takes them away, 1 leaves them, 2 doubles them."""

    heads: tuple[Head, ...]
    factor: float = 0.0

    def __str__(self) -> str:
        return f"{_names(self.heads)} times {self.factor:g}"


@dataclass(frozen=True)
class MeanAblation:
    """What these heads mixed, replaced by what each mixes on average over the built-in sentences.

    A causal model keeps its first token's own output, which carries the attention sink (Xiao et al. 2023); the mean is
    then over the positions after the first.
    """

    heads: tuple[Head, ...]

    def __str__(self) -> str:
        return f"{_names(self.heads)} mean-ablated"


@dataclass(frozen=True)
class Rows:
    """The weights of these heads replaced, in the row of the token `query` or in all rows.

    `to`: "uniform" over what a token can see; the position of the one token that is looked at; or one number for
    every token, divided by their sum over what the row can see. Among all rows, those that can see nothing of it stay
    as they are.
    """

    heads: tuple[Head, ...]
    to: Literal["uniform"] | int | tuple[float, ...] = "uniform"
    query: int | None = None

    def __str__(self) -> str:
        where = "" if self.query is None else f" of token {self.query + 1}"
        return f"{_names(self.heads)} with other weights{where}"


@dataclass(frozen=True)
class PatchHeads:
    """What these heads mixed, taken over from a run of another text of as many tokens, at `positions` or all."""

    heads: tuple[Head, ...]
    text: str
    pair: str | None = None
    positions: tuple[int, ...] | None = None

    def __str__(self) -> str:
        places = self.positions or ()
        tokens = f"token{'s' * (len(places) != 1)} {', '.join(str(place + 1) for place in places)}"
        where = "" if self.positions is None else f" at {tokens}"
        return f"{_names(self.heads)} taken over from '{self.text}'{where}"


@dataclass(frozen=True)
class PatchStates:
    """States taken over from a run of another text of as many tokens: `places` are (state, position)."""

    places: tuple[tuple[int, int], ...]
    text: str
    pair: str | None = None

    def __str__(self) -> str:
        return f"{counted(len(self.places), 'state')} taken over from '{self.text}'"


Intervention = Factor | MeanAblation | Rows | PatchHeads | PatchStates


def _names(heads: Iterable[Head]) -> str:
    return ", ".join(map(head_name, heads))


def heads_from(text: str, n_layers: int, n_heads: int) -> tuple[Head, ...]:
    """Heads as a person lists them, layers and heads from 1: "19-7,18-4". Each once, in the order given.

    Raises InputError for what is no such list, and for heads that are not there.
    """
    if not isinstance(text, str):
        raise InputError(f"Heads are named in a string, such as '4-2,6-6', not {type(text).__name__}.")
    found: dict[Head, None] = {}
    for part in filter(None, re.split(r"[,\s]+", text)):
        found[head_from_name(part, n_layers, n_heads)] = None
    return tuple(found)


def check(interventions: Sequence[Intervention], tokens: Tokens, model: Model) -> None:
    """Raise InputError, in one sentence, for an intervention of nothing, or one that this text and this model do not
    allow."""
    for one in interventions:
        if isinstance(one, PatchStates):
            _check_places(one, tokens, model)
            continue
        if not one.heads:
            raise InputError("No head is named. Write layer and head counted from 1, such as 4-2.")
        check_heads(one.heads, model.n_layers, model.n_heads)
        if isinstance(one, Factor):
            check_factor(one.factor)
        elif isinstance(one, Rows):
            _check_rows(one, len(tokens), model)
        elif isinstance(one, PatchHeads):
            if one.positions == ():
                raise InputError("No position is named. Count tokens from 0, or leave positions out for all.")
            _check_positions(one.positions or (), len(tokens))


def check_factor(factor: float) -> None:
    """Raise InputError for a factor that is no number or too large to mean anything."""
    if not math.isfinite(factor) or abs(factor) > LARGEST:
        raise InputError(f"The factor must be from {-LARGEST:g} to {LARGEST:g}, not {factor:g}.")


def same_length(source: Tokens, into: Tokens) -> None:
    """Raise InputError unless both texts have as many tokens: what is patched goes from place to same place."""
    if len(source) != len(into):
        raise InputError(
            f"The text to take from has {counted(len(source), 'token')} and the other {len(into):,}; "
            "for patching both need the same number."
        )


def check_position(position: int, n: int) -> None:
    """Raise InputError for a position that a text of `n` tokens has not."""
    if not 0 <= position < n:
        raise InputError(f"Unknown position {position}. The text has {counted(n, 'token')}, counted from 0.")


def _check_positions(positions: Iterable[int], n: int) -> None:
    for position in positions:
        check_position(position, n)


def _check_places(one: PatchStates, tokens: Tokens, model: Model) -> None:
    if not one.places:
        raise InputError("No state is named. Give (state, position), both counted from 0.")
    for state, _ in one.places:
        if not 0 <= state <= model.n_layers:
            raise InputError(f"Unknown state {state}. {model.title} has {counted(model.n_layers, 'layer')}.")
    _check_positions((position for _, position in one.places), len(tokens))


def _check_rows(one: Rows, n: int, model: Model) -> None:
    _check_positions(() if one.query is None else (one.query,), n)
    rows = slice(None) if one.query is None else slice(one.query, one.query + 1)
    masks = {layer: model.info.visibility.in_layer(layer, n)[rows] for layer, _ in one.heads}
    if isinstance(one.to, tuple):
        if len(one.to) != n:
            raise InputError(
                f"{counted(len(one.to), 'number', ('was', 'were'))} given for a row of {counted(n, 'token')}."
            )
        in_sight = min(float((visible @ np.array(one.to)).max()) for visible in masks.values())
        if not all(math.isfinite(number) and number >= 0 for number in one.to) or not in_sight > 0:
            raise InputError("The numbers of a row must be 0 or more, and one that the token sees above 0.")
    elif isinstance(one.to, int):
        _check_positions((one.to,), n)
        blind = next((layer for layer, visible in masks.items() if not visible[:, one.to].any()), None)
        if blind is not None:
            raise InputError(f"Token {one.query} cannot see token {one.to} in layer {blind + 1}.")
    elif one.to != "uniform":
        raise InputError(f"Weights can be uniform, on one token, or numbers; '{str(one.to)[:40]}' is none.")
