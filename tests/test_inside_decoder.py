"""Inside with decoders, against transformers and by hand: rotation, shared keys, the mask, the growing cache."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from boards import boards, found, matrix, one, prose
from decoder_folders import random_decoder, write_decoder
from test_inside import NEAR, PARTS, open_inside, walk
from visit import link

from mha_core import InputError, layer_details, load_model, trace
from mha_core.inside import (
    SUMS,
    CellEdit,
    Edits,
    ScoreEdit,
    as_one_head,
    edited,
    equal_to_torch,
    follow,
    growth,
    kv_cache_bytes,
    origin,
    product_at,
    run_layer,
    turn,
    turned,
    variants,
)
from mha_core.rotary import Rotary
from pages.parts.inside import origin_panel, scene
from pages.parts.serve.store import Store, bytes_of

pytestmark = pytest.mark.slow  # a page of the app on the embedded decoder

TEXT = "it the it that the"
EDITS = {
    "nothing": Edits(),
    "warmer": Edits(temperature=2.5),
    "hidden": Edits(hidden_keys=(1,)),
    "a score": Edits(scores=(ScoreEdit(1, 2, 1, 3.5),)),
    "a weight of W_q": Edits(cells=(CellEdit("W_q", 1, 2, 1, 4.0),)),
    "a weight of W_k": Edits(cells=(CellEdit("W_k", 3, 2, 1, 4.0),)),
}


@pytest.fixture(scope="module", params=["gpt2-0", "llama-0", "llama-1", "llama-2"])
def case(request, tmp_path_factory):
    """A random decoder: as transformers has it, and as we do."""
    kind, which = request.param.split("-")
    theirs = random_decoder(kind, int(which))
    folder = tmp_path_factory.mktemp(request.param)
    write_decoder(folder, theirs)
    return theirs, load_model(str(folder))


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """Six query heads on three key heads of width 10, d_model 24, with biases: no size like another."""
    folder = tmp_path_factory.mktemp("grouped")
    write_decoder(folder, random_decoder("llama", 1))
    return load_model(str(folder))


@pytest.fixture
def page(grouped, monkeypatch):
    """Opens Inside on the grouped decoder: layer 2, head 4, from the last token."""

    def opened(**query):
        monkeypatch.setattr(
            "pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: grouped
        )
        n = len(grouped.tokenizer.encode(TEXT))
        opening = {"text": TEXT, "head": "2-4", "pin": str(n - 1), **query}
        return walk(**opening) if "at" not in opening else open_inside(**opening)

    return opened


@pytest.fixture(scope="module")
def truth(grouped):
    return layer_details(grouped.tokenizer.encode(TEXT), grouped, 1)


@pytest.mark.parametrize("name", EDITS)
def test_a_run_with_changes_is_what_the_layer_gives_from_x_anew(case, name):
    _, model = case
    tokens = model.tokenizer.encode(TEXT)
    own = layer_details(tokens, model, 1)
    anew = run_layer(own.x, own.projections, EDITS[name], rotary=own.rotary, is_causal=True)
    now = edited(own, EDITS[name])
    for part in ("q", "k", "v", "scores", "weights", "context", "contributions", "output"):
        np.testing.assert_allclose(getattr(now, part), getattr(anew, part), atol=1e-4, err_msg=part)
    assert (now is own) == (name == "nothing")
    assert not np.triu(now.weights, 1).any()
    parity = equal_to_torch(now)
    assert parity.output < 2e-4
    assert parity.against.endswith(
        "MultiheadAttention" if model.encoder.rotary is None else "scaled_dot_product_attention"
    )


def test_rotation_by_hand_is_transformers_own(case):
    theirs, model = case
    if model.encoder.rotary is None:
        pytest.skip("GPT-2 adds its positions to the tokens")
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    run = layer_details(model.tokenizer.encode(TEXT), model, 1)
    before = (torch.from_numpy(part.copy())[None] for part in (run.q_unrotated, run.k_unrotated))
    cos, sin = theirs.model.rotary_emb(torch.zeros(1), torch.arange(run.n)[None])
    for ours, plain, after in zip(
        (run.q, run.k),
        (run.q_unrotated, run.k_unrotated),
        apply_rotary_pos_emb(*before, cos, sin),
        strict=True,
    ):
        np.testing.assert_allclose(ours, after[0], atol=1e-5)
        for position in range(run.n):
            np.testing.assert_allclose(
                turned(run.rotary, plain[0, position], position), after[0, 0, position], atol=1e-5
            )
            for pair in range(model.d_k // 2):
                turn_ = turn(run.rotary, plain[0, position], position, pair)
                expected = after[0, 0, position, [pair, pair + model.d_k // 2]]
                np.testing.assert_allclose(turn_.after, expected, atol=1e-5)


def test_the_comparison_with_torch_notices_a_rotation_that_is_wrong_or_left_out(truth):
    assert equal_to_torch(truth).output < 1e-4
    plain = run_layer(truth.x, truth.projections, is_causal=True)
    assert equal_to_torch(replace(plain, rotary=truth.rotary)).output > 1e-3
    other = run_layer(truth.x, truth.projections, rotary=Rotary(truth.rotary.d_k, 50.0), is_causal=True)
    assert equal_to_torch(replace(other, rotary=truth.rotary)).output > 1e-3


def test_a_score_depends_on_the_distance_of_two_positions_alone():
    rotary, rng = Rotary(10, 10_000.0), np.random.default_rng(0)
    q, k = rng.normal(size=(2, 10)).astype(np.float32)
    here = product_at(rotary, q, k, 7, 3)
    assert product_at(rotary, q, k, 107, 103) == pytest.approx(here, abs=1e-4)
    assert abs(product_at(rotary, q, k, 8, 3) - here) > 1e-3
    by_hand = sum(
        (
            complex(q[i], q[i + 5]).conjugate()
            * complex(k[i], k[i + 5])
            * np.exp(-4j / 10_000 ** (2 * i / 10))
        ).real
        for i in range(5)
    )
    assert here == pytest.approx(by_hand, abs=1e-5)


def test_a_run_with_a_changed_number_still_has_what_was_before_the_rotation(case):
    _, ours = case
    run = layer_details(ours.tokenizer.encode(TEXT), ours, 0)
    made = edited(run, Edits(cells=(CellEdit("W_q", 1, 2, 1, 4.0),)))
    if run.rotary is None:
        assert (made.q_unrotated, made.k_unrotated) == (None, None), "nothing is turned"
        return
    changed = [
        head for head in range(len(run.q)) if np.abs(made.q_unrotated - run.q_unrotated)[head].max() > NEAR
    ]
    assert changed == [1]
    assert np.abs(made.k_unrotated - run.k_unrotated).max() < NEAR


@pytest.mark.parametrize("name", SUMS)
def test_every_number_of_a_rotated_layer_is_the_sum_of_the_products_behind_it(truth, name):
    for place in ((0, 0), (3, 1), (4, 2)):
        found = origin(truth, 3, name, *place)
        assert found.total == pytest.approx(found.value, abs=1e-5)


def test_one_token_of_a_decoder_alone_is_its_row(case):
    _, model = case
    run = layer_details(model.tokenizer.encode(TEXT), model, 1)
    for head in range(model.n_heads):
        row = follow(run, head, 2)
        assert row.difference < 1e-4
        assert len(row.weights) == len(row.scores) == len(row.products) == 3


def test_one_wide_head_of_a_decoder_looks_only_back(truth):
    weights = as_one_head(truth)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert not np.triu(weights, 1).any()
    q = np.concatenate(list(truth.q), axis=-1)
    k = np.concatenate(list(np.repeat(truth.k, 2, axis=0)), axis=-1)
    powers = np.exp(q[-1] @ k.T / 60**0.5)
    np.testing.assert_allclose(weights[-1], powers / powers.sum(), atol=1e-5)


def test_the_variants_of_a_grouped_decoder_are_its_own_and_made_of_its_own(truth):
    made = {one.name: one for one in variants(truth, truth.x)}
    assert list(made) == ["MHA", "GQA", "MQA", "Cross"]
    assert [(one.n_kv_heads, one.own) for one in made.values()] == [
        (6, False),
        (3, True),
        (1, False),
        (3, False),
    ]
    assert made["GQA"].run is truth
    np.testing.assert_allclose(made["MHA"].run.output, truth.output, atol=1e-4)
    assert np.abs(made["MQA"].run.output - truth.output).max() > 1e-3
    assert not np.triu(made["MQA"].run.weights, 1).any()
    assert np.triu(made["Cross"].run.weights, 1).any()


def test_the_growing_cache_is_the_runs_keys_and_values_byte_by_byte(case):
    _, model = case
    tokens = model.tokenizer.encode(TEXT)
    grown = growth(tokens, model)
    assert grown.n == len(tokens)
    assert grown.cut == 0
    for layer in range(model.n_layers):
        run = layer_details(tokens, model, layer)
        np.testing.assert_allclose(grown.k[layer], run.k, atol=1e-4)
        np.testing.assert_allclose(grown.v[layer], run.v, atol=1e-4)
    each = 2 * model.n_layers * model.n_kv_heads * model.d_k * 4
    assert grown.n_bytes == tuple(each * n for n in range(1, len(tokens) + 1))
    assert grown.n_bytes[-1] == grown.k.nbytes + grown.v.nbytes
    short = growth(tokens, model, most=2)
    assert (short.n, short.cut) == (2, len(tokens) - 2)
    for most in (0, -1):
        with pytest.raises(InputError, match=f"At least one token is read; {most} was given"):
            growth(tokens, model, most=most)


def test_what_the_page_draws_of_a_decoder_is_the_models_own_run(page, truth):
    at, used = page(), truth.projections
    expected = {
        "X": truth.x, "W_q": used.W_q[3], "W_k": used.W_k[1], "W_v": used.W_v[1], "b_k": used.b_k[1][None],
        "Q": truth.q_unrotated[3], "K": truth.k_unrotated[1], "V": truth.v[1],
        "raw": np.where(np.tril(np.ones((truth.n, truth.n))) > 0, truth.q[3] @ truth.k[1].T, np.nan),
        "z": truth.context[3],
        "Q-before": truth.q_unrotated[3], "Q-after": truth.q[3],
        "K-before": truth.k_unrotated[1], "K-after": truth.k[1],
        "weights": np.where(np.tril(np.ones((truth.n, truth.n))) > 0, truth.weights[3], np.nan),
        "output": truth.output,
    }  # fmt: skip
    for name, values in expected.items():
        np.testing.assert_allclose(matrix(at, name), values, atol=NEAR, err_msg=name)
    said = prose(at)
    assert "the layer's input after its normalisation (pre\u2011LN)" in said
    assert (
        "Query heads 3 and 4 read the same K and V: this layer has 3 key and value heads for 6 query" in said
    )
    assert "W_k and W_v are 24 × 30 each, W_q is 24 × 60" in said
    printed = re.search(
        r"Equal to torch\.nn\.functional\.scaled_dot_product_attention, .* within ([\d.e-]+)", said
    )
    assert printed
    assert float(printed[1].rstrip(".,")) < 1e-4


def test_the_mask_of_a_decoder_is_on_and_said_and_no_change(page):
    at = page(causal="false", at="scaled")
    (switch,) = [t for t in at.toggle if t.label.startswith("Look only back")]
    assert (switch.value, switch.disabled) == (True, True)
    said = prose(at)
    assert "its mask is part of the model and cannot be switched off" in said
    assert "You changed" not in said


def test_what_comes_after_a_token_is_in_none_of_its_lists(page):
    at = page(pin="2")
    block, numbers = one(at, "follow")
    assert len(block["tokens"]) == 3
    assert np.isfinite(numbers[block["scores"] : block["scores"] + 3]).all()
    scores = [matrix(at, "scores")]
    assert scores
    row, _ = one(at, "softmax")
    assert len(row["tokens"]) == 3


def test_one_pair_is_followed_by_hand_on_the_page(page, truth):
    at = page(at="distance")
    at.query_params["turned"] = "3"
    at.run()
    assert at.query_params["turned"] in ("3", ["3"])
    i, half, last = 2, 5, truth.n - 1
    base = truth.rotary.theta
    angle = last * base ** (-2 * i / 10)
    said = prose(at)
    assert "Pair 3 of the query of" in said
    assert f"its numbers 3 and {3 + half}" in said
    assert f"position {last} (positions count from 0)" in said
    assert re.search(
        rf"\^\(−2 · {i} / 10\) = {last} · {base ** (-2 * i / 10):.4g} = {angle:.3f} radians", said
    )
    before = truth.q_unrotated[3, last, [i, i + half]]
    cos, sin = np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(matrix(at, "turn"), [[cos, -sin], [sin, cos]], atol=1e-6)
    np.testing.assert_allclose(matrix(at, "pair-before")[:, 0], before, atol=1e-6)
    np.testing.assert_allclose(matrix(at, "pair-after")[:, 0], [[cos, -sin], [sin, cos]] @ before, atol=1e-5)
    np.testing.assert_allclose(matrix(at, "pair-after")[:, 0], truth.q[3, last, [i, i + half]], atol=1e-5)
    block, _ = one(at, "turn")
    assert block["angle"] == pytest.approx(angle)


def test_the_page_shows_that_a_score_stays_where_the_distance_stays(page, truth):
    at = page()
    (table,) = [b for b, _ in found(at) if b.get("id") == "distances"]
    best = int(truth.weights[3, -1].argmax())
    assert [line[:3] for line in table["rows"][:3]] == [
        [str(truth.n - 1 + m), str(best + m), str(truth.n - 1 - best)] for m in (0, 5, 100)
    ]
    raw = truth.q[3, -1] @ truth.k[1, best]
    assert [float(line[3]) for line in table["rows"][:3]] == pytest.approx([raw] * 3, abs=2e-4)
    assert len(table["head"]) == 4, "nothing is divided before its screen"
    assert all(abs(float(line[3]) - raw) > 1e-3 for line in table["rows"][3:])


def test_the_cache_on_the_page_grows_by_a_token_at_a_time(page, grouped):
    at = page(part="Sizes and costs", at="cache")
    n = len(grouped.tokenizer.encode(TEXT))
    each = 2 * 3 * 3 * 10 * 4

    def table():
        (block,) = [b for b, _ in found(at) if b.get("id") == "cache-bytes"]
        return {line[0]: line for line in block["rows"]}

    assert table()["kept, measured"][1] == f"{each:,}"
    assert np.isnan(matrix(at, "cache-K")[1:]).all()
    (button,) = [b for b in at.button if b.label == "Read the next token"]
    button.click().run()
    assert table()["kept, measured"][1] == f"{2 * each:,}"
    assert table()["new with this token"][1] == f"{each:,}"
    assert table()["with 6 key heads"][1] == f"{4 * each:,}"
    at.session_state["cache-read"] = 4
    at.run()
    assert [table()[name][1] for name in ("kept, measured", "new with this token")] == [
        f"{4 * each:,}",
        f"{each:,}",
    ]
    at.session_state["cache-read"] = 2
    at.session_state["cache-layer"] = 2
    at.run()
    truth = layer_details(grouped.tokenizer.encode(TEXT), grouped, 1)
    for name, kept in (("cache-K", truth.k), ("cache-V", truth.v)):
        drawn = matrix(at, name)
        assert drawn.shape == (n, 30)
        np.testing.assert_allclose(drawn[:2], np.concatenate(list(kept), axis=-1)[:2], atol=NEAR)
        assert np.isnan(drawn[2:]).all()


def test_the_table_of_models_has_the_chosen_one_with_its_own_key_heads(page, grouped):
    at = page(part="Sizes and costs", n="4096")
    (table,) = [b for b, _ in found(at) if b.get("id") == "sizes"]
    rows = {line[0]: line for line in table["rows"]}
    assert rows["LLaMA-2-70B"][1] == "8,192 / 64 on 8"
    assert rows["LLaMA-2-70B"][9] == "1.25 GiB (10.0 GiB)"
    assert rows["BERT-base"][9] == "none"
    mine = rows[grouped.title]
    assert mine[1:4] == ["24 / 6 on 3", "10", "3"]
    layer = grouped.encoder.layer(0).attention
    assert mine[4] == f"{sum(p.numel() for p in layer.parameters()):,}"
    assert kv_cache_bytes(4096, 10, 3, 3) == 2 * 3 * 3 * 10 * 4096 * 2


def test_a_model_without_biases_shows_none(tmp_path, monkeypatch):
    write_decoder(tmp_path, random_decoder("llama", 0))
    model = load_model(str(tmp_path))
    monkeypatch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
    at = walk(text=TEXT, head="2-4", pin="1")
    ids = {b.get("id") for b, _ in found(at)}
    assert not ids & {"b_q", "b_k", "b_v"}
    block, _ = one(at, "heads")
    assert [row["label"] for row in block["rows"]] == [f"2-{h + 1}" for h in range(5)]
    assert matrix(at, "parts").shape[0] == 6
    assert "b_o" not in prose(at)
    assert all("b_" not in latex.value for latex in at.latex)


def test_gpt2_has_no_step_for_rotation(tmp_path, monkeypatch):
    write_decoder(tmp_path, random_decoder("gpt2", 0))
    model = load_model(str(tmp_path))
    monkeypatch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
    at = walk(text=TEXT, head="2-4", pin="1")
    assert not [b for b, _ in found(at) if b["type"] == "turn"]
    assert "Equal to torch.nn.MultiheadAttention within" in prose(at)
    assert "(pre\u2011LN)" in prose(at)


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("text", [TEXT, "x", "the it " * 9])
def test_every_part_opens_on_a_decoder(page, part, text):
    at = page(part=part, text=text, pin="0")
    assert [data for data, _ in boards(at)]


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_every_part_opens_on_smollm2(part):
    at = walk(part=part, model="smollm2", head="14-9", pin="8")
    assert not [e for e in at.get("html") if 'class="hs-problem"' in e.proto.body]
    if part == "Step by step":
        run = layer_details(trace_tokens_of(at.at), load_model("smollm2"), 13)
        np.testing.assert_allclose(matrix(at, "Q-after"), run.q[8], atol=NEAR)
        assert (
            "Query heads 7, 8 and 9 read the same K and V: this layer has 3 key and value heads for 9"
            in prose(at)
        )


@pytest.mark.parametrize(
    "part",
    [
        "Step by step",
        *(pytest.param(part, marks=pytest.mark.long) for part in ("One head or many", "Variants")),
    ],
)
def test_another_head_or_token_of_a_long_text_computes_nothing_twice(part, monkeypatch):
    made, make = [], Store._make
    monkeypatch.setattr(Store, "_make", lambda self, key, *rest: made.append(key) or make(self, key, *rest))
    calls = []
    for name in ("layer_details", "edited", "equal_to_torch"):
        call = getattr(scene, name)
        monkeypatch.setattr(
            scene, name, lambda *a, name=name, call=call, **k: calls.append(name) or call(*a, **k)
        )
    text = f"{part} " + "word " * 600
    shown = {"Step by step": "torch", "One head or many": "hulls", "Variants": "cross"}[part]
    at = open_inside(part=part, at=shown, head="2-3", pin="4", text=text)
    assert ("layer", 1) in [key[-1] for key in made]
    opened, called = len(made), list(calls)
    assert called.count("layer_details") == (2 if part == "Variants" else 1)
    assert "edited" not in called
    at.selectbox(key="inside-head").set_value(5).run()
    at.query_params["pin"] = "9"
    at.run()
    assert not at.exception
    assert len(made) == len(set(map(repr, made))), "made twice"
    assert calls == called
    new = [key[-1] for key in made[opened:]]
    assert all(part == "One head or many" and ("ranks" in key or "outside" in key[-1]) for key in new), new


def test_what_a_long_run_takes_in_the_store_is_what_its_arrays_take(model):
    run = layer_details(model.tokenizer.encode("word " * 600), model, 1)
    assert run.n == 512
    n, d, h = 512, 384, 12
    numbers = (
        2 * h * n * n + h * n * d + 4 * n * d + 4 * n * d
    )  # scores, weights; parts; q, k, v, z; x (also the keys' source and the stream: once), output, residual, hidden
    assert run.x is run.keys_from is run.stream
    assert bytes_of(run) == pytest.approx(4 * numbers + n * n, rel=0.001)
    assert bytes_of(run) < 50_000_000


def trace_tokens_of(at):
    return trace(at.session_state["text"], load_model("smollm2")).tokens


@pytest.mark.parametrize("part", [part for part in PARTS if part != "By hand"])
def test_one_token_and_one_head_are_said_to_be_one(tmp_path, monkeypatch, part):
    write_decoder(tmp_path, random_decoder("gpt2", 1))
    model = load_model(str(tmp_path))
    monkeypatch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
    at = walk(part=part, text="x", head="1-1", n="1")
    said = prose(at) + "\n".join(str(block) for block, _ in found(at))
    assert (
        re.findall(r"\b1 (?:query |key |key and value )?(?:tokens|heads|rows|tables|parts)\b.*", said) == []
    )
    expected = {
        "Step by step": (
            "The model reads your sentence as one token: x.",
            "This layer has a single head, so nothing is cut: 22 → 1 × 22.",
            "in the one head: times row",
            "The one head made 22 numbers per token.",
            "the 1 part and b_o were computed",
            "for the one token of this sentence",
            "Its attention weights and ours: within",
        ),
        "One head or many": (
            "Split into 1 head, x has 1 row,",
            "Split, its 1 head looks most at the same token.",
            "1 head, each 1/1 as wide",
            "1 table of 1 × 1",
            "1 token, d_model 22",
            "of 1 head; ",
            "Values of 1 token in a plane",
        ),
        "Variants": ("1 query head with keys and values of its own", "K and V of 1 token:"),
        "Sizes and costs": (
            "operations and memory for 1 token, or",
            "2 · 2 layers · 1 key head · 22",
            "layer 1, 1 key head",
            "its q meets the one key that is there.",
        ),
    }
    for sentence in expected[part]:
        assert sentence in said


def told(at, board, event, value):
    """What a browser sends when something is pressed or typed on a board."""
    (element,) = (e.proto for e in at.get("bidi_component") if e.proto.id.endswith(board))
    sent = at._tree.get_widget_states()
    new = sent.widgets.add(id=f"$$STREAMLIT_INTERNAL_KEY_{element.id}__events")
    new.json_trigger_value = json.dumps({"event": event, "value": value})
    at._run(sent)
    assert not at.exception, at.exception[0].message
    return at


def test_a_number_that_is_pressed_is_in_the_link_by_row_and_column_from_one(page):
    at = told(page(at="scores"), "inside-picture-walk", "cell", ["raw", 4, 1])
    assert link(at)["cell"] == "raw:5:2"
    shown = [at, *(page(at="scores", cell=cell) for cell in ("raw:5:2", "raw:2:5"))]
    same, other, turned_round = ([b["title"] for b, _ in found(one) if b["type"] == "sum"] for one in shown)
    assert same == other != turned_round


@pytest.mark.parametrize("name", ["W_k", "W_v"])
def test_a_number_of_shared_keys_is_put_back_from_any_head_that_shares_them(page, name):
    """Heads 3 and 4 share a key and value head; head 5 has another one, and layer 3 heads of its own."""
    others = f"2-5:{name}:1:2:7,3-3:{name}:1:2:8,2-3:{name}:1:3:6,2-3:W_q:1:2:4,2-4:W_q:1:2:3"

    def here(**query):
        return page(at="qkv", matrices="true", cell=f"{name}:1:2", **query)

    at = here(head="2-4", edits=f"2-3:{name}:1:2:5,{others}")
    block, _ = one(at, "change")
    assert (block["value"], block["was"] is None) == (5, False)
    told(at, "inside-origin-walk", "edit", [*block["place"], 9.0])
    assert link(at)["edits"] == f"{others},2-4:{name}:1:2:9"
    told(at, "inside-origin-walk", "edit", [*block["place"], None])
    assert link(at)["edits"] == others
    at = here(head="2-3", edits="2-3:W_q:1:2:4,2-4:W_q:1:2:3")
    told(at, "inside-origin-walk", "edit", ["W_q", 0, 1, None])
    assert link(at)["edits"] == "2-4:W_q:1:2:3", "each head has queries of its own"


def test_a_number_of_a_matrix_feeds_one_number_where_there_is_one_token(tmp_path, monkeypatch):
    write_decoder(tmp_path, random_decoder("gpt2", 1))
    model = load_model(str(tmp_path))
    monkeypatch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
    for name, place, feeds in (
        ("W_q", "qkv", "Q"),
        ("W_k", "qkv", "K"),
        ("W_v", "qkv", "V"),
        ("W_o", "output", "the output"),
    ):
        for text, numbers in (("x", "1 number."), ("xy", "2 numbers.")):
            said = prose(open_inside(text=text, head="1-1", at=place, matrices="true", cell=f"{name}:1:3"))
            assert f"feeds column 3 of {feeds}: {numbers}" in said, name


def test_one_key_head_for_all_is_said_to_be_one(tmp_path, monkeypatch):
    write_decoder(tmp_path, random_decoder("llama", 0))
    model = load_model(str(tmp_path))
    monkeypatch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
    said = prose(open_inside(text=TEXT, part="One head or many", at="costs"))
    assert "Here 5 query heads share 1 key and value head, so" in said


def test_of_a_row_that_may_look_at_nothing_no_key_is_said_to_be_looked_at(page):
    said = prose(page(at="distance", pin="0", unseen="1"))
    assert "looks at most" not in said
    assert "The query of it and the key of it at their own positions" in said
    assert "the key of it, the token it looks at most, at their own" in prose(page(at="distance", pin="0"))


def test_a_number_that_is_turned_feeds_two_of_each_product(truth):
    """A query that is 1 at one place alone is, turned, something at that place and at its pair's."""
    rotary = truth.rotary
    for j in range(10):
        alone = np.eye(10, dtype=np.float32)[j]
        first, second = np.flatnonzero(np.abs(turned(rotary, alone, 3)) > 1e-9) + 1
        shown = SimpleNamespace(
            h=1, sizes=truth.projections, now=SimpleNamespace(n=5, rotary=rotary, allowed=truth.allowed)
        )
        for name, line in (("Q", "row"), ("K", "column")):
            assert (
                f"whole {line} of {{token}} in Q Kᵀ: turned with its pair first, numbers {first} and {second} of each"
                in origin_panel.fed_by(shown, name, 1, j)
            )
    part = SimpleNamespace(d_k=10, n_turned=2)
    shown.now.rotary = part
    assert "Q Kᵀ: number 4 of each" in origin_panel.fed_by(shown, "Q", 1, 3)
    assert "numbers 2 and 7 of each" in origin_panel.fed_by(shown, "Q", 1, 6)


def test_of_a_text_that_is_one_token_too_long_for_the_cache_one_is_left_out(page):
    at = page(part="Sizes and costs", at="cache", text="x" * 33, pin="0")
    assert "Read up to token 32; 1 more is left out here." in prose(at)


def test_beside_z_stand_the_values_that_its_head_shares(page, truth):
    at = page(at="z")
    np.testing.assert_allclose(matrix(at, "V"), truth.v[1], atol=NEAR)
    np.testing.assert_allclose(matrix(at, "z"), truth.weights[3] @ truth.v[1], atol=NEAR)
