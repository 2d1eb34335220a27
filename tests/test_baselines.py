"""Heads that only imitate a simple rule, planted beside one that knows the answer."""

import numpy as np
import pytest

from benchmarks import evidence
from mha_core.engine.visibility import Visibility
from mha_core.heads.baselines import fit_on_halves
from mha_core.heads.builtin import read_builtin, tree_of
from mha_core.heads.cases import Frame, ScoredCases, frame_of
from mha_core.heads.conclude import score_question
from mha_core.heads.corpora import PronounCase, Sentence
from mha_core.heads.questions.pronouns import ChoiceQuestions
from mha_core.heads.questions.question_set import QuestionSet
from mha_core.heads.questions.repeated import RareCollector, RareWord
from mha_core.heads.questions.syntax import RelationQuestions
from mha_core.heads.verdict import THRESHOLDS, Evidence, missing
from mha_core.heads.word_weights import tokens_in
from tests import planted
from tests.planted import LIKES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_draws")]
TAGS = ("NOUN", "VERB", "ADJ", "DET")


def trees(n: int = 300) -> list[Sentence]:
    """Sentences in which a word depends on the last one of its own part of speech, or else on any other."""
    rng, sentences = np.random.default_rng(7), []
    for number in range(n):
        tags, heads = rng.choice(TAGS, 9).tolist(), []
        for word in range(9):
            own = [i for i in range(word) if tags[i] == tags[word]]
            other = [i for i in range(9) if i != word]
            heads.append(own[-1] if own and rng.random() < 0.5 else int(rng.choice(other)))
        heads[0] = -1
        forms = tuple(f"w{number}x{i}" for i in range(9))
        relations = ("root", *["conj"] * 8)
        sentences.append(Sentence(forms, tuple(heads), relations, " ".join(forms), number, tuple(tags)))
    return sentences


def pronouns(n: int = 400) -> list[PronounCase]:
    """Texts in which the name that stands before a comma is right if both are named once, and the other one if not."""
    rng, cases = np.random.default_rng(8), []
    for number in range(n):
        a, b, first, twice = f"Ann{number}", f"Sue{number}", rng.random() < 0.5, rng.random() < 0.5
        text = f"{a}{',' if first else ''} met {b}{'' if first else ','} when she left"
        text += f". Then {a} saw {b}" if twice else ". Then it was late"
        answer = int(first == twice) if rng.random() < 0.85 else int(rng.integers(2))
        start = text.index("she")
        spans = ((0, len(a)), (text.index(b), text.index(b) + len(b)))
        cases.append(PronounCase(text, (start, start + 3), spans, answer, document=text))
    return cases


def frame_with(
    questions: QuestionSet, key: str, frame: Frame, extra: list[np.ndarray]
) -> tuple[Frame, list[str]]:
    """The frame with planted heads: one that knows, `extra`, and an imitator of every baseline with an answer."""
    cases = questions.cases(frame)[key]
    second = frame.halves[[case.text for case in cases]]
    rules = [each for each in fit_on_halves(questions.fits, cases, second) if each[0].has_answer]
    shape = (*frame.columns["looks"].shape[:2], 1 + len(extra) + len(rules))
    looks = np.random.default_rng(0).integers(0, 2 if key == "antecedent" else 9, shape)
    for i, case in enumerate(cases):
        looks[case.row, :, 0] = case.answer
        for head, answers in enumerate(extra, 1):
            looks[case.row, :, head] = answers[i]
        for head, (_, *of_halves) in enumerate(rules, 1 + len(extra)):
            if len(guess := of_halves[not second[i]].guess(case)):
                looks[case.row, :, head] = guess[0]
    columns = {**frame.columns, "looks": looks.astype(np.int16)}
    if "others" in columns:
        columns["others"] = np.zeros(looks.shape, np.float32)
    frame = Frame(frame.texts, frame.documents, frame.halves, frame.text, columns)
    return frame, [whole.name for whole, *_ in rules]


def words(questions: QuestionSet, key: str, frame: Frame) -> list[str]:
    (cases,) = (each for each in questions.scored(frame, "planted") if each.question.key == key)
    return [str(word) for word in score_question(cases, (1, cases.right.shape[1]), 1000).word[0]]


@pytest.mark.parametrize("is_causal", [False, True])
def test_who_imitates_a_rule_of_relations_has_no_role(is_causal):
    questions, sentences = RelationQuestions(Visibility(is_causal)), trees()
    looks = [np.zeros((9, 2 - is_causal, 1), int)] * len(sentences)
    empty = planted.frame_of_looks(sentences, looks, is_causal)
    frame, names = frame_with(questions, "conj", empty, [])
    knows, *imitators = words(questions, "conj", frame)
    assert "the last word of its own part of speech" in names
    assert knows == "role"
    assert not LIKES & set(imitators), dict(zip(names, imitators, strict=True))


def test_who_reads_the_surface_of_names_has_no_role():
    """The rule behind the texts is none of the baselines, but trees find it."""
    texts = pronouns()
    reader = np.array([(each.text[each.candidates[0][1]] == ",") == ("saw" in each.text) for each in texts])
    columns = [{"looks": np.zeros((1, 2, 1), int), "others": np.zeros((1, 2, 1))} for _ in texts]
    empty = frame_of([(each.source, each.text) for each in texts], texts, columns)
    frame, names = frame_with(ChoiceQuestions(), "antecedent", empty, [reader])
    knows, reads, *imitators = words(ChoiceQuestions(), "antecedent", frame)
    assert np.mean(reader == [each.answer for each in texts]) > 0.9
    assert knows == "role"
    assert reads not in LIKES
    assert not LIKES & set(imitators), dict(zip(names, imitators, strict=True))


def test_who_looks_at_the_first_or_longest_word_is_no_rare_word_head(model):
    collector, rng = RareCollector(), np.random.default_rng(0)
    for sentence in (each for each in read_builtin() if each.role == "rare"):
        item = RareWord(sentence, tree_of(sentence, model.tokenizer))
        gold, firsts = item.tree.sentence, [word.first for word in item.tokens.words]
        nouns = [i for i, tag in enumerate(gold.tags) if tag in ("NOUN", "PROPN")]
        longest = [max(i, key=lambda i: len(gold.words[i])) for i in (nouns, range(len(gold.words)))]
        rare = firsts[int(rng.integers(len(firsts)))]
        if sentence.kind == "unsplit":
            rare = tokens_in(item.tokens, sentence.spans["rare"])[0]
        weights = np.zeros((1, 4, len(item.tokens), len(item.tokens)), np.float32)
        for head, key in enumerate([rare, *(firsts[i] for i in (nouns[0], *longest))]):
            weights[0, head, :, key] = 1
        collector.add(weights, item)
    (cases,) = collector.scored("builtin")
    knows, *imitators = map(str, score_question(cases, (1, 4), 72).word[0])
    assert knows == "role"
    assert not LIKES & set(imitators)


def test_who_knows_the_answer_has_the_role_in_every_shipped_question():
    """A perfect head against the best baseline of each question, as many cases and documents as it has."""
    for name in ("minilm", "smollm2"):
        table = evidence._shipped(name)
        for answer in table.answers:
            rng, rule = np.random.default_rng(0), answer.baselines[0].score
            hits = (rng.permutation(answer.n) < round(rule * answer.n)).astype(float)
            case = ScoredCases(
                answer.question, np.ones((answer.n, 1)), rng.permutation(answer.n) % answer.documents,
                np.arange(answer.n) % 2 == 1, (evidence.Baseline("rule", "", hits),), np.zeros((answer.n, 1)),
                mass=np.ones(1),
            )  # fmt: skip
            assert score_question(case, (1, 1), table.n_comparisons).word[0, 0] == "role", (name, answer.key)


FULL = {
    "kind": "duplicate", "score": 0.9, "n": 900, "effective": 900.0, "best": ("a rule", 0.3), "n_comparisons": 5000,
    "mass": 0.9, "control": 0.1, "over_control": 0.7, "detectable": 0.05, "error": 0.02, "documents": 300,
}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "change"),
    [
        ("cases", {"effective": 12.0}),
        ("errors", {"best": ("a rule", 0.99), "score": 1.0, "error": 0.0}),
        ("control", {"control": 0.8}),
        ("chance", {"error": 0.3}),
        ("chance", {"documents": 50, "effective": 31.0, "score": 0.62}),
        ("score", {"score": THRESHOLDS["duplicate"].score - 0.01, "best": ("a rule", 0.1)}),
        ("mass", {"mass": 0.2}),
        ("repair", {"score": 0.5, "error": 0.01}),
    ],
)
def test_a_role_lacks_exactly_the_condition_that_fails(condition, change):
    assert missing(Evidence(**FULL)) == ()
    lacks = missing(Evidence(**FULL | change))
    assert lacks[0] == condition
    assert set(lacks) <= {condition, "repair", "chance"}


@pytest.mark.parametrize("name", evidence.DOCUMENTS)
def test_the_documents_have_the_numbers_of_the_shipped_tables(name):
    text = (evidence.ROOT / name).read_text(encoding="utf-8")
    assert evidence.written(text, evidence.passages()) == text
