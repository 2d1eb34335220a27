"""The page Inside without a browser: each number that it draws against the record and against torch."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from boards import Walked, assert_spectra, boards, flat, found, matrix, one, prose, words_of
from streamlit.testing.v1 import AppTest
from visit import link as address
from visit import open_page, picture, run, unopened

from mha_core import layer_details, load_model, projections_of, trace
from mha_core.checkpoints import untrained_encoder
from mha_core.families.bert import EncoderConfig
from mha_core.inside import (
    CellEdit,
    Edits,
    ScoreEdit,
    distance_to_hull,
    example,
    product_at,
    run_layer,
    sum_of_heads,
)
from mha_core.rotary import Rotary
from pages.parts.inside import (
    cache_growth,
    changes,
    many,
    origin_panel,
    picking,
    rotation,
    scene,
    sizes,
    steps,
)
from pages.parts.inside.changes import edits_of, read_changes, said_changes
from pages.parts.inside.example import as_text, read_example, read_typed
from pages.parts.inside.numbers import format_bytes, format_count
from pages.parts.inside.sizes import read_own
from pages.parts.inside.stage import digits, written_sum
from pages.parts.picture.tiles import Board
from pages.parts.serve import cache

TIRED = "The animal didn't cross the street because it was too tired."
PARTS = ("Step by step", "By hand", "One head or many", "Variants", "Sizes and costs")
NEAR = 2e-5


def open_inside(**query: str) -> AppTest:
    at = unopened("pages/inside.py", **query).run()
    assert not at.exception, at.exception[0].message
    return at


SCREENS = (
    *("sentence", "x", "qkv", "heads", "rotation", "distance", "scores", "scaled"),
    *("weights", "z", "row", "w_o", "output", "parts", "gone", "torch"),
)
IN_PARTS = {
    "One head or many": ("rows", "costs", "ranks", "hulls"),
    "Variants": ("mha", "gqa", "mqa", "causal", "cross"),
    "Sizes and costs": ("models", "cache"),
}


def walk(*screens: str, **query: str) -> Walked:
    """Every screen of a part, or those named, the matrices shown."""
    query = {"matrices": "true", **query}
    return Walked(open_inside(**query), screens or IN_PARTS.get(query.get("part", ""), SCREENS))


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


@pytest.fixture(scope="module", params=["minilm", "odd"])
def page(request, odd_model):
    """The walk on layer 2, head 3, from the fifth token; and the model it shows."""
    model = load_model("minilm") if request.param == "minilm" else odd_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
        return walk(head="2-3", pin="4"), model


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
        "z": truth.context[2], "z-alone": np.stack([truth.context[2, 4]] * 2), "raw": truth.q[2] @ truth.k[2].T,
        "scores": truth.scores[2], "W_o": used.W_o[2],
        "output": truth.output,
        "parts": np.concatenate([truth.contributions[:, 4], truth.projections.b_o[None], truth.output[4][None]]),
    }  # fmt: skip
    for name, values in expected.items():
        np.testing.assert_allclose(
            matrix(at, name), values, atol=NEAR * (1 + np.abs(values).max()), err_msg=name
        )


def test_what_is_said_beside_the_matrices_is_of_this_layer_and_head(page):
    at, model = page
    record = trace(TIRED, model)
    used = layer_details(record.tokens, model, 1).projections
    d, h, d_k, d_v, n = used.d_model, used.n_heads, used.d_k, used.d_v, len(record.tokens)
    said = prose(at)
    assert f"X has one row per token: {d} numbers, what layer 1 made of it. All tokens enter layer 2" in said
    rulers = [block for block, _ in found(at) if block["type"] == "ruler"]
    assert {(b["count"], b["from"], b["to"]) for b in rulers} == {(h, 2, 3)}
    assert {b["text"] for b in rulers} == {f"head 3: columns {2 * d_k + 1} to {3 * d_k} of {h * d_k}"}
    (cut,) = [block for block, _ in found(at) if block.get("id") == "Q-all"]
    assert (cut["slice"], cut["cuts"]) == ([2 * d_k, 3 * d_k], [d_k * i for i in range(1, h)])
    (beside,) = [block for block, _ in found(at) if block.get("id") == "Z"]
    assert (beside["slice"], beside["cuts"]) == ([2 * d_v, 3 * d_v], [d_v * i for i in range(1, h)])
    assert "the frame is head 3." in said
    tokens, *_ = [block for block, _ in found(at) if block.get("id") == "tokens"]
    shares = [f"{100 * weight:.1f} %" for weight in record.weights[1, 2, 4]]
    assert [line[2] for line in tokens["rows"]] == shares
    routes = [block["items"] for block, _ in found(at) if block["type"] == "route"]
    sizes = [f"{n} tokens", f"{n} × {d}", f"{n} × {d_k}", f"{n} × {n}", f"{n} × {n}", f"{n} × {d_v}"]
    for items in routes:
        assert [item["shape"] for item in items] == [*sizes, f"{h * d_v} × {d}", f"{n} × {d}"]
    assert len(routes) == len(SCREENS)


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
    assert "head 4-2 lets it look most at animal: 67.7 %" in prose(open_inside())
    assert "it looks most at animal: 67.7 %" in prose(open_inside(at="weights"))


@pytest.mark.parametrize(
    ("query", "mask", "divisor"),
    [
        ({"causal": "true"}, "back", 32**0.5),
        ({"divide": "false"}, "none", 1.0),
        ({"temperature": "2.0"}, "none", 2 * 32**0.5),
    ],
)
def test_what_a_link_switches_changes_the_numbers_at_once(query, mask, divisor):
    at = walk("weights", "z", head="4-2", pin="10", **query)
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    scores = truth.q[1] @ truth.k[1].T / divisor
    if mask == "back":
        scores = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(matrix(at, "weights"), expected, atol=NEAR)
    np.testing.assert_allclose(matrix(at, "z"), expected @ truth.v[1], atol=NEAR)
    np.testing.assert_allclose(matrix(at, "z-change"), expected @ truth.v[1] - truth.context[1], atol=NEAR)
    assert "You changed this layer" in prose(at)


def test_a_weight_in_the_link_reaches_the_output():
    at = walk("qkv", "output", head="4-2", pin="10", edits="4-2:W_q:1:1:3,4-2:W_v:7:3:-2.5", cell="W_v:7:3")
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    used = truth.projections
    W_q, W_v = used.W_q[1].copy(), used.W_v[1].copy()
    W_q[0, 0], W_v[6, 2] = 3.0, -2.5
    np.testing.assert_allclose(matrix(at, "W_q"), W_q)
    np.testing.assert_allclose(matrix(at, "W_v"), W_v)
    q, v = truth.x @ W_q + used.b_q[1], truth.x @ W_v + used.b_v[1]
    np.testing.assert_allclose(matrix(at, "Q"), q, atol=NEAR)
    np.testing.assert_allclose(matrix(at, "Q-change"), q - truth.q[1], atol=NEAR)
    powers = np.exp(q @ truth.k[1].T / 32**0.5)
    parts = [*truth.context]
    parts[1] = powers / powers.sum(axis=1, keepdims=True) @ v
    output = np.concatenate(parts, axis=-1) @ used.W_o.reshape(384, 384) + used.b_o
    np.testing.assert_allclose(matrix(at, "output"), output, atol=1e-4)
    boxes = [block for block, _ in found(at) if block["type"] == "change"]
    assert boxes[0]["place"] == ["W_v", 6, 2]
    assert (boxes[0]["value"], boxes[0]["was"]) == pytest.approx((-2.5, used.W_v[1, 6, 2]))


def test_only_what_can_be_there_is_taken_from_a_link():
    run = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    asked = (
        "4-2:score:11:3:-9.5,4-2:score:17:1:1,4-13:W_q:1:1:1,2-1:W_q:1:1:1,4-1:W_o:32:384:1e-3,4-2:W_o:33:1:1"
    )
    edits, said = edits_of({"edits": asked, "unseen": "2,0,99,2,x", "temperature": "99"}, run, 3)
    assert edits.scores == (ScoreEdit(1, 10, 2, -9.5),)
    assert edits.cells == (CellEdit("W_o", 0, 31, 383, 1e-3),)
    assert (edits.hidden_keys, edits.temperature) == ((1,), 5.0)
    assert len(said) == 3
    for wrong in (
        "4-2:score:0:1:1",
        "4-2:score:1:1:1e999",
        "4-2:score:1:1:nan",
        "4-2:W_x:1:1:1",
        "4-2:W_q:1:1:2e6",
    ):
        changes, refused = read_changes(wrong)
        assert (changes, len(refused)) == ([], 1), wrong


def test_a_change_is_undone_step_by_step_and_reset_at_once():
    at = open_inside(head="4-2", pin="10", at="scaled")
    at.toggle(key="inside-linked-causal").set_value(True).run()
    at.slider(key="inside-temperature").set_value(2.0).run()
    assert "a causal mask" in prose(at)
    assert "temperature 2" in prose(at)
    at.button(key="inside-undo-button").click().run()
    assert "temperature" not in prose(at)
    assert at.query_params["causal"] in ("true", ["true"])
    at.slider(key="inside-temperature").set_value(3.0).run()
    at.button(key="inside-reset-button").click().run()
    assert "You changed" not in prose(at)
    assert not {"causal", "temperature"} & set(at.query_params)
    assert not at.exception


def test_changed_numbers_are_named_by_row_and_column_and_what_is_more_is_counted():
    cells = [CellEdit("W_q", 1, 0, 6, 3.0), CellEdit("W_v", 1, 2, 1, -2.5), CellEdit("W_o", 0, 4, 4, 1.0)]
    named = ["W_q of head 2, row 1, column 7 = 3", "W_v of head 2, row 3, column 2 = -2.5"]
    assert said_changes(Edits(cells=tuple(cells)), ("a", "b")) == [*named, "one more number of matrices"]
    assert said_changes(Edits(cells=(*cells, *cells)), ("a", "b")) == [*named, "4 more numbers of matrices"]
    assert said_changes(Edits(cells=tuple(cells[:2])), ("a", "b")) == named


def test_how_far_the_output_moved_is_said_and_each_weight_before_and_after():
    at = walk("weights", "parts", head="4-2", pin="10", temperature="2.0")
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    powers = np.exp(truth.scores / 2)
    weights = powers / powers.sum(axis=-1, keepdims=True)
    used = truth.projections
    output = np.concatenate(list(weights @ truth.v), axis=-1) @ used.W_o.reshape(384, 384) + used.b_o
    moved = np.linalg.norm(output[10] - truth.output[10])
    share = 100 * moved / np.linalg.norm(truth.output[10])
    assert f"The output of it moved by {moved:.3f}: {share:.1f} % of its length." in prose(at)
    parts = [(weights[i] @ truth.v[i])[10] @ used.W_o[i] for i in range(12)]
    np.testing.assert_allclose(matrix(at, "parts")[:12], parts, atol=NEAR)
    block, numbers = one(at, "softmax")
    for name, expected in (
        ("before", truth.weights[1, 10]),
        ("weights", weights[1, 10]),
        ("scores", truth.scores[1, 10] / 2),
    ):
        np.testing.assert_allclose(numbers[block[name] :][:16], expected, atol=NEAR, err_msg=name)


def test_a_score_says_its_weight_as_it_is_and_as_it_was_before_the_change():
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    powers = np.exp(truth.scores[1, 10] / 2)
    now, before = (100 * float(row[8]) for row in (powers / powers.sum(), truth.weights[1, 10]))
    query = {"at": "scaled", "head": "4-2", "pin": "10", "cell": "scores:11:9"}
    assert f"Its weight: {now:.1f} %, before {before:.1f} %." in prose(
        open_inside(temperature="2.0", **query)
    )
    assert f"Its weight: {before:.1f} %." in prose(open_inside(**query))


def test_a_change_is_of_the_layer_that_is_shown_whatever_layer_was_changed_before():
    tokens = trace(TIRED, load_model()).tokens
    for layer in (3, 4, 0):
        truth = layer_details(tokens, load_model(), layer)
        powers = np.exp(truth.scores[1] / 2.5)
        at = open_inside(at="weights", head=f"{layer + 1}-2", pin="10", temperature="2.5")
        np.testing.assert_allclose(
            matrix(at, "weights"), powers / powers.sum(axis=1, keepdims=True), atol=NEAR
        )


def test_a_hidden_token_gets_nothing_and_the_rows_still_add_up():
    at = walk("scaled", "weights", head="4-2", pin="10", unseen="3")
    weights = matrix(at, "weights")
    assert not weights[:, 2].any()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=NEAR)
    scores = matrix(at, "scores")
    assert [column for column in range(16) if np.isnan(scores[:, column]).any()] == [2]
    assert np.isnan(scores[:, 2]).all()
    assert "one hidden token" in prose(at)
    assert "Every row adds up to 100.0 %." in prose(at)


def test_with_every_token_hidden_nothing_is_said_to_be_looked_at_or_equal():
    at = walk(
        "sentence", "weights", "torch", head="4-2", pin="10", unseen=",".join(str(i) for i in range(1, 17))
    )
    said = prose(at)
    assert "all tokens hidden" in said
    assert "it may look at nothing: every token is hidden." in said
    assert "There is nothing to compare: every token is hidden" in said
    assert "looks most" not in said
    assert "Equal to" not in said


def test_a_row_that_may_look_at_nothing_does_not_make_all_tokens_hidden():
    for token, query in (
        ("[CLS]", {"causal": "true", "unseen": "1"}),
        ("The", {"model": "classroom", "head": "1-2", "unseen": "1,2,3,4"}),  # a window of three words
    ):
        said = prose(walk("sentence", "weights", pin="0", **query))
        assert f"Every token that {token} could look at is hidden: nothing is left to look at." in said
        assert f"{token} may look at nothing: every token that it could look at is hidden." in said


def test_what_is_compared_with_torch_is_the_layer_as_it_was_changed(monkeypatch):
    compared, equal = [], scene.equal_to_torch
    apart = {"output": 2e-3, "weights": 3e-4}
    monkeypatch.setattr(
        scene, "equal_to_torch", lambda run: compared.append(run.edits) or replace(equal(run), **apart)
    )
    for query in ({}, {"temperature": "2.0"}):
        said = prose(walk("torch", head="1-1", pin="1", text="Two owls compare their wings.", **query))
        assert "within 2.0e-03, for all" in said
        assert "Its attention weights and ours, all 12 heads: within 3.0e-04." in said
    assert [edits.temperature for edits in compared] == [1, 2]


def test_the_scaling_is_told_with_the_variance_of_these_very_scores():
    at = walk("scaled", head="4-2", pin="10")
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    raw = truth.q[1] @ truth.k[1].T

    def told(scores):
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores.var(), 100 * (powers / powers.sum(axis=1, keepdims=True)).max(axis=1).mean()

    (variance, largest), (small, fair) = told(raw), told(raw / 32**0.5)
    found_in = re.search(
        r"variance of ([\d.]+), and the largest weight of a row is on average ([\d.]+) %; "
        r"divided, ([\d.]+) and ([\d.]+) %",
        prose(at),
    )
    assert [float(number) for number in found_in.groups()] == pytest.approx(
        [variance, largest, small, fair], rel=0.1, abs=0.06
    )


@pytest.mark.slow
def test_each_variant_says_where_the_token_looks_and_how_far_its_output_moved():
    at = walk(part="Variants", head="4-2", pin="10", across="A wide street.")
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
    words = trace("A wide street.", model).grid().labels
    (crossed,) = [block for block, _ in found(at) if block.get("id") == "weights-Cross"]
    assert crossed["cols"] == list(words)
    word = words[across.argmax()]
    assert f"it looks most at {word}: {100 * across.max():.1f} %." in prose(at)
    groups = {b["keys"]: b["owner"] for b, _ in found(at) if b["type"] == "groups" and b["keys"] < 12}
    assert groups == {4: [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], 1: [0] * 12}


def test_a_pair_is_walked_as_a_pair():
    text, pair = "Maria gave the book to her sister.", "She read it."
    at = walk("weights", head="2-3", pin="1", text=text, pair=pair)
    record = trace(text, load_model(), pair=pair)
    np.testing.assert_allclose(matrix(at, "weights"), record.weights[1, 2], atol=NEAR)
    other = walk("weights", head="2-3", pin="1", text=text, pair="She sold it.")
    record = trace(text, load_model(), pair="She sold it.")
    np.testing.assert_allclose(matrix(other, "weights"), record.weights[1, 2], atol=NEAR)


def test_a_word_in_the_link_is_followed_from_its_first_piece_and_stays_that_word():
    text = "Zbigniew called."
    at = walk("row", head="1-1", pin="2", unit="words", text=text)
    record = trace(text, load_model())
    words = record.grid(words=True)
    first = words.units[2].pieces[0]
    assert first > 2, "the name falls into pieces"
    truth = layer_details(record.tokens, load_model(), 0)
    np.testing.assert_allclose(matrix(at, "z-alone")[1], truth.context[0, first], atol=NEAR)
    assert at.at.query_params["pin"] in ("2", ["2"])


def test_another_layer_and_head_chosen_on_the_page_are_in_the_link():
    at = open_inside(head="4-2", pin="10", at="weights")
    at.selectbox(key="inside-layer").set_value(5).run()
    at.selectbox(key="inside-head").set_value(0).run()
    assert at.query_params["head"] in ("6-1", ["6-1"])
    record = trace(TIRED, load_model())
    np.testing.assert_allclose(matrix(at, "weights"), record.weights[5, 0], atol=NEAR)


@pytest.mark.long
@pytest.mark.parametrize("h", [0, 1])
def test_the_example_by_hand_shows_its_own_numbers(h):
    at = walk(part="By hand", by=str(h + 1))
    x, W = matrix(at, "X"), matrix(at, f"W_q{h + 1}")
    q = x @ W
    scores = q @ q.T / 2**0.5
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    for name, values in {
        "Q": q,
        "raw": q @ q.T,
        "scores": scores,
        "weights": weights,
        "z": weights @ q,
    }.items():
        np.testing.assert_allclose(matrix(at, name), values, atol=NEAR, err_msg=name)
    joined = matrix(at, "Z")
    np.testing.assert_allclose(joined[:, 2 * h : 2 * h + 2], weights @ q, atol=NEAR)
    np.testing.assert_allclose(matrix(at, "output"), joined @ matrix(at, "W_o"), atol=NEAR)
    said = prose(at)
    assert re.search(
        r"Equal to torch\.nn\.MultiheadAttention within [\d.e-]+, for all 2 tokens of the example", said
    )
    assert "÷" not in prose(walk("scores", part="By hand")), "nothing is divided before its screen"


def test_the_two_heads_of_the_example_differ_in_more_than_the_order_of_columns():
    first, second = (walk("weights", part="By hand", by=by) for by in "12")
    assert matrix(first, "weights")[0, 0] > 0.9
    assert matrix(second, "weights")[0, 0] < 0.2


def test_what_is_too_small_for_four_places_is_not_said_to_be_nothing():
    """Query (6, 0), keys (6, 0) and (0, 4): a score of 36 / 1.4142 = 25.4558 and one of 0."""
    at = open_inside(part="By hand", at="weights", typed="W_q1:1:1:3,W_q1:3:1:3")
    (block,) = [block for block, _ in found(at) if block.get("id") == "weights"]
    assert block["origins"][1] == "e^0 ÷ (e^25.4558 + e^0) = 8.8e−12"  # 1 / (1 + e^25.4558)
    assert [digits(x) for x in (0.0, -0.0, 3e-5, -3.26e-5, 5e-5, 0.25, -2.0)] == [
        *("0", "0", "3.0e−5", "−3.3e−5", "0.0001", "0.25", "−2"),
    ]


def test_every_sum_of_the_example_is_written_out():
    at = walk("qkv", "scores", "scaled", "weights", "z", part="By hand")
    blocks = {
        block["id"]: block for block, _ in found(at) if block["type"] == "tiles" and block.get("origins")
    }
    assert blocks["Q"]["origins"][0] == "1·1 + 0·0 + 1·1 + 0·0 = 1 + 0 + 1 + 0 = 2"
    assert blocks["raw"]["origins"][3] == "0·0 + 4·4 = 0 + 16 = 16"
    assert blocks["scores"]["origins"][0] == "4 ÷ 1.4142 = 2.8284"
    assert blocks["weights"]["origins"][0] == "e^2.8284 ÷ (e^2.8284 + e^0) = 0.9442"
    assert blocks["z"]["origins"][0] == "0.9442·2 + 0.0558·0 = 1.8884 + 0 = 1.8884"
    assert "the query of first is (1 + 1, 0 + 0) = (2, 0)" in prose(at)


def test_a_number_larger_than_the_boxes_take_is_left_out_of_a_link():
    assert read_typed("X:1:1:1000000,X:1:2:1000001,X:2:1:-1e6") == {"X": {"0": 1e6, "4": -1e6}}
    assert as_text({"X": {"0": 1e6, "1": 1e6 + 1}}) == "X:1:1:1000000"


@pytest.mark.parametrize("turning", [None, 3])
def test_what_is_said_of_a_rotation_are_the_angles_of_its_first_and_last_pair(turning):
    turns = Rotary(8, 100.0, None, turning)
    q = np.ones((2, 3, 8))
    now = SimpleNamespace(n=3, q=q, k=q, q_unrotated=q + 1, k_unrotated=q - 1)
    at = SimpleNamespace(now=now, h=1, kv=0, labels=["a", "b", "c"], title="M")
    board = Board()
    words, pictures = rotation._before_and_after(board, at, turns)
    said = words_of(words)
    pairs = turns.n_turned
    last = 100.0 ** (-2 * (pairs - 1) / (2 * pairs))
    assert f"The first pair turns fastest, {np.degrees(1):.1f}° per token" in said
    wanted = f"the last one {np.degrees(last):.1f}°, a full circle in {2 * np.pi / last:,.0f} tokens."
    assert wanted in said
    assert ("Pairs 4 to 4 are not turned" in said) == (turning == 3)
    numbers = np.concatenate([part.ravel() for part in board._arrays])
    shown = [
        (block["name"], numbers[block["at"]]) for column in pictures["items"] for block in column["items"]
    ]
    assert shown == [("Q", 2.0), ("Q rotated", 1.0), ("K", 0.0), ("K rotated", 1.0)]


def test_a_negative_product_stands_in_brackets_in_a_sum_that_is_written_out():
    found = example([[3, 0, -1, 0], [0, 2, 0, 2]])
    sum_ = written_sum(SimpleNamespace(now=run_layer(found.x, found.weights), h=0), "Q", 0, 0)
    assert sum_ == "3·1 + 0·0 + (−1·1) + 0·0 = 3 + 0 + (−1) + 0 = 2"


def test_a_score_that_knows_the_distance_alone_is_held_against_itself_at_the_same_distance():
    turns, random = Rotary(8, 100.0, None, None), np.random.default_rng(0)
    q, k = random.normal(size=(2, 2, 4, 8))
    weights = np.full((2, 4, 4), 0.1)
    weights[1, 3, 1] = 0.7
    now = SimpleNamespace(n=4, weights=weights, q_unrotated=q, k_unrotated=k)
    labels = ["a", "b", "c", "d"]
    at = SimpleNamespace(now=now, h=1, kv=0, query=3, there=range(4), token=labels[3], labels=labels)
    words, table = rotation._distance(at, turns)
    said = words_of(words)
    places = [(3, 1), (8, 6), (103, 101), (4, 1), (23, 1)]
    scores = [product_at(turns, q[1, 3], k[0, 1], *place) for place in places]
    assert table["rows"] == [
        [str(a), str(b), str(a - b), f"{score:.4f}"] for (a, b), score in zip(places, scores, strict=True)
    ]
    same = max(scores[:3]) - min(scores[:3])
    assert f"the score stays, to {scene.format_error(same)}." in said
    assert same < 1e-5 < abs(scores[3] - scores[0])


def test_numbers_typed_into_the_example_are_in_the_link():
    at = walk("qkv", part="By hand", typed="X:1:1:3,W_q1:4:2:-1.5,W_q1:5:1:9,X:1:1:1e999")
    x, W = np.array([[3, 0, 1, 0], [0, 2, 0, 2]]), np.array([[1, 0], [0, 1], [1, 0], [0, -1.5]])
    np.testing.assert_allclose(matrix(at, "X"), x)
    np.testing.assert_allclose(matrix(at, "Q"), x @ W)
    assert read_typed(as_text({"X": {"0": 3, "99": 1, "x": 2}, "W_k2": {"7": -0.25}, "no": {"0": 1}})) == {
        "X": {"0": 3.0},
        "W_k2": {"7": -0.25},
    }


def test_the_examples_own_controls_change_the_link_and_what_is_computed():
    plain = matrix(walk("output", part="By hand"), "W_o")
    at = open_inside(part="By hand", at="output")
    first, other = at.selectbox(key="inside-linked-output").options[:2]
    at.selectbox(key="inside-linked-output").set_value(other).run()
    assert at.query_params["output"] in (other, [other])
    assert at.selectbox(key="inside-linked-output").value == other
    again = walk("output", part="By hand", output=other)
    assert np.abs(matrix(again, "W_o") - plain).max() > 0.5
    np.testing.assert_allclose(matrix(again, "output"), matrix(again, "Z") @ matrix(again, "W_o"), atol=NEAR)
    at.selectbox(key="inside-linked-output").set_value(first).run()
    assert "output" not in at.query_params, "what is first anyway is not in the link"


def test_remarks_beside_lines_of_torch_stand_one_under_the_other(monkeypatch):
    shown = []
    made = SimpleNamespace(add=shown.append, show=lambda _key: None)
    monkeypatch.setattr(scene, "Board", lambda: made)
    scene.code(
        ("q = x @ W_q", "(n, d_k)"), ("scores = q @ k.T", "(n, n)"), ("a line that is longer than these", "")
    )
    assert shown[0]["lines"] == [
        ["q = x @ W_q     ", "(n, d_k)"],
        ["scores = q @ k.T", "(n, n)"],
        ["a line that is longer than these", ""],
    ]


@pytest.mark.parametrize(("pin", "query"), [("15", 15), ("16", 10), ("400", 10)])
def test_a_token_beyond_the_text_leaves_what_is_followed_at_first(pin, query):
    at = open_inside(pin=pin)
    assert {data["query"] for data, _ in boards(at) if data.get("query") is not None} == {query}


def test_a_clean_page_says_nothing_of_a_change():
    assert "You changed" not in prose(open_inside())


def test_a_link_that_changes_the_weights_opens_where_they_are_changed():
    assert "Why divide by √32" in prose(open_inside(head="4-2", pin="10", divide="false"))


@pytest.mark.slow
def test_the_screen_and_the_number_of_a_link_are_shown():
    at = open_inside(head="4-2", pin="10", at="scores", cell="raw:14:1")
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    block, numbers = one(at, "sum")
    assert block["names"] == ["q of tired", "k of [CLS]"]
    np.testing.assert_allclose(numbers[block["left"] :][:32], truth.q[1, 13], atol=NEAR)
    np.testing.assert_allclose(numbers[block["right"] :][:32], truth.k[1, 0], atol=NEAR)
    np.testing.assert_allclose(numbers[block["products"] :][:32], truth.q[1, 13] * truth.k[1, 0], atol=1e-4)
    assert block["sum"] == pytest.approx(float(truth.q[1, 13] @ truth.k[1, 0]), abs=1e-4)
    for wrong in ("raw:17:1", "raw:0:1", "nothing:1:1", "raw", "raw:1:1:1", "raw:²:1"):
        at = open_inside(head="4-2", pin="10", at="scores", cell=wrong)
        assert one(at, "sum")[0]["names"] == ["q of it", "k of animal"], wrong


def test_a_number_of_x_says_which_row_of_the_matrices_it_meets():
    said = prose(open_inside(head="4-2", pin="10", at="x", cell="X:11:7"))
    assert "X of it, number 7: " in said
    assert "in all 12 heads: times row 7 of W_q, W_k and W_v." in said
    assert "{" not in said


EVERY_SCREEN = {"Step by step": SCREENS, "By hand": SCREENS, **IN_PARTS}


@pytest.mark.long
@pytest.mark.parametrize("part", ["Step by step", "By hand", "One head or many", "Variants"])
def test_tokens_and_heads_can_be_chosen_in_every_picture_that_names_them(part):
    at = walk(*EVERY_SCREEN[part], part=part, head="4-2", pin="10")
    mounted = [block for data, _ in boards(at) for block in data["blocks"]]
    choices = [block for block in flat(mounted) if block["type"] == "choosing"]
    labels = ("first", "second") if part == "By hand" else trace(TIRED, load_model()).grid().labels
    for choice in choices:
        names = choice["labels"]
        if choice["tells"] == "token":
            assert names == [f"Follow {labels[i]}" for i in choice["values"]]
        else:
            assert names == [f"Head {value}" for value in choice["values"]]
    inside = [block for choice in choices for block in flat([choice["item"]])]
    for block in flat(mounted):
        named = block.get("rows") and not block.get("unlabelled") and block.get("high", 20) >= 13
        if block["type"] == "matrix" and named and block["id"] not in ("z-alone",):
            assert block in inside, f"the names of {block['id']} cannot be pressed"
        if block["type"] in ("sheets", "heads", "follow", "plane", "groups"):
            assert block in inside, block["type"]


def test_units_and_special_tokens_are_no_choice_where_the_pieces_are_shown():
    at = open_inside(unit="words", specials="hidden")
    said = [element.proto.body for element in at.get("html")]
    assert any("word pieces" in body and "shown" in body for body in said)
    assert not any("whole words ·" in body for body in said)
    assert not [
        control for control in at.get("button_group") if control.label in ("Units", "[CLS] and [SEP]")
    ]


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
    at = walk(part="One head or many", head="4-2", pin="10")
    record = trace(TIRED, load_model())
    rows = matrix(at, "one-or-many")
    np.testing.assert_allclose(rows[1:], record.weights[3, :, 10], atol=NEAR)
    (named,) = [block["rows"] for block, _ in found(at) if block.get("id") == "one-or-many"]
    assert named == ["one head", *(f"4-{i}" for i in range(1, 13))]
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


def test_ranks_are_those_of_the_head_and_layer_that_are_shown_whatever_was_shown_before():
    model = load_model()
    for layer, head in ((0, 2), (4, 2), (4, 7), (1, 2)):
        block, numbers = one(
            open_inside(part="One head or many", at="ranks", head=f"{layer + 1}-{head + 1}"), "curve"
        )
        used = projections_of(model, layer)
        assert_spectra(block, numbers, used, head)


def test_how_far_the_sum_of_heads_is_outside_is_of_the_token_that_is_followed_now():
    run = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    for token in (10, 2, 8):
        mapped, total = sum_of_heads(run, token)
        outside = [distance_to_hull(total, points) for points in mapped]
        proven = sum(one.gap > 0 for one in outside)
        said = prose(open_inside(part="One head or many", at="hulls", head="4-2", pin=str(token)))
        assert (
            f"outside the hulls of {proven} of 12 heads; {outside[1].distance:.2f} away from this one's"
            in said
        )


def test_of_a_row_the_tokens_are_written_out_that_it_looks_at_most():
    tokens = load_model().tokenizer.encode(TIRED)
    run, labels = layer_details(tokens, load_model(), 3), tuple(piece.text for piece in tokens.pieces)
    at = scene.Scene(labels, (False,) * 16, (3, 1), 10, run, run, "", None)
    most = np.argsort(-run.weights[1, 10], kind="stable")[:5]
    assert steps.follow_block(Board(), at, 5)["shown"] == sorted(most.tolist())


def test_what_the_one_wide_head_looks_at_is_not_counted_among_what_the_heads_do(monkeypatch):
    most = set(trace(TIRED, load_model()).weights[3, :, 10].argmax(axis=1).tolist())
    other = next(i for i in range(16) if i not in most)
    monkeypatch.setattr(many, "one_head", lambda _: np.eye(16)[[other] * 16])
    said = prose(open_inside(part="One head or many", at="rows", head="4-2", pin="10"))
    assert f": 100.0 %. Split, its 12 heads look most at {len(most)} different tokens" in said


def test_the_variants_show_their_own_weights():
    at = walk(part="Variants", head="4-2", pin="10", across="A wide street.")
    record = trace(TIRED, load_model())
    np.testing.assert_allclose(matrix(at, "weights-MHA"), record.weights[3, 1], atol=NEAR)
    assert not np.triu(matrix(at, "weights-Causal"), 1).any()
    assert matrix(at, "weights-Cross").shape == (16, 6)
    said = prose(at)
    assert "591,360 parameters; K and V of 16 tokens: 24.0 KiB" in said
    assert "K and V of 16 tokens: 2.0 KiB" in said


@pytest.mark.slow
def test_as_many_groups_are_drawn_as_are_asked_for_whatever_was_asked_for_before():
    """Each group's keys are the mean of its heads' own, from X on."""
    run = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    used, h = run.projections, 5
    for groups in (2, 6, 4):
        at = open_inside(part="Variants", at="gqa", head="4-6", pin="10", groups=str(groups))
        size = 12 // groups
        mine = slice(h // size * size, h // size * size + size)
        keys = run.x @ used.W_k[mine].mean(axis=0) + used.b_k[mine].mean(axis=0)
        powers = np.exp(run.q[h] @ keys.T / 32**0.5)
        np.testing.assert_allclose(
            matrix(at, "weights-GQA"),
            powers / powers.sum(axis=1, keepdims=True),
            atol=NEAR,
            err_msg=str(groups),
        )
        assert one(at, "groups")[0]["keys"] == groups


def test_cross_attention_is_to_the_sentence_of_the_link_or_else_to_the_second_text():
    def crossed(**more):
        at = open_inside(part="Variants", at="cross", head="4-2", pin="10", text=TIRED, **more)
        (block,) = [block for block, _ in found(at) if block.get("id") == "weights-Cross"]
        return block["cols"], matrix(at, "weights-Cross")

    labels, other = crossed(across=TIRED.replace("tired", "wide"))
    assert "wide" in labels
    labels, itself = crossed(across=TIRED)
    assert "tired" in labels
    np.testing.assert_allclose(itself, trace(TIRED, load_model()).weights[3, 1], atol=NEAR)
    assert np.abs(itself - other).max() > 1e-3
    second = trace("She read it.", load_model()).grid().labels
    assert crossed(pair="She read it.")[0] == list(second)
    assert crossed(pair="She sold it.", across="She read it.")[0] == list(second)


def test_with_another_head_the_number_that_was_asked_about_is_left(monkeypatch):
    here = SimpleNamespace(
        key="sentence-3", head=(3, 1), labels=("a", "b"), sizes=SimpleNamespace(n_heads=12)
    )

    def after(pressed):
        session = {"board": {"head": pressed}}
        monkeypatch.setattr(picking.st, "session_state", session)
        picking.told("board", here)["head"]()
        return session.get("link-changes")

    assert after("4-5") == {"head": "4-5", "cell": None}
    assert [after(pressed) for pressed in ("5-5", "4-13", "4", 45, None)] == [None] * 5


def test_the_configurations_and_the_readers_own():
    at = open_inside(part="Sizes and costs", n="4096", d="4096", h="32", layers="32")
    table = next(b for b, _ in found(at) if b.get("id") == "sizes")
    rows = {line[0]: line for line in table["rows"]}
    assert rows["GPT-3 175B"][1:6] == ["12,288 / 96", "128", "96", "604,028,928", "58.0 billion"]
    assert rows["LLaMA-2-7B"][9] == "2.0 GiB" == rows["yours"][9]
    assert (rows["GPT-2"][6], rows["GPT-2"][9]) == ("1,024", "36.0 MiB"), (
        "no cache of tokens that it cannot read"
    )
    assert rows["BERT-base"][6:] == ["512", "3.2 billion", "12.0 MiB", "none"]
    assert rows["LLaMA-2-7B"][4] == f"{4 * 4096**2:,}"
    assert rows["yours"][4] == f"{4 * 4096**2 + 4 * 4096:,}"
    at = open_inside(part="Sizes and costs", d="4096", h="32", kv="8", biases="false", n="abc", layers="9999")
    boxes = one(at, "fields")[0]
    assert [item["value"] for item in boxes["items"]] == [2048, 4096, 32, 6, 8], (
        "what is no number is as at first"
    )
    (table,) = [block for block, _ in found(at) if block.get("id") == "sizes"]
    rows = {line[0]: line for line in table["rows"]}
    assert rows["yours"][1] == "4,096 / 32 on 8"
    assert rows["yours"][4] == f"{2 * 4096**2 + 2 * 4096 * 1024:,}", "no biases are added"
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
    assert apart.weights.W_k[1, 0, 0] == 1


def test_amounts_are_said_as_people_say_them():
    assert [format_bytes(n) for n in (512, 2048, 1.25 * 1024**3, 1280 * 1024, 3 * 1024**3, 5 * 1024**4)] == [
        "512 bytes",
        "2.0 KiB",
        "1.25 GiB",
        "1.25 MiB",
        "3.0 GiB",
        "5.0 TiB",
    ]
    assert format_bytes(12.5 * 1024**3) == "12.5 GiB"
    assert [format_count(n) for n in (999, 2.36e6, 5.8e10, 2.7e12)] == [
        "999",
        "2.4 million",
        "58.0 billion",
        "2.7 trillion",
    ]


@pytest.mark.slow
def test_two_texts_or_layers_or_changes_are_never_mistaken_for_each_other():
    first, other_layer, other_text, untrained = (
        matrix(open_inside(at="weights", pin="1", **query), "weights")
        for query in (
            {"head": "1-1"},
            {"head": "2-1"},
            {"head": "1-1", "text": TIRED.replace("tired", "wide")},
            {"head": "1-1", "weights": "untrained"},
        )
    )
    for other in (other_layer, other_text, untrained):
        assert np.abs(first - other).max() > 1e-3


def test_it_is_said_what_a_number_goes_into_next_and_by_which_row_and_column():
    shown = SimpleNamespace(
        h=1,
        sizes=SimpleNamespace(n_heads=12, d_v=32, d_model=384, b_o=np.zeros(384)),
        now=SimpleNamespace(n=16, x=np.zeros((16, 384)), rotary=None),
    )
    said = {
        "X": "query, key and value of {token} in all 12 heads: times row 6 of W_q, W_k and W_v",
        "Q": "whole row of {token} in Q Kᵀ: number 6 of each",
        "K": "whole column of {token} in Q Kᵀ: number 6 of each",
        "V": "number 6 of every z, times the weight that {token} gets",
        "weights": "all 32 numbers of the z of {token}",
        "z": "all 384 numbers of the output of {token}: times row 38 of W_o",
        "part": "added to the parts of the other heads and b_o: number 6 of the output of {token}",
        "b_o": "number 6 of the output of every token",
        "W_q": "multiplies number 4 of every token and feeds column 6 of Q: 16 numbers",
        "W_k": "multiplies number 4 of every token and feeds column 6 of K: 16 numbers",
        "W_v": "multiplies number 4 of every token and feeds column 6 of V: 16 numbers",
        "W_o": "multiplies number 4 of this head's z and feeds column 6 of the output: 16 numbers",
    }
    for name, part in said.items():
        assert part in origin_panel.fed_by(shown, name, 3, 5), name
    assert origin_panel.fed_by(shown, "nothing", 3, 5) == ""
    first = ("X", 2, 3)
    rows, columns = shown.now.x.shape
    links = {
        "X:1:1": ("X", 0, 0),
        "X:1:5": ("X", 0, 4),
        f"X:{rows}:{columns}": ("X", rows - 1, columns - 1),
        f"X:{rows + 1}:1": first,
        f"X:1:{columns + 1}": first,
        "X:0:1": first,
        "X:1:0": first,
        "X:1": first,
        "X:1:1:1": first,
        "X:-1:1": first,
        "nothing:1:1": first,
    }
    for link, cell in links.items():
        assert origin_panel.cell_of(link, shown, first) == cell, link


@pytest.mark.parametrize(
    ("n_heads", "b_o", "said"),
    [
        (2, None, "It is added to the parts of the other heads: number 6 of the output of {token}."),
        (1, np.zeros(8), "It is added to b_o: number 6 of the output of {token}."),
        (1, None, "It is number 6 of the output of {token}."),
    ],
)
def test_a_part_is_added_to_what_there_is(n_heads, b_o, said):
    shown = SimpleNamespace(
        h=0,
        sizes=SimpleNamespace(n_heads=n_heads, d_v=4, d_model=8, b_o=b_o),
        now=SimpleNamespace(n=2, rotary=None),
    )
    assert origin_panel.fed_by(shown, "part", 1, 5) == said


@pytest.mark.parametrize(
    ("heads", "said", "last"),
    [
        ("8", ["The last line is yours. Attention weights grow"], "yours"),
        ("7", ["keep none. Attention"], "MiniLM"),
    ],
)
def test_only_where_the_reader_s_own_sizes_can_be_the_last_line_is_called_theirs(
    monkeypatch, model, heads, said, last
):
    shown = []
    monkeypatch.setattr(sizes.state, "params", lambda: {"d": "512", "h": heads})
    monkeypatch.setattr(sizes, "ask", lambda *_: None)
    monkeypatch.setattr(sizes, "say", lambda text, kind: shown.append((kind, text)))
    monkeypatch.setattr(Board, "show", lambda board, *_: shown.extend(board.blocks))
    sizes._table(model)
    *refused, words, table = shown
    assert all(one in words_of(words) for one in said)
    assert ("is yours" in words_of(words)) == (last == "yours") == (not refused)
    assert table["rows"][-1][0] == last
    assert table["chosen"] == (len(table["rows"]) - 1 if last == "yours" else None)


@pytest.mark.slow
def test_who_shares_keys_is_said_in_the_number_that_it_has():
    for key, said in (
        ("mha", "12 query heads, each with keys and values of its own"),
        ("gqa", "12 query heads share 4 key and value heads"),
        ("mqa", "12 query heads share 1 key and value head"),
    ):
        block, _ = one(open_inside(part="Variants", at=key), "groups")
        assert block["describe"] == said
    assert read_own(8, 1, 1, 2)[1].startswith("1 query head cannot share 2 key heads evenly")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "learned", "random"),
    [
        ({"at": "qkv"}, "a matrix that was learned.", "a matrix that was drawn at random."),
        (
            {"at": "qkv", "matrices": "true", "cell": "W_q:1:1"},
            "W_q of head 2 was learned in training",
            "W_q of head 2 was drawn at random",
        ),
        ({"at": "parts", "cell": "parts:13:1"}, ", learned in training.", ", as it is before any training."),
        (
            {"part": "One head or many", "at": "rows"},
            "These matrices were trained as separate heads",
            "These matrices are random, not trained.",
        ),
        (
            {"part": "Variants", "at": "mqa"},
            "averaging the trained ones of a group",
            "averaging those of a group: they show",
        ),
    ],
)
def test_random_weights_are_not_said_to_be_trained(query, learned, random):
    trained, untrained = (
        prose(open_inside(head="4-2", pin="10", weights=weights, **query))
        for weights in ("trained", "untrained")
    )
    assert (learned in trained, random in trained) == (True, False)
    assert (learned in untrained, random in untrained) == (False, True)


@pytest.mark.slow
def test_before_its_first_step_the_classrooms_model_has_learned_nothing():
    for model, learned in (("classroom@0", False), ("classroom@100", True), ("classroom", True)):
        said = prose(open_inside(model=model, at="qkv", matrices="true", cell="W_q:1:1"))
        assert ("a matrix that was learned." in said, "was learned in training" in said) == (
            learned,
            learned,
        ), model
        assert ("drawn at random" in said) is not learned, model


def test_the_difference_from_torch_is_printed_for_the_rows_that_it_is_of():
    def last_lines(**query):
        block, _ = one(open_inside(at="torch", **query), "code")
        return [line.strip() for line, _ in block["lines"] if "theirs - output" in line]

    assert last_lines() == ["(theirs - output).abs().max()"]
    assert last_lines(causal="true", unseen="1") == ["(theirs - output)[:, allowed.any(dim=1)].abs().max()"]
    assert last_lines(unseen=",".join(map(str, range(1, 17)))) == []


def test_a_switch_stands_as_the_layer_was_computed_however_a_link_spells_it():
    for key, value, label, said in (
        ("divide", "False", "Divide by", "not divided by"),
        ("causal", "True", "Look only back", "a causal mask"),
    ):
        at = open_inside(at="scaled", **{key: value})
        (switch,) = [toggle for toggle in at.toggle if toggle.label.startswith(label)]
        assert switch.value is (value == "True")
        assert said in prose(at)


def test_a_score_that_was_typed_or_asked_about_stays_in_its_row_however_little_it_gets():
    text = TIRED.replace(".", ", and the street was wide and long.")
    at = open_inside(
        text=text, at="weights", head="4-2", pin="10", cell="weights:3:20", edits="4-2:score:3:9:-50"
    )
    block, _ = one(at, "softmax")
    assert (block["query"], block["edited"], block["chosen"]) == (2, [8], 19)
    assert {8, 19} <= set(block["shown"])
    assert (len(block["shown"]), block["shown"]) == (16, sorted(block["shown"]))


def test_a_hidden_score_is_not_said_to_feed_anything():
    at = open_inside(at="scaled", unseen="3", cell="scores:5:3")
    assert "is hidden from" in prose(at)
    assert "It feeds" not in prose(at)
    assert "It feeds every weight" in prose(open_inside(at="scaled", unseen="3", cell="scores:5:4"))


def test_beside_a_pair_the_sentence_that_is_typed_is_the_one_that_is_attended_to():
    at = open_inside(part="Variants", at="cross", pair="She read it.")
    at.text_input(key="inside-across").set_value("The street was too wide.").run()
    assert at.text_input(key="inside-across").value == "The street was too wide."
    (block,) = [block for block, _ in found(at) if block.get("id") == "weights-Cross"]
    assert "street" in block["cols"]


def test_reset_leaves_the_numbers_of_other_layers():
    at = open_inside(
        at="scaled", head="4-2", temperature="2.0", edits="4-2:score:1:1:3,5-1:score:1:2:2.5,4-1:W_q:1:1:1"
    )
    at.button(key="inside-reset-button").click().run()
    assert "You changed" not in prose(at)
    assert at.query_params["edits"] in ("5-1:score:1:2:2.5", ["5-1:score:1:2:2.5"])
    assert "temperature" not in at.query_params


@pytest.mark.parametrize(("same", "name"), [("true", "W1"), ("false", "W_q1")])
def test_the_example_names_the_matrix_that_is_on_the_screen(same, name):
    at = open_inside(part="By hand", at="qkv", same=same)
    assert f"Where {name} has a 0 nothing is left" in prose(at)
    assert name in [block["name"] for block, _ in found(at) if "shape" in block]


@pytest.mark.slow
def test_in_a_layer_with_a_window_only_what_is_near_is_counted_and_drawn():
    """Layer 1 of the classroom's model sees three words to either side."""
    model = load_model("classroom")
    truth = layer_details(trace(TIRED, model).tokens, model, 0)
    at = walk("scaled", model="classroom", head="1-3", pin="6")
    largest = re.search(r"; divided, [\d.]+ and ([\d.]+) %", prose(at))
    assert float(largest[1]) == pytest.approx(100 * truth.weights[2].max(axis=-1).mean(), abs=0.06)
    assert "layer 1 sees 3 tokens to either side: hatched cells lie further away." in prose(at)
    labels = trace(TIRED, model).grid().labels
    at = open_inside(model="classroom", head="1-3", pin="6", part="One head or many", at="hulls")
    for block in (block for block, _ in found(at) if block["type"] == "plane"):
        assert block["labels"] == list(labels[3:10])
        assert len(block["points"]) == 7
        np.testing.assert_allclose(block["weights"], truth.weights[2, 6, 3:10], atol=1e-5)
    (places,) = {tuple(block["values"]) for block, _ in found(at) if block["type"] == "choosing"}
    assert places == tuple(range(3, 10))
    assert "either side" not in prose(open_inside(model="classroom", head="2-3", at="scaled"))


def test_the_token_that_is_followed_is_the_same_word_in_another_model_and_in_a_changed_text(monkeypatch):
    monkeypatch.setattr(cache, "load_model", load_model)
    at = open_page("pages/inside.py", text="The dog barked because it saw a cat.", pin="5")

    def followed() -> str:
        rows = [(data.get("query"), block) for data, _ in boards(at) for block in data["blocks"]]
        ((query, row),) = [(query, block) for query, block in rows if block.get("trigger") == "follow"]
        return row["labels"][query]

    assert followed() == "it"
    at.selectbox(key="model").set_value("classroom")
    run(at)  # it puts no [CLS] in front
    assert (followed(), address(at)["pin"]) == ("it", "4")
    at.text_input(key="text").set_value("The old dog barked because it saw a cat.")
    run(at)
    assert (followed(), address(at)["pin"]) == ("it", "5")
    at.selectbox(key="model").set_value("minilm")
    run(at)
    assert (followed(), address(at)["pin"]) == ("it", "6")
    at.text_input(key="text").set_value("The old dog barked because it saw a bird.")
    run(at)
    at.switch_page("app.py")
    assert picture(run(at))["ghost"] is None, "no picture was before"


def test_what_a_change_did_to_the_scores_stands_beside_them():
    truth = layer_details(trace(TIRED, load_model()).tokens, load_model(), 3)
    raw = truth.q[1] @ truth.k[1].T
    at = open_inside(at="scaled", head="4-2", pin="10", divide="false")
    np.testing.assert_allclose(matrix(at, "scores"), raw, atol=1e-3)
    np.testing.assert_allclose(matrix(at, "scores-change"), raw - raw / 32**0.5, atol=1e-3)


def test_of_a_long_row_the_weights_that_are_largest_are_written_out():
    text = TIRED.replace(".", ", and the street was wide and long.")
    at = open_inside(text=text, at="weights", head="4-2", pin="10")
    block, _ = one(at, "softmax")
    weights = trace(text, load_model()).weights[3, 1, 10]
    assert block["shown"] == sorted(np.argsort(-weights, kind="stable")[:16].tolist())


def test_the_terms_of_an_output_are_named_by_head_and_number():
    block, _ = one(open_inside(at="output", head="4-2", pin="10", cell="output:11:3"), "sum")
    assert (block["terms"][0], block["terms"][33]) == ("head 1, number 1", "head 2, number 2")
    assert block["terms"][-1] == "head 12, number 32"


def test_unsplit_the_sides_that_are_compared_are_those_of_all_heads_together():
    used = projections_of(load_model(), 3)
    together = sum(q.astype(np.float64) @ k.T for q, k in zip(used.W_q, used.W_k, strict=True))
    rank = np.linalg.matrix_rank(
        together, rtol=384 * np.finfo(np.float32).eps
    )  # what 32 bits can tell from 0
    said = prose(open_inside(part="One head or many", at="ranks", head="4-2"))
    assert f"unsplit it is one form of rank {rank}." in said


def test_a_row_of_the_cache_that_is_pressed_is_the_last_that_is_read(monkeypatch):
    def after(pressed):
        session = {}
        monkeypatch.setattr(cache_growth.st, "session_state", session)
        monkeypatch.setattr(cache_growth, "heard_from", lambda *_: pressed)
        cache_growth._row_pressed("board", 5)
        return session.get(cache_growth.READ)

    assert [after(pressed) for pressed in (0, 3, 4, 5, -1, "1")] == [1, 4, 5, None, None, None]


def test_a_change_that_was_made_twice_is_taken_back_at_once(monkeypatch):
    link, session = {}, {}
    monkeypatch.setattr(changes.st, "session_state", session)
    monkeypatch.setattr(changes.state, "params", lambda: link)
    monkeypatch.setattr(changes.state, "change", link.update)
    for value in (2.0, 3.0, 3.0):
        changes.set_number((3, 1), "score", 0, 4, value)
    changes.undo()
    assert link["edits"] == "4-2:score:1:5:2"
    changes.undo()
    assert link["edits"] is None


def test_tokens_that_can_be_followed_have_their_own_names_where_some_are_left_out():
    here = SimpleNamespace(labels=("The", "old", "dog", "barked"), query=2)
    block = picking.tokens_of(here, {}, picking.WORDS, [1, 2, 3])
    assert (block["values"], block["now"]) == ([1, 2, 3], 1)
    assert block["labels"] == ["Follow old", "Follow dog", "Follow barked"]
    assert picking.tokens_of(here, {}, picking.WORDS, [0, 3])["now"] is None
