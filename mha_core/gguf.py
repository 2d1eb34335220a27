"""A Llama in one GGUF file (llama.cpp's format), read by the `gguf` package: settings, tokenizer, and weights.

A tensor is dequantised when it is asked for, straight to float32, and nothing is kept of it here.
Sources: the specification in ggml's docs/gguf.md; llama.cpp's llama-vocab.cpp for how texts are split.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer
from torch import Tensor

from mha_core.bpe import BytePairs
from mha_core.checkpoint import SUMS, check_file, check_sums, reading, sha256
from mha_core.errors import ModelError

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
# How a text is split before its bytes are joined, by `tokenizer.ggml.pre`: each expression splits what is left whole.
SPLITS = {
    "default": (r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
    "gpt-2": (GPT2,),
    "smollm": (r"\p{N}", GPT2),
    "llama-bpe": (LLAMA3,),
    "llama3": (LLAMA3,),
    "qwen2": (QWEN2,),
}
CONTROL, USER_DEFINED = 3, 4


class GgufFile:
    """An open file. Raises ModelError for one that is cut, damaged, no GGUF, or no Llama."""

    def __init__(self, path: Path) -> None:
        self.path, self.title = path, path.stem
        self.has_sums = (path.parent / SUMS).exists()
        self._what = f"The GGUF file {path.name}"
        with reading(path.parent, self._what):
            check_file(path)
            reader = _reader(path)
            self._said: dict[str, Any] = {name: field.contents() for name, field in reader.fields.items()}
            self._tensors = {tensor.name: tensor for tensor in reader.tensors}

    def settings(self) -> dict[str, Any]:
        """Return the sizes as a config.json has them."""
        kind = self._said.get("general.architecture")
        if kind != "llama":
            raise ModelError(
                f"{self._what} holds a model of architecture {str(kind)[:40]!a}; Llamas are read."
            )
        words = self._tensors.get("token_embd.weight")
        n_heads, d_model = self._size("attention.head_count"), self._size("embedding_length")
        stretched = (
            self._said.get("llama.rope.scaling.type", "none") != "none"
            or "rope_freqs.weight" in self._tensors
        )
        if stretched or self._size("rope.dimension_count", self._d_k) != self._d_k:
            raise ModelError(
                f"{self._what} stretches its rotary positions, or turns a part of them; plain ones are read."
            )
        return {
            "model_type": "llama",
            "vocab_size": 0 if words is None else int(words.shape[-1]),
            "hidden_size": d_model,
            "num_hidden_layers": self._size("block_count"),
            "num_attention_heads": n_heads,
            "num_key_value_heads": self._size("attention.head_count_kv", n_heads),
            "head_dim": self._d_k,
            "intermediate_size": self._size("feed_forward_length"),
            "max_position_embeddings": self._size("context_length"),
            "rms_norm_eps": self._setting("attention.layer_norm_rms_epsilon"),
            "rope_theta": self._setting("rope.freq_base", 10_000.0),
            "attention_bias": "blk.0.attn_q.bias" in self._tensors,
            "mlp_bias": "blk.0.ffn_up.bias" in self._tensors,
            "tie_word_embeddings": "output.weight" not in self._tensors,
        }

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield every tensor by Hugging Face's name, in float32."""
        from gguf.quants import dequantize

        for name, tensor in self._tensors.items():
            with reading(self.path.parent, f"{name[:60]!a} in the GGUF file {self.path.name}"):
                numbers = np.require(dequantize(tensor.data, tensor.tensor_type), np.float32, ["C", "W"])
            found = NAME.fullmatch(name)
            their = NAMES.get(found["part"]) if found else None
            if found is None or their is None:
                raise ModelError(f"{self._what} holds {name[:60]!a}, which is no part of a Llama.")
            if found["part"] in ("attn_q", "attn_k"):
                # llama.cpp turns pairs of neighbours, transformers halves: it has put the rows of each pair together.
                numbers = (
                    numbers.reshape(-1, self._d_k // 2, 2, *numbers.shape[1:])
                    .swapaxes(1, 2)
                    .reshape(numbers.shape)
                )
            layer = "" if found["layer"] is None else f"model.layers.{found['layer']}."
            yield f"{layer}{their}.{found['kind']}", torch.from_numpy(numbers)

    def tokenizer(self, max_tokens: int) -> BytePairs:
        """Build the tokenizer. Raises ModelError for a kind that is not read, or lists that do not fit each other."""
        build = {"gpt2": self._byte_level, "llama": self._sentence_pieces}.get(
            str(self._of_tokenizer("model", ""))
        )
        if build is None:
            kind = str(self._of_tokenizer("model", "none"))
            raise ModelError(f"{self._what} has a tokenizer of kind {kind[:40]!a}; gpt2 and llama are read.")
        with reading(self.path.parent, f"The tokenizer in the GGUF file {self.path.name}"):
            names: list[str] = self._of_tokenizer("tokens")
            if len(set(names)) < len(names):
                raise ValueError("it lists a token twice")
            fast = build(names)
            types = self._of_tokenizer("token_type", [])
            for chosen, special in ((CONTROL, True), (USER_DEFINED, False)):
                added = [name for name, kind in zip(names, types, strict=False) if kind == chosen]
                tokens = [AddedToken(name, special=special, normalized=False) for name in added]
                fast.add_special_tokens(tokens) if special else fast.add_tokens(tokens)
            fast.encode("a b", add_special_tokens=False)
        # What llama.cpp does where the file does not say.
        usual = build == self._sentence_pieces or self._of_tokenizer("pre", "") in ("llama-bpe", "llama3")
        begin = self._of_tokenizer("bos_token_id", -1)
        wanted = self._of_tokenizer("add_bos_token", usual) and 0 <= begin < len(names)
        return BytePairs(fast, max_tokens, (names[begin],) if wanted else ())

    def digests(self, *, weights: bool) -> dict[str, str]:
        """Return the file's SHA-256, by its name. Raises ModelError if SHA256SUMS beside it says another."""
        found = {self.path.name: sha256(self.path)} if weights else {}
        check_sums(self.path.parent, found)
        return found

    def _byte_level(self, names: list[str]) -> FastTokenizer:
        """BPE over bytes, by the merges in the file."""
        pre = str(self._of_tokenizer("pre", "none"))
        if pre not in SPLITS:
            raise ModelError(
                f"{self._what} names the pre-tokenizer {pre[:40]!a}; those that are read are {', '.join(SPLITS)}."
            )
        merges = [tuple(merge.split(" ")) for merge in self._of_tokenizer("merges")]
        vocabulary = {name: i for i, name in enumerate(names)}
        whole_words = pre in ("llama-bpe", "llama3")  # one that is a token is not put together
        fast = FastTokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=whole_words))
        splits = [pre_tokenizers.Split(Regex(split), "isolated") for split in SPLITS[pre]]
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        fast.pre_tokenizer = pre_tokenizers.Sequence([*splits, bytes_])
        fast.decoder = decoders.ByteLevel()
        return fast

    def _sentence_pieces(self, names: list[str]) -> FastTokenizer:
        """SentencePiece's BPE: of all pairs that are a piece together, that of the best score is joined first."""
        vocabulary = {name: i for i, name in enumerate(names)}
        pairs = [
            (score, name[:at], name[at:])
            for name, score in zip(names, self._of_tokenizer("scores"), strict=True)
            for at in range(1, len(name))
            if name[:at] in vocabulary and name[at:] in vocabulary
        ]
        pairs.sort(key=lambda pair: (pair[0], len(pair[1]), len(pair[2])), reverse=True)
        merges = [(left, right) for _, left, right in pairs]
        unknown = self._of_tokenizer("unknown_token_id", -1)
        unk = names[unknown] if 0 <= unknown < len(names) else None
        fast = FastTokenizer(models.BPE(vocabulary, merges, unk_token=unk, fuse_unk=True, byte_fallback=True))
        front = "first" if self._of_tokenizer("add_space_prefix", True) else "never"
        fast.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=front, split=False)
        return fast

    @property
    def _d_k(self) -> int:
        usual = self._size("embedding_length") // max(self._size("attention.head_count"), 1)
        return self._size("attention.key_length", usual)

    def _setting(self, key: str, default: float | None = None) -> Any:
        found = self._said.get(f"llama.{key}", default)
        if found is None:
            raise ModelError(f"{self._what} does not say its llama.{key}.")
        return found

    def _size(self, key: str, default: int | None = None) -> int:
        found = self._setting(key, default)
        if type(found) is not int:
            raise ModelError(
                f"{self._what} says {str(found)[:40]!a} as its llama.{key}; one whole number is read."
            )
        return found

    def _of_tokenizer(self, key: str, default: Any = None) -> Any:
        found = self._said.get(f"tokenizer.ggml.{key}", default)
        if found is None:
            raise ModelError(f"{self._what} has no {key} of its tokenizer.")
        return found


def _reader(path: Path) -> Any:
    """Parse the head of a file by the `gguf` package, which is imported only here: a fifth of a second."""
    from gguf import GGUFReader

    class Reader(GGUFReader):
        def _get(self, *args: Any, **options: Any) -> Any:
            # Less than half of the time that slices of a memmap take.
            self.data = np.asarray(self.data)  # type: ignore[assignment]
            return super()._get(*args, **options)

    return Reader(path)
