"""The catalogue: what a head may be for, and what a head that is for it is called. Words and colours, no rules.

A `JobKind` is what the letter on a head says; a `Job` is one question with a right answer ("does the determiner
look at its noun?"); a `JobGroup` is what the table of jobs puts under one heading. The rules by which a head gets
a job, and so its name, stand in verdict.py. A job is for encoders, for decoders, or for both.
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
    JobGroup(
        "semantic",
        "Semantic",
        "It ties a word to the one most related to it in meaning. Read by whole words.",
    ),
    JobGroup("coreference", "Coreference", "It ties a pronoun to what it stands for, out of two candidates."),
    JobGroup(
        "rare/copy",
        "Rare and repeated",
        "It looks for the rarest word, or for the same word further back, or for what came after it there.",
    ),
    JobGroup(
        "separator",
        "Separator",
        "It rests on special tokens or punctuation, where there is little to learn.",
    ),
    JobGroup("sink", "Attention sink", "It rests on the first token, where there is little to learn."),
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
    JobKind("semantic", "semantic", "M", "#7a4fbf", "related words", "meaning", "of what the two get"),
    JobKind("coreference", "coreference", "C", "#d55e00", "coreference", "antecedent", "of what the two get"),
    JobKind("agreement", "coreference", "A", "#cc79a7", "agreement", "agreement", "of what the two get"),
    JobKind("copy", "rare/copy", "=", "#e69f00", "earlier copy", "earlier copy", "on it"),
    JobKind("induction", "rare/copy", "I", "#8a3324", "induction", "induction", "on it"),
    JobKind("rare", "rare/copy", "R", "#b8a800", "rare words", "rare words", "of its mass on it"),
    JobKind("separator", "separator", "D", "#808080", "separator", "separators", "of its mass there"),
    JobKind("sink", "sink", "F", "#67727e", "first token", "first token", "of its mass there"),
    JobKind("broad", "broad", "B", "#56b4e9", "broad", "broad", "of the possible entropy"),
)
# Kinds that are asked of a word with two candidates, of which one is right.
CHOICES = frozenset(("semantic", "coreference", "agreement"))
KIND_OF = {kind.key: kind for kind in KINDS}
NO_ROLE_SAID = "no clear role"
SENTENCES, REPEATED = "built-in sentences", "random tokens said again"
OTHER_ROWS = "the other words' rows prefer the right one in"
SHUFFLED = "once the second copy is shuffled it still looks just as far back in"
IN_PIECES = "with an everyday word in pieces in the place of the rare one it looks there in"


@dataclass(frozen=True)
class Job:
    """Something a head may be for. `does` completes "right when ...", `direction` is the reading.

    `model` says whose heads are asked; a decoder's page gives `absent` as the reason why it is not. `from_head`:
    in a relation, the head looks at its dependent. `cases` names what is counted; `control` says what is.
    """

    name: str
    kind: str
    title: str
    does: str
    direction: Literal["row", "column"] = "row"
    model: Literal["encoder", "decoder", "both"] = "both"
    absent: str = ""
    from_head: bool = False
    cases: str = SENTENCES
    control: str = OTHER_ROWS

    @property
    def repeated(self) -> bool:
        """Is it asked of random tokens that are said twice?"""
        return self.cases == REPEATED

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
    "adjective": ("amod", "adjective", "noun"),
    "preposition": ("case", "preposition", "noun"),
}
BACK = ", back"
FROM_HEAD = ", from the head"
LATER = "a decoder's token cannot see what comes after it"


def _relation(name: str, dependent: str, head: str) -> tuple[Job, ...]:
    """The job of the dependent's row, and that of its column; in a decoder that of the head's row, where the
    dependent came before it.
    """
    plain = head.removeprefix("its ")
    looks = f"{head.replace('its ', 'the ', 1)} looks most at the {dependent}"
    back = f"of all words, {looks}"
    there = f"the {dependent} looks most at {head}"
    later = f"in these sentences {head} comes after the {dependent}, which cannot see it"
    earlier = f"in these sentences the {dependent} comes after {head}, which cannot see it"
    return (
        Job(name, "syntactic", f"{dependent} → {head}", there, absent=later),
        Job(name + BACK, "syntactic", f"{plain} → its {dependent}", back, "column", "encoder"),
        Job(
            name + FROM_HEAD,
            "syntactic",
            f"{plain} → its {dependent}",
            f"{looks}, of the words before it",
            model="decoder",
            absent=earlier,
            from_head=True,
        ),
    )


def _choice(name: str, what: str, how: str) -> tuple[Job, Job]:
    there = f"of two candidates, {how}, the pronoun looks more at the right one"
    back = f"of two candidates, {how}, the right one looks more at the pronoun"
    told = "what tells the candidates apart comes after the pronoun, where a decoder cannot look"
    before = "the candidates come before the pronoun, and a decoder's word cannot see what comes after it"
    return (
        Job(name, name, f"pronoun → {what}", there, absent=told),
        Job(name + BACK, name, f"{what} → pronoun", back, "column", "encoder", before),
    )


def _meaning() -> tuple[Job, Job]:
    """Asked of sentences with two candidates, of which one is related to the word that looks and one to another word
    in whose sentences the two change roles."""
    there = "of two nouns, the word looks more at the one related to it in meaning"
    back = "of two nouns, the one related to the word in meaning looks more at it"
    title, turned = "word → the noun related in meaning", "noun → the word related in meaning"
    before = "the two nouns come before the word, and a decoder's word cannot see what comes after it"
    return (
        Job("semantic", "semantic", title, there),
        Job("semantic" + BACK, "semantic", turned, back, "column", "encoder", before),
    )


def _repeated(name: str, kind: str, title: str, does: str) -> Job:
    return Job(name, kind, title, does, cases=REPEATED, control=SHUFFLED)


JOBS: tuple[Job, ...] = (
    Job("previous", "positional", "previous token", "a token looks most at the one before it"),
    Job(
        "next",
        "positional",
        "next token",
        "a token looks most at the one after it",
        model="encoder",
        absent=LATER,
    ),
    Job("self", "positional", "itself", "a token looks most at itself"),
    *_relation("determiner", "determiner", "its noun"),
    *_relation("subject-verb", "subject", "its verb"),
    *_relation("object", "object", "its verb"),
    *_relation("possessive", "possessor", "what it owns"),
    *_relation("adjective", "adjective", "its noun"),
    *_relation("preposition", "preposition", "its noun"),
    *_meaning(),
    *_choice("coreference", "antecedent", "told by the meaning alone"),
    *_choice("agreement", "antecedent by gender or number", "told by he or she, it or they"),
    Job("rare", "rare", "rarest word", "a token looks most at the rarest word", control=IN_PIECES),
    Job("copy", "copy", "earlier copy", "a repeated word looks most at its earlier copy"),
    _repeated("duplicate", "copy", "duplicate token", "a token said again looks most at its earlier copy"),
    _repeated(
        "induction",
        "induction",
        "induction",
        "a token said again looks most at what came after it the first time",
    ),
    Job(
        "separator",
        "separator",
        "separators",
        "a token looks most at a special token or punctuation",
        model="encoder",
        absent="no special tokens are put around a decoder's text",
    ),
    Job("first", "sink", "first token", "a token looks most at the first one of the text", model="decoder"),
    Job("broad", "broad", "broad", "a token spreads its attention evenly"),
)
# The distances that have a name of their own, and the jobs that ask for them.
STEPS = {"previous": -1, "next": 1, "self": 0}


def gold_of(job: Job) -> tuple[str, str, str]:
    """For a job about a relation: the relation in UD's names, and the spans of its dependent and its head."""
    return GOLD[sentence_role(job)]


def sentence_role(job: Job) -> str:
    """The role of the built-in sentences that ask for a job about a relation."""
    return job.name.removesuffix(BACK).removesuffix(FROM_HEAD)


def jobs_of(is_causal: bool) -> tuple[Job, ...]:
    """The jobs that heads of an encoder, or of a decoder, are asked for."""
    kind = "decoder" if is_causal else "encoder"
    return tuple(job for job in JOBS if job.model in ("both", kind))


def distance_said(distance: int) -> str:
    """A distance in tokens as a name: "previous token", "3 tokens back"."""
    named = {STEPS["previous"]: "previous token", STEPS["self"]: "same token", STEPS["next"]: "next token"}
    return named.get(distance, f"{abs(distance)} tokens {'back' if distance < 0 else 'ahead'}")
