"""From all cases of a question to its result: scores, intervals and verdicts of every head.

In: counts of all cases, and how many comparisons there were in all. Out: a `QuestionResult` with arrays (layer, head):
everything that a table, a page or a file says of this question.
"""

from dataclasses import dataclass, replace

import numpy as np

from mha_core.arrays import FloatArray
from mha_core.display_names import Head
from mha_core.heads.cases import ScoredCases
from mha_core.heads.cluster_stats import (
    Z_95,
    Gap,
    bonferroni_z,
    choose,
    detectable,
    effective,
    gap,
    intervals,
    mean_of,
    standard_error,
)
from mha_core.heads.question_counts import QuestionCounts, count_cases
from mha_core.heads.questions.base import POSITIONAL_KINDS, Question
from mha_core.heads.verdict import GOLD, MIN_CASES, THRESHOLDS, Evidence, Word, beyond_chance, judge

FOLLOWS_GOLD, FOLLOWS_NONE = -1, -2


@dataclass(frozen=True)
class BaselineScore:
    """A baseline and its held-out score. `does` completes "looks at ..."; `by_place`: it knows no parts of speech."""

    name: str
    does: str
    score: float
    by_place: bool = True


@dataclass(frozen=True, eq=False)
class QuestionResult:
    """One question and its result. Arrays are (layer, head), shares from 0 to 1, heads (layer, head) from 0.

    `documents`: from how many the n cases are. `baselines`: the strongest first. `picked`: the best head on
    each half, `chosen` its score there, `held_out` on the other half, with `interval`; `over_baseline`: how far that is
    above the strongest baseline.

    `score` with its 95 % interval `low`, `high`; `effective_n`: the effective sample size; `mass` on the target;
    `control` and the lower end of score minus control, `over_control`; `detectable_gap`: the gap to the strongest
    baseline that n could have shown; `repaired_error`: the standard error of the share of its errors that are repaired.
    `others`: the score from other words with the same features, by name.

    `n_baseline_wrong`: the cases in which the strongest baseline is wrong; `right_there`, `as_baseline_there`: how
    often a head gives the right answer there, and how often the baseline's. `n_all_wrong`: the cases in which every
    baseline is wrong; `right_where_all_wrong`: the share that a head gets right there, `chance` a blind choice's.
    `follows`: the baseline (its number) that a head follows,
    FOLLOWS_GOLD where it follows the right answer, FOLLOWS_NONE where neither is clear. `word`: verdict.py's.
    """

    question: Question
    n: int
    documents: int
    n_comparisons: int
    baselines: tuple[BaselineScore, ...]
    picked: tuple[Head, Head]
    chosen: float
    held_out: float
    interval: tuple[float, float]
    over_baseline: Gap
    score: FloatArray
    low: FloatArray
    high: FloatArray
    effective_n: FloatArray
    detectable_gap: FloatArray
    repaired_error: FloatArray
    mass: FloatArray | None
    control: FloatArray | None
    over_control: FloatArray | None
    others: dict[str, FloatArray]
    n_baseline_wrong: int
    right_there: FloatArray | None
    as_baseline_there: FloatArray | None
    n_all_wrong: int
    right_where_all_wrong: FloatArray | None
    chance: float
    follows: np.ndarray
    word: np.ndarray

    @property
    def key(self) -> str:
        """The question's key."""
        return self.question.key

    @property
    def kind(self) -> str:
        """The kind of role, a key of KINDS."""
        return self.question.kind

    @property
    def best(self) -> Head:
        """The head with the highest score."""
        layer, head = np.unravel_index(int(self.score.argmax()), self.score.shape)
        return int(layer), int(head)

    def rank(self, head: Head) -> int:
        """Return the place of a head among all, from 1; equal scores share the better one."""
        return 1 + int((self.score > self.score[head]).sum())

    def evidence(self, head: Head) -> Evidence:
        """Return what there is to judge a head by."""
        follows, strongest = int(self.follows[head]), self.baselines[0]
        mass = self.score if self.mass is None else self.mass
        names = {FOLLOWS_NONE: "", FOLLOWS_GOLD: GOLD}
        return Evidence(
            self.kind,
            float(self.score[head]),
            self.n,
            float(self.effective_n[head]),
            (strongest.name, strongest.score),
            self.n_comparisons,
            float(mass[head]),
            None if self.control is None else float(self.control[head]),
            None if self.over_control is None else float(self.over_control[head]),
            float(self.detectable_gap[head]),
            names[follows] if follows in names else self.baselines[follows].name,
            float(self.repaired_error[head]),
            self.documents,
        )

    def verdict(self, head: Head) -> Word:
        """Return the verdict on a head."""
        return judge(self.evidence(head))


def score_question(
    cases: ScoredCases | QuestionCounts, shape: tuple[int, int], n_comparisons: int
) -> QuestionResult | None:
    """Return the result of one question; None where one half has no case or no baseline could be fitted."""
    counts = cases if isinstance(cases, QuestionCounts) else count_cases(cases)
    documents, whole = counts.documents, counts.whole
    n, right = documents["n"].sum(1), documents["right"].sum(1)
    selection = choose(documents["right"], documents["n"])
    if selection is None or not counts.baselines:
        return None
    score, hits = mean_of(right, n), documents["hits"].copy()
    hits[:, [each.middle for each in counts.baselines]] = n[:, None] * np.median(score)
    order = sorted(range(len(counts.baselines)), key=lambda i: -hits[:, i].sum())
    strongest = order[0]
    lead, errors = right - hits[:, strongest, None], n - hits[:, strongest]
    low, high = intervals(right, n)
    control, over_control = _control(counts, n_comparisons)
    right_there, as_baseline_there, n_wrong = _where_wrong(counts, strongest)
    n_all_wrong = int(documents["hard_n"].sum())

    def place(flat: int) -> Head:
        return int(flat) // shape[1], int(flat) % shape[1]

    def optional(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else np.asarray(values, dtype=np.float64).reshape(shape)

    ends = intervals(selection.answers, n)
    baselines = [(counts.baselines[i], float(mean_of(hits[:, i], n))) for i in order]
    result = QuestionResult(
        question=counts.question,
        n=int(n.sum()),
        documents=len(documents),
        n_comparisons=n_comparisons,
        baselines=tuple(BaselineScore(each.name, each.does, mean, each.by_place) for each, mean in baselines),
        picked=(place(selection.picked[0]), place(selection.picked[1])),
        chosen=selection.where_chosen,
        held_out=selection.held_out,
        interval=(float(ends[0]), float(ends[1])),
        over_baseline=gap(selection.answers - hits[:, strongest], n),
        score=score.reshape(shape),
        low=low.reshape(shape),
        high=high.reshape(shape),
        effective_n=effective(right, n, binary=counts.binary).reshape(shape),
        detectable_gap=detectable(standard_error(lead, n), n_comparisons).reshape(shape),
        repaired_error=(standard_error(lead, errors) if errors.any() else 0 * score).reshape(shape),
        mass=optional(whole["mass"][0] / n.sum() if counts.has_mass else None),
        control=optional(control),
        over_control=optional(over_control),
        others={name: _mean_of_known(counts, name).reshape(shape) for name in counts.others},
        n_baseline_wrong=n_wrong,
        right_there=optional(right_there),
        as_baseline_there=optional(as_baseline_there),
        n_all_wrong=n_all_wrong,
        right_where_all_wrong=optional(
            mean_of(documents["hard"], documents["hard_n"]) if n_all_wrong else None
        ),
        chance=float(whole["chance"][0]) / n_all_wrong if n_all_wrong else 0.0,
        follows=_followed_answer(counts, order, n_comparisons).reshape(shape),
        word=np.full(shape, "no", dtype="<U8"),
    )
    return with_verdicts(result)


def with_verdicts(result: QuestionResult) -> QuestionResult:
    """Return the result with the verdict on every head, on its evidence."""
    word = np.empty_like(result.word)
    for head in np.ndindex(*word.shape):
        word[head] = result.verdict((head[0], head[1]))
    return replace(result, word=word)


def _control(counts: QuestionCounts, n_comparisons: int) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the control of every head, and the lower end of score minus control, corrected; both (head,)."""
    if not counts.whole["control_n"].any():
        return None, None
    lead, n = counts.documents["control"], counts.documents["controlled"]
    over = mean_of(lead, n) - bonferroni_z(n_comparisons) * standard_error(lead, n) if n.any() else None
    return _mean_of_known(counts, "control"), over


def _mean_of_known(counts: QuestionCounts, name: str) -> FloatArray:
    """Return the mean of the cases that have a value, (...); nan where none has."""
    n = counts.whole[f"{name}_n"][0]
    mean: FloatArray = counts.whole[name][0] / np.where(n > 0, n, np.nan)
    return mean


def _where_wrong(counts: QuestionCounts, strongest: int) -> tuple[FloatArray | None, FloatArray | None, int]:
    """Return how often heads are right where the strongest baseline is wrong, and give its answer, (head,); and n."""
    n = int(counts.whole["wrong"][0, strongest])
    if not n or counts.question.kind in POSITIONAL_KINDS:
        return None, None, 0
    return counts.whole["wrong_right"][0, strongest] / n, _mean_of_known(counts, "wrong_same")[strongest], n


def _followed_answer(counts: QuestionCounts, strongest_first: list[int], n_comparisons: int) -> np.ndarray:
    """Return which answer each head gives where baselines and the right answer differ, (head,).

    FOLLOWS_GOLD: where all baselines are wrong it is right beyond chance by distance (Bonferroni), and where the
    strongest is wrong it is right more often than it agrees with it. Of two candidates some baseline always chooses the
    right one: there, where any of them is wrong, it is right more often than it agrees with it (Bonferroni). Else the
    rank of the baseline it agrees with most, if more than with the right answer (Bonferroni). Each needs MIN_CASES
    cases.
    """
    n_heads, z = counts.documents["right"].shape[-1], bonferroni_z(n_comparisons)
    follows, most = np.full(n_heads, FOLLOWS_NONE), np.zeros(n_heads)
    if counts.question.kind in POSITIONAL_KINDS:
        return follows
    same = _mean_of_known(counts, "same")  # (baseline, head)
    leads = [_lead_of_right_answer(counts, baseline) for baseline in strongest_first]
    known = [each for each in leads if each is not None]
    for rank, baseline in enumerate(strongest_first):
        if (each := leads[rank]) is not None:
            is_followed = (each[0] < -z * each[1]) & (same[baseline] > most)
            follows[is_followed], most[is_followed] = rank, same[baseline][is_followed]
    right, n = counts.documents["hard"], counts.documents["hard_n"]
    if leads[0] is None:
        return follows
    if THRESHOLDS[counts.question.kind].coin:
        follows[np.all([lead > z * error for lead, error in known], axis=0)] = FOLLOWS_GOLD
    elif n.sum() >= MIN_CASES:
        chance = _chance_by_distance(counts, float(counts.whole["chance"][0]) / n.sum())
        per_head = zip(mean_of(right, n).tolist(), effective(right, n).tolist(), chance.tolist(), strict=True)
        beats_chance = np.array([beyond_chance(*head, n_comparisons) for head in per_head])
        follows[beats_chance & (leads[0][0] > Z_95 * leads[0][1])] = FOLLOWS_GOLD
    return follows


def _chance_by_distance(counts: QuestionCounts, blind: float) -> FloatArray:
    """Return what heads would get right that look just as far, but whatever the case, (head,); at least `blind`."""
    answers, looks = counts.steps["answers"], counts.steps["looks"]
    total = answers.sum()
    alike = answers @ looks / total**2 if total else np.zeros(looks.shape[1])
    chance: FloatArray = np.maximum(blind, alike)
    return chance


def _lead_of_right_answer(counts: QuestionCounts, baseline: int) -> tuple[FloatArray, FloatArray] | None:
    """Return how much more often heads give the right answer than a baseline's where that is wrong, and the standard
    error, (head,); None where there are too few such cases."""
    lead, n = counts.documents["lead"][:, baseline], counts.documents["lead_n"][:, baseline]
    return (mean_of(lead, n), standard_error(lead, n)) if n.sum() >= MIN_CASES else None
