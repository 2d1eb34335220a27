"""Interventions against transformers' own models with the matrices cut, and every shortcut against the long way."""

import json
import re
import threading
from itertools import pairwise
from types import SimpleNamespace
from weakref import WeakKeyDictionary

import numpy as np
import pytest
import torch
from bert_folders import embedded_folder, random_bert, write
from decoder_folders import random_decoder, write_decoder

from mha_core import (
    HeadScopeError,
    InputError,
    NextToken,
    SizeError,
    layer_details,
    load_model,
    predict_next,
    trace_tokens,
)
from mha_core.experiments import (
    Cosine,
    Factor,
    Loss,
    MeanOutput,
    Part,
    PatchHeads,
    PatchStates,
    Rows,
    State,
    Word,
    bind,
    default_outcome,
    every_head,
    heads_from,
    last,
    means,
    measure,
    moved_heads,
    next_words,
    outcomes,
    patch_heads,
    patch_states,
    prompts,
    state_cosines,
    sweep,
    token_of,
    trace_changed,
)
from mha_core.experiments.changes import changes_of
from mha_core.experiments.effects import Effects
from mha_core.experiments.interventions import check_position, same_length
from mha_core.experiments.kept import kept_of
from mha_core.experiments.outcomes import place_of
from mha_core.heads.builtin import read_builtin
from mha_core.run import Run
from mha_core.trace import gate_tensor, hidden_states, run
from mha_core.views import head_from

pytest.importorskip("transformers")
TEXT, OTHER = "the cat it", "it dog the"  # as many tokens of the tiny decoders
WORD = Word(" the", " it")
TIRED = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def decoder(request, tmp_path_factory):
    """A random decoder of three layers, transformers' and ours."""
    folder = tmp_path_factory.mktemp(request.param)
    theirs = write_decoder(folder, random_decoder(request.param, int(request.param == "llama")))
    return theirs, load_model(str(folder), device="cpu")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    write_decoder(folder, random_decoder("llama", 1))
    return load_model(str(folder), device="cpu")


def texts_of(model):
    tokens = [model.tokenizer.encode(text) for text in (TEXT, OTHER)]
    assert len(tokens[0]) == len(tokens[1])
    return tokens


def heads_of(model):
    return [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]


def cut(theirs, layer, head, factor):
    """transformers' model with a head's slice of W_o times a factor; back again after."""
    with torch.no_grad():
        if hasattr(theirs, "transformer"):  # GPT-2 keeps it transposed
            weight = theirs.transformer.h[layer].attn.c_proj.weight
            width = weight.shape[0] // theirs.config.n_head
            weight[head * width : (head + 1) * width] *= factor
        else:
            weight = theirs.model.layers[layer].self_attn.o_proj.weight
            width = theirs.config.head_dim
            weight[:, head * width : (head + 1) * width] *= factor


# A run with interventions


@pytest.mark.parametrize("factor", [0.0, 2.0, -1.5])
def test_a_factor_is_the_head_s_slice_of_the_output_matrix_times_it(factor, decoder):
    theirs, model = decoder
    tokens = model.tokenizer.encode(TEXT)
    kept = {name: tensor.clone() for name, tensor in theirs.state_dict().items()}
    for heads in (((0, 0),), ((0, 1), (1, 0), (1, 1), (2, 3))):
        if any(layer >= model.n_layers or head >= model.n_heads for layer, head in heads):
            continue
        for layer, head in heads:
            cut(theirs, layer, head, factor)
        with torch.no_grad():
            output = theirs(torch.tensor([tokens.ids]), output_attentions=True)
        theirs.load_state_dict(kept)
        chosen = (Factor(heads, factor),)
        best = next_words(tokens, model, chosen, k=20)
        np.testing.assert_allclose(
            [w.logit for w in best], [output.logits[0, -1, w.id] for w in best], atol=1e-4
        )
        weights = torch.stack(output.attentions)[:, 0]
        np.testing.assert_allclose(trace_changed(tokens, model, chosen).weights, weights, atol=1e-5)


@pytest.mark.parametrize("head", [(5, 5), (2, 8), (0, 0)])
def test_taking_a_head_of_minilm_away_is_cutting_its_slice_out_of_the_real_weights(head, model):
    from transformers import AutoModel

    theirs = AutoModel.from_pretrained(embedded_folder(), attn_implementation="eager").eval()
    tokens = model.tokenizer.encode(TIRED)
    ids = torch.tensor([tokens.ids])
    with torch.no_grad():
        before = theirs(ids).last_hidden_state[0].mean(0)
        theirs.encoder.layer[head[0]].attention.output.dense.weight[:, 32 * head[1] : 32 * (head[1] + 1)] = 0
        after = theirs(ids).last_hidden_state[0].mean(0)
    expected = float(torch.cosine_similarity(before, after, dim=0))
    assert measure(tokens, model, Cosine(), (Factor((head,)),))[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_interventions_act_in_the_order_in_which_they_are_given(llama):
    tokens, _ = texts_of(llama)
    head = ((1, 2),)
    doubled = measure(tokens, llama, WORD, (Factor(head, 2.0),))
    assert measure(tokens, llama, WORD, (Factor(head, 4.0), Factor(head, 0.5))) == pytest.approx(
        doubled, abs=1e-5
    )
    gone = measure(tokens, llama, WORD, (Factor(head),))
    assert measure(tokens, llama, WORD, (MeanOutput(head), Factor(head))) == pytest.approx(gone, abs=1e-5)
    assert measure(tokens, llama, WORD, (Factor(head), MeanOutput(head))) != pytest.approx(gone, abs=1e-4)
    mean, half = (
        kept_of(tokens, llama, changes_of((MeanOutput(head), *more), tokens, llama)).contexts[1][0, 2]
        for more in ((), (Factor(head, 0.5),))
    )
    torch.testing.assert_close(half, 0.5 * mean)


@pytest.mark.slow
def test_the_mean_output_is_the_mean_of_what_a_head_mixes_in_the_built_in_sentences(model, monkeypatch):
    some = read_builtin()[::10]
    monkeypatch.setattr(means, "read_builtin", lambda: some)
    monkeypatch.setattr(means, "_MEANS", WeakKeyDictionary())
    fractions = [part.fraction for part in means.mean_steps(model)]
    assert (fractions[0], fractions[-1]) == (pytest.approx(32 / len(some)), 1)
    total, n = np.zeros(32), 0
    for one in some:
        context = layer_details(model.tokenizer.encode(one.text), model, 2).context[8]
        total += context.sum(0)
        n += len(context)
    np.testing.assert_allclose(means.mean_contexts(model)[2, 8], total / n, atol=1e-5)
    tokens = model.tokenizer.encode(TIRED)
    changed = kept_of(tokens, model, changes_of((MeanOutput(((2, 8),)),), tokens, model))
    np.testing.assert_allclose(changed.contexts[2][0, 8, 5], total / n, atol=1e-5)


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
    chosen = (Rows(((1, 4),), to, query),)
    plain, record = trace_tokens(tokens, llama), trace_changed(tokens, llama, chosen)
    np.testing.assert_allclose(record.weights[1, 4, row], expected, atol=1e-6)
    np.testing.assert_allclose(record.weights[1, :4], plain.weights[1, :4], atol=1e-6)
    kept = kept_of(tokens, llama, changes_of(chosen, tokens, llama))
    values = layer_details(tokens, llama, 1).v[2]  # six heads on three
    np.testing.assert_allclose(kept.contexts[1][0, 4, row], np.array(expected) @ values, atol=1e-5)
    if query is not None:
        others = [q for q in range(6) if q != query]
        np.testing.assert_allclose(record.weights[1, 4, others], plain.weights[1, 4, others], atol=1e-6)


def test_an_intervention_in_words_counts_heads_and_tokens_from_one():
    heads = ((0, 1), (3, 0))
    assert [
        str(one)
        for one in (
            Factor(heads, 0.5),
            MeanOutput(heads[:1]),
            Rows(heads[:1], "uniform"),
            Rows(heads[:1], 2, 4),
            PatchHeads(heads[:1], "the dog"),
            PatchHeads(heads[:1], "the dog", None, (2,)),
            PatchHeads(heads[:1], "the dog", None, (0, 3)),
            PatchStates(((1, 2), (0, 1)), "the dog"),
        )
    ] == [
        "1-2, 4-1 times 0.5",
        "1-2 replaced by the mean output",
        "1-2 with other weights",
        "1-2 with other weights of token 5",
        "1-2 taken over from 'the dog'",
        "1-2 taken over from 'the dog' at token 3",
        "1-2 taken over from 'the dog' at tokens 1, 4",
        "2 states taken over from 'the dog'",
    ]


def test_rows_that_cannot_see_the_one_token_stay_as_they_are(llama):
    tokens = llama.tokenizer.encode("catdog")
    plain, record = trace_tokens(tokens, llama), trace_changed(tokens, llama, (Rows(((0, 0),), 3),))
    np.testing.assert_array_equal(record.weights[0, 0, :3], plain.weights[0, 0, :3])
    assert (record.weights[0, 0, 3:, 3] == 1).all()


def test_a_record_names_its_interventions_and_earlier_layers_look_as_before(model):
    tokens = model.tokenizer.encode(TIRED)
    chosen = (Factor(((2, 4),)),)
    plain, record = trace_tokens(tokens, model), trace_changed(tokens, model, chosen)
    assert (plain.interventions, record.interventions) == ((), chosen)
    np.testing.assert_array_equal(record.weights[:3], plain.weights[:3])
    moved = moved_heads(plain, record)
    assert moved.shape == (6, 12, len(tokens))
    assert moved[:3].max() == 0 < moved[3:].max() <= 1
    expected = np.abs(plain.weights[4, 1, 7] - record.weights[4, 1, 7]).sum() / 2
    assert moved[4, 1, 7] == pytest.approx(expected, rel=1e-5)
    cosines = state_cosines(tokens, model, chosen)
    np.testing.assert_allclose(cosines[:3], 1, atol=1e-6)
    assert cosines[3:].min() < 0.9999


def test_runs_with_other_interventions_have_other_names():
    text = Run("minilm", TIRED)
    one, other = (Run("minilm", TIRED, interventions=(Factor(((0, 0),), factor),)) for factor in (0.0, 2.0))
    assert len({text, one, other}) == 3
    assert one == Run("minilm", TIRED, interventions=(Factor(((0, 0),)),))


@pytest.mark.long
def test_two_threads_with_other_interventions_never_see_each_other_s_numbers(model):
    tokens = model.tokenizer.encode(TIRED)
    chosen = [(Factor(((5, head),), factor),) for head in range(3) for factor in (0.0, 2.0)]
    chosen += [(Rows(((1, 1),), "uniform"),), ()]
    expected = [measure(tokens, model, Cosine(), one)[0] for one in chosen]
    assert len(set(expected)) == len(expected)
    wrong = list[int]()

    def work(i):
        wrong.extend(i for _ in range(6) if measure(tokens, model, Cosine(), chosen[i])[0] != expected[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(chosen))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Outcomes


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
    found = measure(tokens, model, default_outcome(tokens, model))[0]
    assert found == pytest.approx(float(scores[order[0]] - scores[order[1]]), abs=1e-4)


def test_an_encoder_s_words_are_those_at_its_mask(tmp_path):
    theirs = write(tmp_path, random_bert("BertForMaskedLM"))
    model = load_model(str(tmp_path), device="cpu")
    tokens = model.tokenizer.encode("The cat [MASK] on the mat.")
    with torch.no_grad():
        theirs.bert.encoder.layer[1].attention.output.dense.weight[:, 6:9] = 0
        scores = theirs(torch.tensor([tokens.ids])).logits[0, 3]
    sat, dog = (model.tokenizer.ids_of(word)[0] for word in ("sat", "dog"))
    found = measure(tokens, model, Word("sat", "dog"), (Factor(((1, 2),)),))
    assert found[0] == pytest.approx(float(scores[sat] - scores[dog]), abs=1e-4)
    assert next_words(tokens, model, (Factor(((1, 2),)),), 1)[0].id == int(scores.argmax())
    swept = last(every_head(tokens, model, Word("sat", "dog")))
    assert swept.after[1, 2] == pytest.approx(found[0], abs=1e-4)
    two = model.tokenizer.encode("The [MASK] cat [MASK].")
    with torch.no_grad():
        scores = theirs(torch.tensor([two.ids])).logits[0]
    first = next_words(two, model, (Factor(((1, 2),)),), 1)[0]
    assert first.logit == pytest.approx(float(scores[2].max()), abs=1e-4), "of two masks the first"
    assert float(scores[2].max()) != pytest.approx(float(scores[4].max()), abs=1e-3)


def test_an_embedding_is_measured_where_no_word_is_predicted(model):
    tokens = model.tokenizer.encode(TIRED)
    assert default_outcome(tokens, model) == Cosine()
    assert measure(tokens, model, Cosine())[0] == pytest.approx(1, abs=1e-6)
    changed = run([tokens], model, change=changes_of((Factor(((3, 3),)),), tokens, model)).hidden[0, 4]
    plain = hidden_states(tokens, model)[-1, 4]
    expected = float(torch.cosine_similarity(changed, torch.tensor(plain), dim=0))
    assert measure(tokens, model, State(4), (Factor(((3, 3),)),))[0] == pytest.approx(expected, abs=1e-5)


# Every head in turn


def test_the_strongest_change_most_in_either_direction_and_what_was_not_tried_is_none():
    numbers = np.array([[[1.5], [-3.0]], [[np.nan], [2.5]]])
    found = Effects(("logit",), (1.0,), numbers, (3.0,))
    assert found.strongest() == (((0, 1), -4.0), ((1, 1), 1.5), ((0, 0), 0.5))
    assert found.strongest(1) == (((0, 1), -4.0),)
    np.testing.assert_array_equal(found.restored, [[0.25, -2.0], [np.nan, 0.75]])


@pytest.mark.parametrize("factor", [0.0, 2.0, None])
@pytest.mark.parametrize(
    "base",
    [
        (),
        (Factor(((0, 1), (2, 0))), Rows(((1, 1),), "uniform")),
        (PatchStates(((1, 2), (2, 1), (3, 4)), OTHER),),
    ],
)
def test_every_head_in_turn_is_one_head_after_the_other(factor, base, llama):
    tokens, _ = texts_of(llama)
    found = last(every_head(tokens, llama, WORD, factor=factor, base=base))
    assert found.before == pytest.approx(measure(tokens, llama, WORD, base), abs=1e-4)
    for layer, head in heads_of(llama):
        place = ((layer, head),)
        one = MeanOutput(place) if factor is None else Factor(place, factor)
        np.testing.assert_allclose(
            found.numbers[layer, head], measure(tokens, llama, WORD, (*base, one)), atol=1e-4
        )


@pytest.mark.long
def test_every_head_of_minilm_in_turn_is_one_head_after_the_other_too(model):
    tokens = model.tokenizer.encode(TIRED)
    found = last(every_head(tokens, model, Cosine()))
    some = heads_of(model)[::7]
    one_by_one = [measure(tokens, model, Cosine(), (Factor((head,)),))[0] for head in some]
    np.testing.assert_allclose(found.after.ravel()[::7], one_by_one, atol=1e-5)
    np.testing.assert_allclose(found.effect, found.after - 1, atol=1e-6)
    (place, effect), *_ = found.strongest(3)
    assert effect == found.effect.min() == found.effect[place]


def test_parts_grow_and_can_be_left_at_any_time(llama):
    tokens, _ = texts_of(llama)
    parts = every_head(tokens, llama, WORD)
    first = next(parts)
    assert 0 < first.fraction < 1 / llama.n_layers
    assert first.n == llama.n_heads
    assert np.isnan(first.result.after).sum() == llama.n_heads * (llama.n_layers - 1)
    assert len(first.result.strongest(100)) == llama.n_heads
    parts.close()
    fractions = [part.fraction for part in every_head(tokens, llama, WORD)]
    assert all(a < b for a, b in pairwise(fractions))
    assert fractions[-1] == 1


# Patching


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
        trace_changed(into, model, both).weights, trace_tokens(source, model).weights, atol=1e-5
    )
    for nothing in ((), (PatchHeads((), OTHER),), (PatchStates((), OTHER),), (PatchHeads(every, TEXT),)):
        assert measure(into, model, WORD, nothing) == pytest.approx(own, abs=1e-5)


def test_states_that_are_alike_in_some_numbers_are_patched_all_the_same(tmp_path):
    write_decoder(tmp_path, random_decoder("llama", 1))
    model = load_model(str(tmp_path), device="cpu", shared=False)
    with torch.no_grad():
        model.encoder.get_parameter("embeddings.word.weight")[:, 3] = 0.25  # as where weights are quantised
    into, source = texts_of(model)
    found = last(patch_states(source, into, model, WORD))
    for position in range(len(into)):
        one = (PatchStates(((0, position),), OTHER),)
        assert found.numbers[0, position] == pytest.approx(measure(into, model, WORD, one), abs=1e-4)
    assert np.ptp(found.numbers[0, :, 0]) > 1e-3


@pytest.mark.parametrize("positions", [None, (1, 3)])
def test_patching_every_head_is_patching_one_after_the_other(positions, llama):
    into, source = texts_of(llama)
    found = last(patch_heads(source, into, llama, WORD, positions=positions))
    for layer, head in heads_of(llama):
        one = (PatchHeads(((layer, head),), OTHER, None, positions),)
        np.testing.assert_allclose(found.numbers[layer, head], measure(into, llama, WORD, one), atol=1e-4)
    way = measure(source, llama, WORD)[0] - measure(into, llama, WORD)[0]
    np.testing.assert_allclose(found.restored, found.effect / way, atol=1e-4)


def test_patching_every_state_is_patching_one_after_the_other(llama):
    into, source = (llama.tokenizer.encode(text) for text in ("catdog", "cabdig"))
    found = last(patch_states(source, into, llama, WORD))
    assert found.after.shape == (llama.n_layers + 1, 6)
    for state, position in np.ndindex(found.after.shape):
        one = (PatchStates(((state, position),), "cabdig"),)
        np.testing.assert_allclose(found.numbers[state, position], measure(into, llama, WORD, one), atol=1e-4)
    assert (found.effect[:, :2] == 0).all()  # the texts part at the third token
    assert found.restored[-1, -1] == pytest.approx(1, abs=1e-4)


# What cannot be


def test_heads_are_read_as_people_write_them():
    assert heads_from("19-7, 18-4,19-7", 30, 9) == ((18, 6), (17, 3))
    assert heads_from("", 30, 9) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("31-1", r"There is no head 31-1; the model has 30 layers of 9 heads\."),
        ("0-1", r"There is no head 0-1;"),
        ("7", r"'7' is no head; write layer and head from 1"),
        ("-1-2", "is no head"),
        ("1-1;DROP", "is no head"),
        ("9" * 400 + "-1", "is no head"),
    ],
)
def test_silly_heads_get_a_sentence(text, message):
    with pytest.raises(InputError, match=message):
        heads_from(text, 30, 9)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (Factor(((3, 0),)), "There is no head 4-1"),
        (Factor(((0, 0),), float("nan")), "A factor of nan"),
        (Factor(((0, 0),), 1e9), r"A factor of 1e\+09 was given; it is a number from -100 to 100"),
        (MeanOutput(((0, 99),)), "There is no head 1-100"),
        (Rows(((0, 0),), "sideways"), "'sideways' is none"),
        (Rows(((0, 0),), 5, 2), "Token 2 of a decoder cannot look at 5"),
        (Rows(((0, 0),), 3, 2), "Token 2 of a decoder cannot look at 3"),
        (Rows(((0, 0),), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0), 2), "one that the token sees above 0"),
        (Rows(((0, 0),), 9), "There is no position 9; the text has 6 tokens"),
        (Rows(((0, 0),), (1.0,)), "1 number was given for a row of 6 tokens"),
        (Rows(((0, 0),), (-1.0, 2.0, 0.0, 0.0, 0.0, 0.0)), "must be 0 or more"),
        (Rows(((0, 0),), (0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 2), "one that the token sees above 0"),
        (PatchHeads(((0, 0),), "cat"), "has 3 tokens and the other 6"),
        (PatchHeads(((0, 0),), "catdog", None, (6,)), "There is no position 6"),
        (PatchStates(((4, 0),), "catdog"), "There is no state 4"),
        (PatchStates(((0, -1),), "catdog"), "There is no position -1"),
    ],
)
def test_what_a_text_or_model_does_not_allow_gets_a_sentence(one, message, llama):
    with pytest.raises(InputError, match=message):
        trace_changed(llama.tokenizer.encode("catdog"), llama, (one,))


def test_one_layer_one_head_and_one_token_are_said_as_one(llama):
    tiny = SimpleNamespace(title="M", device="cpu", n_layers=1, n_heads=1)
    one = next(tokens for tokens in map(llama.tokenizer.encode, "acet") if len(tokens) == 1)
    for refuse, sentence in (
        (lambda: heads_from("2-1", 1, 1), "There is no head 2-1; the model has 1 layer of 1 head."),
        (lambda: head_from("2-1", 1, 1), "There is no head 2-1; there is 1 layer of 1 head."),
        (lambda: gate_tensor(np.ones((2, 1)), tiny), "M has 1 layer of 1 head."),
        (lambda: same_length(one, llama.tokenizer.encode("catdog")), "has 1 token and the other 6;"),
        (lambda: check_position(3, len(one)), "the text has 1 token, counted from 0."),
        (lambda: predict_next(one, llama, 3), "There is no position 3; the text has 1 token."),
    ):
        with pytest.raises(HeadScopeError, match=re.escape(sentence)):
            refuse()


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Word("the cat"), r"'the cat' is 5 tokens .*; give a word that is one token"),
        (Word("the"), None),
        (Word(""), "The word to predict is empty"),
        (Word(" the", " cat"), "' cat' is 4 tokens"),
        (Word(" the", position=6), "There is no position 6"),
        (Loss(6), "it can begin at 1 to 5"),
        (State(17), "There is no position 17"),
    ],
)
def test_outcomes_that_cannot_be_measured_get_a_sentence(outcome, message, llama):
    tokens = llama.tokenizer.encode("catdog")
    if message is None:
        assert np.isfinite(measure(tokens, llama, outcome)).all()
        return
    with pytest.raises(InputError, match=message):
        measure(tokens, llama, outcome)


def test_a_space_is_advised_wherever_it_makes_one_token_of_a_word():
    """A decoder's tokens begin with a space, and so do RoBERTa's; BERT's do not, and none is then of any use."""
    spelled = {"Mary": (1, 2), " Mary": (3,), "zebra": (1, 2), " zebra": (5, 1, 2)}
    tokenizer = SimpleNamespace(
        ids_of=spelled.get, is_special=lambda _: False, typed=["", "Ma", "ry"].__getitem__
    )
    for is_causal in (True, False):
        used = SimpleNamespace(tokenizer=tokenizer, title="M", is_causal=is_causal)
        assert token_of(" Mary", used) == 3
        with pytest.raises(InputError) as refused:
            token_of("Mary", used)
        assert str(refused.value) == (
            "'Mary' is 2 tokens of M ('Ma', 'ry'); with a space before it (' Mary') it is one."
        )
        with pytest.raises(InputError) as refused:
            token_of("zebra", used)
        assert str(refused.value) == "'zebra' is 2 tokens of M ('Ma', 'ry'); give a word that is one token."


def test_a_model_that_predicts_no_word_says_so(model):
    tokens = model.tokenizer.encode(TIRED)
    for outcome in (Word("cat"), Loss()):
        with pytest.raises(InputError, match="MiniLM predicts no"):
            measure(tokens, model, outcome)


def stand_in(**more):
    """A model that only says what it has: no head, a mask called [MASK], number 4."""
    tokenizer = SimpleNamespace(mask_id=4, mask_name="[MASK]", vocab_size=99)
    return SimpleNamespace(
        **{"title": "M", "next_head": None, "masked_head": None, "tokenizer": tokenizer} | more
    )


class Spelled(list):
    """Tokens that are their numbers."""

    ids = property(tuple)


def test_a_word_is_said_at_the_end_at_the_first_mask_or_where_one_is_asked():
    decoder, encoder, silent = stand_in(next_head=object()), stand_in(masked_head=object()), stand_in()
    masked, plain = Spelled([7, 4, 8, 4]), Spelled([7, 8, 9])
    assert [place_of(None, masked, model) for model in (decoder, encoder)] == [3, 1]
    assert [place_of(2, plain, model) for model in (decoder, encoder, silent)] == [2] * 3
    maskless = stand_in(masked_head=object(), tokenizer=SimpleNamespace(mask_id=None, mask_name=None))
    for tokens, model, sentence in (
        (plain, encoder, "There is no [MASK] in the sentence; put it where the word to predict stands."),
        (plain, maskless, "There is no mask in the sentence; put it where the word to predict stands."),
        (masked, silent, "M predicts no word; its outcome is the embedding."),
    ):
        with pytest.raises(InputError) as refused:
            place_of(None, tokens, model)
        assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("guesses", "wanted"),
    [
        ([" a", " b", " c"], Word(" a", " b")),
        (["\ufffd", " a", "##s", " b"], Word(" a", " b")),
        (["##s", " a", "\ufffd"], Word(" a", None)),
    ],
)
def test_what_is_measured_unless_asked_are_the_two_likeliest_that_can_be_spelled(
    guesses, wanted, monkeypatch
):
    tokenizer = SimpleNamespace(
        mask_id=4,
        vocab_size=3,
        ids_of=lambda word: (guesses.index(word),) if word.startswith(" ") else (1, 2),
    )
    asked = []

    def likeliest(_scores, _model, k):
        asked.append(k)
        return [NextToken(i, text, 0.5, 1.0) for i, text in enumerate(guesses)]

    hidden = torch.arange(12.0).reshape(1, 4, 3)
    monkeypatch.setattr(outcomes, "run", lambda *_, **__: SimpleNamespace(hidden=hidden))
    monkeypatch.setattr(outcomes, "scores_of", lambda at, _: asked.append(at.tolist()) or at)
    monkeypatch.setattr(outcomes, "likeliest", likeliest)
    tokens = Spelled([7, 4, 8, 4])
    speaks, fills = (
        stand_in(**{head: object()}, tokenizer=tokenizer) for head in ("next_head", "masked_head")
    )
    assert [default_outcome(tokens, model) for model in (speaks, fills)] == [wanted] * 2
    assert asked == [[9.0, 10.0, 11.0], 3, [3.0, 4.0, 5.0], 3]
    assert default_outcome(Spelled([7, 8]), fills) == Cosine(), "no mask, no word"
    assert default_outcome(tokens, stand_in(tokenizer=tokenizer)) == Cosine()
    assert default_outcome(tokens, speaks, " x", " y") == Word(" x", " y")
    guesses[:] = ["##s"]
    with pytest.raises(
        InputError, match=r"^What the model holds likeliest here are parts of words; give the word"
    ):
        default_outcome(tokens, speaks)


def test_a_sign_of_the_model_s_own_is_no_word():
    tokenizer = SimpleNamespace(ids_of=lambda _: (2,), is_special=lambda identity: identity == 2)
    with pytest.raises(InputError, match=r"^'\[SEP\]' is no word of M; give one that its vocabulary has\.$"):
        token_of("[SEP]", stand_in(tokenizer=tokenizer))


def test_the_means_that_are_not_known_yet_are_a_part_of_the_work(llama, monkeypatch):
    tokens, _ = texts_of(llama)
    known = torch.zeros(llama.n_layers, llama.n_heads, llama.config.d_k, dtype=llama.dtype)
    done = [2 / 12, 6 / 12, 1]  # of three layers the last costs one part, the one below two, the first three
    for parts, fractions, tried in (
        ([Part(1.0, 0, known)], done, [6, 12, 18]),
        (
            [Part(0.25, 200, known), Part(0.5, 400, known), Part(1.0, 800, known)],
            [0.075, 0.15, *(0.3 + 0.7 * share for share in done)], [0, 0, 6, 12, 18],
        ),
    ):  # fmt: skip
        monkeypatch.setattr(sweep, "mean_steps", lambda _, parts=parts: iter(parts))
        found = list(every_head(tokens, llama, WORD, factor=None))
        assert [part.fraction for part in found] == pytest.approx(fractions)
        assert [part.n for part in found] == tried
    first = next(every_head(tokens, llama, WORD, factor=None)).result
    assert np.isnan(first.after).all()
    assert first.before == pytest.approx(measure(tokens, llama, WORD), abs=1e-4)


def test_of_what_was_not_taken_over_or_comes_to_the_same_no_share_is_known():
    numbers = np.array([[[1.5], [-3.0]]])
    for source in (None, (1.0,)):
        assert np.isnan(Effects(("logit",), (1.0,), numbers, source).restored).all()


def test_records_of_other_texts_are_not_held_against_each_other():
    one, other = (SimpleNamespace(weights=np.zeros((1, 2, n, n))) for n in (3, 4))
    with pytest.raises(
        SizeError, match=r"^Weights of \(1, 2, 3, 3\) and \(1, 2, 4, 4\) cannot be compared\.$"
    ):
        moved_heads(one, other)


def test_prompts_are_read_into_their_own_places_and_a_damaged_file_is_refused(tmp_path):
    def row(text):
        return {"text": text, "target": f" right of {text}", "against": f" wrong of {text}"}

    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"name": [row("a")], "agreement": [row("b"), row("c")], "ordinary": ["d"]}))
    found = prompts(path)
    assert [(one.text, one.target, one.against) for one in (*found.name, *found.agreement)] == [
        (text, f" right of {text}", f" wrong of {text}") for text in "abc"
    ]
    assert (len(found.name), found.ordinary) == (1, ("d",))
    for broken in ("{", '{"name": []}', '{"name": [{"text": "a"}], "agreement": [], "ordinary": []}'):
        path = path.with_name(f"{len(broken)}.json")
        path.write_text(broken)
        with pytest.raises(
            InputError, match=rf"^{path.name} does not hold the prompts of the experiments \("
        ):
            prompts(path)
