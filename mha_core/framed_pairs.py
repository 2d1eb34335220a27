"""RoBERTa's frame: <s> text </s>, and <s> text </s></s> text </s> for a pair, around byte-level BPE or SentencePiece.

In: a text or a pair. Out: `Tokens`, with words and spans as the decoders' tokenizers give them.
"""

from tokenizers import Tokenizer as FastTokenizer

from mha_core.bpe import BytePairs, joined_runs
from mha_core.errors import InputError, ModelError
from mha_core.tokens import Role, Tokens, clean_text

BEGIN, SEPARATOR, MASK = "<s>", "</s>", "<mask>"
ROLES: dict[str, Role] = {
    BEGIN: "begin", SEPARATOR: "separator", "<pad>": "padding", "<unk>": "unknown", MASK: "mask",
}  # fmt: skip
SMALLEST_LIMIT = 6  # the frame of a pair, and a piece of each text
NO_WORDS = ("begin", "separator", "padding", "other")


class FramedPairs(BytePairs):
    """An encoder's pieces of bytes or of SentencePiece, in RoBERTa's frame."""

    takes_pairs = True
    between = 2

    def __init__(self, fast: FastTokenizer, max_tokens: int, begin: tuple[str, ...] | None = None) -> None:
        if max_tokens < SMALLEST_LIMIT:
            raise ModelError(
                f"The model takes {max_tokens} tokens; a pair of words in their frame needs {SMALLEST_LIMIT}."
            )
        for name in (BEGIN, SEPARATOR, "<pad>"):
            if fast.token_to_id(name) is None:
                raise ModelError(f"The tokenizer has no {name}; it belongs to another kind of model.")
        super().__init__(fast, max_tokens, (BEGIN,))
        self.separator = SEPARATOR
        for name, role in ROLES.items():
            identity = fast.token_to_id(name)
            if identity is not None:
                self._roles[identity] = role
        self.mask_id, self.pad_id = fast.token_to_id(MASK), int(fast.token_to_id("<pad>") or 0)

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """A text, or two; separators typed between two texts are read as the border of a pair, and special tokens typed
        around a text are not doubled. Raises InputError if there is nothing to look at."""
        text = _unframed(clean_text(text))
        first, border, second = text.partition(SEPARATOR)
        second = second.removeprefix(SEPARATOR)
        if pair is None and border and first.strip() and second.strip() and SEPARATOR not in second:
            text, pair = first.rstrip(), second.lstrip()
        texts = [text] if pair is None or not pair.strip() else [text, _unframed(clean_text(pair))]
        parts = [self._rows(part, joined_runs(part)) for part in texts]
        for which, part in zip(("sentence", "second sentence"), parts, strict=False):
            if not part:
                raise InputError(f"The {which} is empty; type at least one word.")
        return self._frame(text, texts[1] if len(texts) > 1 else None, parts)

    def _is_sign(self, identity: int) -> bool:
        return self._roles.get(identity) in NO_WORDS


def _unframed(text: str) -> str:
    """Without what a reader typed of the frame."""
    if text.lstrip().startswith(BEGIN):
        text = text.lstrip().removeprefix(BEGIN).lstrip()
    if text.rstrip().endswith(SEPARATOR):
        text = text.rstrip().removesuffix(SEPARATOR).rstrip()
    return text
