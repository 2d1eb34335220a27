"""`heads …` on the command line: the rows as documented, counted again from the weights."""

import argparse
import json
from collections import Counter
from itertools import product

import numpy as np
import once
import pytest

from mha_core import trace, trace_tokens
from mha_core.heads import studies
from mha_core.heads.cli import add_heads_parser
from tests.test_corpus import DONT, GO, line

TREEBANK = "\n".join(
    [
        line("1", "The", "2", "det"),
        line("2", "dog", "3", "nsubj"),
        line("3", "saw", "0", "root"),
        line("4", "him", "3", "obj"),
        "",
        *DONT,
        *GO,
    ]
)


# The same treebank by hand: words, and of each dependent its head and relation, all from 0.
GOLD = (
    (("The", "dog", "saw", "him"), ((0, 1, "det"), (1, 2, "nsubj"), (3, 2, "obj"))),
    (("Do", "n't", "go"), ((0, 2, "aux"), (1, 2, "advmod"))),
    (("Go", "home"), ((1, 0, "advmod:x"),)),
)


@pytest.fixture
def heads(capsys):
    """Run the command; gives exit code, what was printed and what was said."""

    def run(*arguments: object) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        add_heads_parser(parser.add_subparsers(required=True))
        args = parser.parse_args(["heads", *map(str, arguments)])
        code = args.run(args)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(autouse=True)
def few_builtin_sentences(monkeypatch):
    """A profile reads the built-in sentences too: here every tenth of them."""
    from mha_core.heads import studies
    from mha_core.heads.builtin import read_builtin

    monkeypatch.setattr(studies, "read_builtin", lambda path: read_builtin(path)[::10])


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "small.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    return path


def test_the_rows_are_counted_from_the_weights_themselves(heads, treebank, model):
    """Word by word: whose row (or column) peaks at the head, [CLS], [SEP] and the word itself left out."""
    hits, cases = Counter(), Counter()
    for words, gold in GOLD:
        tokens = model.tokenizer.encode_words(words)
        pieces, spans = trace_tokens(tokens, model).weights, [(w.first, w.stop) for w in tokens.words]
        columns = np.stack([pieces[..., a:b].sum(-1) for a, b in spans], axis=-1)
        weights = np.stack([columns[:, :, a:b].mean(2) for a, b in spans], axis=2)
        for (dependent, head, relation), la, h in product(gold, range(6), range(12)):
            others = [i for i in range(len(words)) if i != dependent]
            row, column = weights[la, h, dependent], weights[la, h, :, dependent]
            for direction, given in (("dep->head", row), ("head->dep", column)):
                hits[relation, direction, la + 1, h + 1] += others[given[others].argmax()] == head
                cases[relation, direction, la + 1, h + 1] += 1
    rows = json.loads(heads("relations", treebank, "--all", "--batch-size", 2)[1])["rows"]
    found = {
        (r["relation"], r["direction"], r["layer"], r["head"]): r for r in rows if r["relation"] != "all"
    }
    assert set(found) == set(cases)
    for key, row in found.items():
        assert (row["n"], row["accuracy"]) == (cases[key], pytest.approx(hits[key] / cases[key])), key


@pytest.fixture(scope="module")
def study():
    """What the built-in sentences tell, all of them: made before a test replaces what makes it."""
    return once.findings().study


@pytest.fixture
def known(monkeypatch, study):
    """The built-in sentences, which every profile of a corpus reads too, are read once for all tests."""
    monkeypatch.setattr(studies, "study_builtin", lambda *_, **__: study)


@pytest.mark.slow
def test_a_profile_has_every_measure_and_a_role(heads, tmp_path, model, known):
    path = tmp_path / "texts.txt"
    texts = (("The dog saw the other dog.", 9), ("Rain falls on the roof.", 8))
    path.write_text("".join(f"{text}\n" for text, _ in texts) * 15)  # 30 texts are the least for a role
    code, text, _ = heads("profile", path)
    found = json.loads(text)
    assert (code, found["n_texts"], len(found["heads"])) == (0, 30, 72)
    expected = {"previous", "next", "self", "first", "last", "cls", "sep", "period", "comma", "entropy"}
    expected |= {"confidence", "distance", "peak", "rare", "lift", "copy", "copy_mass", "role", "label"}
    assert expected <= set(found["heads"][0])
    assert found["n_copies"] == 15
    by_name = {(row["layer"], row["head"]): row for row in found["heads"]}
    assert list(by_name) == [(layer, head) for layer in range(1, 7) for head in range(1, 13)]
    back = by_name[1, 3]
    assert (back["role"], back["label"], back["n"]) == ("positional", "previous token", 30)
    assert back["previous"] > 0.8
    assert back["previous"] == pytest.approx(back["distance"]["-1"])
    # The same by hand: the mean of the left diagonal over all rows, then over the texts.
    shares = [np.trace(trace(text, model).weights[0, 2], -1) / n for text, n in (texts[0], texts[1])]
    assert back["previous"] == pytest.approx(np.mean(shares), abs=1e-5)
    # A peak is the share of the rows that reach so far whose largest weight lies there.
    looks = [trace(text, model).weights[0, 2].argmax(-1) for text, _ in texts]
    for step in (-10, -2, -1, 0, 1):
        hits = sum(int((at == np.arange(len(at)) + step).sum()) for at in looks)
        rows = sum(max(len(at) - abs(step), 0) for at in looks)
        assert back["peak"][str(step)] == pytest.approx(hits / max(rows, 1)), step
