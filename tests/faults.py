"""Damage done on purpose and by chance, from a seed: `python tests/faults.py [CASES] [SEED]`, or `make faults`.

A third of the cases flip bits in the weights, the configuration and the vocabulary of a model folder, a third do the
same to a pinned folder, a third bring corpora that a generator made up. Every case must end in one of four ways:
refused in one sentence, right (the weights of the undamaged folder; the counts of an independent reader), loaded and
reported as unpinned, or (corpora) left out by its line. It fails for a traceback, a hang, another number said to be
pinned, or more than 1.5 GB of memory.
"""

import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from bert_folders import write  # noqa: E402
from hypothesis import HealthCheck, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from mha_core import load_model, models, trace  # noqa: E402
from mha_core.corpus import Lines, Reading, read_conllu, read_gap, read_pairs, read_text  # noqa: E402
from mha_core.errors import HeadScopeError  # noqa: E402
from mha_core.model_files import digests  # noqa: E402

TEXT = "Time flies like an arrow"
SECONDS, BYTES = 20, 1_500_000_000
FILES = ("model.safetensors", "config.json", "vocab.txt", "tokenizer.json")


class Failure(AssertionError):
    """A case that ended in none of the allowed ways."""


def one_sentence(problem: Exception) -> None:
    """Raise Failure unless the message is one line of text."""
    said = str(problem)
    if not said.endswith(".") or "\n" in said or len(said) > 600 or not said.isprintable():
        raise Failure(f"no sentence: {said[:200]!r}")


def flip(path: Path, chance: random.Random) -> None:
    """One to four bits of a file, anywhere in it."""
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 2, 4))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def damaged_folder(folder: Path, expected: np.ndarray, pinned: bool, chance: random.Random) -> str:
    """What became of a copy of the folder with a damaged file."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "bert"
        shutil.copytree(folder, copy)
        flip(copy / chance.choice([name for name in FILES if (folder / name).is_file()]), chance)
        models._LOADED.clear()
        try:
            model = load_model(str(copy), device="cpu")
            weights = trace(TEXT, model).weights
        except HeadScopeError as problem:
            one_sentence(problem)
            return "refused"
        if pinned:
            raise Failure("a damaged folder with SHA256SUMS was loaded")
        if weights.shape == expected.shape and np.array_equal(weights, expected):
            return "right"
        if model.info.pinned or not model.info.files:
            raise Failure("other numbers were not reported as unpinned")
        return "unpinned"


def counted(content: bytes) -> list[tuple[int, ...]]:
    """An independent reading of CoNLL-U: the heads of every sentence that is a tree."""
    found = []
    for block in content.decode("utf-8-sig").replace("\r\n", "\n").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line.strip() and not line.startswith("#")]
        if any(len(row) != 10 for row in rows):
            continue
        rows = [row for row in rows if not set("-.") & set(row[0])]
        heads = [int(row[6]) for row in rows]
        reaches = [up(heads, i + 1) for i in range(len(heads))]
        labels = all((row[7] == "root") == (row[6] == "0") for row in rows)
        if heads and heads.count(0) == 1 and all(reaches) and labels:
            found.append(tuple(head - 1 for head in heads))
    return found


def up(heads: list[int], at: int) -> bool:
    """Whether the root is reached from a word."""
    for _ in heads:
        if at == 0:
            return True
        if at > len(heads):
            return False
        at = heads[at - 1]
    return at == 0


words = st.text("abc é猫\u202e<", min_size=1, max_size=4).filter(str.strip)
rows = st.lists(st.tuples(words, st.integers(0, 5), st.sampled_from(["root", "det", "obj"])), max_size=5)
junk = st.one_of(
    st.binary(max_size=60), st.sampled_from([b"\r", b"\0", b"\xff", b"1\t2", b'[{"text": 1}]', b"["])
)


@st.composite
def treebanks(draw: st.DrawFn) -> bytes:
    """A few sentences, trees or not."""
    blocks = []
    for sentence in draw(st.lists(rows, min_size=1, max_size=4)):
        lines = [f"{i}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_" for i, (w, h, r) in enumerate(sentence, start=1)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks).encode()


@st.composite
def files(draw: st.DrawFn) -> tuple[Callable, bytes]:
    """A reader, and bytes with something of its form in them."""
    read = draw(st.sampled_from([read_conllu, read_gap, read_pairs, read_text]))
    start = {
        read_gap: b"ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\n",
        read_pairs: b"[",
    }.get(read, b"")
    text = "Ann saw Sue when she left."
    gap = f"1\t{text}\tshe\t{draw(st.integers(0, 30))}\tAnn\t0\tTRUE\tSue\t8\tFALSE\n".encode()
    return read, start + b"\n".join(draw(st.lists(st.one_of(junk, st.just(gap)), max_size=6)))


def corpora(cases: int, number: int) -> Counter[str]:
    """What became of made-up corpora; each is read twice, refusing and skipping."""
    ended: Counter[str] = Counter()
    quiet = partial(settings, database=None, deadline=SECONDS * 1000, suppress_health_check=list(HealthCheck))

    @seed(number)
    @quiet(max_examples=max(1, cases // 2))
    @given(treebanks())
    def trees(content: bytes) -> None:
        found = [sentence.heads for sentence in read_conllu(Lines(content), Reading("skip"))]
        if found != counted(content):
            raise Failure(f"{content!r}: {found} is not {counted(content)}")
        ended["corpus right"] += 1

    @seed(number)
    @quiet(max_examples=max(1, cases - cases // 2))
    @given(files())
    def anything(case: tuple[Callable, bytes]) -> None:
        read, content = case
        try:
            list(read(Lines(content), Reading("refuse")))
            ended["corpus read"] += 1
        except HeadScopeError as problem:
            one_sentence(problem)
            ended["corpus refused"] += 1
        try:
            list(read(Lines(content), Reading("skip")))
        except HeadScopeError as problem:
            one_sentence(problem)

    trees()
    anything()
    return ended


def run(cases: int, number: int) -> Counter[str]:
    """All cases. Raises Failure, or whatever a case raised that is no error of ours."""
    chance, ended = random.Random(number), Counter[str]()
    signal.signal(signal.SIGALRM, _hangs)
    with tempfile.TemporaryDirectory() as place:
        for name, tokenizer in (("json", ("tokenizer.json",)), ("list", ("vocab.txt",))):
            write(Path(place) / name, tokenizer=tokenizer)
        plain = {
            name: trace(TEXT, load_model(str(Path(place) / name), device="cpu")).weights
            for name in ("json", "list")
        }
        for case in range(2 * cases // 3):
            pinned, name = case % 2 == 1, chance.choice(("json", "list"))
            folder = Path(place) / name
            sums = folder / "SHA256SUMS"
            sums.unlink(missing_ok=True)
            if pinned:
                found = digests(folder, [folder / "model.safetensors"])
                sums.write_text("".join(f"{digest}  {file}\n" for file, digest in found.items()))
            signal.alarm(SECONDS)
            how = damaged_folder(folder, plain[name], pinned, chance)
            ended[f"folder {how}" + (" (with sums)" if pinned else "")] += 1
            signal.alarm(0)
    return ended + corpora(cases - 2 * cases // 3, number)


def _hangs(*_: object) -> None:
    raise Failure(f"a case took more than {SECONDS} s")


def main() -> int:
    """Print how the cases ended; 1 where one ended badly."""
    cases, number = (int(each) for each in (sys.argv[1:] + ["500", "0"][len(sys.argv) - 1 :])[:2])
    started = time.monotonic()
    ended = run(cases, number)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for how, n in sorted(ended.items()):
        print(f"{n:5}  {how}")
    print(
        f"{sum(ended.values())} cases, seed {number}, {time.monotonic() - started:.0f} s, {used / 1e6:.0f} MB"
    )
    if used > BYTES:
        print(f"more than {BYTES / 1e6:.0f} MB")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
