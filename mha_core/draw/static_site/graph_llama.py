"""A Llama as an ONNX graph over the numbers of its GGUF file, which stay as they are: codes, scales and minima.

In: a loaded model. Out: the graph, written node by node, and its numbers. It takes `ids` (n), `cos` and `sin` (n, d_k),
a `mask` (n, m) of 0 and -inf, and the keys and values of the tokens `past` (layer, 2 kv heads, m - n, d_k). It gives
`weights` (layer, head, n, m), the probabilities of the `next` token (1, vocabulary), and keys and values `present`
(layer, 2 kv heads, m, d_k). MatMulNBits is ONNX Runtime's own operator (docs/ContribOperators.md of that project).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mha_core.draw.static_site.graph import Arrays, Ends, GraphWriter
from mha_core.errors import ModelError
from mha_core.models.families.llama import LlamaConfig
from mha_core.models.gguf import GgufFile
from mha_core.models.load import find_files
from mha_core.models.model import Model

if TYPE_CHECKING:
    import onnx

RUNTIME = "com.microsoft"
BLOCK = 32
SIGNED = 128.0  # of a code of 8 bits, the zero


def decoder_graph(model: Model) -> "tuple[onnx.ModelProto, Arrays]":
    """Write the graph of a Llama. Returns it and its numbers, in the order in which they lie outside.

    Raises ModelError for a Llama that is in no GGUF file, has biases, another activation or other blocks than Q4_1 and
    Q8_0; Unavailable without the package onnx.
    """
    config, (place, _) = model.config, find_files(model.name)
    if not isinstance(config, LlamaConfig) or not place.is_file():
        raise ModelError(f"A page without a server computes Llamas of GGUF files, not '{model.title}'.")
    file = GgufFile(place)
    if model.digest not in file.digests(weights=True).values():
        raise ModelError(f"The page takes the weights of {place.name}, and '{model.title}' has others.")
    if config.attention_bias or config.mlp_bias or config.activation != "silu":
        raise ModelError(
            f"'{model.title}' has biases or no SiLU; a page without a server computes other Llamas."
        )
    writer = _LlamaWriter(config, model, file)
    writer.decoder()
    row: list[str | int | None] = ["n", config.d_k]
    states: list[str | int | None] = [config.n_layers, 2 * config.n_kv_heads, "past", config.d_k]
    inputs: Ends = {
        "ids": ("INT64", ["n"]),
        "cos": ("FLOAT", row),
        "sin": ("FLOAT", row),
        "mask": ("FLOAT", ["n", "m"]),
        "past": ("FLOAT", states),
    }
    outputs: Ends = {
        "weights": ("FLOAT", [config.n_layers, config.n_heads, "n", "m"]),
        "next": ("FLOAT", [1, model.tokenizer.largest_id + 1]),
        "present": ("FLOAT", [*states[:2], "m", config.d_k]),
    }
    return writer.graph(inputs, outputs, RUNTIME)


class _LlamaWriter(GraphWriter):
    """Writer of a Llama's layers; its matrices are named as llama.cpp names them."""

    def __init__(self, config: LlamaConfig, model: Model, file: GgufFile) -> None:
        super().__init__()
        self.config, self.model, self.file = config, model, file
        self.tensors = model.encoder.state_dict()

    def decoder(self) -> None:
        """Add all layers, their weights, keys and values as one output each, and the next token."""
        config, d_k, heads, kv = self.config, self.config.d_k, self.config.n_heads, self.config.n_kv_heads
        for name, values in {
            "shape.x": (0, config.d_model),
            "shape.heads": (0, heads + 2 * kv, d_k),
            "shape.queries": (kv, -1, d_k),  # of one kv head, those of its heads one below the other
            "shape.scores": (1, heads, -1, 0),
            "shape.weights": (1, kv, -1, 0),
            "shape.context": (heads, -1, d_k),
            "shape.joined": (-1, heads * d_k),
            "split.turned": (heads + kv, kv),
            "split.query": (heads, kv),
            "split.cached": (kv, kv),
            "split.pair": (d_k // 2, d_k // 2),
            "split.gated": (config.d_ff, config.d_ff),
            "zero": (0,),
            "last": (-1,),
            "end": (2**62,),
            "scale": (d_k**-0.5,),
            "signed": (SIGNED,),
        }.items():
            self.constant(name, *values)
        words = self.stored("words", "token_embd", rows=self.model.tokenizer.largest_id + 1)
        x = self.embeddings(*words)
        for index in range(config.n_layers):
            x = self.rest(index, x, self.attention(index, x))
        for output in ("weights", "present"):
            self.op("Concat", output, *(f"layers.{i}.{output}" for i in range(config.n_layers)), axis=0)
        last = self.norm("norm", self.op("Slice", "row", x, "last", "end", "zero"))
        if not config.tied:
            words = self.stored("output", "output", rows=self.model.tokenizer.largest_id + 1)
        self.op("Softmax", "next", self.product("logits", last, *words), axis=-1)

    def embeddings(self, sizes: Mapping[str, int], inputs: Sequence[str]) -> str:
        """Add the embeddings of words stored in 8 bits: (n, d_model)."""
        if sizes["bits"] != 8:
            raise ModelError(f"'{self.model.title}' has embeddings of 4 bits; a page takes those in Q8_0.")
        codes, scales = (self.op("Gather", f"ids.{name}", name, "ids") for name in inputs)
        signed = self.op("Sub", "ids.signed", self.op("Cast", "ids.float", codes, to=1), "signed")
        scaled = self.op("Mul", "ids.scaled", signed, self.op("Unsqueeze", "ids.columns", scales, "last"))
        return self.op("Reshape", "embedded", scaled, "shape.x")

    def attention(self, index: int, x: str) -> str:
        """Add a layer's weights (1, head, n, m), its keys and values, and what its heads write: (n, d_model)."""
        name, block = f"layers.{index}", f"blk.{index}.attn"
        read = self.norm(f"{name}.attention_norm", x)
        joined = self.linear(f"{name}.qkv", read, *(f"{block}_{part}" for part in "qkv"))
        heads = self.op("Reshape", f"{name}.heads", joined, "shape.heads")
        heads = self.op("Transpose", f"{name}.by_head", heads, perm=[1, 0, 2])
        plain, values = self.split(heads, "split.turned", f"{name}.plain", f"{name}.values")
        left, right = self.split(plain, "split.pair", f"{name}.left", f"{name}.right", axis=-1)
        rolled = self.op("Concat", f"{name}.rolled", right, left, axis=-1)
        across = self.op("Mul", f"{name}.across", rolled, "sin")
        turned = self.op("Add", f"{name}.turned", self.op("Mul", f"{name}.along", plain, "cos"), across)
        queries, keys = self.split(turned, "split.query", f"{name}.queries", f"{name}.keys")
        new = self.op(
            "Unsqueeze", f"{name}.new", self.op("Concat", f"{name}.kv", keys, values, axis=0), "zero"
        )
        past = self.op("Gather", f"{name}.past", "past", self.constant(f"{name}.index", index))
        cached = self.op("Concat", f"{name}.present", past, new, axis=2)
        keys, values = self.split(cached, "split.cached", f"{name}.all_keys", f"{name}.all_values", axis=1)
        scaled = self.op("Mul", f"{name}.scaled", queries, "scale")
        grouped = self.op("Reshape", f"{name}.grouped", scaled, "shape.queries")
        keys = self.op("Transpose", f"{name}.columns", keys, perm=[0, 1, 3, 2])
        products = self.op("MatMul", f"{name}.products", grouped, keys)
        scores = self.op("Reshape", f"{name}.scores", products, "shape.scores")
        weights = self.op(
            "Softmax", f"{name}.weights", self.op("Add", f"{name}.masked", scores, "mask"), axis=-1
        )
        shared = self.op("Reshape", f"{name}.shared", weights, "shape.weights")
        context = self.op("MatMul", f"{name}.mixed", shared, values)
        context = self.op("Reshape", f"{name}.context", context, "shape.context")
        context = self.op("Transpose", f"{name}.by_token", context, perm=[1, 0, 2])
        context = self.op("Reshape", f"{name}.joined", context, "shape.joined")
        return self.linear(f"{name}.written", context, f"{block}_output")

    def rest(self, index: int, x: str, written: str) -> str:
        """Add a layer's output: (n, d_model)."""
        name, block = f"layers.{index}", f"blk.{index}.ffn"
        x = self.op("Add", f"{name}.attended", x, written)
        read = self.norm(f"{name}.output_norm", x)
        both = self.linear(f"{name}.gate_up", read, f"{block}_gate", f"{block}_up")
        gate, up = self.split(both, "split.gated", f"{name}.gate", f"{name}.up", axis=-1)
        active = self.op("Mul", f"{name}.silu", gate, self.op("Sigmoid", f"{name}.sigmoid", gate))
        gated = self.op("Mul", f"{name}.gated", active, up)
        return self.op("Add", f"{name}.sum", x, self.linear(f"{name}.down", gated, f"{block}_down"))

    def split(self, x: str, sizes: str, *names: str, axis: int = 0) -> tuple[str, ...]:
        """Split a value into two."""
        self.op("Split", f"{names[0]}.split", x, sizes, outputs=names, axis=axis)
        return names

    def norm(self, name: str, x: str) -> str:
        """Add an RMSNorm."""
        weight = self.numbers(f"{name}.weight", self.tensors[f"{name}.weight"].float().cpu().numpy())
        return self.op("SimplifiedLayerNormalization", name, x, weight, axis=-1, epsilon=self.config.norm_eps)

    def linear(self, name: str, x: str, *parts: str) -> str:
        """Add X Wᵀ for matrices of the file, one below the other."""
        return self.product(name, x, *self.stored(name, *parts))

    def product(self, name: str, x: str, sizes: Mapping[str, Any], inputs: Sequence[str]) -> str:
        """Add X Wᵀ for a stored matrix."""
        return self.op("MatMulNBits", name, x, *inputs, domain=RUNTIME, **sizes)

    def stored(self, name: str, *parts: str, rows: int | None = None) -> tuple[dict[str, int], list[str]]:
        """Add matrices of the file, one below the other, and return the sizes and inputs of MatMulNBits.

        Scales and minima become float32 when the graph is loaded, for a zero of each block: -minimum / scale.
        """
        blocks = [self.file.blocks(part) for part in parts]
        bits = blocks[0].bits
        if any(each.bits != bits for each in blocks):
            raise ModelError(f"'{self.model.title}' has {' and '.join(parts)} in different blocks.")
        codes = np.concatenate([each.codes for each in blocks])[:rows]
        halves = [np.concatenate([each.scales for each in blocks])[:rows]]
        if bits == 4:
            halves.append(np.concatenate([each.minima for each in blocks if each.minima is not None]))
            _give_scale(codes, *halves)
            codes = codes[..., ::2] | codes[..., 1::2] << 4
        sizes = {"N": len(codes), "K": BLOCK * codes.shape[1], "bits": bits, "block_size": BLOCK}
        inputs = [self.numbers(f"{name}.codes", codes)]
        for kind, half in zip(("scales", "minima"), halves, strict=False):
            stored = self.numbers(f"{name}.{kind}.half", half)
            inputs.append(self.op("Cast", f"{name}.{kind}", stored, to=1))
        if bits == 4:
            below = self.op("Neg", f"{name}.below", inputs.pop())
            inputs.append(self.op("Div", f"{name}.zeros", below, inputs[1]))
        return sizes, inputs


def _give_scale(codes: NDArray[np.uint8], scales: NDArray[np.float16], minima: NDArray[np.float16]) -> None:
    """Write blocks whose scale is 0, all of whose numbers are their minimum m, as 1 * m + 0, or 0 * 1 + 0."""
    flat = scales == 0
    codes[flat] = (minima[flat] != 0)[:, None]
    scales[flat] = np.where(minima[flat] == 0, 1, minima[flat])
    minima[flat] = 0
