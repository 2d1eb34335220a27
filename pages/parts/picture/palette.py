"""The colours of assets/palette.json as Python and CSS take them; assets/js/colour.js makes the same ramps of them.

In: light or dark. Out: CSS variables of the page, and the ramp of weights as a scale for Plotly.
"""

from mha_core.figures.colours import PALETTE, page, ramp

__all__ = ["PALETTE", "css_variables", "page", "weights_scale"]


def css_variables() -> str:
    """The page's colours as declarations that follow the reader's scheme."""
    light, dark = page(dark=False), page(dark=True)
    return " ".join(f"--{name}: light-dark({light[name]}, {dark[name]});" for name in light)


def weights_scale(*, dark: bool, steps: int = 16) -> list[tuple[float, str]]:
    """Plotly's colour scale from paper at 0 to the ramp's end at 1, as (place, colour)."""
    places = [i / steps for i in range(steps + 1)]
    colours = ramp(places, page(dark=dark)["paper"], dark=dark)
    return [
        (t, f"rgb({red}, {green}, {blue})") for t, (red, green, blue) in zip(places, colours, strict=True)
    ]
