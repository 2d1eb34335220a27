"""Two lines of tokens
The tokens that look stand on the left, those looked at on the right."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

grid = trace("She poured the water.", load_model()).grid()
figures = [figure(grid, Design("lines", heads=((2, 8), (2, 0)), width=14))]
