"""All heads at once
A row a layer, a column a head. This small picture is what a notebook shows for a record."""

from mha_core import load_model, trace
from mha_core.summary import heads_svg

record = trace("The cat sat on the mat because it was tired.", load_model())
figures = [heads_svg(record.grid())]
