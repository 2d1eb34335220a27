"""The catalogue: what a head may be for, and what a head that is for it is called. Words and colours, no rules.

A `JobKind` is what the letter on a head says; a `Job` is one question with a right answer ("does the determiner
look at its noun?"); a `JobGroup` is what the table of jobs puts under one heading. The rules by which a head gets
a job, and so its name, stand in verdict.py.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class JobGroup:
    """Kinds of jobs under one heading; `key` stands in files."""

    key: str
    title: str
    does: str


@dataclass(frozen=True)
class JobKind:
    """What a head is called: its letter and colour on maps, its name, and a word for where room is scarce.

    `share` says what the number beside an example is a share of.
    """

    key: str
    group: str
    letter: str
    colour: str
    name: str
    word: str
    share: str


GROUPS = (
    JobGroup("positional", "Positional", "It looks at a place, whatever stands there."),
    JobGroup("syntactic", "Syntactic", "It ties a word to the word it belongs to. Read by whole words."),
    JobGroup("coreference", "Coreference", "It ties a pronoun to what it stands for, out of two candidates."),
    JobGroup(
        "rare/copy",
        "Rare and repeated",
        "It looks for the rarest word, or for the same word further back.",
    ),
    JobGroup(
        "separator",
        "Separator",
        "It rests on [CLS], [SEP] or punctuation, where there is little to learn.",
    ),
    JobGroup(
        "broad",
        "Broad",
        "It spreads its attention over everything; scored as a share of the possible entropy.",
    ),
)
# Okabe and Ito's colours, told apart by all; every one stands with its letter. The order is that of legends.
KINDS = (
    JobKind("positional", "positional", "P", "#0072b2", "positional", "position", "of its mass there"),
    JobKind("syntactic", "syntactic", "S", "#009e73", "syntactic", "syntax", "on it"),
    JobKind("coreference", "coreference", "C", "#d55e00", "coreference", "antecedent", "of what the two get"),
    JobKind("agreement", "coreference", "A", "#cc79a7", "agreement", "agreement", "of what the two get"),
    JobKind("copy", "rare/copy", "=", "#e69f00", "earlier copy", "earlier copy", "on it"),
    JobKind("rare", "rare/copy", "R", "#b8a800", "rare words", "rare words", "of its mass on it"),
    JobKind("separator", "separator", "D", "#808080", "separator", "separators", "of its mass there"),
    JobKind("broad", "broad", "B", "#56b4e9", "broad", "broad", "of the possible entropy"),
)
KIND_OF = {kind.key: kind for kind in KINDS}
NO_ROLE_SAID = "no clear role"


@dataclass(frozen=True)
class Job:
    """Something a head may be for. `does` completes "right when ...", `direction` is the reading."""

    name: str
    kind: str
    title: str
    does: str
    direction: Literal["row", "column"] = "row"

    @property
    def group(self) -> str:
        """The heading that the job stands under."""
        return KIND_OF[self.kind].group


# Role of the sentence → (relation in UD's names, span of the dependent, span of the head).
GOLD = {
    "determiner": ("det", "determiner", "noun"),
    "subject-verb": ("nsubj", "subject", "verb"),
    "object": ("obj", "object", "verb"),
    "possessive": ("nmod:poss", "possessor", "possessed"),
}
BACK = ", back"


def _relation(name: str, dependent: str, head: str) -> tuple[Job, Job]:
    """The job of the dependent's row, and that of the head's."""
    plain = head.removeprefix("its ")
    back = f"of all words, {plain} looks most at the {dependent}"
    return (
        Job(name, "syntactic", f"{dependent} → {head}", f"the {dependent} looks most at {head}"),
        Job(name + BACK, "syntactic", f"{plain} → its {dependent}", back, "column"),
    )


def _choice(name: str, what: str, how: str) -> tuple[Job, Job]:
    there = f"of two candidates, {how}, the pronoun looks more at the right one"
    back = f"of two candidates, {how}, the right one looks more at the pronoun"
    return (
        Job(name, name, f"pronoun → {what}", there),
        Job(name + BACK, name, f"{what} → pronoun", back, "column"),
    )


JOBS: tuple[Job, ...] = (
    Job("previous", "positional", "previous token", "a token looks most at the one before it"),
    Job("next", "positional", "next token", "a token looks most at the one after it"),
    Job("self", "positional", "itself", "a token looks most at itself"),
    *_relation("determiner", "determiner", "its noun"),
    *_relation("subject-verb", "subject", "its verb"),
    *_relation("object", "object", "its verb"),
    *_relation("possessive", "possessor", "what it owns"),
    *_choice("coreference", "antecedent", "told by the meaning alone"),
    *_choice("agreement", "antecedent by gender or number", "told by he or she, it or they"),
    Job("rare", "rare", "rarest word", "a token looks most at the rarest word"),
    Job("copy", "copy", "earlier copy", "a repeated word looks most at its earlier copy"),
    Job("separator", "separator", "separators", "a token looks most at [CLS], [SEP] or punctuation"),
    Job("broad", "broad", "broad", "a token spreads its attention evenly"),
)
# The distances that have a name of their own, and the jobs that ask for them.
STEPS = {"previous": -1, "next": 1, "self": 0}


def gold_of(job: Job) -> tuple[str, str, str]:
    """For a job about a relation: the relation in UD's names, and the spans of its dependent and its head."""
    return GOLD[job.name.removesuffix(BACK)]


def distance_said(distance: int) -> str:
    """A distance in tokens as a name: "previous token", "3 tokens back"."""
    named = {STEPS["previous"]: "previous token", STEPS["self"]: "same token", STEPS["next"]: "next token"}
    return named.get(distance, f"{abs(distance)} tokens {'back' if distance < 0 else 'ahead'}")
