"""Inside with decoders, against transformers and by hand: rotation, shared keys, the mask, the growing cache."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from boards import charts, matrix, numbers_in, one, prose
from decoder_folders import random_decoder, write_decoder
from test_inside import NEAR, assert_walk, open_inside, softmax, walk
from visit import link

from mha_core import InputError, layer_details, load_model
from mha_core.engine.rotary import Rotary
from mha_core.layer import (
    SUMS,
    CellEdit,
    Edits,
    as_one_head,
    edited,
    equal_to_torch,
    growth,
    origin,
    query_steps,
    rotate_vector,
    run_layer,
    turn,
    variants,
)

pytestmark = pytest.mark.slow  # a page of the app on the embedded decoder

TEXT = "it the it that the"


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
    monkeypatch.setattr("pages.parts.frame.loading.load_model", lambda name, **_: grouped)
    opening = {"text": TEXT, "head": "2-4", "pin": str(len(grouped.tokenizer.encode(TEXT)) - 1)}
    return lambda **query: (open_inside if "at" in query else walk)(**opening | query)


@pytest.fixture(scope="module")
def truth(grouped):
    return layer_details(grouped.tokenizer.encode(TEXT), grouped, 1)


def test_rotation_by_hand_is_transformers_own(case):
    theirs, model = case
    if model.encoder.rotary is None:
        pytest.skip("GPT-2 adds its positions to the tokens")
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    run = layer_details(model.tokenizer.encode(TEXT), model, 1)
    before = (torch.from_numpy(part.copy())[None] for part in (run.q_unrotated, run.k_unrotated))
    angles = theirs.model.rotary_emb(torch.zeros(1), torch.arange(run.n)[None])
    sides = ((run.q, run.q_unrotated), (run.k, run.k_unrotated))
    for (ours, plain), after in zip(sides, apply_rotary_pos_emb(*before, *angles), strict=True):
        np.testing.assert_allclose(ours, after[0], atol=1e-5)
        for position in range(run.n):
            rotated = rotate_vector(run.rotary, plain[0, position], position)
            np.testing.assert_allclose(rotated, after[0, 0, position], atol=1e-5)
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


def test_a_run_with_a_changed_number_still_has_what_was_before_the_rotation(case):
    _, ours = case
    run = layer_details(ours.tokenizer.encode(TEXT), ours, 0)
    with_cell = edited(run, Edits(cells=(CellEdit("W_q", 1, 2, 1, 4.0),)))
    if run.rotary is None:
        assert (with_cell.q_unrotated, with_cell.k_unrotated) == (None, None), "nothing is turned"
        return
    changed = np.abs(with_cell.q_unrotated - run.q_unrotated).max(axis=(1, 2)) > NEAR
    assert np.flatnonzero(changed).tolist() == [1]
    assert np.abs(with_cell.k_unrotated - run.k_unrotated).max() < NEAR


@pytest.mark.parametrize("name", SUMS)
def test_every_number_of_a_rotated_layer_is_the_sum_of_the_products_behind_it(truth, name):
    for place in ((0, 0), (3, 1), (4, 2)):
        number = origin(truth, 3, name, *place)
        assert number.total == pytest.approx(number.value, abs=1e-5)


def test_one_wide_head_of_a_decoder_looks_only_back(truth):
    weights = as_one_head(truth)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert not np.triu(weights, 1).any()
    q = np.concatenate(list(truth.q), axis=-1)
    k = np.concatenate(list(np.repeat(truth.k, 2, axis=0)), axis=-1)
    np.testing.assert_allclose(weights[-1], softmax(q[-1] @ k.T / 60**0.5), atol=1e-5)


def test_the_variants_of_a_grouped_decoder_are_its_own_and_made_of_its_own(truth):
    by_name = {variant.name: variant for variant in variants(truth, truth.x)}
    assert list(by_name) == ["MHA", "GQA", "MQA", "Cross"]
    assert [variant.n_kv_heads for variant in by_name.values()] == [6, 3, 1, 3]
    assert [variant.own for variant in by_name.values()] == [False, True, False, False]
    assert by_name["GQA"].run is truth
    np.testing.assert_allclose(by_name["MHA"].run.output, truth.output, atol=1e-4)
    assert np.abs(by_name["MQA"].run.output - truth.output).max() > 1e-3
    assert not np.triu(by_name["MQA"].run.weights, 1).any()
    assert np.triu(by_name["Cross"].run.weights, 1).any()


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
    short = growth(tokens, model, limit=2)
    assert (short.n, short.cut) == (2, len(tokens) - 2)
    for limit in (0, -1):
        with pytest.raises(InputError, match=f"1 or more, not {limit}"):
            growth(tokens, model, limit=limit)


def test_what_the_page_draws_of_a_decoder_is_the_models_own_run(page, truth):
    at = page(pin="2")
    assert_walk(at, truth, 3, 2)
    assert len(query_steps(truth, 3, 2).products) == 3, "it sees no later token"
    rotated = {"Q-before": truth.q_unrotated[3], "Q-after": truth.q[3]}
    rotated |= {"K-before": truth.k_unrotated[1], "K-after": truth.k[1]}
    for name, values in rotated.items():
        np.testing.assert_allclose(matrix(at, name), values, atol=NEAR, err_msg=name)
    text = prose(at)
    assert "the layer's normalised input" in text
    assert "Query heads 3 and 4 share K and V: 6 query heads, 3 key and value heads" in text
    assert "Each token keeps 30 numbers of K and of V instead of 60" in text
    printed = re.search(r"Equal to torch\.nn\.functional\.scaled_dot_product_.* within (\d[\d.e-]+\d)", text)
    assert float(printed[1]) < 1e-4


def told(at, board, event, value):
    """Send the event of a browser in which something is pressed or typed on a board."""
    (element,) = (e.proto for e in at.get("bidi_component") if e.proto.id.endswith(board))
    sent = at._tree.get_widget_states()
    new = sent.widgets.add(id=f"$$STREAMLIT_INTERNAL_KEY_{element.id}__events")
    new.json_trigger_value = json.dumps({"event": event, "value": value})
    at._run(sent)
    assert not at.exception, at.exception[0].message
    return at


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


def test_the_cache_of_the_page_is_the_one_that_grew(page, grouped):
    at = page(part="Sizes and costs", at="cache")
    grown = growth(grouped.tokenizer.encode(TEXT), grouped)
    shared, alone = charts(at)[0]["data"]
    np.testing.assert_allclose(numbers_in(shared["y"]), np.array(grown.n_bytes) / 1024)
    np.testing.assert_allclose(numbers_in(alone["y"]), np.array(grown.n_bytes) / 1024 * 6 / 3)
    assert numbers_in(shared["x"]).tolist() == list(range(1, grown.n + 1))
    at.number_input(key="cache-read").set_value(3).run()
    table = at.dataframe[0].value.set_index("after 3 tokens")["bytes"]
    assert table["kept, measured"] == table["by the formula"] == grown.n_bytes[2]
    assert table["new with this token"] == grown.n_bytes[0]
    assert table["with 6 key heads"] == 2 * grown.n_bytes[2]


def test_the_same_distance_has_the_same_product_on_the_page(page, truth):
    at = page(at="distance")
    table = at.dataframe[0].value
    i = truth.n - 1
    j = int(truth.weights[3, i].argmax())
    assert table[["query", "key"]].iloc[0].tolist() == [i, j]
    assert table["q · k"][0] == pytest.approx(truth.q[3, i] @ truth.k[1, j], abs=1e-4)
    assert np.ptp(table["q · k"][table["distance"] == i - j]) < 1e-3
    before, after = ([numbers_in(trace[axis])[1] for axis in "xy"] for trace in charts(at)[0]["data"])
    pair = truth.rotary.n_turned // 8
    half = truth.rotary.d_k // 2
    np.testing.assert_allclose(before, truth.q_unrotated[3, i, [pair, pair + half]], atol=1e-5)
    np.testing.assert_allclose(after, truth.q[3, i, [pair, pair + half]], atol=1e-5)
