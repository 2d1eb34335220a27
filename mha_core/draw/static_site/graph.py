"""BERT's encoder as an ONNX graph that gives all attention weights, written node by node: no exporter, same bytes.

In: a loaded model. Out: the graph of `ids` (n) and `segments` (n) to `weights` (layer, head, n, n), and its matrices,
which lie in a file of their own. 1/sqrt(d_k) is folded into the queries, and the last layer ends with its softmax.
"""

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

Arrays = dict[str, NDArray[np.float32]]


def attention_graph(model: Model) -> "tuple[onnx.ModelProto, Arrays]":
    """Write the graph of a BERT. Returns it and its matrices, in the order in which they lie outside.

    Raises ModelError for another architecture or activation, Unavailable without the package onnx.
    """
    config = model.config
    if config.model_type != "bert" or config.activation not in (*GELU, "relu"):
        raise ModelError(f"A page without a server computes BERT and the toy model, not '{model.title}'.")
    assert isinstance(config, EncoderConfig)  # noqa: S101 - what "bert" is
    try:
        import onnx
    except ModuleNotFoundError:
        raise Unavailable("The page needs the package onnx: pip install 'headscope[static]'.") from None
    tensors = {name: tensor.float().cpu().numpy() for name, tensor in model.encoder.state_dict().items()}
    writer = _Writer(config, tensors)
    writer.encoder()
    integers: int = onnx.TensorProto.INT64
    size: list[str | int | None] = [config.n_layers, config.n_heads, "n", "n"]
    graph = onnx.helper.make_graph(
        writer.nodes,
        "attention",
        [onnx.helper.make_tensor_value_info(name, integers, ["n"]) for name in ("ids", "segments")],
        [onnx.helper.make_tensor_value_info("weights", onnx.TensorProto.FLOAT, size)],
        writer.constants,
    )
    opset = onnx.helper.make_opsetid("", OPSET)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION), writer.outside


class _Writer:
    """Writer of nodes; every value has the name of the node that gives it."""

    def __init__(self, config: EncoderConfig, tensors: Arrays) -> None:
        import onnx

        self.config, self.tensors, self.onnx = config, tensors, onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outside: Arrays = {}
        self.at = 0

    def op(self, kind: str, name: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of what it gives."""
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, *values: int) -> str:
        """Add whole numbers."""
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def parameter(self, name: str, scale: float = 1) -> str:
        """Add one of the model's tensors, whose numbers lie outside."""
        array = self.outside[name] = np.ascontiguousarray(self.tensors[name] * np.float32(scale))
        tensor = self.onnx.TensorProto(name=name, data_type=self.onnx.TensorProto.FLOAT, dims=array.shape)
        tensor.raw_data = b""
        self.onnx.external_data_helper.set_external_data(tensor, OUTSIDE, self.at, array.nbytes)
        tensor.ClearField("raw_data")
        self.constants.append(tensor)
        self.at += array.nbytes
        return name

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
