"""What a measure is: one way to say how much a token matters to another, with the words and traits that go with it.

A measure lives in one file of this folder and in one line of the registry (`measures/__init__.py`); pages, notices
and exports read everything else from here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.display_names import Per
from mha_core.models.hf import INSIDE, TransformersModel
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens


def nothing(model: Model) -> str | None:
    """For measures that hold for every model."""
    del model
    return None


def misses_nothing(tokens: Tokens, model: Model) -> str | None:
    """For measures that hold for every text."""
    del tokens, model
    return None


@dataclass(frozen=True)
class Measure:
    """One way to draw a text. `compute(tokens, model)` gives (layer, head, query, key); a size of 1 is an axis mixed.

    `label` stands in the switch, `drawn` completes "Shown: ...".
    `per`: what a picture belongs to, a head, a layer (its heads mixed) or the whole model (its layers, too).
    `lacks(model)`: why a model cannot be asked for it, in a sentence, or None; `misses(tokens, model)`: the same of a
    text. `baseline` completes "without any
    pattern ...".
    """

    key: str
    label: str
    drawn: str
    compute: Callable[[Tokens, Model], FloatArray]
    unit: str = "share of the row"
    baseline: str | None = "1 / n for each of n tokens"
    per: Per = "head"
    lacks: Callable[[Model], str | None] = nothing
    misses: Callable[[Tokens, Model], str | None] = misses_nothing

    def flaw(self, model: Model, tokens: Tokens | None = None) -> str | None:
        """Why a model, or it with this text, cannot be asked for it, in a sentence; None where it can."""
        if isinstance(model, TransformersModel):
            return INSIDE.format(model.title) if self.key != "raw" else None
        return self.lacks(model) or (None if tokens is None else self.misses(tokens, model))

    @property
    def per_head(self) -> bool:
        """Has every head a picture of its own?"""
        return self.per == "head"


def shares(rows: FloatArray) -> FloatArray:
    """Rows divided by their sums; a row of zeros stays one."""
    sums = rows.sum(axis=-1, keepdims=True)
    result: FloatArray = np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0)
    return result
