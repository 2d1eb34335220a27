"""The picture as one HTML page: code, style, typeface and numbers inside, nothing fetched.

In: a payload. Out: the page's text.
"""

import base64
import html
import json
import re

import numpy as np

from mha_core.draw.bundle import ASSETS, bundle, style
from mha_core.draw.figures.colours import page as page_colours
from mha_core.draw.payload import Payload
from mha_core.resources import asset

FOLDER = asset("fonts")
FACES = {
    "headscope-latin.woff2": "U+0-FF, U+131, U+152-153, U+2000-206F, U+20AC, U+2122, U+2212",
    "headscope-latin-ext.woff2": "U+100-130, U+132-151, U+154-17F, U+218-21B, U+1E9E",
}


def standalone_html(payload: Payload, *, title: str, link: str = "") -> str:
    """Return one file with the interactive view: code, style, font and numbers inside, nothing fetched.

    `link` is the address of the same view in the app; the file says it.
    """
    content = picture_content(payload)
    content["view"]["link"] = link
    return filled(
        template(),
        TITLE=html.escape(title),
        FACES=typeface(_written(payload)),
        DATA=json_in_html(content),
        SOURCE=script_in_html(bundle("standalone")),
    )


def picture_content(payload: Payload) -> Payload:
    """Return a picture's records and view with its style, as JSON values."""
    return {
        "records": [portable(record) for record in payload["records"]],
        "view": portable(payload["view"] | {"n": 1, "selection": payload["selection"]}),
        "css": style(),
    }


def template() -> str:
    """Return the page with its colours, and with `@@NAME@@` in the places of title, typeface, data and script."""
    page = (ASSETS / "js" / "standalone.html").read_text(encoding="utf-8")
    return filled(page, LIGHT=theme(dark=False), DARK=theme(dark=True))


def filled(page: str, **parts: str) -> str:
    """Return a page with the parts that are given in the places of their names, `@@NAME@@`."""
    return re.sub("@@([A-Z]+)@@", lambda match: parts.get(match[1], match[0]), page)


def json_in_html(content: object) -> str:
    """Return JSON that can stand in a script element."""
    data = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def script_in_html(source: str) -> str:
    """Return a script that can stand in a script element."""
    return source.replace("</script", "<\\/script")


def _written(payload: Payload) -> str:
    """Return the letters of all texts that are drawn."""
    drawn = (
        str(record.get(name, "")) for record in payload["records"] for name in ("title", "labels", "model")
    )
    return "".join((*drawn, *map(str, payload["view"].get("titles", ()))))


def typeface(letters: str) -> str:
    """Return the faces that these letters need, as a style sheet with the files inside."""
    latin, extended = FACES
    files = [latin] + ([extended] if any("\u0100" <= letter <= "\u1e9e" for letter in letters) else [])
    return "".join(
        f"@font-face{{font-family:HeadScope;font-weight:400 650;unicode-range:{FACES[name]};"
        f"src:url(data:font/woff2;base64,{_base64((FOLDER / name).read_bytes())}) format('woff2')}}"
        for name in files
    )


def theme(*, dark: bool) -> str:
    """Return the CSS variables that the app's pages have from Streamlit's theme."""
    colours = page_colours(dark=dark)
    named = {"background": colours["paper"], "text": colours["ink"], "primary": colours["accent"]}
    return " ".join(f"--st-{name}-color: {colour};" for name, colour in named.items())


def portable(payload: Payload) -> Payload:
    """Return a payload with its arrays as base64 of their bytes, with their type."""
    return {
        name: {"type": value.dtype.name, "base64": _base64(np.ascontiguousarray(value).tobytes())}
        if isinstance(value, np.ndarray)
        else value
        for name, value in payload.items()
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
