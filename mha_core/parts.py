"""Part files: a share of a command's shards computed on its own, and added up to the result of all of them.

In: a command (roles, atlas), what it is run with, and shards. Out: a file for each part, written whole or not at all: a
zip archive and the SHA-256 of it. Its header says what was run and is the same for all parts; `read` what came of every
shard of this one. Whatever drives the parts (a shell, Slurm, Kubernetes, Ray) calls `compute_part`.
"""

import hashlib
import json
import os
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import mha_core
from mha_core.errors import InputError
from mha_core.heads.corpora import Lines, addresses, name_of
from mha_core.heads.corpora.reading import OnError
from mha_core.heads.survey import Options
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.visibility import Visibility

STATISTICS = {
    "roles": ("mha_core.heads.make", "RoleStatistics"),
    "atlas": ("mha_core.heads.atlas.statistics", "AtlasStatistics"),
}
DIGEST = hashlib.sha256().digest_size
HEADER = "header.json"
MOST_NAMED = 5
Row = dict[str, Any]


class Mergeable(Protocol):
    """Statistics of shards: `about` is what was run, `read` what came of every shard by its number."""

    about: Row
    read: dict[int, Row]
    lines: dict[int, Lines]

    def add(self, number: int, options: Options | None = None) -> None: ...

    def finish(self, *, options: Options | None = None) -> None: ...

    def merge(self, other: Any) -> None: ...

    def result(self) -> Any: ...

    def members(self) -> Iterator[tuple[str, bytes]]: ...

    def load(self, part: "Part") -> None: ...


@dataclass(frozen=True)
class Part:
    """A part file whose digest is right; `number` and `parts` count from 1."""

    path: Path
    about: Row
    number: int
    parts: int
    read: dict[int, Row]
    names: tuple[str, ...]

    def member(self, name: str) -> bytes:
        """Return what is in the file by this name."""
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(name)


def compute_part(
    command: str,
    options: Mapping[str, Any],
    shards: Sequence[str],
    part: int,
    parts: int,
    out: str | Path,
    *,
    resume: bool = False,
    survey: Options | None = None,
) -> Path | None:
    """Compute one part of the shards, every `parts`th from the `part`th on (from 1), and write it into a folder.

    `options`: "model" and what else load_model takes, and "on_error" ("refuse" or "skip" a broken line). All arguments
    but `survey` can be pickled. With `resume` a valid part of the same run and the same shards is left as it is.
    Returns the file, or None where `survey.stop` asked for a stop: then nothing is written.

    Raises InputError for shards that cannot be used and a folder that cannot be written to.
    """
    if not shards or not 1 <= part <= parts:
        raise InputError("Give shards, and a part from 1 up to the number of parts.")
    wanted = {"model": "minilm", "on_error": "refuse", **options}
    name, on_error = wanted.pop("model"), wanted.pop("on_error")
    model = load_model(name, **wanted)
    ours = range(part - 1, len(addresses(shards)), parts)
    start = _statistics(command).start
    found = start(model, shards, seed=wanted.get("seed", 0), on_error=on_error, numbers=ours)
    path = Path(out) / f"part-{part:05}-of-{parts:05}.zip"
    if resume and _is_done(path, found):
        return path
    survey = survey or Options()
    for number in ours:
        found.add(number, survey)
        if survey.stop and survey.stop():
            return None
    if part == 1:
        found.finish(options=survey)
        if survey.stop and survey.stop():
            return None
    write_part(found, part, parts, path)
    return path


def about_run(
    command: str, model: Model, shards: Sequence[str | Path], seed: int, on_error: OnError
) -> tuple[Row, list[str | Path]]:
    """Return what the header says of a run, the same for all its parts, and the files that its shards are."""
    files = addresses(shards)
    return {
        "command": command,
        "version": mha_core.__version__,
        "model": model.name,
        "digest": model.digest,
        "trained": bool(model.info.trained),
        "seed": None if model.info.trained else seed,
        "shape": [model.n_layers, model.n_heads],
        "is_causal": bool(model.info.is_causal),
        "windows": list(model.info.windows),
        "precision": str(model.dtype),
        "on_error": on_error,
        "shards": [name_of(one) for one in files],
    }, files


def visibility_of(about: Row) -> Visibility:
    """Return who sees whom in the model of a run."""
    return Visibility(about["is_causal"], tuple(about["windows"]))


def _statistics(command: str) -> Any:
    module, name = STATISTICS[command]
    return getattr(import_module(module), name)


def _is_done(path: Path, found: Mergeable) -> bool:
    """Whether a valid part of the same run stands there, of shards that are still the same."""
    try:
        there = read_part(path)
    except InputError:
        return False
    digests = {number: one["digest"] for number, one in there.read.items()}
    return there.about == found.about and digests == {
        number: lines.digest() for number, lines in found.lines.items()
    }


def write_part(found: Mergeable, part: int, parts: int, path: Path) -> None:
    """Write a part whole or not at all, so that a machine that stops leaves no half of it."""
    header = {"about": found.about, "part": part, "parts": parts, "read": found.read}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            with unfinished.open("x+b") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                    archive.writestr(HEADER, json.dumps(header))
                    for member, content in found.members():
                        archive.writestr(member, content)
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").digest()
                file.seek(0, os.SEEK_END)
                file.write(digest)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise InputError(f"'{path}' cannot be written: {problem.strerror or problem}.") from None


def read_part(path: Path) -> Part:
    """Return a part. Raises InputError, with its name, for a file that is damaged or no part."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END) - DIGEST
            file.seek(0)
            digest, left = hashlib.sha256(), max(size, 0)
            while left and (block := file.read(min(left, 1 << 20))):
                digest.update(block)
                left -= len(block)
            if size < 0 or file.read() != digest.digest():
                raise InputError(f"{path} is damaged; compute this part again.")
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(HEADER))
            names = tuple(archive.namelist())
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (zipfile.BadZipFile, KeyError, ValueError):
        raise InputError(f"{path} is no part file.") from None
    read = {int(number): one for number, one in header["read"].items()}
    return Part(path, header["about"], header["part"], header["parts"], read, names)


def merge_parts(folder: str | Path, say: Callable[[str], None] = lambda _: None) -> Any:
    """Add up all parts in a folder, and return the statistics: `result()` is a RoleTable or an Atlas.

    Raises InputError, with its name, for a part that is missing, damaged, or of another run. A part that is there twice
    counts once.
    """
    found, first, seen = None, None, set[int]()
    for path in sorted(Path(folder).glob("part-*.zip")):
        part = read_part(path)
        if found is None or first is None:
            if part.about["version"] != mha_core.__version__:
                raise InputError(
                    f"{path} is of version {part.about['version']}, and this is {mha_core.__version__}."
                )
            first, found = part, _statistics(part.about["command"])(part.about)
        elif (part.about, part.parts) != (first.about, first.parts):
            raise InputError(f"{path} is of another run than {first.path}: {_difference(part, first)}.")
        if part.number in seen:
            say(f"{path.name} is part {part.number} once more; it counts once.")
            continue
        seen.add(part.number)
        found.load(part)
    if found is None or first is None:
        raise InputError(f"There is no part file in {folder}.")
    if missing := sorted(set(range(1, first.parts + 1)) - seen):
        more = "" if len(missing) <= MOST_NAMED else f" and {len(missing) - MOST_NAMED} more"
        named = ", ".join(map(str, missing[:MOST_NAMED]))
        raise InputError(f"Of {first.parts} parts in {folder} these are missing: {named}{more}.")
    return found


def _difference(one: Part, other: Part) -> str:
    if one.parts != other.parts:
        return f"it is one of {one.parts} parts, not of {other.parts}"
    name = next(key for key in one.about if one.about[key] != other.about.get(key))
    return f"not the same {name.replace('_', ' ')}"


def pack(about: Any, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return plain values and arrays as the bytes of one .npz file."""
    file = BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    named: Any = {f"a.{name}": values for name, values in arrays.items()}
    np.savez(file, about=text, **named)
    return file.getvalue()


def unpack(data: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    """Return what `pack` was given."""
    with np.load(BytesIO(data), allow_pickle=False) as found:
        arrays = {name[2:]: found[name] for name in found.files if name != "about"}
        return json.loads(found["about"].tobytes()), arrays
