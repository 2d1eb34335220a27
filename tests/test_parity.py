"""The encoder against transformers' own BERT: every weight and every state of every layer within 1e-5."""

import re

import numpy as np
import pytest
import torch
from bert_folders import embedded_folder, random_bert, write

from mha_core import hidden_states, load_model, trace_many, trace_tokens
from mha_core.models.weights import load_encoder, read_config

TOLERANCE = 1e-5
TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "It rained.",
    "Zoë’s naïve café costs 3,000.50 € — unbelievable!",
    "the the the",
    "Colorless green ideas sleep furiously; buffalo buffalo buffalo, antidisestablishmentarianism.",
)
PAIRS = (("It was too tired.", "The animal, that is."), ("What crossed?", "Nobody did, because it was wide."))


pytestmark = pytest.mark.slow  # transformers takes seconds to be imported


@pytest.fixture(scope="module")
def minilm():
    transformers = pytest.importorskip("transformers")
    return transformers.AutoModel.from_pretrained(embedded_folder(), attn_implementation="eager").eval()


def seen_by(theirs, batch):
    """What transformers gives: (layer, batch, head, query, key) and (layer + 1, batch, n, d_model)."""
    longest = max(map(len, batch))
    ids, segments, real = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(3))
    for row, tokens in enumerate(batch):
        n = len(tokens)
        ids[row, :n], segments[row, :n] = torch.tensor(tokens.ids), torch.tensor(tokens.segments)
        real[row, :n] = 1
    with torch.no_grad():
        output = theirs(
            ids,
            token_type_ids=segments,
            attention_mask=real,
            output_attentions=True,
            output_hidden_states=True,
        )
    return torch.stack(output.attentions).numpy(), torch.stack(output.hidden_states).numpy()


def encoded(model):
    return [model.tokenizer.encode(text) for text in TEXTS] + [model.tokenizer.encode(*p) for p in PAIRS]


def test_the_embedded_model_gives_transformers_weights_and_states(model, minilm):
    for tokens in encoded(model):
        weights, states = seen_by(minilm, [tokens])
        np.testing.assert_allclose(trace_tokens(tokens, model).weights, weights[:, 0], atol=TOLERANCE)
        np.testing.assert_allclose(hidden_states(tokens, model), states[:, 0], atol=TOLERANCE)


def test_a_padded_batch_gives_transformers_weights_and_those_of_single_texts(model, minilm):
    batch = encoded(model)
    weights, _ = seen_by(minilm, batch)
    for row, (tokens, ours) in enumerate(zip(batch, trace_many(batch, model, batch_size=3), strict=True)):
        n = len(tokens)
        np.testing.assert_allclose(ours, weights[:, row, :, :n, :n], atol=TOLERANCE)
        np.testing.assert_allclose(ours, trace_tokens(tokens, model).weights, atol=TOLERANCE)


def test_transformers_tokenizer_gives_the_same_ids_and_segments(model):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertTokenizerFast(tokenizer_file=str(embedded_folder() / "tokenizer.json"))
    for text in (*TEXTS, "e\u0301cole 👨‍👩‍👧 שלום مرحبا 한국어", "x" * 150, "the [MASK] sat", "a\0b\u200bc"):
        assert list(model.tokenizer.encode(text).ids) == theirs(text)["input_ids"]
    for first, second in PAIRS:
        ours, expected = model.tokenizer.encode(first, second), theirs(first, second)
        assert list(ours.ids) == expected["input_ids"]
        assert list(ours.segments) == expected["token_type_ids"]


@pytest.mark.parametrize(
    "sizes",
    [
        {"hidden_size": 15, "num_attention_heads": 5, "num_hidden_layers": 3, "intermediate_size": 19},
        {"hidden_size": 7, "num_attention_heads": 1, "num_hidden_layers": 1, "intermediate_size": 3},
        {"hidden_size": 22, "num_attention_heads": 11, "num_hidden_layers": 5, "layer_norm_eps": 5e-4},
        {"hidden_size": 12, "num_attention_heads": 3, "hidden_act": "gelu_new", "type_vocab_size": 3},
        {"hidden_size": 12, "num_attention_heads": 12, "hidden_act": "relu", "max_position_embeddings": 29},
        {"hidden_size": 20, "num_attention_heads": 4, "hidden_act": "silu", "intermediate_size": 80},
        {"hidden_size": 12, "num_attention_heads": 2, "hidden_act": "gelu_pytorch_tanh"},
    ],
    ids=lambda sizes: "-".join(map(str, sizes.values())),
)
def test_random_models_of_odd_sizes_give_transformers_weights_and_states(sizes, tmp_path):
    theirs = write(tmp_path, random_bert(**sizes))
    model = load_model(str(tmp_path), device="cpu")
    batch = encoded(model)
    weights, states = seen_by(theirs, batch)
    for row, (tokens, ours) in enumerate(zip(batch, trace_many(batch, model), strict=True)):
        n = len(tokens)
        np.testing.assert_allclose(ours, weights[:, row, :, :n, :n], atol=TOLERANCE)
        np.testing.assert_allclose(hidden_states(tokens, model), states[:, row, :n], atol=TOLERANCE)


def renamed(rule):
    return lambda tensors: {rule(name): tensor for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    "form", ["BertModel", "BertForMaskedLM", "BertForPreTraining", "gamma and beta", "shards", "fp16", "bf16"]
)
def test_every_form_of_a_checkpoint_is_read(form, tmp_path):
    from bert_folders import change_weights

    kind = form if form.startswith("Bert") else "BertForMaskedLM"
    theirs = random_bert(kind)
    if form in ("fp16", "bf16"):
        theirs = theirs.to(torch.float16 if form == "fp16" else torch.bfloat16)
    write(tmp_path, theirs, **({"max_shard_size": "200KB"} if form == "shards" else {}))
    if form == "gamma and beta":
        change_weights(
            tmp_path,
            renamed(lambda n: re.sub("LayerNorm.bias$", "LayerNorm.beta", re.sub("m.weight$", "m.gamma", n))),
        )
    if form == "shards":
        assert len(list(tmp_path.glob("*.safetensors"))) > 1
    encoder, head = load_encoder(tmp_path, read_config(tmp_path))
    ids = torch.tensor([[101, 1996, 4111, 102]])
    bert = theirs.float() if kind == "BertModel" else theirs.float().bert
    with torch.no_grad():
        torch.testing.assert_close(
            encoder(ids).hidden, bert(ids).last_hidden_state, atol=TOLERANCE, rtol=TOLERANCE
        )
    assert (head is None) == (kind == "BertModel")
