"""One head as a matrix
A row is the token that looks, a column the one that it looks at. Head 4-2 of MiniLM sends `it` to `animal`."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

record = trace("The animal didn't cross the street because it was too tired.", load_model())
figures = [figure(record.grid(), Design("matrix", heads=((3, 1),), width=12))]
