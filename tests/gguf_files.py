"""Small Llamas with random weights in GGUF files, written by llama.cpp's own package, as its converter names them."""

import gguf
import numpy as np
import torch
from decoder_folders import random_decoder
from gguf.quants import quantize
from tokenizers import pre_tokenizers

K_QUANTS = {"Q4_K": (144, 0, 2), "Q6_K": (210, 208, 1)}  # bytes of a block, where its scales in fp16 stand
SPECIAL, BYTE, NORMAL = 3, 6, 1


def bytes_vocabulary(writer, pre="gpt-2", merges=("t h", "th e", "Ġ the", "i t", "Ġ it")):
    """Bytes, tokens that are joined of them, and a special one."""
    bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*bytes_, *dict.fromkeys(merge.replace(" ", "") for merge in merges), "<|endoftext|>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([*[NORMAL] * (len(tokens) - 1), SPECIAL])
    writer.add_token_merges(list(merges))
    return len(tokens)


def pieces_vocabulary(writer):
    """SentencePiece's: scores and no merges, a token for each byte, <s> in front of every text."""
    # "th" comes last: joined first it would leave "▁the" in pieces.
    words = [*"▁abcdehilmnorstuvw.'", "▁t", "he", "▁the", "an", "im", "▁an", "anim"]
    words += ["al", "▁anim", "▁animal", "th"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]
    scores = [0.0] * 259 + [-float(i) for i in range(len(words))]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types([2, SPECIAL, SPECIAL, *[BYTE] * 256, *[NORMAL] * len(words)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    return len(tokens)


def blocks(kind, shape):
    """Random bytes of a K-quant, its scales small numbers."""
    size, start, scales = K_QUANTS[kind]
    rng = np.random.default_rng(0)
    result = rng.integers(0, 256, (shape[0] * shape[1] // 256, size), dtype=np.uint8)
    small = rng.uniform(1e-5, 1e-4, (len(result), scales)).astype("<f2").view(np.uint8)
    result[:, start : start + 2 * scales] = small
    return result.reshape(shape[0], -1)


def paired(weight, n_heads):
    """The rows of W_q or W_k as llama.cpp keeps them: those of a pair are neighbours."""
    return weight.reshape(n_heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(path, vocabulary=bytes_vocabulary, *, kinds=None, arch="llama", settings=(), **sizes):
    """A random Llama; `kinds`: the number formats of tensors by a part of their name, F32 where there is none."""
    writer = gguf.GGUFWriter(path, arch)
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2} | sizes
    theirs = random_decoder("llama", vocab_size=vocabulary(writer), **sizes)
    config = theirs.config
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    for key, value in settings:
        writer.add_key_value(key, value, gguf.GGUFValueType.get_type(value))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in theirs.state_dict().items():
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        n_heads = next((n for part, n in heads.items() if part in name), None)
        weight = tensor.to(torch.float32).numpy()
        weight = weight if n_heads is None else paired(weight, n_heads)
        kind = next((kind for part, kind in (kinds or {}).items() if part in name), "F32")
        number = gguf.GGMLQuantizationType[kind]
        if kind in K_QUANTS:
            data = blocks(kind, weight.shape)
        else:
            data = np.ascontiguousarray(weight) if kind == "F32" else quantize(weight, number)
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), data, raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
