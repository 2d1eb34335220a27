"""Files of a model folder: checked before they are read, read up to a limit, compared with known digests.

A folder may come from a stranger. A pipe or a device never ends, so only ordinary files are opened; any error of a
file's reader becomes one sentence that names the file; weights are safetensors, never pickles, which can run any code.
A folder that holds SHA256SUMS (the output of `sha256sum`) is compared with it.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import safe_open
from tokenizers import Tokenizer as FastTokenizer
from torch import Tensor

from mha_core.errors import HeadScopeError, ModelError

MAX_CONFIG = 1_000_000  # bytes of a config.json, and of the files below
MAX_INDEX = 10_000_000
MAX_TOKENIZER = 50_000_000
SUMS = "SHA256SUMS"
SUM = re.compile(r"\\?([0-9a-fA-F]{64}) [ *](.+)")
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "tokenizer_config.json")
ADAPTER = "adapter_config.json"  # of the library peft
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def model_name(folder: Path) -> str:
    """Name the model in a folder; in the hub's cache the folder itself is named by a commit."""
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/")
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in folder.name)


@contextmanager
def reading(folder: Path, what: str) -> Iterator[None]:
    """Turn any error inside into a ModelError that names the file.

    The libraries that read files raise all sorts of errors, and a panic of tokenizers is no Exception.
    """
    try:
        yield
    except (HeadScopeError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except OSError as problem:
        reason = problem.strerror or "the system gives no reason"
        raise ModelError(f"{what} of '{model_name(folder)}' cannot be read: {reason}.") from problem
    except BaseException as problem:
        reason = ascii(str(problem).split("\n", 1)[0][:120])[1:-1].rstrip(".")
        raise ModelError(
            f"{what} of '{model_name(folder)}' is cut, damaged or of another kind: {reason}."
        ) from problem


def check_file(path: Path, max_bytes: int | None = None) -> None:
    """Raise ModelError unless it is an ordinary file of at most `max_bytes`."""
    if not path.is_file():
        raise ModelError(f"{path.name} of '{model_name(path.parent)}' is missing, or no ordinary file.")
    size = path.stat().st_size
    if max_bytes is not None and size > max_bytes:
        raise ModelError(
            f"{path.name} of '{model_name(path.parent)}' has {size:,} bytes; at most {max_bytes:,} are read."
        )


def read_json(path: Path, max_bytes: int = MAX_CONFIG) -> Any:
    """Read a JSON file. Raises ModelError if it is too large, no ordinary file, or no JSON with single keys."""

    def single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        ((name, times),) = Counter(name for name, _ in pairs).most_common(1) or [("", 0)]
        if times > 1:
            raise ModelError(f"The {path.name} of '{model_name(path.parent)}' says {name[:60]!a} twice.")
        return dict(pairs)

    with reading(path.parent, f"The {path.name}"):
        check_file(path, max_bytes)
        return json.loads(path.read_bytes().decode("utf-8"), object_pairs_hook=single)


def fast_tokenizer(folder: Path) -> FastTokenizer:
    """Read tokenizer.json and try it on a text, where some flaws show only."""
    path = folder / "tokenizer.json"
    check_file(path, MAX_TOKENIZER)
    fast = FastTokenizer.from_file(str(path))
    fast.encode("a b", add_special_tokens=False)
    return fast


def sha256(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_digest(path: Path, digest: str) -> None:
    """Raise ModelError unless the file is there and has this SHA-256."""
    if not path.is_file():
        raise ModelError(f"The model's file {path.name} is missing. Reinstall the model.")
    actual = sha256(path)
    if actual != digest:
        raise ModelError(
            f"The model's file {path.name} is not the one it should be (SHA-256 {actual[:12]}…, expected "
            f"{digest[:12]}…); reinstall the model."
        )


def check_sums(folder: Path, digests: Mapping[str, str]) -> None:
    """Raise ModelError if SHA256SUMS is there and has another digest for one of these files, or none."""
    path = folder / SUMS
    if not path.exists():
        return
    with reading(folder, f"The {SUMS}"):
        check_file(path, MAX_CONFIG)
        lines = path.read_text(encoding="utf-8").splitlines()
    matches = [SUM.fullmatch(line) for line in lines if line.strip()]
    sums = {match[2].removeprefix("./"): match[1].lower() for match in matches if match}
    if len(sums) != len(matches):
        raise ModelError(f"The {SUMS} of '{model_name(folder)}' is not what sha256sum writes.")
    for name, digest in digests.items():
        if sums.get(name) != digest:
            expected = "does not name it" if name not in sums else f"expects {sums[name][:12]}…"
            raise ModelError(
                f"{name} of '{model_name(folder)}' is not the file it should be (SHA-256 {digest[:12]}…; "
                f"{SUMS} {expected})."
            )


def joint_digest(files: Mapping[str, str]) -> str:
    """Return one digest for all files, of the lines that `sha256sum` writes for them in alphabetical order."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


class Folder:
    """A model in a folder: config.json, safetensors, and a tokenizer's files."""

    def __init__(self, path: Path) -> None:
        self.path, self.title = path, model_name(path)
        self.has_sums = (path / SUMS).exists()

    def settings(self) -> dict[str, Any]:
        """Read config.json. Raises ModelError if it is missing, damaged, or holds no settings."""
        if not (self.path / "config.json").exists() and (self.path / ADAPTER).is_file():
            raise ModelError(f"'{self.title}' is an adapter alone. {self.merge_text()}")
        if not (self.path / "config.json").exists():
            raise ModelError(f"'{self.title}' has no config.json, so it is not a model folder.")
        settings = read_json(self.path / "config.json")
        if not isinstance(settings, dict):
            raise ModelError(f"The config.json of '{self.title}' is damaged: it holds no settings.")
        return settings

    def adapter_text(self) -> str:
        """Say that an adapter in the folder, or one below, was not applied; "" without one."""
        names = [path.parent.name for path in sorted(self.path.glob(f"*/{ADAPTER}"))]
        if (self.path / ADAPTER).is_file():
            return f"The adapter in '{self.title}' was not applied to its base model. {self.merge_text()}"
        if names:
            where = Folder(self.path / names[0])
            return f"The adapter in '{self.title}/{where.title}' was not applied. {where.merge_text()}"
        return ""

    def merge_text(self) -> str:
        """Say how to merge the folder's adapter with its base model."""
        settings = read_json(self.path / ADAPTER)
        settings = settings if isinstance(settings, dict) else {}
        base = settings.get("base_model_name_or_path") or settings.get("model_name")
        base = ascii(base[:96])[1:-1] if isinstance(base, str) else ""
        named = f"Its base model is '{base}'. " if base else "It does not name its base model. "
        if "LORA" not in str(settings.get("peft_type", "LORA")).upper():
            return (
                f"{named}An adapter of type {ascii(str(settings['peft_type'])[:40])[1:-1]} cannot be merged."
            )
        return (
            f"{named}Merge them with peft: PeftModel.from_pretrained(base_model, {self.title!a})"
            ".merge_and_unload().save_pretrained(folder); then load that folder."
        )

    def weight_files(self) -> list[Path]:
        """List the safetensors files: one, or the shards that an index names. Raises ModelError for none."""
        if (self.path / WEIGHTS).is_file():
            return [self.path / WEIGHTS]
        if (self.path / INDEX).is_file():
            index = read_json(self.path / INDEX, MAX_INDEX)
            shards = index.get("weight_map") if isinstance(index, dict) else None
            if not isinstance(shards, dict) or not all(isinstance(s, str) for s in shards.values()):
                raise ModelError(f"The {INDEX} of '{self.title}' is damaged: it names no files.")
            return [self.path / Path(name).name for name in sorted(set(shards.values()))]
        if any(True for pattern in PICKLES for _ in self.path.glob(pattern)):
            raise ModelError(
                f"'{self.title}' holds its weights as a pickle, which can run any code when opened; only safetensors "
                f"are read (most models have a {WEIGHTS} as well)."
            )
        raise ModelError(f"'{self.title}' has no {WEIGHTS}; no other kind of weights is read.")

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the tensors of all weight files by name, mapped and not yet copied."""
        for path in self.weight_files():
            with reading(self.path, f"The {path.name}"):
                check_file(path)
                with safe_open(str(path), framework="pt") as file:
                    for name in file.keys():  # noqa: SIM118 - safe_open is no mapping
                        yield name, file.get_tensor(name)

    def digests(self, *, weights: bool) -> dict[str, str]:
        """Return the SHA-256 of every file needed, or of all but the weights, by name.

        Raises ModelError if SHA256SUMS has another.
        """
        tokenizers = TOKENIZERS[:1] if (self.path / TOKENIZERS[0]).is_file() else TOKENIZERS
        files = self.weight_files() if weights else []
        index = [INDEX] if len(files) > 1 else []
        needed = [*(self.path / name for name in ("config.json", *tokenizers, *index)), *files]
        with reading(self.path, "A file"):
            for path in (self.path / name for name in tokenizers):
                if path.is_file():
                    check_file(path, MAX_TOKENIZER)
            digests = {path.name: sha256(path) for path in needed if path.is_file()}
        check_sums(self.path, digests)
        return digests
