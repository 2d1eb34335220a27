"""Sentences worth a look, and the view a known sentence opens with.

In: nothing. Out: `SENTENCES` for Explore, `PAIRS` for Compare; heads are (layer, head) from 0, by model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mha_core.causal.shipped_sweep import PROMPT
from mha_core.display_names import Head
from mha_core.models.model_list import CLASSROOM, EMBEDDED, OPENING_HEADS

FIRST: Head = (3, 1)  # the head that a model opens with which OPENING_HEADS does not name


@dataclass(frozen=True)
class Preset:
    """A sentence, named by what it shows, and where it opens: the word looked from and, by model, the head."""

    name: str
    text: str
    pair: str = ""
    word: str = ""
    heads: Mapping[str, Head] = field(default_factory=dict)


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences that differ in one place; the word and candidates as A spells them."""

    name: str
    a: str
    b: str
    word: str = "it"
    candidates: tuple[str, ...] = ()
    model: str = ""  # the model that it opens in; empty: the one that is chosen


TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."

MARY = PROMPT.text
JOHN = "When Mary and John went to the store, Mary gave a drink to"
KEY, KEYS = "The key to the cabinets", "The keys to the cabinet"
# The word that comes next, and the one it is weighed against: what an experiment with such a sentence is about.
FOLLOWED: Mapping[str, tuple[str, str]] = MappingProxyType({
    MARY: (" Mary", " John"),
    JOHN: (" John", " Mary"),
    KEY: (" is", " are"),
    KEYS: (" are", " is"),
})  # fmt: skip

SENTENCES = (
    Preset("pronoun", TIRED, word="it", heads=OPENING_HEADS),
    Preset("long-distance verb", "The keys to the old wooden cabinet are on the table.", word="are"),
    Preset(
        "repeated name",
        "Zbigniew called and said that Zbigniew would be late.",
        word="Zbigniew",
        heads={EMBEDDED: (2, 9)},
    ),
    Preset("Winograd schema", "The trophy didn't fit in the suitcase because it was too big.", word="it"),
    Preset("short sentence", "The cat sat on the mat because it was tired.", word="it"),
    Preset(
        "two sentences",
        "Maria gave the book to her sister.",
        pair="She had already read it twice.",
        word="She",
        heads={EMBEDDED: (5, 5)},
    ),
)
IN_VIEW = 3  # of these; the others stand behind "More"

PAIRS = (
    MinimalPair("tired / wide, toy model", TIRED, WIDE, candidates=("animal", "street"), model=CLASSROOM),
    MinimalPair("tired / wide", TIRED, WIDE, candidates=("animal", "street")),
    MinimalPair(
        "big / small",
        "The trophy didn't fit in the suitcase because it was too big.",
        "The trophy didn't fit in the suitcase because it was too small.",
        candidates=("trophy", "suitcase"),
    ),
    MinimalPair(
        "feared / advocated",
        "The officials refused the protesters a permit because they feared violence.",
        "The officials refused the protesters a permit because they advocated violence.",
        word="they",
        candidates=("officials", "protesters"),
    ),
    MinimalPair(
        "key / keys",
        "The key to the cabinets is on the table.",
        "The keys to the cabinets are on the table.",
        word="is",
        candidates=("key", "cabinets"),
    ),
)


def preset_of(text: str, pair: str | None) -> Preset | None:
    """Return the preset with exactly this text, if there is one."""
    return next((p for p in SENTENCES if (p.text, p.pair) == (text, pair or "")), None)


def minimal_pair(text: str) -> MinimalPair | None:
    """Return the preset pair of which one sentence is this text, if there is one."""
    return next((pair for pair in PAIRS if text in (pair.a, pair.b)), None)


def twin_sentence(text: str) -> str:
    """Return its minimal pair among the presets, else the sentence itself, ready to be changed."""
    pair = minimal_pair(text)
    return text if pair is None else pair.b if text == pair.a else pair.a
