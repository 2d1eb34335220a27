"""Weights are not the whole story: what a weight moves, where it comes from, and what it does to a prediction.

In: tokens and a model. Out: for one measure an array (layer, head, query, key); the head axis is 1 where the heads of
a layer are mixed, the layer axis where the layers are mixed too. To add a measure: one file beside this one, and one
line in MEASURES.
"""

from dataclasses import dataclass

from mha_core.arrays import FloatArray
from mha_core.errors import InputError
from mha_core.heads.measures.base import Measure
from mha_core.heads.measures.block import BLOCK
from mha_core.heads.measures.gradient import GRADIENT
from mha_core.heads.measures.raw import RAW
from mha_core.heads.measures.rollout import ROLLOUT
from mha_core.heads.measures.value import VALUE
from mha_core.models.model import Model
from mha_core.text.tokens import Tokens

__all__ = ["BY_KEY", "MEASURES", "RAW", "VALUE", "Importance", "Measure", "available", "importance"]

# In the order of the switch; the first is what is drawn unless somebody asks for another.
MEASURES: tuple[Measure, ...] = (RAW, VALUE, BLOCK, ROLLOUT, GRADIENT)
BY_KEY = {measure.key: measure for measure in MEASURES}


@dataclass(frozen=True, eq=False)
class Importance:
    """One measure of a text: weights (layer, head, query, key)."""

    measure: Measure
    weights: FloatArray


def available(model: Model, tokens: Tokens | None = None) -> tuple[Measure, ...]:
    """The measures that this model can be asked for, of any text or of this one."""
    return tuple(each for each in MEASURES if each.flaw(model, tokens) is None)


def importance(tokens: Tokens, model: Model, key: str = RAW.key) -> Importance:
    """One measure of a text. Raises InputError where the model or the text does not allow it."""
    if key not in BY_KEY:
        raise InputError(f"Unknown measure {key!r}. Choose one of: {', '.join(BY_KEY)}.")
    flaw = BY_KEY[key].flaw(model, tokens)
    if flaw is not None:
        raise InputError(flaw)
    return Importance(BY_KEY[key], BY_KEY[key].compute(tokens, model))
