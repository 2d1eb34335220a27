"""Every number on Inside for three sentences and both models, against a walk in plain NumPy from the model's own files.

Only X and the four matrices are taken from the engine; everything after them is computed here, in double precision.
"""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from boards import found, matrix, one, prose
from test_inside import open_inside, walk

from mha_core import layer_details, load_model
from mha_core.wording import percent
from pages.parts.inside.numbers import format_bytes

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
    return SimpleNamespace(**vars(heads[h]), heads=heads, concat=concat, parts=parts, output=sum(parts) + b_o)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("minilm", text) for text in SENTENCES),
        ("smollm2", SENTENCES[0]),
        *(pytest.param("smollm2", text, marks=pytest.mark.long) for text in SENTENCES[1:]),
    ],
)
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
    q = np.concatenate([head.q for head in truth.heads], axis=1)
    parts = np.stack([part[10] for part in truth.parts])
    for screen, name, table, width in (
        ("heads", "Q-all", q, 32),
        ("w_o", "Z", truth.concat, 32),
        ("parts", "parts", parts, 0),
    ):
        row, column = (int(rng.integers(size)) for size in table.shape)
        at = open_inside(head="4-2", pin="10", at=screen, cell=f"{name}:{row + 1}:{column + 1}")
        block, numbers = one(at, "sum")
        products = numbers[block["products"] :][: block["count"]].sum() + (block["added"] or 0)
        assert products == pytest.approx(table[row, column], abs=1e-3), name
        assert f" of head {(column // width if width else row) + 1} = " in block["title"], name
    at = open_inside(head="4-2", pin="10", at="parts", cell="parts:14:5")
    assert one(at, "sum")[0]["value"] == pytest.approx(truth.output[10, 4], abs=1e-3)
    assert one(at, "sum")[0]["title"].startswith("output of it, number 5 = "), "no head's: the sum of all"
    assert "b_o, number 5: " in prose(open_inside(head="4-2", pin="10", at="parts", cell="parts:13:5"))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Of each row; what is NaN is not there."""
    powers = np.nan_to_num(np.exp(scores - np.nanmax(scores, axis=1, keepdims=True)))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("name", PLACES)
def test_every_number_of_one_head_or_many_is_that_of_numpy(name, text):
    model, (layer, h) = load_model(name), PLACES[name]
    run = layer_details(model.tokenizer.encode(text), model, layer)
    truth, i, w = by_numpy(run, h), run.n - 2, run.projections
    at = walk(part="One head or many", text=text, model=name, head=f"{layer + 1}-{h + 1}", pin=str(i))
    seen = i + 1 if model.is_causal else run.n
    one_row = softmax(sum(head.raw for head in truth.heads) / np.sqrt(w.n_heads * w.d_k))[i, :seen]
    rows = np.stack([one_row, *(head.weights[i, :seen] for head in truth.heads)])
    np.testing.assert_allclose(matrix(at, "one-or-many"), rows, atol=5e-5)
    said = prose(at)
    assert f": {percent(one_row.max())}. Split, its {w.n_heads} heads look" in said
    assert f"most at {len(set(rows[1:].argmax(axis=1)))} different tokens" in said
    of_the_costs(at, run)
    of_the_ranks(at, run, h)
    of_the_hulls(at, run, truth, h, seen)


def of_the_costs(at, run) -> None:
    """Counted by hand: a product of (a, b) and (b, c) takes 2abc operations, a matrix of (a, b) holds ab numbers."""
    w, n, d = run.projections, run.n, run.projections.d_model
    (table,) = [block for block, _ in found(at) if block.get("id") == "costs"]
    lines = {line[0]: line[1:] for line in table["rows"]}
    wide, shapes = w.n_heads * w.d_k, [w.n_heads] * 2 + ([w.n_kv_heads] if w.n_kv_heads < w.n_heads else [])
    narrow = [kv * w.d_k for kv in shapes]
    scores = 2 * n * n * wide
    expected = {
        "parameters of W_q, W_k, W_v, W_o": [2 * d * wide + 2 * d * kv for kv in narrow],
        "operations: Q, K, V": [2 * n * d * (wide + 2 * kv) for kv in narrow],
        "operations: scores": [scores for _ in narrow],
        "operations: weights × V": [scores for _ in narrow],
        "operations: W_o": [2 * n * wide * d for _ in narrow],
    }
    expected["operations: all"] = [
        2 * n * d * (wide + 2 * kv) + 2 * scores + 2 * n * wide * d for kv in narrow
    ]
    expected["operations, counted by torch"] = expected["operations: all"]
    for name, numbers in expected.items():
        assert lines[name] == [f"{number:,}" for number in numbers], name


def of_the_ranks(at, run, h: int) -> None:
    """From the large product itself."""
    w = run.projections
    shared = w.n_heads // w.n_kv_heads
    forms = [w.W_q[i].astype(np.float64) @ w.W_k[i // shared].T.astype(np.float64) for i in range(w.n_heads)]
    block, numbers = one(at, "curve")
    for line, form in zip(block["lines"], (forms[h], sum(forms)), strict=True):
        singular = np.linalg.svd(form, compute_uv=False)
        limit = singular[0] * len(form) * np.finfo(np.float32).eps
        assert line["label"].endswith(f": {(singular > limit).sum()}")
        shown = numbers[line["at"] :][: line["count"]]
        np.testing.assert_allclose(shown, singular[: line["count"]], atol=1e-5 * singular[0])
        np.testing.assert_allclose(singular[line["count"] :], 0, atol=1e-9 * singular[0])


def of_the_hulls(at, run, truth, h: int, seen: int) -> None:
    """The first point is the mix of the values drawn with it; the second is as far outside as is said."""
    w, i = run.projections, run.n - 2
    inner, outer = [block for block, _ in found(at) if block["type"] == "plane"]
    share = truth.weights[i, :seen]
    np.testing.assert_allclose(share @ np.array(inner["points"]), inner["marks"][0], atol=1e-3)
    values, total = truth.heads[h].v[:seen], sum(part[i] for part in truth.parts)
    for block, points, mark in (
        (inner, values, truth.z[i]),
        (outer, values @ w.W_o[h].astype(np.float64), total),
    ):
        middle = points.mean(axis=0)
        together = np.concatenate([points, mark[None]]) - middle
        _, _, directions = np.linalg.svd(together, full_matrices=False)
        drawn = np.concatenate([np.array(block["points"]), np.array(block["marks"])])
        flat = together @ directions[:2].T
        sign = np.sign((drawn * flat).sum(axis=0))
        np.testing.assert_allclose(drawn, flat * sign, atol=2e-3 * np.abs(flat).max())
        np.testing.assert_allclose(block["weights"], share, atol=2e-5)
    distances = [
        to_hull(head.v[:seen] @ w.W_o[j].astype(np.float64), total) for j, head in enumerate(truth.heads)
    ]
    count, away = re.search(r"outside the hulls of (\d+) of \d+ heads; ([\d.]+) away", prose(at)).groups()
    assert int(count) == sum(distance > 1e-6 for distance in distances)
    assert float(away) == pytest.approx(distances[h], abs=0.006, rel=2e-3)


def to_hull(points: np.ndarray, target: np.ndarray) -> float:
    """The distance to a convex hull: non-negative least squares, with shares that add up to one (Lawson & Hanson)."""
    heavy = 1e3 * np.abs(points).max()
    equations = np.concatenate([points.T, np.full((1, len(points)), heavy)])
    from scipy.optimize import nnls  # half a second, here alone

    mix, _ = nnls(equations, np.append(target, heavy))
    return float(np.linalg.norm(mix / mix.sum() @ points - target))


@pytest.mark.long
@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("name", PLACES)
def test_every_number_of_the_variants_is_that_of_numpy(name, text):
    model, (layer, h) = load_model(name), PLACES[name]
    run = layer_details(model.tokenizer.encode(text), model, layer)
    across = layer_details(model.tokenizer.encode("The street was too wide."), model, layer).x
    i, w = run.n - 2, run.projections
    plain, made = by_numpy(run, h), ways(run, across, h)
    keys = [key.lower() for key, _, _ in made]
    at = walk(*keys, part="Variants", text=text, model=name, head=f"{layer + 1}-{h + 1}", pin=str(i))
    sentences = re.findall(
        r"looks most at .*?: ([\d.]+ %)\.(?: Its output moves by ([\d.]+) % of its length)?", prose(at)
    )
    costs = re.findall(r"([\d,]+) parameters; K and V of (\d+) tokens: ([\d.]+ \w+) in 16 bits", prose(at))
    assert len(sentences) == len(costs) == len(made)
    for (key, kv, found_now), (best, moved), cost in zip(made, sentences, costs, strict=True):
        shown = np.nan_to_num(matrix(at, f"weights-{key}"))
        np.testing.assert_allclose(shown, found_now.weights, atol=5e-5, err_msg=key)
        assert best == percent(found_now.weights[i].max()), key
        if moved:
            length = np.linalg.norm(found_now.output[i] - plain.output[i]) / np.linalg.norm(plain.output[i])
            assert float(moved) == pytest.approx(100 * length, abs=0.06), key
        n = found_now.weights.shape[1]
        numbers = 2 * w.d_model * w.d_k * (w.n_heads + kv)
        numbers += (w.d_k * (w.n_heads + 2 * kv) + w.d_model) if w.b_q is not None else 0
        assert cost == (f"{numbers:,}", str(n), format_bytes(2 * 2 * n * kv * w.d_k)), key


def ways(run, across: np.ndarray, h: int) -> list[tuple[str, int, SimpleNamespace]]:
    """Every variant by hand: its name on the page, its key heads, and what it gives."""
    own, heads = run.projections.n_kv_heads, run.projections.n_heads
    grouped = own if own < heads else 4
    made = [
        ("MHA", heads, by_numpy(run, h)),
        ("GQA", grouped, _grouped(run, grouped, h)),
        ("MQA", 1, _grouped(run, 1, h)),
    ]
    if not run.is_causal:
        made.append(("Causal", own, _grouped(run, own, h, causal=True)))
    return [*made, ("Cross", own, _grouped(run, own, h, other=across.astype(np.float64)))]


def _grouped(
    run, kv: int, h: int, *, causal: bool = False, other: np.ndarray | None = None
) -> SimpleNamespace:
    """The layer with the keys and values of every group averaged, from x or across to another text."""
    w, x = run.projections, run.x.astype(np.float64)
    keys = x if other is None else other
    outputs, mine = [], None
    for i in range(w.n_heads):
        own = slice(
            (i // (w.n_heads // kv)) * (w.n_kv_heads // kv),
            (i // (w.n_heads // kv) + 1) * (w.n_kv_heads // kv),
        )
        read = [np.mean(getattr(w, name)[own].astype(np.float64), axis=0) for name in ("W_k", "W_v")]
        plus = [0 if b is None else b[own].mean(axis=0) for b in (w.b_k, w.b_v)]
        q = x @ w.W_q[i] + (0 if w.b_q is None else w.b_q[i])
        k, v = keys @ read[0] + plus[0], keys @ read[1] + plus[1]
        if run.rotary is not None:
            q, k = rotated(q, run.rotary.theta), rotated(k, run.rotary.theta)
        raw = q @ k.T / np.sqrt(w.d_k)
        if (run.is_causal or causal) and other is None:
            raw = np.where(np.tril(np.ones_like(raw)) > 0, raw, np.nan)
        weights = softmax(raw)
        mine = weights if i == h else mine
        outputs.append(weights @ v @ w.W_o[i])
    return SimpleNamespace(weights=mine, output=sum(outputs) + (0 if w.b_o is None else w.b_o))


@pytest.mark.long
@pytest.mark.parametrize("text", SENTENCES)
def test_every_number_of_the_rotation_and_the_cache_is_that_of_numpy(text):
    model, (layer, h) = load_model("smollm2"), PLACES["smollm2"]
    run = layer_details(model.tokenizer.encode(text), model, layer)
    w, x, i = run.projections, run.x.astype(np.float64), run.n - 2
    at = walk("rotation", "distance", text=text, model="smollm2", head=f"{layer + 1}-{h + 1}", pin=str(i))
    kv = h // (w.n_heads // w.n_kv_heads)
    for letter, read in (("Q", x @ w.W_q[h]), ("K", x @ w.W_k[kv])):
        near = 2e-5 * (1 + np.abs(read).max())
        np.testing.assert_allclose(matrix(at, f"{letter}-before"), read, atol=near)
        np.testing.assert_allclose(matrix(at, f"{letter}-after"), rotated(read, run.rotary.theta), atol=near)
    pair = w.d_k // 16
    angle = i * run.rotary.theta ** (-2 * pair / w.d_k)
    cos, sin = np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(matrix(at, "turn"), [[cos, -sin], [sin, cos]], atol=1e-5)
    before = (x @ w.W_q[h])[i, [pair, pair + w.d_k // 2]]
    np.testing.assert_allclose(matrix(at, "pair-before")[:, 0], before, atol=1e-4)
    np.testing.assert_allclose(matrix(at, "pair-after")[:, 0], [[cos, -sin], [sin, cos]] @ before, atol=1e-4)
    (table,) = [block for block, _ in found(at) if block.get("id") == "distances"]
    best = int(by_numpy(run, h).weights[i, : i + 1].argmax())
    for line in table["rows"]:
        q_at, k_at = int(line[0]), int(line[1])
        turned = [
            turned_to(one, place, run.rotary.theta)
            for one, place in (((x @ w.W_q[h])[i], q_at), ((x @ w.W_k[kv])[best], k_at))
        ]
        assert float(line[3]) == pytest.approx(turned[0] @ turned[1], abs=2e-3)
    at = open_inside(part="Sizes and costs", at="cache", text=text, model="smollm2")
    (table,) = [block for block, _ in found(at) if block.get("id") == "cache-bytes"]
    each = 2 * model.n_layers * w.n_kv_heads * w.d_k * 4
    lines = {line[0]: line[1] for line in table["rows"]}
    assert lines["kept, measured"] == lines["by the formula"] == lines["new with this token"] == f"{each:,}"
    assert lines["with 9 key heads"] == f"{3 * each:,}"


def turned_to(row: np.ndarray, place: int, base: float) -> np.ndarray:
    """One row turned as the row at that place is."""
    return rotated(np.repeat(row[None], place + 1, axis=0), base)[place]


def test_the_output_without_heads_is_that_of_numpy():
    run = layer_details(load_model().tokenizer.encode(SENTENCES[0]), load_model(), 3)
    truth = by_numpy(run, 1)
    at = open_inside(head="4-2", pin="10", at="gone")
    at.session_state["inside-gone-3"] = [1, 7]
    at.run()
    left = truth.output - truth.parts[1] - truth.parts[7]
    np.testing.assert_allclose(matrix(at, "output-without"), left, atol=1e-4)
    lengths = np.linalg.norm(truth.output[10]), np.linalg.norm(left[10])
    cosine = truth.output[10] @ left[10] / np.prod(lengths)
    assert (
        f"Without 4-2, 4-8 the output of it has cosine {cosine:.3f} with what it was and "
        f"{percent(lengths[1] / lengths[0])} of its length."
    ) in prose(at)
