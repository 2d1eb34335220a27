"""A pronoun and two mentions: choices, baselines, controls and flips, on attention made by hand."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mha_core.corpus import PronounCase
from mha_core.errors import InputError, SizeError
from mha_core.heads.coreference import ChoiceCase, CoreferenceSums, choice_case, mention_scores
from mha_core.heads.coreference_table import CoreferenceTable
from mha_core.heads.tables import coreference_text
from tests.heads_by_hand import looking, random_attention, tokens_of

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


def test_a_pronoun_of_two_pieces_looks_with_their_mean():
    item = ChoiceCase(TOKENS, np.array([5, 6]), (ANN, SUSAN), 0, None, (0.5,) * 4)
    weights = np.zeros((9, 9))
    weights[5, 1], weights[6, 3], weights[6, 1] = 0.6, 0.5, 0.0
    assert table((weights, item)).accuracy[0, 0, 0] == 1


def test_a_pronoun_of_two_pieces_is_looked_at_with_their_sum():
    item = ChoiceCase(TOKENS, np.array([5, 6]), (ANN, SUSAN), 0, None, (0.5,) * 4)
    weights = np.zeros((1, 1, 9, 9), dtype=np.float32)
    weights[..., 1, 5:7], weights[..., 3, 5] = 0.3, 0.4
    received = mention_scores(weights, item)[1, 0]
    np.testing.assert_allclose(received[5], [0.6, 0.2], atol=1e-6)
    np.testing.assert_allclose(received[6], received[5])


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


def test_a_favourite_name_is_not_an_antecedent():
    """Every row looks at Susan: right from the pronoun, right from anywhere, so it resolves nothing."""
    favourite = np.tile(np.eye(9)[3], (9, 1))
    specific = looking(9, {6: 3, 2: 1, 5: 1, 7: 1}, 1.0)
    fair = case(1, None, (0.5,) * 4)
    many = [(favourite, fair)] * 60, [(specific, fair)] * 60
    known, real = table(*many[0]), table(*many[1])
    assert known.accuracy[0, 0, 0] == real.accuracy[0, 0, 0] == 1
    assert known.control[0, 0, 0] == 1
    assert real.control[0, 0, 0] == 0
    assert not known.resolves()[0, 0, 0]
    assert real.resolves()[0, 0, 0]


def test_the_control_leaves_out_the_pronoun_the_mentions_and_the_specials():
    weights = np.zeros((9, 9))
    weights[[0, 1, 3, 4, 6, 8], 3] = 1.0  # all of these prefer Susan and are not to be asked
    weights[[2, 5, 7], 1] = 1.0  # saw, when, left prefer Ann
    assert table((weights, case(1))).control[0, 0, 0] == 0


def test_a_text_without_other_words_has_no_say_in_the_control():
    """In one text every other row prefers Susan; the other text has no other row: the control is 1, not 1/2."""
    bare = ChoiceCase(
        tokens_of(["Ann", "Sue", "she"]), np.array([3]), (np.array([1]), np.array([2])), 1, None, (0.5,) * 4
    )
    found = table((np.tile(np.eye(9)[3], (9, 1)), case(1)), (looking(5, {3: 2}), bare))
    assert (found.n, found.accuracy[0, 0, 0], found.control[0, 0, 0]) == (2, 1, 1)


def test_under_the_best_simple_rule_nothing_is_resolved():
    right = looking(9, {6: 3, 2: 1, 5: 1, 7: 1}, 1.0)
    found = table(*[(right, case(1, None, (1.0, 0.5, 0.5, 0.5)))] * 50)
    assert found.baseline == 1
    assert not found.resolves().any()


def test_the_table_tells_in_each_direction_why_a_head_resolves_nothing():
    accuracy = np.array([[[0.95, 0.5]], [[0.9, 0.9]]])
    low, high, control = accuracy - 0.04, accuracy + 0.03, np.array([[[0.5, 0.45]], [[0.3, 0.85]]])
    rules = {"nearest": 0.5, "first": 0.45}
    found = CoreferenceTable(200, accuracy, control, low, high, rules, 10, accuracy, accuracy - 0.3)
    *lines, last = coreference_text(found).splitlines()
    rule, anywhere = "no better than the rule “nearest”", "the control does too: 85.0 %"
    assert [re.split(" {2,}", line) for line in lines] == [
        ["direction", "head", "accuracy", "95 % interval", "other rows", "flips"],
        ["pronoun->mention", "1-1", "95.0 %", "91.0 to 98.0", "50.0 %", "65.0 %"],
        ["pronoun->mention", "1-2", "50.0 %", "46.0 to 53.0", "45.0 %", "20.0 %", rule],
        [
            "mention->pronoun",
            "1-1",
            "90.0 %",
            "86.0 to 93.0",
            "30.0 %",
            "60.0 %",
        ],  # heads that score alike, in their own order
        ["mention->pronoun", "1-2", "90.0 %", "86.0 to 93.0", "85.0 %", "60.0 %", anywhere],
    ]
    assert last == "n = 200. Simple rules: nearest 50.0 %, first 45.0 %."
    _, *few, _ = coreference_text(replace(found, n=20)).splitlines()
    assert {line.split("  ")[-1] for line in few} == {rule, "only 20 cases: thin evidence"}


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


@pytest.mark.slow
def test_a_head_of_the_first_layer_cannot_flip(model):
    """It has seen no context: a later word cannot change which mention the pronoun prefers."""
    from mha_core.heads.builtin import read_builtin

    sums = CoreferenceSums(model.n_layers, model.n_heads)
    from mha_core.trace import trace_tokens

    chosen = [b for b in read_builtin() if b.kind in ("animacy", "predicate")][:16]
    for sentence in chosen:
        item = choice_case(sentence.choice, model.tokenizer, sentence.kind)
        sums.add(trace_tokens(item.tokens, model).weights, item)
    found = sums.result()
    assert found.n_pairs == 8
    assert found.flip[0, 0].max() == 0
    assert found.flip[0].max() > 0


def test_parts_merge_and_torn_pairs_find_each_other():
    weights = [random_attention(i, 2, 3, 9) for i in range(4)]
    items = [case(0, "p"), case(1, "p"), case(1, "q"), case(0, "q")]
    whole, left, right = (CoreferenceSums(2, 3) for _ in range(3))
    for i, (one, item) in enumerate(zip(weights, items, strict=True)):
        whole.add(one, item)
        (left if i % 2 else right).add(one, item)
    assert left.n_pairs == right.n_pairs == 0
    left.merge(right)
    a, b = whole.result(), left.result()
    assert a.n_pairs == b.n_pairs == 2
    for name in ("accuracy", "control", "flip", "both"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name))
    with pytest.raises(SizeError, match="cannot be merged"):
        whole.merge(CoreferenceSums(1, 1))


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


def test_the_nearest_name_is_the_one_with_least_between_however_long_it_is(model):
    """“Maximilian Featherstone” ends one character before "he", "Bob" begins seven after."""
    text = "Maximilian Featherstone he, then Bob"
    long, he, bob = ((text.index(word), text.index(word) + len(word)) for word in (text[:23], "he,", "Bob"))
    found = PronounCase(text, (he[0], he[0] + 2), (long, bob), 0)
    assert choice_case(found, model.tokenizer).baselines[0] == 1.0


def test_mentions_are_found_in_pieces(model):
    item = choice_case(choice("Susan Gray", "Ann Lee"), model.tokenizer)
    spelled = [[item.tokens.pieces[i].text for i in pieces] for pieces in (item.pronoun, *item.candidates)]
    assert spelled == [["she"], ["susan", "gray"], ["ann", "lee"]]


def test_a_text_over_the_limit_is_cut_to_a_window_around_the_mentions(model):
    text = "filler words go here " * 300 + TEXT + " more filler follows now" * 300
    item = choice_case(choice("Ann Lee", "Susan Gray", 1, text), model.tokenizer)
    assert 300 < len(item.tokens) <= model.max_tokens
    assert item.tokens.n_cut == 0
    assert f" {item.tokens.text} " in text, "whole words at both ends"
    places = [i for pieces in (item.pronoun, *item.candidates) for i in pieces]
    assert abs(min(places) - (len(item.tokens) - 1 - max(places))) < 60, "as much before as after"
    spelled = [[item.tokens.pieces[i].text for i in pieces] for pieces in (item.pronoun, *item.candidates)]
    assert spelled == [["she"], ["ann", "lee"], ["susan", "gray"]]
    assert item.baselines == choice_case(choice("Ann Lee", "Susan Gray", 1, text), model.tokenizer).baselines


def test_mentions_further_apart_than_the_model_reads_are_refused(model):
    text = "Ann Lee left. " + "filler words go here " * 300 + "Then she met Susan."
    with pytest.raises(InputError, match="further apart than the model can read"):
        choice_case(choice("Ann Lee", "Susan", 0, text), model.tokenizer)
