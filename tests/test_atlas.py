"""The atlas of heads: examples equal transformers' numbers, features are what they say, descriptions need evidence."""

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from mha_core import load_model, logit_attribution
from mha_core.engine.visibility import EVERYTHING
from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.describe import describe
from mha_core.heads.atlas.effects import effects
from mha_core.heads.atlas.features import features, pair_features
from mha_core.heads.atlas.passages import passage_tokens, read_passages
from mha_core.heads.atlas.table import atlas
from mha_core.tools.atlas import shuffled
from tests.decoder_folders import random_decoder, shared_model, write_decoder

LINES = ["it is the moth", "the theme, it", "hit the hen", "then it thaws", "thin tea it is"]


@pytest.fixture(params=[("gpt2", 0), ("llama", 0), ("llama", 1), ("bert", None)], ids=str)
def pair(request):
    return shared_model(*request.param)


def values_and_output(theirs, layer, states):
    """Return what transformers' own modules give for a layer: values (n, wide) and W_o (wide, d_model)."""
    kind = theirs.config.model_type
    if kind == "bert":
        block = theirs.bert.encoder.layer[layer].attention
        return block.self.value(states), block.output.dense.weight.T
    if kind == "gpt2":
        block, d = theirs.transformer.h[layer], theirs.config.n_embd
        fused = block.attn.c_attn
        values = block.ln_1(states) @ fused.weight[:, 2 * d :] + fused.bias[2 * d :]
        return values, block.attn.c_proj.weight
    block = theirs.model.layers[layer]
    return block.self_attn.v_proj(block.input_layernorm(states)), block.self_attn.o_proj.weight.T


def by_hand(theirs, model, tokens):
    """(layer, head, query): the strongest key apart from attention sinks, its weight and the output norm; whether the
    largest weight of all is on a sink."""
    with torch.no_grad():
        out = theirs(torch.tensor([tokens.ids]), output_attentions=True, output_hidden_states=True)
    expected = {}
    special = [piece.special or (model.is_causal and i == 0) for i, piece in enumerate(tokens.pieces)]
    for layer in range(model.n_layers):
        values, W_o = values_and_output(theirs, layer, out.hidden_states[layer][0])
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
                largest = int(out.attentions[layer][0, head, query].argmax())
                norm = weight * float(written[key].detach().norm())
                expected[layer, head, query] = (key, weight, norm, special[largest])
    return expected


@pytest.mark.slow
def test_examples_are_those_of_transformers(pair):
    theirs, model = pair
    tokens = [passage_tokens(line, model) for line in LINES]
    expected = [by_hand(theirs, model, each) for each in tokens]
    collection = Collection(model.n_layers, model.n_heads, model.info.visibility)
    for batch in read_passages(LINES, model):
        for passage in batch:
            collection.add(*passage)
    frame = atlas(collection).to_frame()
    assert set(frame.kind) == {"top", "typical", "random"}
    for row in frame.itertuples():
        key, weight, norm, _ = expected[row.passage][row.layer - 1, row.head - 1, row.query]
        labels = [tokens[row.passage].label(piece) for piece in tokens[row.passage].pieces]
        assert (row.key, row.query_text, row.key_text) == (key, labels[row.query], labels[key])
        assert row.weight == pytest.approx(weight, abs=1e-4)
        assert row.output_norm == pytest.approx(norm, rel=1e-4, abs=1e-4)
    for entry in atlas(collection).heads:
        sinks = [row[3] for rows in expected for place, row in rows.items() if place[:2] == entry.head]
        assert entry.sink == pytest.approx(np.mean(sinks))
    largest = frame[frame.kind == "top"].groupby(["layer", "head"]).output_norm.max()
    for (layer, head), norm in largest.items():
        place = (layer - 1, head - 1)
        norms = [row[2] for rows in expected for at_query, row in rows.items() if at_query[:2] == place]
        assert norm == pytest.approx(max(norms), rel=1e-4)


@pytest.mark.slow
def test_a_planted_direction_raises_and_lowers_the_tokens_it_points_to_and_from(tmp_path):
    theirs = random_decoder("gpt2")
    layer, head, width, d = 2, 1, 3, 15
    values = slice(2 * d + head * width, 2 * d + (head + 1) * width)
    direction = torch.linspace(-1, 1, d).sin()
    with torch.no_grad():  # values of one, whatever is read: the head always writes `direction`
        attention = theirs.transformer.h[layer].attn
        attention.c_attn.weight[:, values] = 0.0
        attention.c_attn.bias[values] = 1.0
        attention.c_proj.weight[head * width : (head + 1) * width] = direction / width
        passed = (direction - direction.mean()) * theirs.transformer.ln_f.weight
        scores = (theirs.lm_head.weight @ passed).numpy()
    write_decoder(tmp_path, theirs)
    model = load_model(str(tmp_path), device="cpu")
    (effect,) = effects(model.tokenizer.encode("then it thaws"), model, [(layer, head, 4)], k=5)
    known = sorted(model.tokenizer.identities, key=lambda i: scores[i])
    typed = [model.tokenizer.typed(i) for i in known]
    assert [token.text for token in effect.lowers] == typed[:5]
    assert [token.text for token in effect.raises] == typed[:-6:-1]
    ratio = (scores[known[0]] - scores[known].mean()) / (scores[known[-1]] - scores[known].mean())
    assert effect.lowers[0].logits / effect.raises[0].logits == pytest.approx(ratio, rel=1e-4)
    assert effect.lowers[0].logits < 0 < effect.raises[0].logits


def test_what_a_head_does_to_two_tokens_is_its_part_of_their_logits(pair):
    _, model = pair
    if not model.is_causal:
        pytest.skip("predicts no next token")
    tokens = model.tokenizer.encode(LINES[3])
    (effect,) = effects(tokens, model, [(1, 2, len(tokens) - 1)], k=99)
    up, down = (next(token for token in side if token.text.isascii()) for side in effect)
    parts = logit_attribution(tokens, model, up.text, down.text)
    (part,) = parts[(parts.layer == 2) & (parts["head"] == 3)].score
    assert up.logits - down.logits == pytest.approx(part, rel=1e-4)


def true_of(model, text, key):
    tokens = model.tokenizer.encode(text)
    names = [feature.key for feature in features(model.is_causal)]
    holds = pair_features(tokens, model.info.visibility).holds[names.index(key)]
    label = [tokens.spelling(piece) for piece in tokens.pieces]
    return {(label[q], label[k]) for q, k in zip(*np.nonzero(holds), strict=True)}


def test_features_of_pairs_by_hand(model):
    for text in ("the bridge and bridges", "bridge or bridge near bridges"):
        pairs = {("bridge", "bridges"), ("bridges", "bridge")}
        assert true_of(model, text, "another form") == pairs
    assert ("fox", "jumps") in true_of(model, "fox jumps while fox", "after a copy")
    assert true_of(model, "nation and nationalities", "another form") == set(), "six letters of thirteen"
    assert true_of(model, "either go or stay", "pair of joining words") == {("or", "either")}
    assert true_of(model, "or stay either go", "pair of joining words") == set()
    assert true_of(model, "a b a", "same token") == {("a", "a")}
    assert true_of(model, "a b c", "one back") == {("b", "a"), ("c", "b")}


WORDS = [
    *("tree", "river", "stone", "cloud", "glass", "horse", "moon", "field", "lamp", "door", "boat", "king"),
    *("bird", "road", "fire", "hand", "book", "ship", "wall", "rain", "snow", "wind", "leaf", "gold"),
    *("salt", "bread", "iron", "coat", "milk", "song", "not", "only", ",", ";"),
]


@pytest.fixture(scope="module")
def planted(model):
    """What is kept of a head that looks one back, one at a quotation mark and one anywhere, on invented sentences."""
    rng, collection = np.random.default_rng(0), Collection(1, 3, EVERYTHING)
    for number in range(80):
        words = [*rng.choice(WORDS, 14)]
        words.insert(int(rng.integers(2, 8)), '"')
        tokens = model.tokenizer.encode(" ".join(words).title())  # most are capitalised, whoever looks
        n, quote = len(tokens), [piece.text for piece in tokens.pieces].index('"')
        looks = [np.maximum(np.arange(n) - 1, 1), np.full(n, quote), rng.integers(1, n - 1, n)]
        weights = np.full((1, 3, n, n), 1e-3, np.float32)
        weights[0, np.arange(3)[:, None], np.arange(n), looks] = 0.5 + rng.random((3, n)) / 2
        collection.add(number, tokens, weights, np.ones((1, 3, n), np.float32))
    return collection


@pytest.mark.slow
def test_heads_are_described_by_what_they_look_at_with_wilsons_intervals_or_not_at_all(planted):
    frame = atlas(planted).descriptions()
    features_of = {key: rows.set_index("feature") for key, rows in frame.groupby("head")}
    (back,) = features_of[1].loc[["one back"]].itertuples()
    assert (back.share > 0.8, back.lift > 5) == (True, True)
    assert features_of[2].loc["to opening"].share > 0.8
    assert features_of[3].index.isna().tolist() == [True]
    for row in frame[frame["head"] < 3].itertuples():
        exact = binomtest(round(row.share * row.n), int(row.n)).proportion_ci(method="wilson")
        assert (row.low, row.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.slow
def test_with_tokens_shuffled_content_vanishes_and_position_stays(planted):
    assert [head.by_content for head in describe(planted)] == [False, True, False]
    back, quote, _ = describe(shuffled(planted))
    assert not quote.by_content
    assert back.findings[0].feature.key == "one back"
