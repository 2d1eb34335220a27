"""Related words, worked out by hand: who is a case, what the rules pick, the control, and what shuffled gold leaves."""

import json
import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mha_core.corpus import Sentence
from mha_core.heads.builtin import read_builtin, related_path
from mha_core.heads.samples import related_samples
from mha_core.heads.verdicts import related
from mha_core.heads.verdicts.entries import conclude
from mha_core.heads.verdicts.halves import half_of
from mha_core.heads.verdicts.looks import Tree
from mha_core.heads.verdicts.meaning import Kept, Meanings, RelatedLog, meanings
from mha_core.heads.verdicts.measured import APART, SEMANTIC
from mha_core.heads.verdicts.nulls import called
from mha_core.heads.verdicts.related import related_measured

ROWS = json.loads(related_path().read_text(encoding="utf-8"))
WORDS = ("the", "doctor", "saw", "a", "tree", "and", "the", "hospital", "doctors")
TAGS = ("DET", "NOUN", "VERB", "DET", "NOUN", "CCONJ", "DET", "NOUN", "NOUN")
HEADS = (1, 2, -1, 4, 2, 7, 7, 4, 7)


@pytest.fixture(scope="module")
def known():
    return meanings()


def sentence(words=WORDS, tags=TAGS, heads=HEADS):
    return Sentence(words, heads, ("dep",) * len(words), " ".join(words), 1, tags)


def kept(number: int, n_heads: int = 4) -> Kept:
    """Five content words; the third of them is related to the first; head 0 knows it, head 1 looks at the third from
    everywhere, and the others look at the next."""
    rng = np.random.default_rng(number)
    order = rng.permutation(5)
    likeness = np.full((5, 5), 0.05)
    likeness[order[0], order[2]] = likeness[order[2], order[0]] = 0.6
    np.fill_diagonal(likeness, -1.0)
    at = np.tile((np.arange(5) + 1) % 5, (n_heads, 1))
    at[0, order[0]], at[0, order[2]] = order[2], order[0]
    at[1] = order[2]
    words = tuple(f"word{number}{i}" for i in range(10))
    text = Sentence(words, (-1, *range(9)), ("dep",) * 10, " ".join(words), number, ("NOUN", "X") * 5)
    return Kept(text, np.arange(0, 10, 2), likeness, at)


def test_cosines_are_those_of_the_embeddings_and_forms_of_one_word_are_no_candidates(model, known):
    log = RelatedLog(known)
    tokens = model.tokenizer.encode_words(WORDS)
    log.add(np.full((2, 3, len(tokens), len(tokens)), 0.1), Tree(sentence(), tokens))
    (one,) = log.found
    assert [WORDS[i] for i in one.places] == ["doctor", "saw", "tree", "hospital", "doctors"]
    table = model.encoder.get_parameter("embeddings.word.weight").detach().numpy()
    (a,), (b,) = (model.tokenizer.ids_of(word) for word in ("doctor", "hospital"))
    first, second = table[a] - table.mean(0), table[b] - table.mean(0)
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert one.likeness[0, 3] == pytest.approx(cosine, abs=1e-5)
    assert one.likeness[0, 4] == one.likeness[4, 0] == one.likeness[2, 2] == -1
    assert WORDS[one.places[one.partner[0]]] == "hospital"
    assert 0 in one.asked


def test_a_decoder_is_asked_only_what_came_before_and_a_head_is_read_among_candidates(model, known):
    tokens = model.tokenizer.encode_words(WORDS)
    weights = np.zeros((1, 1, len(tokens), len(tokens)))
    weights[..., 8, 1] = 0.9  # "hospital" looks at "the" most, which is no content word
    weights[..., 8, 2] = 0.05  # and then at "doctor"
    back = RelatedLog(known, is_causal=True)
    back.add(weights, Tree(sentence(), tokens))
    assert (np.triu(back.found[0].likeness) <= 0).all()
    assert (back.found[0].likeness[0] == -1).all()
    assert back.found[0].at[0, 3] == 0
    assert 0 not in back.found[0].asked


def test_a_head_that_looks_at_a_form_of_the_word_is_asked_for_the_next_it_looks_at(model, known):
    tokens = model.tokenizer.encode_words(WORDS)
    weights = np.zeros((1, 1, len(tokens), len(tokens)))
    weights[..., 2, 9] = 0.9  # "doctor" looks at "doctors" most
    weights[..., 2, 5] = 0.05  # and then at "tree"
    log = RelatedLog(known)
    log.add(weights, Tree(sentence(), tokens))
    assert WORDS[log.found[0].places[log.found[0].at[0, 0]]] == "tree"


def test_words_without_a_vector_of_their_own_and_short_sentences_are_left_out(known):
    places, vectors = known.among(sentence(("the", "zyzzyvas", "of", "it", "42", "rain"), TAGS[:6]), 6)
    assert (len(places), len(vectors)) == (0, 0)
    assert Meanings(known.tokenizer, known.vectors).among(sentence(), 3)[0].tolist() == [1, 2]


def test_a_head_that_knows_is_found_and_one_that_looks_there_from_everywhere_is_not():
    found = {one.asked.key: one for one in related_measured([kept(i) for i in range(120)], "treebank")}
    entry = conclude(found[SEMANTIC], (1, 4), 1000)
    assert (entry.head, entry.score, entry.verdict.word) == ((0, 0), 1.0, "specialist")
    assert (entry.n, entry.clusters) == (240, 120)
    assert entry.heads[0, 1] == 0.5
    assert entry.controls[0, 1] == pytest.approx(0.5, abs=0.05)
    assert entry.controls[0, 0] < 0.3
    rules = {rule.name: rule.score for rule in entry.rules}
    assert rules["a blind choice"] == pytest.approx(0.25)
    assert rules["the first content word"] == pytest.approx(0.25, abs=0.07)
    assert entry.name == entry.title
    assert found[APART].n == 240


def test_a_rule_is_learnt_on_the_half_on_which_it_is_not_asked():
    """In one half a word's partner comes right after it, in the other right before it."""
    some = []
    for number in range(40):
        words = tuple(f"word{number}{i}" for i in range(10))
        text = Sentence(words, (-1, *range(9)), ("dep",) * 10, " ".join(words), number, ("NOUN", "X") * 5)
        likeness = np.full((5, 5), 0.05)
        np.fill_diagonal(likeness, -1.0)
        likeness[(1, 2) if half_of(text.text) else (2, 1)] = 0.6
        some.append(Kept(text, np.arange(0, 10, 2), likeness, np.zeros((1, 5), int)))
    found, _ = related_measured(some, "t")
    assert 10 < found.second_half.sum() < 30
    rules = {rule.name: rule.score for rule in found.rules}
    assert rules["the place where such a word stands most often"] == 0
    assert rules["a blind choice"] == pytest.approx(0.25)


def test_words_that_are_tied_or_side_by_side_are_not_apart():
    one = kept(0)
    row, other = (int(i) for i in np.argwhere(one.likeness > 0.5)[0])
    assert one.apart(row)
    heads = list(one.sentence.heads)
    heads[one.places[row]] = int(one.places[other])
    tied = Sentence(one.sentence.words, tuple(heads), one.sentence.relations, "t", 1, one.sentence.tags)
    assert not Kept(tied, one.places, one.likeness, one.at).apart(row)
    assert not Kept(tied, one.places, one.likeness, one.at).apart(other)
    beside = np.arange(5) * 2
    beside[other] = beside[row] + 1
    free = replace(one.sentence, heads=(-1,) * 10)
    assert Kept(free, one.places, one.likeness, one.at).apart(row)
    assert not Kept(free, beside, one.likeness, one.at).apart(row)
    assert not Kept(free, beside, one.likeness, one.at).apart(other)


@pytest.mark.slow
def test_with_shuffled_gold_even_a_head_that_knows_is_called_by_nothing():
    some = [kept(i) for i in range(120)]
    assert ("semantic", (0, 0)) in called(list(related_measured(some, "t")), (1, 4), 70)
    for seed in range(5):
        shuffled = list(related_measured(some, "t", np.random.default_rng(seed)))
        assert called(shuffled, (1, 4), 70) == []


def test_the_sentences_give_frequency_and_place_nothing():
    assert len(ROWS) == len({row["text"] for row in ROWS}) == 120
    right, wrong, first = Counter(), Counter(), 0
    for row in ROWS:
        nouns = [row["text"][a:b] for a, b in row["candidates"]]
        assert row["candidates"][0][0] < row["candidates"][1][0]
        assert row["text"][slice(*row["word"])].isalpha()
        right[nouns[row["answer"]]] += 1
        wrong[nouns[1 - row["answer"]]] += 1
        first += row["answer"] == 0
    assert right == wrong
    assert set(right.values()) == {2}
    assert first == 60
    for _, (one, other) in pairs():
        same = [sorted(re.findall(r"\w+", row["text"].lower())) for row in (one, other)]
        assert same[0] == same[1]
        assert one["answer"] != other["answer"]
    later = [row for row in ROWS if row["word"][0] > row["candidates"][1][0]]
    assert len(later) == 80


def pairs():
    found = {}
    for row in ROWS:
        found.setdefault(row["pair_id"], []).append(row)
    return found.items()


def test_they_are_asked_this_one_thing_and_serve_no_other_measure(model):
    made = list(related_samples(model))
    assert len(made) == 120
    assert all(one.item is None and one.choice is not None for one in made)
    assert len({one.family for one in made}) == 60
    assert not any(one.role == "semantic" for one in read_builtin())


def test_words_that_have_the_same_partner_are_no_control():
    """Of four words the first is asked for the last, which is also the second one's partner."""
    likeness = np.zeros((4, 4))
    np.fill_diagonal(likeness, -1)
    looks_at = np.array([[3, 3, 0, 0]])  # one head
    kept = SimpleNamespace(at=looks_at, likeness=likeness, partner=np.array([3, 3, 0, 0]))
    right, control = related._answered(kept, related._Case(0, 0, 3))
    assert (right.tolist(), control.tolist()) == ([1], [0])


def test_with_shuffled_gold_a_word_is_no_control_of_itself():
    likeness = np.zeros((4, 4))
    np.fill_diagonal(likeness, -1)
    kept = SimpleNamespace(at=np.array([[2, 3, 0, 0]]), likeness=likeness, partner=np.array([3, 3, 0, 0]))
    right, control = related._answered(kept, related._Case(0, 0, 2))
    assert (right.tolist(), control.tolist()) == ([1], [0])


def test_words_that_may_not_look_there_are_no_control():
    """The second word is a form of the last: what it looks at says nothing of the first."""
    likeness = np.zeros((4, 4))
    np.fill_diagonal(likeness, -1)
    likeness[1, 3] = -1
    kept = SimpleNamespace(at=np.array([[3, 3, 0, 0]]), likeness=likeness, partner=np.array([3, 0, 0, 0]))
    right, control = related._answered(kept, related._Case(0, 0, 3))
    assert (right.tolist(), control.tolist()) == ([1], [0])


def test_every_rule_prefers_what_its_name_says():
    """Of "pen" the candidates are "cup", right before it "ran", and far behind "red" and "hat"; it learnt that such a
    word stands two content words ahead, and has met "red" four times, "cup" three times, once in a sentence of three
    cases, "ran" once, "hat" never."""

    def one(words, tags):
        likeness = np.where(np.eye(5, dtype=bool), -1.0, 0.0)
        places = np.flatnonzero([tag in ["NOUN", "VERB", "ADJ"] for tag in tags.split()])
        forms = tuple(words.split())
        text = Sentence(forms, (-1,) * len(forms), ("d",) * len(forms), words, 1, tuple(tags.split()))
        return Kept(text, places, likeness, np.zeros((1, 5), int))

    learnt = one("Red red cup ran cup red so red", "ADJ ADJ NOUN VERB NOUN X X X")
    thrice = one("cup so boy toy joy fun", "NOUN X NOUN NOUN NOUN NOUN")
    asked = one("cup ran so so pen so so so so red so hat", "NOUN VERB X X NOUN X X X X ADJ X NOUN")
    cases = [related._Case(0, 1, 3), *(related._Case(1, row, row + 2) for row in range(3))]
    rules = related._learnt(cases, [learnt, thrice, asked])
    likes = {
        name: [related._hit(asked, related._Case(2, 2, place), rule) for place in (0, 1, 3, 4)]
        for name, rule in rules.items()
    }
    assert likes == {
        "the nearest content word": [0, 1, 0, 0],
        "the first content word": [1, 0, 0, 0],
        "the last content word": [0, 0, 0, 1],
        "the place where such a word stands most often": [0, 0, 0, 1],
        "the most frequent content word": [0, 0, 1, 0],
        "the rarest content word": [0, 0, 0, 1],
        "a blind choice": [0.25] * 4,
        related.SAME_KIND: [1, 0, 0, 0],
    }
