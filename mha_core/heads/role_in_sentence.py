"""What a head usually does, and whether it does so in the sentence at hand: one sentence of at most 20 words.

In: a record, a head, a table of roles. A head by place, a sink, a diffuse head and one that copies can be
checked in any text. Whether a syntactic head found the right word cannot; then the sentence says where the chosen word
looks.
"""

import numpy as np

from mha_core.display_names import Head, count_noun
from mha_core.heads.questions.base import POSITIONAL_KINDS
from mha_core.heads.questions.places import PlaceQuestions
from mha_core.heads.roles import Role, role_of
from mha_core.heads.survey import TextItem
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict import BROAD, HALF
from mha_core.heads.verdict_text import head_text
from mha_core.record.record import AttentionRecord


def usually(
    record: AttentionRecord,
    head: Head,
    table: RoleTable,
    looks: tuple[str, str] | None,
    step: int | None = None,
) -> str:
    """Say what a head (from 0) usually does by its table and what it does here.

    `looks`: the chosen word and the word that it looks at most, as they are spelled; `step`: how many tokens further on
    that is, if its direction is to be said.
    """
    role = role_of(table, head)
    here = in_this_sentence(record, head, role) if role else ""
    here = here or (f"Here {_looks(*looks, step)}." if looks else "")
    return f"{head_text(table, head)} {here}".strip()


def _looks(word: str, key: str, step: int | None) -> str:
    if step == 0:
        return f"`{word}` looks at itself"
    side = "" if step is None else "back " if step < 0 else "ahead "
    return f"`{word}` looks {side}at `{key}`"


def in_this_sentence(record: AttentionRecord, head: Head, role: Role) -> str:
    """Say how much a head does in a record of what its role is; empty where that needs gold, or there is no case."""
    if not role.has or role.kind not in (*POSITIONAL_KINDS, "duplicate"):
        return ""
    layers, heads = (slice(index, index + 1) for index in head)
    columns = PlaceQuestions(record.model.visibility).observe(
        record.weights[layers, heads],
        TextItem(record.tokens),
        None if record.visible is None else record.visible[layers],
    )
    if columns is None:
        return ""
    rows = np.flatnonzero(columns["key"] == ("copy" if role.kind == "duplicate" else role.question))
    if not len(rows) or (role.kind == "sink" and not columns["blind"][rows[0]]):
        return ""
    scores = columns["score"][rows, 0]
    if role.kind == "duplicate":
        return f"Here in {round(scores.sum())} of {count_noun(len(rows), 'case')}."
    if role.kind == "diffuse":
        return f"Here {_share(scores[0], BROAD)} of maximum entropy."
    share = _share(scores[0], HALF)
    return f"Here {share} of its attention." if role.kind == "sink" else f"Here in {share} of the rows."


def _share(share: float, enough: float) -> str:
    return f"{'' if share >= enough else 'only '}{share:.0%}"
