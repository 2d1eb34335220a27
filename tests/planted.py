"""Treebanks made by hand, and heads planted in them: what every word looks at is known."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mha_core.heads.baselines import fit_on_halves
from mha_core.heads.cases import Case, Frame, ScoredCases, frame_of
from mha_core.heads.conclude import QuestionResult, score_question
from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.syntax import RelationQuestions

TRIED = 1000
TRIES = 20  # draws of a distance until one fits
# A determiner before its noun; in the last two another noun stands between, which no rule leaps over.
NEAR = ("the dog saw a cat", [1, 2, -1, 4, 2], "det nsubj root det obj", "DET NOUN VERB DET NOUN")
LONG = (
    "the big red dog saw cats",
    [3, 3, 3, 4, -1, 4],
    "det amod amod nsubj root obj",
    "DET ADJ ADJ NOUN VERB NOUN",
)
FAR = (
    "the dog of gold saw cats",
    [3, 0, 3, 4, -1, 4],
    "det dep case nsubj root obj",
    "DET NOUN ADP NOUN VERB NOUN",
)

FURTHER = (
    "the dog of very old gold saw cats",
    [5, 0, 5, 4, 5, 6, -1, 6],
    "det dep case advmod amod nsubj root obj",
    "DET NOUN ADP ADV ADJ NOUN VERB NOUN",
)


def sentence(number: int, words: str, heads: list[int], relations: str, tags: str) -> Sentence:
    """A sentence whose words all differ from those of the others; its last word hangs on the root."""
    forms = (*(f"{word}{number}" for word in words.split()), f"word{number}")
    heads, names, kinds = [*heads, heads.index(-1)], (*relations.split(), "dep"), (*tags.split(), "X")
    return Sentence(forms, tuple(heads), names, " ".join(forms), number, kinds, f"document {number // 3}")


def treebank(n: int = 400) -> list[Sentence]:
    """In two of four sentences the noun is the next one; in the others a rule that looks for it is wrong."""
    return [sentence(i, *(NEAR, LONG, FAR, FURTHER)[i % 4]) for i in range(n)]


Head = Callable[[Sentence, int, np.random.Generator], int]


def gold(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The true head word."""
    del rng
    return max(one.heads[word], 0)


def next_noun(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The next noun, whatever depends on it."""
    del rng
    return next((i for i in range(word + 1, len(one.words)) if one.tags[i] == "NOUN"), 0)


def one_ahead(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The next word."""
    del rng
    return min(word + 1, len(one.words) - 1)


def weak_gold(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The true head word in every second case, and any word in the others."""
    return gold(one, word, rng) if rng.random() < 0.5 else int(rng.integers(len(one.words)))


def root(one: Sentence, word: int, rng: np.random.Generator) -> int:
    """The root of the sentence in eight of ten cases, from every word."""
    return one.heads.index(-1) if rng.random() < 0.8 else int(rng.integers(len(one.words)))


def looks_of(trees: list[Sentence], planted: dict[int, Head], seed: int = 0, n_heads: int = 6) -> Frame:
    """Random heads, but those planted by number."""
    rng, looks_by_text = np.random.default_rng(seed), []
    for one in trees:
        n = len(one.words)
        at = rng.integers(0, n, (2, n_heads, n))
        for head, looks in planted.items():
            at[:, head] = [looks(one, word, rng) for word in range(n)]
        looks_by_text.append(at.astype(np.int16).transpose(2, 0, 1))
    return frame_of_looks(trees, looks_by_text)


def frame_of_looks(trees: list[Sentence], looks: list[np.ndarray], is_causal: bool = False) -> Frame:
    """What heads look at in treebank sentences, (word, direction, head) each."""
    sources = [(one.source, one.pair or one.text) for one in trees]
    n_words = [np.arange(len(each)) for each in looks]
    n_others = [each if is_causal else np.full_like(each, len(each) - 1) for each in n_words]
    columns = [{"looks": each, "n_candidates": n} for each, n in zip(looks, n_others, strict=True)]
    return frame_of(sources, trees, columns)


def scored(frame: Frame, *keys: str) -> list[ScoredCases]:
    """The cases of some questions, rules fitted on them."""
    every = RelationQuestions().cases(frame)
    return [_scored(key, frame, every[key]) for key in keys]


def _scored(key: str, frame: Frame, cases: list[Case]) -> ScoredCases:
    questions = RelationQuestions()
    rules = fit_on_halves(questions.fits, cases, frame.halves[[case.text for case in cases]])
    return questions.score(key, frame, cases, rules, "treebank")


def answer(frame: Frame, key: str, n_heads: int = 6) -> QuestionResult:
    """What is concluded of all heads."""
    found = score_question(*scored(frame, key), (1, n_heads), TRIED)
    assert found is not None
    return found


def called(found: Sequence[ScoredCases], n_heads: int = 6) -> list[tuple[str, int]]:
    """Every question with every head that has its role, or is said to track it."""
    answers = (score_question(one, (1, n_heads), TRIED) for one in found)
    return [
        (one.key, head)
        for one in answers
        if one is not None
        for head in range(n_heads)
        if one.word[0, head] in ("role", "slight", "weak", "tracks")
    ]


def shuffled(frame: Frame, keys: Sequence[str], seed: int) -> Iterator[ScoredCases]:
    """The questions with shuffled gold: every dependent has the distance of another case that fits its sentence."""
    rng, every = np.random.default_rng(seed), RelationQuestions().cases(frame)
    for key in keys:
        cases = every[key]
        length = np.array([len(case.candidates) for case in cases])
        query, answers = (np.array(each) for each in zip(*(case[1:3] for case in cases), strict=True))
        distances, left = answers - query, np.ones(len(cases), dtype=bool)
        for _ in range(TRIES):
            drawn = query + rng.choice(distances, len(cases))
            fits = left & (drawn >= 0) & (drawn < length)
            answers[fits] = drawn[fits]
            left &= ~fits
        pairs = zip(cases, answers, strict=True)
        yield _scored(key, frame, [case._replace(answer=int(place)) for case, place in pairs])
