"""Explore and Compare as a folder for any static host: the models are computed in the reader's browser.

In: the model to offer beside the toy model, and sentences to open with. Out: a folder with the page, models.json (what
there is to load, with sizes and SHA-256 of every file), models/NAME/ (model.json, packed weights, the graph),
texts.json (the sentences as the page's worker would answer) and ONNX Runtime. The same bytes each time.
"""

import base64
import hashlib
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from mha_core.checkpoint import check_digest
from mha_core.errors import InputError
from mha_core.families.classroom import ClassroomConfig
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.model_list import CLASSROOM, EMBEDDED
from mha_core.picture.bundle import bundle
from mha_core.resources import asset
from mha_core.static_site.graph import Arrays, attention_graph
from mha_core.static_site.pack import pack
from mha_core.static_site.vocabulary import vocabulary
from mha_core.trace import trace

CLASSIC = "The animal didn't cross the street because it was too tired."
TOY = "toy"
LIST = "models.json"
ENTRIES = ("worker", "page")  # of assets/js/static
# ONNX Runtime 1.30.0 from npm, the build that computes on the processor alone; as the page names its files.
RUNTIME = {
    "ort.wasm.min.mjs": ("ort.js", "219e6a1fc8a9938268d18efca3c91d310bd2f4a59bbd13744df5b2b7fc6cee3b"),
    "ort-wasm-simd-threaded.mjs": (
        "threads.js",
        "e13f7f94fc51b4ca72b12faeb1ee95f4ace6dfbc8939bc718aabdc0a27c4299b",
    ),
    "ort-wasm-simd-threaded.wasm.gz": (
        "wasm.bin",
        "bf933930bc90cf4f613f36cdc41616b54cfd2e9930478b574aed6ed4ef9ff8ca",
    ),
    "LICENSE": ("LICENSE.txt", "2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c"),
    "ThirdPartyNotices.txt": (
        "ThirdPartyNotices.txt",
        "143764b952fdb1a7c69ce653bfba74a7744d6a8a573bfb73e235fba356c83de3",
    ),
}
FOLDER = "onnxruntime"
WASM = "onnxruntime/wasm.bin"

Files = dict[str, bytes]


def static_site(
    folder: str | os.PathLike[str], model: str | Model | None = EMBEDDED, texts: Sequence[str] = (CLASSIC,)
) -> Path:
    """Write Explore and Compare as a page that computes in the reader's browser, for any static host.

    Args:
        folder: a new or empty folder, or one that this has written before.
        model: a BERT, by its name for `load_model` or loaded; None offers the toy model alone.
        texts: the sentences that the page opens with, computed now.

    Returns the folder. Raises ModelError for another architecture, InputError for a folder with other files or a text
    that is empty, Unavailable without the package onnx (the extra `static`).
    """
    place = Path(folder)
    if place.exists() and not (place.is_dir() and (not any(place.iterdir()) or (place / LIST).is_file())):
        raise InputError(f"'{place.name}' holds other files. Name a new folder.")
    models = {TOY: load_model(CLASSROOM, device="cpu")}
    if model is not None:
        found = model if isinstance(model, Model) else load_model(model, device="cpu")
        models |= {_key(found.name): found}
    files = {name: _model_files(name, each) for name, each in models.items()}
    runtime = {} if model is None else _runtime()
    listed = {
        name: _listed(models[name], made | (runtime if name != TOY else {})) for name, made in files.items()
    }
    written = {
        LIST: _json(listed),
        "texts.json": _json([_answer(name, text, each) for text in texts for name, each in models.items()]),
        **runtime,
        **{name: content for made in files.values() for name, content in made.items()},
        **_scripts(),
    }
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(asset("static"), place, ignore=shutil.ignore_patterns(FOLDER))
    for name, content in written.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def _key(name: str) -> str:
    """A model's name as a folder: letters, digits, points and hyphens."""
    return re.sub(r"[^a-z0-9.-]+", "-", Path(name).name.lower()).strip(".-") or "model"


def _scripts() -> Files:
    """The page's modules, each with what it imports."""
    found = [entry for entry in ENTRIES if asset("js", "static", f"{entry}.js").is_file()]
    return {f"{entry}.js": bundle(f"static/{entry}").encode() for entry in found}


def _runtime() -> Files:
    """ONNX Runtime's files as the page names them; not .mjs, .gz, which some hosts serve as they should not."""
    for name, (_, digest) in RUNTIME.items():
        check_digest(asset("static", FOLDER, name), digest)
    return {
        f"{FOLDER}/{new}": asset("static", FOLDER, name).read_bytes() for name, (new, _) in RUNTIME.items()
    }


def _model_files(name: str, model: Model) -> Files:
    """What the page's worker reads of one model, by its place in the folder."""
    home = f"models/{name}"
    about, arrays, graph = _toy(model) if name == TOY else _bert(model)
    parts, stretches = pack(arrays)
    weights = {f"{home}/weights-{number}.bin": part for number, part in enumerate(parts)}
    about |= {
        "layers": model.n_layers,
        "heads": model.n_heads,
        "numbers": sum(array.size for array in arrays.values()),
        "parts": list(weights),
        "stretches": stretches,
        "vocabulary": vocabulary(model),
        "known": _known(model),
    }
    if graph:
        about |= {"graph": f"{home}/graph.onnx", "runtime": WASM}
        weights[about["graph"]] = graph
    return {f"{home}/model.json": _json(about), **weights}


def _bert(model: Model) -> tuple[dict[str, Any], Arrays, bytes]:
    graph, arrays = attention_graph(model)
    return {}, arrays, graph.SerializeToString(deterministic=True)


def _toy(model: Model) -> tuple[dict[str, Any], Arrays, bytes]:
    """Its sizes, and the matrices before the last weights; no graph, because plain JavaScript computes it."""
    config = cast(ClassroomConfig, model.config)
    sizes = {
        "width": config.d_model,
        "eps": config.norm_eps,
        "turning": config.turning,
        "theta": config.theta,
        "windows": config.windows,
    }
    after = re.compile(rf"norm\.|layers\.{config.n_layers - 1}\.(?!attention_norm|attention\.W_[qk])")
    state = model.encoder.state_dict()
    tensors = {name: tensor.float().cpu().numpy() for name, tensor in state.items() if not after.match(name)}
    return sizes, tensors, b""


def _known(model: Model) -> dict[str, Any]:
    """A sentence and what one query of every head must give, for the page to compare before it shows anything."""
    record = trace(CLASSIC, model)
    query = len(record.tokens) // 2
    rows = np.asarray(record.weights)[:, :, query].ravel()
    known = {"text": CLASSIC, "ids": list(record.tokens.ids), "query": query}
    return known | {"rows": [round(float(weight), 7) for weight in rows]}


def _listed(model: Model, files: Files) -> dict[str, Any]:
    """A model in models.json: what a reader chooses by, and the files that the worker fetches, in order."""
    digests = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if name.startswith("models/") or name == WASM
    ]
    size = {"layers": model.n_layers, "heads": model.n_heads, "limit": model.max_tokens}
    return {"title": model.title, **size, "bytes": sum(file["size"] for file in digests), "files": digests}


def _answer(name: str, text: str, model: Model) -> dict[str, Any]:
    """What the page's worker answers for a text; the weights are base64 of float32."""
    record = trace(text, model)
    tokens = record.tokens
    starts = (text.find(tokens.text), text.rfind(tokens.pair or ""))

    def place(segment: int, at: int) -> int:
        return len(text[: starts[segment] + at].encode("utf-16-le")) // 2

    pieces = [
        {
            "text": piece.text,
            "id": piece.id,
            "start": place(piece.segment, piece.start) if piece.end else 0,
            "end": place(piece.segment, piece.end) if piece.end else 0,
            "segment": piece.segment,
            "word": -1 if piece.word is None else piece.word,
            "special": int(piece.special),
            "mark": piece.mark,
        }
        for piece in tokens.pieces
    ]
    spans = [[place(i, 0), place(i, len(tokens.text_of(i)))] for i in range(1 if tokens.pair is None else 2)]
    weights = base64.b64encode(np.asarray(record.weights, "<f4").tobytes()).decode()
    size = {"layers": model.n_layers, "heads": model.n_heads, "cut": tokens.n_cut}
    return {"model": name, "text": text, "pieces": pieces, "spans": spans, "weights": weights, **size}


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
