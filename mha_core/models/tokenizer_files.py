"""Tokenizer of a model folder: tokenizer.json, or the list of pieces or words in vocab.txt."""

from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer

from mha_core.errors import ModelError
from mha_core.models.checkpoint import (
    MAX_TOKENIZER,
    check_file,
    fast_tokenizer,
    model_name,
    read_json,
    reading,
)
from mha_core.text.spelling import WORDPIECE
from mha_core.text.tokens import SpecialTokenNames, Tokenizer

# A word with the apostrophes and hyphens inside it, or one sign that is no space.
RUNS = r"\w+(?:['-]\w+)*|[^\w\s]"
LIST = SpecialTokenNames("", "", "[PAD]", "[UNK]", "[MASK]")


def tokenizer_of(folder: Path, max_tokens: int, specials: SpecialTokenNames | None = None) -> Tokenizer:
    """Read tokenizer.json. Raises ModelError without it."""
    if not (folder / "tokenizer.json").exists():
        raise ModelError(f"'{model_name(folder)}' has no tokenizer.json, so no text can be read.")
    with reading(folder, "The tokenizer files"):
        return Tokenizer(fast_tokenizer(folder), max_tokens, specials)


def wordpiece_of(folder: Path, max_tokens: int, specials: SpecialTokenNames) -> Tokenizer:
    """Read tokenizer.json, or vocab.txt with tokenizer_config.json. Raises ModelError without them."""
    path, settings = folder / "vocab.txt", folder / "tokenizer_config.json"
    if (folder / "tokenizer.json").exists():
        return tokenizer_of(folder, max_tokens, specials)
    if not path.exists():
        raise ModelError(
            f"'{model_name(folder)}' has neither tokenizer.json nor vocab.txt, so no text can be read."
        )
    with reading(folder, "The tokenizer files"):
        _check_pieces(path)
        raw = read_json(settings) if settings.exists() else {}
        lower = raw.get("do_lower_case", True) if isinstance(raw, dict) else True
        fast = FastTokenizer(models.WordPiece.from_file(str(path), unk_token=specials.unknown))
        fast.normalizer = normalizers.BertNormalizer(lowercase=bool(lower))
        fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        fast.decoder = decoders.WordPiece(prefix=WORDPIECE)
        fast.add_special_tokens(list(specials.roles()))
        return Tokenizer(fast, max_tokens, specials)


def words_of(folder: Path, max_tokens: int) -> Tokenizer:
    """Read vocab.txt, one word a line in the order of their numbers. Raises ModelError without it."""
    path = folder / "vocab.txt"
    if not path.exists():
        raise ModelError(f"'{model_name(folder)}' has no vocab.txt, so no text can be read.")
    with reading(folder, "The vocab.txt"):
        check_file(path, MAX_TOKENIZER)
        words = path.read_text(encoding="utf-8").split()
    if len(set(words)) != len(words):
        raise ModelError(f"The vocab.txt of '{model_name(folder)}' has a word twice.")
    fast = FastTokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=LIST.unknown))
    fast.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace("’", "'")])
    fast.pre_tokenizer = pre_tokenizers.Split(Regex(RUNS), "removed", invert=True)
    fast.add_special_tokens(list(LIST.roles()))
    return Tokenizer(fast, max_tokens, LIST)


def _check_pieces(path: Path) -> None:
    """Raise ModelError unless every line has a piece, and no two the same."""
    check_file(path, MAX_TOKENIZER)
    pieces = [line.rstrip("\r") for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n")]
    seen = set[str]()
    for number, piece in enumerate(pieces, start=1):
        if not piece or piece in seen:
            raise ModelError(
                f"The vocab.txt of '{model_name(path.parent)}' is damaged: line {number:,} is empty or stands twice."
            )
        seen.add(piece)
