"""Files that every tab needs and that never change: the picture's code and the typeface, under names with their digest.

In: nothing. Out: addresses relative to a page, and the files for the server, which lets browsers keep them for a year.
What lies here is read and hashed once a process; before, it went through every run of every page.
"""

import hashlib
import json
from functools import cache
from typing import NamedTuple

from mha_core.picture.bundle import bundle, style
from pages.parts.picture.fonts import FONTS, font_bytes

FOLDER = "shared"
COMPONENTS = ("jobs",)  # those whose data change with a click: their code would travel with it each time
BRING = """
let coming;
const bring = (tries) => import(new URL(`@@ADDRESS@@${tries ? `?again=${tries}` : ""}`, document.baseURI).href).catch(
  () => new Promise((go) => setTimeout(go, Math.min(500 * 2 ** tries, 10000))).then(() => bring(tries + 1)));
export default function (component) {
  coming ??= bring(0);
  let left = false, leave;
  const said = component.data;
  const data = said instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(said)) : said;
  coming.then((module) => { if (!left) leave = module.default({ ...component, data }); });
  return () => { left = true; leave?.(); };
}
"""


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
    begin = {
        "css": style() + style("next") + style("experiment"),
        "faces": [[address, FONTS[name]] for name, address in font_addresses().items()],
    }
    return (bundle("library") + f"module_js_library.default({json.dumps(begin)});\n").encode()


@cache
def library_address() -> str:
    """Where it is."""
    return _address("library.js", library())


@cache
def brought(entry: str) -> str:
    """The script of a mount that fetches the component of that entry and hands it what it is given."""
    return BRING.replace("@@ADDRESS@@", _component(entry)[0])


@cache
def files() -> dict[str, SharedFile]:
    """Every file by its name in the folder."""
    fonts = {font_addresses()[name]: SharedFile(font_bytes(name), "font/woff2") for name in FONTS}
    found = {library_address(): SharedFile(library(), "text/javascript"), **fonts}
    for entry in COMPONENTS:
        address, script = _component(entry)
        found[address] = SharedFile(script, "text/javascript")
    return {address.rpartition("/")[2]: file for address, file in found.items()}


def _component(entry: str) -> tuple[str, bytes]:
    """Where the script of a component is, and the script."""
    script = bundle(entry).encode()
    return _address(f"{entry}.js", script), script


def _address(name: str, content: bytes) -> str:
    """Relative, so that it holds under whatever address the app is served."""
    stem, _, ending = name.rpartition(".")
    return f"./{FOLDER}/{stem}-{hashlib.blake2b(content, digest_size=6).hexdigest()}.{ending}"
