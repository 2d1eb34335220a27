"""The verdicts on real text that come with the program: read in milliseconds, without a model and without a corpus.

In: assets/evidence/<model>.json.gz, which `make evidence` writes. Out: `Verdicts`, or None where the file is not that
of these weights.
"""

import gzip
import json
from functools import lru_cache
from pathlib import Path

from mha_core.heads.verdicts.table import Verdicts, packed, unpacked
from mha_core.resources import asset


def evidence_file(model: str) -> Path:
    """Where the verdicts on a model stand."""
    return asset("evidence", f"{model.rsplit('/', 1)[-1]}.json.gz")


def read_evidence(model: str, digest: str | None = None) -> Verdicts | None:
    """The verdicts on a model by its name on the shelf; None if there are none, or not for weights with this digest."""
    path = evidence_file(model)
    found = _read(path, path.stat().st_mtime_ns) if path.is_file() else None
    return None if found is None or (digest is not None and found.digest != digest) else found


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Verdicts:
    del changed
    return unpacked(json.loads(gzip.decompress(path.read_bytes())))


def write_evidence(found: Verdicts, path: Path) -> None:
    """Write the verdicts; the same verdicts give the same bytes."""
    text = json.dumps(packed(found), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
