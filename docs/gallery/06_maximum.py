"""A whole layer in one panel
The largest weight of the twelve heads of layer 3, for every pair of words; its mean hides what one head does."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

grid = trace("The old dog chased the small cat.", load_model()).grid(words=True, specials="hidden")
layer = tuple((2, head) for head in range(12))
figures = [figure(grid, Design("matrix", heads=layer, mix=mix, width=8)) for mix in ("maximum", "mean")]
