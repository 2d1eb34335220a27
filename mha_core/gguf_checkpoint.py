"""A model in one GGUF file, read into our own layers: its sizes, its tokenizer, and its weights tensor by tensor.

Every tensor is dequantised straight to where it stays, so that no second copy of the model is ever held.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from mha_core.checkpoints import empty_encoder, fill, rename
from mha_core.errors import ModelError, SizeError
from mha_core.families import FAMILIES
from mha_core.gguf import GgufFile, byte_level_bpe, read_gguf
from mha_core.stack import Stack, StackConfig
from mha_core.tokens import Tokenizer


def load_gguf(
    path: Path, max_tokens: int, *, weights: bool = True
) -> tuple[StackConfig, Tokenizer, Stack | None, nn.Module | None]:
    """The sizes, the tokenizer (of texts up to `max_tokens`), the layers in fp32 and the prediction head.

    Without `weights` the last two are None. Raises ModelError if the file is damaged or not supported.
    """
    with read_gguf(path) as file:
        metadata = file.metadata
        kind = str(metadata.get("general.architecture"))
        form = FAMILIES[kind].gguf if kind in FAMILIES else None
        if form is None:
            raise ModelError(f"The model's file {path.name} is {kind[:40]}; supported are Llama models.")
        try:
            config = form.read_config(metadata, {name: file.shape_of(name) for name in file.tensor_names})
        except (SizeError, TypeError, ValueError, OverflowError) as problem:
            if isinstance(problem, ModelError):
                raise
            raise ModelError(
                f"The sizes in the model's file {path.name} cannot be right: {problem}"
            ) from None
        tokenizer = form.tokenizer(byte_level_bpe(metadata), metadata, min(config.max_positions, max_tokens))
        if not weights:
            return config, tokenizer, None, None
        return (config, tokenizer, *_read(file, config, path.name))


def _read(file: GgufFile, config: StackConfig, name: str) -> tuple[Stack, nn.Module | None]:
    """The layers and the head; names are checked before anything is dequantised."""
    family = FAMILIES[config.model_type]
    form = family.gguf
    if form is None or config.n_layers > len(file.tensor_names):
        raise ModelError(f"The model's file {name} has fewer tensors than layers.")
    theirs, rest = rename({their: their for their in file.tensor_names}, form.names)
    head_theirs, rest = rename(rest, form.head_names)
    left = [their for their in rest if not family.not_needed.match(their)]
    if left:
        raise ModelError(
            f"The model's file {name} holds '{left[0]}', which its metadata does not account for."
        )
    encoder = empty_encoder(config)
    # One call for all: each tensor is made, turned and put where it stays before the next one is made.
    fill(encoder, {our: _tensor(file, theirs[our], our, config) for our in theirs}, name)
    head_tensors = {our: _tensor(file, head_theirs[our], our, config) for our in head_theirs}
    head = family.head(encoder, head_tensors)
    if head is not None and head_tensors:
        fill(head, head_tensors, name)
    return encoder, head


def _tensor(file: GgufFile, their: str, our: str, config: StackConfig) -> Tensor:
    form = FAMILIES[config.model_type].gguf
    tensor = torch.from_numpy(file.tensor(their))
    return tensor if form is None else form.arrange(our, tensor, config)
