"""Where the files that come with the program lie: beside the package in a checkout, inside it once it is installed.

In: a name inside `assets/`. Out: its path. A wheel holds the folders under `mha_core/web`, as the checkout has them.
"""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "web"


def home() -> Path:
    """The folder that holds app.py, pages and assets."""
    return INSTALLED if INSTALLED.is_dir() else PACKAGE.parent


def asset(*parts: str) -> Path:
    """A file or folder in assets, whether it is there or not."""
    return home().joinpath("assets", *parts)
