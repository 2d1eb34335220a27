"""Who can see whom is asked of one place: what a layer cannot see is in no statistic, no experiment and no picture."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mha_core import load_model, trace
from mha_core.causal import ReplaceAttention, trace_with_interventions
from mha_core.engine.visibility import Visibility, visible_keys
from mha_core.heads.atlas.features import features, pair_features
from mha_core.heads.cases import TIE
from mha_core.heads.corpora import PronounCase, Sentence
from mha_core.heads.questions.choices import Choice
from mha_core.heads.questions.places import PlaceQuestions
from mha_core.heads.questions.pronouns import ChoiceQuestions
from mha_core.heads.questions.question_set import FrameCollector
from mha_core.heads.questions.repeated import IN_ORDER, Repeated, RepeatedCollector
from mha_core.heads.questions.syntax import RelationQuestions, Tree
from mha_core.heads.survey import TextItem
from mha_core.models.external_records import tokens_of_strings

WORDS = ["the", "old", "red", "boat", "sees", "that", "blue", "boat", "over", "one", "wide", "lake"]
KINDS = [(False, ()), (True, ()), (False, (3,)), (True, (3,)), (False, (3, 0)), (True, (0, 2))]


def slowly(is_causal, windows, n):
    """Return who sees whom, (layer, query, key), pair by pair."""
    every = [
        [[not (is_causal and k > q) and (not w or abs(q - k) <= w) for k in range(n)] for q in range(n)]
        for w in windows or (0,)
    ]
    return np.array(every)


def even(visible):
    """Return uniform attention over what is seen, one head a layer."""
    return (visible / visible.sum(-1, keepdims=True))[:, None].astype(np.float32)


def scored(visibility, weights, item):
    """Return the questions of one text that any text answers, by key."""
    questions = PlaceQuestions(visibility)
    collector = FrameCollector(questions)
    collector.add(weights, item)
    return {cases.question.key: cases for cases in questions.scored(collector.frame(), "texts")}


@pytest.fixture(params=KINDS, ids=str)
def kind(request):
    is_causal, windows = request.param
    return Visibility(is_causal, windows), slowly(is_causal, windows, len(WORDS))


def test_masks_are_those_of_a_slow_count_also_where_some_tokens_came_before(kind):
    visibility, expected = kind
    n = expected.shape[-1]
    np.testing.assert_array_equal(visibility.mask(n), expected)
    for layer, window in enumerate(visibility.windows or (0,)):
        keys = torch.arange(n)
        later = visible_keys(keys[5:], keys, is_causal=visibility.is_causal, window=window)
        np.testing.assert_array_equal(later.numpy(), expected[layer, 5:])


def test_every_statistic_counts_the_keys_in_sight_alone(kind):
    visibility, expected = kind
    tokens, seen = tokens_of_strings(WORDS, ()), expected.sum(-1)
    questions = scored(visibility, even(expected), TextItem(tokens))
    assert questions["diffuse"].right == pytest.approx(1, abs=1e-3)
    counted = np.arange(len(WORDS)) >= visibility.is_causal  # a decoder's first token has no choice
    chance = (1 / seen.min(0))[counted].mean()
    assert questions["self"].baselines[0].hits == pytest.approx(chance)
    if visibility == Visibility(False, (3,)):
        assert chance == pytest.approx(0.174, abs=5e-4)
    collector = RepeatedCollector(visibility)
    twice = tokens_of_strings([*"abcdef", *"abcdef"], ())
    for role in (IN_ORDER, "shuffled"):
        collector.add(even(expected), Repeated(role, 1, twice, 6))
    assert next(collector.scored("texts")).baselines[0].hits == pytest.approx(1 / seen.min(0)[6:])
    names = [feature.key for feature in features(visibility.is_causal)]
    rows = pair_features(tokens, visibility).rows[:, names.index("one back"), 6]
    assert rows == pytest.approx(1 / expected[:, 6, int(visibility.is_causal) :].sum(-1))


def test_a_copy_out_of_sight_is_no_case_and_no_answer():
    words = ["boat", *"abcd", "boat"]
    tokens = tokens_of_strings(words, ())
    alike = tuple(replace(piece, id=words.index(piece.text)) for piece in tokens.pieces)
    tokens = replace(tokens, pieces=alike)
    kinds = Visibility(False, (3,)), Visibility(False, (3, 0))
    narrow, both = (scored(each, even(each.mask(6)), TextItem(tokens)) for each in kinds)
    assert "copy" not in narrow
    assert both["copy"].right.tolist() == [[0, 1]], "of equals the first is taken"
    assert both["copy"].baselines[0].hits == pytest.approx(1 / 5)


def test_candidates_of_a_relation_are_the_words_in_sight(kind):
    visibility, expected = kind
    gold = Sentence(tuple(WORDS), (-1, *range(len(WORDS) - 1)), ("root", *("dep",) * 11), " ".join(WORDS), 1)
    shape = (len(expected), 2, len(WORDS), len(WORDS))
    weights = np.random.default_rng(1).random(shape, np.float32) * expected[:, None]
    columns = RelationQuestions(visibility).observe(weights, Tree(gold, tokens_of_strings(WORDS, ())))
    others = expected & ~np.eye(len(WORDS), dtype=bool)
    assert columns["n_candidates"].tolist() == others.sum(-1).min(0).tolist()
    for head, looks in enumerate(columns["looks"][:, 0].T):
        some = others[head // 2].any(-1)
        assert others[head // 2][np.arange(len(WORDS)), looks][some].all()


def test_a_layer_that_sees_one_of_two_mentions_prefers_neither():
    tokens = tokens_of_strings(["Ann", "and", "x", "Bob", "saw", "her"], ())
    case = PronounCase("Ann and x Bob saw her", (18, 21), ((0, 3), (10, 13)), 0, 1)
    item = Choice(tokens, np.array([5]), (np.array([0]), np.array([3])), case)
    visibility = Visibility(False, (3, 0))
    weights = even(visibility.mask(6)) + np.eye(6, dtype=np.float32)[3]
    assert ChoiceQuestions(visibility).observe(weights, item)["looks"][0, 0].tolist() == [TIE, 1]
    both = Visibility(False, (3, 3))
    assert ChoiceQuestions(both).observe(even(both.mask(6)), item) is None, "no layer could choose"


def test_uniform_rows_are_uniform_over_what_a_layer_sees():
    model = load_model("classroom", device="cpu")
    assert any(model.info.windows), "the toy model's first layer has a window"
    tokens = model.tokenizer.encode("the cat sees the dog and the dog sees the cat")
    heads = tuple(np.ndindex(model.n_layers, model.n_heads))
    record = trace_with_interventions(tokens, model, (ReplaceAttention(heads, "uniform"),))
    expected = slowly(False, model.info.windows, len(tokens))
    np.testing.assert_allclose(record.weights - even(expected), 0, atol=1e-6)
    np.testing.assert_array_equal(trace(tokens.text, model).visible, expected)
