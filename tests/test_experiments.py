"""Interventions against transformers' own models with the matrices cut, and every shortcut against the long way."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from decoder_folders import shared_model

from mha_core import InputError, SizeError, hidden_states, layer_details, trace, trace_tokens
from mha_core.causal import (
    LogitDifference,
    Loss,
    MeanAblation,
    PatchHeads,
    PatchStates,
    ReplaceAttention,
    ScaleHeads,
    ablate,
    bind,
    default_outcome,
    final_result,
    measure,
    next_words,
    patch,
    sweep_head_patches,
    sweep_heads,
    trace_with_interventions,
)
from mha_core.causal.activation_cache import run_with_cache
from mha_core.causal.intervention_hooks import intervention_hooks

pytest.importorskip("transformers")
TEXT, OTHER = "the cat it", "it dog the"  # as many tokens of the tiny decoders
WORD = LogitDifference(" the", " it")


@pytest.fixture(params=["gpt2", "llama"])
def decoder(request):
    return shared_model(request.param)


@pytest.fixture
def llama():
    return shared_model("llama")[1]


def texts_of(model):
    return [model.tokenizer.encode(text) for text in (TEXT, OTHER)]


def heads_of(model):
    return [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]


def cut(theirs, layer, head, factor):
    """Multiply a head's slice of W_o in transformers' model."""
    if hasattr(theirs, "transformer"):
        weight = theirs.transformer.h[layer].attn.c_proj.weight.data
    else:
        weight = theirs.model.layers[layer].self_attn.o_proj.weight.data.T
    width = len(weight) // theirs.config.num_attention_heads
    weight[head * width : (head + 1) * width] *= factor


@pytest.mark.parametrize("factor", [0.0, 2.0, -1.5])
def test_a_factor_is_the_head_s_slice_of_the_output_matrix_times_it(factor, decoder):
    theirs, model = decoder
    tokens = model.tokenizer.encode(TEXT)
    for heads in (((0, 0),), ((0, 1), (1, 0), (1, 1), (2, 3))):
        changed = deepcopy(theirs)
        for layer, head in heads:
            cut(changed, layer, head, factor)
        with torch.no_grad():
            output = changed(torch.tensor([tokens.ids]), output_attentions=True)
        chosen = (ScaleHeads(heads, factor),)
        for position in (None, 2):
            best = next_words(tokens, model, chosen, k=20, position=position)
            logits = output.logits[0, -1 if position is None else position]
            np.testing.assert_allclose([w.logit for w in best], logits[[w.id for w in best]], atol=1e-4)
        weights = torch.stack(output.attentions)[:, 0]
        np.testing.assert_allclose(
            trace_with_interventions(tokens, model, chosen).weights, weights, atol=1e-5
        )


@pytest.mark.parametrize(
    ("to", "query", "row", "expected"),
    [
        ("uniform", 4, 4, [1 / 5] * 5 + [0]),
        ("uniform", None, 1, [1 / 2, 1 / 2, 0, 0, 0, 0]),
        (2, 4, 4, [0, 0, 1, 0, 0, 0]),
        (2, None, 5, [0, 0, 1, 0, 0, 0]),
        ((1.0, 0.0, 3.0, 0.0, 0.0, 7.0), 3, 3, [1 / 4, 0, 3 / 4, 0, 0, 0]),
    ],
)
def test_a_row_of_weights_is_replaced_and_mixes_what_it_says(to, query, row, expected, llama):
    tokens = llama.tokenizer.encode("catdog")
    assert len(tokens) == 6
    chosen = (ReplaceAttention(((1, 4),), to, query),)
    plain, record = trace_tokens(tokens, llama), trace_with_interventions(tokens, llama, chosen)
    np.testing.assert_allclose(record.weights[1, 4, row], expected, atol=1e-6)
    np.testing.assert_allclose(record.weights[1, :4], plain.weights[1, :4], atol=1e-6)
    cache = run_with_cache([tokens], llama, intervention_hooks(chosen, tokens, llama))
    values = layer_details(tokens, llama, 1).v[2]  # six heads on three
    np.testing.assert_allclose(cache.contexts[1][0, 4, row], np.array(expected) @ values, atol=1e-5)
    if query is not None:
        others = [q for q in range(6) if q != query]
        np.testing.assert_allclose(record.weights[1, 4, others], plain.weights[1, 4, others], atol=1e-6)


def test_losses_and_words_are_those_of_transformers(decoder):
    theirs, model = decoder
    tokens = model.tokenizer.encode(TEXT)
    ids = torch.tensor([tokens.ids])
    with torch.no_grad():
        scores = theirs(ids).logits[0, :, : model.tokenizer.vocab_size]  # theirs has one row too many
    expected = torch.nn.functional.cross_entropy(scores[:-1], ids[0, 1:], reduction="none")
    assert measure(tokens, model, Loss())[0] == pytest.approx(float(expected.mean()), abs=1e-4)
    assert measure(tokens, model, Loss(3))[0] == pytest.approx(float(expected[2:].mean()), abs=1e-4)
    the, it = (model.tokenizer.ids_of(word)[0] for word in (" the", " it"))
    scores, shares = scores[-1], scores[-1].softmax(-1)
    expected = (scores[the] - scores[it], shares[the], shares[it])
    assert measure(tokens, model, WORD) == pytest.approx([float(x) for x in expected], abs=1e-4)
    assert bind(WORD, tokens, model).names == (
        "logit difference", "probability of ' the'", "probability of ' it'",
    )  # fmt: skip
    order = [i for i in scores.argsort(descending=True).tolist() if "\ufffd" not in model.tokenizer.typed(i)]
    result = measure(tokens, model, default_outcome(tokens, model))[0]
    assert result == pytest.approx(float(scores[order[0]] - scores[order[1]]), abs=1e-4)


@pytest.mark.parametrize("factor", [0.0, 2.0])
@pytest.mark.parametrize(
    "base",
    [
        (),
        (ScaleHeads(((0, 1), (2, 0))), ReplaceAttention(((1, 1),), "uniform")),
        (PatchStates(((1, 2), (2, 1), (3, 4)), OTHER),),
    ],
)
def test_every_head_in_turn_is_one_head_after_the_other(factor, base, llama):
    tokens, _ = texts_of(llama)
    sweep = final_result(sweep_heads(tokens, llama, WORD, factor=factor, base=base))
    assert sweep.before == pytest.approx(measure(tokens, llama, WORD, base), abs=1e-4)
    for head in heads_of(llama):
        expected = measure(tokens, llama, WORD, (*base, ScaleHeads((head,), factor)))
        np.testing.assert_allclose(sweep.numbers[head], expected, atol=1e-4)
    rows = sweep.to_frame()
    assert [(r.layer - 1, r.head - 1) for r in rows.itertuples()] == heads_of(llama)
    np.testing.assert_allclose(rows.after - rows.before, rows.effect)
    for i, name in enumerate(sweep.names[1:], start=1):
        np.testing.assert_allclose(rows[name], sweep.numbers[..., i].ravel())


def test_patching_everything_gives_the_source_and_nothing_the_text_itself(decoder):
    _, model = decoder
    into, source = texts_of(model)
    own, theirs = measure(into, model, WORD), measure(source, model, WORD)
    everything = tuple((0, position) for position in range(len(into)))
    assert measure(into, model, WORD, (PatchStates(everything, OTHER),)) == pytest.approx(theirs, abs=1e-5)
    end = ((model.n_layers, len(into) - 1),)
    assert measure(into, model, WORD, (PatchStates(end, OTHER),)) == pytest.approx(theirs, abs=1e-5)
    every = tuple(heads_of(model))
    both = (PatchStates(everything, OTHER), PatchHeads(every, OTHER))
    np.testing.assert_allclose(
        trace_with_interventions(into, model, both).weights, trace_tokens(source, model).weights, atol=1e-5
    )
    for nothing in ((), (PatchHeads(every, TEXT),)):
        assert measure(into, model, WORD, nothing) == pytest.approx(own, abs=1e-5)


def test_a_pair_is_patched_from_a_pair(model):
    pair = ("The dog ran.", "It slept.")
    into, source = model.tokenizer.encode("A cat sat.", "She woke."), model.tokenizer.encode(*pair)
    everything = PatchStates(tuple((0, position) for position in range(len(into))), *pair)
    patched = trace_with_interventions(into, model, (everything,))
    np.testing.assert_allclose(patched.weights, trace_tokens(source, model).weights, atol=1e-5)


def test_interventions_on_one_head_act_in_the_order_given(llama):
    head, into = ((1, 1),), texts_of(llama)[0]
    patched, zero = PatchHeads(head, OTHER), ScaleHeads(head, 0.0)
    for first, last in ((patched, zero), (zero, patched)):
        expected = measure(into, llama, WORD, (last,))
        assert measure(into, llama, WORD, (first, last)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("positions", [None, (1, 3)])
def test_patching_every_head_is_patching_one_after_the_other(positions, llama):
    into, source = texts_of(llama)
    sweep = final_result(sweep_head_patches(source, into, llama, WORD, positions=positions))
    for head in heads_of(llama):
        expected = measure(into, llama, WORD, (PatchHeads((head,), OTHER, None, positions),))
        np.testing.assert_allclose(sweep.numbers[head], expected, atol=1e-4)
    whole = measure(source, llama, WORD)[0] - measure(into, llama, WORD)[0]
    np.testing.assert_allclose(sweep.recovered, sweep.effect / whole, atol=1e-4)
    np.testing.assert_allclose(sweep.to_frame().recovered, sweep.effect.ravel() / whole, atol=1e-4)


def test_heads_are_ablated_and_patched_by_their_names(llama):
    gates = np.ones((3, 6))
    gates[0, 1] = gates[1, 4] = 0
    record = ablate(TEXT, llama, "1-2,2-5")
    gated = trace(TEXT, llama, gates=gates)
    np.testing.assert_array_equal(gated.gates, gates)
    np.testing.assert_allclose(record.weights, gated.weights, atol=1e-6)
    assert record.interventions == (ScaleHeads(((0, 1), (1, 4))),)
    patched = patch(OTHER, TEXT, llama, "1-1,1-3")
    chosen = (PatchHeads(((0, 0), (0, 2)), OTHER),)
    assert patched.interventions == chosen
    np.testing.assert_array_equal(
        patched.weights, trace_with_interventions(patched.tokens, llama, chosen).weights
    )
    assert np.abs(patched.weights[1] - trace(TEXT, llama).weights[1]).max() > 1e-4
    for change, *arguments in ((ablate, llama, "4-1"), (ablate, llama, ""), (patch, "it", llama, "1-1")):
        with pytest.raises(InputError):
            change(TEXT, *arguments)


def test_a_hook_reads_states_weights_and_contexts_and_changes_what_it_returns(llama):
    seen = {}

    def look(name, layer, tensor):
        seen[name, layer] = tensor[0].clone().numpy()

    plain, record = trace(TEXT, llama), trace(TEXT, llama, hook=look)
    np.testing.assert_allclose(record.weights, plain.weights, atol=1e-6)
    assert record.interventions == ()
    expected = {("state", i): state for i, state in enumerate(hidden_states(TEXT, llama))}
    expected |= {("weights", i): weights for i, weights in enumerate(plain.weights)}
    contexts = run_with_cache([plain.tokens], llama).contexts
    expected |= {("context", i): context[0].numpy() for i, context in enumerate(contexts)}
    assert set(seen) == set(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(seen[name], array, atol=1e-5)

    def silence(name, layer, tensor):
        if (name, layer) != ("context", 1):
            return None
        changed = tensor.clone()
        changed[:, 2] = 0
        return changed

    record = trace(TEXT, llama, hook=silence)
    np.testing.assert_allclose(record.weights, ablate(TEXT, llama, "2-3").weights, atol=1e-6)
    assert record.interventions == ("hook silence",)
    for hook, error in ((lambda *_: torch.zeros(1), SizeError), ("look", InputError)):
        with pytest.raises(error):
            trace(TEXT, llama, hook=hook)


@pytest.mark.parametrize(
    "intervention",
    [
        ScaleHeads(()), ScaleHeads(((3, 0),)), MeanAblation(((0, 99),)), ScaleHeads(((0, 0),), float("nan")),
        ScaleHeads(((0, 0),), 1000000000.0), PatchHeads(((0, 0),), "catdog", None, ()), PatchStates((), "catdog"),
        *(
            ReplaceAttention(((0, 0),), *row)
            for row in (
                ("sideways",), (3, 2), ((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), 2), (9,), ((1.0,),),
                ((-1.0, 2.0, 0.0, 0.0, 0.0, 0.0),),
            )
        ),
        PatchHeads(((0, 0),), "cat"), PatchHeads(((0, 0),), "catdog", None, (6,)), PatchStates(((4, 0),), "catdog"),
        PatchStates(((0, -1),), "catdog"),
    ],
)  # fmt: skip
def test_what_a_text_or_model_does_not_allow_is_refused(intervention, llama):
    with pytest.raises(InputError):
        trace_with_interventions(llama.tokenizer.encode("catdog"), llama, (intervention,))
