"""Names by which the commands in `mha_core.learning` reach `mha_core.cli`, until they move there."""

from pathlib import Path


def check_file(path: Path | None) -> None:
    """Do nothing: --out is checked where it is parsed."""
