"""What follows from the tests of a claim about a head, said from their results. No Streamlit.

In: shares with their intervals, rows of shipped tables, tests that were run. Out: sentences, and whether it held.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mha_core.heads.verdict import specific
from mha_core.wording import percent

COIN = 0.5


@dataclass(frozen=True)
class Trial:
    """One test of the claim: what is asked, what came out, what it had to beat, what follows, and whether it held."""

    asks: str
    got: str
    beat: str
    says: str
    held: bool


@dataclass(frozen=True)
class Share:
    """In how many cases a head is right, from 0 to 1, with its interval of 95 %."""

    score: float
    low: float
    high: float

    def over(self, other: "Share") -> bool:
        """Whether it is larger, and the two intervals do not meet."""
        return self.low > other.high


def pronouns_said(mine: Mapping[str, Any]) -> str:
    """Whether a row of GAP's table is above a coin, and whether it is so from pronouns more than from other words."""
    other = f"({percent(mine['control'])} from other words)"
    if mine["ci_low"] <= COIN:
        return f"Not above a coin {other}"
    if specific(mine["accuracy"], mine["control"]):
        return f"Above a coin, and specific to pronouns {other}"
    return f"Above a coin, but from other words as well {other}"


def learnt(head: str, meaning: tuple[Share, Share], names: tuple[Share, Share]) -> tuple[str, bool]:
    """What follows from a head trained and untrained on both kinds of cases; and whether it learnt both."""
    by_meaning, by_names = meaning[0].over(meaning[1]), names[0].over(names[1])
    none = "training made no difference that shows"
    first = f"What {head} can do on GAP it learnt." if by_names else f"On GAP, {none}."
    beats = "" if meaning[0].low > COIN else ", yet not enough to beat a coin"
    then = f"training made a difference{beats}" if by_meaning else f"{none}: the 95 % intervals overlap"
    return f"{first} On the sentences of meaning alone, {then}.", by_meaning and by_names


def fallen(tests: Sequence[Trial]) -> str:
    """What is left of the claim after all tests."""
    lost = [str(number) for number, test in enumerate(tests, 1) if not test.held]
    if not lost:
        return f"The claim has passed all {len(tests)} tests. It holds as far as these go."
    *some, last = lost
    which = f"tests {', '.join(some)} and {last}" if some else f"test {last}"
    return f"The claim has fallen: it failed {which} of {len(tests)}."
