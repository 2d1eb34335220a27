"""The parts of the training page: their settings, and their results in sentences. No Streamlit here.

In: the user's choices, and the numbers of a training. Out: settings, and sentences with those numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mha_core.display_names import count_noun, percent
from mha_core.heads.questions.base import KIND_OF
from mha_core.training.head_scores import NAMED_BY
from mha_core.training.tasks import JOBS
from mha_core.training.train import TrainingSetup

Report = Mapping[str, Any]
# The parts of the page by what is trained there.
PARTS = {"jobs": "One head or four?", "induction": "Induction heads", "picture": "Pronoun head"}
HEADS = (1, 2, 4, 8)
LAYERS = (1, 2, 3)
LIMITS = (200, 1_000, 2_000, 4_000, 8_000)
UP_TO = (200, 600, 1_500, 3_000, 6_000)
LEARNT = 0.9  # the accuracy from which a task counts as learned
CLIFF = 0.5
FREE = 0.01  # a head is not needed if its ablation costs no task more than this
GUESSES = {"under 25%": (0.0, 0.25), "40%": (0.25, 0.55), "70%": (0.55, 0.85), "over 85%": (0.85, 1.01)}
CHANCE = {"jobs": 1 / 29, "induction": 1 / 64}


@dataclass(frozen=True)
class Choice:
    """The `setups` of models A and B."""

    task: str
    setups: tuple[TrainingSetup, TrainingSetup]

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the trainer."""
        return {"runs": [asdict(setup) for setup in self.setups]}

    @property
    def params(self) -> dict[str, str]:
        """URL parameters."""
        left, right = self.setups
        if self.task == "jobs":
            sizes = {"left": left.heads, "right": right.heads, "limit": left.steps}
        else:
            sizes = {"shallow": left.layers, "deep": right.layers, "each": left.heads, "upto": left.steps}
        return {
            "train": PARTS[self.task],
            **{key: str(n) for key, n in (sizes | {"seed": left.seed}).items()},
        }

    def names(self) -> tuple[str, str]:
        """Return the names of the two models: their heads or layers, whichever the page varies."""
        size = "head" if self.task == "jobs" else "layer"
        left, right = (count_noun(getattr(setup, f"{size}s"), size) for setup in self.setups)
        return (left, right) if left != right else (f"{left} (A)", f"{right} (B)")


def choice_of(task: str, left: tuple[int, int], right: tuple[int, int], seed: int, limit: int) -> Choice:
    """Return two models of so many (layers, heads). Raises InputError for impossible sizes."""
    return Choice(task, (TrainingSetup(task, *left, seed, limit), TrainingSetup(task, *right, seed, limit)))


def curve_of(rows: Sequence[Mapping[str, Any]], run: int) -> list[Mapping[str, Any]]:
    """Return the rows of one of the two models."""
    return [row for row in rows if row["run"] == run]


def jobs_text(name: str, report: Report) -> str:
    """Say where one model ended in the three jobs."""
    last = report["curve"][-1]
    shares = ", ".join(f"{percent(last['jobs'][job])} ({job})" for job in JOBS)
    return (
        f"**{name}**: {shares} after {last['step']:,} steps (n = {report['answers']:,} per task; chance "
        f"{percent(CHANCE['jobs'])})."
    )


def jobs_guess_text(guess: str | None, name: str, report: Report) -> str:
    """Say whether the guess about the left model was right; "" without a guess."""
    if guess not in GUESSES:
        return ""
    low, high = GUESSES[guess]
    accuracy = report["curve"][-1]["accuracy"]
    answer = "Right" if low <= accuracy < high else "Not so"
    return f"You guessed “{guess}” for {name}. {answer}: {percent(accuracy)} over the three tasks."


def jobs_why(choice: Choice, reports: Sequence[Report]) -> str:
    """Explain the result of the three jobs, or say what to try where the larger model did not learn them."""
    ends = [report["curve"][-1]["accuracy"] for report in reports]
    heads = [setup.heads for setup in choice.setups]
    many, few = (1, 0) if heads[1] >= heads[0] else (0, 1)
    if ends[many] < LEARNT:
        name, setup = choice.names()[many], choice.setups[many]
        more = {"more steps": setup.steps < LIMITS[-1], "more heads": setup.heads < HEADS[-1]}
        return _not_learnt(name, [option for option, is_left in more.items() if is_left])
    if heads[few] > 1 or ends[few] >= LEARNT:
        return "Compare the pictures: which head looks where, and for which task?"
    return (
        "One head has one row of weights per token, so it splits its attention between all three tasks. "
        "Several heads can each watch one place."
    )


def _not_learnt(name: str, options: Sequence[str]) -> str:
    """Say what may still help a model."""
    more = f"{', '.join(options)} or " if options else ""
    return f"{name} did not reach {percent(LEARNT)}: try {more}another seed."


def induction_why(choice: Choice, reports: Sequence[Report]) -> str:
    """Explain the result of induction, or say what to try where the deeper model did not learn it."""
    learnt = [report["curve"][-1]["accuracy"] >= LEARNT for report in reports]
    layers = [setup.layers for setup in choice.setups]
    deep, shallow = (1, 0) if layers[1] >= layers[0] else (0, 1)
    if not learnt[deep] and layers[deep] > 1:
        name, setup = choice.names()[deep], choice.setups[deep]
        return _not_learnt(name, ["more steps"] if setup.steps < UP_TO[-1] else [])
    if learnt[deep] and (learnt[shallow] or layers[shallow] > 1):
        return "Compare the roles: which head finds the previous token, and which one searches for it?"
    return (
        "Induction takes two steps. One layer marks each token with the one before it; a later layer searches for that "
        "mark. A second head cannot replace a second layer."
    )


def induction_text(name: str, report: Report) -> str:
    """Say where one model ended, and at which step it passed 50 %."""
    last = report["curve"][-1]
    passed = next((row["step"] for row in report["curve"] if row["accuracy"] >= CLIFF), None)
    when = "It never passed 50%" if passed is None else f"It passed 50% at step {passed:,}"
    return (
        f"**{name}**: {percent(last['accuracy'])} after {last['step']:,} steps (n = {report['answers']:,}; chance "
        f"{percent(CHANCE['induction'])}). {when}."
    )


EXPECTED = ("first", "second", "both", "neither")


def expected_words(names: Sequence[str]) -> dict[str, str]:
    """Return the words of each possible guess."""
    return {"first": f"only {names[0]}", "second": f"only {names[1]}", "both": "both", "neither": "neither"}


def induction_guess_text(guess: str | None, names: Sequence[str], reports: Sequence[Report]) -> str:
    """Say whether the guess about who learns it was right; "" without a guess."""
    if guess not in EXPECTED:
        return ""
    first, second = (report["curve"][-1]["accuracy"] >= LEARNT for report in reports)
    result = ("both" if second else "first") if first else ("second" if second else "neither")
    words, answer = expected_words(names), "Right" if result == guess else "Not so"
    return f"You guessed that “{words[guess]}” would reach {percent(LEARNT)}. {answer}: {words[result]}."


def roles_text(name: str, report: Report) -> str:
    """Name the heads with a role, by the thresholds for real models."""
    mass = {KIND_OF[kind].name: kind for kind in NAMED_BY}
    named = [
        f"{head['head']} {head['role']} ({percent(head[mass[head['role']]])} of its attention)"
        for head in report["heads"]
        if head["role"]
    ]
    if not named:
        return f"**{name}**: no previous-token or induction head."
    return f"**{name}**: {'; '.join(named)}."


def free_text(report: Report) -> str:
    """Say which heads can be ablated, one at a time, at a cost of at most one point."""
    lost = {line["head"]: lost_most(report, line)[1] for line in report["without"]}
    free = [head for head, cost in lost.items() if round(cost, 9) <= FREE]
    which = "the only head" if len(lost) == 1 else f"any of the {len(lost)} heads"
    if not free:
        return f"Ablating {which} costs more than one point."
    if len(lost) == 1:
        return f"Ablating {which} costs at most one point."
    return (
        f"Ablating one head costs at most one point for {len(free)} of {len(lost)} heads: {', '.join(free)}."
    )


def lost_most(report: Report, without: Mapping[str, Any]) -> tuple[str, float]:
    """Return the job that loses most, and how much."""
    last = report["curve"][-1]
    before = last["jobs"] if "jobs" in last else {"induction": last["accuracy"]}
    after = without["jobs"] if "jobs" in last else {"induction": without["accuracy"]}
    costs = {job: before[job] - after[job] for job in before}
    worst = max(costs, key=lambda job: costs[job])
    return worst, costs[worst]


def points(share: float) -> str:
    """Return a difference of two shares in percentage points, without a unit."""
    return f"{100 * share:.1f}".replace("-", "−")
