"""BERT, DistilBERT, RoBERTa, XLM-R and ELECTRA of odd sizes, and the embedded model, against transformers' own."""

import re

import numpy as np
import pytest
import torch
from bert_folders import (
    bert_tokenizer,
    change_weights,
    embedded_folder,
    random_bert,
    with_random_weights,
    write,
)
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from mha_core import hidden_states, load_model, predict_masked, trace, trace_many
from mha_core.models.weights import load_encoder, read_config

transformers = pytest.importorskip("transformers")
SIZES = ((15, 3, 5, 19, 37), (22, 2, 11, 17, 29), (21, 4, 3, 8, 31))
KINDS = ("bert", "distilbert", "electra", "roberta", "xlm-roberta")
TEXTS = (("The animal's it.", None), ("It", None), ("Zoë slept.", "It was"))
LONG_TEXTS = (
    ("The animal didn't cross the street because it was too tired.", None),
    ("Zoë’s naïve café costs 3,000.50 € — unbelievable!", None),
    ("the [MASK] sat", "a\0b\u200bc"),
    ("It was too tired.", "The animal, that is."),
)
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def sizes_of(kind, which):
    d, layers, heads, d_ff, positions = SIZES[which]
    activation = ("gelu", "relu", "gelu")[which]
    if kind == "distilbert":
        sizes = {"dim": d, "n_layers": layers, "n_heads": heads, "hidden_dim": d_ff}
        return sizes | {"max_position_embeddings": positions, "vocab_size": 30522, "activation": activation}
    sizes = {
        "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": d_ff,
        "max_position_embeddings": positions, "hidden_act": activation, "vocab_size": 30522,
    }  # fmt: skip
    if "roberta" in kind:
        sizes |= {"vocab_size": 262 if kind == "roberta" else 271, "type_vocab_size": (1, 2, 1)[which]}
    return sizes | ({"embedding_size": (9, 22, 30)[which]} if kind == "electra" else {})


def bytes_tokenizer():
    """RoBERTa's: bytes, one merge, and a frame that the tokenizer itself knows."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {name: i for i, name in enumerate([*SPECIALS[:4], *alphabet, "it", SPECIALS[4]])}
    fast = Tokenizer(models.BPE(vocabulary, [("i", "t")]))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    fast.add_special_tokens(SPECIALS)
    return fast


def sentence_tokenizer():
    """XLM-R's: a unigram model, a normaliser that changes the text, and "▁" for a space."""
    words = ["▁The", "▁animal", "'", "▁", "s", "it", ".", "▁It", "▁was", "Z", "o", "e"]
    pieces = [(name, 0.0) for name in SPECIALS[:4]] + [(word, -1.0 - i / 9) for i, word in enumerate(words)]
    pieces += [(chr(0x4E00 + i), -9.0) for i in range(254)]
    fast = Tokenizer(models.Unigram([*pieces, (SPECIALS[4], 0.0)], unk_id=3))
    fast.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    fast.pre_tokenizer = pre_tokenizers.Metaspace()
    frame = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    fast.post_processor = frame
    fast.add_special_tokens(SPECIALS)
    return fast


def loaded(folder, kind, which=0, head="MaskedLM", **options):
    """A random model of a kind with a head, transformers' own with its tokenizer, and ours from its folder."""
    config = transformers.AutoConfig.for_model(kind, **sizes_of(kind, which) | options)
    torch.manual_seed(which)
    auto = getattr(transformers, f"AutoModelFor{head}")
    theirs = with_random_weights(auto.from_config(config, attn_implementation="eager"))
    if "roberta" in kind:
        write(folder, theirs, tokenizer=())
        fast = bytes_tokenizer() if kind == "roberta" else sentence_tokenizer()
        fast.save(str(folder / "tokenizer.json"))
        names = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>"}
        names |= {"pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
        names = {f"{name}_token": token for name, token in names.items()}
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=fast, **names)
    else:
        write(folder, theirs)
        tokenizer = bert_tokenizer()
    segments = ["token_type_ids"] if kind in ("bert", "electra") else []
    tokenizer.model_input_names = ["input_ids", *segments, "attention_mask"]
    return theirs, tokenizer, load_model(str(folder), device="cpu")


def check_numbers(theirs, tokenizer, model, texts):
    tokens = [model.tokenizer.encode(text, pair) for text, pair in texts]
    for (text, pair), ours, padded in zip(
        texts, tokens, trace_many(tokens, model, batch_size=3), strict=True
    ):
        inputs = tokenizer(text, pair, return_tensors="pt")
        assert list(ours.ids) == inputs.input_ids[0].tolist(), "the same tokens"
        if "token_type_ids" in inputs:
            assert list(ours.segments) == inputs.token_type_ids[0].tolist()
        with torch.no_grad():
            output = theirs(**inputs, output_attentions=True, output_hidden_states=True)
        weights = torch.cat(output.attentions).numpy()
        np.testing.assert_allclose(trace(text, model, pair=pair).weights, weights, atol=1e-5)
        np.testing.assert_allclose(padded, weights, atol=1e-5, err_msg="padded")
        states = torch.cat(output.hidden_states).numpy()
        np.testing.assert_allclose(hidden_states(ours, model), states, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "which", "options"),
    [
        *((kind, which, {}) for kind in KINDS for which in range(3)),
        ("bert", 0, {"hidden_act": "gelu_new", "type_vocab_size": 3}),
        ("bert", 1, {"hidden_act": "silu", "layer_norm_eps": 5e-4}),
        ("bert", 2, {"hidden_act": "gelu_pytorch_tanh", "num_attention_heads": 1}),
    ],
)
def test_random_weights_of_an_odd_size_give_transformers_weights_states_and_guesses(
    kind, which, options, tmp_path
):
    theirs, tokenizer, model = loaded(tmp_path, kind, which, **options)
    check_numbers(theirs, tokenizer, model, TEXTS)
    mask = model.tokenizer.mask_name
    with torch.no_grad():
        inputs = tokenizer(f"The {mask}.", return_tensors="pt")
        place = inputs.input_ids[0].tolist().index(tokenizer.mask_token_id)
        best = theirs(**inputs).logits[0, place].softmax(-1).topk(3)
    ((first, *_),) = predict_masked(f"The {mask}.", model, k=3)
    assert first[0] == tokenizer.convert_ids_to_tokens(int(best.indices[0]))
    assert first[1] == pytest.approx(float(best.values[0]), abs=1e-5)


def test_the_embedded_model_gives_transformers_tokens_weights_and_states(model):
    theirs = transformers.AutoModel.from_pretrained(embedded_folder(), attn_implementation="eager").eval()
    check_numbers(theirs, bert_tokenizer(transformers.BertTokenizerFast), model, LONG_TEXTS)


def to_older_names(tensors):
    """Rename the norms' weights to gamma and beta, as TensorFlow called them."""
    names = {name: re.sub("LayerNorm.bias$", "LayerNorm.beta", name) for name in tensors}
    return {re.sub("m.weight$", "m.gamma", names[name]): tensor for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    "form", ["BertModel", "BertForMaskedLM", "BertForPreTraining", "gamma and beta", "shards", "fp16", "bf16"]
)
def test_every_form_of_a_checkpoint_is_read(form, tmp_path):
    kind = form if form.startswith("Bert") else "BertForMaskedLM"
    theirs = random_bert(kind).to({"fp16": torch.float16, "bf16": torch.bfloat16}.get(form))
    write(tmp_path, theirs, **({"max_shard_size": "200KB"} if form == "shards" else {}))
    if form == "gamma and beta":
        change_weights(tmp_path, to_older_names)
    assert (len(list(tmp_path.glob("*.safetensors"))) > 1) == (form == "shards")
    encoder, head = load_encoder(tmp_path, read_config(tmp_path))
    ids = torch.tensor([[101, 1996, 4111, 102]])
    with torch.no_grad():
        expected = theirs.float().base_model(ids).last_hidden_state
        torch.testing.assert_close(encoder(ids).hidden, expected, atol=1e-5, rtol=1e-5)
    assert (head is None) == (kind == "BertModel")
