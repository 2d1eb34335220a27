"""Models of the library transformers that this engine does not compute: their attentions as our records.

Nothing of transformers is imported: a model is whatever is called with token ids and gives attentions. What comes out
is marked as computed by that library (`ModelInfo.computed_by`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import Tensor

from mha_core.cross import CrossRecord
from mha_core.errors import InputError, ModelError, SizeError
from mha_core.given import record_of
from mha_core.record import ModelInfo, Record
from mha_core.tokens import Piece, Tokens, clean_text, spelt_tokens, tokens_of

EAGER = "load it with attn_implementation='eager'"
NOT_FOR_THE_MODEL = ("offset_mapping", "special_tokens_mask")
NO_LIMIT = 1_000_000  # tokenizers without a limit name one with thirty digits


@dataclass(frozen=True)
class SequenceRecords:
    """What an encoder-decoder did: `encoder` and `decoder` look at themselves, `cross` from the target's tokens
    (rows) to the source's (columns)."""

    encoder: Record
    decoder: Record
    cross: CrossRecord


@dataclass(frozen=True, eq=False)
class OutsideModel:
    """A model with its tokenizer, to be called with a text; `trace` takes it as well."""

    model: Any
    tokenizer: Any
    title: str
    computed_by: str

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether it reads one text and writes another."""
        return bool(getattr(self.model.config, "is_encoder_decoder", False))

    def __call__(
        self, text: str, *, pair: str | None = None, target: str | None = None
    ) -> Record | SequenceRecords:
        """The record of a text or a pair; of an encoder-decoder, which needs `target`, three records.

        The decoder reads its start token and then the target without its last token, as it does in training. Raises
        InputError for what the model does not take, ModelError if it gives no attentions.
        """
        self._check()
        if self.is_encoder_decoder != (target is not None):
            need = "reads a source and a target; give target='...'" if target is None else "takes no target"
            raise InputError(f"{self.title} {need}.")
        tokens, inputs = self._encode(text, pair)
        if target is None:
            output = self._run(inputs)
            return self._record(_weights(output, "attentions", self.title), tokens)
        written, ids = self._target(target)
        output = self._run({**inputs, "decoder_input_ids": ids})
        sides = [
            _weights(output, f"{side}_attentions", self.title) for side in ("encoder", "decoder", "cross")
        ]
        cross = record_of(
            sides[2],
            written,
            keys=tokens,
            title=self.title,
            computed_by=self.computed_by,
            versions=self.versions,
        )
        return SequenceRecords(
            self._record(sides[0], tokens, causal=False),
            self._record(sides[1], written),
            replace(cross, model=self._known(cross.model)),
        )

    @property
    def versions(self) -> dict[str, str]:
        """What a record says of the libraries that computed it."""
        name, _, number = self.computed_by.partition(" ")
        return {"torch": str(torch.__version__), name: number or "unknown"}

    def _record(self, weights: Sequence[Tensor], tokens: Tokens, causal: bool | None = None) -> Record:
        found = record_of(
            weights,
            tokens,
            causal=causal,
            title=self.title,
            computed_by=self.computed_by,
            versions=self.versions,
        )
        return replace(found, model=self._known(found.model))

    def _known(self, info: ModelInfo) -> ModelInfo:
        """The sizes that its settings say."""
        config = self.model.config
        wide = next((int(w) for w in (getattr(config, n, None) for n in ("hidden_size", "d_model")) if w), 0)
        width = (
            getattr(config, "head_dim", None) or getattr(config, "d_kv", None) or wide // max(1, info.n_heads)
        )
        shared = getattr(config, "num_key_value_heads", None)
        return replace(
            info,
            d_model=wide,
            d_k=int(width),
            n_parameters=sum(parameter.numel() for parameter in self.model.parameters()),
            max_tokens=self._limit() or info.max_tokens,
            n_kv_heads=shared if shared and info.n_heads % shared == 0 else None,
        )

    def _check(self) -> None:
        how = getattr(self.model.config, "_attn_implementation", None)
        if how not in (None, "eager"):
            raise ModelError(f"{self.title} computes attention by {how!r}, which gives no weights; {EAGER}.")
        if getattr(self.model, "training", False):
            raise ModelError(
                f"{self.title} is in training mode, where dropout changes the weights; call model.eval()."
            )

    def _run(self, inputs: dict[str, Tensor]) -> Any:
        with torch.inference_mode():
            return self.model(**inputs, output_attentions=True, return_dict=True)

    def _encode(self, text: str, pair: str | None) -> tuple[Tokens, dict[str, Tensor]]:
        texts = [clean_text(part) for part in (text, pair) if part is not None]
        if not all(part.strip() for part in texts):
            raise InputError("The sentence is empty; type at least one word.")
        tokens, encoding = self._tokens(self.tokenizer, texts)
        device = next(self.model.parameters()).device
        inputs = {
            k: torch.tensor([v], device=device) for k, v in encoding.items() if k not in NOT_FOR_THE_MODEL
        }
        return tokens, inputs

    def _target(self, target: str) -> tuple[Tokens, Tensor]:
        """What the decoder reads: its start token, and the target less its last token."""
        tokens, _ = self._tokens(_as_target(self.tokenizer), [clean_text(target)])
        start = getattr(self.model.config, "decoder_start_token_id", None)
        if start is None:
            raise ModelError(f"The settings of {self.title} name no decoder_start_token_id.")
        kept = list(tokens.pieces[:-1])
        name = str(self.tokenizer.convert_ids_to_tokens([start])[0])
        begin = Piece(name, start, 0, 0, 0, None, special=True)
        words = tuple(
            replace(word, first=word.first + 1, stop=min(word.stop, len(kept)) + 1)
            for word in tokens.words
            if word.first < len(kept)
        )
        ids = torch.tensor(
            [[start, *(piece.id for piece in kept)]], device=next(self.model.parameters()).device
        )
        # A tokenizer that tells no spans has its words in a text that it spells itself.
        return Tokens(tokens.text, None, (begin, *kept), words), ids

    def _tokens(self, tokenizer: Callable[..., Any], texts: list[str]) -> tuple[Tokens, dict[str, list[int]]]:
        """A text or a pair as the model's tokenizer cuts it; one that tells no spans spells the text by its pieces."""
        fast = bool(getattr(self.tokenizer, "is_fast", False))
        encoding = tokenizer(*texts)
        ids = [int(identity) for identity in encoding["input_ids"]]
        limit = self._limit()
        if limit and len(ids) > limit:
            raise SizeError(f"The text has {len(ids)} tokens; {self.title} takes {limit} at most.")
        names = [str(name) for name in self.tokenizer.convert_ids_to_tokens(ids)]
        if not fast and len(texts) > 1:
            raise InputError("This tokenizer does not say which piece is of which text; give one text.")
        if fast:
            return tokens_of(texts, encoding.encodings[0]), dict(encoding)
        special = [identity in self.tokenizer.all_special_ids for identity in ids]
        return spelt_tokens(names, ids, special), dict(encoding)

    def _limit(self) -> int | None:
        """How many tokens fit, if the tokenizer or the settings say so."""
        said = (
            getattr(self.tokenizer, "model_max_length", None),
            getattr(self.model.config, "max_position_embeddings", None),
        )
        return min((int(n) for n in said if n and n < NO_LIMIT), default=None)


def from_transformers(model: Any, tokenizer: Any) -> OutsideModel:
    """Any model of transformers that gives attentions, with its tokenizer, for what this engine has no family of.

        traced = from_transformers(AutoModel.from_pretrained(name, attn_implementation="eager"), tokenizer)
        record = traced("The cat sat on the mat.")
        cross = traced_t5("The cat sat.", target="Die Katze saß.").cross

    The numbers are that library's; the record says so. Raises InputError for what is no model or no tokenizer.
    """
    if not callable(model) or not hasattr(model, "config") or not hasattr(model, "parameters"):
        raise InputError(f"A model of transformers is asked for; {type(model).__name__} was given.")
    if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise InputError(f"The model's tokenizer is asked for; {type(tokenizer).__name__} was given.")
    library = type(model).__module__.partition(".")[0]
    try:
        by = f"{library} {version(library)}"
    except PackageNotFoundError:
        by = library
    name = getattr(model.config, "name_or_path", "") or getattr(model.config, "_name_or_path", "")
    kind = type(model).__name__
    return OutsideModel(model, tokenizer, f"{name} ({kind})" if name else kind, by)


def _as_target(tokenizer: Any) -> Callable[..., Any]:
    """The tokenizer as it cuts what is written: Marian has two vocabularies."""
    return lambda text, **options: tokenizer(text_target=text, **options)


def _weights(output: Any, name: str, title: str) -> Sequence[Tensor]:
    found = getattr(output, name, None)
    if not found or any(layer is None for layer in found):
        raise ModelError(f"{title} gave no attention weights; {EAGER}, or it has none to give.")
    return tuple(found)
