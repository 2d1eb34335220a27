"""The strongest link is the same wherever one is named: Explore, notebooks, summaries, figures."""

from dataclasses import replace

import numpy as np
import pytest

from mha_core import record_from_weights
from mha_core.display_names import head_name
from mha_core.draw.opening import opening
from mha_core.record.links import heads_by_link, strongest_link

TOKENS = ["[CLS]", "The", "cat", ",", "it", "said", ":", "it", ".", "[SEP]"]
WORDS, SPECIAL = [1, 2, 4, 5, 7], ("[CLS]", "[SEP]")


def record_of(causal, seed=0):
    n = len(TOKENS)
    raw = np.random.default_rng(seed).exponential(size=(3, 4, n, n)) * (np.tri(n) if causal else 1)
    tokens = TOKENS if not causal else ["The", *TOKENS[1:-1], "end"]
    weights = (raw / raw.sum(-1, keepdims=True)).astype(np.float32)
    return record_from_weights(weights, tokens, special=() if causal else SPECIAL, causal=causal)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("query", [None, 4, 6])
def test_it_is_the_largest_weight_between_two_different_words(causal, query):
    record = record_of(causal)
    grid = record.grid()
    words = [*WORDS, 9] if causal else WORDS  # a decoder's first token is none
    best = {}
    for head in np.ndindex(3, 4):
        pairs = [(q, k) for q in ([query] if query else words) for k in words if q != k]
        link = max(pairs, key=lambda pair, head=head: grid.weights[head][pair])
        best[head] = (link, grid.weights[head][link])
        if query is None:
            assert strongest_link(grid, head) == link
            chosen = opening(grid, head_name(head), None, None)
            assert (chosen.pins, chosen.to) == (link[:1], link[1])
    ranked = heads_by_link(grid, query)
    assert [head for head, *_ in ranked] == sorted(best, key=lambda head: -best[head][1])
    assert all((link, pytest.approx(weight)) == best[head] for head, link, weight in ranked)
    if query is None:
        assert f"{head_name(ranked[0][0])} " in repr(record)


def test_a_text_without_two_words_has_none():
    marks = ["[CLS]", ",", "cat", "[SEP]"]
    grid = record_from_weights(np.full((1, 1, 4, 4), 0.25, np.float32), marks, special=SPECIAL).grid()
    assert strongest_link(grid, (0, 0)) is None
    assert heads_by_link(replace(grid, weights=np.zeros_like(grid.weights))) == []
    assert opening(grid, None, None, None).pins == ()
