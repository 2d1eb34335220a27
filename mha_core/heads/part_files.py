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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Self, TypeVar

from mha_core import npz
from mha_core.engine.visibility import Visibility
from mha_core.errors import InputError
from mha_core.heads.corpora import Lines, addresses, name_of
from mha_core.heads.corpora.reading import OnError
from mha_core.heads.survey import Options
from mha_core.models.load import load_model
from mha_core.models.model import Model
from mha_core.version import __version__

STATISTICS = {
    "roles": ("mha_core.heads.build_role_table", "RoleStatistics"),
    "atlas": ("mha_core.heads.atlas.statistics", "AtlasStatistics"),
}
DIGEST = hashlib.sha256().digest_size
HEADER = "header.json"
MAX_NAMED = 5
FORM = 3  # of a part file; parts of another are computed again
Row = dict[str, Any]
T = TypeVar("T")


class ShardStatistics:
    """Statistics of shards, a part of which can be computed anywhere.

    `about` says what was run, the same for all parts of it; `read` what came of every shard that was read, by its
    number; `lines` are the shards that can be added.
    """

    command = ""
    model: Model  # of those that were started here

    def __init__(self, about: Row) -> None:
        self.about, self.read = about, dict[int, Row]()
        self.lines: dict[int, Lines] = {}

    @classmethod
    def start(
        cls,
        model: Model,
        shards: Sequence[str | Path] = (),
        *,
        seed: int = 0,
        on_error: OnError = "refuse",
        numbers: Iterable[int] | None = None,
    ) -> Self:
        """Return the statistics of no text yet.

        `shards`: paths, patterns, or addresses of fsspec. `numbers`: those that will be added, from 0; all without.
        `seed` is said of random weights. Raises InputError for files that are not there or cannot be used.
        """
        files = addresses(shards)
        about = {
            "form": FORM,
            "command": cls.command,
            "version": __version__,
            "model": model.name,
            "digest": model.digest,
            "trained": bool(model.info.trained),
            "seed": None if model.info.trained else seed,
            "shape": [model.n_layers, model.n_heads],
            "is_causal": bool(model.info.is_causal),
            "windows": list(model.info.windows),
            "precision": str(model.dtype),
            "on_error": on_error,
            "shards": [name_of(file) for file in files],
        }
        statistics = cls(about | cls.more_about(shards, files))
        statistics.model = model
        statistics.lines = {i: Lines(files[i]) for i in (range(len(files)) if numbers is None else numbers)}
        return statistics

    @staticmethod
    def more_about(shards: Sequence[str | Path], files: Sequence[str | Path]) -> Row:
        """Return what else the header says of shards as they were given, and of their files."""
        del shards, files
        return {}

    def add(self, number: int, options: Options | None = None) -> None:
        """Take in a shard by its number, from 0. Raises InputError for a file that cannot be used."""
        raise NotImplementedError

    def finish(self, options: Options | None = None) -> None:
        """Take in what belongs to no shard; part 1 does."""

    def merge(self, other: Self) -> None:
        """Add those of other shards."""
        self.read |= other.read

    def notes(self) -> Iterator[str]:
        """Yield what was left out of the shards, or is read otherwise than it stands there, a sentence each."""
        yield from ()

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield what a part file holds, dataclasses by name."""
        raise NotImplementedError

    def load(self, part: "PartFile") -> None:
        """Add those of a part file."""
        self.read |= part.read

    def result(self) -> Any:
        """Return the result of all that was added."""
        raise NotImplementedError

    def save(self, path: str | Path, part: int = 1, parts: int = 1) -> None:
        """Write what was added, as one of the parts."""
        write_part(self, part, parts, Path(path))


@dataclass(frozen=True)
class PartFile:
    """A part file whose digest is right; `number` and `parts` count from 1."""

    path: Path
    about: Row
    number: int
    parts: int
    read: dict[int, Row]
    names: tuple[str, ...]

    def member(self, name: str, kind: type[T]) -> T:
        """Return what is in the file by this name, a dataclass."""
        with zipfile.ZipFile(self.path) as archive:
            return npz.from_bytes(kind, archive.read(name))


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
    say: Callable[[str], None] = lambda _: None,
) -> Path | None:
    """Compute one part of the shards, every `parts`th from the `part`th on (from 1), and write it into a folder.

    `options`: "model" and what else load_model takes, and "on_error" ("refuse" or "skip" a broken line). All arguments
    but `survey` and `say`, which takes the notes, can be pickled. With `resume` a valid part of the same run and the
    same shards is left as it is.
    Returns the file, or None where `survey.stop` asked for a stop: then nothing is written.

    Raises InputError for shards that cannot be used and a folder that cannot be written to.
    """
    if not shards or not 1 <= part <= parts:
        raise InputError("Give shards, and a part from 1 up to the number of parts.")
    settings = {"model": "minilm", "on_error": "refuse", **options}
    name, on_error = settings.pop("model"), settings.pop("on_error")
    model, numbers = load_model(name, **settings), range(part - 1, len(addresses(shards)), parts)
    statistics = _statistics(command).start(
        model, shards, seed=settings.get("seed", 0), on_error=on_error, numbers=numbers
    )
    path = Path(out) / f"part-{part:05}-of-{parts:05}.zip"
    if resume and _is_done(path, statistics):
        return path
    survey = survey or Options()
    steps = [partial(statistics.add, number, survey) for number in numbers]
    for step in [*steps, partial(statistics.finish, survey)] if part == 1 else steps:
        step()
        if survey.stop and survey.stop():
            return None
    for note in statistics.notes():
        say(note)
    statistics.save(path, part, parts)
    return path


def visibility_of(about: Row) -> Visibility:
    """Return who sees whom in the model of a run."""
    return Visibility(about["is_causal"], tuple(about["windows"]))


def _statistics(command: str) -> type[ShardStatistics]:
    module, name = STATISTICS[command]
    statistics: type[ShardStatistics] = getattr(import_module(module), name)
    return statistics


def _is_done(path: Path, statistics: ShardStatistics) -> bool:
    """Return whether a file is a valid part of the same run, of shards that are still the same."""
    try:
        part = read_part(path)
    except InputError:
        return False
    digests = {number: shard["digest"] for number, shard in part.read.items()}
    is_same = digests == {number: lines.digest() for number, lines in statistics.lines.items()}
    return part.about == statistics.about and is_same


def write_part(statistics: ShardStatistics, part: int, parts: int, path: Path) -> None:
    """Write a part whole or not at all, so that a machine that stops leaves no half of it."""
    header = {"about": statistics.about, "part": part, "parts": parts, "read": statistics.read}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            with unfinished.open("x+b") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                    archive.writestr(HEADER, json.dumps(header))
                    for member, content in statistics.members():
                        archive.writestr(member, npz.to_bytes(content))
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


def read_part(path: Path) -> PartFile:
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
    read = {int(number): shard for number, shard in header["read"].items()}
    return PartFile(path, header["about"], header["part"], header["parts"], read, names)


def merge_parts(folder: str | Path, say: Callable[[str], None] = lambda _: None) -> Any:
    """Add up all parts in a folder, and return the statistics: `result()` is a RoleTable or an Atlas.

    Raises InputError, with its name, for a part that is missing, damaged, or of another run. A part that is there twice
    counts once.
    """
    statistics, first, numbers = None, None, set[int]()
    for path in sorted(Path(folder).glob("part-*.zip")):
        part = read_part(path)
        if statistics is None or first is None:
            if part.about.get("form") != FORM:
                raise InputError(f"{path} is of an older form; compute this part again.")
            if part.about["version"] != __version__:
                raise InputError(f"{path} is of version {part.about['version']}, and this is {__version__}.")
            first, statistics = part, _statistics(part.about["command"])(part.about)
        elif (part.about, part.parts) != (first.about, first.parts):
            raise InputError(f"{path} is of another run than {first.path}: {_difference(part, first)}.")
        if part.number in numbers:
            say(f"{path.name} is part {part.number} once more; it counts once.")
            continue
        numbers.add(part.number)
        statistics.load(part)
    if statistics is None or first is None:
        raise InputError(f"There is no part file in {folder}.")
    if missing := sorted(set(range(1, first.parts + 1)) - numbers):
        more = "" if len(missing) <= MAX_NAMED else f" and {len(missing) - MAX_NAMED} more"
        names = ", ".join(map(str, missing[:MAX_NAMED]))
        raise InputError(f"Of {first.parts} parts in {folder} these are missing: {names}{more}.")
    return statistics


def _difference(part: PartFile, other: PartFile) -> str:
    if part.parts != other.parts:
        return f"it is one of {part.parts} parts, not of {other.parts}"
    name = next(key for key in part.about if part.about[key] != other.about.get(key))
    return f"not the same {name.replace('_', ' ')}"
