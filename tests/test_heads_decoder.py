"""A decoder's heads: induction and copies on random tokens said twice, and only what a token can have seen counts."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import once
import pytest
from heads_by_hand import looking, random_attention, tokens_of

from mha_core import Unavailable, load_model, trace_tokens
from mha_core.corpus import PronounCase, Reading, Sentence
from mha_core.heads.builtin import BuiltIn, read_builtin
from mha_core.heads.copying import CopySums, is_content
from mha_core.heads.coreference import ChoiceCase, CoreferenceSums, looks_back, other_rows
from mha_core.heads.evidence import EvidenceLog
from mha_core.heads.findings import find
from mha_core.heads.items import treebank_items
from mha_core.heads.jobs import JOBS, jobs_of
from mha_core.heads.notices import evenness, notices
from mha_core.heads.positions import PositionSums, entropy
from mha_core.heads.relations import RelationCases, RelationCounts
from mha_core.heads.repeated import IN_ORDER, N_TEXTS, RepeatedSums, copies, is_repeated, repeated_samples
from mha_core.heads.samples import Sample, samples
from mha_core.heads.scoring import ends
from mha_core.heads.seen import evenly, seen
from mha_core.heads.survey import TextItem, every_item, survey
from mha_core.heads.tables import profile_data, profile_text
from mha_core.wording import percent
from mha_core.wordpiece import WordPiece
from pages.parts.specialization.builtin import absent_said, unneeded_said
from tests.decoder_folders import random_decoder, write_decoder


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("decoder")
    write_decoder(folder, random_decoder("llama", 0, max_position_embeddings=300))
    return load_model(str(folder), device="cpu")


@pytest.fixture(scope="module")
def found(decoder):
    made_of = [Path(__file__), Path(__file__).with_name("decoder_folders.py")]
    return once.once("findings-random-decoder", lambda: find(decoder), keep=True, of=made_of)


def causal(weights):
    """The same rows with what comes later taken away."""
    kept = np.tril(weights)
    return (kept / kept.sum(-1, keepdims=True)).astype(np.float32)


def logged(items, heads):
    """The tables of a decoder with one layer, whose heads are functions of a sample."""
    log = EvidenceLog(1, len(heads), is_causal=True)
    for item in items:
        log.add(np.stack([head(item) for head in heads])[None], item)
    return log.result()


def by_content(item, after):
    """A head that looks at the first copy of the token at hand, or right after it."""
    ids = item.tokens.ids
    rows = range(len(ids) - item.said_twice, len(ids))
    return looking(len(ids), {row: ids.index(ids[row]) + after for row in rows}, 0.95)


def by_distance(item, distance):
    n = len(item.tokens)
    return looking(n, {row: row - distance for row in range(distance, n)}, 0.95)


def test_random_tokens_are_said_twice_and_in_the_twin_shuffled(decoder):
    drawn = list(repeated_samples(decoder))
    assert [item.sentence.role for item in drawn] == [IN_ORDER, "shuffled"] * N_TEXTS
    for ordered, twin in zip(drawn[::2], drawn[1::2], strict=True):
        half = ordered.tokens.ids[:40]
        assert ordered.tokens.ids == half * 2
        assert twin.tokens.ids[:40] == half
        assert sorted(twin.tokens.ids[40:]) == sorted(half)
        assert twin.tokens.ids[40:] != half
        assert not any(piece.special for piece in ordered.tokens.pieces)
    assert len({item.tokens.ids for item in drawn}) == 2 * N_TEXTS
    assert [item.tokens.ids for item in repeated_samples(decoder)] == [item.tokens.ids for item in drawn]


def test_an_encoder_is_asked_for_it_with_whole_words_between_its_special_tokens(model):
    drawn = list(repeated_samples(model))
    assert [item.sentence.role for item in drawn] == [IN_ORDER, "shuffled"] * N_TEXTS
    for item in drawn:
        pieces = item.tokens.pieces
        assert [pieces[0].text, pieces[-1].text, len(pieces)] == ["[CLS]", "[SEP]", 82]
        assert all(piece.bare.isalpha() and not piece.continues for piece in pieces[1:-1])
        found = copies(item)
        assert found.rows.tolist() == list(range(41, 81))
        ids = np.array(item.tokens.ids)
        assert (ids[found.rows] == ids[found.first]).all()
        assert (found.first <= 40).all()
    assert {job.name for job in jobs_of(False)} >= {"duplicate", "induction"}
    assert "first" not in {job.name for job in jobs_of(False)}


def test_in_an_encoder_the_copy_is_one_of_all_tokens(model):
    """Looking at the later of the two copies from the first is no case: only tokens said again are asked."""
    log = EvidenceLog(1, 3)
    for item in repeated_samples(model):
        ids, n = list(item.tokens.ids), len(item.tokens)
        first = {row: ids.index(ids[row]) for row in range(41, 81)}
        heads = [first, {row: row + 40 for row in range(1, 41)}, {row: row - 40 for row in range(41, 81)}]
        log.add(np.stack([looking(n, head, 0.95) for head in heads])[None], item)
    found = log.result()["duplicate"]
    assert found.n == N_TEXTS * 40
    assert found.baseline >= 1 / 82
    assert [found.verdict(0, head) for head in range(3)] == ["specialist", "none", "unsure"]
    assert found.mean_mass[0, 0] == pytest.approx(0.95, abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize(("name", "place"), [("duplicate", 10), ("induction", 11)])
def test_an_example_sets_off_the_earlier_copy_and_of_induction_what_came_after_it(name, place):
    (job,) = [job for job in jobs_of(False) if job.name == name]
    item = SimpleNamespace(tokens=None, said_twice=20)
    assert ends(item, job, 30) == ((30,), (place,))


def test_two_heads_of_minilm_find_the_earlier_copy_and_none_does_induction(model):
    sums, log = RepeatedSums(), EvidenceLog(6, 12)
    survey(repeated_samples(model), model, [(sums, is_repeated), (log, every_item)])
    table, jobs = sums.result(), log.result()
    duplicate, induction = jobs["duplicate"], jobs["induction"]
    assert duplicate.n == induction.n == N_TEXTS * 40
    finds = [head for head, verdict in duplicate.verdicts.items() if verdict]
    assert finds == [(1, 1), (2, 9)]
    assert [round(float(duplicate.score[head]), 3) for head in finds] == [0.688, 0.834]
    assert [round(float(table.duplicate[head]), 2) for head in finds] == [0.26, 0.5]
    assert max(float(duplicate.control[head]) for head in finds) < 0.04
    assert not any(induction.verdicts.values())
    assert float(table.induction.max()) < 0.02


@pytest.mark.slow
def test_that_no_head_does_induction_is_said_with_its_numbers_and_the_reason(model):
    log, does = EvidenceLog(6, 12), EvidenceLog(1, 1)
    survey(repeated_samples(model), model, [(log, every_item)])
    told = SimpleNamespace(model=model.info, jobs=log.result())
    said = unneeded_said(told)
    assert "Measured and absent: induction. Of 320 random tokens said again the best head, " in said
    assert "no head puts more than 1.3 % of its mass there" in said
    told.model = replace(model.info, is_causal=True)
    assert unneeded_said(told) == ""
    for item in repeated_samples(model):
        ids = list(item.tokens.ids)
        after = {row: ids.index(ids[row]) + 1 for row in range(41, 81)}
        does.add(looking(len(ids), after, 0.95)[None, None], item)
    assert unneeded_said(SimpleNamespace(model=model.info, jobs=does.result())) == ""


def test_a_decoder_is_not_asked_for_what_comes_later():
    assert {job.name for job in jobs_of(True)} & {"next", "separator", "determiner, back"} == set()
    assert "next" in {job.name for job in jobs_of(False)}


def test_a_perfect_induction_head_scores_one_and_one_that_goes_by_distance_is_told_from_it(decoder):
    heads = [
        lambda item: by_content(item, 1),
        lambda item: by_content(item, 0),
        lambda item: by_distance(item, 39),
        lambda item: by_distance(item, 40),
    ]
    found = logged(repeated_samples(decoder), heads)
    induction, duplicate = found["induction"], found["duplicate"]
    assert induction.n == duplicate.n == N_TEXTS * 40
    # A token drawn twice within a text has its first copy elsewhere: of these small vocabularies some have.
    assert induction.score[0, 0] > 0.9
    assert induction.score[0, 2] == 1.0
    assert duplicate.score[0, 3] == 1.0
    assert [induction.verdict(0, head) for head in range(4)] == ["specialist", "none", "unsure", "none"]
    assert [duplicate.verdict(0, head) for head in range(4)] == ["none", "specialist", "none", "unsure"]
    assert induction.verdicts[0, 2].because == "the control does too: 100.0 %"
    assert induction.control[0, 0] < 0.12
    assert induction.mean_mass[0, 2] == pytest.approx(0.95, abs=1e-6)


def test_induction_and_copies_are_what_a_slow_count_finds(decoder):
    rng = np.random.default_rng(8)
    items = list(repeated_samples(decoder))
    weights = [causal(rng.exponential(size=(3, len(i.tokens), len(i.tokens))) ** 3) for i in items]
    log = EvidenceLog(1, 3, is_causal=True)
    for item, one in zip(items, weights, strict=True):
        log.add(one[None], item)
    found = log.result()
    for name, after in (("duplicate", 0), ("induction", 1)):
        hits, mass, control, n, chance = np.zeros(3), np.zeros(3), np.zeros(3), 0, []
        offsets = []
        for item, one in zip(items, weights, strict=True):
            ids = item.tokens.ids
            for row in range(40, 80):
                for head in range(3):
                    peak = max(range(80), key=lambda k: one[head, row, k])
                    if item.sentence.role == IN_ORDER:
                        hits[head] += peak == row - 40 + after
                        mass[head] += one[head, row, row - 40 + after]
                    else:
                        control[head] += peak == row - 40 + after
                if item.sentence.role == IN_ORDER:
                    n += 1
                    chance.append(1 / (row + 1))
                else:
                    offsets.append(ids.index(ids[row]) + after - row)
        table = found[name]
        assert table.n == n
        np.testing.assert_allclose(table.score[0], hits / n, atol=1e-6)
        np.testing.assert_allclose(table.mean_mass[0], mass / n, atol=1e-6)
        np.testing.assert_allclose(table.control[0], control / n, atol=1e-6)
        fixed = max(offsets.count(o) for o in set(offsets)) / n
        assert table.baseline == pytest.approx(max(np.mean(chance), fixed))
        assert table.baseline_name.startswith("always ")
        assert table.baseline_name.endswith(" tokens back")


def test_without_a_shuffled_twin_a_blind_choice_is_among_what_each_token_sees():
    item = replace(plain(IN_ORDER, {}, ["red", "new", "red", "new"]), said_twice=2)
    table = logged([item], [lambda item: by_distance(item, 2)])["duplicate"]
    assert (table.n, table.score.item(), table.baseline_name) == (2, 1.0, "a blind choice")
    assert table.baseline == pytest.approx(np.mean([1 / 3, 1 / 4]))


def test_once_the_second_copy_is_shuffled_a_distance_gives_chance(decoder):
    found = logged(repeated_samples(decoder), [lambda item: by_distance(item, 30)])
    assert found["induction"].score[0, 0] < 0.1
    head = logged(repeated_samples(decoder), [lambda item: by_content(item, 1)])["induction"]
    assert head.control[0, 0] < 0.12


@pytest.mark.slow
def test_random_weights_have_no_specialist_but_in_looking_broadly(found):
    named = {
        (job, head)
        for job, table in found.jobs.items()
        for head in found.heads
        if table.verdict(*head) == "specialist" and job not in ("broad", "self", "first")
    }
    assert not {pair for pair in named if pair[0] in ("induction", "duplicate", "copy")}


@pytest.mark.slow
def test_the_study_of_a_decoder_counts_its_own_jobs_and_says_which_it_lacks(found, decoder):
    assert found.n_sentences == len(read_builtin())
    assert set(found.jobs) <= {job.name for job in jobs_of(True)}
    absent = {job.name: job.absent for job in found.absent}
    assert "a decoder's token cannot see what comes after it" in absent["next"]
    assert set(absent) >= {"next", "separator", "determiner", "coreference", "coreference, back"}
    assert {table.tried for table in found.jobs.values()} == {15 * (len(found.jobs) + 21 - 3)}
    shown = absent_said(found)
    assert "Not measured here" in shown
    assert all(reason in shown for reason in absent.values())
    assert absent_said(replace(found, model=replace(found.model, is_causal=False))) == ""
    heads = profile_data(found.study, decoder.info)["heads"]
    assert set(heads[0]["repeated"]) == {"previous", "first", "duplicate", "induction"}
    assert "cls" not in heads[0]
    titles, *lines = [line.split() for line in profile_text(found.study).splitlines()[:-1]]
    assert titles[:5] == ["head", "previous", "next", "first", "entropy"]
    assert [" ".join(line[:7]) for line in lines] == [
        f"{row['layer']}-{row['head']} " + " ".join(percent(row[name]) for name in titles[1:4])
        for row in heads
    ]
    assert not any("[CLS]" in title for title, _ in found.measures().values())


@pytest.mark.slow
def test_the_means_over_random_tokens_are_those_of_the_weights(found, decoder):
    items = [item for item in repeated_samples(decoder) if is_repeated(item)]
    weights = [trace_tokens(item.tokens, decoder).weights for item in items]
    table, rows = found.study.repeated, np.arange(40, 80)
    assert table.n_texts == N_TEXTS
    for name, back in (("duplicate", 40), ("induction", 39)):
        expected = np.mean([one[..., rows, rows - back].mean(-1) for one in weights], axis=0)
        np.testing.assert_allclose(getattr(table, name), expected, atol=1e-6)
    before = np.arange(1, 80)
    expected = np.mean([one[..., before, before - 1].mean(-1) for one in weights], axis=0)
    np.testing.assert_allclose(table.previous, expected, atol=1e-6)
    np.testing.assert_allclose(table.first, np.mean([o[..., 1:, 0].mean(-1) for o in weights], 0), atol=1e-6)


def plain(role, spans, words):
    """A sentence without inserted tokens; spans are word numbers."""
    framed = tokens_of(words)
    pieces = tuple(replace(piece, role=None) for piece in framed.pieces[1:-1])
    moved = tuple(replace(word, first=word.first - 1, stop=word.stop - 1) for word in framed.words)
    tokens = replace(framed, pieces=pieces, words=moved)
    at = {name: (tokens.words[i].start, tokens.words[i].end) for name, i in spans.items()}
    return Sample(BuiltIn(tokens.text, role, None, tokens.text, at, None), tokens, None)


def test_of_two_related_words_the_later_one_looks_and_each_case_has_one_direction():
    words = ["the", "old", "dog", "saw", "it"]
    noun_last = plain("determiner", {"determiner": 0, "noun": 2}, words)
    found = logged(
        [noun_last], [lambda item: causal(looking(5, {2: 0})), lambda item: causal(looking(5, {2: 1}))]
    )
    assert found["determiner, from the head"].score.tolist() == [[1.0, 0.0]]
    assert found["determiner, from the head"].baseline == 1.0  # always two words back, in one sentence
    assert "determiner" not in found
    noun_first = plain("determiner", {"determiner": 3, "noun": 1}, words)
    found = logged([noun_first], [lambda item: causal(looking(5, {3: 1}))])
    assert found["determiner"].score[0, 0] == 1.0
    assert "determiner, from the head" not in found
    (good,) = logged([noun_last], [lambda item: causal(looking(5, {2: 0}))])[
        "determiner, from the head"
    ].examples(0, 0)
    assert (good.query, good.target) == ((2,), (0,))


def test_a_blind_choice_and_a_rule_go_by_the_words_before_the_one_that_looks():
    job, nothing = "determiner, from the head", [lambda item: causal(looking(5, {}))]
    two_back = [plain("determiner", {"determiner": i, "noun": i + 2}, list("abcde")) for i in (0, 1)]
    assert logged(two_back, nothing)[job].baseline == 1.0, "always two words back"
    apart = [plain("determiner", {"determiner": 0, "noun": noun}, list("abcde")) for noun in (1, 2)]
    assert logged(apart, nothing)[job].baseline == pytest.approx(np.mean([1, 1 / 2])), "of one word, of two"


def test_what_comes_later_is_no_candidate_and_chance_is_over_what_was_seen():
    item = plain("rare", {"rare": 1}, ["a", "zebra", "ran", "off", "now"])
    found = logged(
        [item], [lambda item: causal(looking(5, {2: 1, 3: 1, 4: 1})), lambda item: causal(looking(5, {}))]
    )
    assert found["rare"].score[0, 0] == 1.0
    assert found["rare"].baseline == pytest.approx(np.mean([1 / 2, 1 / 3, 1 / 4]))
    assert found["first"].baseline == pytest.approx(np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5]))
    assert found["first"].mean_mass[0, 1] == pytest.approx(np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5]))
    assert found["previous"].baseline == pytest.approx(np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5]))
    assert found["broad"].score[0, 1] == pytest.approx(1.0, abs=1e-4)
    assert "next" not in found
    assert "separator" not in found


def test_a_head_that_rests_on_the_first_token_is_called_so():
    items = [plain("plain", {}, ["a", "dog", "ran", "off", str(i)]) for i in range(40)]
    rest = causal(looking(5, dict.fromkeys(range(5), 0), 0.9))
    table = logged(items, [lambda item: rest, lambda item: causal(looking(5, {}))])["first"]
    assert table.verdict(0, 0) == "specialist"
    assert table.verdict(0, 1) != "specialist"
    assert table.claim((0, 0)).label == "rests on the first token"


def test_a_pronoun_is_no_case_where_what_decides_comes_after_it(decoder):
    def version(end, pair, pronoun="it"):
        text = f"The dog met the cat because {pronoun} was {end}."
        at = text.index(f" {pronoun} ") + 1
        choice = PronounCase(text, (at, at + len(pronoun)), ((4, 7), (16, 19)), 0, pair)
        return BuiltIn(f"{pair}-{end}", "coreference", "gender", text, {}, choice)

    same = [version("tall", "a"), version("small", "a")]
    other = [version("tall", "b", "he"), version("tall", "b", "she")]
    made = list(samples([*same, *other], decoder))
    assert [item.choice is None for item in made] == [True, True, False, False]
    assert all(isinstance(item.item, TextItem) for item in made[:2])
    encoders = type("Encoder", (), {"tokenizer": decoder.tokenizer, "is_causal": False})
    assert all(item.choice is not None for item in samples(same, encoders))


def choice(first, second, pronoun, n=7, answer=0):
    return ChoiceCase(
        tokens_of([f"w{i}" for i in range(n)]),
        np.array([pronoun]),
        (np.array([first]), np.array([second])),
        answer,
        None,
        (0.5,) * 4,
    )


def test_a_mention_after_the_pronoun_is_left_out_and_counted():
    sums = CoreferenceSums(1, 2, is_causal=True)
    before, after = choice(1, 3, 5), choice(1, 6, 5)
    assert (looks_back(before), looks_back(after)) == (True, False)
    for case in (before, after):
        sums.add(causal(random_attention(1, 1, 2, 9)), case)
    table = sums.result()
    assert (table.n, table.n_later, table.directions) == (1, 1, ("pronoun->mention",))
    assert other_rows(before, is_causal=True).tolist() == [4, 6, 7]
    assert other_rows(before).tolist() == [2, 4, 6, 7]


def test_the_control_of_a_choice_are_the_rows_that_have_seen_both_candidates():
    """Word 1 comes between them: it has seen the right one alone."""
    words = plain("coreference", {}, ["ann", "met", "eva", "because", "she", "won"])
    case = replace(choice(0, 2, 4), tokens=words.tokens, kind="predicate")
    looks = causal(looking(6, {1: 0, 3: 2, 4: 0, 5: 2}))
    found = logged([replace(words, choice=case)], [lambda item: looks, lambda item: causal(looking(6, {}))])
    table = found["coreference"]
    assert (table.score.tolist(), table.control.tolist()) == ([[1.0, 0.5]], [[0.0, 0.5]])


def test_relations_whose_head_comes_later_are_left_out_and_counted():
    tokens = tokens_of(["a", "dog", "saw", "me"])
    item = RelationCases(tokens, np.array([0, 1, 3]), np.array([1, 2, 2]), ("det", "nsubj", "obj"))
    sums = RelationCounts(1, 2, is_causal=True)
    sums.add(causal(np.stack([looking(6, {4: 3}), looking(6, {4: 2})]))[None], item)
    table = sums.result()
    assert (table.n_later, table.n("obj"), table.directions) == (2, 1, ("dep->head",))
    assert table.accuracy("obj").tolist() == [[1.0, 0.0]]
    assert [score.relation for score in table.scores()] == ["all", "obj"]
    other = RelationCounts(1, 2, is_causal=True)
    other.merge(sums)
    assert other.result().n_later == 2


def test_a_treebank_sentence_that_cannot_be_split_into_its_words_is_left_out(decoder):
    reading = Reading()
    bad = Sentence(("a", ""), (1, -1), ("det", "root"), "a ", 7)
    good = Sentence(("a", "dog"), (1, -1), ("det", "root"), "a dog", 9)
    assert len(list(treebank_items([bad, good], decoder.tokenizer, reading))) == 1
    assert reading.notes == ["Line 7: Word 2 of the sentence has no characters."]


def test_a_causal_head_that_looks_at_all_it_sees_is_the_measure_of_evenness():
    even = evenly(6, is_causal=True)
    np.testing.assert_allclose(even.sum(-1), 1)
    assert even[2].tolist() == [1 / 3, 1 / 3, 1 / 3, 0, 0, 0]
    assert evenness(even, is_causal=True) == pytest.approx(1.0)
    assert evenness(even) < 0.8
    np.testing.assert_allclose(
        entropy(even.astype(np.float32), seen(6, True)), np.log(np.arange(1, 7)), atol=1e-5
    )
    sums = PositionSums(1, 1, is_causal=True)
    item = plain("plain", {}, ["a", "b", "c", "d", "e", "f"])
    sums.add(even[None, None].astype(np.float32), item)
    table = sums.result()
    assert table["entropy"][0, 0] == pytest.approx(table.uniform_entropy, abs=1e-5)
    assert table.uniform_share == pytest.approx(np.mean(1 / np.arange(1, 7)))
    assert table.peak_rows[11] == 0
    assert table.peak_rows[9] == 5
    for measure in table.labels:
        if table.baseline(measure) is not None:
            assert table.baseline(measure) == pytest.approx(float(table[measure][0, 0]), abs=1e-5), measure
    assert table.baseline("next") == 0
    assert table.baseline("last") == pytest.approx(1 / 6 / 6)
    assert table.baseline("previous") == pytest.approx(sum(1 / n for n in range(2, 7)) / 6)
    assert "cls" not in table.labels
    assert "first" in table.labels


def test_rare_tokens_and_surprisal_of_a_decoder_are_those_before_the_row():
    item = plain("plain", {}, ["a", "b", "z", "d", "e"])
    ids = [piece.id for piece in item.tokens.pieces]
    counts = np.full(max(ids) + 1, 50)
    counts[ids[2]] = 1
    sums = CopySums(1, 2, counts, is_causal=True)
    sums.add(causal(np.stack([looking(5, {3: 2, 4: 2}), looking(5, {})]))[None], item)
    table = sums.result()
    assert table.n_rare == 2
    assert table.rare[0, 0] == 1.0
    assert table.rare_baseline == pytest.approx(np.mean([1 / 3, 1 / 4]))
    assert table.lift[0, 1] == pytest.approx(0, abs=1e-6)


def test_a_word_is_known_without_its_space_and_a_piece_that_goes_on_is_none(model, decoder):
    tokens = decoder.tokenizer.encode("cats the")
    assert is_content(tokens.pieces[0])  # the byte "c" alone begins the word
    assert not is_content(tokens.pieces[1])
    assert tokens.pieces[-1].text == " the"
    assert not is_content(tokens.pieces[-1])
    assert isinstance(model.tokenizer, WordPiece)
    pieces = model.tokenizer.encode("unbelievabilities").pieces
    assert [is_content(piece) for piece in pieces[1:-1]] == [True, *[False] * (len(pieces) - 3)]


def test_a_word_counts_as_an_earlier_copy_with_the_space_before_it():
    word = plain("plain", {}, ["dog"]).tokens.pieces[0]
    assert is_content(replace(word, text=" dog"))
    assert not is_content(replace(word, text=" The"))


def test_a_decoder_that_rests_on_its_first_token_is_told_and_the_next_token_never(decoder):
    tokens = decoder.tokenizer.encode("the cat")
    record = trace_tokens(tokens, decoder)
    n = len(tokens)
    rest = np.broadcast_to(causal(looking(n, dict.fromkeys(range(n), 0), 0.9)), record.weights.shape)
    said = {notice.kind: notice for notice in notices(replace(record, weights=rest), (1, 2))}
    assert "rests on the first token, `the`" in said["first"].text
    assert f"in {record.weights.shape[0] * record.weights.shape[1]} of" in said["first"].text
    even = np.broadcast_to(evenly(n, True).astype(np.float32), record.weights.shape)
    kinds = {notice.kind for notice in notices(replace(record, weights=even), (1, 2))}
    assert "uniform" in kinds
    assert not {"first", "sink", "next"} & kinds


def test_a_job_says_whose_it_is_and_a_decoder_hears_why_it_is_not_asked():
    assert {job.model for job in JOBS} == {"encoder", "decoder", "both"}
    assert len({job.name for job in JOBS}) == len(JOBS)
    lacking = [job for job in JOBS if job.model == "encoder" and not job.absent]
    assert all(job.direction == "column" for job in lacking)  # the same question, read from the row instead
    said = {job.name: (job.title, job.does, job.absent) for job in JOBS}
    there, back, from_head = "object", "object, back", "object, from the head"
    assert [said[name] for name in (there, back, from_head)] == [
        ("object → its verb", "the object looks most at its verb",
         "in these sentences its verb comes after the object, which cannot see it"),
        ("verb → its object", "of all words, the verb looks most at the object", ""),
        ("verb → its object", "the verb looks most at the object, of the words before it",
         "in these sentences the object comes after its verb, which cannot see it"),
    ]  # fmt: skip
    assert said["possessive, from the head"] == (
        "what it owns → its possessor",
        "what it owns looks most at the possessor, of the words before it",
        "in these sentences the possessor comes after what it owns, which cannot see it",
    )
    told = "what tells the candidates apart comes after the pronoun, where a decoder cannot look"
    before = "the candidates come before the pronoun, and a decoder's word cannot see what comes after it"
    by_form = "of two candidates, told by he or she, it or they, the"
    assert [said["agreement"], said["agreement, back"]] == [
        ("pronoun → antecedent by gender or number", f"{by_form} pronoun looks more at the right one", told),
        (
            "antecedent by gender or number → pronoun",
            f"{by_form} right one looks more at the pronoun",
            before,
        ),
    ]


@pytest.mark.long
def test_the_embedded_decoder_does_what_others_measured_in_it():
    try:
        smollm2 = load_model("smollm2", device="cpu")
    except Unavailable as problem:
        pytest.skip(str(problem))
    sums, log = RepeatedSums(), EvidenceLog(30, 9, is_causal=True)
    survey(repeated_samples(smollm2), smollm2, [(sums, is_repeated), (log, every_item)])
    table, jobs = sums.result(), log.result()
    for name, head, mass in (
        ("induction", (19, 7), 0.90), ("induction", (18, 4), 0.77), ("induction", (18, 5), 0.72),
        ("induction", (19, 8), 0.60), ("induction", (24, 3), 0.55), ("induction", (24, 8), 0.51),
        ("previous", (17, 1), 0.91), ("previous", (12, 2), 0.85), ("previous", (3, 2), 0.75),
        ("previous", (20, 4), 0.72),
    ):  # fmt: skip
        place = (head[0] - 1, head[1] - 1)
        assert round(float(getattr(table, name)[place]), 2) == mass
        if name == "induction":
            assert jobs[name].verdict(*place) == "specialist"
            assert jobs[name].mean_mass[place] == pytest.approx(mass, abs=0.006)
    assert int((table.first > 0.5).sum()) == 128
    assert jobs["induction"].order()[0] == (18, 6)
    assert copies(next(iter(repeated_samples(smollm2)))).rows.tolist() == list(range(40, 80))
