"""The same head as arcs
Pinned to `it`: only what this word looks at is drawn. The stroke is as wide as the weight."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

record = trace("The animal didn't cross the street because it was too tired.", load_model())
grid = record.grid(words=True, specials="hidden")
figures = [figure(grid, Design("arcs", heads=((3, 1),), width=14), pins=grid.find("it"))]
