"""Heads that act at the same moments, in one model or between two. No Streamlit here.

In: atlases of the same text. Out: heads with the number of moments that they share. A moment is the same where both
words of it begin at the same characters of the same passage.
"""

from weakref import WeakKeyDictionary

from mha_core.heads.atlas.table import Atlas
from mha_core.wording import Head

LEAST_SHARED = 3
MOST = 6
Place = tuple[int, int, int]


# An atlas of a reader's own text goes when its reader does.
_places: WeakKeyDictionary[Atlas, dict[Head, frozenset[Place]]] = WeakKeyDictionary()


def places(found: Atlas) -> dict[Head, frozenset[Place]]:
    """Passage and the two words' first characters of every strongest moment."""
    if found not in _places:
        _places[found] = _found(found)
    return _places[found]


def _found(found: Atlas) -> dict[Head, frozenset[Place]]:
    return {
        entry.head: frozenset(
            (
                one.passage,
                found.passages[one.passage].starts[one.query],
                found.passages[one.passage].starts[one.key],
            )
            for one in entry.strongest
        )
        for entry in found.heads
    }


def relatives(found: Atlas, head: Head, among: Atlas) -> list[tuple[Head, int]]:
    """Heads of `among` that share most moments with this one, itself left out."""
    mine = places(found)[head]
    shared = [
        (other, len(mine & theirs))
        for other, theirs in places(among).items()
        if not (among is found and other == head)
    ]
    best = sorted((pair for pair in shared if pair[1] >= LEAST_SHARED), key=lambda pair: (-pair[1], pair[0]))
    return best[:MOST]
