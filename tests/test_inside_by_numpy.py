"""Every number on Inside for three sentences and both models, against a walk in plain NumPy from the model's own files.

Only X and the four matrices are taken from the engine; everything after them is computed here, in double precision.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from boards import found, matrix, one
from test_inside import open_inside, walk

from mha_core import layer_details, load_model
from mha_core.wording import percent

pytestmark = pytest.mark.slow  # two models, every screen

SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "Ann gave her dog a bone.",
    "Fish swim, birds fly; stones do neither, as the old man said.",
)
PLACES = {"minilm": (3, 1), "smollm2": (13, 8)}


def rotated(x: np.ndarray, base: float) -> np.ndarray:
    """(n, d_k) turned by its positions, as RoFormer writes it (Su et al. 2021, section 3.4.2), halves as pairs."""
    n, half = len(x), x.shape[1] // 2
    angles = np.outer(np.arange(n), base ** (-np.arange(half) / half))
    a, b = x[:, :half], x[:, half:]
    return np.concatenate(
        [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=1
    )


def by_numpy(run, h: int) -> SimpleNamespace:
    """The layer again, head by head, from x and the matrices."""
    w, x = run.projections, run.x.astype(np.float64)
    heads = []
    for i in range(w.n_heads):
        kv = i // (w.n_heads // w.n_kv_heads)
        plus = [
            0 if b is None else b[j].astype(np.float64) for b, j in ((w.b_q, i), (w.b_k, kv), (w.b_v, kv))
        ]
        q, k, v = x @ w.W_q[i] + plus[0], x @ w.W_k[kv] + plus[1], x @ w.W_v[kv] + plus[2]
        turned = (
            (q, k) if run.rotary is None else (rotated(q, run.rotary.theta), rotated(k, run.rotary.theta))
        )
        raw = turned[0] @ turned[1].T
        if run.is_causal:
            raw = np.where(np.tril(np.ones_like(raw)) > 0, raw, np.nan)
        scores = raw / np.sqrt(w.d_k)
        powers = np.nan_to_num(np.exp(scores - np.nanmax(scores, axis=1, keepdims=True)))
        weights = powers / powers.sum(axis=1, keepdims=True)
        heads.append(SimpleNamespace(q=q, k=k, v=v, raw=raw, scores=scores, weights=weights, z=weights @ v))
    concat = np.concatenate([one.z for one in heads], axis=1)
    b_o = 0 if w.b_o is None else w.b_o
    parts = [one.z @ w.W_o[i] for i, one in enumerate(heads)]
    return SimpleNamespace(**vars(heads[h]), concat=concat, parts=parts, output=sum(parts) + b_o)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("name", PLACES)
def test_every_number_on_the_screens_is_that_of_numpy(name, text):
    model, (layer, h) = load_model(name), PLACES[name]
    run = layer_details(model.tokenizer.encode(text), model, layer)
    truth, i = by_numpy(run, h), run.n - 2
    at = walk(text=text, model=name, head=f"{layer + 1}-{h + 1}", pin=str(i))
    weights = np.where(np.isnan(truth.raw), np.nan, truth.weights)
    expected = {
        "X": run.x, "Q": truth.q, "K": truth.k, "V": truth.v, "raw": truth.raw, "scores": truth.scores,
        "weights": weights, "z": truth.z, "Z": truth.concat, "output": truth.output,
        "z-alone": np.stack([truth.z[i]] * 2),
    }  # fmt: skip
    for table, values in expected.items():
        reach = 2e-5 * (1 + np.nanmax(np.abs(values)))
        np.testing.assert_allclose(matrix(at, table), values, atol=reach, err_msg=table)
    np.testing.assert_allclose(
        matrix(at, "parts")[: len(truth.parts)], [part[i] for part in truth.parts], atol=1e-3
    )
    of_the_tables(at, truth, i, model)
    of_the_sums(at, truth, i)


def of_the_tables(at, truth, i: int, model) -> None:
    """The texts in tables: shares of the tokens, and what each head adds."""
    tokens = next(block for block, _ in found(at) if block.get("id") == "tokens")
    n = len(truth.output)
    seen = i + 1 if model.is_causal else n
    assert [line[2] for line in tokens["rows"][:seen]] == [
        percent(share) for share in truth.weights[i, :seen]
    ]
    heads, _ = one(at, "heads")
    for row, part in zip(heads["rows"], truth.parts, strict=False):
        along = part[i] @ truth.output[i] / (truth.output[i] @ truth.output[i])
        assert (row["norm"], row["share"]) == pytest.approx((np.linalg.norm(part[i]), along), abs=2e-3)
    block, numbers = one(at, "softmax")
    powers = np.exp(truth.scores[i, :seen] - np.nanmax(truth.scores[i, :seen]))
    np.testing.assert_allclose(numbers[block["powers"] :][:seen], powers, atol=1e-4)
    np.testing.assert_allclose(numbers[block["weights"] :][:seen], truth.weights[i, :seen], atol=1e-4)


def of_the_sums(at, truth, i: int) -> None:
    """Behind each number that a screen opens with: its products, and what they add up to."""
    sums = [(block, numbers) for block, numbers in found(at) if block["type"] == "sum"]
    assert len(sums) == 4, "Q, raw, z and output"
    tables = (truth.q, truth.raw, truth.z, truth.output)
    for (block, numbers), table in zip(sums, tables, strict=True):
        row = table[i]
        assert np.nanmin(np.abs(row - block["value"])) < 1e-3
        products = numbers[block["products"] :][: block["count"]].astype(np.float64)
        assert block["sum"] == pytest.approx(products.sum(), abs=1e-3)
        assert block["value"] == pytest.approx(block["sum"] + (block["added"] or 0), abs=1e-3)


def test_every_chosen_number_has_its_own_products():
    tokens = load_model().tokenizer.encode(SENTENCES[0])
    truth = by_numpy(layer_details(tokens, load_model(), 3), 1)
    tables = {
        "Q": truth.q,
        "K": truth.k,
        "V": truth.v,
        "raw": truth.raw,
        "z": truth.z,
        "output": truth.output,
    }
    screens = {"Q": "qkv", "K": "qkv", "V": "qkv", "raw": "scores", "z": "z", "output": "output"}
    rng = np.random.default_rng(3)
    for name, table in tables.items():
        row, column = (int(rng.integers(size)) for size in table.shape)
        at = open_inside(head="4-2", pin="10", at=screens[name], cell=f"{name}:{row + 1}:{column + 1}")
        block, numbers = one(at, "sum")
        products = numbers[block["products"] :][: block["count"]].sum() + (block["added"] or 0)
        assert products == pytest.approx(table[row, column], abs=1e-3), name
        assert block["value"] == pytest.approx(table[row, column], abs=1e-3), name
