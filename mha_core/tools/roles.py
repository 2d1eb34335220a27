"""Make the shipped table of a model's heads: `python -m mha_core.tools.roles MODEL FILE ...`.

FILES are the treebank and the parts of GAP, which are not part of the program. Trained and untrained weights are asked
the same, a decoder's random weights only the smallest part of GAP; the result is written to `assets/roles`, and what
MiniLM does on GAP's validation part alone to `assets/lesson`. What every head did in a file is kept in `--keep`: after
a change of baselines or verdicts alone the tables are made again from there, in minutes.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from mha_core.heads.build_role_table import KNOWN, RoleStatistics, find_roles
from mha_core.heads.part_files import compute_part, find_parts
from mha_core.heads.table import RoleTable, roles_file, write_roles
from mha_core.models.load import load_model
from mha_core.models.model import Model
from mha_core.models.model_list import EMBEDDED
from mha_core.resources import asset

FEW = "GAP, validation"
DIGITS = 6


def main(arguments: list[str] | None = None) -> None:
    """Find the roles of trained and untrained weights, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a name of the model list")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument(
        "--keep", type=Path, default=Path("out/evidence"), help="folder of what heads did in each file"
    )
    args = parser.parse_args(arguments)
    trained, untrained = (
        _table(args.model, args.files, is_trained, args.keep) for is_trained in (True, False)
    )
    write_roles(replace(trained, untrained=untrained), roles_file(args.model))


def _table(name: str, files: list[Path], is_trained: bool, keep: Path) -> RoleTable:
    """Return the answers to all questions, each file's part computed unless it is kept."""
    options = {"model": name} if is_trained else {"model": name, "trained": False}
    model = load_model(name, trained=is_trained)
    if not is_trained and model.info.is_causal:
        files = [files[0], min(files[1:], key=lambda file: file.stat().st_size)]
    folder, shards = keep / f"{name}-{'trained' if is_trained else 'random'}", [str(file) for file in files]
    for number in range(1, len(files) + 1):
        compute_part("roles", options, shards, number, len(files), folder, resume=True, say=_say)
    parts = find_parts(folder, _say)
    statistics = RoleStatistics(parts[0].about)
    for part in parts:  # what heads did, not what was concluded by the baselines of then
        statistics.load(part.checked())
    for number, read in statistics.read.items() if is_trained and name == EMBEDDED else ():
        if KNOWN.get(read["digest"], ("",))[0] == FEW:
            _write_few(model, files[number])
    statistics.model, statistics.counts.builtin = model, ()  # the built-in sentences are asked anew
    return statistics.result(say=_say, only_decidable=True)


def _write_few(model: Model, file: Path) -> None:
    """Write what head 4-2 does on GAP's validation part alone."""
    table = find_roles(model, [file], say=_say)
    head, answer = (3, 1), table.by_key["antecedent"]
    few = {
        "source": "GAP, validation (Webster et al. 2018), pronouns with exactly one right candidate; MiniLM, head 4-2",
        "command": table.command,
        "sha256": table.corpora["pronouns"].digests[0],
        "digest": table.digest,
        "question": answer.key,
        "n": answer.n,
        "score": round(float(answer.score[head]), DIGITS),
        "baseline": answer.baselines[0].name,
        "baseline_score": round(answer.baselines[0].score, DIGITS),
        "verdict": str(answer.word[head]),
    }
    asset("lesson", "gap.json").write_text(json.dumps(few, indent=1) + "\n", encoding="utf-8")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
