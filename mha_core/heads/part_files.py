"""Part files: a share of a command's shards computed on its own, and added up to the result of all of them.

In: a command (roles, atlas), what it is run with, and shards. Out: a file for each part, written whole or not at all: a
zip archive and the SHA-256 of it. Its header says what was run and is the same for all parts; `read` what came of every
shard of this one. Whatever drives the parts (a shell, Slurm, Kubernetes, Ray) calls `compute_part`.

Where baselines are fitted on all shards there are two rounds. The first writes `part-`, what heads did, and beside it
`cases-`, a small file of the cases to fit on. When all of these are there, the baselines are fitted, into `rules-`.
The second round counts each part by them, into `sums-`, a part of which nothing waits any more; these add up.
"""

import hashlib
import json
import os
import signal
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from multiprocessing import get_context
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
PART, CASES, RULES, SUMS = "part", "cases", "rules", "sums"  # of which kind a file is
DAMAGED = "is damaged; delete it, and run the command that wrote it again."
MAX_NAMED = 5
FORM = 4  # of a part file; parts of another are computed again
Row = dict[str, Any]
T = TypeVar("T")
Say = Callable[[str], None]
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class ShardStatistics:
    """Statistics of shards, a part of which can be computed anywhere.

    `about` says what was run, the same for all parts of it; `read` what came of every shard that was read, by its
    number; `lines` are the shards that can be added. `has_rules`: they are counted by rules that are fitted on all
    shards, in a second round.
    """

    command = ""
    has_rules = False
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
    def empty_files(files: Sequence[str | Path], on_error: OnError = "refuse") -> list[str]:
        """Return the names of files without a text, before any model is loaded. Raises InputError as `add`."""
        raise NotImplementedError

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

    def cases(self) -> Iterator[tuple[str, Any]]:
        """Yield what rules are fitted on, as `members`."""
        yield from ()

    def fit(self, files: Sequence["PartFile"]) -> Iterator[tuple[str, Any]]:
        """Yield the rules that are fitted on the cases of all parts, as `members`."""
        del files
        yield from ()

    def score(self, rules: "PartFile") -> None:
        """Count everything by the rules."""

    def load(self, part: "PartFile") -> None:
        """Add those of a part file."""
        self.read |= part.read

    def load_all(self, parts: Sequence["PartFile"]) -> None:
        """Add those of part files in which nothing waits for rules."""
        for part in parts:
            self.load(part.checked())

    def result(self) -> Any:
        """Return the result of all that was added."""
        raise NotImplementedError

    def save(self, path: str | Path, part: int = 1, parts: int = 1) -> None:
        """Write what was added, as one of the parts, and beside it the cases that rules are fitted on."""
        path, header = Path(path), {"about": self.about, "part": part, "parts": parts, "read": self.read}
        if self.has_rules:
            for kind in (SUMS, RULES):  # of what was here before
                _path(path.parent, kind, part, parts).unlink(missing_ok=True)
            write_file(_path(path.parent, CASES, part, parts), header, self.cases())
        write_file(path, header, self.members())


@dataclass(frozen=True)
class PartFile:
    """A file of a part, or of the rules of all; `digest`: the one at its end, which `checked` compares."""

    path: Path
    header: Row
    names: tuple[str, ...]
    digest: str

    @property
    def about(self) -> Row:
        """The options of the run."""
        about: Row = self.header["about"]
        return about

    @property
    def number(self) -> int:
        """The number of the part, from 1."""
        return int(self.header["part"])

    @property
    def parts(self) -> int:
        """The number of parts of the run."""
        return int(self.header["parts"])

    @property
    def read(self) -> dict[int, Row]:
        """Results of reading every shard, by its number."""
        return {int(number): shard for number, shard in self.header["read"].items()}

    def member(self, name: str, kind: type[T]) -> T:
        """Return what is in the file by this name, a dataclass."""
        with zipfile.ZipFile(self.path) as archive:
            return npz.from_bytes(kind, archive.read(name))

    def beside(self, kind: str, number: int | None = None) -> Path:
        """Return the path of a file of the same run, of this part or another."""
        return _path(self.path.parent, kind, number or self.number, self.parts)

    def checked(self) -> Self:
        """Return it. Raises InputError, with its name, where its bytes are not those that were written."""
        digest, left = hashlib.sha256(), self.path.stat().st_size - DIGEST
        with self.path.open("rb") as file:
            while left and (block := file.read(min(left, 1 << 20))):
                digest.update(block)
                left -= len(block)
        if digest.hexdigest() != self.digest:
            raise InputError(f"{self.path} {DAMAGED}")
        return self

    def of_run(self, other: "PartFile") -> Self:
        """Return it. Raises InputError, with its name, where it is of another run."""
        if (self.about, self.parts) != (other.about, other.parts):
            difference = f"it is one of {self.parts} parts, not of {other.parts}"
            if self.parts == other.parts:
                name = next(name for name, value in self.about.items() if value != other.about.get(name))
                difference = f"not the same {name.replace('_', ' ')}"
            raise InputError(f"{self.path} is of another run than {other.path}: {difference}.")
        return replace(
            self, header=self.header | {"about": other.about}
        )  # names of all shards: once for all parts


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
    say: Say = lambda _: None,
) -> Path | None:
    """Compute one part of the shards, every `parts`th from the `part`th on (from 1), and write it into a folder.

    `options`: "model" and what else load_model takes, and "on_error" ("refuse" or "skip" a broken line). All arguments
    but `survey` and `say`, which takes the notes, can be pickled. With `resume` a valid part of the same run and the
    same shards is left as it is. Where the first round of all parts is done, this part's second is done too.
    Returns the file, or None where `survey.stop` asked for a stop: then nothing is written.

    Raises InputError for shards that cannot be used and a folder that cannot be written to.
    """
    if not shards or not 1 <= part <= parts:
        raise InputError("Give shards, and a part from 1 up to the number of parts.")
    settings = {"model": "minilm", "on_error": "refuse", **options}
    name, on_error = settings.pop("model"), settings.pop("on_error")
    files = addresses(shards)
    numbers = range(part - 1, len(files), parts)
    statistics_of(command).empty_files(files[part - 1 :: parts], on_error)  # some may be empty, not broken
    model = load_model(name, **settings)
    statistics = statistics_of(command).start(
        model, shards, seed=settings.get("seed", 0), on_error=on_error, numbers=numbers
    )
    path, survey = _path(Path(out), PART, part, parts), survey or Options()
    if not (resume and _is_done(path, statistics)):
        steps = [partial(statistics.add, number, survey) for number in numbers]
        for step in [*steps, partial(statistics.finish, survey)] if part == 1 else steps:
            step()
            if survey.stop and survey.stop():
                return None
        for note in statistics.notes():
            say(note)
        statistics.save(path, part, parts)
    if statistics.has_rules and not _missing(path.parent, CASES, parts):
        score_part(path)
    return path


def visibility_of(about: Row) -> Visibility:
    """Return who sees whom in the model of a run."""
    return Visibility(about["is_causal"], tuple(about["windows"]))


def _path(folder: Path, kind: str, part: int, parts: int) -> Path:
    """Return the path of a file; there is one of the rules."""
    return folder / (f"{RULES}-of-{parts:05}.zip" if kind == RULES else f"{kind}-{part:05}-of-{parts:05}.zip")


def _missing(folder: Path, kind: str, parts: int) -> list[Path]:
    """Return the files of a kind that are not in a folder."""
    present = set(folder.iterdir())
    return [path for part in range(1, parts + 1) if (path := _path(folder, kind, part, parts)) not in present]


def statistics_of(command: str) -> type[ShardStatistics]:
    """Return the class of the statistics of a command."""
    module, name = STATISTICS[command]
    statistics: type[ShardStatistics] = getattr(import_module(module), name)
    return statistics


def _is_done(path: Path, statistics: ShardStatistics) -> bool:
    """Return whether a file is a valid part of the same run, of shards that are still the same."""
    try:
        part = read_file(path).checked()
    except InputError:
        return False
    digests = {number: shard["digest"] for number, shard in part.read.items()}
    is_same = digests == {number: lines.digest() for number, lines in statistics.lines.items()}
    return (
        part.about == statistics.about
        and is_same
        and (not statistics.has_rules or part.beside(CASES).exists())
    )


def write_file(path: Path, header: Row, members: Iterable[tuple[str, Any]]) -> None:
    """Write a file whole or not at all, so that a machine that stops leaves no half of it; equal content, equal
    bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            with unfinished.open("x+b") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                    _write_member(archive, HEADER, json.dumps(header).encode())
                    for member, content in members:
                        _write_member(archive, member, npz.to_bytes(content))
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


def _write_member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Write a member without the time of day, which `writestr` would write too."""
    with archive.open(name, "w", force_zip64=True) as member:
        member.write(content)


def read_file(path: Path) -> PartFile:
    """Return a file by its header. Raises InputError, with its name, for one that is no part file or not there."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) < DIGEST:
                raise InputError(f"{path} {DAMAGED}")
            digest = _digest_at_end(path)
            with zipfile.ZipFile(file) as archive:
                header, names = json.loads(archive.read(HEADER)), tuple(archive.namelist())
        return PartFile(path, header, names, digest)
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (zipfile.BadZipFile, KeyError, ValueError, zlib.error):
        raise InputError(f"{path} {DAMAGED}") from None


def _digest_at_end(path: Path) -> str:
    """Return the digest that a file ends with. Raises InputError, with its name, for one that cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(-DIGEST, os.SEEK_END)
            return file.read().hex()
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or problem}.") from None


def score_part(path: Path, rules: PartFile | None = None) -> Path:
    """Do the second round of a part, unless it is done, and return the file of its sums; the first round of all parts
    must be done. `rules`: those that are fitted on it, where they have been read.

    Raises InputError, with its name, for a file that is missing, damaged, or of other parts.
    """
    part = read_file(path)
    sums = part.beside(SUMS)
    if not sums.exists():
        rules = rules or fit_rules(part)
        statistics = statistics_of(part.about["command"])(part.about)
        statistics.load(part.checked())
        statistics.score(rules)
        header = part.header | {"of": part.digest, "rules": rules.digest}
        write_file(sums, header, statistics.members())
    return sums


def fit_rules(part: PartFile) -> PartFile:
    """Return the rules of the run of a part, fitted unless they are there.

    Raises InputError, with its name, for a file that is missing, damaged, or of other parts.
    """
    paths, path = [part.beside(CASES, number) for number in range(1, part.parts + 1)], part.beside(RULES)
    digests = [_digest_at_end(each) for each in paths]
    if not path.exists():
        statistics = statistics_of(part.about["command"])(part.about)
        files = [read_file(each).of_run(part).checked() for each in paths]
        header = {"about": part.about, "parts": part.parts, "of": digests}
        write_file(path, header, statistics.fit(files))
    rules = read_file(path).of_run(part).checked()
    if rules.header["of"] != digests:
        raise InputError(f"{path} was fitted on other parts than those beside it; delete it.")
    return rules


def merge_parts(
    folder: str | Path,
    say: Say = lambda _: None,
    *,
    workers: int = 1,
    done: Callable[[int, int], None] = lambda n, total: None,
) -> Any:
    """Add up all parts in a folder, and return the statistics: `result()` is a RoleTable or an Atlas.

    What is left of the second round is done in so many processes; `done` gets the number of parts that are counted of
    it, and of all.

    Raises InputError, with its name, for a file that is missing, damaged, or of another run. A part that is there twice
    counts once.
    """
    parts = find_parts(folder, say)
    statistics = statistics_of(parts[0].about["command"])(parts[0].about)
    if statistics.has_rules:
        rules = fit_rules(parts[0])
        left = [part.path for part in parts if not part.beside(SUMS).exists()]
        with _pool(min(workers, len(left))) as run:
            for n, _ in enumerate(run(partial(score_part, rules=rules), left), 1):
                done(n, len(left))
        parts = [_sums_of(part, rules) for part in parts]
    statistics.load_all(parts)
    return statistics


def _sums_of(part: PartFile, rules: PartFile) -> PartFile:
    """Return the sums of a part. Raises InputError where they are damaged, or of another part or other rules."""
    sums = read_file(part.beside(SUMS)).of_run(part).checked()
    if (sums.header["of"], sums.header["rules"]) != (part.digest, rules.digest):
        raise InputError(f"{sums.path} is of other parts than those beside it; delete it.")
    return sums


@contextmanager
def _pool(workers: int) -> Iterator[Run]:
    """Give the map of so many processes of one thread each; for one, that of this process."""
    if workers <= 1:
        yield map
        return
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"  # read by the processes as they begin
    pool = ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)
        os.environ.pop("OMP_NUM_THREADS")
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def find_parts(folder: str | Path, say: Say = lambda _: None) -> list[PartFile]:
    """Return all parts in a folder, each once.

    Raises InputError, with its name, for a part that is missing, of another run, or visibly damaged.
    """
    parts = dict[int, PartFile]()
    for path in sorted(Path(folder).glob(f"{PART}-*.zip")):
        part = read_file(path)
        if part.about.get("form") != FORM:
            raise InputError(f"{path} is of an older form; compute this part again.")
        if part.about["version"] != __version__:
            raise InputError(f"{path} is of version {part.about['version']}, and this is {__version__}.")
        if parts:
            part = part.of_run(next(iter(parts.values())))
        if part.number in parts:
            say(f"{path.name} is part {part.number} once more; it counts once.")
        parts.setdefault(part.number, part)
    if not parts:
        raise InputError(f"There is no part file in {folder}.")
    total = next(iter(parts.values())).parts
    if missing := sorted(set(range(1, total + 1)) - parts.keys()):
        more = "" if len(missing) <= MAX_NAMED else f" and {len(missing) - MAX_NAMED} more"
        names = ", ".join(map(str, missing[:MAX_NAMED]))
        raise InputError(f"Of {total} parts in {folder} these are missing: {names}{more}.")
    return [parts[number] for number in sorted(parts)]
