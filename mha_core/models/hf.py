"""Any model of the library transformers, for architectures without a family here: its attentions as our records.

Nothing of transformers is imported until a model is loaded by name; a loaded one is any object that takes token ids and
gives attentions. Records name the library that computed them (`ModelInfo.computed_by`), and keep the model's own layer
numbers, its layers' windows, and the share of a learned sink.
"""

import copy
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from mha_core.arrays import Array
from mha_core.engine.device import choose_device, choose_precision
from mha_core.errors import InputError, ModelError
from mha_core.models.external_records import looks_ahead, sink_of, stacked, without_padding
from mha_core.models.hf_layers import (
    PARTS,
    Part,
    first_of,
    has_sinks,
    kinds_of,
    n_key_heads,
    placed,
    says_causal,
    seen_in_chunks,
    settings_of,
    start_of,
    windows_of,
)
from mha_core.models.hf_tokenizer import HubTokenizer, limit_of
from mha_core.models.model import Model
from mha_core.record.record import AttentionRecord, ModelInfo
from mha_core.text.tokens import Text, Tokens

NO_ADAPTER = {"subfolder": "none"}  # or peft, where it is installed, applies what lies beside the model
EAGER = "load it with attn_implementation='eager'"
MAX_GENERATED = 60  # tokens of an encoder-decoder's own output
INSIDE = (
    "{} is computed by transformers, which gives attention weights alone; this needs the inside of a model."
)


@dataclass(frozen=True)
class SequenceRecords:
    """Records of an encoder-decoder: `encoder` and `decoder` look at themselves, `cross` from the target's tokens
    (rows) to the source's (columns)."""

    encoder: AttentionRecord
    decoder: AttentionRecord
    cross: AttentionRecord


class NoInternals:
    """Placeholder of a model's inside where transformers computes it: every use raises InputError."""

    def __init__(self, title: str) -> None:
        self.__dict__["title"] = title

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError(INSIDE.format(self.__dict__["title"]))

    def __call__(self, *_arguments: Any, **_options: Any) -> Any:
        raise InputError(INSIDE.format(self.__dict__["title"]))


@dataclass(frozen=True, eq=False)
class TransformersModel(Model):
    """A model of transformers with its tokenizer, to be traced with a text: `trace(text, model)`. Its inside
    (`encoder`, `config`) is unknown; every use raises InputError.

    `part`: default attention of an encoder-decoder.
    """

    theirs: Any = None
    computed_by: str = ""
    part: Part = "encoder"
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _known: dict[Part, ModelInfo] = field(default_factory=dict, repr=False)
    _tested: list[bool] = field(default_factory=list, repr=False)

    @property
    def is_encoder_decoder(self) -> bool:
        """True if it reads one text and writes another."""
        return bool(getattr(self.theirs.config, "is_encoder_decoder", False))

    @cached_property
    def info(self) -> ModelInfo:
        """Facts of the model in its records, of an encoder-decoder those of `part`; found by a run over two words."""
        if self.part not in self._known:
            self.trace("a b")
        return self._known[self.part]

    @cached_property
    def n_parameters(self) -> int:
        """Numbers in the model, counted."""
        return sum(parameter.numel() for parameter in self.theirs.parameters())

    @cached_property
    def n_bytes(self) -> int:
        """Memory of its weights."""
        return sum(parameter.nbytes for parameter in self.theirs.parameters())

    @property
    def fingerprint(self) -> str:
        """Key of everything computed with it: its files, and its part."""
        return f"{super().fingerprint}/{self.part}"

    def to(self, device: str, dtype: str | None = None) -> "TransformersModel":
        """Return the model on another device, or computing in another type; this one stays unchanged."""
        where = choose_device(device)
        precision = self.dtype if dtype is None else choose_precision(dtype, where)
        theirs = copy.deepcopy(self.theirs).to(device=where, dtype=precision)
        return replace(self, theirs=theirs, device=where, dtype=precision)

    @property
    def _hub(self) -> HubTokenizer:
        return cast(HubTokenizer, self.tokenizer)

    def of(self, part: Part) -> "TransformersModel":
        """Return the model with another default part. Raises InputError for one that it does not have."""
        if part not in PARTS or (part != "encoder" and not self.is_encoder_decoder):
            raise InputError(f"{self.title} has no part '{part}'.")
        return replace(self, part=part)

    def __call__(
        self, text: Text, *, pair: str | None = None, target: str | None = None
    ) -> AttentionRecord | SequenceRecords:
        """Trace a text or a pair; of an encoder-decoder return three records, the decoder reading `target`, or the
        model's own output. Raises InputError for an input that the model does not take."""
        if not self.is_encoder_decoder:
            return self.trace(text, pair, target)
        return SequenceRecords(*self._sequence(self.tokenizer.read(text, pair), target))

    def trace(self, text: Text, pair: str | None = None, target: str | None = None) -> AttentionRecord:
        """Return the record of a text, a pair, words or chat messages; of an encoder-decoder that of `part`, whose
        decoder reads `target` or the pair."""
        if target is not None and not self.is_encoder_decoder:
            raise InputError(f"{self.title} takes no target.")
        if self.is_encoder_decoder:
            pair, target = None, target or pair
        return self.trace_tokens(self.tokenizer.read(text, pair), target)

    def trace_tokens(self, tokens: Tokens, target: str | None = None) -> AttentionRecord:
        """Return the record of tokens."""
        if self.is_encoder_decoder and self.part != "encoder":
            return self._sequence(tokens, target)[PARTS.index(self.part)]
        output = self._run(self._inputs(tokens), self._text_model)
        return self._record("encoder", self._weights(output, "attentions"), tokens)

    def _sequence(
        self, tokens: Tokens, target: str | None
    ) -> tuple[AttentionRecord, AttentionRecord, AttentionRecord]:
        """Return the records of encoder, decoder and cross-attention. The decoder reads its start token and then the
        target without its last token, as in training, or the model's own output for the source."""
        inputs = self._inputs(tokens)
        written = self._generated(inputs) if target is None else self._target(target)
        ids = torch.tensor([written.ids], device=self.device)
        output = self._run({**inputs, "decoder_input_ids": ids}, self.theirs)
        weights = [self._weights(output, f"{side}_attentions") for side in PARTS]
        return (
            self._record("encoder", weights[0], tokens),
            self._record("decoder", weights[1], written),
            self._record("cross", weights[2], written, tokens),
        )

    def _generated(self, inputs: dict[str, Tensor]) -> Tokens:
        """Generate the likeliest text, token by token; return the decoder's input at the last step."""
        if not hasattr(self.theirs, "generate"):
            raise InputError(f"{self.title} reads a source and a target; give target='...'.")
        settings = {"max_new_tokens": MAX_GENERATED, "do_sample": False, "num_beams": 1, "use_cache": False}
        settings |= {} if (start := start_of(self.theirs)) is None else {"decoder_start_token_id": start}
        ids = self._call(self.theirs.generate, **inputs, **settings)[0].tolist()
        return self._hub.of_ids(ids[:-1] if len(ids) > 2 else ids)

    def _target(self, target: str) -> Tokens:
        """Return the decoder's input: its start token, and the target less its last token."""
        tokens = self._hub.encode_target(target)
        start = start_of(self.theirs)
        if start is None:
            raise ModelError(
                f"No settings of {self.title} name the token its decoder starts with; set "
                "model.config.decoder_start_token_id, for a BERT to tokenizer.cls_token_id."
            )
        begin, own = self._hub.of_ids([start]).pieces, tokens.pieces[:-1]
        begin = tuple(replace(piece, special=True, word=None, start=0, end=0) for piece in begin)
        words = tuple(
            replace(word, first=word.first + 1, stop=min(word.stop, len(own)) + 1)
            for word in tokens.words
            if word.first < len(own)
        )
        return Tokens(tokens.text, None, (*begin, *own), words, tokens.n_cut)

    @property
    def _text_model(self) -> Any:
        """The model, or the encoder of an encoder-decoder."""
        return self.theirs.get_encoder() if self.is_encoder_decoder else self.theirs

    def _inputs(self, tokens: Tokens) -> dict[str, Tensor]:
        """Return all of the tokenizer's output that the model takes, as tensors of a batch of one."""
        inputs = {"attention_mask": (1,) * len(tokens), "token_type_ids": tokens.segments} | dict(
            tokens.inputs
        )
        names = getattr(self._hub.theirs, "model_input_names", ())
        has_one_type = (
            getattr(self.theirs.config, "type_vocab_size", None) == 1
        )  # RoBERTa, against its tokenizer
        if has_one_type or "token_type_ids" not in (*names, *dict(tokens.inputs)):
            del inputs["token_type_ids"]
        parameters = signature(getattr(self._text_model, "forward", self._text_model)).parameters
        if "input_ids" in parameters:  # a wrapper hands everything on
            inputs = {name: values for name, values in inputs.items() if name in parameters}
        inputs["input_ids"] = tokens.ids
        return {name: torch.tensor([values], device=self.device) for name, values in inputs.items()}

    def _run(self, inputs: dict[str, Tensor], model: Any) -> Any:
        if getattr(self.theirs, "training", False):
            raise ModelError(
                f"{self.title} is in training mode, where dropout changes the weights; call model.eval()."
            )
        return self._call(model, **inputs, output_attentions=True, return_dict=True)

    def _weights(self, output: Any, name: str) -> Sequence[Any]:
        layers = getattr(output, name, None)
        if not layers or all(layer is None for layer in layers):
            kind = getattr(self.theirs.config, "_attn_implementation", None) or "eager"
            cure = "it has none to give" if kind == "eager" else EAGER
            raise ModelError(f"{self.title} gave no attention weights (by {kind!r}); {cure}.")
        if strange := next(
            (each for each in layers if each is not None and not isinstance(each, Tensor)), None
        ):
            raise ModelError(
                f"{self.title} gave a {type(strange).__name__} for a layer's weights; attention that is not between "
                "single tokens cannot be drawn."
            )
        return tuple(layers)

    def _call(self, function: Callable[..., Any], **inputs: Any) -> Any:
        """Make one call at a time, for the library's hooks are on the model, without gradients. Raises ModelError with
        the library's own reason."""
        try:
            with self._lock, torch.inference_mode():
                return function(**inputs)
        except (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError) as problem:
            reason = " ".join(str(problem).split())[:160].rstrip(".")
            raise ModelError(f"{self.title} cannot read this text: {reason}.") from problem

    def _record(
        self, part: Part, layers: Sequence[Any], rows: Tokens, columns: Tokens | None = None
    ) -> AttentionRecord:
        config = settings_of(self.theirs.config, part)
        kinds = kinds_of(config, self.theirs.config)
        tokens, given = rows, layers
        layers, instead = placed(layers, kinds, self.title)
        expected = (len(rows), len(rows if columns is None else columns))
        shapes = [tuple(layer.shape) for layer in layers if layer is not None]
        if wrong := next((shape for shape in shapes if shape[-2:] != expected), None):
            raise ModelError(
                f"{self.title} gave weights of shape {wrong} for {expected[0]} x {expected[1]} tokens; attention "
                "that is not between single tokens cannot be drawn."
            )
        weights, heads = stacked(layers)
        weights, rows, columns = without_padding(weights, rows, columns)
        sink = sink_of(weights, heads) if has_sinks(self.theirs) else None
        causal = columns is None and self._is_causal(part, weights, tokens, given)
        windows = () if columns is not None else windows_of(config, kinds, weights, is_causal=causal)
        visible = seen_in_chunks(config, kinds, weights) if causal else None
        n_layers, n_heads = weights.shape[:2]
        width = first_of(config, "hidden_size", "d_model", "n_embd") or 0
        self._known[part] = info = ModelInfo(
            name=self.name or self.title,
            title=self.title,
            trained=self.trained if self.name else None,
            n_layers=n_layers,
            n_heads=n_heads,
            d_model=width,
            d_k=first_of(config, "head_dim", "d_kv") or width // n_heads,
            n_parameters=self.n_parameters,
            max_tokens=self.max_tokens,
            digest=self.digest,
            n_kv_heads=n_key_heads(self.theirs, config, n_heads),
            is_causal=causal,
            files=self.files,
            pinned=self.pinned,
            computed_by=self.computed_by,
            windows=windows,
            layer_kinds=instead,
        )
        return AttentionRecord(
            info, rows, weights, self.versions, keys=columns, visible=visible,
            heads=None if heads.all() else heads, sink=sink,
        )  # fmt: skip

    def _is_causal(self, part: Part, weights: Array, tokens: Tokens, layers: Sequence[Any]) -> bool:
        """Return whether tokens see no later ones: by the model's settings, unless its weights look ahead (a prefix
        that is read both ways). Without a setting the model is run again with another last token."""
        says = part != "encoder" or (not self.is_encoder_decoder and says_causal(self.theirs))
        if says is None and not self._tested and len(tokens) > 1:
            self._tested.append(self._keeps_earlier_rows(tokens, layers))
        says = any(self._tested) if says is None else says
        return says and not looks_ahead(weights)

    def _keeps_earlier_rows(self, tokens: Tokens, layers: Sequence[Any]) -> bool:
        """Return whether another last token leaves the rows before it as they are, in all layers."""
        inputs, ids = self._inputs(tokens), tokens.ids
        inputs["input_ids"][0, -1] = ids[0] if ids[0] != ids[-1] else max(ids[-1] - 1, 1 - min(ids[-1], 1))
        again = self._weights(self._run(inputs, self._text_model), "attentions")
        pairs = [(a, b) for a, b in zip(layers, again, strict=True) if a is not None]
        return all(torch.allclose(a[..., :-1, :-1], b[..., :-1, :-1], atol=1e-6) for a, b in pairs)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the libraries that compute its records."""
        name, _, number = self.computed_by.partition(" ")
        return {"torch": str(torch.__version__), name: number or "unknown"}


def from_transformers(model: Any, tokenizer: Any = None) -> TransformersModel:
    """Wrap any model of transformers that gives attentions, with its tokenizer: for architectures without a family.

        traced = from_transformers(AutoModel.from_pretrained(name, attn_implementation="eager"), tokenizer)
        record = traced("The cat sat on the mat.")
        cross = traced_t5("The cat sat.", target="Die Katze saß.").cross
        traced = from_transformers(SentenceTransformer(name, model_kwargs={"attn_implementation": "eager"}))

    The numbers are that library's; the record says so. Raises InputError for other objects.
    """
    is_sentence_transformer = hasattr(model, "tokenizer") and hasattr(model, "_first_module")
    if tokenizer is None and is_sentence_transformer:
        tokenizer, model = model.tokenizer, model._first_module().auto_model
    if not callable(model) or not hasattr(model, "config") or not hasattr(model, "parameters"):
        raise InputError(
            f"Expected a transformers model, not {type(model).__name__}; "
            "AutoModel.from_pretrained(name, attn_implementation='eager') loads one."
        )
    if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise InputError(
            f"Expected the model's tokenizer, not {type(tokenizer).__name__}; "
            "AutoTokenizer.from_pretrained(name) loads it."
        )
    name = getattr(model.config, "name_or_path", "") or getattr(model.config, "_name_or_path", "")
    kind = type(model).__name__
    return _as_ours(model, tokenizer, f"{name} ({kind})" if name else kind, next(model.parameters()).dtype)


def load_with_transformers(
    folder: Path,
    *,
    title: str,
    seed: int,
    device: torch.device,
    dtype: torch.dtype,
    trained: bool,
    **known: Any,
) -> TransformersModel:
    """Load a model folder by transformers: eager attention, safetensors alone, no code of others.

    `known`: more fields of the TransformersModel. Raises ModelError where transformers cannot, or where weights are
    missing.
    """
    import transformers

    log: Any = transformers.logging
    log.set_verbosity_error()
    log.disable_progress_bar()
    only: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **only)
        auto: Any = (
            transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModel
        )
        settings = {"attn_implementation": "eager", "dtype": dtype}
        if trained:
            model, info = auto.from_pretrained(
                folder,
                use_safetensors=True,
                output_loading_info=True,
                adapter_kwargs=NO_ADAPTER,
                **settings,
                **only,
            )
            _check_complete(info, title)
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                model = auto.from_config(config, trust_remote_code=False, **settings)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **only)
    except (OSError, ValueError, ImportError, KeyError, AttributeError, TypeError, RuntimeError) as problem:
        if isinstance(problem, ModelError):
            raise
        reason = " ".join(str(problem).split())[:200].rstrip(".")
        raise ModelError(f"'{title}' cannot be loaded by transformers: {reason}.") from None
    model.eval().requires_grad_(False).to(device)
    return replace(_as_ours(model, tokenizer, title, dtype), trained=trained, **known)


def _as_ours(model: Any, tokenizer: Any, title: str, dtype: torch.dtype) -> TransformersModel:
    """Wrap a model of the library as a `Model`."""
    config, inside = model.config, cast(Any, NoInternals(title))
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    is_sequence = bool(getattr(config, "is_encoder_decoder", False))
    hub = HubTokenizer(tokenizer, limit_of(tokenizer, text), is_sequence=is_sequence)
    return TransformersModel(
        name="",
        title=title,
        trained=True,
        tokenizer=hub,
        encoder=inside,
        masked_head=None,
        device=next(model.parameters()).device,
        dtype=dtype,
        digest="",
        config=inside,
        theirs=model,
        computed_by=_library(model),
    )


def _check_complete(info: dict[str, Any], title: str) -> None:
    """Raise ModelError where weights would be random ones (a pooler is not needed), or where the library leaves those
    of a layer unread, for then it computes something else."""
    unread = [key for key in info.get("unexpected_keys", ()) if re.search(r"\.\d+\.", key)]
    if unread:
        raise ModelError(
            f"transformers does not read all weights of '{title}', {sorted(unread)[0]} among them."
        )
    missing = [key for key in info.get("missing_keys", ()) if "pooler" not in key]
    if missing or info.get("mismatched_keys"):
        which = missing[0] if missing else next(iter(info["mismatched_keys"]))[0]
        raise ModelError(f"The files of '{title}' lack weights, {which} among them; it is not complete.")


def _library(model: Any) -> str:
    library = type(model).__module__.partition(".")[0]
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return library
