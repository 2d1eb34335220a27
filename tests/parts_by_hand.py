"""A transformers model's residual stream split into parts once more, in double precision and apart from the project."""

from copy import deepcopy

import numpy as np
import torch

LAYERS = {"bert": "encoder.layer", "gpt2": "transformer.h", "llama": "model.layers"}
OUT = {"bert": "attention.output.dense", "gpt2": "attn.c_proj", "llama": "self_attn.o_proj"}
MLP = {"bert": "output.dense", "gpt2": "mlp", "llama": "mlp"}
AFTER_HEADS, AFTER_MLP = "attention.output.LayerNorm", "output.LayerNorm"
BEFORE = {"gpt2": "ln_1", "llama": "input_layernorm"}
LAST = {"gpt2": "transformer.ln_f", "llama": "model.norm"}


class ByHand:
    """One run of one text; `parts(layer)` is what the attention of a layer reads of each part, {name: (n, width)}."""

    def __init__(self, theirs, kind, ids):
        self.theirs, self.kind = deepcopy(theirs).double().requires_grad_(False), kind
        self.inputs, self.outputs = {}, {}
        modules = self.theirs.named_modules()
        hooks = [module.register_forward_hook(self.keep(name)) for name, module in modules]
        self.run = self.theirs(torch.tensor([list(ids)]), output_hidden_states=True, output_attentions=True)
        for hook in hooks:
            hook.remove()

    def keep(self, name):
        def hook(_module, inputs, output):
            if inputs and isinstance(inputs[0], torch.Tensor) and isinstance(output, torch.Tensor):
                self.inputs[name], self.outputs[name] = inputs[0][0].numpy(), output[0].numpy()

        return hook

    def held(self, name, part):
        """A part through a norm whose scale is that of the whole state."""
        norm, x = self.theirs.get_submodule(name), self.inputs[name]
        weight = norm.weight.numpy()
        if getattr(norm, "bias", None) is None:
            return part / np.sqrt((x**2).mean(-1, keepdims=True) + norm.variance_epsilon) * weight
        deviation = np.sqrt(x.var(-1, keepdims=True) + norm.eps)
        return (part - part.mean(-1, keepdims=True)) / deviation * weight

    def all_held(self, name, parts):
        parts = {key: self.held(name, part) for key, part in parts.items()}
        bias = getattr(self.theirs.get_submodule(name), "bias", None)
        if bias is not None:
            parts["bias", None, None] += bias.numpy()
        return parts

    def parts(self, layer, of_mlp=False):
        """With `of_mlp` what the MLP of that layer is given, before a norm of its own."""
        config, kind = self.theirs.config, self.kind
        state = self.run.hidden_states[0][0].numpy()
        parts = {("embedding", None, None): state, ("bias", None, None): np.zeros_like(state)}
        for index in range(layer + of_mlp):
            place = f"{LAYERS[kind]}.{index}."
            out, contexts = self.theirs.get_submodule(place + OUT[kind]), self.inputs[place + OUT[kind]]
            matrix = out.weight.numpy() if kind == "gpt2" else out.weight.numpy().T
            width = len(matrix) // config.num_attention_heads
            for head in range(config.num_attention_heads):
                own = slice(head * width, (head + 1) * width)
                parts["head", index + 1, head + 1] = contexts[:, own] @ matrix[own]
            if out.bias is not None:
                parts["bias", None, None] = parts["bias", None, None] + out.bias.numpy()
            if kind == "bert":
                parts = self.all_held(place + AFTER_HEADS, parts)
            if of_mlp and index == layer:
                return parts
            parts["mlp", index + 1, None] = self.outputs[place + MLP[kind]]
            if kind == "bert":
                parts = self.all_held(place + AFTER_MLP, parts)
        if layer == config.num_hidden_layers:
            return self.all_held(LAST[kind], parts)
        return parts if kind == "bert" else self.all_held(f"{LAYERS[kind]}.{layer}.{BEFORE[kind]}", parts)

    def mlp(self, layer, x):
        """What the MLP of a layer writes where it is given x (width,)."""
        block = self.theirs.get_submodule(f"{LAYERS[self.kind]}.{layer}")
        x = torch.from_numpy(x)[None]
        if self.kind == "bert":
            return block.output.dense(block.intermediate(x))[0].numpy()
        norm = block.ln_2 if self.kind == "gpt2" else block.post_attention_layernorm
        return block.mlp(norm(x))[0].numpy()

    def matrices(self, layer, head):
        """W_q and W_k of a head, (width, d_k), and their biases."""
        config, place = self.theirs.config, f"{LAYERS[self.kind]}.{layer}."
        n_heads = config.num_attention_heads
        shared = n_heads // getattr(config, "num_key_value_heads", n_heads)
        d_k = getattr(config, "head_dim", None) or config.hidden_size // n_heads
        result = []
        for letter, index in (("query", head), ("key", head // shared)):
            if self.kind == "gpt2":
                fused = self.theirs.get_submodule(place + "attn.c_attn")
                third = ("query", "key").index(letter)
                weight = fused.weight.numpy().T.reshape(3, config.n_embd, -1)[third]
                bias = fused.bias.numpy().reshape(3, -1)[third]
            else:
                name = f"attention.self.{letter}" if self.kind == "bert" else f"self_attn.{letter[0]}_proj"
                linear = self.theirs.get_submodule(place + name)
                weight = linear.weight.numpy()
                bias = np.zeros(len(weight)) if linear.bias is None else linear.bias.numpy()
            rows = slice(index * d_k, (index + 1) * d_k)
            result.append((weight[rows].T, bias[rows]))
        return result

    def turned(self, x, position):
        """A query or key (d_k,) turned by its position, as complex numbers."""
        if self.kind != "llama":
            return x
        half = len(x) // 2
        theta = self.theirs.config.rope_parameters["rope_theta"]
        pairs = (x[:half] + 1j * x[half:]) * np.exp(1j * position * theta ** (-np.arange(half) / half))
        return np.concatenate([pairs.real, pairs.imag])

    def link(self, layer, head, i, j):
        """{(side, part, layer, head): score} of one link, one key after the other, and the link's weight."""
        (W_q, b_q), (W_k, b_k) = self.matrices(layer, head)
        parts = self.parts(layer)
        n = len(next(iter(parts.values())))
        seen = range(i + 1) if self.kind != "bert" else range(n)
        queries = {name: self.turned(part[i] @ W_q, i) for name, part in parts.items()}
        queries["bias", layer + 1, head + 1] = self.turned(b_q, i)
        keys = {name: [self.turned(part[k] @ W_k, k) for k in seen] for name, part in parts.items()}
        keys["bias", layer + 1, head + 1] = [self.turned(b_k, k) for k in seen]
        q = sum(queries.values())
        k = [sum(part[place] for part in keys.values()) for place in range(len(seen))]
        result = {}
        for name in queries:
            scores = {"key": [q @ key for key in keys[name]], "query": [queries[name] @ key for key in k]}
            for side, own in scores.items():
                result[side, *name] = (own[j] - np.mean(own)) / np.sqrt(len(q))
        return result, float(self.run.attentions[layer][0, head, i, j])
