"""What takes seconds to make is made once: for all processes of a run of the tests, or until its sources change."""

import hashlib
import pickle
import platform
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import distributions
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

T = TypeVar("T")
ROOT = Path(__file__).parent.parent
SOURCES = (
    ".py",
    ".json",
    ".toml",
    ".txt",
)  # of the engine, with the digests of the weights in it, and of its assets
LIBRARIES = ("torch", "numpy", "scipy", "tokenizers", "safetensors")
folder = Path()  # shared by all processes of the run; conftest.py says which
kept: Path | None = None  # pytest's cache, for what the next runs read too; None where there is none


def once(name: str, make: Callable[[], T], *, keep: bool = False, of: Iterable[Path] = ()) -> T:
    """The value of that name: made by the process that asks first, read by the others, which wait for it.

    With `keep` the next runs read it too, until a line of the engine, an asset, a library or one of the files it is
    made `of` besides is another.
    """
    files = tuple(of)
    begun = digest(files)
    where, stem = (kept, f"{name}-{AT_START}{begun}") if keep and kept else (folder, name)
    file = where / f"{stem}.pickle"
    with FileLock(where / f"{name}.lock"):
        if not file.exists():
            made = pickle.dumps(make())
            # Edited meanwhile: who can say what it is made of?
            if where is kept and (sources(), digest(files)) != (AT_START, begun):
                return pickle.loads(made)  # noqa: S301 - made here
            for older in where.glob(f"{name}-*.pickle"):
                older.unlink()
            file.with_suffix(".new").write_bytes(made)
            file.with_suffix(".new").replace(file)
        return pickle.loads(file.read_bytes())  # noqa: S301 - a run of the tests in this folder wrote it


def digest(files: tuple[Path, ...]) -> str:
    """Of what stands in these files, in their order; nothing for none."""
    contents = [hashlib.sha256(file.read_bytes()).digest() for file in files]
    return hashlib.sha256(b"".join(contents)).hexdigest()[:12] if files else ""


def sources(root: Path = ROOT) -> str:
    """A digest of what numbers depend on: the engine's files and assets, the libraries, Python and the machine."""
    libraries = [f"{found.name} {found.version}" for name in LIBRARIES for found in distributions(name=name)]
    found = hashlib.sha256(" ".join([sys.version, platform.machine(), *libraries]).encode())
    files = [file for part in ("mha_core", "assets") for file in (root / part).rglob("*")]
    for file in sorted(file for file in files if file.suffix in SOURCES):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        found.update(f"\n{file.relative_to(root).as_posix()} {content}".encode())
    return found.hexdigest()[:24]


AT_START = sources()  # before anything of the engine is imported
