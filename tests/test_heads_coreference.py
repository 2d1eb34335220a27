"""A pronoun and two mentions: choices, baselines, controls and flips, on attention made by hand."""

import numpy as np

from mha_core.heads.coreference import ChoiceCase, CoreferenceSums, choice_case
from mha_core.heads.corpora import PronounCase
from tests.heads_by_hand import looking, tokens_of

# [CLS] Ann saw Su|san when she left [SEP]: the mentions are 1 and 3-4, the pronoun is 6
TOKENS = tokens_of(["Ann", "saw", ["Su", "san"], "when", "she", "left"])
ANN, SUSAN, SHE = np.array([1]), np.array([3, 4]), np.array([6])


def case(answer: int = 1, pair: str | None = None, baselines=(1.0, 0.0, 0.5, 0.5)) -> ChoiceCase:
    return ChoiceCase(TOKENS, SHE, (ANN, SUSAN), answer, pair, baselines)


def table(*cases: tuple[np.ndarray, ChoiceCase]):
    sums = CoreferenceSums(1, 1)
    for weights, item in cases:
        sums.add(weights[None, None].astype(np.float32), item)
    return sums.result()


def test_a_mention_gets_the_sum_over_its_pieces():
    weights = np.full((9, 9), 0.01)
    weights[6, 1], weights[6, 3], weights[6, 4] = 0.3, 0.2, 0.2
    assert table((weights, case(1))).accuracy[0, 0, 0] == 1
    assert table((weights, case(0))).accuracy[0, 0, 0] == 0


def test_the_other_direction_reads_the_mentions_rows():
    weights = np.full((9, 9), 0.01)
    weights[6, 1] = 0.9  # the pronoun looks at Ann
    weights[3, 6], weights[4, 6], weights[1, 6] = 0.4, 0.5, 0.3  # Susan looks more at the pronoun
    found = table((weights, case(1)))
    assert found.accuracy[:, 0, 0].tolist() == [0, 1]
    # The mean over the mention's pieces, not their sum: a long name is not favoured.
    weights[3, 6], weights[4, 6] = 0.2, 0.2
    assert table((weights, case(1))).accuracy[1, 0, 0] == 0


def test_a_tie_counts_one_half():
    found = table((np.zeros((9, 9)), case(0)), (np.zeros((9, 9)), case(1)))
    assert found.accuracy.tolist() == [[[0.5]], [[0.5]]]


def test_under_the_best_simple_rule_nothing_is_resolved():
    right = looking(9, {6: 3, 2: 1, 5: 1, 7: 1}, 1.0)
    found = table(*[(right, case(1, None, (1.0, 0.5, 0.5, 0.5)))] * 50)
    assert found.baseline == 1
    assert not found.resolves().any()


def test_a_flip_is_a_preference_that_changes_between_the_versions():
    ann, susan = looking(9, {6: 1}), looking(9, {6: 3})
    both = table((ann, case(0, "p")), (susan, case(1, "p")))
    assert (both.n_pairs, both.flip[0, 0, 0], both.both[0, 0, 0]) == (1, 1, 1)
    backwards = table((susan, case(0, "p")), (ann, case(1, "p")))
    assert (backwards.flip[0, 0, 0], backwards.both[0, 0, 0]) == (1, 0)
    stubborn = table((ann, case(0, "p")), (ann, case(1, "p")))
    assert (stubborn.flip[0, 0, 0], stubborn.both[0, 0, 0]) == (0, 0)
    wavering = table((ann, case(0, "p")), (np.zeros((9, 9)), case(1, "p")))
    assert (wavering.flip[0, 0, 0], wavering.both[0, 0, 0]) == (0, 0), "a tie prefers nothing"
    lonely = table((ann, case(0, "p")), (ann, case(1, "q")))
    assert lonely.n_pairs == 0


TEXT = "Susan met Ann Lee. Lee said that she liked Susan Gray and the old town."


def choice(a: str, b: str, answer: int = 0, text: str = TEXT) -> PronounCase:
    spans = [(text.index(name), text.index(name) + len(name)) for name in (a, b)]
    start = text.index(" she ") + 1
    return PronounCase(text, (start, start + 3), (spans[0], spans[1]), answer)


def test_baselines_are_what_a_lazy_reader_would_do(model):
    item = choice_case(choice("Susan", "Ann Lee", 1), model.tokenizer)
    nearest, first, frequent, uniform = item.baselines
    assert (nearest, first, uniform) == (1.0, 0.0, 0.5)
    assert frequent == 1.0, "both are named twice, so the nearer one"
    item = choice_case(choice("Susan Gray", "Ann Lee", 1), model.tokenizer)
    assert item.baselines == (0.0, 1.0, 1.0, 0.5), "the surname counts: Gray once, Lee twice"
