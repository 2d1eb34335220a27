"""One head, two meanings
The classroom model has a head whose `it` moves with the last word: to the animal that is tired, to the street that is
wide."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

model, design = load_model("classroom"), Design("arcs", heads=((1, 2),), width=12)
figures = []
for word in ("tired", "wide"):
    record = trace(f"the animal did not cross the street because it was too {word} .", model)
    grid = record.grid(words=True)
    figures.append(figure(grid, design, pins=grid.find("it")))
