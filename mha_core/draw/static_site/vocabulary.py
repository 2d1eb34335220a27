"""A tokenizer as the page reads it: its vocabulary, and classes of characters as regular expressions write them.

The page's own tokenizer (assets/js/static) does what the library tokenizers does with BERT's WordPiece, a list of whole
words, or GPT-2's byte-level BPE. How each character is treated is asked of that library and of Python's `unicodedata`
here, so that a browser with another version of Unicode gives the same tokens and words.
"""

import json
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

from tokenizers import Regex
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, Split, WhitespaceSplit

from mha_core.errors import ModelError
from mha_core.models.gguf import SPLITS
from mha_core.models.model import Model
from mha_core.text.word_spans import ALONE, MARKS

# All that are assigned or for private use; between them nothing is.
CODES = ((0, 0xD800), (0xE000, 0x34000), (0xE0000, 0xE1000), (0xF0000, 0x110000))
LONGEST_WORD = 100  # of more characters WordPiece makes no pieces
DECODED = 256  # tokens of a decoder's text; all heads' weights grow with its square, 71 MB for SmolLM2


def max_tokens(model: Model) -> int:
    """Return the number of tokens that a page reads, the special ones counted."""
    return min(model.max_tokens, DECODED) if model.is_causal else model.max_tokens


def vocabulary(model: Model) -> dict[str, Any]:
    """Describe the model's tokenizer for the page: pieces by number, special tokens, classes of characters.

    Raises ModelError for a tokenizer that is neither BERT's WordPiece, nor a list of words, nor BPE as GPT-2 or SmolLM2
    cut it.
    """
    tokenizer, settings = model.tokenizer, dict[str, Any]()
    parsed = json.loads(tokenizer.to_json())
    if tokenizer.is_list:
        classes, settings = _of_words(parsed["pre_tokenizer"]["pattern"]["Regex"]), {"lowers": True}
    elif _is_berts(parsed):
        normalizer = {name: value for name, value in parsed["normalizer"].items() if name != "type"}
        classes, lowers, strips = (
            _of_pieces(json.dumps(normalizer)),
            normalizer["lowercase"],
            normalizer["strip_accents"],
        )
        settings = {"lowers": lowers, "strips": lowers if strips is None else strips}
    elif splits := _byte_level(parsed):
        ids = parsed["model"]["vocab"]
        merges = [[ids[left], ids[right]] for left, right in parsed["model"]["merges"]]
        classes, settings = _of_bytes(), {"merges": merges, "digits": splits == SPLITS["smollm"]}
    else:
        raise ModelError(
            f"A page computes the tokenizers of BERT, GPT-2 and SmolLM2; '{model.title}' has another."
        )
    return {
        "pieces": [
            tokenizer.piece_name(i) if tokenizer.has(i) else "" for i in range(tokenizer.largest_id + 1)
        ],
        "begin": list(tokenizer.begin),
        "separator": tokenizer.separator,
        "typed": [token["content"] for token in parsed["added_tokens"]],
        "outside": sorted(
            tokenizer.piece_name(i) for i in tokenizer.identities if tokenizer.is_outside_words(i)
        ),
        "limit": max_tokens(model),
        "list": tokenizer.is_list,
        **settings,
        "classes": {name: _as_class(members) for name, members in (classes | _of_spans()).items()},
    }


def _is_berts(parsed: dict[str, Any]) -> bool:
    """Return whether a tokenizer.json is BERT's own, whose special tokens are found as they are written."""
    normalizer, model = parsed["normalizer"] or {}, parsed["model"]
    return (
        normalizer.get("type") == "BertNormalizer"
        and normalizer["clean_text"]
        and normalizer["handle_chinese_chars"]
        and (parsed["pre_tokenizer"] or {}).get("type") == "BertPreTokenizer"
        and (model["type"], model.get("continuing_subword_prefix"), model.get("unk_token"))
        == ("WordPiece", "##", "[UNK]")
        and model.get("max_input_chars_per_word") == LONGEST_WORD
        and not any(
            token[flag]
            for token in parsed["added_tokens"]
            for flag in ("single_word", "lstrip", "rstrip", "normalized")
        )
    )


def _byte_level(parsed: dict[str, Any]) -> tuple[str, ...]:
    """Return the splits of a byte-level BPE that cuts texts as GPT-2 or SmolLM2; empty for another tokenizer."""
    model, before = parsed["model"], (parsed["pre_tokenizer"] or {}).get("pretokenizers", [{}])
    splits = tuple(each.get("pattern", {}).get("Regex", "") for each in before[:-1])
    is_read = (
        model["type"] == "BPE"
        and parsed["normalizer"] is None
        and not (model["ignore_merges"] or model["byte_fallback"] or model["unk_token"])
        and before[-1].get("type") == "ByteLevel"
        and not (before[-1]["add_prefix_space"] or before[-1]["use_regex"])
        and splits in (SPLITS["gpt-2"], SPLITS["smollm"])
    )
    return splits if is_read else ()


@cache
def _characters() -> list[str]:
    return [chr(code) for start, stop in CODES for code in range(start, stop)]


@cache
def _of_spans() -> dict[str, list[str]]:
    """Return the classes of characters that word_spans.py tells apart."""
    kinds = {c: unicodedata.category(c) for c in _characters()}
    return {
        "mark": [c for c, kind in kinds.items() if kind in MARKS],
        "format": [c for c, kind in kinds.items() if kind == "Cf"],
        "symbol": [c for c, kind in kinds.items() if kind == "So"],
        "alnum": [c for c in _characters() if c.isalnum()],
        "digit": [c for c in _characters() if c.isdigit()],
        "blank": [c for c in _characters() if c.isspace()],
    }


@cache
def _of_pieces(normalizer: str) -> dict[str, list[str]]:
    """Return the classes by what BERT's normalizer and pre-tokenizer do with a character between letters."""
    normal, runs = BertNormalizer(**json.loads(normalizer)), BertPreTokenizer()
    became = {c: normal.normalize_str(f"a{c}b")[1:-1] for c in _characters()}
    return {
        "drop": [c for c, to in became.items() if not to],
        "space": [c for c, to in became.items() if to == " "],
        "cjk": [c for c, to in became.items() if len(to) > 1 and to[0] == to[-1] == " "],
        "punct": [c for c in _characters() if not c.isspace() and len(runs.pre_tokenize_str(f"a{c}b")) == 3],
    }


@cache
def _of_bytes() -> dict[str, list[str]]:
    """Return the classes in the expressions that cut a text before its bytes are joined, or before its words."""
    named = {"letter": r"\p{L}", "number": r"\p{N}", "gap": r"\s", "alone": f"[{ALONE}]", "onto": r"\p{M}"}
    splits = {name: Split(Regex(each), "removed", invert=True) for name, each in named.items()}
    text = "".join(_characters())  # at once: in a hundredth of the time
    dark = {c for run, _ in WhitespaceSplit().pre_tokenize_str(text) for c in run}
    classes = {name: [c for c, _ in split.pre_tokenize_str(text)] for name, split in splits.items()}
    return classes | {"white": [c for c in text if c not in dark]}


@cache
def _of_words(pattern: str) -> dict[str, list[str]]:
    """Return the classes by what the pattern of a list of words makes of a character after a letter."""
    split = Split(Regex(pattern), "removed", invert=True).pre_tokenize_str
    runs = {c: split(f"a{c}")[-1][0] for c in _characters()}
    return {
        "word": [c for c, run in runs.items() if len(run) == 2],
        "space": [c for c, run in runs.items() if run == "a" != c],
    }


def _as_class(characters: Iterable[str]) -> str:
    """Return characters in the order of their numbers as the inside of a class, [a-z]."""
    ranges: list[list[str]] = []
    for character in characters:
        if ranges and ord(ranges[-1][-1]) == ord(character) - 1:
            ranges[-1][1:] = [character]
        else:
            ranges.append([character])
    return "".join("-".join(f"\\x{ord(c):02x}" if c < "\x80" else c for c in ends) for ends in ranges)
