"""DistilBERT, RoBERTa, XLM-R and ELECTRA of three odd sizes each against transformers' own, in every layer."""

import numpy as np
import pytest
import torch
from bert_folders import embedded_folder, write
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from mha_core import hidden_states, load_model, predict_masked, trace, trace_many

transformers = pytest.importorskip("transformers")
SIZES = ((15, 3, 5, 19, 37), (22, 2, 11, 17, 29), (21, 4, 3, 8, 31))
TEXTS = (("The animal's it.", None), ("It", None), ("Zoë slept.", "It was"))
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def sizes_of(kind, which):
    d, layers, heads, d_ff, positions = SIZES[which]
    activation = ("gelu", "relu", "gelu")[which]
    if kind == "distilbert":
        sizes = {"dim": d, "n_layers": layers, "n_heads": heads, "hidden_dim": d_ff}
        return sizes | {"max_position_embeddings": positions, "vocab_size": 30522, "activation": activation}
    sizes = {
        "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": d_ff,
        "max_position_embeddings": positions, "hidden_act": activation,
    }  # fmt: skip
    if kind in ("bert", "electra"):
        return (
            sizes
            | {"vocab_size": 30522}
            | ({"embedding_size": (9, 22, 30)[which]} if kind == "electra" else {})
        )
    return sizes | {"vocab_size": 262 if kind == "roberta" else 271, "type_vocab_size": (1, 2, 1)[which]}


CLASSES = {
    "bert": "Bert",
    "distilbert": "DistilBert",
    "electra": "Electra",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
}


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
    words = [
        "▁The",
        "▁animal",
        "▁did",
        "n",
        "'",
        "t",
        "▁",
        "s",
        "it",
        ".",
        "▁It",
        "▁was",
        "▁tired",
        "Z",
        "o",
        "e",
    ]
    pieces = [(name, 0.0) for name in SPECIALS[:4]] + [(word, -1.0 - i / 9) for i, word in enumerate(words)]
    pieces += [(chr(0x4E00 + i), -9.0) for i in range(250)]
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
    name, sizes = CLASSES[kind], sizes_of(kind, which)
    config = getattr(transformers, f"{name}Config")(**sizes, attn_implementation="eager", **options)
    torch.manual_seed(which)
    theirs = getattr(transformers, f"{name}For{head}")(config).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.normal_(std=0.3)
            if "norm" in name.lower() and name.endswith("weight"):
                parameter.add_(1.0)
    if kind in ("roberta", "xlm-roberta"):
        write(folder, theirs, tokenizer=())
        fast = bytes_tokenizer() if kind == "roberta" else sentence_tokenizer()
        fast.save(str(folder / "tokenizer.json"))
        names = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>"}
        names |= {"pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
        file = folder / "tokenizer.json"
    else:
        write(folder, theirs)
        names = {kind: f"[{kind.upper()}]" for kind in ("cls", "sep", "pad", "unk", "mask")}
        file = embedded_folder() / "tokenizer.json"
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(file), **{f"{name}_token": token for name, token in names.items()}
    )
    segments = ["token_type_ids"] if kind in ("bert", "electra") else []
    tokenizer.model_input_names = ["input_ids", *segments, "attention_mask"]
    return theirs, tokenizer, load_model(str(folder), device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind != "bert"])
def test_random_weights_of_an_odd_size_give_transformers_weights_states_and_guesses(kind, which, tmp_path):
    theirs, tokenizer, model = loaded(tmp_path, kind, which)
    tokens = [model.tokenizer.encode(text, pair) for text, pair in TEXTS]
    for (text, pair), ours, batched in zip(TEXTS, tokens, trace_many(tokens, model), strict=True):
        inputs = tokenizer(text, pair, return_tensors="pt")
        assert list(ours.ids) == inputs.input_ids[0].tolist(), "the same tokens"
        with torch.no_grad():
            output = theirs(**inputs, output_attentions=True, output_hidden_states=True)
        weights = torch.cat(output.attentions).numpy()
        np.testing.assert_allclose(trace(text, model, pair=pair).weights, weights, atol=1e-5)
        np.testing.assert_allclose(batched, weights, atol=1e-5, err_msg="padded")
        states = torch.cat(output.hidden_states).numpy()
        np.testing.assert_allclose(hidden_states(ours, model), states, atol=1e-5, rtol=1e-5)
    mask = model.tokenizer.mask_name
    with torch.no_grad():
        inputs = tokenizer(f"The {mask}.", return_tensors="pt")
        place = inputs.input_ids[0].tolist().index(tokenizer.mask_token_id)
        best = theirs(**inputs).logits[0, place].softmax(-1).topk(3)
    ((first, *_),) = predict_masked(f"The {mask}.", model, k=3)
    assert first[0] == tokenizer.convert_ids_to_tokens(int(best.indices[0]))
    assert first[1] == pytest.approx(float(best.values[0]), abs=1e-5)
