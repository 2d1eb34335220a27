"""The atlas of heads: moments equal transformers' numbers, features are what they say, descriptions need evidence."""

import numpy as np
import pytest
import torch

from mha_core import load_model
from mha_core.heads.atlas.describe import Description, describe
from mha_core.heads.atlas.features import features, pair_features
from mha_core.heads.atlas.making import shuffled
from mha_core.heads.atlas.reading import passage_tokens, read_passages
from mha_core.heads.atlas.sums import AtlasSums
from mha_core.heads.atlas.table import atlas
from tests.bert_folders import random_bert, write
from tests.decoder_folders import random_decoder, write_decoder

LINES = ["it is the moth", "the theme, it", "hit the hen", "then it thaws", "thin tea it is"]
KINDS = [("gpt2", 0), ("llama", 0), ("llama", 1), ("bert", 0)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def pair(request, tmp_path_factory):
    pytest.importorskip("transformers")
    kind, which = request.param
    folder = tmp_path_factory.mktemp("model")
    theirs = (
        write(folder, random_bert()) if kind == "bert" else write_decoder(folder, random_decoder(kind, which))
    )
    return load_model(str(folder), device="cpu"), theirs


def parts(theirs, layer, states):
    """What transformers' own modules give for a layer: values (n, wide) and W_o (wide, d_model)."""
    kind = theirs.config.model_type
    if kind == "bert":
        block = theirs.encoder.layer[layer].attention
        return block.self.value(states), block.output.dense.weight.T
    if kind == "gpt2":
        block, d = theirs.transformer.h[layer], theirs.config.n_embd
        x = block.ln_1(states)
        return x @ block.attn.c_attn.weight[:, 2 * d :] + block.attn.c_attn.bias[
            2 * d :
        ], block.attn.c_proj.weight
    block = theirs.model.layers[layer]
    return block.self_attn.v_proj(block.input_layernorm(states)), block.self_attn.o_proj.weight.T


def by_hand(theirs, model, tokens):
    """(layer, head, query): the strongest key apart from where heads rest, its weight and what it brings."""
    with torch.no_grad():
        out = theirs(torch.tensor([tokens.ids]), output_attentions=True, output_hidden_states=True)
    found = {}
    special = [piece.special or (model.is_causal and i == 0) for i, piece in enumerate(tokens.pieces)]
    for layer in range(model.n_layers):
        values, W_o = parts(theirs, layer, out.hidden_states[layer][0])
        width = W_o.shape[0] // model.n_heads
        for head in range(model.n_heads):
            kv = head * model.n_kv_heads // model.n_heads
            written = values[:, kv * width : (kv + 1) * width] @ W_o[head * width : (head + 1) * width]
            for query in range(len(tokens)):
                keys = [
                    k for k in range(len(tokens)) if not special[k] and (k <= query or not model.is_causal)
                ]
                if special[query] or not keys:
                    continue
                key = max(keys, key=lambda k: float(out.attentions[layer][0, head, query, k]))
                weight = float(out.attentions[layer][0, head, query, key])
                found[layer, head, query] = (key, weight, weight * float(written[key].detach().norm()))
    return found


@pytest.mark.slow
def test_moments_are_those_of_transformers(pair):
    model, theirs = pair
    tokens = [passage_tokens(line, model) for line in LINES]
    expected = [by_hand(theirs, model, one) for one in tokens]
    for part in read_passages(LINES, model):
        sums = part.sums
    for entry in atlas(sums).heads:
        assert entry.strongest
        for one in (*entry.strongest, *entry.random):
            key, weight, brings = expected[one.passage][*entry.head, one.query]
            assert one.key == key
            assert one.weight == pytest.approx(weight, abs=1e-4)
            assert one.brings == pytest.approx(brings, rel=1e-4, abs=1e-4)
        rows = [
            value[2] for numbers in expected for place, value in numbers.items() if place[:2] == entry.head
        ]
        assert entry.strongest[0].brings == pytest.approx(max(rows), rel=1e-4)


def true_of(model, text, key):
    tokens = model.tokenizer.encode(text)
    names = [feature.key for feature in features(model.is_causal)]
    of = pair_features(tokens, model.is_causal).of[names.index(key)]
    label = [tokens.spelling(piece) for piece in tokens.pieces]
    return {(label[q], label[k]) for q, k in zip(*np.nonzero(of), strict=True)}


def test_features_of_pairs_by_hand(model):
    assert true_of(model, "the bridge and bridges", "another form") == {
        ("bridge", "bridges"),
        ("bridges", "bridge"),
    }
    assert true_of(model, "bridge or bridge near bridges", "another form") == {
        ("bridge", "bridges"),
        ("bridges", "bridge"),
    }
    assert ("fox", "jumps") in true_of(model, "fox jumps while fox", "after a copy")
    assert true_of(model, "nation and nationalities", "another form") == set(), "six letters of thirteen"
    assert true_of(model, "either go or stay", "pair of joining words") == {("or", "either")}
    assert true_of(model, "or stay either go", "pair of joining words") == set()
    assert true_of(model, "a b a", "same token") == {("a", "a")}
    assert true_of(model, "a b c", "one back") == {("b", "a"), ("c", "b")}


def invented(model, look, n=80, seed=0):
    """Sums of one head that looks where `look(tokens, query)` says, on invented sentences."""
    rng = np.random.default_rng(seed)
    words = [
        "tree",
        "river",
        "stone",
        "cloud",
        "glass",
        "horse",
        "moon",
        "field",
        "lamp",
        "door",
        "boat",
        "king",
    ]
    words += ["salt", "bread", "not", "only"]
    sums = AtlasSums(1, 1, is_causal=False)
    for _ in range(n):
        tokens = model.tokenizer.encode(" ".join(rng.choice(words, 14)))
        weights = np.full((1, 1, len(tokens), len(tokens)), 1e-3, np.float32)
        for query in range(len(tokens)):
            weights[0, 0, query, look(tokens, query, rng)] = 0.5 + rng.random() / 2
        sums.add(weights, np.ones((1, 1, len(tokens)), np.float32), tokens)
    return sums


def test_a_head_that_looks_one_back_is_described_so(model):
    found = describe(invented(model, lambda tokens, query, _: max(query - 1, 1)))[0]
    assert found.findings[0].feature.key == "one back"
    assert found.findings[0].share > 0.8
    assert found.findings[0].lift > 5
    assert not found.by_content


@pytest.mark.slow
def test_a_head_that_looks_anywhere_has_no_description(model):
    sums = invented(model, lambda tokens, query, rng: int(rng.integers(1, len(tokens) - 1)))
    assert describe(sums)[0] == Description()


@pytest.mark.slow
def test_with_tokens_shuffled_content_vanishes_and_position_stays(model):
    def negations(tokens, query, rng):
        there = [i for i, piece in enumerate(tokens.pieces) if piece.text in ("not", "only") and i != query]
        return int(rng.choice(there)) if there else query

    content = shuffled(invented(model, negations))
    assert not describe(content)[0].by_content
    place = shuffled(invented(model, lambda tokens, query, _: max(query - 1, 1)))
    assert describe(place)[0].findings[0].feature.key == "one back"
