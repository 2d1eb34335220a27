"""A model ready to trace: frozen, shared by all users."""

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import torch
from torch import nn

from mha_core.engine.device import choose_device, choose_precision
from mha_core.engine.kv_cache import DecoderState
from mha_core.engine.stack import Stack, StackConfig
from mha_core.models.checkpoint import joint_digest
from mha_core.models.families.bert import LabelHead
from mha_core.record.record import ModelInfo
from mha_core.text.tokens import Tokenizer, Tokens


@dataclass(frozen=True, eq=False)
class Model:
    """A model ready to trace. Its weights are frozen; anything that varies between calls is an argument of the call.

    `files`, `pinned`: as in ModelInfo.
    """

    name: str
    title: str
    trained: bool
    tokenizer: Tokenizer
    encoder: Stack
    masked_head: nn.Module | None
    device: torch.device
    dtype: torch.dtype
    digest: str
    config: StackConfig = field(repr=False)
    next_head: nn.Module | None = None
    label_head: LabelHead | None = None
    files: tuple[tuple[str, str], ...] = ()
    pinned: bool = False

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return self.info.n_layers

    @property
    def n_heads(self) -> int:
        """Number of heads in a layer."""
        return self.info.n_heads

    @property
    def n_kv_heads(self) -> int:
        """Number of key and value heads in a layer; its query heads share them in groups."""
        return self.info.n_kv_heads or self.info.n_heads

    @property
    def is_causal(self) -> bool:
        """True for a decoder: a token sees no later ones."""
        return self.info.is_causal

    @property
    def d_model(self) -> int:
        """Width of a token's vector."""
        return self.info.d_model

    @property
    def d_k(self) -> int:
        """Width of a head."""
        return self.info.d_k

    @property
    def max_tokens(self) -> int:
        """Number of tokens that fit, the special ones counted."""
        return self.tokenizer.max_tokens

    @cached_property
    def n_parameters(self) -> int:
        """Numbers in the encoder, counted."""
        return sum(parameter.numel() for parameter in self.encoder.parameters())

    @cached_property
    def info(self) -> ModelInfo:
        """Facts of the model in its records."""
        config = self.config
        return ModelInfo(
            name=self.name,
            title=self.title,
            trained=self.trained,
            n_layers=config.n_layers,
            n_heads=config.n_heads,
            d_model=config.d_model,
            d_k=config.d_k,
            n_parameters=self.n_parameters,
            max_tokens=self.max_tokens,
            digest=self.digest,
            n_kv_heads=config.n_kv_heads,
            is_causal=config.is_causal,
            files=self.files,
            pinned=self.pinned,
            windows=getattr(config, "windows", ()),
        )

    def to(self, device: str, dtype: str | None = None) -> "Model":
        """Return the model on another device, or computing in another type (a name such as "bfloat16"); this one stays
        unchanged. Raises InputError for a device that is not here."""
        where = choose_device(device)
        precision = self.dtype if dtype is None else choose_precision(dtype, where)
        if where == self.device and precision == self.dtype:
            return self
        # Together: what is tied stays so.
        modules = copy.deepcopy((self.encoder, self.masked_head, self.next_head, self.label_head))
        moved = [None if each is None else each.to(device=where, dtype=precision) for each in modules]
        return replace(
            self,
            encoder=cast(Stack, moved[0]),
            masked_head=moved[1],
            next_head=moved[2],
            label_head=cast(LabelHead | None, moved[3]),
            device=where,
            dtype=precision,
        )

    @property
    def files_digest(self) -> str:
        """One digest for all its files, with which they can be pinned."""
        return joint_digest(dict(self.files))

    @property
    def fingerprint(self) -> str:
        """Key of everything computed with it: its weights, or the seed of random ones, and its other files
        (configuration, tokens), which `digest` does not cover."""
        return f"{self.digest}/{self.files_digest}"

    @cached_property
    def n_bytes(self) -> int:
        """Memory of its weights."""
        heads = self.masked_head, self.next_head, self.label_head
        modules = nn.ModuleList(filter(None, (self.encoder, *heads)))
        return sum(parameter.nbytes for parameter in modules.parameters())  # each once

    def start(self, tokens: Tokens) -> DecoderState:
        """Begin one user's own state that has read `tokens` and is then given one token at a time.

        Raises InputError for a model that predicts no next token.
        """
        return DecoderState(self.encoder, self.next_head, tokens.ids, self.title, self.max_tokens)
