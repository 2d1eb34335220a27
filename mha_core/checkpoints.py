"""A BERT checkpoint in a folder, read into our own encoder: safetensors only, and nothing half-loaded.

In: a folder with config.json and model.safetensors (or its shards with an index). Out: an `EncoderConfig`, an
`Encoder` with its weights, and the masked-language-model head if the checkpoint has one. A tensor that is
missing, of another shape, not finite, or left over is refused in one sentence.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from mha_core.encoder import Encoder, EncoderConfig, MaskedHead
from mha_core.errors import ModelError, SizeError
from mha_core.tokens import model_name

# (their name, our name); the first that matches wins. {n} is the layer.
ENCODER_NAMES = (
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
MASKED_HEAD_NAMES = (
    (r"cls\.predictions\.transform\.dense\.", "transform."),
    (r"cls\.predictions\.transform\.LayerNorm\.", "norm."),
    (r"cls\.predictions\.decoder\.", "decoder."),
    (r"cls\.predictions\.bias$", "decoder.bias"),
)
# Parts of BERT's other heads; no attention depends on them.
NOT_NEEDED = re.compile(r"(pooler\.|cls\.seq_relationship\.|classifier\.|qa_outputs\.|.*position_ids$)")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def read_config(folder: Path) -> EncoderConfig:
    """The sizes in config.json. Raises ModelError for another architecture, naming it and what is supported."""
    try:
        raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"'{model_name(folder)}' has no config.json, so it is not a model folder.") from None
    except (OSError, ValueError, RecursionError):
        raise ModelError(f"The config.json of '{model_name(folder)}' is damaged: it is not JSON.") from None
    if not isinstance(raw, dict):
        raise ModelError(f"The config.json of '{model_name(folder)}' is damaged: it holds no settings.")
    kind = (
        raw.get("model_type")
        or ", ".join(map(str, raw.get("architectures") or ()))
        or "of no named architecture"
    )
    if kind != "bert":
        raise ModelError(f"'{model_name(folder)}' is {kind}; supported are BERT models (model_type 'bert').")
    if raw.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(
            f"'{model_name(folder)}' has {raw['position_embedding_type']} positions; supported are absolute ones."
        )
    if raw.get("is_decoder") or raw.get("add_cross_attention"):
        raise ModelError(f"'{model_name(folder)}' is a BERT decoder; supported are BERT encoders.")
    try:
        return _config_from(raw)
    except KeyError as missing:
        raise ModelError(
            f"The config.json of '{model_name(folder)}' does not say its {missing.args[0]}."
        ) from None
    except (SizeError, TypeError, ValueError, OverflowError) as problem:
        raise ModelError(f"The config.json of '{model_name(folder)}' cannot be right: {problem}") from None


def load_encoder(folder: Path, config: EncoderConfig) -> tuple[Encoder, MaskedHead | None]:
    """The encoder in fp32, and the masked head where the checkpoint has one.

    Raises ModelError if the weights are a pickle, damaged, incomplete, or do not fit the config.
    """
    theirs = dict(_read_tensors(folder))
    encoder, head = empty_encoder(config), None
    ours, rest = _rename(theirs, ENCODER_NAMES)
    head_ours, rest = _rename(rest, MASKED_HEAD_NAMES)
    left = [name for name in rest if not NOT_NEEDED.match(name)]
    if left:
        raise ModelError(
            f"The weights of '{model_name(folder)}' hold {len(left)} tensors that its config.json does not account "
            f"for, such as '{left[0]}'."
        )
    _fill(encoder, ours, model_name(folder))
    if "transform.weight" in head_ours:
        head_ours.setdefault("decoder.weight", ours["embeddings.word.weight"])
        with torch.device("meta"):
            head = MaskedHead(config)
        _fill(head, head_ours, model_name(folder))
    return encoder, head


def untrained_encoder(config: EncoderConfig, seed: int) -> Encoder:
    """The same shape with random weights, as BERT starts: normal with deviation 0.02, biases zero, norms one."""
    encoder = Encoder(config)
    generator = torch.Generator().manual_seed(seed)
    for module in encoder.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02, generator=generator)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    return encoder


def empty_encoder(config: EncoderConfig) -> Encoder:
    """An encoder whose weights are still to be put in: no time or memory is spent on random ones."""
    with torch.device("meta"):
        return Encoder(config)


def sha256(path: Path) -> str:
    """The SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _config_from(raw: Mapping[str, Any]) -> EncoderConfig:
    return EncoderConfig(
        vocab_size=int(raw["vocab_size"]),
        d_model=int(raw["hidden_size"]),
        n_layers=int(raw["num_hidden_layers"]),
        n_heads=int(raw["num_attention_heads"]),
        d_ff=int(raw["intermediate_size"]),
        max_positions=int(raw.get("max_position_embeddings", 512)),
        n_segments=int(raw.get("type_vocab_size", 2)),
        norm_eps=float(raw.get("layer_norm_eps", 1e-12)),
        activation=str(raw.get("hidden_act", "gelu")),
    )


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a model folder: one, or the shards that its index names."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    if index.is_file():
        try:
            shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ModelError(f"The index of the weights of '{model_name(folder)}' is damaged.") from None
        return [folder / Path(str(shard)).name for shard in shards]
    if any(found for pattern in PICKLES for found in folder.glob(pattern)):
        raise ModelError(
            f"'{model_name(folder)}' holds its weights as a pickle, which can run any code when opened; "
            "only safetensors are read (most models have a model.safetensors as well)."
        )
    raise ModelError(f"'{model_name(folder)}' has no model.safetensors.")


def _read_tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    for path in weight_files(folder):
        try:
            with safe_open(str(path), framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 - safe_open is no mapping
                    if not re.search(r"(^|\.)position_ids$", name):
                        yield _plain_name(name), file.get_tensor(name)
        except (OSError, SafetensorError):
            raise ModelError(
                f"The weights of '{model_name(folder)}' ({path.name}) are missing, cut or damaged."
            ) from None


def _plain_name(name: str) -> str:
    """Without the prefix of BertForMaskedLM and BertForPreTraining, and with today's names of the norms."""
    name = name.removeprefix("bert.")
    return re.sub(
        r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    )


def _rename(
    tensors: Mapping[str, Tensor], rules: tuple[tuple[str, str], ...]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The tensors that a rule knows, under our names; and the rest."""
    ours: dict[str, Tensor] = {}
    rest: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        for pattern, replacement in rules:
            if re.match(pattern, name):
                ours[re.sub("^" + pattern, replacement, name)] = tensor
                break
        else:
            rest[name] = tensor
    return ours, rest


def _fill(module: nn.Module, tensors: Mapping[str, Tensor], model: str) -> None:
    """Put the tensors into a module whose shapes are known and whose weights are not, as fp32."""
    expected = module.state_dict()
    for name, place in expected.items():
        if name not in tensors:
            raise ModelError(f"The weights of '{model}' lack '{name}'.")
        if tensors[name].shape != place.shape:
            raise ModelError(
                f"The weights of '{model}' have '{name}' of shape {tuple(tensors[name].shape)}; by its "
                f"config.json it is {tuple(place.shape)}."
            )
        if not tensors[name].dtype.is_floating_point or not bool(tensors[name].isfinite().all()):
            raise ModelError(
                f"The weights of '{model}' are damaged: '{name}' holds numbers that are not finite."
            )
    left = sorted(set(tensors) - set(expected))
    if left:
        raise ModelError(
            f"The weights of '{model}' hold '{left[0]}', which its config.json does not account for."
        )
    module.load_state_dict({name: tensors[name].float() for name in expected}, assign=True)
