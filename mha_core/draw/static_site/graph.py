"""BERT's encoder as an ONNX graph that gives all attention weights, written node by node: no exporter, same bytes.

`GraphWriter` writes any graph. In: a loaded model. Out: the graph of `ids` (n) and `segments` (n) to `weights` (layer,
head, n, n), and its matrices, which lie in a file of their own. 1/sqrt(d_k) is folded into the queries, and the last
layer ends with its softmax.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import ModelError, Unavailable
from mha_core.models.families.bert import EncoderConfig
from mha_core.models.model import Model

if TYPE_CHECKING:
    import onnx

OPSET, IR_VERSION = 21, 10
OUTSIDE = "weights"  # what the graph calls the file of its matrices
GELU = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}

Arrays = dict[str, NDArray[Any]]
Ends = Mapping[str, tuple[str, list[str | int | None]]]  # inputs or outputs: type and shape by name


def attention_graph(model: Model) -> "tuple[onnx.ModelProto, Arrays]":
    """Write the graph of a BERT. Returns it and its matrices, in the order in which they lie outside.

    Raises ModelError for another architecture or activation, Unavailable without the package onnx.
    """
    config = model.config
    if config.model_type != "bert" or config.activation not in (*GELU, "relu"):
        raise ModelError(
            f"A page without a server computes BERT, Llama and the toy model, not '{model.title}'."
        )
    assert isinstance(config, EncoderConfig)  # noqa: S101 - what "bert" is
    writer = _BertWriter(config, model)
    writer.encoder()
    inputs: Ends = {name: ("INT64", ["n"]) for name in ("ids", "segments")}
    return writer.graph(inputs, {"weights": ("FLOAT", [config.n_layers, config.n_heads, "n", "n"])})


class GraphWriter:
    """Writer of nodes; every value has the name of the node that gives it. Raises Unavailable without onnx."""

    def __init__(self) -> None:
        try:
            import onnx
        except ModuleNotFoundError:
            raise Unavailable("The page needs the package onnx: pip install 'headscope[static]'.") from None
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outside: Arrays = {}

    def op(self, kind: str, name: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Add a node and return the name of what it gives, the first of `outputs`."""
        outputs = outputs or [name]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, outputs, name=name, **attributes))
        return outputs[0]

    def constant(self, name: str, *values: float) -> str:
        """Add numbers: whole ones as int64, others as float32."""
        kind = np.int64 if all(isinstance(value, int) for value in values) else np.float32
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(values, kind), name))
        return name

    def numbers(self, name: str, array: NDArray[Any]) -> str:
        """Add numbers that lie outside."""
        offset = sum(each.nbytes for each in self.outside.values())
        array = self.outside[name] = np.ascontiguousarray(array)
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = self.onnx.TensorProto(name=name, data_type=kind, dims=array.shape)
        tensor.raw_data = b""
        self.onnx.external_data_helper.set_external_data(tensor, OUTSIDE, offset, array.nbytes)
        tensor.ClearField("raw_data")
        self.constants.append(tensor)
        return name

    def graph(self, inputs: Ends, outputs: Ends, *domains: str) -> "tuple[onnx.ModelProto, Arrays]":
        """Return the graph, with operators of other `domains`, and the numbers outside, in their order there."""
        given, results = (
            [
                self.onnx.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), shape)
                for name, (kind, shape) in each.items()
            ]
            for each in (inputs, outputs)
        )
        graph = self.onnx.helper.make_graph(self.nodes, "attention", given, results, self.constants)
        opsets = [self.onnx.helper.make_opsetid("", OPSET)]
        opsets += [self.onnx.helper.make_opsetid(domain, 1) for domain in domains]
        return self.onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), self.outside


class _BertWriter(GraphWriter):
    """Writer of a BERT's layers."""

    def __init__(self, config: EncoderConfig, model: Model) -> None:
        super().__init__()
        self.config = config
        self.tensors = {
            name: tensor.float().cpu().numpy() for name, tensor in model.encoder.state_dict().items()
        }

    def parameter(self, name: str, scale: float = 1) -> str:
        """Add one of the model's tensors."""
        return self.numbers(name, self.tensors[name] * np.float32(scale))

    def linear(self, name: str, x: str, scale: float = 1) -> str:
        """Add X Wᵀ + b."""
        weight, bias = (self.parameter(f"{name}.{kind}", scale) for kind in ("weight", "bias"))
        return self.op("Gemm", name, x, weight, bias, transB=1)

    def norm(self, name: str, x: str) -> str:
        """Add a LayerNorm."""
        weight, bias = (self.parameter(f"{name}.{kind}") for kind in ("weight", "bias"))
        return self.op("LayerNormalization", name, x, weight, bias, axis=-1, epsilon=self.config.norm_eps)

    def split(self, name: str, x: str, order: list[int]) -> str:
        """Split (n, d_model) into heads: (n, head, d_k) in another order of axes."""
        return self.op(
            "Transpose", f"{name}.heads", self.op("Reshape", f"{name}.split", x, "split"), perm=order
        )

    def encoder(self) -> None:
        """Add all layers, and their weights as one output."""
        config = self.config
        self.constant("zero", 0)
        self.constant("split", 0, config.n_heads, config.d_k)
        self.constant("join", 0, config.d_model)
        x = self.embeddings()
        weights = list[str]()
        for index in range(config.n_layers):
            layer = f"layers.{index}"
            weights.append(self.op("Unsqueeze", f"{layer}.layer", self.weights(layer, x), "zero"))
            if index + 1 < config.n_layers:
                x = self.rest(layer, x)
        self.op("Concat", "weights", *weights, axis=0)

    def embeddings(self) -> str:
        """Add words, segments and positions, summed and normalised: (n, d_model)."""
        words, segments, positions = (
            self.parameter(f"embeddings.{kind}.weight") for kind in ("word", "segment", "position")
        )
        word = self.op("Gather", "word", words, "ids")
        segment = self.op("Gather", "segment", segments, "segments")
        position = self.op("Slice", "position", positions, "zero", self.op("Shape", "n", "ids"))
        return self.norm(
            "embeddings.norm", self.op("Add", "sum", self.op("Add", "typed", word, segment), position)
        )

    def weights(self, layer: str, x: str) -> str:
        """Add the layer's attention weights: (head, n, n)."""
        name = f"{layer}.attention"
        queries = self.split(f"{name}.q", self.linear(f"{name}.W_q", x, self.config.d_k**-0.5), [1, 0, 2])
        keys = self.split(f"{name}.k", self.linear(f"{name}.W_k", x), [1, 2, 0])
        return self.op(
            "Softmax", f"{name}.weights", self.op("MatMul", f"{name}.scores", queries, keys), axis=-1
        )

    def rest(self, layer: str, x: str) -> str:
        """Add the layer's output: (n, d_model)."""
        name = f"{layer}.attention"
        values = self.split(f"{name}.v", self.linear(f"{name}.W_v", x), [1, 0, 2])
        context = self.op("MatMul", f"{name}.context", f"{name}.weights", values)
        joined = self.op(
            "Reshape", f"{name}.joined", self.op("Transpose", f"{name}.back", context, perm=[1, 0, 2]), "join"
        )
        attended = self.op("Add", f"{layer}.attended", self.linear(f"{name}.W_o", joined), x)
        residual = self.norm(f"{layer}.attention_norm", attended)
        up, activation = self.linear(f"{layer}.up", residual), self.config.activation
        active = (
            self.op("Relu", f"{layer}.active", up)
            if activation == "relu"
            else self.op("Gelu", f"{layer}.active", up, approximate=GELU[activation])
        )
        return self.norm(
            f"{layer}.output_norm",
            self.op("Add", f"{layer}.sum", self.linear(f"{layer}.down", active), residual),
        )
