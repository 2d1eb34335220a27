"""The worked example of the field, with every number computed by hand.

Two tokens, X = [[1, 0, 1, 0], [0, 2, 0, 2]]; two heads of width 2; head 1 adds columns 1+3 and 2+4 of X, head 2
the same the other way round, each for Q, K and V; W_o is the identity.
"""

import math

import pytest
import torch

from mha_core import MultiHeadAttention

X = torch.tensor([[1.0, 0, 1, 0], [0, 2, 0, 2]])
W1 = torch.tensor([[1.0, 0], [0, 1], [1, 0], [0, 1]])
W2 = torch.tensor([[0.0, 1], [1, 0], [0, 1], [1, 0]])

# Q1 = K1 = V1 = X W1 = [[2, 0], [0, 4]], so Q1 K1ᵀ = [[4, 0], [0, 16]] and, over sqrt(2), [[2.83, 0], [0, 11.3]].
# Head 2 has its columns swapped, and so the same products.
SCORES = [[4 / math.sqrt(2), 0.0], [0.0, 16 / math.sqrt(2)]]
# softmax([2.8284, 0]) = [0.94419, 0.05581]; softmax([0, 11.3137]) = [0.0000122, 0.9999878]
FIRST, SECOND = 1 / (1 + math.exp(-4 / math.sqrt(2))), 1 / (1 + math.exp(-16 / math.sqrt(2)))
WEIGHTS = [[FIRST, 1 - FIRST], [1 - SECOND, SECOND]]
# Times V1 = [[2, 0], [0, 4]]: [[1.88839, 0.22323], [0.0000244, 3.9999511]]; head 2 gives the same, columns swapped.
OUTPUT = [[1.8883856, 0.2232289, 0.2232289, 1.8883856], [0.0000244, 3.9999512, 3.9999512, 0.0000244]]


@pytest.fixture
def layer():
    layer = MultiHeadAttention(4, 2, bias=False)
    with torch.no_grad():
        for linear in (layer.W_q, layer.W_k, layer.W_v):
            linear.weight.copy_(torch.cat([W1, W2], dim=1).T)
        layer.W_o.weight.copy_(torch.eye(4))
    return layer


def test_every_step_is_the_one_computed_by_hand(layer):
    output, details = layer(X, details=True)
    close = {"atol": 1e-5, "rtol": 0}
    for projected in (details.q, details.k, details.v):
        assert projected[0].tolist() == [[2, 0], [0, 4]]
        assert projected[1].tolist() == [[0, 2], [4, 0]]
    torch.testing.assert_close(details.scores, torch.tensor([SCORES, SCORES]), **close)
    assert (round(FIRST, 5), round(1 - SECOND, 7)) == (0.94419, 1.22e-05)
    torch.testing.assert_close(details.weights, torch.tensor([WEIGHTS, WEIGHTS]), **close)
    torch.testing.assert_close(output, torch.tensor(OUTPUT), **close)


def test_one_token_computed_alone_equals_its_row_of_the_matrix_form(layer):
    output, weights = layer(X)
    for i in range(2):
        row, row_weights = layer(X[i : i + 1], X)
        torch.testing.assert_close(row[0], output[i])
        torch.testing.assert_close(row_weights[:, 0], weights[:, i])
