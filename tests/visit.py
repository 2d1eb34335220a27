"""A page opened without a browser, and what it drew read back: sentences, tables, pictures as NumPy arrays."""

import base64
import html
import io
import json
import re
import time
import zlib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import once
import pyarrow as pa
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from mha_core.heads import build_role_table
from mha_core.heads.questions import agreement
from mha_core.heads.survey import Options
from mha_core.heads.table import RoleTable
from mha_core.models.model import Model
from pages.parts.frame import head_facts as served

ROOT = Path(__file__).parent.parent
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
TWO = ("Maria gave the book to her sister.", "She had already read it twice.")
STEP = 1 / 65535
SENTENCES = build_role_table.read_builtin()

# Every new AppTest would look through all installed packages for components again, half a second each time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def small_table(model: Model, *, options: Options) -> RoleTable:
    """Return the table of a tenth of the built-in sentences, of a shipped model found once for the run."""

    def few() -> RoleTable:
        with pytest.MonkeyPatch.context() as patch:
            for module in (build_role_table, agreement):
                patch.setattr(module, "read_builtin", lambda: SENTENCES[::10])
            return build_role_table.find_roles(model, options=options)

    is_shipped = model.name == "minilm" or model.name.startswith("classroom")
    return once.once(f"roles-{model.name}-{model.trained}", few) if is_shipped else few()


served.find_roles = small_table


def unopened(page: str = "app.py", **query: str) -> AppTest:
    """A page under a link with these parameters, before its first run."""
    at = AppTest.from_file(str(ROOT / "pages" / "parts" / "main.py"), default_timeout=180)
    if page != "app.py":
        at.switch_page(f"../{page.removeprefix('pages/')}")
    for key, value in query.items():
        at.query_params[key] = value
    return at


def open_page(page: str = "app.py", **query: str) -> AppTest:
    """A page as the link with these parameters opens it."""
    return run(unopened(page, **query))


def run(at: AppTest) -> AppTest:
    """Run the page, which must not fail; nothing is found out about heads behind it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served, "MAX_UNASKED", 0)
        at.run()
    assert not at.exception, at.exception[0].message
    return at


def link(at: AppTest) -> dict[str, str]:
    """The address of the page as it is now; a parameter without a value counts as none."""
    params = {key: value[0] if isinstance(value, list) else value for key, value in at.query_params.items()}
    return {key: value for key, value in params.items() if value}


def bodies(at: AppTest) -> list[str]:
    """What is said on the page, paragraph by paragraph, also where several are one element."""
    texts = [e.proto.body for e in at.get("html") if not e.proto.body.startswith("<style")]
    rows = [(re.fullmatch(r'<div class="hs-together">(.*)</div>', text, re.DOTALL), text) for text in texts]
    return [part for row, text in rows for part in (re.split(r"\n(?=<)", row[1]) if row else [text])]


def said(at: AppTest, kind: str) -> list[str]:
    """The sentences of one kind on the page, as a reader sees them."""
    matches = [re.fullmatch(rf'<p class="hs-{kind}".*?>(.*)</p>', body, re.DOTALL) for body in bodies(at)]
    return [plain(match[1]) for match in matches if match]


def plain(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def asked_by_links(markup: str) -> list[dict[str, list[str]]]:
    """What every link asks for in its address."""
    return [parse_qs(urlsplit(html.unescape(to)).query) for to in re.findall(r'href="([^"]*)"', markup)]


def mounted(at: AppTest, component: str) -> list[dict[str, Any]]:
    """The data of every mounted component of that name, columns of numbers as arrays."""
    protos = [e.proto for e in at.get("bidi_component") if e.proto.component_name == f"headscope_{component}"]
    return [data_of(proto) for proto in protos]


def data_of(proto: Any) -> dict[str, Any]:
    """What a mounted component was given, columns of numbers as arrays."""
    if proto.bytes:
        return (opened if proto.component_name == "headscope_record" else json.loads)(proto.bytes)
    data = json.loads(proto.json or proto.mixed.json)
    data = data.pop("rest", {}) | data
    for name, value in data.items():
        if isinstance(value, dict) and len(value) == 1:
            (reference,) = value.values()
            if isinstance(reference, str) and reference in proto.mixed.arrow_blobs:
                with pa.ipc.open_stream(io.BytesIO(proto.mixed.arrow_blobs[reference].data)) as reader:
                    data[name] = reader.read_all().column(0).to_numpy()
    return data


def opened(record: bytes) -> dict[str, Any]:
    """A sealed record, read by the words of `pages.parts.picture.sealed`."""
    length, squeezed = np.frombuffer(record[:8], "<u4")
    soft, plain = zlib.decompress(record[8 : 8 + squeezed]), record[8 + squeezed :]
    text, high = json.loads(soft[:length]), soft[length:]
    for name, kind, size in text["columns"]:
        wide = 1 if kind == "uint16" else np.dtype(kind).itemsize
        first, plain = (
            np.frombuffer(plain[: size * wide], "u1" if kind == "uint16" else kind),
            plain[size * wide :],
        )
        if kind == "uint16":
            first, high = first + 256 * np.frombuffer(high[:size], "u1").astype("u2"), high[size:]
        text["rest"][name] = first
    return text["rest"]


def figures(at: AppTest) -> list[dict[str, Any]]:
    """Every Plotly figure of the page, as the browser reads it."""
    return [json.loads(element.proto.spec) for element in at.get("plotly_chart")]


def full_maps(at: AppTest, n: int = 1, first_layer: int = 0) -> list[dict[str, Any]]:
    """Every figure of the page once there are so many and the first map is filled from a layer on."""
    while (
        len(drawn := figures(run(at))) < n or np.isnan(numbers(drawn[0]["data"][0]["z"])[first_layer:]).any()
    ):
        time.sleep(0.05)
    return drawn


def numbers(column: Any) -> np.ndarray:
    """A column of a figure, which is a list or packed."""
    if isinstance(column, list):
        return np.array(column, float)
    values = np.frombuffer(base64.b64decode(column["bdata"]), column["dtype"])
    return values.reshape([int(n) for n in column["shape"].split(",")]) if "shape" in column else values


def shown_heads(column: Any) -> list[str]:
    """The heads that a column of links names, and leads to."""
    return [parse_qs(urlsplit(link).query)["head"][0] for link in column]


def roles_of(record: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What every head of a record does, as the browser reads it."""
    names = ("name", "kind", "colour")
    return {
        head: dict(zip(names, values, strict=True))
        for *values, heads, _ in record["roles"]
        for head in heads.split()
    }


def picture(at: AppTest) -> dict[str, Any]:
    (view,) = mounted(at, "view")
    return view


def drawn(at: AppTest, record: int = 0) -> np.ndarray:
    """The weights of a picture of a short text as they reach the browser: (layer, head, query, key)."""
    data = mounted(at, "record")[record]
    assert data["packing"] == "full"
    n = len(data["names"])
    return data["weights"].reshape(data["layers"], data["heads"], n, n) * STEP
