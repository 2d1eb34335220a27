"""Classroom: a small encoder over whole words with norms before each part (pre-LN), trained by this project itself.

Rotary positions turn a part of each head's pairs (Su et al. 2021; a part of them as in GPT-J, Wang & Komatsuzaki
2021), some layers see a few words to each side alone (Beltagy et al. 2020, section 3.1), and the matrix of the
embeddings predicts a hidden word (Press & Wolf 2017).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from mha_core.engine.rotary import Rotary
from mha_core.engine.stack import Stack, StackConfig
from mha_core.errors import SizeError
from mha_core.models.families.family import Family, output_head
from mha_core.models.families.parts import PlainBlock, WordEmbeddings
from mha_core.models.tokenizer_files import words_of
from mha_core.settings import real, whole

# The tensors have our own names.
NAMES = ((r"(embeddings|layers|norm)\.", r"\1."),)


@dataclass(frozen=True)
class ClassroomConfig(StackConfig):
    """The sizes of a classroom model. `windows`: words that a layer sees to each side, one a layer, 0 for all;
    `turning`: pairs of a head that are turned by their position. Raises SizeError for sizes that do not fit."""

    model_type = "classroom"
    # Words weigh more than what layer 1 adds to them. With words as small as the other weights (0.05) an article
    # takes up its noun in layer 1 and layer 2 looks at the article.
    first_std = 0.05
    first_embedding_std = 0.3
    norm_eps: float = 1e-5
    theta: float = 100.0
    turning: int = 1
    windows: tuple[int, ...] = ()
    tied: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_k % 2 or not 0 <= self.turning <= self.d_k // 2:
            raise SizeError(f"{self.turning} pairs cannot be turned in heads of width {self.d_k}.")
        if len(self.windows) != self.n_layers or min(self.windows) < 0:
            raise SizeError(f"{self.n_layers} layers need as many windows, 0 or more words each.")


class ClassroomBlock(PlainBlock):
    """The plain block, whose attention may see a few words to each side alone."""

    def __init__(self, config: ClassroomConfig, window: int) -> None:
        super().__init__(config)
        self.window = window or None


class Classroom(Stack):
    """The whole stack."""

    def __init__(self, config: ClassroomConfig) -> None:
        layers = [ClassroomBlock(config, window) for window in config.windows]
        norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        super().__init__(config, WordEmbeddings(config), layers, norm)
        self.rotary = Rotary(config.d_k, config.theta, turning=config.turning)


def read_config(raw: Mapping[str, Any], name: str) -> ClassroomConfig:
    """Read the config.json."""
    return ClassroomConfig(
        vocab_size=whole(raw, "vocab_size"),
        d_model=whole(raw, "d_model"),
        n_layers=whole(raw, "n_layers"),
        n_heads=whole(raw, "n_heads"),
        d_ff=whole(raw, "d_ff"),
        max_positions=whole(raw, "max_positions"),
        theta=real(raw, "theta"),
        turning=whole(raw, "turning"),
        windows=_windows(raw["windows"]),
    )


def _windows(given: object) -> tuple[int, ...]:
    if not isinstance(given, list):
        raise SizeError("windows must be a list of whole numbers.")
    return tuple(whole({"windows": window}, "windows") for window in given)


CLASSROOM = Family(
    "classroom",
    read_config,
    NAMES,
    (),
    re.compile(r"(?!)"),
    Classroom,
    output_head,
    words_of,
    predicts="mask",
)
