"""Files that every tab needs and that never change: the picture's code and the typeface, under names with their digest.

In: nothing. Out: addresses relative to a page, and the files for the server, which lets browsers keep them for a year.
What lies here is read and hashed once a process; before, it went through every run of every page.
"""

import hashlib
import json
from functools import cache
from typing import NamedTuple

from mha_core.draw.bundle import bundle, style
from pages.parts.picture.fonts import FONTS, font_bytes

FOLDER = "shared"


class SharedFile(NamedTuple):
    """One file, and what kind it is."""

    content: bytes
    kind: str


@cache
def font_addresses() -> dict[str, str]:
    """The address of every file of the typeface, by its name."""
    return {name: _address(name, font_bytes(name)) for name in FONTS}


@cache
def library() -> bytes:
    """The picture's code with its style, which begins as soon as it is there."""
    begin = {"css": style() + style("experiment")}
    return (bundle("library") + f"module_js_library.default({json.dumps(begin)});\n").encode()


@cache
def library_address() -> str:
    """Where it is."""
    return _address("library.js", library())


@cache
def files() -> dict[str, SharedFile]:
    """Every file by its name in the folder."""
    fonts = {font_addresses()[name]: SharedFile(font_bytes(name), "font/woff2") for name in FONTS}
    found = {library_address(): SharedFile(library(), "text/javascript"), **fonts}
    return {address.rpartition("/")[2]: file for address, file in found.items()}


def _address(name: str, content: bytes) -> str:
    """Relative, so that it holds under whatever address the app is served."""
    stem, _, ending = name.rpartition(".")
    return f"./{FOLDER}/{stem}-{hashlib.blake2b(content, digest_size=6).hexdigest()}.{ending}"
