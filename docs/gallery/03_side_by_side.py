"""Heads side by side
Three heads on one scale: one looks at the previous token, one at the next, one from a determiner to its noun."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

record = trace("The old dog chased the cat.", load_model())
heads = ((0, 2), (1, 8), (2, 8))
figures = [figure(record.grid(), Design("matrix", heads=heads, width=16, size=7))]
