"""How Sphinx builds the handbook: `make docs`. What is computed is computed first, by made.py beside this file."""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from made import make  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

import mha_core  # noqa: E402

PAGE = json.loads((HERE.parent / "assets" / "palette.json").read_text(encoding="utf-8"))["page"]


def _colours(name):
    """The project's own colours as those of the theme."""
    paper, ink, quiet, line, shade, accent = (
        PAGE[name][key] for key in ("paper", "ink", "quiet", "line", "shade", "accent")
    )
    return {
        "color-background-primary": paper,
        "color-background-secondary": shade,
        "color-background-border": line,
        "color-foreground-primary": ink,
        "color-foreground-secondary": quiet,
        "color-foreground-muted": quiet,
        "color-brand-primary": accent,
        "color-brand-content": accent,
        "color-brand-visited": accent,
        "font-stack": "HeadScope, Georgia, serif",
    }


project = "HeadScope"
version = release = mha_core.__version__
extensions = ["sphinx.ext.autodoc", "myst_parser"]
exclude_patterns = ["_made/parts"]
default_role = "code"
myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 2

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": False}
maximum_signature_line_length = 90
add_module_names = False

html_theme = "furo"
html_title = f"HeadScope {version}"
html_static_path = ["look", "../assets/fonts"]
html_css_files = ["handbook.css"]
html_favicon = "../assets/favicon.svg"
html_copy_source = False
html_show_copyright = False
html_theme_options = {"light_css_variables": _colours("light"), "dark_css_variables": _colours("dark")}


LOADED = re.compile(
    r"""(?:<(?:script|img|iframe)[^>]*\ssrc|<link[^>]*stylesheet[^>]*\shref)=["']?(?:https?:)?//"""
)


def _nothing_from_elsewhere(app, error):
    """A page that would load anything from another host ends the build."""
    if error is None:
        for page in sorted(Path(app.outdir).rglob("*.html")):
            if LOADED.search(page.read_text(encoding="utf-8")):
                raise ExtensionError(f"{page.name} loads something from another host.")


# Names that NumPy writes out.
LONG = (
    (re.compile(r"_Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]"), "ArrayLike"),
    (re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[([^\[\]]+)\]\]"), r"NDArray[\1]"),
)


def _short(app, what, name, item, options, signature, returns):
    """A signature with the short names of its types."""
    for pattern, name in LONG:
        signature, returns = (text and pattern.sub(name, text) for text in (signature, returns))
    return signature, returns


def setup(app):
    """Draw the figures, run the notebooks and list the commands before anything is read."""
    app.connect("builder-inited", lambda _: make(HERE, HERE / "_made"))
    app.connect("autodoc-process-signature", _short)
    app.connect("build-finished", _nothing_from_elsewhere)
