"""Random GPT-2 and Llama checkpoints in folders, written by transformers, with a byte-level tokenizer beside them."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

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
    "llama": {
        "vocab_size": 263,
        "num_hidden_layers": 3,
        "intermediate_size": 19,
        "max_position_embeddings": 41,
    },
}
CLASSES = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", "GPT2Model"),
    "llama": ("LlamaConfig", "LlamaForCausalLM", "LlamaModel"),
}


def random_decoder(kind, which=0, *, bare=False, **changes):
    """A transformers decoder with random weights, biases and norms included, and eager attention."""
    import transformers

    config_name, with_head, without = CLASSES[kind]
    sizes = {**COMMON[kind], **SIZES[kind][which], **changes}
    config = getattr(transformers, config_name)(**sizes, attn_implementation="eager")
    torch.manual_seed(which)
    theirs = getattr(transformers, without if bare else with_head)(config).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.normal_(std=0.3)
            if "norm" in name or "ln_" in name:
                parameter.add_(1.0)
    return theirs


def word_tokenizer(words):
    """A tokenizer of bytes in which some words with the space before them, and "The", are one token each."""
    merges = dict.fromkeys((f"Ġ{word}"[:i], word[i - 1]) for word in words for i in range(1, 1 + len(word)))
    merges |= dict.fromkeys([("T", "h"), ("Th", "e")])
    tokens = dict.fromkeys(
        [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    )
    fast = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=list(merges)))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    fast.add_special_tokens(["<|endoftext|>"])
    return fast


def byte_tokenizer(specials=("<|endoftext|>",), begin=None):
    """A tokenizer of bytes, three merges and special tokens; `begin` is put in front of every text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "t"), ("Ġ", "it")]
    tokens = [*alphabet, *("".join(pair) for pair in merges)]
    fast = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    fast.add_special_tokens(list(specials))
    if begin is not None:
        from tokenizers.processors import TemplateProcessing

        fast.post_processor = TemplateProcessing(
            single=f"{begin} $A", special_tokens=[(begin, fast.token_to_id(begin))]
        )
    return fast


def write_decoder(folder, theirs, fast=None, **options):
    """The model in a folder of its own, as its maker would publish it."""
    theirs.save_pretrained(folder, **options)
    (fast or byte_tokenizer()).save(str(folder / "tokenizer.json"))
    return theirs
