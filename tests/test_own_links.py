"""Links of the user's own: a planted head is found, shuffled gold finds none, a broken line is named by its number."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mha_core import load_model, trace
from mha_core.cli import main
from mha_core.heads import build_role_table as make
from mha_core.heads.builtin import read_builtin
from mha_core.heads.corpora import LinkedText
from mha_core.heads.part_files import compute_part, merge_parts
from mha_core.heads.questions.links import LinkQuestions
from mha_core.heads.table import packed, read_table
from tests import planted

WORDS = ("the", "cat", "sees", "a", "dog", "and", "the", "bird")
GOOD = {"words": WORDS, "links": [[2, 1], [2, 4], [6, 0]], "name": "pair"}


def texts(seed: int, n: int = 300) -> list[LinkedText]:
    """Twelve words a text; three of them have two links each, to words anywhere."""
    rng, results = np.random.default_rng(seed), []
    for i in range(n):
        words = tuple(f"word{i}-{j}" for j in range(12))
        queries = rng.choice(12, 3, replace=False)
        links = [
            (q, a) for q in queries for a in rng.choice([j for j in range(12) if j != q], 2, replace=False)
        ]
        pairs = tuple((int(q), int(a)) for q, a in links)
        results.append(LinkedText(words, (), (), " ".join(words), i, links=pairs, name="citation"))
    return results


def looks(text: LinkedText, rng: np.random.Generator) -> np.ndarray:
    """Random heads, but head 1 looks at one of the words linked to, and head 2 at the next word."""
    result = rng.integers(0, 12, (12, 2, 6))
    result[:, 0, 2] = np.minimum(np.arange(12) + 1, 11)
    for query, answer in rng.permutation(text.links):
        result[query, 0, 1] = answer
    return result


def rows_of(file: str) -> list[dict]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def called(gold: list[LinkedText], read: list[LinkedText]) -> list[tuple[str, int]]:
    rng = np.random.default_rng(5)
    frame = planted.frame_of_looks(gold, [looks(text, rng) for text in read])
    return planted.called(list(LinkQuestions().scored(frame, "links")))


def test_a_planted_head_is_found_and_shuffled_gold_finds_none():
    read = texts(1)
    assert called(read, read) == [("link:citation", 1)]
    shuffled = [replace(text, links=other.links) for text, other in zip(read, texts(2), strict=True)]
    assert called(shuffled, read) == []


def test_a_head_that_looks_at_the_same_word_earlier_is_no_better_than_that_rule():
    """Every second text says a word again, and that word is linked to the earlier one."""
    rng, gold, seen = np.random.default_rng(3), [], []
    for text in texts(4):
        first, second = sorted(rng.choice(12, 2, replace=False).tolist())
        words = tuple(text.words[first] if i == second else word for i, word in enumerate(text.words))
        gold.append(replace(text, words=words, links=((second, first),)))
        seen.append(rng.integers(0, 12, (12, 2, 6)))
        seen[-1][second, 0, 1] = first
    assert planted.called(list(LinkQuestions().scored(planted.frame_of_looks(gold, seen), "links"))) == []


@pytest.fixture
def files(tmp_path, monkeypatch) -> list[str]:
    """Two shards of texts with links, each linked word by two names."""
    monkeypatch.setattr(make, "read_builtin", lambda: read_builtin()[::10])
    rng = np.random.default_rng(6)
    for name in ("a", "b"):
        rows = []
        for i in range(30):
            words = rng.permutation(WORDS).tolist()
            links = [[q, a] for q in range(8) for a in rng.permutation(8)[:2].tolist() if a != q]
            row = {"links": links, "name": "first" if i % 3 else "second"}
            rows.append(json.dumps(row | ({"words": words} if name == "a" else {"text": " ".join(words)})))
        (tmp_path / f"links-{name}.jsonl").write_text("\n".join(rows))
    return sorted(map(str, tmp_path.glob("links-*.jsonl")))


def test_the_score_is_a_slow_counts_and_command_parts_and_library_agree(files, tmp_path, capsys):
    model = load_model("classroom")
    table = make.find_roles(model, files)
    hits, shape = [], (model.n_layers, model.n_heads)
    for row in (row for file in files for row in rows_of(file)):
        weights = trace(row.get("text") or " ".join(row["words"]), model).weights
        for query in {q for q, _ in row["links"]} if row["name"] == "first" else ():
            answers = [a for q, a in row["links"] if q == query and (a < q or not model.info.is_causal)]
            places = [i for i in range(query if model.info.is_causal else 8) if i != query]
            if answers:
                peaks = np.array(places)[weights[:, :, query + 1][..., np.array(places) + 1].argmax(-1)]
                hits.append(np.isin(peaks, answers))
    answer = table.by_key["link:first"]
    assert answer.n == len(hits)
    np.testing.assert_allclose(answer.score, np.mean(hits, axis=0), atol=1e-6)
    assert answer.score.shape == shape
    command = ["roles", *files, "--model", "classroom", "--all", "--format", "csv", "--table"]
    assert main([*command, str(tmp_path / "table.json.gz")]) == 0
    assert capsys.readouterr().out.count("link:first") == answer.score.size
    assert json.dumps(packed(read_table(tmp_path / "table.json.gz"))) == json.dumps(packed(table))
    for part in (2, 1):
        compute_part("roles", {"model": "classroom"}, files, part, 2, tmp_path / "parts")
    assert json.dumps(packed(merge_parts(tmp_path / "parts").result())) == json.dumps(packed(table))


def test_words_and_their_text_give_the_same_answers(files, tmp_path):
    as_text = [{"text": " ".join(row.pop("words"))} | row for row in rows_of(files[0])]
    (tmp_path / "text.jsonl").write_text("\n".join(map(json.dumps, as_text)))
    find = partial(make.find_roles, load_model("classroom"))
    first, second = (packed(find([file])) for file in (files[0], tmp_path / "text.jsonl"))
    assert any(row["question"]["kind"] == "linked" for row in first["answers"])
    assert json.dumps(first["answers"]) == json.dumps(second["answers"])


@pytest.mark.parametrize(
    "change",
    [
        *({"links": links} for links in ([[0, 8]], [[2, 2]], [[0, -1]], [[0, True]], [[0]], 3)),
        *({"name": ""}, {"name": 7}, {"text": "the cat"}, {"words": []}, {"words": ["the", 3]}),
    ],
)
def test_a_broken_line_is_refused_by_file_and_number(change, tmp_path, capsys):
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, [GOOD, GOOD | change])))
    assert main(["roles", str(file), "--model", "classroom"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "Line 2 of own.jsonl" in line
