"""Figures for papers and slides, drawn as SVG from the weights alone: no browser, no screen.

In: a grid (layer, head, query, key) and a `Design`. Out: one SVG of a stated width, its typeface inside.

    from mha_core import load_model, trace
    from mha_core.figures import Design, figure
    grid = trace("The cat sat on the mat.", load_model("minilm")).grid()
    svg = figure(grid, Design("matrix", heads=((3, 1), (4, 6)), width=8.5))
    save(svg, "heads.pdf")
    save(all_heads(grid), "all.png")
"""

from mha_core.figures.caption import caption
from mha_core.figures.design import Design
from mha_core.figures.drawing import figure
from mha_core.figures.every_head import all_heads
from mha_core.figures.files import save
from mha_core.figures.panels import Panel, panels

__all__ = ["Design", "Panel", "all_heads", "caption", "figure", "panels", "save"]
