"""Specification of a run: one frozen value from which all its numbers follow, and the key of their cache."""

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class RunSpec:
    """A text, or a pair of texts, through a model, trained or not, with or without interventions.

    Equal runs give equal numbers. `interventions` are frozen values, in the order in which they act. `part`: the
    attention of an encoder-decoder that is looked at; its `pair` is the decoder's text.
    """

    model: str
    text: str
    pair: str | None = None
    trained: bool = True
    interventions: tuple[Hashable, ...] = ()
    part: str = "encoder"
