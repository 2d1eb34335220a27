"""Paths of the files that come with the program: beside the package in a checkout, inside it once it is installed.

In: a name inside `assets/`. Out: its path. A wheel holds the folders under `mha_core/web`, as the checkout has them.
"""

import json
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "web"


def home() -> Path:
    """Return the folder that holds app.py, pages and assets."""
    return INSTALLED if INSTALLED.is_dir() else PACKAGE.parent


def asset(*parts: str) -> Path:
    """Return the path of a file or folder in assets, which need not exist."""
    return home().joinpath("assets", *parts)


def builtin_texts() -> tuple[str, ...]:
    """Return the text of every built-in sentence."""
    rows = json.loads(asset("sentences.json").read_text(encoding="utf-8"))
    return tuple(str(row["text"]) for row in rows)
