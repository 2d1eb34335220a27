"""From the table to what a head is called: its role, or a description where it only looks skilled.

A head has a role where its verdict is "role" on a whole question: a part of its cases is evidence and no role. Of
several roles it is called by the first kind in the order of NAMED_BY; of one kind, by what it does in most cases. A
head without a role is described by a weak one, by what it tracks, or by the rule that it follows ("often looks at the
next noun"); such a head is never counted among those with the role.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from mha_core.display_names import Head
from mha_core.heads.questions.base import BACK, KIND_OF, Question

if TYPE_CHECKING:
    from mha_core.heads.conclude import QuestionResult
    from mha_core.heads.table import RoleTable

# A question that is asked of some of another one's cases, and that other one.
PART_OF = {
    "antecedent-even": "antecedent",
    "antecedent-even:back": "antecedent:back",
    "semantic-apart": "semantic",
}

# What a head does comes before where its attention lies (Clark et al. 2019, section 3.2), a place before all.
NAMED_BY = (
    "previous", "next", "self", "induction", "mover", "suppression", "retrieval", "successor", "linked", "duplicate",
    "agreement", "coreference", "syntactic", "semantic", "rare", "dormant", "sink", "diffuse",
)  # fmt: skip


@dataclass(frozen=True)
class Role:
    """What a head does, told by one question: `has` it the role, or is it only described by it?

    `kind` is a key of KINDS, `name` the standard name ("syntactic head (det)"), `does` completes "Usually ...";
    `kinds`: every kind of role that the head has, its own first.
    """

    question: str
    kind: str
    name: str
    does: str
    has: bool
    kinds: tuple[str, ...] = ()


def roles_held(table: "RoleTable", head: Head) -> "tuple[Role, ...]":
    """Return all roles of a head (from 0), one a kind, the one that it is called by first."""
    held: dict[str, Role] = {}
    for answer in answers_of(table, head, ("role",)):
        if _is_whole(table, answer, head):
            held.setdefault(answer.kind, role_by(table, answer, head))
    return tuple(held.values())


def role_of(table: "RoleTable", head: Head) -> Role | None:
    """Return the role that a head (from 0) is called by; None where it has none."""
    held = roles_held(table, head)
    return replace(held[0], kinds=tuple(role.kind for role in held)) if held else None


def description_of(table: "RoleTable", head: Head) -> Role | None:
    """Return what a head is described by where it has no role: what it almost does or tracks in most cases, else the
    rule it follows."""
    for words in (("slight", "weak", "tracks"), ("rule",)):
        if answers := answers_of(table, head, words):
            return role_by(table, max(answers, key=lambda each: each.n * float(each.score[head])), head)
    return None


@lru_cache(maxsize=16)
def roles(table: "RoleTable") -> dict[Head, Role]:
    """Return the heads that have a role, and which."""
    named = {head: role_of(table, head) for head in table.heads}
    return {head: role for head, role in named.items() if role is not None}


def heads_with(table: "RoleTable", kind: str) -> list[Head]:
    """Return the heads that have a role of a kind, the best first."""
    best: dict[Head, float] = {}
    for answer in table.answers:
        if answer.kind == kind:
            for head in table.heads:
                if answer.word[head] == "role" and _is_whole(table, answer, head):
                    best[head] = max(best.get(head, 0.0), float(answer.score[head]))
    return sorted(best, key=lambda head: -best[head])


def _is_whole(table: "RoleTable", answer: "QuestionResult", head: Head) -> bool:
    """Return whether a role by this question is one by the question that it is a part of, too."""
    whole = table.by_key.get(PART_OF.get(answer.key, ""))
    return whole is None or whole.word[head] == "role"


def answers_of(table: "RoleTable", head: Head, words: tuple[str, ...]) -> "list[QuestionResult]":
    """Return the questions on which a head has one of these verdicts, in the order in which it is named by them."""
    return sorted(
        (answer for answer in table.answers if answer.word[head] in words),
        key=lambda answer: (
            words.index(str(answer.word[head])),
            NAMED_BY.index(answer.kind),
            -answer.n * float(answer.score[head]),
        ),
    )


def role_by(table: "RoleTable", answer: "QuestionResult", head: Head) -> Role:
    """Return what one question says of a head."""
    question, word = answer.question, str(answer.word[head])
    name, does = KIND_OF[answer.kind].name, question.does
    if question.relation:
        name += f" ({question.relation})"
    if word == "role" and question.kind == "sink" and "dormant" in table.by_key:
        name = name if table.by_key["dormant"].word[head] == "role" else "active sink head"
    elif word in ("slight", "weak"):
        name = f"{word} {name}"
    elif word == "tracks":
        name = f"{question.title}, no better than a rule"
    elif word == "rule":
        name = does = _following(question, answer.baselines[int(answer.follows[head])].does)
    return Role(question.key, answer.kind, name, does, word == "role")


def _following(question: Question, does: str) -> str:
    """Return what a head does that follows a rule, which names a word to look at."""
    if question.kind not in ("coreference", "agreement"):
        return f"often looks at {does}"
    if question.key.endswith(BACK):
        return f"often looks from {does} to a pronoun"
    return f"often looks from a pronoun to {does}"
