"""The picture's script, style and font as the page and a file of its own take them.

In: a payload. Out: one HTML page with code, style, font and numbers inside, which fetches nothing.
"""

import base64
import html
import json
import re
from functools import cache
from typing import Any

import numpy as np

from pages.parts.picture import palette
from pages.parts.picture.bundle import ASSETS, bundle
from pages.parts.picture.fonts import FONTS, font_bytes

Payload = dict[str, Any]
# What the small mounts do once the library is there, which a tab fetches once; where that fails, it tries again.
STUB = """
const address = "@@ADDRESS@@";
const bring = (tries) => import(new URL(tries ? `${address}?again=${tries}` : address, document.baseURI).href).catch(
  () => setTimeout(() => bring(tries + 1), Math.min(500 * 2 ** tries, 10000)));
const ready = (go) => {
  if (globalThis.headscope) return go();
  (globalThis.headscopeWaiting ??= []).push(go);
  globalThis.headscopeComing ??= bring(0);
};
export default function (component) {
  const { rest, ...columns } = component.data;
  const data = { ...rest, ...columns };
  ready(() => globalThis.headscope.@@DOES@@);
  return () => globalThis.headscope?.unmount(component.parentElement);
}
"""


@cache
def style(name: str = "view") -> str:
    """A style sheet of assets/css/, the picture's unless another is named."""
    return (ASSETS / "css" / f"{name}.css").read_text(encoding="utf-8")


def standalone_html(payload: Payload, *, title: str, link: str = "") -> str:
    """One file with the interactive view: code, style, font and numbers inside, nothing fetched.

    `link` is the address of the same view in the app; the file says it.
    """
    content = {
        "records": [_portable(record) for record in payload["records"]],
        "view": _portable(payload["view"] | {"n": 1, "selection": payload["selection"], "link": link}),
        "fonts": [[_base64(font_bytes(name)), FONTS[name]] for name in FONTS],
        "css": style(),
    }
    data = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    page = (ASSETS / "js" / "standalone.html").read_text(encoding="utf-8")
    source = bundle("standalone").replace("</script", "<\\/script")
    parts = {"TITLE": html.escape(title), "DATA": data, "SOURCE": source}
    parts |= {"LIGHT": _theme(dark=False), "DARK": _theme(dark=True)}
    return re.sub("@@([A-Z]+)@@", lambda match: parts[match[1]], page)


def _theme(*, dark: bool) -> str:
    """The variables that the app's pages have from Streamlit's theme."""
    colours = palette.page(dark=dark)
    named = {"background": colours["paper"], "text": colours["ink"], "primary": colours["accent"]}
    return " ".join(f"--st-{name}-color: {colour};" for name, colour in named.items())


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
