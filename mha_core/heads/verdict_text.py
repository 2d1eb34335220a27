"""Verdicts in words, the same on every page, on the command line and in files.

In: a `QuestionResult` or a `RoleTable`, and a head (layer, head) from 0. Out: `question_text`, what one question says
of the head; `head_text`, what all of them say. No sentence has more than 20 words.
"""

from typing import TYPE_CHECKING

from mha_core.display_names import Head, count_noun, percent
from mha_core.heads.cluster_stats import Z_95
from mha_core.heads.questions.base import BY_WRITING, POSITIONAL_KINDS
from mha_core.heads.roles import description_of, roles_held
from mha_core.heads.verdict import MIN_CASES, SHARE, THRESHOLDS, Evidence, min_errors, missing

if TYPE_CHECKING:
    from mha_core.heads.conclude import QuestionResult
    from mha_core.heads.table import RoleTable

PRONOUNS = "coreference"
# The first word of a verdict; of all others "No".
OUTCOME = {
    "role": "Yes",
    "slight": "Slightly",
    "weak": "Barely",
    "tracks": "Partly",
    "unclear": "Cannot tell",
}


def outcome(answer: "QuestionResult", head: Head) -> str:
    """Return the verdict in a word or two: "Yes", "Slightly", "Barely", "Partly", "No" or "Cannot tell"."""
    return OUTCOME.get(str(answer.word[head]), "No")


def question_text(answer: "QuestionResult", head: Head) -> str:
    """Return the verdict on one question with the condition that failed: "Slightly: right for 80% of ..."."""
    word, evidence = str(answer.word[head]), answer.evidence(head)
    lacks, asks = missing(evidence), THRESHOLDS[answer.kind]
    text = f"{outcome(answer, head)}: {score_text(answer, head)}"
    if word == "unclear":
        return f"Cannot tell: {_too_few(answer, evidence) or text.removeprefix('Cannot tell: ')}"
    if word == "no" and "control" in lacks and evidence.score > evidence.best[1]:
        return f"No: {_right(answer, head)}, but {percent(evidence.control or 0.0)} in the control too."
    if word == "rule":
        return f"No: it follows a baseline, {evidence.follows}."
    if word == "tracks":
        return f"Partly: {comparison(answer, head)}."
    if word == "role" or "chance" in lacks or "control" in lacks:
        return f"{text}."
    if "score" in lacks or answer.kind == "sink":
        return f"{text}; a role needs {percent(asks.score or asks.mass)}."
    if "mass" in lacks:
        mass, subject = (
            percent(evidence.mass),
            "Names get" if answer.kind in BY_WRITING else "The target gets",
        )
        return f"{text}. {subject} {mass} of its attention; a role needs {percent(asks.mass)}."
    return f"{text}. {_repair(evidence)}"


def comparison(answer: "QuestionResult", head: Head) -> str:
    """Return a head's score beside the best baseline's, and what it gets right where that is, or all are, wrong."""
    text, rule, hard = _right(answer, head), answer.baselines[0], answer.right_where_all_wrong
    if hard is None and answer.right_there is not None:
        right_there = percent(float(answer.right_there[head]))
        return f"{text}, {rule.name} for {percent(rule.score)}; where those are wrong, for {right_there}"
    if hard is None:
        return score_text(answer, head)
    rest = f"{percent(float(hard[head]))} of {answer.n_all_wrong:,} (chance {percent(answer.chance)})"
    return f"{text}, {_baseline(answer)}; where every baseline fails, {rest}"


def score_text(answer: "QuestionResult", head: Head) -> str:
    """Return a head's score beside the best baseline's: "right for 81% of 1,817 cases, the best baseline 60%"."""
    return f"{_right(answer, head)}, {_baseline(answer)}"


def _too_few(answer: "QuestionResult", evidence: Evidence) -> str:
    """Return why nothing can be told."""
    needed, n_errors = f"and {MIN_CASES} are needed.", min_errors(evidence.n_comparisons)
    if evidence.n < MIN_CASES:
        return f"only {count_noun(evidence.n, 'case')}, {needed}"
    if evidence.effective < MIN_CASES:
        return f"effective sample size {evidence.effective:.0f}, {needed}"
    if evidence.n_errors < n_errors:
        return f"the best baseline is wrong in only {count_noun(evidence.n_errors, 'case')}, and {n_errors} are needed."
    score, gap = percent(evidence.score), f"{100 * evidence.detectable:.0f} points"
    return f"{score} of {answer.n:,}, {_baseline(answer)}. Only a gap of {gap} would show."


def _repair(evidence: Evidence) -> str:
    low, high = (percent(evidence.repaired + z * evidence.error) for z in (-Z_95, Z_95))
    return (
        f"It repairs {percent(evidence.repaired)} of the baseline's errors ({low} to {high}); "
        f"a role needs {percent(SHARE)} or more."
    )


def _right(answer: "QuestionResult", head: Head) -> str:
    """Return what a head does in how many cases, held out where it was picked among all."""
    if answer.kind == "sink" and answer.mass is not None:
        return f"{percent(float(answer.mass[head]))} of its attention in {answer.n:,} cases"
    score = percent(float(answer.score[head]))
    if answer.kind == "diffuse":
        return f"{score} of maximum entropy in {answer.n:,} cases"
    if head == answer.best and percent(answer.held_out) != score:
        score = f"{percent(answer.held_out)} held out ({score} in all)"
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
    if answer.word[head] == "rule":
        return f"No role. It {role.does}."
    if answer.word[head] == "tracks":
        return f"No role. Closest: {answer.question.title}. {capital(comparison(answer, head))}."
    return f"{capital(role.name)}: {question_text(answer, head).partition(': ')[2]}"


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[0].upper() + text[1:]
