"""What was run: one frozen value from which everything that was computed follows, and the key it is kept by."""

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class RunSpec:
    """A text, or a pair of texts, through a model, trained or not, with or without interventions.

    Equal runs give equal numbers. `interventions` are frozen values, in the order in which they act. `part`: of an
    encoder-decoder, what is looked at; its `pair` is what the decoder reads.
    """

    model: str
    text: str
    pair: str | None = None
    trained: bool = True
    interventions: tuple[Hashable, ...] = ()
    part: str = "encoder"
