"""The role or question and the head that the address asks for, and the finding about them. No Streamlit here.

In: a `RoleTable` and the parameters `role`, `question`, `head`. Out: a `Choice`, and sentences.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from mha_core.display_names import Head, head_name, size_in_words
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import BY_WRITING, KIND_OF, KINDS, RoleKind
from mha_core.heads.roles import PART_OF, description_of, heads_with, role_by, role_of
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict import WORDS
from mha_core.heads.verdict_text import comparison, score_text
from pages.parts.frame.page_text import quoted
from pages.parts.frame.selection import parse_head


@dataclass(frozen=True, eq=False)
class Choice:
    """A kind of role, the questions of it that are shown (all whole ones, or one), and the chosen head (from 0)."""

    table: RoleTable
    kind: RoleKind
    answers: tuple[QuestionResult, ...]
    head: Head

    @property
    def question(self) -> str:
        """Key of the one question that is shown, empty where all of the kind are."""
        return self.answers[0].key if len(self.answers) == 1 else ""

    @property
    def title(self) -> str:
        """Title of the one question, or the kind's word."""
        return self.answers[0].question.title if self.question else self.kind.word

    def answer(self, head: Head) -> QuestionResult:
        """Return the question, of those shown, on which a head does best."""
        return min(self.answers, key=lambda answer: _order(answer, head))


@lru_cache(maxsize=8)
def counts(table: RoleTable) -> dict[str, int]:
    """Return the kinds that have a question, in the order of legends, and how many heads have a role of each."""
    kinds = {answer.kind for answer in table.answers}
    return {kind.key: len(heads_with(table, kind.key)) for kind in KINDS if kind.key in kinds}


def choice(table: RoleTable, params: Mapping[str, str]) -> tuple[Choice, list[str]]:
    """Return the choice of the address, or the one shown instead, and a sentence for each value that is refused.

    A head alone is shown by its role or its description; nothing at all by the first role that a head has.
    """
    refused = []
    head = parse_head(params.get("head", ""))
    if head not in table.heads:
        head = None
        if "head" in params:
            refused.append(
                f"Unknown head {quoted(params['head'])}: this model has {size_in_words(*table.shape)}."
            )
    question = table.by_key.get(params.get("question", ""))
    kind = question.kind if question else params.get("role", "")
    for key, is_known in (("question", question is not None), ("role", kind in counts(table))):
        if params.get(key) and not is_known:
            refused.append(f"Unknown {key} {quoted(params[key])}.")
    if kind not in counts(table):
        kind = _first_kind(table, head)
    answers = tuple(answer for answer in table.answers if answer.kind == kind and answer.key not in PART_OF)
    answers = (question,) if question else answers
    return Choice(table, KIND_OF[kind], answers, head or best(table, answers)[1]), refused


def best(table: RoleTable, answers: tuple[QuestionResult, ...]) -> tuple[QuestionResult, Head]:
    """Return the head with the strongest verdict on any of these questions, and the question."""
    return min(((answer, head) for answer in answers for head in table.heads), key=lambda pair: _order(*pair))


def finding(shown: Choice) -> str:
    """Name the head that has the role, or say that none has and which comes closest, with the numbers."""
    answer, head = best(shown.table, shown.answers)
    role, name, word = role_by(shown.table, answer, head), head_name(head), str(answer.word[head])
    numbers = f"{comparison(answer, head)}." if word == "tracks" else f"{score_text(answer, head)}."
    if word == "role":
        return f"Head {name} {role.does}: {numbers}"
    if word in ("slight", "weak"):
        return f"No head has this role; {name} comes closest."
    beaten = any((each.score > each.baselines[0].score).any() for each in shown.answers)
    none = f"No head {'clearly ' if beaten else ''}beats every baseline"
    if beaten and answer.kind in BY_WRITING:
        none = "No head that beats every baseline gives half of its attention to names"
    where = (
        f"for “{answer.question.title}”" if len(shown.answers) == 1 else f"in {len(shown.answers)} questions"
    )
    if shown.head == head:  # its card has the numbers
        return f"{none} {where}; {name} comes closest."
    return f"{none} {where}. Closest is {name}, {answer.question.title}: {numbers}"


def _first_kind(table: RoleTable, head: Head | None) -> str:
    """Return the kind of a head's role or description, else the first that any head has."""
    role = head and (role_of(table, head) or description_of(table, head))
    if role:
        return role.kind
    return next((key for key, n in counts(table).items() if n), next(iter(counts(table))))


def _order(answer: QuestionResult, head: Head) -> tuple[int, float]:
    return WORDS.index(answer.word[head]), answer.baselines[0].score - float(answer.score[head])
