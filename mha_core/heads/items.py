"""What was read → items for the measures: each tokenised, with its gold where it has any."""

from collections.abc import Iterable, Iterator

from mha_core.errors import InputError
from mha_core.heads.coreference import ChoiceCase, choice_case
from mha_core.heads.corpora import PronounCase, Reading, Sentence
from mha_core.heads.relations import RelationCases, relation_cases
from mha_core.heads.survey import TextItem
from mha_core.tokens import Tokenizer


def treebank_items(
    sentences: Iterable[Sentence], tokenizer: Tokenizer, reading: Reading | None = None
) -> Iterator[RelationCases]:
    """Treebank sentences as items; one whose words the tokenizer cannot tell apart is left out."""
    reading = reading or Reading()
    for sentence in sentences:
        try:
            yield relation_cases(sentence, tokenizer)
        except InputError as flaw:
            reading.left_out(sentence.line, str(flaw))


def text_items(
    texts: Iterable[tuple[int, str]], tokenizer: Tokenizer, reading: Reading | None = None
) -> Iterator[TextItem]:
    """Plain texts (with their lines) as items; one without a token (of invisible characters, say) is left out."""
    reading = reading or Reading()
    for line, text in texts:
        try:
            yield TextItem(tokenizer.encode(text))
        except InputError as flaw:
            reading.left_out(line, str(flaw))


def choice_items(
    choices: Iterable[PronounCase], tokenizer: Tokenizer, reading: Reading | None = None
) -> Iterator[ChoiceCase]:
    """Choices as items; one that the model cannot read whole is refused or skipped as the reading says."""
    reading = reading or Reading()
    for choice in choices:
        try:
            yield choice_case(choice, tokenizer)
        except InputError as flaw:
            reading.broken(choice.line, str(flaw))
