"""What a head usually does, and whether it does so in the sentence at hand: one sentence of at most 20 words.

In: a record, a head, its role or description. A head by place, a sink, a diffuse head and one that copies can be
checked in any text. Whether a syntactic head found the right word cannot; then the sentence says where the chosen word
looks.
"""

from mha_core.heads.questions.base import BY_PLACE
from mha_core.heads.questions.places import PlaceLog
from mha_core.heads.roles import Role
from mha_core.heads.survey import TextItem
from mha_core.heads.verdict import BROAD, HALF
from mha_core.record import AttentionRecord
from mha_core.wording import Head, counted


def usually(
    record: AttentionRecord,
    head: Head,
    role: Role | None,
    looks: tuple[str, str] | None,
    step: int | None = None,
) -> str:
    """Say what a head (from 0) usually does and what it does here.

    `looks`: the chosen word and the word that it looks at most, as they are spelled; `step`: how many tokens further on
    that is, if its direction is to be said.
    """
    there = f"here {_looks(*looks, step)}" if looks else ""
    if role is None:
        return f"No clear role; {there}." if there else "No clear role."
    usual = f"Usually {role.does.removeprefix('often ')}"
    here = in_this_sentence(record, head, role) or there
    return f"{usual}; {here}." if here else f"{usual}."


def _looks(word: str, at: str, step: int | None) -> str:
    if step == 0:
        return f"`{word}` looks at itself"
    way = "" if step is None else "back " if step < 0 else "ahead "
    return f"`{word}` looks {way}at `{at}`"


def in_this_sentence(record: AttentionRecord, head: Head, role: Role) -> str:
    """Say how much a head does in a record of what its role is; empty where that needs gold, or there is no case."""
    if not role.has or role.kind not in (*BY_PLACE, "duplicate"):
        return ""
    layers, heads = (slice(place, place + 1) for place in head)
    log = PlaceLog(record.model.visibility)
    log.add(
        record.weights[layers, heads],
        TextItem(record.tokens),
        None if record.visible is None else record.visible[layers],
    )
    found = log.kept.get("copy" if role.kind == "duplicate" else role.question)
    if not found or (role.kind == "sink" and not found[0].blind):
        return ""
    share = float(found[0].score[0])
    if role.kind == "duplicate":
        right = sum(round(float(one.score[0])) for one in found)
        return f"here in {right} of {counted(len(found), 'case')}"
    if role.kind == "diffuse":
        return f"here its entropy is {_share(share, BROAD)} of the maximum"
    return (
        f"here {_share(share, HALF)} of it"
        if role.kind == "sink"
        else f"here for {_share(share, HALF)} of the tokens"
    )


def _share(share: float, enough: float) -> str:
    return f"{'' if share >= enough else 'only '}{share:.0%}"
