"""Files that every tab needs and that never change: the picture's code and the typeface, under names with their digest.

In: nothing. Out: addresses relative to a page, and the files for the server, which lets browsers keep them for a year.
What lies here is read and hashed once a process; before, it went through every run of every page.
"""

import hashlib
import json
from functools import cache
from typing import NamedTuple

from mha_core.draw.bundle import bundle, style
from mha_core.draw.standalone import FACES
from mha_core.draw.standalone import FOLDER as FONT_FOLDER

FOLDER = "shared"


class SharedFile(NamedTuple):
    """One file, and what kind it is."""

    content: bytes
    kind: str


@cache
def font_addresses() -> dict[str, str]:
    """Return the address of every file of the typeface, by its name."""
    return {name: _address(name, (FONT_FOLDER / name).read_bytes()) for name in FACES}


@cache
def library() -> bytes:
    """Return the picture's code with its style, which begins once it is loaded."""
    begin = {"css": style() + style("experiment")}
    return (bundle("library") + f"module_js_library.default({json.dumps(begin)});\n").encode()


@cache
def library_address() -> str:
    """Return the library's address."""
    return _address("library.js", library())


@cache
def files() -> dict[str, SharedFile]:
    """Return every file by its name in the folder."""
    fonts = {
        font_addresses()[name]: SharedFile((FONT_FOLDER / name).read_bytes(), "font/woff2") for name in FACES
    }
    by_address = {library_address(): SharedFile(library(), "text/javascript"), **fonts}
    return {address.rpartition("/")[2]: file for address, file in by_address.items()}


def _address(name: str, content: bytes) -> str:
    """Return a relative address: it holds wherever the app is served."""
    stem, _, ending = name.rpartition(".")
    return f"./{FOLDER}/{stem}-{hashlib.blake2b(content, digest_size=6).hexdigest()}.{ending}"
