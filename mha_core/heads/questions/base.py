"""The kinds of roles that heads can have, and the questions that are asked of every head."""

from dataclasses import dataclass

BACK = ":back"


@dataclass(frozen=True)
class RoleKind:
    """A kind of role: the name of a head that has it, a word for where room is scarce, its colour on maps."""

    key: str
    name: str
    word: str
    colour: str


# Okabe and Ito's colours, told apart by all. The order is that of legends.
KINDS = (
    RoleKind("previous", "previous-token head", "previous token", "#0072b2"),
    RoleKind("next", "next-token head", "next token", "#4a90d9"),
    RoleKind("self", "same-token head", "same token", "#33658a"),
    RoleKind("syntactic", "syntactic head", "syntactic", "#009e73"),
    RoleKind("semantic", "related-word head", "related word", "#7a4fbf"),
    RoleKind("coreference", "coreference head", "coreference", "#d55e00"),
    RoleKind("agreement", "agreement head", "agreement", "#cc79a7"),
    RoleKind("duplicate", "duplicate-token head", "duplicate token", "#e69f00"),
    RoleKind("induction", "induction head", "induction", "#8a3324"),
    RoleKind("mover", "name copier", "name copier", "#c2185b"),
    RoleKind("suppression", "negative name head", "negative name", "#5f7a00"),
    RoleKind("retrieval", "retrieval head", "retrieval", "#00a3a3"),
    RoleKind("successor", "successor head", "successor", "#6b4c2a"),
    RoleKind("linked", "linked-word head", "linked word", "#3f3fd1"),
    RoleKind("rare", "rare-word head", "rare word", "#b8a800"),
    RoleKind("sink", "sink head", "sink", "#808080"),
    RoleKind("dormant", "dormant head", "dormant", "#4d4d4d"),
    RoleKind("diffuse", "diffuse head", "diffuse", "#56b4e9"),
)
KIND_OF = {kind.key: kind for kind in KINDS}
# Told by a place or by where the attention lies; the others need a right answer.
POSITIONAL_KINDS = ("previous", "next", "self", "sink", "dormant", "diffuse")
# Told by what a head writes; where it looks is asked besides, as the mass.
BY_WRITING = ("mover", "suppression")


@dataclass(frozen=True)
class Question:
    """A question with a known answer; `key` is unique in a table, `corpus` the key of what it is asked on.

    `title` is what is looked for ("determiner → its noun"), `does` completes "Usually ..." ("looks at the noun of a
    determiner"), `asks` is the question in words. `relation`: in UD's names. `control`: what the control is.
    """

    key: str
    kind: str
    title: str
    does: str
    asks: str
    corpus: str
    relation: str = ""
    control: str = ""
