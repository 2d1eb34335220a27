"""Make the shipped table of a model's heads: `python -m mha_core.tools.roles MODEL FILE ...`.

FILES are the treebank and the parts of GAP, which are not part of the program. Trained and untrained weights are asked
the same; the result is written to `assets/roles`.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from mha_core.heads.make import find_roles
from mha_core.heads.table import roles_file, write_roles
from mha_core.load import load_model


def main(arguments: list[str] | None = None) -> None:
    """Ask, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a name of the model list")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    args = parser.parse_args(arguments)
    trained, untrained = (
        find_roles(load_model(args.model, trained=is_trained), args.files, say=_say)
        for is_trained in (True, False)
    )
    write_roles(replace(trained, untrained=untrained), roles_file(args.model))


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
