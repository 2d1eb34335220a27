"""Make the shipped table of a model's heads: `python -m mha_core.tools.roles MODEL FILE ...`.

FILES are the treebank and the parts of GAP, which are not part of the program. Trained and untrained weights answer the
same questions; the result is written to `assets/roles`. Without files only the questions about names are answered
again, which takes minutes, and put into the shipped table.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from mha_core.heads.build_role_table import find_roles, with_names
from mha_core.heads.table import RoleTable, read_roles, roles_file, write_roles
from mha_core.models.load import load_model


def main(arguments: list[str] | None = None) -> None:
    """Find the roles of trained and untrained weights, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a name of the model list")
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    args = parser.parse_args(arguments)
    trained, untrained = (_table(args.model, args.files, is_trained) for is_trained in (True, False))
    write_roles(replace(trained, untrained=untrained), roles_file(args.model))


def _table(name: str, files: list[Path], is_trained: bool) -> RoleTable:
    """Return all questions, or the shipped table with those about names answered again."""
    model, shipped = load_model(name, trained=is_trained), read_roles(name)
    if files:
        return find_roles(model, files, say=_say)
    shipped = shipped if is_trained else shipped and shipped.untrained
    if shipped is None:
        raise SystemExit(f"No table of {name} is shipped: name the treebank and GAP.")
    return with_names(shipped, model, _say)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
