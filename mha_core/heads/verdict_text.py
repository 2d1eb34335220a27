"""Verdicts in words, the same on every page, on the command line and in files.

In: a `QuestionResult` or a `RoleTable`, and a head (layer, head) from 0. Out: `question_text`, what one question says
of the head; `head_text`, what all of them say. No sentence has more than 20 words.
"""

from typing import TYPE_CHECKING

from mha_core.display_names import Head, count_noun, percent
from mha_core.heads.questions.base import BY_WRITING, POSITIONAL_KINDS
from mha_core.heads.roles import PART_OF, description_of, roles_held
from mha_core.heads.verdict import MARGIN, MIN_CASES, THRESHOLDS, in_control

if TYPE_CHECKING:
    from mha_core.heads.conclude import QuestionResult
    from mha_core.heads.table import RoleTable

PRONOUNS = "coreference"
POINTS = f"{100 * MARGIN:.0f} points"
# The first word of a verdict; of all others "No".
OUTCOME = {"role": "Yes", "weak": "Barely", "tracks": "Partly", "unclear": "Cannot tell"}


def outcome(answer: "QuestionResult", head: Head) -> str:
    """Return the verdict in a word or two: "Yes", "Barely", "Partly", "No" or "Cannot tell"."""
    return OUTCOME.get(str(answer.word[head]), "No")


def question_text(answer: "QuestionResult", head: Head) -> str:
    """Return the verdict on one question: "Barely: right for 73% of 3,964 pronouns, ..."."""
    word, found, rule, right = (
        str(answer.word[head]),
        answer.evidence(head),
        answer.baselines[0],
        _right(answer, head),
    )
    if word == "unclear":
        if found.n < MIN_CASES:
            return f"Cannot tell: only {count_noun(found.n, 'case')}, and {MIN_CASES} are needed."
        if found.effective < MIN_CASES:
            return f"Cannot tell: effective sample size {found.effective:.0f}, and {MIN_CASES} are needed."
        gap = f"{100 * found.detectable:.0f} points"
        return f"Cannot tell: {right}, {_baseline(answer)}. Only a gap of {gap} would show."
    if word == "no" and in_control(found) and found.score > rule.score:
        return f"No: {right}, but {percent(found.control or 0.0)} in the control too."
    if answer.kind in BY_WRITING and word == "no" and found.mass < THRESHOLDS[answer.kind].mass:
        needed = percent(THRESHOLDS[answer.kind].mass)
        return f"No: names get {percent(found.mass)} of its attention; {needed} are needed."
    if word == "rule" and found.follows:
        return f"No: it follows a baseline, {found.follows}."
    text = f"{outcome(answer, head)}: {right}, {_baseline(answer)}"
    if word == "weak":
        enough, needs = found.score - rule.score >= MARGIN, THRESHOLDS[answer.kind]
        if enough and found.score >= needs.score:
            mass = percent(found.mass)
            return f"Barely: {right}, but with {mass} of its attention; a role needs {percent(needs.mass)}."
        return f"{text}; a role needs {percent(needs.score) if enough else f'+{POINTS}'}."
    if word == "tracks":
        return f"{text}. It is often right where {'the baseline' if len(rule.name) > 20 else rule.name} is wrong."
    return f"{text}."


def _right(answer: "QuestionResult", head: Head) -> str:
    if answer.kind == "sink" and answer.mass is not None:
        return f"{percent(float(answer.mass[head]))} of its attention in {answer.n:,} cases"
    score = percent(float(answer.score[head]))
    if answer.kind == "diffuse":
        return f"{score} of maximum entropy in {answer.n:,} cases"
    cases = "pronouns" if answer.kind == PRONOUNS else "cases"
    return f"{'' if answer.kind in POSITIONAL_KINDS else 'right for '}{score} of {answer.n:,} {cases}"


def _baseline(answer: "QuestionResult") -> str:
    name = {"sink": "chance", "diffuse": "the median head"}.get(answer.kind, "the best baseline")
    return f"{name} {percent(answer.baselines[0].score)}"


def head_text(table: "RoleTable", head: Head) -> str:
    """Return what a head does by all questions: its roles, else what comes closest: "Role: diffuse head."."""
    held = roles_held(table, head)
    if len(held) > 1:
        return f"Roles: {', '.join(role.name for role in held)}."
    if held:
        return f"Role: {held[0].name} ({table.by_key[held[0].question].question.title})."
    role = description_of(table, head)
    if role is None:
        return "No role."
    answer = table.by_key[role.question]
    if answer.word[head] == "weak":
        gaps = [f"{_gap(answer, head)} over the best baseline"]
        for key, whole in PART_OF.items():
            if whole == role.question and key in table.by_key:
                part = table.by_key[key]
                which = part.question.title.removeprefix(f"{answer.question.title}, ")
                gaps.append(f"{_gap(part, head, unit='')} ({which})")
        if float(answer.score[head]) - answer.baselines[0].score >= MARGIN:
            gaps = [question_text(answer, head).removeprefix("Barely: ").removesuffix(".")]
        return f"{role.name[0].upper()}{role.name[1:]}: {', '.join(gaps)}."
    if answer.word[head] == "tracks":
        return f"No role. Closest: {answer.question.title}, but a rule does better."
    return f"No role. It {role.does}."


def _gap(answer: "QuestionResult", head: Head, unit: str = " points") -> str:
    return f"{100 * (float(answer.score[head]) - answer.baselines[0].score):+.1f}{unit}".replace("-", "−")
