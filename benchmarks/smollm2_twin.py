"""The embedded decoder as transformers' own model with the same weights."""

import re

import torch
import transformers


def transformers_twin(smollm2):
    """Eager, in fp32, with matrices of its own but for the embeddings."""
    config = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, rope_theta=100_000,
        tie_word_embeddings=True, attn_implementation="eager",
    )  # fmt: skip
    with torch.device("meta"):
        theirs = transformers.LlamaForCausalLM(config)
    theirs.to_empty(device="cpu")
    theirs.model.rotary_emb = type(theirs.model.rotary_emb)(config)
    back = {
        "embeddings.word.": "embed_tokens.", "attention.W_": "self_attn.", "attention_norm.": "input_layernorm.",
        "output_norm.": "post_attention_layernorm.", "gate.": "mlp.gate_proj.", "up.": "mlp.up_proj.",
        "down.": "mlp.down_proj.",
    }  # fmt: skip
    state = {}
    for name, tensor in smollm2.encoder.state_dict().items():
        for ours, other in back.items():
            name = name.replace(ours, other)  # noqa: PLW2901 - one name through all replacements
        state[re.sub(r"self_attn\.([qkvo])\.", r"self_attn.\1_proj.", name)] = tensor
    theirs.model.load_state_dict(state)
    theirs.tie_weights()
    theirs.eval()
    return theirs
