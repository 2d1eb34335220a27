"""Links of the user's own: a planted head is found, shuffled gold finds none, a broken line is named by its number."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mha_core import load_model, trace
from mha_core.cli import main
from mha_core.engine.visibility import Visibility
from mha_core.heads import build_role_table as make
from mha_core.heads.corpora import LinkedText
from mha_core.heads.part_files import compute_part, merge_parts
from mha_core.heads.questions.links import LinkQuestions
from mha_core.heads.table import packed, read_table
from tests import planted

pytestmark = pytest.mark.slow
WORDS = ["the", "cat", "sees", "a", "dog", "and", "the", "bird"]


def texts(seed: int) -> list[LinkedText]:
    """Twelve words a text; three of them have two links each, to words anywhere."""
    rng, results = np.random.default_rng(seed), []
    for i in range(300):
        words = tuple(f"word{i}-{j}" for j in range(12))
        queries = rng.choice(12, 3, replace=False).tolist()
        links = tuple((q, a) for q in queries for a in rng.permutation(12)[:3].tolist() if a != q)
        results.append(LinkedText(words, (), (), " ".join(words), i, links=links, name="citation"))
    return results


def called(gold: list[LinkedText], read: list[LinkedText]) -> list[tuple[str, int]]:
    """Random heads, but head 1 looks at a word that `read` links to, and head 2 at the next word."""
    rng, looks = np.random.default_rng(5), []
    for text in read:
        looks.append(rng.integers(0, 12, (12, 2, 6)))
        looks[-1][:, 0, 2] = np.minimum(np.arange(12) + 1, 11)
        for query, answer in rng.permutation(text.links):
            looks[-1][query, 0, 1] = answer
    return planted.called(list(LinkQuestions().scored(planted.frame_of_looks(gold, looks), "links")))


def test_a_planted_head_is_found_and_shuffled_gold_finds_none():
    read = texts(1)
    assert called(read, read) == [("link:citation", 1)]
    assert called([replace(a, links=b.links) for a, b in zip(read, texts(2), strict=True)], read) == []


def test_a_head_that_looks_at_the_same_word_is_no_better_than_that_rule():
    rng, gold = np.random.default_rng(3), []
    for text in texts(4):
        first, second = sorted(rng.permutation(12)[:2].tolist())
        words = tuple(text.words[first] if i == second else word for i, word in enumerate(text.words))
        gold.append(replace(text, words=words, links=((second, first),)))
    assert called(gold, gold) == []


def test_a_decoder_is_asked_links_to_earlier_words():
    gold = texts(1)
    frame = planted.frame_of_looks(gold, [np.zeros((12, 1, 6), int)] * 300, is_causal=True)
    cases = LinkQuestions(Visibility(is_causal=True)).cases(frame)["link:citation"]
    earlier = {(query, answer) for query, answer in gold[7].links if answer < query}
    assert {(case.query, case.answer) for case in cases if case.text == 7} == earlier


@pytest.fixture
def files(tmp_path, few_sentences) -> list[str]:
    """Two shards of the same texts and two names of links, the words once as a list and once as a text."""
    rng, shards = np.random.default_rng(6), ([], [])
    for i in range(30):
        words = rng.permutation(WORDS).tolist()
        links = [[q, a] for q in range(8) for a in rng.permutation(8)[:2].tolist() if a != q]
        row = {"links": links, "name": "first" if i % 3 else "second"}
        shards[0].append(json.dumps(row | {"words": words}))
        shards[1].append(json.dumps(row | {"text": " ".join(words)}))
    paths = [tmp_path / "words.jsonl", tmp_path / "text.jsonl"]
    for path, lines in zip(paths, shards, strict=True):
        path.write_text("\n".join(lines))
    return list(map(str, paths))


def test_the_score_is_a_slow_counts_and_words_are_their_text(files):
    model, hits = load_model("classroom"), []
    for row in map(json.loads, Path(files[1]).read_text().splitlines()):
        weights = trace(row["text"], model).weights * ~np.eye(8, dtype=bool)
        for query in {q for q, _ in row["links"]} if row["name"] == "first" else ():
            hits.append(np.isin(weights[:, :, query].argmax(-1), [a for q, a in row["links"] if q == query]))
    tables = [make.find_roles(model, [file]) for file in files]
    for answer in (table.by_key["link:first"] for table in tables):
        assert answer.n == len(hits)
        np.testing.assert_allclose(answer.score, np.mean(hits, axis=0), atol=1e-6)
    assert packed(tables[0])["answers"] == packed(tables[1])["answers"]


def test_command_parts_and_library_give_one_table(files, tmp_path, capsys):
    table, path = make.find_roles(load_model("classroom"), files), tmp_path / "table.json.gz"
    command = ["roles", *files, "--model", "classroom", "--all", "--format", "csv", "--table", str(path)]
    assert main(command) == 0
    assert capsys.readouterr().out.count("link:first") == table.shape[0] * table.shape[1]
    for part in (2, 1):
        compute_part("roles", {"model": "classroom"}, files, part, 2, tmp_path / "parts")
    results = read_table(path), merge_parts(tmp_path / "parts").result()
    assert [json.dumps(packed(each)) for each in results] == [json.dumps(packed(table))] * 2
    options = ["--untrained", "--seed", "3", "--part", "1/1", "--out", str(tmp_path / "other")]
    assert main(["roles", *files, "--model", "classroom", *options]) == 0
    assert merge_parts(tmp_path / "other").about["seed"] == 3
    frame = table.to_frame()
    pd.testing.assert_frame_equal(results[0].to_frame(), frame, atol=1e-4)
    assert frame.groupby("question").held_out.count().eq(1).all()


BAD = {"name": ["", 7], "text": ["the cat"], "words": [[], ["the", 3]]}
BAD["links"] = [[[0, 8]], [[2, 2]], [[0, -1]], [[0, True]], [[0]], 3]


@pytest.mark.parametrize("change", [{key: value} for key, values in BAD.items() for value in values])
def test_a_broken_line_is_refused_by_file_and_number(change, tmp_path, capsys):
    good = {"words": WORDS, "links": [[2, 1], [2, 4], [6, 0]], "name": "pair"}
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, [good, good | change])))
    assert main(["roles", str(tmp_path / "own.jsonl"), "--model", "classroom"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "Line 2 of own.jsonl" in line
