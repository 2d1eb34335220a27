"""BERT and its kin: encoders that see both sides, with learned positions, and norms after each part (post-LN).

Five kinds share the layers and differ in the names of their tensors and in their embeddings: DistilBERT has no
segments; ELECTRA's embeddings have a width of their own, which a linear layer makes as wide as the layers, and its
discriminator predicts no [MASK]; RoBERTa and XLM-R count positions from behind the padding's number, and tell a pair's
texts apart by two separators alone. A sequence classifier of each has a head for labels instead of that for [MASK].

Sources: Devlin et al. 2019 (BERT), Sanh et al. 2019 (DistilBERT), Clark et al. 2020 (ELECTRA), Liu et al. 2019
(RoBERTa), Conneau et al. 2020 (XLM-R); the layer as in Vaswani et al. 2017.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from mha_core.engine.multihead import MultiHeadAttention
from mha_core.engine.stack import ACTIVATIONS, MAX_SIZES, Block, Stack, StackConfig, table
from mha_core.errors import SizeError
from mha_core.models.families.family import Family, Rules, Tensors, refuse_unless
from mha_core.models.tokenizer_files import tokenizer_of, wordpiece_of
from mha_core.settings import real, whole, word
from mha_core.text.tokens import SpecialTokenNames, Tokenizer

SPECIALS = SpecialTokenNames("[CLS]", "[SEP]", padding="[PAD]", unknown="[UNK]", mask="[MASK]")
FRAMED = SpecialTokenNames("<s>", "</s>", padding="<pad>", unknown="<unk>", mask="<mask>", between=2)
NAMES = (
    (r"embeddings\.word_embeddings\.", "embeddings.word."),
    (r"embeddings\.position_embeddings\.", "embeddings.position."),
    (r"embeddings\.token_type_embeddings\.", "embeddings.segment."),
    (r"embeddings\.LayerNorm\.", "embeddings.norm."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.query\.", r"layers.\1.attention.W_q."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.key\.", r"layers.\1.attention.W_k."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.value\.", r"layers.\1.attention.W_v."),
    (r"encoder\.layer\.(\d+)\.attention\.output\.dense\.", r"layers.\1.attention.W_o."),
    (r"encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.", r"layers.\1.attention_norm."),
    (r"encoder\.layer\.(\d+)\.intermediate\.dense\.", r"layers.\1.up."),
    (r"encoder\.layer\.(\d+)\.output\.dense\.", r"layers.\1.down."),
    (r"encoder\.layer\.(\d+)\.output\.LayerNorm\.", r"layers.\1.output_norm."),
)
DISTILBERT_NAMES = (
    *NAMES[:2],
    NAMES[3],
    (r"transformer\.layer\.(\d+)\.attention\.([qkv])_lin\.", r"layers.\1.attention.W_\2."),
    (r"transformer\.layer\.(\d+)\.attention\.out_lin\.", r"layers.\1.attention.W_o."),
    (r"transformer\.layer\.(\d+)\.sa_layer_norm\.", r"layers.\1.attention_norm."),
    (r"transformer\.layer\.(\d+)\.ffn\.lin1\.", r"layers.\1.up."),
    (r"transformer\.layer\.(\d+)\.ffn\.lin2\.", r"layers.\1.down."),
    (r"transformer\.layer\.(\d+)\.output_layer_norm\.", r"layers.\1.output_norm."),
)
ELECTRA_NAMES = (*NAMES, (r"embeddings_project\.", "embeddings.project."))
HEAD_NAMES = (
    (r"cls\.predictions\.transform\.dense\.", "transform."),
    (r"cls\.predictions\.transform\.LayerNorm\.", "norm."),
    (r"cls\.predictions\.decoder\.", "decoder."),
    (r"cls\.predictions\.bias$", "decoder.bias"),
    (r"pooler\.dense\.", "dense."),
    (r"classifier\.", "labels."),
)
DENSE_LABEL_NAMES = ((r"classifier\.dense\.", "dense."), (r"classifier\.out_proj\.", "labels."))
DISTILBERT_HEAD_NAMES = (
    (r"vocab_transform\.", "transform."),
    (r"vocab_layer_norm\.", "norm."),
    (r"vocab_projector\.", "decoder."),
    (r"pre_classifier\.", "dense."),
    (r"classifier\.", "labels."),
)
ELECTRA_HEAD_NAMES = (
    (r"generator_predictions\.dense\.", "transform."),
    (r"generator_predictions\.LayerNorm\.", "norm."),
    (r"generator_lm_head\.", "decoder."),
    *DENSE_LABEL_NAMES,
)
ROBERTA_HEAD_NAMES = (
    (r"lm_head\.dense\.", "transform."),
    (r"lm_head\.layer_norm\.", "norm."),
    (r"lm_head\.decoder\.", "decoder."),
    (r"lm_head\.bias$", "decoder.bias"),
    *DENSE_LABEL_NAMES,
)
# Parts of other heads; no attention depends on them.
OTHER_HEADS = r"pooler\.|(pre_)?classifier\.|qa_outputs\.|.*position_ids$"
MAX_LABELS = 100_000
Scale = Literal["softmax", "sigmoid", "none"]  # of a label's logit; none: a regression


@dataclass(frozen=True)
class EncoderConfig(StackConfig):
    """The sizes of an encoder of BERT's kind. `d_embedding`: the width of its embeddings, d_model unless it is given;
    `padding`: the number of the padding token where positions begin behind it, and those up to it are not counted in
    `max_positions`; `labels`: those of a sequence classifier, with the `scale` of their logits. Raises SizeError if
    they cannot be."""

    model_type = "bert"
    has_segments: ClassVar[bool] = True
    head_activation: ClassVar[str | None] = None  # that of the layers
    classifier: ClassVar[str] = "BertForSequenceClassification"
    label_activation: ClassVar[str] = "tanh"
    n_segments: int = 2
    d_embedding: int = 0
    padding: int | None = None
    labels: tuple[str, ...] = ()
    scale: Scale = "softmax"

    def __post_init__(self) -> None:
        if not self.d_embedding:
            object.__setattr__(self, "d_embedding", self.d_model)
        super().__post_init__()
        if not 1 <= self.d_embedding <= MAX_SIZES["d_model"]:
            raise SizeError(
                f"d_embedding is {self.d_embedding}; it must be from 1 to {MAX_SIZES['d_model']:,}."
            )


class DistilBertConfig(EncoderConfig):
    """The sizes of a DistilBERT."""

    model_type, reads_segments, has_segments = "distilbert", False, False
    classifier, label_activation = "DistilBertForSequenceClassification", "relu"


class ElectraConfig(EncoderConfig):
    """The sizes of an ELECTRA."""

    model_type, head_activation = "electra", "gelu"
    classifier, label_activation = "ElectraForSequenceClassification", "gelu"


class RobertaConfig(EncoderConfig):
    """The sizes of a RoBERTa."""

    model_type, reads_segments, head_activation = "roberta", False, "gelu"
    classifier = "RobertaForSequenceClassification"


class XlmRobertaConfig(RobertaConfig):
    """The sizes of an XLM-R."""

    model_type, classifier = "xlm-roberta", "XLMRobertaForSequenceClassification"


class BertEmbeddings(nn.Module):
    """Word, segment and position embeddings, summed and normalised: (batch, n) to (batch, n, d_model)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.padding, self.reads_segments, width = config.padding, config.reads_segments, config.d_embedding
        self.word = table(config.vocab_size, width)
        behind = 0 if config.padding is None else config.padding + 1
        self.position = table(config.max_positions + behind, width)
        self.segment = table(config.n_segments, width) if config.has_segments else None
        self.norm = nn.LayerNorm(width, eps=config.norm_eps)
        self.project = nn.Identity() if width == config.d_model else nn.Linear(width, config.d_model)

    def forward(self, ids: Tensor, segments: Tensor, first: int = 0) -> Tensor:
        x: Tensor = self.word(ids)
        if self.segment is not None:
            x = x + (self.segment(segments) if self.reads_segments else self.segment.weight[0])
        projected: Tensor = self.project(self.norm(x + self._positions(ids, first)))
        return projected

    def _positions(self, ids: Tensor, first: int) -> Tensor:
        if self.padding is None:
            return self.position.weight[first : first + ids.shape[1]]
        counted = (
            ids != self.padding
        )  # the padding token stands on its own position, and none is counted for it
        positions: Tensor = self.position(counted.cumsum(dim=1) * counted + self.padding)
        return positions


class EncoderLayer(Block):
    """Attention and a feed-forward net, each added to its input and normalised after (post-LN)."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.attention_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.up = nn.Linear(config.d_model, config.d_ff)
        self.down = nn.Linear(config.d_ff, config.d_model)
        self.output_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.activation = ACTIVATIONS[config.activation]

    def residual(self, x: Tensor, attended: Tensor) -> Tensor:
        """Return LayerNorm(x + attended)."""
        normed: Tensor = self.attention_norm(x + attended)
        return normed

    def mlp(self, residual: Tensor) -> Tensor:
        """Return the feed-forward net's output."""
        written: Tensor = self.down(self.activation(self.up(residual)))
        return written

    def output(self, residual: Tensor, written: Tensor) -> Tensor:
        """Return LayerNorm(residual + written)."""
        normed: Tensor = self.output_norm(residual + written)
        return normed


class Encoder(Stack):
    """The whole stack of an encoder of BERT's kind."""

    def __init__(self, config: EncoderConfig) -> None:
        layers = [EncoderLayer(config) for _ in range(config.n_layers)]
        super().__init__(config, BertEmbeddings(config), layers)


class MaskedHead(nn.Module):
    """The masked-language-model head: hidden states (..., d_model) to a score for every piece."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.transform = nn.Linear(config.d_model, config.d_embedding)
        self.norm = nn.LayerNorm(config.d_embedding, eps=config.norm_eps)
        self.decoder = nn.Linear(config.d_embedding, config.vocab_size)
        self.activation = ACTIVATIONS[config.head_activation or config.activation]

    def forward(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.decoder(self.norm(self.activation(self.transform(hidden))))
        return scores


class LabelHead(nn.Module):
    """The head of a sequence classifier: the first token's final state (..., d_model) to a logit for every label."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.labels = nn.Linear(config.d_model, len(config.labels))
        self.activation = ACTIVATIONS[config.label_activation]
        self.names, self.scale = config.labels, config.scale

    def forward(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.labels(self.activation(self.dense(hidden)))
        return logits

    def probabilities(self, logits: Tensor) -> Tensor | None:
        """Return every label's probability, of logits (..., n_labels); None for a regression."""
        if self.scale == "none":
            return None
        return logits.softmax(-1) if self.scale == "softmax" else logits.sigmoid()


def prediction_head(stack: Stack, tensors: Tensors) -> nn.Module | None:
    """Make the head for the labels that the config names, else that for [MASK], if the checkpoint has it, and take the
    other's tensors out. The last matrix of that for [MASK] is the embeddings' unless it has its own."""
    config = cast(EncoderConfig, stack.config)
    for key in [key for key in tensors if key.startswith(("dense.", "labels.")) != bool(config.labels)]:
        del tensors[key]
    if not tensors.keys() >= ({"dense.weight", "labels.weight"} if config.labels else {"transform.weight"}):
        return None
    with torch.device("meta"):
        head = LabelHead(config) if config.labels else MaskedHead(config)
    if not config.labels:
        tensors.setdefault("decoder.weight", stack.get_submodule("embeddings.word").weight.detach())  # type: ignore[operator]
    return head


def read_config(raw: Mapping[str, Any], name: str) -> EncoderConfig:
    """Read BERT's config.json."""
    return EncoderConfig(**sizes(raw, name, "a BERT"), **label_settings(raw, EncoderConfig))


def read_distilbert_config(raw: Mapping[str, Any], name: str) -> EncoderConfig:
    """Read DistilBERT's config.json."""
    return DistilBertConfig(
        vocab_size=whole(raw, "vocab_size"),
        d_model=whole(raw, "dim"),
        n_layers=whole(raw, "n_layers"),
        n_heads=whole(raw, "n_heads"),
        d_ff=whole(raw, "hidden_dim", 3072),
        max_positions=whole(raw, "max_position_embeddings", 512),
        n_segments=1,
        activation=word(raw, "activation", "gelu"),
        **label_settings(raw, DistilBertConfig),
    )


def read_electra_config(raw: Mapping[str, Any], name: str) -> EncoderConfig:
    """Read ELECTRA's config.json."""
    width, labels = whole(raw, "embedding_size", 128), label_settings(raw, ElectraConfig)
    return ElectraConfig(**sizes(raw, name, "an ELECTRA"), **labels, d_embedding=width)


def read_roberta_config(
    raw: Mapping[str, Any], name: str, kind: type[RobertaConfig] = RobertaConfig
) -> EncoderConfig:
    """Read RoBERTa's config.json, or XLM-R's."""
    fields = sizes(raw, name, "a RoBERTa")
    padding = whole(raw, "pad_token_id", 1)
    refuse_unless(padding >= 0, name, "has no padding token", "those with one")
    fields["max_positions"] -= padding + 1
    return kind(**fields, **label_settings(raw, kind), padding=padding)


def label_settings(raw: Mapping[str, Any], kind: type[EncoderConfig]) -> dict[str, Any]:
    """Read the labels of a sequence classifier, and the scale of their logits as transformers' pipeline
    "text-classification" chooses it; nothing for a checkpoint with any other head. A name that several labels have is
    followed by their number. Raises SizeError for labels that are not numbered from 0."""
    architectures = raw.get("architectures")
    if not isinstance(architectures, list) or kind.classifier not in architectures:
        return {}
    names = raw.get("id2label")
    if names is None:
        n = whole(raw, "num_labels", 2)  # the config of two unnamed labels does not hold them
        names = {i: f"LABEL_{i}" for i in range(min(n, MAX_LABELS + 1))}
    if not isinstance(names, dict) or len(names) > MAX_LABELS:
        raise SizeError(f"id2label must name the labels, at most {MAX_LABELS:,}.")
    by_number = {str(number): str(name) for number, name in names.items()}
    if set(by_number) != set(map(str, range(len(names)))):
        raise SizeError("id2label must number the labels from 0.")
    counts = Counter(by_number.values())
    ordered = [(i, by_number[str(i)]) for i in range(len(names))]
    problem = word(raw, "problem_type", "")
    many = problem != "multi_label_classification" and len(ordered) > 1
    return {
        "labels": tuple(name if counts[name] == 1 else f"{name} ({i})" for i, name in ordered),
        "scale": "none" if problem == "regression" else "softmax" if many else "sigmoid",
    }


def sizes(raw: Mapping[str, Any], name: str, kind: str) -> dict[str, Any]:
    """Read the settings that BERT and its kin call alike; `kind`: "a BERT". Refuses decoders and other positions."""
    positions = raw.get("position_embedding_type", "absolute")
    refuse_unless(positions == "absolute", name, f"has {positions} positions", "absolute ones")
    decoder = raw.get("is_decoder") or raw.get("add_cross_attention")
    refuse_unless(not decoder, name, f"is {kind} decoder", f"{kind.split()[1]} encoders")
    return {
        "vocab_size": whole(raw, "vocab_size"),
        "d_model": whole(raw, "hidden_size"),
        "n_layers": whole(raw, "num_hidden_layers"),
        "n_heads": whole(raw, "num_attention_heads"),
        "d_ff": whole(raw, "intermediate_size"),
        "max_positions": whole(raw, "max_position_embeddings", 512),
        "n_segments": whole(raw, "type_vocab_size", 2),
        "norm_eps": real(raw, "layer_norm_eps", 1e-12),
        "activation": word(raw, "hidden_act", "gelu"),
    }


WORDPIECE_TOKENIZER = partial(wordpiece_of, specials=SPECIALS)
FRAMED_TOKENIZER = partial(tokenizer_of, specials=FRAMED)


def _family(
    model_type: str,
    reader: Callable[[Mapping[str, Any], str], EncoderConfig],
    *,
    names: Rules = NAMES,
    head_names: Rules = HEAD_NAMES,
    other_heads: str = OTHER_HEADS,
    tokenizer: Callable[[Path, int], Tokenizer] = WORDPIECE_TOKENIZER,
    prefix: str = "",
) -> Family:
    """Make one kind from its differences from BERT."""
    not_needed = re.compile(f"({other_heads})")
    prefix = prefix or f"{model_type}."
    return Family(
        model_type, reader, names, head_names, not_needed, Encoder, prediction_head, tokenizer, "mask", prefix
    )


BERT = _family("bert", read_config, other_heads=rf"cls\.seq_relationship\.|{OTHER_HEADS}")
DISTILBERT = _family(
    "distilbert", read_distilbert_config, names=DISTILBERT_NAMES, head_names=DISTILBERT_HEAD_NAMES
)
ELECTRA = _family(
    "electra", read_electra_config, names=ELECTRA_NAMES, head_names=ELECTRA_HEAD_NAMES,
    other_heads=rf"discriminator_predictions\.|sequence_summary\.|{OTHER_HEADS}",
)  # fmt: skip
ROBERTA = _family(
    "roberta",
    read_roberta_config,
    head_names=ROBERTA_HEAD_NAMES,
    tokenizer=FRAMED_TOKENIZER,
)
XLM_ROBERTA = _family(
    "xlm-roberta", partial(read_roberta_config, kind=XlmRobertaConfig), head_names=ROBERTA_HEAD_NAMES,
    tokenizer=FRAMED_TOKENIZER, prefix="roberta.",
)  # fmt: skip
BERT_KIN = (BERT, DISTILBERT, ELECTRA, ROBERTA, XLM_ROBERTA)
