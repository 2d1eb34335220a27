"""More text than one machine holds: parts of it add up to the very same answers, in any order and grouping."""

import gzip
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fsspec
import numpy as np
import pytest

from mha_core import InputError, load_model
from mha_core.cli import main
from mha_core.heads import build_role_table as make
from mha_core.heads import corpus_counts
from mha_core.heads.atlas.statistics import AtlasStatistics
from mha_core.heads.cases import Baseline, ScoredCases
from mha_core.heads.conclude import score_question
from mha_core.heads.corpora import Lines
from mha_core.heads.part_files import compute_part, merge_parts
from mha_core.heads.question_counts import MAX_DOCUMENTS_ELSE, count_cases
from mha_core.heads.questions.base import Question
from mha_core.heads.table import _packed, packed
from tests import planted

pytestmark = pytest.mark.slow
QUESTION = Question("det", "syntactic", "determiner → its noun", "", "", "treebank")


def cases(documents: int) -> ScoredCases:
    """Random heads and rules on random cases; scores are no round numbers."""
    n, rng = 16_000, np.random.default_rng(0)
    rules = Baseline("one", "", rng.random(n).round(), True, rng.random((n, 3)).round())
    return ScoredCases(
        QUESTION,
        rng.random((n, 3)),
        rng.integers(0, documents, n).astype(np.uint64) << np.uint64(40),
        rng.random(n) < 0.5,
        (rules, Baseline("two", "", rng.random(n))),
        np.where(rng.random((n, 1)) < 0.2, np.nan, rng.random((n, 3))),
        mass=rng.random(3),
        chance=rng.random(n),
        steps=(rng.integers(-3, 4, n), rng.integers(-3, 4, (n, 3))),
        weight=rng.integers(1, 9, n).astype(float),
    )


def part_of(every: ScoredCases, rows: slice, mass: float) -> ScoredCases:
    """Return some of the cases, with so much more mass."""
    rules = (
        replace(rule, hits=rule.hits[rows], same=None if rule.same is None else rule.same[rows])
        for rule in every.baselines
    )
    names = ("right", "documents", "second_half", "control", "chance", "weight")
    by_row = {name: getattr(every, name)[rows] for name in names}
    steps = (every.steps[0][rows], every.steps[1][rows])
    return replace(every, baselines=tuple(rules), steps=steps, mass=every.mass + mass, **by_row)


@pytest.mark.parametrize("documents", [30, 3 * MAX_DOCUMENTS_ELSE])
def test_tallies_add_up_to_the_same_bits_in_any_order_and_grouping(documents):
    """Also where documents are more than are kept apart, and so are gathered into groups."""
    every = cases(documents)
    parts = [part_of(every, slice(i, None, 8), i / 10) for i in range(8)]
    tallies = list(map(count_cases, parts))
    one_by_one = sum(tallies[1:], tallies[0])
    backwards = sum(tallies[-2::-1], tallies[-1])
    pairs = [tallies[i] + tallies[i + 4] for i in range(4)]
    in_pairs = pairs[2] + pairs[0] + (pairs[3] + pairs[1])
    answers = [_packed(score_question(sums, (1, 3), 10)) for sums in (one_by_one, backwards, in_pairs)]
    assert answers[0] == answers[1] == answers[2]
    assert len(one_by_one.documents) <= MAX_DOCUMENTS_ELSE
    mass = sum(part.mass * part.n for part in parts) / every.n
    at_once = _packed(score_question(replace(every, mass=mass), (1, 3), 10))
    assert at_once["numbers"][:2] == answers[0]["numbers"][:2]
    for name, values in at_once["arrays"].items():
        np.testing.assert_allclose(answers[0]["arrays"][name], values, atol=1e-6)
    slow = np.average(every.right, axis=0, weights=every.weight)
    np.testing.assert_allclose(at_once["arrays"]["score"], slow, atol=1e-6)


PARTS = 7  # of 20 shards: some have no pronouns, some no texts, and none the same
MODEL = {"model": "classroom", "on_error": "skip"}
NAMES = ("Ann", "Eve", "Ida", "Liz", "Mia", "Zoe")


def conllu(tree) -> str:
    """A sentence as CoNLL-U."""
    rows = zip(tree.words, tree.tags, tree.heads, tree.relations, strict=True)
    lines = [
        f"{i}\t{w}\tlemma\t{tag}\tX\tA=b\t{head + 1}\t{name}\t0:x\tMisc=1"
        for i, (w, tag, head, name) in enumerate(rows, 1)
    ]
    return "\n".join([f"# newdoc id = {tree.document}", f"# text = {tree.text}", *lines]) + "\n\n"


def pronoun(i: int) -> str:
    """A row of GAP."""
    a, b = NAMES[i % 6], NAMES[(i + 1 + i % 5) % 6]
    text = f"{a} met {b} on day {i}" + (f" near {a}'s old house" if i % 3 else "") + " before she left."
    cells = (f"row-{i}", text, "she", text.index("she"), a, 0, "TRUE" if i % 2 else "FALSE", b, text.index(b))
    return "\t".join(map(str, (*cells, "FALSE" if i % 2 else "TRUE", f"page-{i // 2}")))


HEADING = "ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref URL".replace(" ", "\t")


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> list[str]:
    """A treebank in 10 shards, half of them packed, pronouns in 5 and texts in 5; one text stands in all of them.
    Multiword tokens are in two shards."""
    folder = tmp_path_factory.mktemp("shards")
    trees = planted.treebank(240)
    for i in range(10):
        text = "".join(map(conllu, trees[i::10]))
        text = text.replace("\n1\t", "\n1-2\tboth" + "\t_" * 8 + "\n1\t", (24, 2)[i] if i < 2 else 0)
        if i % 2:
            (folder / f"tree-{i:02}.conllu.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"tree-{i:02}.conllu").write_text(text)
    for i in range(5):
        rows = [HEADING, *(pronoun(j) for j in range(12 * i, 12 * i + 12))]
        (folder / f"gap-{i:02}.tsv").write_text("\n".join(rows) + "\n")
        texts = ["The same words stand here again.", *(tree.text for tree in trees[i::5][:11])]
        if i % 2:
            lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
            (folder / f"text-{i:02}.jsonl").write_text(lines)
        else:
            (folder / f"text-{i:02}.txt").write_text("\n".join(texts))
    return [str(folder / pattern) for pattern in ("tree-*", "gap-*", "text-*")]


def atlas_bytes(statistics: AtlasStatistics) -> str:
    """Everything an atlas has to say."""
    return json.dumps(statistics.result().to_data()) + statistics.result().to_frame().to_csv()


def test_parts_of_any_order_give_the_bytes_of_a_plain_run(
    shards, tmp_path, few_sentences, monkeypatch, capfd
):
    compute_part("roles", MODEL, shards, 1, 1, tmp_path / "one")
    for part in range(PARTS, 2, -1):
        compute_part("roles", MODEL, shards, part, PARTS, tmp_path / "many")
    options = ["--model", "classroom", "--on-error", "skip", "--out", str(tmp_path / "many")]
    for part, n in ((2, 2), (1, 24)):
        assert main(["roles", *shards, *options, "--part", f"{part}/{PARTS}"]) == 0
        assert [line.split()[:2] for line in capfd.readouterr().err.splitlines()] == [[str(n), "multiword"]]
    whole, many = (merge_parts(tmp_path / name).result() for name in ("one", "many"))
    assert json.dumps(packed(whole)) == json.dumps(packed(many))
    assert main(["merge", str(tmp_path / "many"), "--format", "csv", "--workers", "1"]) == 0
    assert capfd.readouterr().err.split()[:2] == ["26", "multiword"]
    monkeypatch.setattr(corpus_counts, "BLOCK", 10)  # several blocks a shard
    plain = make.find_roles(load_model("classroom"), shards)
    assert json.dumps(packed(plain)) == json.dumps(packed(whole)).replace(" --on-error skip", "")
    known = whole.by_key
    assert {"det", "det:back", "semantic", "antecedent", "previous", "agreement"} <= known.keys()
    assert (known["det"].n, known["det"].documents, known["antecedent"].n) == (300, 80, 60)


def test_a_killed_second_round_goes_on_and_refuses_damaged_and_foreign_files(shards, tmp_path, few_sentences):
    """The command once more counts its own part; a merge does what is left of it, and only that."""
    folder = tmp_path / "parts"
    trees = [str(path) for path in sorted(Path(shards[0]).parent.glob("tree-0[0-5]*"))]
    for name, parts in (("parts", (1, 2, 3)), ("other", (1,))):
        for part in parts:
            compute_part("roles", MODEL, trees, part, len(parts), tmp_path / name)
    sums, rules = [folder / f"sums-{i:05}-of-00003.zip" for i in (1, 2, 3)], folder / "rules-of-00003.zip"
    assert [path.exists() for path in sums] == [False, False, True], "the last part fits the rules"
    compute_part("roles", MODEL, trees, 1, 3, folder, resume=True)
    before = {path: path.stat().st_mtime_ns for path in (*sums[::2], rules)}
    whole = json.dumps(packed(merge_parts(folder).result()))
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert whole == json.dumps(packed(merge_parts(tmp_path / "other").result()))
    content = {path: path.read_bytes() for path in folder.iterdir()}
    foreign = next((tmp_path / "other").glob("sums-*")).read_bytes()

    def is_refused(path: Path, bad: bytes | None) -> None:
        path.unlink() if bad is None else path.write_bytes(bad)
        with pytest.raises(InputError, match=path.name):
            merge_parts(folder)
        path.write_bytes(content[path])

    for path, other in zip((*sums, rules), (*sums[1:], sums[0], sums[0]), strict=True):
        for bad in (content[path][:-1], content[path][:99], foreign, content[other]):
            is_refused(path, bad)
    cases_file = folder / "cases-00002-of-00003.zip"
    is_refused(cases_file, None)
    for path in (*sums, rules):
        path.unlink()
    is_refused(cases_file, content[cases_file][:-1] + b"?")
    assert json.dumps(packed(merge_parts(folder, workers=2).result())) == whole
    assert {path: path.read_bytes() for path in folder.iterdir()} == content


def test_parts_of_an_atlas_give_the_bytes_of_one(shards, tmp_path):
    """Also where one passage stands in every shard, so that nothing but its place tells its rows apart."""
    texts = shards[2:]
    compute_part("atlas", MODEL, texts, 1, 1, tmp_path / "one")
    for part in reversed(range(1, PARTS + 1)):
        compute_part("atlas", MODEL, texts, part, PARTS, tmp_path / "many")
    whole, many = (merge_parts(tmp_path / name) for name in ("one", "many"))
    assert atlas_bytes(whole) == atlas_bytes(many)
    assert whole.result().n_passages == 5 * 12
    frame = whole.result().to_frame()
    first = frame[frame.passage < 6].passage.map(lambda number: whole.result().passages[number].text)
    assert set(first) <= set((Path(texts[0]).parent / "text-00.txt").read_text().splitlines())


STOPS = """
import sys, time
from mha_core.heads.atlas.statistics import AtlasStatistics
from mha_core.heads.part_files import compute_part
members = AtlasStatistics.members
def slowly(self):
    yield from members(self)
    print("half written", flush=True)
    time.sleep(600)
AtlasStatistics.members = slowly
compute_part("atlas", {"model": "classroom"}, [sys.argv[1]], 1, 2, sys.argv[2])
"""


def test_a_machine_that_dies_leaves_no_part_and_resume_computes_only_that(shards, tmp_path, capfd):
    arguments = ["atlas", shards[2], "--model", "classroom", "--out", str(tmp_path), "--resume", "--part"]
    stops = [sys.executable, "-c", STOPS, shards[2], str(tmp_path)]
    with subprocess.Popen(stops, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]) as process:
        assert process.stdout.readline() == b"half written\n"
        os.kill(process.pid, signal.SIGKILL)
    assert any(tmp_path.iterdir()), "what was half written"
    assert main([*arguments, "2/2"]) == 0
    assert main(["merge", str(tmp_path)]) == 2
    assert "these are missing: 1." in capfd.readouterr().err
    before = (tmp_path / "part-00002-of-00002.zip").stat().st_mtime_ns
    assert [main([*arguments, f"{part}/2"]) for part in (1, 2)] == [0, 0]
    assert (tmp_path / "part-00002-of-00002.zip").stat().st_mtime_ns == before
    assert main(["merge", str(tmp_path), "--out", str(tmp_path / "atlas.json")]) == 0
    assert json.loads((tmp_path / "atlas.json").read_text())["n_passages"] == 60


def test_options_reach_a_part_and_resume_computes_one_whose_shards_have_changed(tmp_path):
    text, options = tmp_path / "text.txt", {"model": "classroom", "dtype": "float64", "trained": False}
    command = ["atlas", str(text), "--model", "classroom", "--precision", "float64", "--untrained"]
    for n, lines in enumerate(("the cat sees the dog\n", "the cat sees the dog\nthe dog chases it\n"), 1):
        text.write_text(lines)
        assert main([*command, "--part", "1/1", "--resume", "--out", str(tmp_path / "a")]) == 0
        compute_part("atlas", options, [str(text)], 1, 1, tmp_path / "b")
        a, b = (merge_parts(tmp_path / name) for name in "ab")
        assert (a.about, atlas_bytes(a)) == (b.about, atlas_bytes(b))
        assert a.result().n_passages == n


def test_merge_names_a_damaged_foreign_or_missing_part_and_counts_a_doubled_one_once(shards, tmp_path):
    texts, folder, notes = shards[2:], tmp_path / "parts", list[str]()
    paths = [compute_part("atlas", MODEL, texts, part, 3, folder) for part in (1, 2, 3)]
    content = {path: path.read_bytes() for path in paths}
    good, whole = content[paths[1]], atlas_bytes(merge_parts(folder))
    (folder / "part-again.zip").write_bytes(good)
    assert atlas_bytes(merge_parts(folder, notes.append)) == whole
    assert [line.split()[0] for line in notes] == ["part-again.zip"]
    (folder / "part-again.zip").unlink()
    foreign = compute_part("atlas", MODEL | {"trained": False}, texts, 2, 3, tmp_path / "other").read_bytes()
    for bad in (good[:-1], good[:100], b"", good[:500] + b"x" + good[501:], foreign):
        paths[1].write_bytes(bad)
        with pytest.raises(InputError, match=paths[1].name + (" .* digest" if bad == foreign else "")):
            merge_parts(folder)
    for missing in ((1,), (1, 2), (3,)):
        for path in paths:
            path.write_bytes(content[path])
        for number in missing:
            paths[number - 1].unlink()
        with pytest.raises(InputError, match=f"missing: {', '.join(map(str, missing))}\\."):
            merge_parts(folder)


def test_a_shard_may_be_packed_or_an_address(tmp_path):
    text = b"A line of words.\nAnd one more.\n"
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    with fsspec.open("memory://shards/a.txt.gz", "wb") as file:
        file.write(gzip.compress(text))
    read = [Lines(each) for each in (tmp_path / "a.txt", tmp_path / "a.txt.gz", "memory://shards/a.txt.gz")]
    assert {tuple(each) for each in read} == {("A line of words.", "And one more.")}
    assert len({each.digest() for each in read}) == 1
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text)[:-9])
    for bad in (tmp_path / "a.txt.gz", "memory://shards/none.txt", "nothing://a.txt"):
        with pytest.raises(InputError, match=str(bad)):
            list(Lines(bad))
