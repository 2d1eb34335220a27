"""Beyond raw weights: value norms, rollout, flow, gradients; and what switching a head off changes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from bert_folders import random_bert, write
from decoder_folders import random_decoder, write_decoder

from mha_core import embedding, layer_details, load_model, predict_masked, trace_tokens
from mha_core.errors import InputError, SizeError
from mha_core.families.bert import MaskedHead
from mha_core.heads.ablation import AblationSums, ablate_each
from mha_core.heads.measures import BY_KEY, HELP, MEASURES, available, importance
from mha_core.heads.measures.block import block_parts
from mha_core.heads.measures.flow import attention_flow
from mha_core.heads.measures.gradient import gradient_weights, relevance
from mha_core.heads.measures.rollout import rollout
from mha_core.heads.measures.value import value_norms
from mha_core.heads.notices import disagreement
from mha_core.trace import every_layer_details, hidden_states
from pages.parts.frame import request
from tests.heads_by_hand import random_attention

SENTENCE = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def tokens(model):
    return model.tokenizer.encode(SENTENCE)


@pytest.fixture(scope="module")
def predicting(model):
    """The embedded model with a masked head of random weights: enough to take gradients of."""
    torch.manual_seed(3)
    head = MaskedHead(model.config).eval().requires_grad_(False)
    return replace(model, masked_head=head)


def test_value_norms_are_what_each_key_adds(model, tokens):
    details = layer_details(tokens, model, 3)
    norms = value_norms(details)
    head, query, key = 1, 10, 2
    value = details.x[key] @ details.projections.W_v[head] + details.projections.b_v[head]
    added = details.weights[head, query, key] * (value @ details.projections.W_o[head])
    assert norms[head, query, key] == pytest.approx(np.linalg.norm(added), rel=1e-4)


def test_value_norms_with_shared_value_heads_are_those_of_each_head_s_own(tmp_path):
    """The first token of a decoder sees itself alone, so what it adds through a head is that head's whole part."""
    write_decoder(tmp_path, random_decoder("llama", 1))  # 6 heads on 3 key-value heads
    decoder = load_model(str(tmp_path), device="cpu")
    details = layer_details(decoder.tokenizer.encode("the cat sat"), decoder, 1)
    parts = np.linalg.norm(details.contributions[:, 0], axis=-1)
    assert len(set(np.round(parts, 4))) == 6
    np.testing.assert_allclose(value_norms(details)[:, 0, 0], parts, rtol=1e-4)


@pytest.mark.parametrize("kind", ["raw", "value", "rollout"])
def test_rows_of_every_kind_are_shares(model, tokens, kind):
    found = importance(tokens, model, kind)
    assert found.weights.shape == (6, 12 if found.measure.per_head else 1, len(tokens), len(tokens))
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    assert found.measure.per_head == (kind != "rollout")


def test_value_weights_move_attention_away_from_where_raw_weights_are(model, tokens):
    raw, value = importance(tokens, model, "raw"), importance(tokens, model, "value")
    apart = disagreement(raw.weights, value.weights)
    assert apart.shape == (6, 12)
    assert (disagreement(raw.weights, raw.weights) == 0).all()
    assert 0.2 < apart.mean() < 0.9


def test_rollout_is_the_product_of_the_layers_with_their_residuals():
    weights = random_attention(5, 3, 2, 5)
    mixed = [0.5 * layer.mean(0) + 0.5 * np.eye(5) for layer in weights]
    np.testing.assert_allclose(rollout(weights)[2], mixed[2] @ mixed[1] @ mixed[0], atol=1e-6)
    np.testing.assert_allclose(rollout(weights)[0], mixed[0], atol=1e-6)
    np.testing.assert_allclose(rollout(weights).sum(-1), 1, atol=1e-5)


def test_flow_through_one_layer_is_its_row():
    weights = random_attention(6, 1, 2, 5)
    expected = 0.5 * weights[0].mean(0)[3] + 0.5 * np.eye(5)[3]
    np.testing.assert_allclose(attention_flow(weights, 3), expected, atol=1e-6)


def test_flow_is_as_wide_as_its_narrowest_cut():
    """Two layers, two tokens: what reaches input 1 is bounded by each layer's pipes."""
    first, second = np.array([[1.0, 0.0], [0.4, 0.6]]), np.array([[0.2, 0.8], [0.5, 0.5]])
    weights = np.stack([first, second])[:, None]
    # With residuals: first [[1, 0], [.2, .8]], second [[.6, .4], [.25, .75]].
    np.testing.assert_allclose(attention_flow(weights, 0), [0.6 + 0.2, 0.4], atol=1e-9)
    np.testing.assert_allclose(attention_flow(weights, 1), [0.25 + 0.2, 0.75], atol=1e-9)


def test_flow_is_the_largest_possible(model, tokens):
    """Checked against linear programming."""
    optimize = pytest.importorskip("scipy.optimize", reason="scipy is not installed")
    weights = random_attention(11, 3, 2, 4)
    mixed = 0.5 * weights.mean(1) + 0.5 * np.eye(4)
    pipes = [(layer, i, j) for layer in range(3) for i in range(4) for j in range(4)]
    width = [mixed[pipe] for pipe in pipes]
    found = attention_flow(weights, 2)
    for key in range(4):
        balance = []
        for layer in (1, 2):
            for node in range(4):
                into = [float(p[0] == layer and p[2] == node) for p in pipes]
                out = [float(p[0] == layer - 1 and p[1] == node) for p in pipes]
                balance.append([a - b for a, b in zip(into, out, strict=True)])
        gain = [-float(p[0] == 0 and p[2] == key) for p in pipes]
        bounds = [
            (0, 0) if (p[0] == 2 and p[1] != 2) or (p[0] == 0 and p[2] != key) else (0, w)
            for p, w in zip(pipes, width, strict=True)
        ]
        best = optimize.linprog(gain, A_eq=balance, b_eq=np.zeros(len(balance)), bounds=bounds)
        assert found[key] == pytest.approx(-best.fun, abs=1e-7)


def test_flow_refuses_what_would_take_minutes():
    with pytest.raises(SizeError, match="up to 64 tokens; this text has 70"):
        attention_flow(np.zeros((1, 1, 70, 70)), 0)
    with pytest.raises(InputError, match="Token 6 was asked for; the text has 5"):
        attention_flow(random_attention(1, 1, 1, 5), 5)


def test_gradients_need_a_prediction(model, tokens, predicting):
    assert tuple(each.key for each in available(model)) == ("raw", "value", "residual", "rollout")
    assert available(predicting) == MEASURES
    with pytest.raises(InputError, match="predicts no word, so there is nothing"):
        importance(tokens, model, "gradient")
    with pytest.raises(InputError, match="There is no \\[MASK\\]"):
        importance(tokens, predicting, "gradient")
    with pytest.raises(InputError, match="no measure of importance"):
        importance(tokens, model, "vibes")


def test_a_gradient_weight_is_what_the_prediction_gains(predicting):
    """The gradient is that of the prediction: compared with nudging one weight and looking."""
    tokens = predicting.tokenizer.encode("The cat [MASK] on the mat.")
    place = next(i for i, p in enumerate(tokens.pieces) if p.text == "[MASK]")
    found = gradient_weights(tokens, predicting)
    assert found.shape == (6, 12, len(tokens), len(tokens))
    assert (found >= 0).all()
    assert (found > 0).any()
    layer = predicting.encoder.layer(5)
    from mha_core import hidden_states

    x = torch.from_numpy(np.array(hidden_states(tokens, predicting)[5]))[None]
    with torch.no_grad():
        _, details = layer.attention(x, details=True)

        def predicted(weights):
            context = (weights @ details.v).transpose(1, 2).flatten(2)
            state = layer.feed_forward(x, layer.attention.W_o(context))
            return predicting.masked_head(state[0, place])

        scores = predicted(details.weights)
        word = int(scores.argmax())
        for head, key in ((0, 1), (3, 4), (7, 2)):
            nudged = details.weights.clone()
            nudged[0, head, place, key] += 1e-2
            slope = float(predicted(nudged)[word] - scores[word]) / 1e-2
            expected = max(0.0, slope * float(details.weights[0, head, place, key]))
            assert found[5, head, place, key] == pytest.approx(expected, abs=2e-3, rel=0.1)


@pytest.mark.slow
def test_gradient_weights_are_those_of_transformers_at_the_first_mask(model, tmp_path):
    """Attention times its gradient where that is positive, out of transformers' own graph (Chefer, equation 5)."""
    tokens = model.tokenizer.encode("The [MASK] sat on [MASK].", "It rained.")
    ids, segments = torch.tensor([tokens.ids]), torch.tensor([tokens.segments])
    for seed in range(20):
        theirs = random_bert("BertForMaskedLM", seed)
        output = theirs(ids, token_type_ids=segments, output_attentions=True)
        first, last = output.logits[ids == model.tokenizer.mask_id].amax(dim=-1)
        if last > first:  # so that another mask, or all of them, would give another answer
            break
    assert last > first
    gradients = torch.autograd.grad(first, output.attentions)
    products = np.array(
        [(a * g)[0].detach().numpy() for a, g in zip(output.attentions, gradients, strict=True)]
    )
    assert products.min() < -1e-4
    write(tmp_path, theirs)
    ours = load_model(str(tmp_path), device="cpu")
    np.testing.assert_allclose(gradient_weights(tokens, ours), np.maximum(products, 0), atol=1e-5, rtol=1e-3)


@pytest.mark.slow
def test_guess_and_relevance_are_of_a_token_that_the_vocabulary_has(tmp_path):
    """Embeddings are padded to a round number; here a row without a piece has the largest score of all."""
    theirs = random_bert("BertForMaskedLM", vocab_size=30528)
    with torch.no_grad():
        theirs.cls.predictions.bias[30524] = 1000.0
    write(tmp_path, theirs)
    ours = load_model(str(tmp_path), device="cpu")
    tokens = ours.tokenizer.encode("The [MASK] sat.")
    output = theirs(torch.tensor([tokens.ids]), output_attentions=True)
    scores = output.logits[0, tokens.ids.index(ours.tokenizer.mask_id), :30522]
    best = scores.max()
    ((guessed, share),) = predict_masked("The [MASK] sat.", ours, k=1)[0]
    assert guessed == ours.tokenizer.piece_name(int(scores.argmax()))
    assert share == pytest.approx(float(scores.detach().softmax(-1).max()), rel=1e-4), (
        "of all pieces that there are"
    )
    gradients = torch.autograd.grad(best, output.attentions)
    expected = [(a * g)[0].clamp(min=0).detach() for a, g in zip(output.attentions, gradients, strict=True)]
    found = gradient_weights(tokens, ours)
    np.testing.assert_allclose(found, torch.stack(expected).numpy(), atol=1e-5, rtol=1e-3)


def test_a_model_in_half_precision_has_no_gradients(predicting):
    half = predicting.to("cpu", "bfloat16")
    with pytest.raises(InputError, match=r"float32 or float64; MiniLM computes in bfloat16\.$"):
        importance(half.tokenizer.encode("The cat [MASK]."), half, "gradient")


def test_relevance_is_drawn_as_shares_of_a_row_and_no_row_is_empty(predicting):
    tokens = predicting.tokenizer.encode("The cat [MASK].")
    plain, drawn = gradient_weights(tokens, predicting), importance(tokens, predicting, "gradient").weights
    assert (plain.sum(-1) == 0).any()
    through = np.eye(len(tokens))
    for layer in plain.mean(1):
        through = through + layer @ through
    assert drawn.shape == (1, 1, len(tokens), len(tokens))
    np.testing.assert_allclose(drawn[0, 0], through / through.sum(-1, keepdims=True), rtol=1e-5)


def test_relevance_is_offered_where_there_is_something_to_predict(predicting):
    masked, plain = (predicting.tokenizer.encode(text) for text in ("The cat [MASK].", "The cat."))
    assert available(predicting, masked) == MEASURES
    assert [each.key for each in available(predicting, plain)] == [key for key in BY_KEY if key != "gradient"]


def test_what_comes_through_a_block_adds_up_to_what_the_block_gives(model, tokens):
    """LayerNorm of the sum less beta and less what the output's bias becomes, for every token and layer."""
    states = hidden_states(tokens, model)
    drawn = importance(tokens, model, "residual").weights[:, 0]
    for layer, run in enumerate(every_layer_details(tokens, model)):
        block, x = model.encoder.layer(layer), states[layer].copy()
        norm, bias = block.attention_norm, run.projections.b_o
        whole = torch.from_numpy(x + run.output)
        given = block.residual(torch.from_numpy(x), torch.from_numpy(run.output.copy())).detach().numpy()
        deviation = torch.sqrt(whole.var(-1, unbiased=False, keepdim=True) + norm.eps).numpy()
        gamma, beta = norm.weight.detach().numpy(), norm.bias.detach().numpy()
        expected = given - beta - gamma * (bias - bias.mean()) / deviation
        parts = np.stack([block_parts(run, block, query) for query in range(len(tokens))])
        np.testing.assert_allclose(parts.sum(1), expected, atol=2e-4)
        lengths = np.linalg.norm(parts, axis=-1)
        np.testing.assert_allclose(drawn[layer], lengths / lengths.sum(-1, keepdims=True), atol=1e-5)


def test_with_the_residual_a_token_mostly_keeps_itself(model, tokens):
    """Kobayashi et al. 2021 find that mixing is the smaller part; in this model it is about a third."""
    own = importance(tokens, model, "residual").weights[:, 0].diagonal(axis1=1, axis2=2)
    assert 0.5 < own.mean() < 0.95
    alone = importance(tokens, model, "value").weights.diagonal(axis1=2, axis2=3)
    assert own.mean() > 3 * alone.mean()


def test_gradients_leave_the_shared_model_as_it_was(predicting):
    gradient_weights(predicting.tokenizer.encode("The cat [MASK]."), predicting)
    parameters = [*predicting.encoder.parameters(), *predicting.masked_head.parameters()]
    assert all(p.grad is None and not p.requires_grad for p in parameters)


def test_relevance_adds_each_layer_on_the_identity():
    gradient = random_attention(2, 2, 3, 4)
    a, b = gradient.mean(1)
    np.testing.assert_allclose(relevance(gradient), (np.eye(4) + b) @ (np.eye(4) + a), atol=1e-6)


def test_the_effect_of_a_head_is_one_minus_the_cosine(model, tokens):
    effects = ablate_each(tokens, model)
    assert effects.shape == (6, 12)
    gates = np.ones((6, 12))
    gates[5, 5] = 0
    with_it, without = embedding(tokens, model), embedding(tokens, model, gates=gates)
    cosine = with_it @ without / np.linalg.norm(with_it) / np.linalg.norm(without)
    assert effects[5, 5] == pytest.approx(1 - cosine, abs=1e-6)
    assert effects.min() > -1e-6


def test_heads_of_the_same_and_of_earlier_layers_look_as_before(model, tokens):
    before = trace_tokens(tokens, model).weights
    gates = np.ones((6, 12))
    gates[2, 4] = 0
    after = trace_tokens(tokens, model, gates=gates).weights
    np.testing.assert_array_equal(after[:3], before[:3])
    assert np.abs(after[3:] - before[3:]).max() > 1e-3


@pytest.mark.long
def test_ablations_are_means_over_texts_and_leave_the_model_as_it_was(model, tokens):
    other = model.tokenizer.encode("Rain falls.")
    before = embedding(tokens, model)
    whole, part = AblationSums(model), AblationSums(model)
    whole.add(tokens)
    part.add(other)
    whole.merge(part)
    expected = (ablate_each(tokens, model) + ablate_each(other, model)) / 2
    np.testing.assert_allclose(whole.result().effect, expected, atol=1e-9)
    assert whole.result().n_texts == 2
    np.testing.assert_array_equal(embedding(tokens, model), before)


def test_disagreement_of_all_layers_is_counted_against_the_last_layer():
    raw = np.zeros((3, 2, 2, 2))
    raw[..., 0] = 1
    raw[-1, :, :, 0], raw[-1, :, :, 1] = 0, 1
    flow = np.array([[[[0.0, 1.0], [0.4, 0.6]]]])
    assert disagreement(raw, flow).tolist() == [[0.0]], "with the first layer it would be 1"
    assert disagreement(raw, flow[..., ::-1]).tolist() == [[1.0]]


def test_a_measure_is_one_line_of_the_registry_with_words_of_its_own():
    for field in ("key", "label", "drawn", "compute"):
        values = [getattr(each, field) for each in MEASURES]
        assert all(values)
        assert len(set(values)) == len(values)
    assert all(each.told and each.told in HELP for each in MEASURES)
    assert [each.key for each in MEASURES if not each.per_head] == ["residual", "rollout", "gradient"]


def test_the_switch_offers_what_the_registry_holds_and_the_link_may_ask_for_it():
    assert tuple(BY_KEY) == request.MEASURES
    for key, each in BY_KEY.items():
        assert request.refusal("measure", key) is None
        asked = request.Request("x", measure=key)
        assert (asked.mixed, asked.raw) == (not each.per_head, key == "raw")
