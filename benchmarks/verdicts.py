"""What the verdicts find where there is nothing to find: random models, and gold labels that were shuffled.

    python benchmarks/verdicts.py en_ewt-ud-dev.conllu gap-validation.tsv [--seeds 20] [--shuffles 20]

Of 20 untrained models at most one may have a head that is called by anything but spreading its attention, on real text
and on the built-in sentences; of the shuffles of the gold labels at most 5 %, over all questions together. It takes
about a minute of one processor a seed.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mha_core.corpus import Lines, Reading, read_conllu, read_gap  # noqa: E402
from mha_core.heads.coreference import choice_case  # noqa: E402
from mha_core.heads.findings import find  # noqa: E402
from mha_core.heads.survey import Options, every_item, survey  # noqa: E402
from mha_core.heads.verdict import DOES  # noqa: E402
from mha_core.heads.verdicts.choices import Choice, ChoiceLog  # noqa: E402
from mha_core.heads.verdicts.looks import LooksLog, trees  # noqa: E402
from mha_core.heads.verdicts.making import measured  # noqa: E402
from mha_core.heads.verdicts.meaning import RelatedLog, meanings  # noqa: E402
from mha_core.heads.verdicts.nulls import called, shuffled_choices, shuffled_trees  # noqa: E402
from mha_core.heads.verdicts.related import related_measured  # noqa: E402
from mha_core.heads.verdicts.treebank import questions  # noqa: E402
from mha_core.models import load_model  # noqa: E402

MOST = 0.05


def untrained(files: list[Path], seeds: int, limit: int | None) -> bool:
    """Random models on real text and on the built-in sentences."""
    bad = {"real text": 0, "built-in sentences": 0}
    for seed in range(seeds):
        model = load_model(trained=False, seed=seed)
        found, _ = measured(model, files, lambda _: None, Options(limit=limit), Reading())
        real = called(found, (model.n_layers, model.n_heads))
        jobs = find(model).jobs.values()
        short = [
            (table.job.name, head)
            for table in jobs
            if table.job.kind != "broad"
            for head, verdict in table.verdicts.items()
            if verdict.word in DOES
        ]
        bad["real text"] += bool(real)
        bad["built-in sentences"] += bool(short)
        print(f"seed {seed}: real text {real[:5]}, built-in sentences {short[:5]}", flush=True)
    print(f"random models with a specialist, of {seeds}: {bad}")
    return max(bad.values()) <= MOST * seeds


def shuffled(treebank: Path, gap: Path, shuffles: int, limit: int | None) -> bool:
    """The trained model against shuffled gold."""
    model = load_model()
    shape = (model.n_layers, model.n_heads)
    looks, related, choices = LooksLog(), RelatedLog(meanings()), ChoiceLog()
    survey(
        trees(read_conllu(Lines(treebank)), model.tokenizer),
        model,
        [(looks, every_item), (related, every_item)],
        Options(limit=limit),
    )
    texts = (Choice(choice_case(one, model.tokenizer), one) for one in read_gap(Lines(gap)))
    survey(texts, model, [(choices, every_item)], Options(limit=limit))
    asked = list(questions(looks.found, "treebank", is_causal=False))
    bad = 0
    for seed in range(shuffles):
        there = [*shuffled_trees(asked, looks.found, seed), *shuffled_choices(choices, "pronouns", seed)]
        there += related_measured(related.found, "treebank", np.random.default_rng(seed))
        found = called(there, shape)
        bad += bool(found)
        print(f"shuffle {seed}: {found[:5]}", flush=True)
    print(f"shuffles with a specialist, of {shuffles}: {bad}")
    return bad <= MOST * shuffles


def main() -> int:
    """Measure, print, and fail where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("treebank", type=Path)
    parser.add_argument("gap", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--shuffles", type=int, default=20)
    parser.add_argument("--limit", type=int, help="no more texts of each corpus than that")
    args = parser.parse_args()
    good = shuffled(args.treebank, args.gap, args.shuffles, args.limit)
    good &= untrained([args.treebank, args.gap], args.seeds, args.limit)
    print("within the bars" if good else "MISSED: at most 1 in 20 may find anything")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
