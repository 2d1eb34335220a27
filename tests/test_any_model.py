"""Models of transformers of every kind, tiny and random: the library's own weights, the model's own layer numbers."""

import numpy as np
import pytest
import torch
from bert_folders import bert_tokenizer
from tokenizers.processors import TemplateProcessing

from mha_core import ModelError, from_transformers, record_from_weights, trace
from mha_core.models import hf

transformers = pytest.importorskip("transformers")
TEXT = "The animal didn't cross the street because it was too tired"
N_VOCAB = 30522
SIZES = {
    "vocab_size": N_VOCAB, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
BERT = {name: size for name, size in SIZES.items() if name != "num_key_value_heads"}
SEQUENCE = {"vocab_size": N_VOCAB, "d_model": 32, "pad_token_id": 0, "decoder_start_token_id": 0}
T5 = {**SEQUENCE, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
BART = {
    **SEQUENCE, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64,
}  # fmt: skip
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}

# kind, its own settings, and the layers (from 1) that attend; None: all of them.
ENCODERS = {
    "Bert": BERT,
    "Albert": {**BERT, "embedding_size": 16},
    "MPNet": BERT,
    "DebertaV2": {**BERT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "RoFormer": BERT,
    "ModernBert": {**BERT, "local_attention": 4, "global_attn_every_n_layers": 2},
    "XLNet": {"vocab_size": N_VOCAB, "d_model": 32, "n_layer": 4, "n_head": 4, "d_inner": 64},
    "ConvBert": BERT,
}
DECODERS = {
    "Qwen3": {**SIZES, "head_dim": 8},
    "Gemma2": {**SIZES, "head_dim": 8, "sliding_window": 4},
    "Mistral": {**SIZES, "sliding_window": 4},
    "Phi3": SIZES,
    "GPTNeoX": BERT,
    "GPTNeo": {
        "vocab_size": N_VOCAB, "hidden_size": 32, "num_layers": 4, "num_heads": 4, "window_size": 4,
        "attention_types": [[["global", "local"], 2]],
    },
    "Bloom": {"vocab_size": N_VOCAB, "hidden_size": 32, "n_layer": 4, "n_head": 4},
    "Mixtral": {**SIZES, **EXPERTS},
    "GptOss": {**SIZES, **EXPERTS, "head_dim": 8, "sliding_window": 4},
    "Llama4Text": {**SIZES, **EXPERTS, "head_dim": 8, "attention_chunk_size": 4, "intermediate_size_mlp": 32},
}  # fmt: skip
HYBRIDS = {
    "Qwen3Next": (
        [4],
        {
            **SIZES, "head_dim": 8, "num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16,
            "shared_expert_intermediate_size": 16, "linear_num_value_heads": 4, "linear_num_key_heads": 2,
            "linear_key_head_dim": 8, "linear_value_head_dim": 8,
        },
    ),
    "Lfm2": ([2, 4], {**SIZES, "layer_types": ["conv", "full_attention"] * 2}),
    "MiniMax": ([2, 4], {**SIZES, **EXPERTS, "layer_types": ["linear_attention", "full_attention"] * 2, "head_dim": 8}),
}  # fmt: skip
STARTED = {**SIZES, "head_dim": 8, "sliding_window": 4, "bos_token_id": 101}
SEQUENCES = {
    "T5": T5, "Bart": BART, "Marian": {**BART, "decoder_attention_heads": 4}, "Pegasus": BART,
    "T5Gemma": {"encoder": STARTED, "decoder": STARTED, "vocab_size": N_VOCAB},
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    return bert_tokenizer()


def random_model(kind, settings, sequence=False):
    torch.manual_seed(len(kind))
    auto = transformers.AutoModelForSeq2SeqLM if sequence else transformers.AutoModel
    config = getattr(transformers, f"{kind}Config")(**settings)
    return auto.from_config(config, attn_implementation="eager").eval()


def theirs(model, tokenizer, **more):
    ids = torch.tensor([tokenizer(TEXT).input_ids])
    with torch.no_grad():
        return model(input_ids=ids, output_attentions=True, return_dict=True, **more)


@pytest.mark.parametrize("kind", [*ENCODERS, *DECODERS])
def test_every_layer_of_an_encoder_or_decoder_is_the_librarys_own(kind, tokenizer):
    model = random_model(kind, (ENCODERS | DECODERS)[kind])
    record = trace(TEXT, from_transformers(model, tokenizer))
    expected = torch.cat(theirs(model, tokenizer).attentions).numpy()
    np.testing.assert_allclose(record.weights, expected, atol=1e-6)
    assert record.model.is_causal == (kind in DECODERS)
    assert record.model.computed_by.startswith("transformers ")
    assert record.without_attention == ()


@pytest.mark.parametrize("kind", HYBRIDS)
def test_a_hybrid_keeps_its_own_layer_numbers(kind, tokenizer):
    attends, settings = HYBRIDS[kind]
    model = random_model(kind, settings)
    record = trace(TEXT, from_transformers(model, tokenizer))
    given = [a for a in theirs(model, tokenizer).attentions if a.shape[-1] == len(record.tokens)]
    assert record.n_layers == 4
    assert [layer + 1 for layer in range(4) if layer not in record.without_attention] == attends
    for layer, expected in zip(attends, given, strict=True):
        np.testing.assert_allclose(record.weights[layer - 1], expected[0].numpy(), atol=1e-6)
    assert set(record.rank("it", "animal")["layer"]) == set(attends)
    assert set(record.to_frame()["layer"]) == set(attends)
    assert "no attention" in repr(record)


@pytest.mark.parametrize("kind", SEQUENCES)
def test_an_encoder_decoder_gives_all_three_and_writes_its_own_target(kind, tokenizer, monkeypatch):
    monkeypatch.setattr(hf, "MAX_GENERATED", 12)
    model = random_model(kind, SEQUENCES[kind], sequence=True)
    traced = from_transformers(model, tokenizer)
    records = traced(TEXT)
    ids = torch.tensor([records.decoder.tokens.ids])
    expected = theirs(model, tokenizer, decoder_input_ids=ids)
    for part in ("encoder", "decoder", "cross"):
        record = getattr(records, part)
        given = torch.cat(getattr(expected, f"{part}_attentions")).numpy()
        np.testing.assert_allclose(record.weights, given, atol=1e-5)
        assert (record.is_cross, record.model.is_causal) == (part == "cross", part == "decoder")
    given = torch.tensor([tokenizer(TEXT).input_ids])
    written = model.generate(given, max_new_tokens=12, do_sample=False, use_cache=False)
    assert written[0, :-1].tolist() == ids[0].tolist()
    assert traced(TEXT, target="It sat.").decoder.tokens.ids[0] == ids[0, 0], "it starts as it would itself"


def test_a_word_of_a_target_ends_where_the_decoder_stops_reading():
    unframed = bert_tokenizer()
    unframed.backend_tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B")
    traced = from_transformers(random_model("T5", SEQUENCES["T5"], sequence=True), unframed)
    grid = traced(TEXT, target="it was unbelievably").decoder.grid(words=True)
    np.testing.assert_allclose(grid.weights.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "widths"),
    [
        ("Mistral", [4] * 4), ("Gemma2", [4, 99] * 2), ("GptOss", [4, 99] * 2), ("GPTNeo", [99, 4] * 2),
        ("Llama4Text", [4, 4, 4, 99]), ("ModernBert", [99, 2] * 2), ("Phi3", [99] * 4), ("Bloom", [99] * 4),
    ],
)  # fmt: skip
def test_what_a_window_leaves_out_is_not_there_however_sharp_the_heads_are(kind, widths, tokenizer):
    model = random_model(kind, (ENCODERS | DECODERS)[kind])
    with torch.no_grad():  # most weights round to 0
        for name, parameter in model.named_parameters():
            if "q_proj" in name or "Wqkv" in name:
                parameter.mul_(1e4)
    record = trace(TEXT, from_transformers(model, tokenizer))
    places = np.arange(len(record.tokens))
    distance = np.subtract.outer(places, places)
    for width, visible in zip(widths, record.visible, strict=True):
        if kind == "Llama4Text":  # in chunks
            near = (distance >= 0) & (np.subtract.outer(places // width, places // width) == 0)
        else:
            near = (distance >= 0) & (distance < width) if kind in DECODERS else np.abs(distance) <= width
        np.testing.assert_array_equal(visible, near)
    given = record_from_weights(record.weights, record.tokens, model=model, sinks=record.sink is not None)
    np.testing.assert_array_equal(given.visible, record.visible)
    if kind == "Gemma2":
        assert len(record.to_frame()) == 4 * int(record.visible.sum())
        corners = [record[head].to_frame().to_numpy()[-1, 0] for head in ("1-1", "2-1")]
        assert np.isnan(corners).tolist() == [True, False]
        assert set(record.grid().rank("tired", "[CLS]")["layer"]) == {2, 4}


def test_a_window_that_no_setting_gives_hatches_nothing(tokenizer):
    model = random_model("GPTNeo", DECODERS["GPTNeo"])
    model.config.window_size = 0
    assert not any(trace(TEXT, from_transformers(model, tokenizer)).model.windows)


def test_a_learned_sink_has_its_share_in_record_frame_and_print(tokenizer):
    model = random_model("GptOss", DECODERS["GptOss"])
    record = trace(TEXT, from_transformers(model, tokenizer))
    expected = torch.cat(theirs(model, tokenizer).attentions).numpy()
    np.testing.assert_allclose(record.sink, 1 - expected.sum(-1), atol=1e-5)
    assert record.sink.max() > 0.1
    sums = record.to_frame().groupby(["layer", "head", "query"])["weight"].sum()
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    assert "sink" in repr(record)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("FNet", {name: size for name, size in BERT.items() if name != "num_attention_heads"}),
        ("Longformer", {**BERT, "attention_window": [4] * 4, "max_position_embeddings": 600}),
        ("ViT", {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}),
    ],
)
def test_a_model_without_weights_between_tokens_is_refused_in_a_sentence(kind, settings, tokenizer):
    with pytest.raises(ModelError) as caught:
        trace(TEXT, from_transformers(random_model(kind, settings), tokenizer))
    assert kind in str(caught.value)
    assert "\n" not in str(caught.value)
