"""Pins, one a line, in a file → the same with the SHA-256 of every wheel that an index has of them, on stdout.

    python .ci/hashes.py PINS [OLD [PIP_OPTION ...]]

The indexes are those of pip's own settings, for torch also those in PIP_OPTIONs. Wheels for every platform are listed,
for the versions of Python that HeadScope runs on; a source package only where there is no wheel. PyTorch's CPU wheels,
which another index holds, keep the hashes that the file OLD has of them: that index cannot always be reached.
"""

import re
import sys
import tempfile
from pathlib import Path

from piptools.repositories import PyPIRepository

# Any Python 3, the stable interface of one, or just 3.11 to 3.14.
FITS = re.compile(r"-(py3|py2\.py3|cp3\d+-abi3|cp31[1-4]-cp31[1-4])-|-cp3\d+\.[\w.]*-abi3-|-py3[.-]")
HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


def kept(path: Path) -> dict[str, set[str]]:
    """The hashes of every pin in a file of before."""
    found: dict[str, set[str]] = {}
    if path.is_file():
        for block in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            if "==" in block and not block.startswith("#"):
                found[block.split()[0]] = set(HASH.findall(block))
    return found


def hashes(repository: PyPIRepository, pin: str) -> set[str]:
    """SHA-256 of every wheel of one pin, builds for the CPU among them."""
    name, _, version = pin.partition("==")
    with repository.allow_all_wheels():
        candidates = repository.find_all_candidates(name)
    links = [c.link for c in candidates if str(c.version).partition("+")[0] == version]
    chosen = [link for link in links if link.is_wheel and FITS.search(link.filename)] or links
    return {f"sha256:{link.hash}" for link in chosen if link.hash_name == "sha256"}


def main() -> int:
    """Write every pin with its hashes; 1 where a pin has none."""
    pins = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    old = kept(Path(sys.argv[2])) if len(sys.argv) > 2 else {}
    with tempfile.TemporaryDirectory() as cache:
        ordinary, for_torch = (PyPIRepository(more, cache_dir=cache) for more in ([], sys.argv[3:]))
        for line in pins:
            pin = line.strip()
            if not pin or pin.startswith("#"):
                continue
            is_torch = pin.startswith("torch==")
            found = hashes(for_torch if is_torch else ordinary, pin) | (
                old.get(pin, set()) if is_torch else set()
            )
            if not found:
                sys.stderr.write(f"No index has a hash for {pin}.\n")
                return 1
            sys.stdout.write(" \\\n    ".join([pin, *(f"--hash={each}" for each in sorted(found))]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
