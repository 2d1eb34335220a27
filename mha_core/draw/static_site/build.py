"""Explore and Compare as a folder for any static host: the models are computed in the user's browser.

In: the models to offer beside the toy model, and sentences to open with. Out: a folder with the page, models.json (what
there is to load, with sizes and SHA-256 of every file), models/NAME/ (model.json, packed weights, the graph) and ONNX
Runtime; or the toy model's page as one file. The same bytes each time.
"""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from mha_core.draw.bundle import bundle
from mha_core.draw.static_site.graph import Arrays, attention_graph
from mha_core.draw.static_site.graph_llama import decoder_graph
from mha_core.draw.static_site.pack import pack
from mha_core.draw.static_site.page import TEXTS, page_html, service_worker
from mha_core.draw.static_site.single import single_html
from mha_core.draw.static_site.vocabulary import max_tokens, vocabulary
from mha_core.engine.rotary import frequencies
from mha_core.errors import InputError, Unavailable
from mha_core.models.checkpoint import check_digest
from mha_core.models.families.classroom import ClassroomConfig
from mha_core.models.families.llama import LlamaConfig
from mha_core.models.load import load_model
from mha_core.models.model import Model
from mha_core.models.model_list import CLASSROOM, DECODER, EMBEDDED
from mha_core.models.prediction import predict_next
from mha_core.models.trace import trace
from mha_core.resources import asset

CLASSIC = TEXTS[0]
TOY = "toy"
OFFERED = (EMBEDDED, DECODER)
LIST = "models.json"
WRITTEN = "written.json"  # every other file of the folder and its SHA-256: what may be replaced
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
    folder: str | os.PathLike[str],
    model: str | Model | Sequence[str | Model] | None = OFFERED,
    texts: Sequence[str] = (),
) -> Path:
    """Write Explore and Compare as a page that computes in the user's browser, for any static host.

    Args:
        folder: a new or empty folder, or one that holds only what this has written before; or a name that ends in
            .html, for one file with the toy model inside, which opens from a disk as well.
        model: a BERT, or a Llama of a GGUF file, by its name for `load_model` or loaded; or several of them, of which
            SmolLM2 is left out with a warning where it is not installed. None or "toy" offers the toy model alone.
        texts: the sentences that the page opens with, computed now; without them known ones.

    Returns the folder or file. Raises ModelError for another architecture, InputError for a folder with other files,
    an empty text, or another model than the toy in one file, Unavailable without the package onnx (the extra `static`).
    """
    place, toy = Path(folder), load_model(CLASSROOM, device="cpu")
    texts = texts or (TEXTS[:2] if model in (None, TOY) else TEXTS)
    if place.suffix == ".html":
        if model not in (None, TOY):
            raise InputError('One file holds the toy model alone: give model="toy".')
        place.write_text(toy_page(texts), encoding="utf-8")
        return place
    before = _own_files(place)
    written = _site_files(_offered(model) | {TOY: toy}, texts)
    written[WRITTEN] = _json({name: hashlib.sha256(content).hexdigest() for name, content in written.items()})
    for path in before:
        path.unlink()
        with suppress(OSError):  # its folder holds more, or something else
            path.parent.rmdir()
    for name, content in written.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def _offered(model: str | Model | Sequence[str | Model] | None) -> dict[str, Model]:
    """Return the models beside the toy model by the names of their folders."""
    models, names = dict[str, Model](), [model] if isinstance(model, str | Model) else list(model or ())
    for each in names:
        if each == TOY:
            continue
        try:
            offered = each if isinstance(each, Model) else load_model(each, device="cpu")
        except Unavailable as problem:
            if len(names) == 1 or each != DECODER:
                raise
            warnings.warn(f"The page has no SmolLM2: {problem}", stacklevel=3)
        else:
            models[_key(offered.name)] = offered
    return models


def _own_files(place: Path) -> list[Path]:
    """Return the files of a folder, which are all as this has written them. Raises InputError for another file."""
    if not place.exists():
        return []
    if not place.is_dir():
        raise InputError(f"'{place.name}' is a file. Name a folder, or a page that ends in .html.")
    try:
        known = json.loads((place / WRITTEN).read_bytes())
    except (OSError, ValueError):
        known = None
    known = known if isinstance(known, dict) else {}
    files = [path for path in sorted(place.rglob("*")) if path.is_symlink() or not path.is_dir()]
    for path in files:
        name = path.relative_to(place).as_posix()
        is_own = (name == WRITTEN and bool(known)) or (
            path.is_file() and not path.is_symlink() and name in known
        )
        if not is_own or (name in known and hashlib.sha256(path.read_bytes()).hexdigest() != known[name]):
            raise InputError(f"'{place.name}' holds {name}, which was not written here. Name a new folder.")
    return files


def _site_files(models: Mapping[str, Model], texts: Sequence[str]) -> Files:
    """Return all files of the folder by their names."""
    files = {name: model_files(name, each) for name, each in models.items()}
    runtime = {} if set(models) == {TOY} else _runtime()
    listed = {
        name: _listed(models[name], own | (runtime if name != TOY else {})) for name, own in files.items()
    }
    megabytes = {name: round(entry["bytes"] / 1e6) for name, entry in listed.items() if name != TOY}
    page = {
        "index.html": page_html(models, texts, megabytes).encode(),
        **{f"{entry}.js": bundle(f"static/{entry}").encode() for entry in ENTRIES},
        LIST: _json(listed),
    }
    of_models = {name: content for own in files.values() for name, content in own.items()}
    return page | {"sw.js": service_worker(page).encode()} | runtime | of_models


@cache
def _toy_files() -> Files:
    """Return the files of the toy model that the worker reads, where nothing is to be fetched."""
    toy = load_model(CLASSROOM, device="cpu")
    files = model_files(TOY, toy)
    return {LIST: _json({TOY: _listed(toy, files)}), **files}


def toy_page(texts: Sequence[str]) -> str:
    """Return the toy model's page as one file of HTML, see `static_site`. Raises InputError for an empty text."""
    return single_html(_toy_files(), {TOY: load_model(CLASSROOM, device="cpu")}, texts)


def _key(name: str) -> str:
    """Return a model's name as a folder of its own: letters, digits, points and hyphens."""
    key = re.sub(r"[^a-z0-9.-]+", "-", Path(name).name.lower()).strip(".-")
    return "model" if key in ("", TOY) else key


def _runtime() -> Files:
    """Return ONNX Runtime's files as the page names them; not .mjs, .gz, which some hosts serve as they should not."""
    for name, (_, digest) in RUNTIME.items():
        check_digest(asset("static", FOLDER, name), digest)
    return {
        f"{FOLDER}/{new}": asset("static", FOLDER, name).read_bytes() for name, (new, _) in RUNTIME.items()
    }


def model_files(name: str, model: Model) -> Files:
    """Return the files of one model that the page's worker reads, by their place in the folder."""
    home = f"models/{name}"
    family = model.config.model_type
    about, arrays, graph = (_toy if name == TOY else _llama if family == "llama" else _bert)(model)
    parts, stretches = pack(arrays)
    weights = {f"{home}/weights-{number}.bin": part for number, part in enumerate(parts)}
    about |= {
        "family": family,
        "layers": model.n_layers,
        "heads": model.n_heads,
        "bytes": sum(array.nbytes for array in arrays.values()),
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


def _llama(model: Model) -> tuple[dict[str, Any], Arrays, bytes]:
    """Return the sizes of its cache and the angles of its positions, its numbers and its graph."""
    graph, arrays = decoder_graph(model)
    config = cast(LlamaConfig, model.config)
    speeds = frequencies(config.d_k, config.theta, config.stretch).tolist()
    about = {"cached": [config.n_layers, 2 * config.n_kv_heads], "speeds": speeds}
    return about, arrays, graph.SerializeToString(deterministic=True)


def _toy(model: Model) -> tuple[dict[str, Any], Arrays, bytes]:
    """Return its sizes, and the matrices before the last weights; no graph, because plain JavaScript computes it."""
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
    """Return a sentence, one query's weights of every head, and a decoder's next token, which the page compares before
    it shows anything."""
    record = trace(CLASSIC, model)
    query = len(record.tokens) // 2
    rows = np.asarray(record.weights)[:, :, query].ravel()
    known = {"text": CLASSIC, "ids": list(record.tokens.ids), "query": query}
    if model.next_head is not None:
        known["next"] = predict_next(record.tokens, model, k=1)[0].id
    return known | {"rows": [round(float(weight), 7) for weight in rows]}


def _listed(model: Model, files: Files) -> dict[str, Any]:
    """Return a model's entry in models.json: title, sizes, and the files that the worker fetches, in order."""
    digests = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if name.startswith("models/") or name == WASM
    ]
    size = {"layers": model.n_layers, "heads": model.n_heads, "limit": max_tokens(model)}
    return {"title": model.title, **size, "bytes": sum(file["size"] for file in digests), "files": digests}


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
