"""The page Inside without a browser: each number that it draws against the record and against torch."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from boards import boards, flat, found, matrix, one, pick, prose
from streamlit.testing.v1 import AppTest

from mha_core import layer_details, load_model, trace
from mha_core.checkpoints import untrained_encoder
from mha_core.families.bert import EncoderConfig
from mha_core.inside import ScoreEdit
from pages.parts.inside.edit import score_edits
from pages.parts.inside.example import read_example
from pages.parts.inside.numbers import format_bytes, format_count
from pages.parts.inside.sizes import read_own

ROOT = Path(__file__).parent.parent
TIRED = "The animal didn't cross the street because it was too tired."
PARTS = ("Step by step", "By hand", "One head or many", "Variants", "Sizes and costs")
NEAR = 2e-5


def open_inside(**query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page("pages/inside.py")
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception, at.exception[0].message
    return at


@pytest.fixture(scope="module")
def odd_model():
    """d_model 35, 5 heads of 7, 3 layers: no size that could be mistaken for another."""
    real = load_model("minilm")
    config = EncoderConfig(real.config.vocab_size, d_model=35, n_layers=3, n_heads=5, d_ff=13)
    encoder = untrained_encoder(config, seed=23)
    generator = torch.Generator().manual_seed(7)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4, generator=generator)
    return replace(
        real, encoder=encoder.eval().requires_grad_(False), config=config, digest="odd for the page"
    )


@pytest.fixture(params=["minilm", "odd"])
def page(request, monkeypatch, odd_model):
    """The walk on layer 2, head 3, from the fifth token; and the model it shows."""
    model = load_model("minilm") if request.param == "minilm" else odd_model
    monkeypatch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
    return open_inside(head="2-3", pin="4"), model


def test_every_matrix_of_the_walk_is_the_records(page):
    at, model = page
    record = trace(TIRED, model)
    truth = layer_details(record.tokens, model, 1)
    used = truth.projections
    expected = {
        "X": truth.x,
        "W_q": used.W_q[2], "W_k": used.W_k[2], "W_v": used.W_v[2],
        "b_q": used.b_q[2][None], "b_k": used.b_k[2][None], "b_v": used.b_v[2][None],
        "Q": truth.q[2], "K": truth.k[2], "V": truth.v[2],
        "weights": record.weights[1, 2],
        "Z": np.concatenate(list(truth.context), axis=-1),
        "z": np.stack([truth.context[2, 4]] * 2),
        "output": truth.output,
        "parts": np.concatenate([truth.contributions[:, 4], truth.projections.b_o[None], truth.output[4][None]]),
    }  # fmt: skip
    for name, values in expected.items():
        np.testing.assert_allclose(matrix(at, name), values, atol=NEAR, err_msg=name)
    scores = next(pick(b, n) for b, n in found(at) if b.get("id") == "scores" and b["type"] == "matrix")
    np.testing.assert_allclose(scores, truth.scores[2], atol=NEAR)


def test_every_matrix_of_the_walk_is_torchs(page):
    at, model = page
    d, h = model.d_model, model.n_heads
    attention = model.encoder.layer(1).attention
    theirs = torch.nn.MultiheadAttention(d, h, batch_first=True)
    with torch.no_grad():
        linears = [getattr(attention, name) for name in ("W_q", "W_k", "W_v")]
        theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in linears]))
        theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in linears]))
        theirs.out_proj.load_state_dict(attention.W_o.state_dict())
        x = torch.from_numpy(matrix(at, "X").copy())[None]
        output, weights = theirs(x, x, x, average_attn_weights=False)
    np.testing.assert_allclose(matrix(at, "output"), output[0], atol=NEAR)
    np.testing.assert_allclose(matrix(at, "weights"), weights[0, 2], atol=NEAR)
    said = prose(at)
    printed = re.search(r"Equal to torch\.nn\.MultiheadAttention within ([\d.e-]+)", said)
    assert printed, said
    assert float(printed[1]) < 1e-5


def test_the_followed_token_adds_up_number_by_number(page):
    at, model = page
    record = trace(TIRED, model)
    truth = layer_details(record.tokens, model, 1)
    block, numbers = one(at, "follow")
    n, d_k, d_v = len(block["tokens"]), block["d_k"], block["d_v"]

    def take(name, *shape):
        return numbers[block[name] : block[name] + int(np.prod(shape))].reshape(shape)

    np.testing.assert_allclose(take("q", d_k), truth.q[2, 4], atol=NEAR)
    np.testing.assert_allclose(take("k", n, d_k), truth.k[2], atol=NEAR)
    np.testing.assert_allclose(take("products", n, d_k).sum(axis=1), take("raw", n), atol=1e-4)
    np.testing.assert_allclose(take("raw", n) / block["divisor"], truth.scores[2, 4], atol=NEAR)
    np.testing.assert_allclose(take("weights", n), record.weights[1, 2, 4], atol=NEAR)
    np.testing.assert_allclose(take("weighted", n, d_v).sum(axis=0), truth.context[2, 4], atol=NEAR)
    np.testing.assert_allclose(take("z", d_v), truth.context[2, 4], atol=NEAR)


def test_the_parts_of_the_heads_are_the_records(page):
    at, model = page
    record = trace(TIRED, model)
    truth = layer_details(record.tokens, model, 1)
    block, _ = one(at, "heads")
    output = truth.output[4]
    for row, part in zip(block["rows"], [*truth.contributions[:, 4], truth.projections.b_o], strict=True):
        assert row["norm"] == pytest.approx(np.linalg.norm(part), abs=1e-4)
        assert row["share"] == pytest.approx(part @ output / (output @ output), abs=1e-4)
    assert sum(row["share"] for row in block["rows"]) == pytest.approx(1, abs=1e-4)
    assert [row["label"] for row in block["rows"]][:3] == ["2-1", "2-2", "2-3"]
    assert block["total"] == pytest.approx(np.linalg.norm(output), abs=1e-4)


def test_it_looks_at_animal_on_the_page_that_opens_first():
    assert "it looks most at animal: 67.7 %" in prose(open_inside())


@pytest.mark.parametrize(
    ("query", "mask", "divisor"),
    [
        ({"causal": "true"}, "back", 32**0.5),
        ({"divide": "false"}, "none", 1.0),
        ({"temperature": "2.0"}, "none", 2 * 32**0.5),
    ],
)
def test_what_a_link_switches_changes_the_numbers_at_once(query, mask, divisor):
    at = open_inside(head="4-2", pin="10", **query)
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    scores = truth.q[1] @ truth.k[1].T / divisor
    if mask == "back":
        scores = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(matrix(at, "weights"), expected, atol=NEAR)
    np.testing.assert_allclose(matrix(at, "z")[1], expected[10] @ truth.v[1], atol=NEAR)
    assert "You changed this layer" in prose(at)
    before, now = matrix(at, "output-edited")
    np.testing.assert_allclose(before, truth.output[10], atol=NEAR)
    assert np.abs(now - before).max() > 1e-3


def test_a_typed_weight_reaches_the_output():
    at = open_inside(head="4-2", pin="10")
    (field,) = [n for n in at.number_input if n.label.startswith("instead of")]
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    assert field.label == f"instead of {truth.projections.W_q[1, 0, 0]:.4f}"
    field.set_value(3.0).run()
    assert not at.exception
    W = truth.projections.W_q[1].copy()
    W[0, 0] = 3.0
    np.testing.assert_allclose(matrix(at, "W_q"), W)
    np.testing.assert_allclose(matrix(at, "Q"), truth.x @ W + truth.projections.b_q[1], atol=NEAR)


def test_typed_scores_are_those_of_the_followed_row_and_nonsense_is_left_out():
    typed = {"scores": {"2": -30.0, "99": 1.0, "x": 2.0, "3": "4"}}
    scene = SimpleNamespace(h=1, query=10, there=tuple("t" * 16))
    assert score_edits(scene, typed) == (ScoreEdit(1, 10, 2, -30.0),)


def test_how_far_the_output_moved_is_said_and_each_weight_before_and_after():
    at = open_inside(head="4-2", pin="10", temperature="2.0")
    before, now = matrix(at, "output-edited")
    moved = np.linalg.norm(now - before)
    share = 100 * moved / np.linalg.norm(before)
    assert f"The output of it moved by {moved:.3f}: {share:.1f} % of its length." in prose(at)
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    powers = np.exp(truth.scores[1, 10] / 2)
    (bars,) = [b for b, _ in found(at) if b.get("id") == "before-after"]
    for j, row in enumerate(bars["rows"]):
        assert row["values"] == pytest.approx([truth.weights[1, 10, j], powers[j] / powers.sum()], abs=NEAR)
        assert row["chosen"] == (abs(row["values"][0] - row["values"][1]) > 5e-4)


def test_a_cell_is_changed_at_the_row_and_column_asked_for():
    at = open_inside(head="4-2", pin="10")
    at.selectbox(key="cell-matrix").set_value("W_v").run()
    at.number_input(key="cell-row-W_v").set_value(7)
    at.number_input(key="cell-column-W_v").set_value(3).run()
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    (field,) = [n for n in at.number_input if n.label.startswith("instead of")]
    assert field.label == f"instead of {truth.projections.W_v[1, 6, 2]:.4f}"
    field.set_value(3.0).run()
    W = truth.projections.W_v[1].copy()
    W[6, 2] = 3.0
    np.testing.assert_allclose(matrix(at, "W_v"), W)
    assert "one changed number of W_v" in prose(at)


def test_a_hidden_token_gets_nothing_and_the_rows_still_add_up():
    at = open_inside(head="4-2", pin="10")
    at.multiselect[0].set_value([2]).run()
    weights = matrix(at, "weights")
    assert not weights[:, 2].any()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=NEAR)
    scores = next(pick(b, n) for b, n in found(at) if b.get("id") == "scores" and b["type"] == "matrix")
    assert [column for column in range(scores.shape[1]) if np.isnan(scores[:, column]).any()] == [2]
    assert np.isnan(scores[:, 2]).all()
    assert "1 hidden" in prose(at)
    assert "Every row adds up to 100.0 %." in prose(at)


def test_the_scaling_is_told_with_the_variance_of_these_very_scores():
    at = open_inside(head="4-2", pin="10")
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    raw = truth.q[1] @ truth.k[1].T

    def told(scores):
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores.var(), 100 * (powers / powers.sum(axis=1, keepdims=True)).max(axis=1).mean()

    (variance, largest), (small, fair) = told(raw), told(raw / 32**0.5)
    found_in = re.search(
        r"variance of ([\d.]+), and the largest weight of a row is on average ([\d.]+) %; "
        r"divided by √32, ([\d.]+) and ([\d.]+) %",
        prose(at),
    )
    assert [float(number) for number in found_in.groups()] == pytest.approx(
        [variance, largest, small, fair], rel=0.1, abs=0.06
    )


def test_each_variant_says_where_the_token_looks_and_how_far_its_output_moved():
    at = open_inside(part="Variants", head="4-2", pin="10", across="A wide street.")
    model = load_model()
    truth = layer_details(trace(TIRED, model).tokens, model, 3)
    causal = np.where(np.tril(np.ones((16, 16))) > 0, truth.scores, -np.inf)
    powers = np.exp(causal - causal.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(matrix(at, "weights-Causal"), weights[1], atol=NEAR)
    output = np.einsum("hnd,hdm->nm", weights @ truth.v, truth.projections.W_o) + truth.projections.b_o
    share = np.linalg.norm(output[10] - truth.output[10]) / np.linalg.norm(truth.output[10])
    best = weights[1, 10].argmax()
    label = trace(TIRED, model).grid().labels[best]
    assert (
        f"it looks most at {label}: {100 * weights[1, 10, best]:.1f} %. Its output moves by {100 * share:.1f} % of"
        in prose(at)
    )
    other = layer_details(trace("A wide street.", model).tokens, model, 3)
    scores = truth.q[1, 10] @ other.k[1].T / 32**0.5
    across = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(matrix(at, "weights-Cross")[10], across, atol=NEAR)
    word = trace("A wide street.", model).grid().labels[across.argmax()]
    assert f"it looks most at {word}: {100 * across.max():.1f} %." in prose(at)
    groups = {b["keys"]: b["owner"] for b, _ in found(at) if b["type"] == "groups" and b["keys"] < 12}
    assert groups == {4: [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], 1: [0] * 12}


def test_a_pair_is_walked_as_a_pair():
    text, pair = "Maria gave the book to her sister.", "She read it."
    at = open_inside(head="2-3", pin="1", text=text, pair=pair)
    record = trace(text, load_model(), pair=pair)
    np.testing.assert_allclose(matrix(at, "weights"), record.weights[1, 2], atol=NEAR)
    other = open_inside(head="2-3", pin="1", text=text, pair="She sold it.")
    record = trace(text, load_model(), pair="She sold it.")
    np.testing.assert_allclose(matrix(other, "weights"), record.weights[1, 2], atol=NEAR)


def test_a_word_in_the_link_is_followed_from_its_first_piece_and_stays_that_word():
    text = "Zbigniew called."
    at = open_inside(head="1-1", pin="2", unit="words", text=text)
    record = trace(text, load_model())
    words = record.grid(words=True)
    first = words.units[2].pieces[0]
    assert first > 2, "the name falls into pieces"
    truth = layer_details(record.tokens, load_model(), 0)
    np.testing.assert_allclose(matrix(at, "z")[1], truth.context[0, first], atol=NEAR)
    assert at.query_params["pin"] in ("2", ["2"])


def test_another_layer_and_head_chosen_on_the_page_are_in_the_link():
    at = open_inside(head="4-2", pin="10")
    at.selectbox(key="inside-layer").set_value(5).run()
    at.selectbox(key="inside-head").set_value(0).run()
    assert at.query_params["head"] in ("6-1", ["6-1"])
    record = trace(TIRED, load_model())
    np.testing.assert_allclose(matrix(at, "weights"), record.weights[5, 0], atol=NEAR)


def test_the_example_by_hand_shows_its_own_numbers():
    at = open_inside(part="By hand")
    x = matrix(at, "X")
    for i in (1, 2):
        q = x @ matrix(at, f"W_q{i}")
        np.testing.assert_allclose(matrix(at, f"Q{i}"), q)
        np.testing.assert_allclose(matrix(at, f"raw{i}"), q @ q.T)
        scores = q @ q.T / 2**0.5
        np.testing.assert_allclose(matrix(at, f"scores{i}"), scores, atol=NEAR)
        weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(matrix(at, f"weights{i}"), weights, atol=NEAR)
        np.testing.assert_allclose(matrix(at, f"Z{i}"), weights @ q, atol=NEAR)
    joined = np.concatenate([matrix(at, "Z1"), matrix(at, "Z2")], axis=1)
    np.testing.assert_allclose(matrix(at, "Z"), joined)
    np.testing.assert_allclose(matrix(at, "output"), joined @ matrix(at, "W_o"), atol=NEAR)
    alone = re.search(r"computed alone differs from its row by ([\d.e-]+);", prose(at))
    assert float(alone[1].rstrip(".")) < 1e-5


def test_a_clean_page_says_that_nothing_is_changed():
    said = prose(open_inside())
    assert "Nothing is changed yet" in said
    assert "You changed" not in said


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "text", [TIRED, "x", "<img src=x onerror=alert(1)> ![x](http://evil.example/x.png)", "word " * 90]
)
def test_every_part_opens_with_any_text(part, text):
    at = open_inside(part=part, text=text)
    shown = [b for data, _ in boards(at) for b in flat(data["blocks"])]
    assert shown
    assert all("evil" not in m.value for m in at.markdown)


def test_an_empty_text_is_answered_in_a_sentence():
    at = open_inside()
    at.text_input(key="text").set_value("   ").run()
    assert not at.exception
    assert not [b for data, _ in boards(at) for b in flat(data["blocks"]) if b["type"] == "matrix"]
    assert any('class="hs-problem"' in element.proto.body for element in at.get("html"))


def test_one_head_or_many_shows_the_rows_it_speaks_of():
    at = open_inside(part="One head or many", head="4-2", pin="10")
    record = trace(TIRED, load_model())
    rows = matrix(at, "one-or-many")
    np.testing.assert_allclose(rows[1:], record.weights[3, :, 10], atol=NEAR)
    truth = layer_details(record.tokens, load_model(), 3)
    scores = np.concatenate(list(truth.q), -1)[10] @ np.concatenate(list(truth.k), -1).T / 384**0.5
    np.testing.assert_allclose(rows[0], np.exp(scores) / np.exp(scores).sum(), atol=NEAR)
    said = f"As one head, it looks most at [CLS]: {100 * rows[0].max():.1f} %"
    assert rows[0].argmax() == 0
    assert said in prose(at)
    assert f"most at {len(set(rows[1:].argmax(axis=1)))} different tokens" in prose(at)
    table = next(b for b, _ in found(at) if b.get("id") == "costs")
    assert all(line[1] == line[2] for line in table["rows"][:-1])
    assert table["rows"][0][1] == "589,824"
    assert "is 32, for W_q has only 32 columns" in prose(at)
    assert "outside the hulls of 12 of 12 heads" in prose(at)


def test_the_variants_show_their_own_weights():
    at = open_inside(part="Variants", head="4-2", pin="10", across="A wide street.")
    record = trace(TIRED, load_model())
    np.testing.assert_allclose(matrix(at, "weights-MHA"), record.weights[3, 1], atol=NEAR)
    assert not np.triu(matrix(at, "weights-Causal"), 1).any()
    assert matrix(at, "weights-Cross").shape == (16, 6)
    said = prose(at)
    assert "591,360 parameters; K and V of 16 tokens: 24.0 KiB" in said
    assert "K and V of 16 tokens: 2.0 KiB" in said


def test_the_configurations_and_the_readers_own():
    at = open_inside(part="Sizes and costs", n="4096", d="4096", h="32", layers="32")
    table = next(b for b, _ in found(at) if b.get("id") == "sizes")
    rows = {line[0]: line for line in table["rows"]}
    assert rows["GPT-3 175B"][1:5] == ["12,288 / 96", "128", "96", "604,028,928"]
    assert rows["LLaMA-2-7B"][8] == "2.0 GiB" == rows["yours"][8]
    assert rows["LLaMA-2-7B"][4] == f"{4 * 4096**2:,}"
    mine, problem = read_own(1000, 16, 1, 0)
    assert mine is None
    assert "992 or 1008 would do" in problem


def test_typed_numbers_of_the_example_are_taken_and_nonsense_is_left_out():
    made = read_example(
        {"X": {"0": 3, "7": -1.5, "8": 9, "x": 1, "1": "2"}, "W_q2": {"0": 5}}, True, "identity"
    )
    assert made.x.tolist() == [[3, 0, 1, 0], [0, 2, 0, -1.5]]
    assert made.weights.W_k[1, 0, 0] == 5
    apart = read_example({"W_q2": {"0": 5}}, False, "identity")
    assert apart.weights.W_k[1, 0, 0] == 0


def test_amounts_are_said_as_people_say_them():
    assert [format_bytes(n) for n in (512, 2048, 3 * 1024**3, 5 * 1024**4)] == [
        "512 bytes",
        "2.0 KiB",
        "3.0 GiB",
        "5.0 TiB",
    ]
    assert [format_count(n) for n in (999, 2.36e6, 5.8e10, 2.7e12)] == [
        "999",
        "2.4 million",
        "58.0 billion",
        "2.7 trillion",
    ]


@pytest.mark.slow
def test_two_texts_or_layers_or_changes_are_never_mistaken_for_each_other():
    first = matrix(open_inside(head="1-1", pin="1"), "weights")
    other_layer = matrix(open_inside(head="2-1", pin="1"), "weights")
    other_text = matrix(open_inside(head="1-1", pin="1", text=TIRED.replace("tired", "wide")), "weights")
    untrained = matrix(open_inside(head="1-1", pin="1", weights="untrained"), "weights")
    for other in (other_layer, other_text, untrained):
        assert np.abs(first - other).max() > 1e-3
