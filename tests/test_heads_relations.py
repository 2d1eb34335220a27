"""Relations: who is the head of whom, by Clark's method, and every way to get it wrong that was seen."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mha_core.corpus import Sentence, read_conllu
from mha_core.errors import InputError, SizeError
from mha_core.heads.intervals import group_of, tied_with_best, wilson, z_for_best_of
from mha_core.heads.relation_table import RelationScore
from mha_core.heads.relations import RelationCases, RelationCounts, relation_cases
from mha_core.heads.tables import relation_text
from tests.heads_by_hand import looking, random_attention, tokens_of

# the old dog chased a cat: pieces are [CLS] 1..6 [SEP]
WORDS = ["the", "old", "dog", "chased", "a", "cat"]
HEADS = [2, 2, 3, -1, 5, 3]
RELATIONS = ["det", "amod", "nsubj", "root", "det", "obj"]


def cases(words=WORDS, heads=HEADS, relations=RELATIONS) -> RelationCases:
    kept = [i for i, head in enumerate(heads) if head >= 0]
    return RelationCases(
        tokens_of(words),
        np.array(kept),
        np.array([heads[i] for i in kept]),
        tuple(relations[i] for i in kept),
    )


def table(weights: np.ndarray, item: RelationCases | None = None):
    """The table of one sentence for one head or more; weights (query, key) or (layer, head, query, key)."""
    weights = weights if weights.ndim == 4 else weights[None, None]
    counts = RelationCounts(*weights.shape[:2])
    counts.add(weights, item or cases())
    return counts.result()


def test_the_word_looked_at_most_is_the_head():
    found = table(looking(8, {1: 3, 2: 3, 3: 4, 5: 1, 6: 4}))
    assert found.accuracy("det")[0, 0] == 0.5
    assert found.accuracy("amod")[0, 0] == 1
    assert found.accuracy("nsubj")[0, 0] == 1
    assert found.accuracy("obj")[0, 0] == 1
    assert found.accuracy("all")[0, 0] == pytest.approx(4 / 5)
    assert (found.n("det"), found.n("all"), found.n_sentences) == (2, 5, 1)


def test_the_other_direction_reads_the_column_of_the_dependent():
    weights = looking(8, {3: 1, 4: 6, 6: 5})
    found = table(weights)
    assert found.accuracy("det", "head->dep")[0, 0] == 1
    assert found.accuracy("obj", "head->dep")[0, 0] == 1
    assert found.accuracy("det", "dep->head")[0, 0] == 0
    # The row of the head word peaks elsewhere, and still no other word looks more at the dependent.
    weights[3, 2] = 0.95
    assert table(weights).accuracy("det", "head->dep")[0, 0] == 1


def test_directions_are_not_transposed():
    weights = looking(8, {1: 3, 2: 3, 3: 4, 5: 6, 6: 4})
    right, wrong = table(weights), table(weights.T.copy())
    assert right.accuracy("all", "dep->head")[0, 0] == 1
    assert wrong.accuracy("all", "dep->head")[0, 0] < 0.5


def test_specials_are_no_candidates():
    weights = looking(8, dict.fromkeys(range(8), 0), 0.6)
    for dependent, head in ((1, 3), (2, 3), (3, 4), (5, 6), (6, 4)):
        weights[dependent, head] = 0.3
    weights[:, 7] = 0.5
    assert table(weights).accuracy("all")[0, 0] == 1


def test_the_word_itself_is_no_candidate():
    weights = looking(8, {i: i for i in range(8)}, 0.6)
    for dependent, head in ((1, 3), (2, 3), (3, 4), (5, 6), (6, 4)):
        weights[dependent, head] = 0.3
    assert table(weights).accuracy("all", "dep->head")[0, 0] == 1
    assert table(weights.T.copy()).accuracy("all", "head->dep")[0, 0] == 1


def test_the_row_of_a_word_lies_one_after_cls():
    """Reading row t for word t takes [CLS] for the first word and misses every head."""
    weights = looking(8, {1: 3, 2: 3, 3: 4, 5: 6, 6: 4})
    shifted = np.roll(weights, (1, 1), axis=(0, 1))
    assert table(weights).accuracy("all")[0, 0] == 1
    assert table(shifted).accuracy("all")[0, 0] < 1


def test_every_head_is_counted_on_its_own():
    weights = np.full((2, 3, 8, 8), 1 / 8, dtype=np.float32)
    weights[1, 2] = looking(8, {1: 3, 2: 3, 3: 4, 5: 6, 6: 4})
    found = table(weights)
    best = found.best("all", "dep->head")
    assert (best.layer, best.head, best.accuracy) == (1, 2, 1.0)
    assert best.as_row()["layer"] == 2
    assert best.as_row()["head"] == 3
    others = np.delete(found.accuracy("all").ravel(), 5)
    assert others.max() < 1


def test_heads_are_not_averaged_in_a_layer():
    """The mean of a head that is right and one that is surer and wrong is wrong; the right one still counts."""
    right, wrong = looking(8, {1: 3}, 0.5), looking(8, {1: 2}, 0.95)
    found = table(np.stack([right, wrong])[None])
    assert found.accuracy("det")[0].tolist() == [0.5, 0.0]


def test_a_split_head_word_gets_the_sum_of_its_pieces():
    """the un|believ|able dog: no single piece of the adjective wins, their sum does (swapped rules lose)."""
    item = cases(["seen", ["un", "believ", "able"], "dog"], [1, -1, 1], ["amod", "root", "obj"])
    weights = np.full((7, 7), 0.01, dtype=np.float32)
    weights[1, 2:5], weights[1, 5] = 0.2, 0.3
    weights[5, 2:5], weights[5, 1] = 0.2, 0.3
    assert table(weights, item).accuracy("all")[0, 0] == 1


def test_a_split_dependent_looks_with_the_mean_of_its_pieces():
    """The first piece alone, or the surest one, would choose another word than all three together."""
    item = cases(["dog", ["un", "believ", "able"], "saw"], [-1, 0, 0], ["root", "amod", "x"])
    weights = np.full((7, 7), 0.0, dtype=np.float32)
    weights[2, 5], weights[2, 1] = 0.9, 0.1
    weights[3:5, 1], weights[3:5, 5] = 0.6, 0.1
    assert table(weights, item).accuracy("amod")[0, 0] == 1


def test_root_has_no_head_and_punctuation_is_not_in_all():
    item = cases(["go", "home", "."], [-1, 0, 0], ["root", "advmod", "punct"])
    found = table(looking(5, {2: 1, 3: 2}), item)
    assert found.n("all") == 1
    assert found.accuracy("all")[0, 0] == 1
    assert found.accuracy("punct")[0, 0] == 0
    assert "root" not in found.names


def test_the_table_begins_with_all_and_then_with_what_comes_most_often():
    item = cases(["a", "b", "c", "d", "e"], [1, 2, -1, 2, 2], ["det", "amod", "root", "amod", "amod"])
    assert table(looking(7, {}), item).names == ("all", "amod", "det")


def test_what_the_model_does_not_read_is_counted_beside_its_relation_and_is_no_case():
    counts = RelationCounts(1, 1)
    counts.add(looking(8, {})[None, None], replace(cases(), cut=("obj", "obj", "punct", "iobj")))
    found = counts.result()
    said = {name: (found.n(name), found.n_cut(name)) for name in found.names}
    assert said == {
        "all": (5, 3), "det": (2, 0), "amod": (1, 0), "nsubj": (1, 0), "obj": (1, 2), "punct": (0, 1), "iobj": (0, 1),
    }  # fmt: skip
    assert found.n_dependents_cut == 4


def test_multiword_lines_are_not_words(model):
    def row(number, form, head, relation):
        return "\t".join([number, form, "_", "_", "_", "_", head, relation, "_", "_"])

    lines = [
        row("1", "He", "3", "nsubj"),
        row("2-3", "didn't", "_", "_"),
        row("2", "did", "3", "aux"),
        row("3", "go", "0", "root"),
    ]
    (sentence,) = read_conllu(lines)
    item = relation_cases(sentence, model.tokenizer)
    assert [word.text for word in item.tokens.words] == ["He", "did", "go"]
    assert item.dependents.tolist() == [0, 1]
    assert item.heads.tolist() == [2, 2]


def test_the_model_is_fed_cls_and_sep_and_the_words_of_the_list(model):
    item = relation_cases(
        Sentence(("do", "n't", "stop"), (2, 2, -1), ("aux", "advmod", "root"), "", 1), model.tokenizer
    )
    assert item.tokens.pieces[0].text == "[CLS]"
    assert item.tokens.pieces[-1].text == "[SEP]"
    assert len(item.tokens.words) == 3


def test_what_the_model_cannot_read_is_left_out_and_not_miscounted(model):
    words = ("word",) * 700
    heads = tuple(max(i - 1, -1) for i in range(700))
    item = relation_cases(Sentence(words, heads, ("dep",) * 700, "", 1), model.tokenizer)
    assert len(item.tokens) == 512
    assert item.dependents.max() < len(item.tokens.words)
    assert item.heads.max() < len(item.tokens.words)


def test_a_word_that_was_cut_in_its_middle_is_left_out(model):
    words = ("word",) * 508 + ("go", "antidisestablishmentarianism", "now")
    heads = (509, -1, *([1] * 506), 509, 508, 508)
    item = relation_cases(Sentence(words, heads, ("dep",) * 511, "", 1), model.tokenizer)
    assert item.tokens.words[-1].text == "anti"
    assert item.dependents.tolist() == list(range(2, 508))


def test_the_best_offset_counts_words_and_a_place_outside_the_sentence_is_wrong():
    # Heads: +2 for the first det, +1 for amod and the second det; the third det's head lies -1.
    found = table(np.full((8, 8), 1 / 8, dtype=np.float32))
    assert found.best_offset("amod") == (1, 1.0)
    assert found.best_offset("det") == (1, 0.5)
    offset, share = found.best_offset("all")
    assert (offset, share) == (1, 0.6)


def test_a_reversed_row_gives_the_offset_from_the_word_that_looks():
    """A dependent's head is one word ahead; from the head, which looks, the dependent is one word back."""
    found = table(np.full((8, 8), 1 / 8, dtype=np.float32))
    forward, back = (found.score("amod", direction, 0, 0) for direction in ("dep->head", "head->dep"))
    assert (forward.offset, forward.evidence.baseline_name) == (1, "always one word ahead")
    assert (back.offset, back.evidence.baseline_name) == (-1, "always one word back")
    assert forward.offset_accuracy == back.offset_accuracy == 1.0


def test_the_table_tells_for_each_relation_where_its_best_offset_lies():
    _, *lines = relation_text(table(looking(8, {1: 3, 2: 3, 3: 4, 5: 6, 6: 4}))).splitlines()
    found = {line.split()[0]: re.split(" {2,}", line)[1:] for line in lines}
    beaten = "no better than its offset"
    assert found["obj"] == ["dep->head", "1-1", "100.0 %", "20.7 to 100.0", "1", "100.0 % (-2)", beaten]
    assert found["amod"] == ["dep->head", "1-1", "100.0 %", "20.7 to 100.0", "1", "100.0 % (+1)", beaten]


def test_an_offset_reaches_ten_words_and_no_further():
    far = cases(["a"] * 12, [-1] * 11 + [0], ["root"] * 11 + ["x"])
    near = cases(["a"] * 11, [-1] * 10 + [0], ["root"] * 10 + ["x"])
    assert table(np.full((14, 14), 0.1, dtype=np.float32), far).best_offset("x")[1] == 0
    assert table(np.full((13, 13), 0.1, dtype=np.float32), near).best_offset("x") == (-10, 1.0)


def test_parts_merge_to_the_whole_in_any_order():
    items = [cases(), cases(["go", "home"], [-1, 0], ["root", "advmod"]), cases()]
    weights = [random_attention(i, 2, 3, len(item.tokens)) for i, item in enumerate(items)]
    whole, left, right = (RelationCounts(2, 3) for _ in range(3))
    for i, (one, item) in enumerate(zip(weights, items, strict=True)):
        whole.add(one, item)
        (left if i < 2 else right).add(one, item)
    left.merge(right)
    a, b = whole.result(), left.result()
    assert a.n_sentences == b.n_sentences == 3
    for name in a.names:
        for direction in ("dep->head", "head->dep"):
            np.testing.assert_array_equal(a.accuracy(name, direction), b.accuracy(name, direction))
            assert a.equals(name, direction) == b.equals(name, direction)
        assert a.best_offset(name) == b.best_offset(name)
    with pytest.raises(SizeError, match="cannot be merged"):
        whole.merge(RelationCounts(3, 2))


def test_more_relations_than_room_grow_it_and_too_many_are_refused():
    counts = RelationCounts(1, 1)
    for i in range(200):
        counts.add(
            np.full((1, 1, 4, 4), 0.25, dtype=np.float32), cases(["go", "home"], [-1, 0], ["root", f"r{i}"])
        )
    assert counts.result().n("r7") == counts.result().n("r199") == 1
    with pytest.raises(InputError, match="more than 200 relations"):
        counts.add(
            np.full((1, 1, 4, 4), 0.25, dtype=np.float32), cases(["go", "home"], [-1, 0], ["root", "new"])
        )


def test_scores_name_the_best_head_in_its_better_direction_and_every_head_when_asked():
    found = table(np.stack([looking(8, {3: 1, 6: 5}), looking(8, {2: 1})])[None])
    det = [score for score in found.scores() if score.relation == "det"]
    assert [(s.direction, s.head, s.accuracy) for s in det] == [("head->dep", 0, 1.0)]
    assert len([s for s in found.scores(every_head=True) if s.relation == "det"]) == 2 * 2
    with pytest.raises(InputError, match="no relation 'csubj'"):
        found.n("csubj")


def test_a_head_under_its_offset_does_not_beat_it():
    counts = RelationCounts(1, 2)
    right, wrong = looking(8, {1: 3, 5: 6, 2: 3, 3: 4, 6: 4}), looking(8, {1: 2})
    for _ in range(40):
        counts.add(np.stack([right, wrong])[None], cases())
    found = counts.result()
    assert found.score("det", "dep->head", 0, 0).beats_offset
    assert not found.score("det", "dep->head", 0, 1).beats_offset
    assert not found.score("amod", "dep->head", 0, 0).beats_offset, "the offset +1 finds every one as well"


@pytest.mark.parametrize(("tried", "beats"), [(1, True), (2, False)])
def test_a_head_beats_its_offset_with_an_interval_that_allows_for_luck(tried, beats):
    """60 of 100: the interval of one begins at 50.2 %, that of the best of two at 48.8 %; the offset finds 49.5 %."""
    score = RelationScore("det", "dep->head", 0, 0, 100, 0.60, 0.502, 0.691, 1, 0.495, tried)
    assert score.beats_offset is beats


@pytest.mark.parametrize(
    ("accuracy", "n", "tried", "said"),
    [
        (0.60, 100, 1, ""),
        (0.60, 100, 2, "could be luck, as the best of 2"),
        (0.59, 100, 2, "no better than its offset"),
        (0.90, 20, 5000, "only 20 cases: thin evidence"),
    ],
)
def test_a_head_above_its_offset_is_not_said_to_be_no_better(accuracy, n, tried, said):
    """The interval of 59 of 100 begins below 49.5 %, that of 60 above."""
    assert RelationScore("det", "dep->head", 0, 0, n, accuracy, 0.5, 0.7, 1, 0.495, tried).said == said


def test_a_head_whose_interval_begins_at_its_offset_does_not_beat_it():
    score = RelationScore("det", "dep->head", 0, 0, 100, 0.60, 0.502, 0.691, 1, 0.505, 1)
    assert not score.beats_offset


def test_choosing_on_one_half_and_counting_on_the_other_takes_luck_away():
    rng = np.random.default_rng(5)
    counts = RelationCounts(4, 10)
    for i in range(120):
        words = [f"w{i}", "b", "c", "d", "e", "f", "g"]
        counts.add(
            rng.dirichlet(np.ones(9), size=(4, 10, 9)).astype(np.float32),
            cases(words, [-1, 5, 0, 6, 2, 3, 1], ["root"] + ["x"] * 6),
        )
    found = counts.result()
    assert found.held_out("x", "dep->head") < found.best("x", "dep->head").accuracy
    assert found.held_out("x", "dep->head") == pytest.approx(1 / 6, abs=0.04)
    assert len(found.equals("x", "dep->head")) > 3, "heads at random cannot be told apart"


def test_where_one_half_has_no_case_nothing_is_chosen_on_it():
    counts = RelationCounts(1, 2)
    words = ["a", "b"]
    for _ in range(3):  # one sentence, so one group: the other half is empty
        counts.add(random_attention(1, 1, 2, 4), cases(words, [1, -1], ["det", "root"]))
    assert counts.result().held_out("det", "dep->head") is None


def test_wilson_is_the_published_interval():
    low, high = wilson(8, 10)
    assert (float(low), float(high)) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    low, high = wilson(np.array([0, 10, 0]), np.array([10, 10, 0]))
    np.testing.assert_allclose(low, [0, 0.7225, 0], atol=1e-4)
    np.testing.assert_allclose(high, [0.2775, 1, 1], atol=1e-4)
    assert z_for_best_of(1) == pytest.approx(1.96, abs=1e-3)
    assert z_for_best_of(72) == pytest.approx(3.39, abs=1e-2)


def test_heads_that_differ_by_noise_are_named_with_the_best():
    rng = np.random.default_rng(0)
    skill = np.array([0.80, 0.79, 0.40, 0.80])
    hits = rng.binomial(8, skill, size=(250, 4))
    hits[:, 3] = hits[:, 0]
    hits[0, 0] += 1
    equal = tied_with_best(hits).tolist()
    best = int(hits.sum(0).argmax())
    assert equal[0] == best
    assert set(equal) >= {0, 3}
    assert 2 not in equal


def test_heads_as_good_come_with_the_best_first_and_then_by_their_hits():
    hits = np.array([[0, 5, 5], [5, 0, 0], [0, 5, 0], [3, 0, 4]])  # 8, 10 and 9 in all
    assert tied_with_best(hits).tolist() == [1, 2, 0]
    assert tied_with_best(hits[:, ::-1]).tolist() == [1, 0, 2]


def test_as_good_is_what_is_ahead_in_up_to_975_of_1000_draws():
    """10 groups for and 4 against: by the normal approximation ahead in 93 %; 13 for and 2 against: in 99.9 %."""
    close, clear = np.zeros((2, 100, 2), dtype=int)
    close[:10, 0], close[10:14, 1] = 1, 1
    clear[:13, 0], clear[13:15, 1] = 1, 1
    assert tied_with_best(close).tolist() == [0, 1]
    assert tied_with_best(clear).tolist() == [0]


def test_a_paired_difference_that_never_changes_sign_is_told_apart():
    """One case better in every group: tiny, and sure; an unpaired test would not see it."""
    rng = np.random.default_rng(1)
    base = rng.integers(0, 50, size=200)
    assert tied_with_best(np.stack([base + 1, base], axis=1)).tolist() == [0]


def test_the_group_of_a_sentence_is_its_own():
    assert group_of("a b") == group_of("a b")
    assert len({group_of(f"sentence {i}") for i in range(4000)}) == 256
