"""The built-in sentences, tokenised, each with what it is a case of; and where its marked words lie in pieces."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mha_core.heads.builtin import BuiltIn, Item, builtin_item, read_builtin, related_path
from mha_core.heads.coreference import ChoiceCase
from mha_core.heads.corpora import Span
from mha_core.heads.survey import TextItem
from mha_core.model import Model
from mha_core.tokens import Tokenizer, Tokens


@dataclass(frozen=True)
class Sample:
    """A built-in sentence, tokenised; `choice` is there where a word has two candidates, `item` for measures of any
    corpus.

    `said_twice`: it is no sentence but random tokens, and so many of them are said again (repeated.py).
    """

    sentence: BuiltIn
    tokens: Tokens
    choice: ChoiceCase | None
    item: Item | None = None
    said_twice: int = 0

    @property
    def family(self) -> str:
        """The same for the two versions of a minimal pair."""
        return self.sentence.cluster


def sample(sentence: BuiltIn, tokenizer: Tokenizer) -> Sample:
    """A sentence ready to be fed to an `EvidenceLog`, or to any measure of whole texts."""
    item = builtin_item(sentence, tokenizer)
    return Sample(sentence, item.tokens, item if isinstance(item, ChoiceCase) else None, item)


def samples(sentences: Iterable[BuiltIn], model: Model) -> Iterator[Sample]:
    """All of them. For a decoder a choice whose two versions differ after the pronoun alone is only a text: the
    pronoun cannot have seen what decides it.
    """
    known = list(sentences)
    versions: dict[str, set[str]] = {}
    for one in known:
        if one.choice is not None and one.choice.pair is not None:
            versions.setdefault(one.choice.pair, set()).add(one.text[: one.choice.pronoun[1]])
    for one in known:
        found = sample(one, model.tokenizer)
        pair = one.choice.pair if one.choice else None
        if model.is_causal and pair is not None and len(versions[pair]) == 1:
            found = Sample(one, found.tokens, None, TextItem(found.tokens))
        yield found


def related_samples(model: Model) -> Iterator[Sample]:
    """The sentences about related words, for an `EvidenceLog` alone. Every noun is the related one in one pair and the
    other one in another, so that a head that prefers frequent nouns, or this very one, is right in half of them.
    """
    for one in read_builtin(related_path()):
        found = sample(one, model.tokenizer)
        yield Sample(one, found.tokens, found.choice)


def pieces_of(tokens: Tokens, span: Span) -> list[int]:
    """The pieces that a stretch of the text touches."""
    return [
        i
        for i, piece in enumerate(tokens.pieces)
        if not piece.special and piece.start < span[1] and span[0] < piece.end
    ]


def word_of(tokens: Tokens, span: Span) -> int:
    """The first word that a stretch of the text touches."""
    return next(i for i, word in enumerate(tokens.words) if word.start < span[1] and span[0] < word.end)
