"""The classroom model once more, written apart from the project: plain torch on the tensors of a safetensors file."""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file


class Plain:
    """A model folder, run in double precision, one text at a time."""

    def __init__(self, folder: Path) -> None:
        self.sizes = json.loads((folder / "config.json").read_text())
        self.words = (folder / "vocab.txt").read_text().split()
        self.t = {name: tensor.double() for name, tensor in load_file(folder / "model.safetensors").items()}

    def __call__(self, words, without=()):
        """Weights of each layer (head, query, key), and a score for every word at every place."""
        x = self.t["embeddings.word.weight"][[self.words.index(word) for word in words]]
        weights = []
        for layer in range(self.sizes["n_layers"]):
            seen, x = self.layer(x, layer, without)
            weights.append(seen)
        return weights, self.norm(x, "norm") @ self.t["embeddings.word.weight"].T

    def layer(self, x, layer, without):
        name, heads, n = f"layers.{layer}.", self.sizes["n_heads"], len(x)
        normed = self.norm(x, name + "attention_norm")
        q, k, v = (self.linear(normed, f"{name}attention.W_{letter}").view(n, heads, -1) for letter in "qkv")
        scores = torch.einsum("qhd,khd->hqk", self.turned(q), self.turned(k)) / q.shape[-1] ** 0.5
        window = self.sizes["windows"][layer]
        if window:
            for i in range(n):
                for j in range(n):
                    if abs(i - j) > window:
                        scores[:, i, j] = -torch.inf
        weights = scores.softmax(-1)
        mixed = torch.einsum("hqk,khd->qhd", weights, v)
        mixed[:, [head for where, head in without if where == layer]] = 0
        x = x + self.linear(mixed.flatten(1), name + "attention.W_o")
        inner = F.gelu(self.linear(self.norm(x, name + "output_norm"), name + "up"))
        return weights, x + self.linear(inner, name + "down")

    def turned(self, x):
        """The first `turning` pairs as complex numbers turned by position / theta^(i / turning)."""
        half, turning = x.shape[-1] // 2, self.sizes["turning"]
        pairs = torch.complex(x[..., :half], x[..., half:])
        for i in range(turning):
            speed = self.sizes["theta"] ** (-i / turning)
            angle = torch.arange(len(x), dtype=torch.float64) * speed
            pairs[..., i] *= torch.polar(torch.ones_like(angle), angle)[:, None]
        return torch.cat((pairs.real, pairs.imag), -1)

    def linear(self, x, name):
        return F.linear(x, self.t[name + ".weight"], self.t[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.t[name + ".weight"], self.t[name + ".bias"], 1e-5)
