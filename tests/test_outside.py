"""Records of what was computed elsewhere: arrays of one's own, and models of transformers, cross-attention included."""

import json

import numpy as np
import pytest
import torch
from bert_folders import bert_tokenizer, random_bert

from mha_core import AttentionRecord, InputError, SizeError, from_transformers, record_from_weights, trace
from mha_core.record import export
from mha_core.record.links import largest_weights

transformers = pytest.importorskip("transformers")
TEXT = "The animal didn't sit."


def rows(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).softmax(-1)


def torch_encoder(width=8, **options):
    layer = torch.nn.TransformerEncoderLayer(width, 2, 20, **options)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


def test_arrays_of_ones_own_become_a_record_with_the_tokens_given():
    weights = rows(2, 3, 5, 5)
    record = record_from_weights(weights, ["[CLS]", "The", "tired", "##ness", "[SEP]"])
    assert isinstance(record, AttentionRecord)
    np.testing.assert_array_equal(record.weights, weights.numpy())
    assert record.grid(words=True).labels == ("[CLS]", "The", "tiredness", "[SEP]")
    assert (record.model.trained, record.model.is_ours, record.model.is_causal) == (None, False, False)
    weights[0, 0, 0] = 0.2
    assert record.weights[0, 0, 0, 0] != 0.2
    assert not record.weights.flags.writeable


def test_arrays_between_two_texts_become_a_cross_record():
    weights = rows(2, 3, 2, 4)
    record = record_from_weights(weights, ["it", "slept"], keys=["[CLS]", "tired", "##ness", "."])
    assert record.is_cross
    grid = record.grid(words=True, specials="hidden")
    assert (grid.labels, grid.key_labels) == (("it", "slept"), ("tiredness", "."))
    np.testing.assert_allclose(grid.weights[..., 0], weights[..., 1:3].sum(-1), rtol=1e-6)
    np.testing.assert_allclose(
        record.grid(True, "renormalised").weights.sum(-1), np.ones((2, 3, 2)), rtol=1e-6
    )
    split = record_from_weights(rows(2, 3, 3, 4), ["it", "tired", "##ness"], keys=list("abcd"))
    np.testing.assert_allclose(
        split.grid(words=True).weights[..., 1, :], split.weights[..., 1:, :].mean(2), rtol=1e-6
    )
    for row in largest_weights(record.grid()).itertuples():
        head = record.weights[row.layer - 1, row.head - 1]
        query, key = np.unravel_index(head.argmax(), head.shape)
        assert (row.query, row.key) == (record.grid().labels[query], record.grid().key_labels[key])
    best = record.rank("slept", "tiredness").iloc[0]
    given = weights[..., 1, 1:3].sum(-1)
    assert (best["layer"] - 1, best["head_in_layer"] - 1) == divmod(int(given.argmax()), 3)


@pytest.mark.parametrize(
    ("weights", "tokens", "options", "text"),
    [
        (rows(2, 3, 4, 4), ["a", "b"], {}, "."),
        (rows(3, 4, 4), list("abcd"), {}, "."),
        (rows(1, 1, 2, 2), "ab", {}, "."),
        (rows(1, 1, 2, 2), ["a", 3], {}, "."),
        ([rows(1, 2, 2), rows(1, 3, 3)], ["a", "b"], {}, "."),
        (rows(1, 1, 2, 2), ["a", "b"], {"causal": True}, "."),
        (3, ["a"], {}, "int.*output_attentions"),
        ("weights", ["a"], {}, "str.*output_attentions"),
        (object(), ["a"], {}, "object.*output_attentions"),
        (torch.nn.Linear(2, 2), ["a"], {}, "Linear.*output_attentions"),
        ({"blocks.0.hook_resid_pre": torch.zeros(1, 3, 4)}, ["a"], {}, "hook_pattern"),
        (torch_encoder(), ["a"], {}, "x=x"),
        (torch_encoder().train(), ["a"], {"x": torch.zeros(1, 1, 8)}, r"eval\(\)"),
    ],
)
def test_what_cannot_be_attention_is_refused_in_a_sentence(weights, tokens, options, text):
    with pytest.raises((InputError, SizeError), match=text) as caught:
        record_from_weights(weights, tokens, **options)
    assert "\n" not in str(caught.value)


def test_a_layer_that_was_not_kept_keeps_its_number():
    weights = rows(1, 3, 4, 4)
    record = record_from_weights((None, weights, None, None), list("abcd"))
    assert (record.n_layers, record.without_attention) == (4, (0, 2, 3))
    np.testing.assert_array_equal(record["2-3"].weights, weights[0, 2].numpy())
    with pytest.raises(InputError, match="1-1"):
        record["1-1"]
    assert set(record.rank("a", "b")["layer"]) == {2}
    assert json.loads(export.weights_json(record, record.grid()))["layers_without_attention"] == [1, 3, 4]
    places = [(layer, head) for layer in range(4) for head in range(3)]
    lines = export.weights_csv(record.grid(), places).splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["2"] * 3 * 16


def test_layers_with_different_counts_of_heads_are_taken_as_they_are():
    first, second = rows(1, 4, 3, 3), rows(1, 3, 3, 3, seed=1)
    record = record_from_weights([first, second, rows(1, 2, 3, 3)], ["a", "b", "c"])
    np.testing.assert_array_equal(record["2-3"].weights, second[0, 2].numpy())
    with pytest.raises(InputError):
        record["2-4"]
    assert len(record.rank("a", "b")) == 9
    assert json.loads(export.weights_json(record, record.grid()))["heads_without_weights"] == [
        "2-4", "3-3", "3-4",
    ]  # fmt: skip


def test_a_learned_sink_is_taken_only_where_it_is_said():
    weights = rows(2, 2, 3, 3) * torch.tensor([[0.75, 0.5], [0.25, 0.625]])[..., None, None]
    with pytest.raises(InputError, match="sinks=True"):
        record_from_weights(weights, ["a", "b", "c"])
    record = record_from_weights(weights, ["a", "b", "c"], sinks=True)
    np.testing.assert_allclose(record.sink[..., 0], [[0.25, 0.5], [0.75, 0.375]], atol=1e-6)
    words = record_from_weights(weights, ["a", "tired", "##ness"], sinks=True).grid(words=True)
    np.testing.assert_allclose(words.sink, 1 - words.weights.sum(-1), atol=1e-6)
    for layers, heads in ((slice(None), slice(None)), (slice(1, 2), slice(0, 1)), (slice(0, 1), slice(1, 2))):
        content = json.loads(export.weights_json(record, record.grid(), layers, heads))
        for name, values in (("sink", record.sink), ("weights", record.weights)):
            np.testing.assert_allclose(content[name], values[layers, heads], atol=1e-6)
    assert (
        sum(",-1,a,(sink)," in line for line in export.weights_csv(record.grid(), [(0, 0)]).splitlines()) == 1
    )


def test_windows_are_said_and_what_is_outside_is_not_there():
    weights = np.tril(np.ones((2, 1, 4, 4), np.float32))
    weights[0, 0] = np.triu(weights[0, 0], -1)
    weights /= weights.sum(-1, keepdims=True)
    record = record_from_weights(weights, list("abcd"), windows=(1, 0), causal=True)
    np.testing.assert_array_equal(record.visible, weights[:, 0] > 0)


def test_causality_is_asked_for_where_no_weight_tells_it():
    weights = np.tril(np.ones((1, 1, 3, 3), np.float32)) / np.arange(1, 4, dtype=np.float32)[:, None]
    with pytest.raises(InputError, match="causal=True"):
        record_from_weights(weights, list("abc"))
    assert record_from_weights(weights, list("abc"), causal=True).visible.sum() == 6
    assert record_from_weights(weights, list("abc"), causal=False).visible is None
    assert record_from_weights(np.ones((1, 1, 1, 1)), ["a"]).visible is None


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_all_layers_of_torchs_encoder_are_torchs_own(norm_first, batch_first):
    torch.manual_seed(5)
    encoder = torch_encoder(12, batch_first=batch_first, norm_first=norm_first)
    x = torch.randn(1, 5, 12)
    given, expected = x if batch_first else x.transpose(0, 1), []
    for hook in encoder.layers:
        attention = hook.self_attn
        forward = attention.forward
        attention.forward = lambda *args, forward=forward, **kwargs: forward(
            *args, **{**kwargs, "need_weights": True, "average_attn_weights": False}
        )
        attention.register_forward_hook(lambda _module, _given, output: expected.append(output[1]))
    with torch.enable_grad():  # without gradients torch takes a path that has no weights
        encoder(given)
    record = record_from_weights(encoder, list("abcde"), x=given)
    np.testing.assert_allclose(record.weights, torch.cat(expected[:2]).detach().numpy(), atol=1e-5)
    assert record.model.computed_by.startswith("torch ")


def test_the_cache_of_transformerlens_is_read_by_its_names():
    cache = {f"blocks.{layer}.attn.hook_pattern": rows(1, 2, 3, 3, seed=layer) for layer in (1, 2)}
    cache["blocks.0.hook_resid_pre"] = torch.zeros(1, 3, 4)
    record = record_from_weights(cache, ["a", "b", "c"])
    assert record.without_attention == (0,)
    np.testing.assert_array_equal(record["3-2"].weights, cache["blocks.2.attn.hook_pattern"][0, 1].numpy())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_sentence_transformer_is_taken_whole(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    random_bert().save_pretrained(tmp_path)
    tokenizer = bert_tokenizer()
    tokenizer.save_pretrained(tmp_path)
    options = {"model_kwargs": {"attn_implementation": "eager"}}
    from sentence_transformers.models import Pooling, Transformer

    module = Transformer(str(tmp_path), **options)
    whole = sentence_transformers.SentenceTransformer(modules=[module, Pooling(15)]).eval()
    expected = trace(TEXT, from_transformers(module.auto_model, tokenizer))
    np.testing.assert_allclose(trace(TEXT, from_transformers(whole)).weights, expected.weights, atol=1e-6)
