"""The files of a model folder: which there are, how large they may be, what they hold, and their digests.

A folder may come from a stranger, so every file is looked at before it is read (a pipe or a device never ends), read up
to a limit, and whatever its reader raises becomes one sentence with its name. A folder that holds SHA256SUMS (the
output of `sha256sum`) is compared with it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as FastTokenizer

from mha_core.errors import HeadScopeError, ModelError
from mha_core.tokens import model_name

MOST_CONFIG = 1_000_000  # bytes of a config.json, and of the index of the weights below
MOST_INDEX = 10_000_000
MOST_TOKENIZER = 50_000_000
SUMS = "SHA256SUMS"
SUM = re.compile(r"\\?([0-9a-fA-F]{64}) [ *](.+)")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "tokenizer_config.json")


@contextmanager
def reading(folder: Path, what: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes a ModelError that names the file; a panic of the tokenizer library too,
    which is no Exception."""
    try:
        yield
    except (HeadScopeError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except OSError as problem:
        reason = problem.strerror or "the system gives no reason"
        raise ModelError(f"{what} of '{model_name(folder)}' cannot be read: {reason}.") from problem
    except BaseException as problem:
        said = ascii(str(problem).split("\n", 1)[0][:120])[1:-1].rstrip(".")
        raise ModelError(f"{what} of '{model_name(folder)}' cannot be read: {said}.") from problem


def check_file(path: Path, most: int) -> None:
    """Raise ModelError unless it is an ordinary file of no more bytes than that."""
    if not path.is_file():
        raise ModelError(f"{path.name} of '{model_name(path.parent)}' is no ordinary file.")
    size = path.stat().st_size
    if size > most:
        raise ModelError(
            f"{path.name} of '{model_name(path.parent)}' has {size:,} bytes; at most {most:,} are read."
        )


def read_json(path: Path, most: int = MOST_CONFIG) -> Any:
    """What a JSON file holds. Raises ModelError if it is too large, no ordinary file, or no JSON with single keys."""
    folder = path.parent
    with reading(folder, f"The {path.name}"):
        check_file(path, most)
        raw = path.read_bytes()
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=lambda pairs: _single(path, pairs))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, ModelError):
            raise
        raise ModelError(f"The {path.name} of '{model_name(folder)}' is damaged: it is not JSON.") from None


def _single(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ModelError(f"The {path.name} of '{model_name(path.parent)}' says {doubled[:60]!a} twice.")
    return found


def fast_tokenizer(folder: Path) -> FastTokenizer:
    """The tokenizer that tokenizer.json describes; proved on one word, for some flaws are seen only there."""
    path = folder / "tokenizer.json"
    check_file(path, MOST_TOKENIZER)
    fast = FastTokenizer.from_file(str(path))
    fast.encode("a b", add_special_tokens=False)
    return fast


def sha256(path: Path) -> str:
    """The SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests(folder: Path, weights: list[Path]) -> dict[str, str]:
    """The SHA-256 of every file that the model is made of, by name. Raises ModelError if SHA256SUMS says another."""
    index = folder / "model.safetensors.index.json"
    tokenizers = [folder / name for name in TOKENIZERS]
    if (folder / "tokenizer.json").is_file():
        tokenizers = tokenizers[:1]
    used = [folder / "config.json", *tokenizers, *([index] if len(weights) > 1 else []), *weights]
    with reading(folder, "A file"):
        found = {path.name: sha256(path) for path in used if path.is_file()}
    check_sums(folder, found)
    return dict(sorted(found.items()))


def has_sums(folder: Path) -> bool:
    """Whether the folder says which digests its files have."""
    return (folder / SUMS).exists()


def check_sums(folder: Path, found: Mapping[str, str]) -> None:
    """Raise ModelError if SHA256SUMS is there and names another digest, or a used file not at all."""
    path = folder / SUMS
    if not path.exists():
        return
    with reading(folder, f"The {SUMS}"):
        check_file(path, MOST_CONFIG)
        lines = path.read_text(encoding="utf-8").splitlines()
    matches = [SUM.fullmatch(line) for line in lines if line.strip()]
    sums = {match[2].removeprefix("./"): match[1].lower() for match in matches if match}
    if len(sums) != len(matches):
        raise ModelError(f"The {SUMS} of '{model_name(folder)}' is not what sha256sum writes.")
    for name, digest in found.items():
        if sums.get(name) != digest:
            said = "does not name it" if name not in sums else f"expects {sums[name][:12]}…"
            raise ModelError(
                f"{name} of '{model_name(folder)}' is not the file it should be (SHA-256 {digest[:12]}…; "
                f"{SUMS} {said})."
            )


def joint_digest(files: Mapping[str, str]) -> str:
    """One digest for all files: that of the lines that `sha256sum` writes for them in alphabetical order."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
