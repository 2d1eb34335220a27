"""One word in the heads that rank highest
`rank` finds the heads with the largest weight from `it` to `cat`; the bars show the whole row of each."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

record = trace("The cat sat on the mat because it was tired.", load_model())
best = tuple((one.layer, one.head) for one in record.rank("it", "cat")[:3])
grid = record.grid(words=True)
figures = [figure(grid, Design("bars", heads=best, width=15), pins=grid.find("it"))]
