"""Figures for pages, slides and papers, drawn with Plotly: where heads look, and charts of numbers.

    from mha_core import load_model, trace
    record = trace("The cat sat because it was tired.", load_model("minilm"))
    record.plot("arcs", "4-2", "it", width_cm=12).write_html("arcs.html")

`figure` draws a grid, `record.plot` calls it; `.charts` draws tables. Plotly is imported with the first
figure.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mha_core.draw.figures.attention import figure

__all__ = ["figure"]


def __getattr__(name: str) -> Any:
    """Import Plotly when a figure is asked for, not with the colours."""
    if name != "figure":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mha_core.draw.figures.attention import figure

    return figure
