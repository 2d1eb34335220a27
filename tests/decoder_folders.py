"""Random GPT-2 and Llama checkpoints in folders, written by transformers, with a byte-level tokenizer beside them."""

import tempfile
from functools import cache
from pathlib import Path

import once
import torch
from bert_folders import random_bert, with_random_weights, write
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from mha_core import load_model

SIZES = {
    "gpt2": (
        {"n_embd": 15, "n_layer": 3, "n_head": 5, "n_positions": 37},
        {"n_embd": 22, "n_layer": 2, "n_head": 1, "n_positions": 29, "n_inner": 17},
        {"n_embd": 21, "n_layer": 4, "n_head": 7, "n_positions": 23, "activation_function": "relu"},
    ),
    "llama": (
        {"hidden_size": 30, "num_attention_heads": 5, "num_key_value_heads": 1, "rope_theta": 1e5},
        {
            "hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10,
            "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True,
        },
        {
            "hidden_size": 28, "num_attention_heads": 7, "num_key_value_heads": 7, "rms_norm_eps": 5e-4,
            "rope_scaling": {
                "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            },
        },
    ),
}  # fmt: skip
COMMON = {
    "gpt2": {"vocab_size": 263},
    "llama": {"vocab_size": 263, "num_hidden_layers": 3, "intermediate_size": 19, "max_position_embeddings": 41},
}  # fmt: skip


def random_decoder(kind, which=0, *, bare=False, **changes):
    """A transformers decoder with random weights, biases and norms included, and eager attention."""
    import transformers

    sizes = {**COMMON[kind], **SIZES[kind][which], **changes}
    config = transformers.AutoConfig.for_model(kind, **sizes)
    torch.manual_seed(which)
    auto = transformers.AutoModel if bare else transformers.AutoModelForCausalLM
    return with_random_weights(auto.from_config(config, attn_implementation="eager"))


def byte_tokenizer(specials=("<|endoftext|>",), begin=None, merges=("th", "th e", "Ġ the", "it", "Ġ it")):
    """A tokenizer of bytes, some merges and special tokens; `begin` is put in front of every text."""
    pairs = [tuple(merge.split()) if " " in merge else tuple(merge) for merge in merges]
    tokens = dict.fromkeys([*sorted(pre_tokenizers.ByteLevel.alphabet()), *map("".join, pairs)])
    fast = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=pairs))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    fast.add_special_tokens(list(specials))
    if begin is not None:
        fast.post_processor = TemplateProcessing(f"{begin} $A", None, [(begin, fast.token_to_id(begin))])
    return fast


def word_tokenizer(words):
    """A tokenizer of bytes in which some words with the space before them, and "The", are one token each."""
    merges = [f"{f'Ġ{word}'[:i]} {word[i - 1]}" for word in words for i in range(1, 1 + len(word))]
    return byte_tokenizer(merges=dict.fromkeys([*merges, "T h", "Th e"]))


def write_decoder(folder, theirs, fast=None):
    """The model in a folder of its own, as its maker would publish it."""
    theirs.save_pretrained(folder)
    (fast or byte_tokenizer()).save(str(folder / "tokenizer.json"))
    return theirs


@cache
def shared_model(kind, which=None):
    """A random model of transformers, and ours from its folder: made once and never changed. By default a GPT-2 of
    three layers and five heads, a Llama of three layers and six heads on three, or a masked BERT as the GPT-2."""
    folder = Path(tempfile.mkdtemp(prefix=kind, dir=once.folder))
    if kind == "bert":
        theirs = write(folder, random_bert("BertForMaskedLM"))
    else:
        number = int(kind == "llama") if which is None else which
        theirs = write_decoder(folder, random_decoder(kind, number))
    return theirs, load_model(str(folder), device="cpu")
