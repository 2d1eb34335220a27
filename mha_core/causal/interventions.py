"""Interventions on the heads of a run: frozen values, part of the run's name (`Run.interventions`).

They act in the order given. Heads are (layer, head), positions those of tokens, all from 0; a state is the residual
stream before a layer: 0 is the embedding, n_layers the last layer's output, before the final norm.

Sources: Michel et al. 2019, section 2.3, and Voita et al. 2019 for factors (gates); Meng et al. 2022 and Zhang &
Nanda 2023 for outputs and states from another run (patching). Zero is not a neutral value: later layers were trained
with the head's usual output, hence `MeanAblation`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.display_names import Head, count_noun, head_name
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.record.grid import check_heads, head_from_name
from mha_core.text.tokens import Tokens

MAX_FACTOR = 100.0  # larger factors show nothing new


@dataclass(frozen=True)
class ScaleHeads:
    """These heads' outputs times a factor: 0 ablates, 1 changes nothing, 2 doubles."""

    heads: tuple[Head, ...]
    factor: float = 0.0

    def __str__(self) -> str:
        return f"{_names(self.heads)} times {self.factor:g}"


@dataclass(frozen=True)
class MeanAblation:
    """These heads' outputs replaced by each head's mean output over the built-in sentences.

    A causal model keeps its first token's own output, which carries the attention sink (Xiao et al. 2023); the mean is
    then over the positions after the first.
    """

    heads: tuple[Head, ...]

    def __str__(self) -> str:
        return f"{_names(self.heads)} mean-ablated"


@dataclass(frozen=True)
class ReplaceAttention:
    """The weights of these heads replaced, in the row of the token `query` or in all rows.

    `to`: "uniform" over all visible tokens; the position of the only token attended to; or one number for every token,
    divided by their sum over the visible ones. With all rows, those that see none of it stay as they are.
    """

    heads: tuple[Head, ...]
    to: Literal["uniform"] | int | tuple[float, ...] = "uniform"
    query: int | None = None

    def __str__(self) -> str:
        where = "" if self.query is None else f" of token {self.query + 1}"
        return f"{_names(self.heads)} with other weights{where}"


@dataclass(frozen=True)
class PatchHeads:
    """These heads' outputs from a run of another text of as many tokens, at `positions` or all."""

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
    """States from a run of another text of as many tokens: `places` are (state, position)."""

    places: tuple[tuple[int, int], ...]
    text: str
    pair: str | None = None

    def __str__(self) -> str:
        return f"{count_noun(len(self.places), 'state')} taken over from '{self.text}'"


Intervention = ScaleHeads | MeanAblation | ReplaceAttention | PatchHeads | PatchStates


def _names(heads: Iterable[Head]) -> str:
    return ", ".join(map(head_name, heads))


def heads_from(text: str, n_layers: int, n_heads: int) -> tuple[Head, ...]:
    """Parse a list of heads, layers and heads from 1: "19-7,18-4". Each once, in the order given.

    Raises InputError for text that is no such list, and for heads that the model does not have.
    """
    if not isinstance(text, str):
        raise InputError(f"Heads are named in a string, such as '4-2,6-6', not {type(text).__name__}.")
    names = filter(None, re.split(r"[,\s]+", text))
    return tuple(dict.fromkeys(head_from_name(name, n_layers, n_heads) for name in names))


def check(interventions: Sequence[Intervention], tokens: Tokens, model: Model) -> None:
    """Raise InputError, in one sentence, for an intervention that is empty or does not fit this text and model."""
    for intervention in interventions:
        if isinstance(intervention, PatchStates):
            _check_places(intervention, tokens, model)
            continue
        if not intervention.heads:
            raise InputError("No head is named. Write layer and head counted from 1, such as 4-2.")
        check_heads(intervention.heads, model.n_layers, model.n_heads)
        if isinstance(intervention, ScaleHeads):
            check_factor(intervention.factor)
        elif isinstance(intervention, ReplaceAttention):
            _check_rows(intervention, len(tokens), model)
        elif isinstance(intervention, PatchHeads):
            if intervention.positions == ():
                raise InputError("No position is named. Count tokens from 0, or leave positions out for all.")
            _check_positions(intervention.positions or (), len(tokens))


def check_factor(factor: float) -> None:
    """Raise InputError for a factor that is not finite or beyond MAX_FACTOR."""
    if not math.isfinite(factor) or abs(factor) > MAX_FACTOR:
        raise InputError(f"The factor must be from {-MAX_FACTOR:g} to {MAX_FACTOR:g}, not {factor:g}.")


def same_length(source: Tokens, into: Tokens) -> None:
    """Raise InputError unless both texts have as many tokens: a patch goes to the position it comes from."""
    if len(source) != len(into):
        raise InputError(
            f"The text to take from has {count_noun(len(source), 'token')} and the other {len(into):,}; "
            "for patching both need the same number."
        )


def check_position(position: int, n: int) -> None:
    """Raise InputError for a position that a text of `n` tokens does not have."""
    if not 0 <= position < n:
        raise InputError(
            f"Unknown position {position}. The text has {count_noun(n, 'token')}, counted from 0."
        )


def _check_positions(positions: Iterable[int], n: int) -> None:
    for position in positions:
        check_position(position, n)


def _check_places(patch: PatchStates, tokens: Tokens, model: Model) -> None:
    if not patch.places:
        raise InputError("No state is named. Give (state, position), both counted from 0.")
    for state, _ in patch.places:
        if not 0 <= state <= model.n_layers:
            raise InputError(
                f"Unknown state {state}. {model.title} has {count_noun(model.n_layers, 'layer')}."
            )
    _check_positions((position for _, position in patch.places), len(tokens))


def _check_rows(edit: ReplaceAttention, n: int, model: Model) -> None:
    _check_positions(() if edit.query is None else (edit.query,), n)
    rows = slice(None) if edit.query is None else slice(edit.query, edit.query + 1)
    masks = {layer: model.info.visibility.in_layer(layer, n)[rows] for layer, _ in edit.heads}
    if isinstance(edit.to, tuple):
        if len(edit.to) != n:
            raise InputError(
                f"{count_noun(len(edit.to), 'number', ('was', 'were'))} given for a row of {count_noun(n, 'token')}."
            )
        in_sight = min(float((visible @ np.array(edit.to)).max()) for visible in masks.values())
        if not all(math.isfinite(number) and number >= 0 for number in edit.to) or not in_sight > 0:
            raise InputError("The numbers of a row must be 0 or more, and one that the token sees above 0.")
    elif isinstance(edit.to, int):
        _check_positions((edit.to,), n)
        blind = next((layer for layer, visible in masks.items() if not visible[:, edit.to].any()), None)
        if blind is not None:
            raise InputError(f"Token {edit.query} cannot see token {edit.to} in layer {blind + 1}.")
    elif edit.to != "uniform":
        raise InputError(f"Weights can be uniform, on one token, or numbers; '{str(edit.to)[:40]}' is none.")
