"""A decoder's heads: induction and copies on random tokens said twice, and only what a token can have seen counts."""

from pathlib import Path

import numpy as np
import once
import pytest
from heads_by_hand import looking

from mha_core import load_model
from mha_core.heads.evidence import EvidenceLog
from mha_core.heads.findings import find
from mha_core.heads.repeated import IN_ORDER, N_TEXTS, RepeatedSums, is_repeated, repeated_samples
from mha_core.heads.survey import every_item, survey
from tests.decoder_folders import random_decoder, write_decoder


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("decoder")
    write_decoder(folder, random_decoder("llama", 0, max_position_embeddings=300))
    return load_model(str(folder), device="cpu")


@pytest.fixture(scope="module")
def found(decoder):
    made_of = [Path(__file__), Path(__file__).with_name("decoder_folders.py")]
    return once.once("findings-random-decoder", lambda: find(decoder), keep=True, of=made_of)


def causal(weights):
    """The same rows with what comes later taken away."""
    kept = np.tril(weights)
    return (kept / kept.sum(-1, keepdims=True)).astype(np.float32)


def logged(items, heads):
    """The tables of a decoder with one layer, whose heads are functions of a sample."""
    log = EvidenceLog(1, len(heads), is_causal=True)
    for item in items:
        log.add(np.stack([head(item) for head in heads])[None], item)
    return log.result()


def by_content(item, after):
    """A head that looks at the first copy of the token at hand, or right after it."""
    ids = item.tokens.ids
    rows = range(len(ids) - item.said_twice, len(ids))
    return looking(len(ids), {row: ids.index(ids[row]) + after for row in rows}, 0.95)


def by_distance(item, distance):
    n = len(item.tokens)
    return looking(n, {row: row - distance for row in range(distance, n)}, 0.95)


def test_two_heads_of_minilm_find_the_earlier_copy_and_none_does_induction(model):
    sums, log = RepeatedSums(), EvidenceLog(6, 12)
    survey(repeated_samples(model), model, [(sums, is_repeated), (log, every_item)])
    table, jobs = sums.result(), log.result()
    duplicate, induction = jobs["duplicate"], jobs["induction"]
    assert duplicate.n == induction.n == N_TEXTS * 40
    finds = [head for head, verdict in duplicate.verdicts.items() if verdict]
    assert finds == [(1, 1), (2, 9)]
    assert [round(float(duplicate.score[head]), 3) for head in finds] == [0.688, 0.834]
    assert [round(float(table.duplicate[head]), 2) for head in finds] == [0.26, 0.5]
    assert max(float(duplicate.control[head]) for head in finds) < 0.04
    assert not any(induction.verdicts.values())
    assert float(table.induction.max()) < 0.02


def test_a_perfect_induction_head_scores_one_and_one_that_goes_by_distance_is_told_from_it(decoder):
    heads = [
        lambda item: by_content(item, 1),
        lambda item: by_content(item, 0),
        lambda item: by_distance(item, 39),
        lambda item: by_distance(item, 40),
    ]
    found = logged(repeated_samples(decoder), heads)
    induction, duplicate = found["induction"], found["duplicate"]
    assert induction.n == duplicate.n == N_TEXTS * 40
    # A token drawn twice within a text has its first copy elsewhere: of these small vocabularies some have.
    assert induction.score[0, 0] > 0.9
    assert induction.score[0, 2] == 1.0
    assert duplicate.score[0, 3] == 1.0
    assert [induction.verdict(0, head) for head in range(4)] == ["specialist", "none", "unsure", "none"]
    assert [duplicate.verdict(0, head) for head in range(4)] == ["none", "specialist", "none", "unsure"]
    assert induction.control[0, 0] < 0.12
    assert induction.mean_mass[0, 2] == pytest.approx(0.95, abs=1e-6)


def test_induction_and_copies_are_what_a_slow_count_finds(decoder):
    rng = np.random.default_rng(8)
    items = list(repeated_samples(decoder))
    weights = [causal(rng.exponential(size=(3, len(i.tokens), len(i.tokens))) ** 3) for i in items]
    log = EvidenceLog(1, 3, is_causal=True)
    for item, one in zip(items, weights, strict=True):
        log.add(one[None], item)
    found = log.result()
    for name, after in (("duplicate", 0), ("induction", 1)):
        hits, mass, control, n, chance = np.zeros(3), np.zeros(3), np.zeros(3), 0, []
        offsets = []
        for item, one in zip(items, weights, strict=True):
            ids = item.tokens.ids
            for row in range(40, 80):
                for head in range(3):
                    peak = max(range(80), key=lambda k: one[head, row, k])
                    if item.sentence.role == IN_ORDER:
                        hits[head] += peak == row - 40 + after
                        mass[head] += one[head, row, row - 40 + after]
                    else:
                        control[head] += peak == row - 40 + after
                if item.sentence.role == IN_ORDER:
                    n += 1
                    chance.append(1 / (row + 1))
                else:
                    offsets.append(ids.index(ids[row]) + after - row)
        table = found[name]
        assert table.n == n
        np.testing.assert_allclose(table.score[0], hits / n, atol=1e-6)
        np.testing.assert_allclose(table.mean_mass[0], mass / n, atol=1e-6)
        np.testing.assert_allclose(table.control[0], control / n, atol=1e-6)
        fixed = max(offsets.count(o) for o in set(offsets)) / n
        assert table.baseline == pytest.approx(max(np.mean(chance), fixed))
