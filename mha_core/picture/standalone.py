"""The picture as one HTML page: code, style, typeface and numbers inside, nothing fetched.

In: a payload. Out: the page's text.
"""

import base64
import html
import json
import re
from typing import Any

import numpy as np

from mha_core.figures.colours import page as page_colours
from mha_core.figures.lettering import FACES, FOLDER, faces_for
from mha_core.picture.bundle import ASSETS, bundle, style

Payload = dict[str, Any]


def standalone_html(payload: Payload, *, title: str, link: str = "") -> str:
    """One file with the interactive view: code, style, font and numbers inside, nothing fetched.

    `link` is the address of the same view in the app; the file says it.
    """
    content = {
        "records": [portable(record) for record in payload["records"]],
        "view": portable(payload["view"] | {"n": 1, "selection": payload["selection"], "link": link}),
        "fonts": [
            [_base64((FOLDER / name).read_bytes()), FACES[name]] for name in faces_for(_written(payload))
        ],
        "css": style(),
    }
    data = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    page = (ASSETS / "js" / "standalone.html").read_text(encoding="utf-8")
    source = bundle("standalone").replace("</script", "<\\/script")
    parts = {"TITLE": html.escape(title), "DATA": data, "SOURCE": source}
    parts |= {"LIGHT": theme(dark=False), "DARK": theme(dark=True)}
    return re.sub("@@([A-Z]+)@@", lambda match: parts[match[1]], page)


def _written(payload: Payload) -> str:
    """The letters of all texts that are drawn."""
    drawn = (
        str(record.get(name, "")) for record in payload["records"] for name in ("title", "labels", "model")
    )
    return "".join((*drawn, *map(str, payload["view"].get("titles", ()))))


def theme(*, dark: bool) -> str:
    """The variables that the app's pages have from Streamlit's theme."""
    colours = page_colours(dark=dark)
    named = {"background": colours["paper"], "text": colours["ink"], "primary": colours["accent"]}
    return " ".join(f"--st-{name}-color: {colour};" for name, colour in named.items())


def portable(payload: Payload) -> Payload:
    """Numbers as base64 of their bytes, with their type."""
    return {
        name: {"type": value.dtype.name, "base64": _base64(np.ascontiguousarray(value).tobytes())}
        if isinstance(value, np.ndarray)
        else value
        for name, value in payload.items()
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
