"""Every number of one layer, of three sentences and both models, against a walk in plain NumPy.

Only X and the four matrices are taken from the engine; everything after them is computed here, in double precision.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from mha_core import layer_details
from mha_core.layer import ablate_in_layer

SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "Ann gave her dog a bone.",
    "Fish swim, birds fly; stones do neither, as the old man said.",
)
LAYERS = {"model": (0, 3), "smollm2": (13,)}


def rotated(x: np.ndarray, base: float) -> np.ndarray:
    """(n, d_k) turned by its positions, as RoFormer writes it (Su et al. 2021, section 3.4.2), halves as pairs."""
    n, half = len(x), x.shape[1] // 2
    angles = np.outer(np.arange(n), base ** (-np.arange(half) / half))
    a, b = x[:, :half], x[:, half:]
    return np.concatenate(
        [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=1
    )


def by_numpy(run) -> SimpleNamespace:
    """The layer again, head by head, from x and the matrices."""
    w, x = run.projections, run.x.astype(np.float64)
    heads = []
    for i in range(w.n_heads):
        kv = i // (w.n_heads // w.n_kv_heads)
        q, k, v = (
            x @ matrix[head_index] + (0 if bias is None else bias[head_index])
            for matrix, bias, head_index in ((w.W_q, w.b_q, i), (w.W_k, w.b_k, kv), (w.W_v, w.b_v, kv))
        )
        if run.rotary is not None:
            q, k = rotated(q, run.rotary.theta), rotated(k, run.rotary.theta)
        scores = q @ k.T / np.sqrt(w.d_k)
        if run.is_causal:
            scores = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = powers / powers.sum(axis=1, keepdims=True)
        parts = {"q": q, "scores": scores, "weights": weights, "context": weights @ v}
        heads.append(parts | {"contributions": weights @ v @ w.W_o[i]})
    arrays = {name: np.stack([head[name] for head in heads]) for name in heads[0]}
    bias = 0 if w.b_o is None else w.b_o
    return SimpleNamespace(**arrays, output=arrays["contributions"].sum(axis=0) + bias)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("name", ["model", pytest.param("smollm2", marks=pytest.mark.slow)])
def test_every_number_of_a_layer_is_that_of_numpy(name, text, request):
    model = request.getfixturevalue(name)
    for layer in LAYERS[name]:
        run = layer_details(model.tokenizer.encode(text), model, layer)
        truth = by_numpy(run)
        seen = np.isfinite(truth.scores)
        for part, values in vars(truth).items():
            cells = seen if part == "scores" else ...
            reach = 2e-5 * (1 + np.abs(values[cells]).max())
            np.testing.assert_allclose(getattr(run, part)[cells], values[cells], atol=reach, err_msg=part)
        left = truth.output - truth.contributions[1] - truth.contributions[7]
        np.testing.assert_allclose(ablate_in_layer(run, [1, 7]), left, atol=2e-5 * (1 + np.abs(left).max()))
