"""The browser's side as text: all modules of assets/view/ as one, the style, the font, and a file of its own.

In: a payload. Out: one HTML page with code, style, font and numbers inside, which fetches nothing.
"""

import base64
import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

VIEW = Path(__file__).parents[3] / "assets" / "view"
MODULES = (
    "numbers", "words", "colour", "record", "geometry", "dom", "exports", "theme", "sentence", "sheet",
    "matrix", "lines", "table", "ranking", "menu", "explore", "duo", "compare", "view",
)  # fmt: skip
FONTS = {
    "headscope-latin.woff2": "U+0-FF, U+131, U+152-153, U+2000-206F, U+20AC, U+2122, U+2212",
    "headscope-latin-ext.woff2": "U+100-130, U+132-151, U+154-17F, U+218-21B, U+1E9E",
}

Payload = dict[str, Any]


@cache
def library_source() -> str:
    """All modules of assets/view/ as one: imports between them fall away, order is the order of use."""
    parts = []
    for name in MODULES:
        source = (VIEW / f"{name}.js").read_text(encoding="utf-8")
        source = re.sub(r"^import .*$\n?", "", source, flags=re.MULTILINE)
        source = re.sub(r"^export \{.*\};?$\n?", "", source, flags=re.MULTILINE)
        parts.append(
            re.sub(r"^export (?=async function|function|const|class|let)", "", source, flags=re.MULTILINE)
        )
    return "\n".join(parts)


@cache
def style() -> str:
    """The style sheet of the picture."""
    return (VIEW / "view.css").read_text(encoding="utf-8")


# What the library does when its mount brings style and font; what the small mounts do once it is there.
LIBRARY_ENTRY = """
export default function ({ data }) {
  if (globalThis.headscope?.css === data.css) return;
  const headscope = createHeadscope(data.css);
  headscope.css = data.css;
  globalThis.headscope = headscope;
  headscope.useFonts(data.faces.map(([name, range]) => ({ bytes: Uint8Array.from(column(data[name])).buffer, range })));
  for (const go of globalThis.headscopeWaiting?.splice(0) ?? []) go();
}
"""
STUB = """
const ready = (go) => (globalThis.headscope ? go() : (globalThis.headscopeWaiting ??= []).push(go));
export default function (component) {
  ready(() => globalThis.headscope.%s);
  return () => globalThis.headscope?.unmount(component.parentElement);
}
"""


def standalone_html(payload: Payload, *, title: str) -> str:
    """One file with the interactive view: code, style, font and numbers inside, nothing fetched."""
    content = {
        "records": [_portable(record) for record in payload["records"]],
        "view": _portable(payload["view"] | {"n": 1, "selection": payload["selection"]}),
        "fonts": [[_base64((VIEW / "fonts" / name).read_bytes()), FONTS[name]] for name in FONTS],
        "css": style(),
    }
    data = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    page = (VIEW / "standalone.html").read_text(encoding="utf-8")
    source = library_source() + (VIEW / "standalone.js").read_text(encoding="utf-8")
    parts = {"TITLE": html.escape(title), "DATA": data, "SOURCE": source.replace("</script", "<\\/script")}
    return re.sub("@@(TITLE|DATA|SOURCE)@@", lambda match: parts[match[1]], page)


def _portable(payload: Payload) -> Payload:
    """Numbers as base64 of their bytes, with their type."""
    return {
        name: {"type": value.dtype.name, "base64": _base64(np.ascontiguousarray(value).tobytes())}
        if isinstance(value, np.ndarray)
        else value
        for name, value in payload.items()
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
