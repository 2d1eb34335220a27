"""Treebanks made by hand, and heads planted in them: what every word looks at is known."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mha_core.heads.baselines import fit_on_halves
from mha_core.heads.cases import Case, Frame, ScoredCases, frame_of
from mha_core.heads.conclude import score_question
from mha_core.heads.corpora import Sentence
from mha_core.heads.questions.syntax import RelationQuestions

TRIED = 1000
LIKES = {"role", "slight", "weak", "tracks"}
TRIES = 20  # draws of a distance until one fits
# A determiner before its noun; in the last two another noun stands between, which no rule leaps over.
TREES = (
    "the 1 det DET, dog 2 nsubj NOUN, saw -1 root VERB, a 4 det DET, cat 2 obj NOUN",
    "the 3 det DET, big 3 amod ADJ, red 3 amod ADJ, dog 4 nsubj NOUN, saw -1 root VERB, cats 4 obj NOUN",
    "the 3 det DET, dog 0 dep NOUN, of 3 case ADP, gold 4 nsubj NOUN, saw -1 root VERB, cats 4 obj NOUN",
    "the 5 det DET, dog 0 dep NOUN, of 5 case ADP, very 4 advmod ADV, old 5 amod ADJ, gold 6 nsubj NOUN,"
    " saw -1 root VERB, cats 6 obj NOUN",
)


def sentence(number: int) -> Sentence:
    """A sentence whose words all differ from those of the others; its last word hangs on the root."""
    rows = [word.split() for word in TREES[number % 4].split(", ")]
    heads = [int(row[1]) for row in rows]
    forms = (*(f"{row[0]}{number}" for row in rows), f"word{number}")
    relations, tags = (*(row[2] for row in rows), "dep"), (*(row[3] for row in rows), "X")
    places, text = (*heads, heads.index(-1)), " ".join(forms)
    return Sentence(forms, places, relations, text, number, tags, f"document {number // 3}")


def treebank(n: int = 400) -> list[Sentence]:
    """In two of four sentences the noun is the next one; in the others a rule that looks for it is wrong."""
    return list(map(sentence, range(n)))


def looking(n: int, targets: dict[int, int], strength: float = 0.9) -> np.ndarray:
    """(n, n): row i gives `strength` to targets[i] and shares the rest; a row without a target is uniform."""
    weights = np.full((n, n), 1 / n, dtype=np.float32)
    for row, target in targets.items():
        weights[row] = (1 - strength) / (n - 1)
        weights[row, target] = strength
    return weights


def anywhere(tree: Sentence, rng: np.random.Generator) -> int:
    return int(rng.integers(len(tree.words)))


# What heads look at from a word of a sentence: the weak ones in some cases, and anywhere in the others.
HEADS: dict[str, Callable[[Sentence, int, np.random.Generator], int]] = {
    "gold": lambda tree, word, _: max(tree.heads[word], 0),
    "weak gold": lambda tree, word, rng: (
        max(tree.heads[word], 0) if rng.random() < 0.5 else anywhere(tree, rng)
    ),
    "weak root": lambda tree, _, rng: tree.heads.index(-1) if rng.random() < 0.8 else anywhere(tree, rng),
    "next noun": lambda tree, word, _: next(
        (i for i, tag in enumerate(tree.tags) if tag == "NOUN" and i > word), 0
    ),
    "next word": lambda tree, word, _: min(word + 1, len(tree.words) - 1),
}


def looks_of(trees: list[Sentence], heads: dict[int, str], seed: int = 0, n_heads: int = 6) -> Frame:
    """Random heads, but those of HEADS by number."""
    rng, looks_by_text = np.random.default_rng(seed), []
    for tree in trees:
        n = len(tree.words)
        looks = rng.integers(0, n, (2, n_heads, n))
        for head, name in heads.items():
            looks[:, head] = [HEADS[name](tree, word, rng) for word in range(n)]
        looks_by_text.append(looks.astype(np.int16).transpose(2, 0, 1))
    return frame_of_looks(trees, looks_by_text)


def frame_of_looks(trees: list[Sentence], looks: list[np.ndarray], is_causal: bool = False) -> Frame:
    """What heads look at in treebank sentences, (word, direction, head) each."""
    sources = [(tree.source, tree.pair or tree.text) for tree in trees]
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


def called(questions: Sequence[ScoredCases], n_heads: int = 6) -> list[tuple[str, int]]:
    """Every question with every head that has its role, or is said to track it."""
    results = [score_question(each, (1, n_heads), TRIED) for each in questions]
    return [
        (each.key, head) for each in results if each for head in range(n_heads) if each.word[0, head] in LIKES
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
