"""A Llama in one GGUF file (llama.cpp's format), read by the `gguf` package: settings, tokenizer, and weights.

A tensor is dequantised when it is asked for, straight to float32, and not cached.
Sources: the specification in ggml's docs/gguf.md; llama.cpp's llama-vocab.cpp for how texts are split.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer
from torch import Tensor

from mha_core.errors import ModelError
from mha_core.models.checkpoint import SUMS, check_file, check_sums, reading, sha256
from mha_core.text.tokens import Tokenizer

NAMES = {  # llama.cpp's names and Hugging Face's
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NAME = re.compile(r"(blk\.(?P<layer>\d+)\.)?(?P<part>\w+)\.(?P<kind>weight|bias)")
SHORT = "'s|'t|'re|'ve|'m|'ll|'d"
GPT2 = rf"{SHORT}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+"
LLAMA3, QWEN2 = (
    rf"(?i:{SHORT})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    for number in (r"\p{N}{1,3}", r"\p{N}")
)
LLAMA3_NAMES = ("llama-bpe", "llama3", "llama-v3")
# Splits of a text before its bytes are joined, by `tokenizer.ggml.pre`: each expression splits the parts left whole.
SPLITS = {
    "default": (r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
    "gpt-2": (GPT2,),
    "smollm": (r"\p{N}", GPT2),
    **dict.fromkeys(LLAMA3_NAMES, (LLAMA3,)),
    "qwen2": (QWEN2,),
}
CONTROL, USER_DEFINED = 3, 4
T = TypeVar("T")


@dataclass(frozen=True)
class Blocks:
    """A matrix as the file has it, 32 numbers of a row together: codes * scale + minimum. `codes` (rows, blocks, 32) of
    so many bits, uint8; `scales`, `minima` (rows, blocks), float16. Without minima the codes count from 128."""

    bits: int
    codes: NDArray[np.uint8]
    scales: NDArray[np.float16]
    minima: NDArray[np.float16] | None


class GgufFile:
    """An open file. Raises ModelError for one that is cut, damaged, no GGUF, or no Llama."""

    def __init__(self, path: Path) -> None:
        self.path, self.title = path, path.stem
        self.has_sums = (path.parent / SUMS).exists()
        with self._reading():
            check_file(path)
            reader = _reader(path)
            self._fields = {name: field.contents() for name, field in reader.fields.items()}
            self._tensors = {tensor.name: tensor for tensor in reader.tensors}

    def settings(self) -> dict[str, Any]:
        """Return the sizes as a config.json has them."""
        kind = self._fields.get("general.architecture")
        if kind != "llama":
            raise ModelError(
                f"{self._what} holds a model of architecture {str(kind)[:40]!a}; Llamas are read."
            )
        scaling = self._fields.get("llama.rope.scaling.type", "none")
        turned = self._ask("llama.rope.dimension_count", int, self._d_k)
        if scaling != "none" or "rope_freqs.weight" in self._tensors or turned != self._d_k:
            raise ModelError(
                f"{self._what} stretches its rotary positions, or turns a part of them; plain ones are read."
            )
        words = self._tensors.get("token_embd.weight")
        n_heads = self._ask("llama.attention.head_count", int)
        return {
            "model_type": "llama",
            "vocab_size": 0 if words is None else int(words.shape[-1]),
            "hidden_size": self._ask("llama.embedding_length", int),
            "num_hidden_layers": self._ask("llama.block_count", int),
            "num_attention_heads": n_heads,
            "num_key_value_heads": self._ask("llama.attention.head_count_kv", int, n_heads),
            "head_dim": self._d_k,
            "intermediate_size": self._ask("llama.feed_forward_length", int),
            "max_position_embeddings": self._ask("llama.context_length", int),
            "rms_norm_eps": self._ask("llama.attention.layer_norm_rms_epsilon", float),
            "rope_theta": self._ask("llama.rope.freq_base", float, 10_000.0),
            "attention_bias": "blk.0.attn_q.bias" in self._tensors,
            "mlp_bias": "blk.0.ffn_up.bias" in self._tensors,
            "tie_word_embeddings": "output.weight" not in self._tensors,
        }

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield every tensor by Hugging Face's name, in float32."""
        from gguf.quants import dequantize

        for name, tensor in self._tensors.items():
            match = NAME.fullmatch(name)
            if match is None or match["part"] not in NAMES:
                raise ModelError(f"{self._what} holds {name[:60]!a}, which is no part of a Llama.")
            layer = "" if match["layer"] is None else f"model.layers.{match['layer']}."
            with self._reading():
                numbers = np.require(dequantize(tensor.data, tensor.tensor_type), np.float32, ["C", "W"])
                numbers = self._in_halves(match["part"], numbers)
            yield f"{layer}{NAMES[match['part']]}.{match['kind']}", torch.from_numpy(numbers)

    def blocks(self, name: str) -> Blocks:
        """Return a matrix (out, in) by llama.cpp's name, as ggml-common.h packs it, its rows as `tensors` has them.

        Raises ModelError for other blocks than Q4_1 and Q8_0.
        """
        tensor = self._tensors[f"{name}.weight"]
        kind = tensor.tensor_type.name
        if kind not in ("Q4_1", "Q8_0"):
            raise ModelError(f"{self._what} holds {name} in {kind}; Q4_1 and Q8_0 can be taken as they are.")
        with self._reading():
            rows = np.array(tensor.data, np.uint8).reshape(len(tensor.data), -1, 20 if kind == "Q4_1" else 34)
            rows = self._in_halves(name.rpartition(".")[2], rows)
            scales = rows[..., :2].copy().view("<f2")[..., 0]
            if kind == "Q8_0":
                return Blocks(8, rows[..., 2:] ^ np.uint8(0x80), scales, None)
            pairs = rows[..., 4:]  # of numbers i and i + 16
            codes = np.concatenate([pairs & 15, pairs >> 4], axis=-1)
            return Blocks(4, codes, scales, rows[..., 2:4].copy().view("<f2")[..., 0])

    def _in_halves(self, part: str, rows: NDArray[Any]) -> NDArray[Any]:
        """Sort the rows of queries and keys: llama.cpp turns neighbours, transformers halves, so it has put the two
        rows of each pair together."""
        if part not in ("attn_q", "attn_k"):
            return rows
        return rows.reshape(-1, self._d_k // 2, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)

    def tokenizer(self, max_tokens: int) -> Tokenizer:
        """Build the tokenizer. Raises ModelError for a kind that is not read, or lists that do not fit each other."""
        kind, pre = (self._ask(f"tokenizer.ggml.{key}", str, "none") for key in ("model", "pre"))
        if kind not in ("gpt2", "llama") or (kind == "gpt2" and pre not in SPLITS):
            raise ModelError(
                f"{self._what} has a tokenizer of kind {kind[:40]!a} that splits texts as {pre[:40]!a}; the kinds "
                f"llama, and gpt2 with {', '.join(SPLITS)}, are read."
            )
        with self._reading():
            names = self._ask("tokenizer.ggml.tokens", list)
            vocabulary = {name: i for i, name in enumerate(names)}
            if len(vocabulary) < len(names):
                raise ModelError(f"The tokenizer of {self._what} lists a token twice.")
            fast = self._byte_level(vocabulary, pre) if kind == "gpt2" else self._sentence_pieces(vocabulary)
            types = self._ask("tokenizer.ggml.token_type", list, [])
            for chosen, special in ((CONTROL, True), (USER_DEFINED, False)):
                added = [name for name, its in zip(names, types, strict=False) if its == chosen]
                tokens = [AddedToken(name, special=special, normalized=False) for name in added]
                fast.add_special_tokens(tokens) if special else fast.add_tokens(tokens)
            fast.encode("a b", add_special_tokens=False)
        # llama.cpp's own default.
        usual = kind == "llama" or pre in LLAMA3_NAMES
        first = self._ask("tokenizer.ggml.bos_token_id", int, -1)
        wanted = self._ask("tokenizer.ggml.add_bos_token", bool, usual) and 0 <= first < len(names)
        return Tokenizer(fast, max_tokens, begin=(names[first],) if wanted else ())

    def digests(self, *, weights: bool) -> dict[str, str]:
        """Return the file's SHA-256, by its name. Raises ModelError if SHA256SUMS beside it says another."""
        digests = {self.path.name: sha256(self.path)} if weights else {}
        check_sums(self.path.parent, digests)
        return digests

    def _byte_level(self, vocabulary: dict[str, int], pre: str) -> FastTokenizer:
        """Build BPE over bytes, by the merges in the file."""
        merges = [tuple(merge.split(" ")) for merge in self._ask("tokenizer.ggml.merges", list)]
        # In a Llama 3 a word that is a token is not put together.
        fast = FastTokenizer(models.BPE(vocabulary, merges, ignore_merges=pre in LLAMA3_NAMES))
        splits = [pre_tokenizers.Split(Regex(split), "isolated") for split in SPLITS[pre]]
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        fast.pre_tokenizer = pre_tokenizers.Sequence([*splits, bytes_])
        fast.decoder = decoders.ByteLevel()
        return fast

    def _sentence_pieces(self, vocabulary: dict[str, int]) -> FastTokenizer:
        """Build SentencePiece's BPE: of all pairs that are a piece together, that of the best score is joined first."""
        pairs = [
            (score, name[:cut], name[cut:])
            for name, score in zip(vocabulary, self._ask("tokenizer.ggml.scores", list), strict=True)
            for cut in range(1, len(name))
            if name[:cut] in vocabulary and name[cut:] in vocabulary
        ]
        pairs.sort(key=lambda pair: (pair[0], len(pair[1]), len(pair[2])), reverse=True)
        unknown = self._ask("tokenizer.ggml.unknown_token_id", int, -1)
        unk = next((name for name, i in vocabulary.items() if i == unknown), None)
        merges = [(left, right) for _, left, right in pairs]
        fast = FastTokenizer(models.BPE(vocabulary, merges, unk_token=unk, fuse_unk=True, byte_fallback=True))
        front = "first" if self._ask("tokenizer.ggml.add_space_prefix", bool, True) else "never"
        fast.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=front, split=False)
        return fast

    @property
    def _what(self) -> str:
        return f"The GGUF file {self.path.name}"

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path.parent, self._what)

    @property
    def _d_k(self) -> int:
        usual = self._ask("llama.embedding_length", int) // max(
            self._ask("llama.attention.head_count", int), 1
        )
        return self._ask("llama.attention.key_length", int, usual)

    def _ask(self, key: str, kind: type[T], default: T | None = None) -> T:
        """Return a field. Raises ModelError if it is of another type, or missing without a default."""
        value = self._fields.get(key, default)
        if type(value) is not kind:
            given = "nothing" if value is None else ascii(value)[:40]
            raise ModelError(f"{self._what} says {given} as its {key}, which is a {kind.__name__}.")
        return value


def _reader(path: Path) -> Any:
    """Parse the head of a file by the `gguf` package, which is imported only here: a fifth of a second."""
    from gguf import GGUFReader

    class Reader(GGUFReader):
        def _get(self, *args: Any, **options: Any) -> Any:
            # Less than half of the time that slices of a memmap take.
            self.data = np.asarray(self.data)  # type: ignore[assignment]
            return super()._get(*args, **options)

    return Reader(path)
