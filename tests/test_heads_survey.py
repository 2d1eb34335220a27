"""The stream of texts through the model: the same numbers in any batches, stoppable, and in little memory."""

import numpy as np
import once
import pytest

from mha_core import trace_tokens
from mha_core.heads.corpora import Sentence
from mha_core.heads.relations import relation_cases
from mha_core.heads.studies import study_relations
from mha_core.heads.survey import Options, every_item, survey

SENTENCES = [
    Sentence(("The", "dog", "barked", "."), (1, 2, -1, 2), ("det", "nsubj", "root", "punct"), "", 1),
    Sentence(("Stop",), (-1,), ("root",), "", 2),
    Sentence(
        ("The", "old", "cat", "watched", "a", "sparrow", "quietly"),
        (2, 2, 3, -1, 5, 3, 3),
        ("det", "amod", "nsubj", "root", "det", "obj", "advmod"),
        "",
        3,
    ),
    Sentence(("I", "know", "him"), (1, -1, 1), ("nsubj", "root", "obj"), "", 4),
]


class Keep:
    """A measure that keeps what it is given."""

    def __init__(self):
        self.seen = []

    def add(self, weights, item):
        self.seen.append((weights.copy(), item))


@pytest.fixture(scope="module")
def items(model):
    return [relation_cases(sentence, model.tokenizer) for sentence in SENTENCES]


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_batches_change_nothing_because_padding_is_masked(model, items, batch_size):
    keep = Keep()
    assert survey(items, model, [(keep, every_item)], Options(batch_size)).n_texts == 4
    assert {id(item) for _, item in keep.seen} == {id(item) for item in items}
    for weights, item in keep.seen:
        np.testing.assert_allclose(weights, trace_tokens(item.tokens, model).weights, atol=2e-5)


def test_a_survey_can_be_stopped_and_keeps_what_it_has(model, items):
    keep = Keep()
    done = survey(items, model, [(keep, every_item)], Options(stop=lambda: len(keep.seen) == 2))
    assert (done.n_texts, done.stopped) == (2, True)
    assert len(keep.seen) == 2
    table, done = study_relations(SENTENCES, model, Options(batch_size=1, stop=lambda: True))
    assert done.stopped
    assert table.n_sentences == 1


@pytest.fixture(scope="module")
def builtin():
    return once.findings().study


def test_the_builtin_sentences_show_the_known_specialists(builtin):
    """1-3 looks back, 2-9 ahead, 2-4 finds antecedents by gender and number (reference notes in the README)."""
    assert builtin.roles[0][2].label == "previous token"
    assert builtin.roles[1][8].label == "next token"
    assert builtin.roles[1][3].key == "agreement"
    assert builtin.roles[1][1].key == "copy"
    assert builtin.tables.agreement.accuracy[0, 1, 3] > 0.85
    assert 0.3 < builtin.tables.coreference.accuracy[0, 1, 3] < 0.65


@pytest.mark.slow
def test_an_untrained_model_has_no_specialists():
    keys = {role.key for row in once.findings(trained=False).study.roles for role in row}
    assert keys == {"none"}
