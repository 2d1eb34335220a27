"""More text than one machine holds: parts of it add up to the very same answers, in any order and grouping."""

import gzip
import json
import os
import signal
import subprocess
import sys
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


def cases(seed: int, n: int = 60, documents: int = 30) -> ScoredCases:
    """Random heads and rules on random cases of documents that other parts have too; scores are no round numbers."""
    rng = np.random.default_rng(seed)
    right, same = rng.random((n, 3)), rng.random((n, 3)).round()
    rules = (Baseline("one", "", rng.random(n).round(), True, same), Baseline("two", "", rng.random(n)))
    control = np.where(rng.random((n, 1)) < 0.2, np.nan, rng.random((n, 3)))
    clusters = rng.integers(0, documents, n).astype(np.uint64) << np.uint64(40)
    steps = rng.integers(-3, 4, n), rng.integers(-3, 4, (n, 3))
    return ScoredCases(
        QUESTION,
        right,
        clusters,
        rng.random(n) < 0.5,
        rules,
        control,
        mass=rng.random(3),
        chance=rng.random(n),
        steps=steps,
        weight=rng.integers(1, 9, n).astype(float),
    )


def whole(parts: list[ScoredCases]) -> ScoredCases:
    """All cases at once."""

    def joined(values):
        return np.concatenate(list(values))

    rules = tuple(
        Baseline(
            one.name, "", joined(p.baselines[i].hits for p in parts), True,
            None if one.same is None else joined(p.baselines[i].same for p in parts),
        )
        for i, one in enumerate(parts[0].baselines)
    )  # fmt: skip
    return ScoredCases(
        QUESTION,
        joined(p.right for p in parts),
        joined(p.documents for p in parts),
        joined(p.second_half for p in parts),
        rules,
        joined(p.control for p in parts),
        mass=sum(p.mass * p.n for p in parts) / sum(p.n for p in parts),
        chance=joined(p.chance for p in parts),
        steps=(joined(p.steps[0] for p in parts), joined(p.steps[1] for p in parts)),
        weight=joined(p.weight for p in parts),
    )


@pytest.mark.parametrize("documents", [30, 3 * MAX_DOCUMENTS_ELSE])
def test_tallies_add_up_to_the_same_bits_in_any_order_and_grouping(documents):
    """Also where documents are more than are kept apart, and so are gathered into groups."""
    parts = [cases(seed, 2000, documents) for seed in range(8)]
    tallies = [count_cases(one) for one in parts]
    one_by_one = sum(tallies[1:], tallies[0])
    backwards = sum(tallies[-2::-1], tallies[-1])
    pairs = [tallies[i] + tallies[i + 4] for i in range(4)]
    in_pairs = pairs[2] + pairs[0] + (pairs[3] + pairs[1])
    answers = [_packed(score_question(found, (1, 3), 10)) for found in (one_by_one, backwards, in_pairs)]
    assert answers[0] == answers[1] == answers[2]
    at_once = score_question(whole(parts), (1, 3), 10)
    assert len(one_by_one.documents) <= MAX_DOCUMENTS_ELSE
    assert at_once.documents == answers[0]["numbers"][1]
    np.testing.assert_allclose(answers[0]["arrays"]["score"], at_once.score.ravel(), atol=1e-6)
    slow = np.average(whole(parts).right, axis=0, weights=whole(parts).weight)
    np.testing.assert_allclose(at_once.score[0], slow, atol=1e-6)


# Files and commands

PARTS = 11  # of 40 shards: some have no pronouns, some no texts, and none the same
MODEL = {"model": "classroom", "on_error": "skip"}
NAMES = ("Ann", "Eve", "Ida", "Liz", "Mia", "Zoe")


def conllu(one) -> str:
    """A sentence as CoNLL-U."""
    rows = zip(one.words, one.tags, one.heads, one.relations, strict=True)
    lines = [
        f"{i}\t{w}\tlemma\t{tag}\tX\tA=b\t{head + 1}\t{name}\t0:x\tMisc=1"
        for i, (w, tag, head, name) in enumerate(rows, 1)
    ]
    return "\n".join([f"# newdoc id = {one.document}", f"# text = {one.text}", *lines]) + "\n\n"


def pronoun(i: int) -> str:
    """A row of GAP."""
    a, b = NAMES[i % 6], NAMES[(i + 1 + i % 5) % 6]
    text = f"{a} met {b} on day {i}" + (f" near {a}'s old house" if i % 3 else "") + " before she left."
    cells = (f"row-{i}", text, "she", text.index("she"), a, 0, "TRUE" if i % 2 else "FALSE", b, text.index(b))
    return "\t".join(map(str, (*cells, "FALSE" if i % 2 else "TRUE", f"page-{i // 2}")))


HEADING = "ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref URL".replace(" ", "\t")


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> list[str]:
    """A treebank in 20 shards, half of them packed, pronouns in 10 and texts in 10; one text stands in all of them."""
    folder = tmp_path_factory.mktemp("shards")
    trees = planted.treebank(480)
    for i in range(20):
        text = "".join(map(conllu, trees[i::20]))
        if i % 2:
            (folder / f"tree-{i:02}.conllu.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"tree-{i:02}.conllu").write_text(text)
    for i in range(10):
        rows = [HEADING, *(pronoun(j) for j in range(12 * i, 12 * i + 12))]
        (folder / f"gap-{i:02}.tsv").write_text("\n".join(rows) + "\n")
        texts = ["The same words stand here again.", *(one.text for one in trees[i::10][:11])]
        if i % 2:
            lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
            (folder / f"text-{i:02}.jsonl").write_text(lines)
        else:
            (folder / f"text-{i:02}.txt").write_text("\n".join(texts))
    return [str(folder / pattern) for pattern in ("tree-*", "gap-*", "text-*")]


def atlas_bytes(found: AtlasStatistics) -> str:
    """Everything an atlas has to say."""
    return json.dumps(found.result().to_data()) + found.result().to_frame().to_csv()


def test_parts_of_any_order_give_the_bytes_of_one_part_and_of_a_plain_run(
    shards, tmp_path, few_sentences, monkeypatch
):
    compute_part("roles", MODEL, shards, 1, 1, tmp_path / "one")
    for part in reversed(range(1, PARTS + 1)):
        compute_part("roles", MODEL, shards, part, PARTS, tmp_path / "many")
    one, many = (merge_parts(tmp_path / name).result() for name in ("one", "many"))
    assert json.dumps(packed(one)) == json.dumps(packed(many))
    monkeypatch.setattr(corpus_counts, "BLOCK", 10)  # several blocks a shard
    plain = make.find_roles(load_model("classroom"), shards)
    assert json.dumps(packed(plain)) == json.dumps(packed(one)).replace(" --on-error skip", "")
    known = one.by_key
    assert {"det", "det:back", "semantic", "antecedent", "previous", "agreement"} <= known.keys()
    assert (known["det"].n, known["antecedent"].n) == (600, 120)
    assert known["det"].documents == 160


def test_a_second_round_that_was_killed_goes_on_and_a_damaged_or_foreign_file_of_it_is_refused(
    shards, tmp_path, monkeypatch
):
    """The command once more counts its own part; a merge does what is left of it, and only that."""
    sentences = make.read_builtin()[::40]
    monkeypatch.setattr(make, "read_builtin", lambda: sentences)
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
    for path in (*sums, rules):
        for bad in (content[path][:-1], content[path][:99], foreign):
            path.write_bytes(bad)
            with pytest.raises(InputError, match=path.name):
                merge_parts(folder)
        path.write_bytes(content[path])
    (folder / "cases-00002-of-00003.zip").unlink()
    with pytest.raises(InputError, match="cases-00002-of-00003"):
        merge_parts(folder)
    (folder / "cases-00002-of-00003.zip").write_bytes(content[folder / "cases-00002-of-00003.zip"])
    for path in (*sums, rules):
        path.unlink()
    assert json.dumps(packed(merge_parts(folder, workers=2).result())) == whole
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: each for path, each in content.items()
    }


def test_parts_of_an_atlas_give_the_bytes_of_one(shards, tmp_path):
    """Also where one passage stands in every shard, so that nothing but its place tells its rows apart."""
    texts = shards[2:]
    compute_part("atlas", MODEL, texts, 1, 1, tmp_path / "one")
    for part in reversed(range(1, PARTS + 1)):
        compute_part("atlas", MODEL, texts, part, PARTS, tmp_path / "many")
    one, many = (merge_parts(tmp_path / name) for name in ("one", "many"))
    assert atlas_bytes(one) == atlas_bytes(many)
    assert one.result().n_passages == 10 * 12
    (text,) = (path for path in Path(texts[0]).parent.glob("text-00.txt"))
    frame = one.result().to_frame()
    first = frame[frame.passage < 6].passage.map(lambda number: one.result().passages[number].text)
    assert set(first) <= set(text.read_text().splitlines())


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
    with subprocess.Popen(
        [sys.executable, "-c", STOPS, shards[2], str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    ) as process:
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
    assert json.loads((tmp_path / "atlas.json").read_text())["n_passages"] == 120


def test_the_options_of_a_model_reach_its_parts(tmp_path):
    (tmp_path / "text.txt").write_text("the cat sees the dog\nthe dog chases it\n")
    named = [
        str(tmp_path / "text.txt"),
        "--model",
        "classroom",
        "--part",
        "1/1",
        "--out",
        str(tmp_path / "a"),
    ]
    assert main(["atlas", *named, "--precision", "float64", "--untrained"]) == 0
    options = {"model": "classroom", "dtype": "float64", "trained": False}
    compute_part("atlas", options, named[:1], 1, 1, tmp_path / "b")
    a, b = (merge_parts(tmp_path / name) for name in "ab")
    assert (a.about, atlas_bytes(a)) == (b.about, atlas_bytes(b))


def test_resume_computes_a_part_whose_shards_have_changed(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("One line of many words is here.\n")
    for n, more in enumerate(("", "And this is another line of words.\n"), 1):
        text.write_text(text.read_text() + more)
        compute_part("atlas", MODEL, [str(text)], 1, 1, tmp_path / "parts", resume=True)
        assert merge_parts(tmp_path / "parts").result().n_passages == n


def test_merge_names_a_part_that_is_damaged_foreign_or_missing_and_counts_a_doubled_one_once(
    shards, tmp_path
):
    texts, folder = shards[2:], tmp_path / "parts"
    paths = [compute_part("atlas", MODEL, texts, part, 3, folder) for part in (1, 2, 3)]
    said: list[str] = []
    whole = atlas_bytes(merge_parts(folder))
    (folder / "part-again.zip").write_bytes(paths[1].read_bytes())
    assert atlas_bytes(merge_parts(folder, said.append)) == whole
    assert [line.split()[0] for line in said] == ["part-again.zip"]
    (folder / "part-again.zip").unlink()
    good = paths[1].read_bytes()
    for bad in (good[:-1], good[:100], b"", good[:500] + b"x" + good[501:]):
        paths[1].write_bytes(bad)
        with pytest.raises(InputError, match=paths[1].name):
            merge_parts(folder)
    paths[1].write_bytes(good)
    saved = {path: path.read_bytes() for path in paths}
    for missing in ((1,), (2,), (1, 2), (3,)):
        for number in missing:
            paths[number - 1].unlink()
        with pytest.raises(InputError, match=f"missing: {', '.join(map(str, missing))}\\."):
            merge_parts(folder)
        for path, content in saved.items():
            path.write_bytes(content)
    foreign = compute_part("atlas", MODEL | {"trained": False}, texts, 2, 3, tmp_path / "other")
    paths[1].write_bytes(foreign.read_bytes())
    with pytest.raises(InputError, match=rf"{paths[1].name} .* digest"):
        merge_parts(folder)


def test_each_part_and_the_whole_count_multiword_tokens_once(tmp_path, capfd, few_sentences):
    trees = "".join(map(conllu, planted.treebank(60)))
    row = "1-2\tboth" + "\t_" * 8 + "\n1\t"
    for name, n in (("a", 60), ("b", 2)):
        (tmp_path / f"{name}.conllu").write_text(trees.replace("\n1\t", "\n" + row, n))
    for part, n in ((1, 60), (2, 2)):
        shards = str(tmp_path / "*.conllu")
        command = ["roles", shards, "--model", "classroom", "--part", f"{part}/2", "--out", str(tmp_path)]
        assert main(command) == 0
        assert [line.split()[:2] for line in capfd.readouterr().err.splitlines()] == [[str(n), "multiword"]]
    assert main(["merge", str(tmp_path), "--format", "csv", "--workers", "1"]) == 0
    assert capfd.readouterr().err.split()[:2] == ["62", "multiword"]


def test_no_baseline_is_fitted_on_a_damaged_file_of_cases(tmp_path, few_sentences):
    for name in "ab":
        (tmp_path / f"{name}.conllu").write_text("".join(map(conllu, planted.treebank(30))))
    arguments = "roles", MODEL, [str(tmp_path / "*.conllu")]
    cases_file = compute_part(*arguments, 2, 2, tmp_path / "parts").with_name("cases-00002-of-00002.zip")
    cases_file.write_bytes(cases_file.read_bytes()[:-1] + b"?")
    with pytest.raises(InputError, match=cases_file.name):
        compute_part(*arguments, 1, 2, tmp_path / "parts")


def test_a_shard_may_be_packed_or_an_address(tmp_path):
    text = b"A line of words.\nAnd one more.\n"
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    with fsspec.open("memory://shards/a.txt.gz", "wb") as file:
        file.write(gzip.compress(text))
    read = [Lines(one) for one in (tmp_path / "a.txt", tmp_path / "a.txt.gz", "memory://shards/a.txt.gz")]
    assert {tuple(one) for one in read} == {("A line of words.", "And one more.")}
    assert len({one.digest() for one in read}) == 1
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text)[:-9])
    for bad in (tmp_path / "a.txt.gz", "memory://shards/none.txt", "nothing://a.txt"):
        with pytest.raises(InputError, match=str(bad)):
            list(Lines(bad))
