"""Description of a kind of model, so that one loader and one loop serve all kinds."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from mha_core.engine.stack import Stack, StackConfig
from mha_core.errors import ModelError
from mha_core.text.tokens import Tokenizer

Raw = Mapping[str, Any]
Tensors = dict[str, Tensor]
# (their name, our name): the first whose pattern matches wins; \\1 is the layer.
Rules = tuple[tuple[str, str], ...]


def as_they_are(tensors: Tensors, config: StackConfig) -> Tensors:
    """Return the tensors unchanged: none needs to be split or transposed."""
    return tensors


@dataclass(frozen=True)
class Family:
    """One kind of model, found by the `model_type` of its config.json.

    `read_config` takes that file and the model's name: it raises ModelError for a variant that is not
    supported, KeyError for a size that is missing. `names` and `head_names` map the checkpoint's tensors (less
    the `prefix` of its task) to ours; `arrange` splits or transposes renamed ones; tensors that match
    `not_needed` are left. `head` makes the prediction head of a stack from its tensors, or None.
    `predicts`: a masked piece, or the next token.
    """

    model_type: str
    read_config: Callable[[Raw, str], StackConfig]
    names: Rules
    head_names: Rules
    not_needed: re.Pattern[str]
    stack: Callable[[Any], Stack]
    head: Callable[[Stack, Tensors], nn.Module | None]
    tokenizer: Callable[[Path, int], Tokenizer]
    predicts: Literal["mask", "next"]
    prefix: str = ""
    arrange: Callable[[Tensors, Any], Tensors] = as_they_are

    def plain_name(self, name: str) -> str:
        """Return a tensor's name without the prefix of a task, and with today's names of the norms."""
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name.removeprefix(self.prefix))
        return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def output_head(stack: Stack, tensors: Tensors) -> nn.Linear | None:
    """Make the head from hidden states (..., d_model) to a score (logit) for every token of the vocabulary: by the
    embeddings' matrix if the config is `tied`, else its own; None if there is neither."""
    config, is_tied = stack.config, getattr(stack.config, "tied", False)
    if not is_tied and "weight" not in tensors:
        return None
    with torch.device("meta"):
        head = nn.Linear(config.d_model, config.vocab_size, bias=False)
    if is_tied:
        tensors.clear()
        head.weight = stack.get_submodule("embeddings.word").weight  # type: ignore[assignment]
    return head


class AnotherVariantError(ModelError):
    """Variant of a known family that this engine does not compute."""


def refuse_unless(condition: bool, name: str, variant: str, supported: str) -> None:
    """Raise ModelError for a variant of a family that nothing computes."""
    if not condition:
        raise ModelError(f"'{name}' {variant}; supported are {supported}.")


def leave_unless(condition: bool, name: str, variant: str, supported: str) -> None:
    """Raise AnotherVariantError for a variant of a family that is left to transformers."""
    if not condition:
        raise AnotherVariantError(f"'{name}' {variant}; supported are {supported}.")
