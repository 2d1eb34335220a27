"""Which question a link on the screen is a case of: "the → dog" asks what determiners look at.

In: the units of a picture and two of them. Out: the key of a question, or None. Closed word lists decide, fixed before
any head was looked at; a link between two open words is of no kind but its place.
"""

from collections.abc import Collection, Sequence

from mha_core.record.grid import Unit
from mha_core.wordlists import DETERMINERS, FUNCTION_WORDS, POSSESSIVES, PREPOSITIONS, PRONOUNS

FAR = 4
OWNERS = POSSESSIVES | {"whose"}
REFERRING = PRONOUNS | {"her", "his", "its", "their"}
# No noun is among them: what ties two of them together is no question that is asked of nouns.
CLOSED = FUNCTION_WORDS | OWNERS | DETERMINERS | PREPOSITIONS | REFERRING
SINKS = {"begin": "sink-begin", "separator": "sink-separator"}
STEPS = {-1: "previous", 0: "self", 1: "next"}


def link_kind(
    units: Sequence[Unit], query: int, key: int, known: Collection[str], special: str | None = None
) -> str | None:
    """The key of the question that a link is a case of, among those that are `known`.

    `special`: the role of the unit that is looked at if it is an inserted one ("begin", "separator").
    """
    names = _asked(units, query, key, special)
    return next((name for name in names if name in known), None)


def _asked(units: Sequence[Unit], query: int, key: int, special: str | None) -> list[str]:
    if units[key].special:
        return [SINKS.get(special or "", ""), "sink-first"]
    if units[query].special:
        return []
    looks, seen = (units[i].bare.lower() for i in (query, key))
    together = (
        units[query].segment == units[key].segment
    )  # how far apart two texts stand is nobody's question
    ahead, near = key > query, together and abs(key - query) <= FAR
    names = []
    if looks == seen and not ahead and key != query and looks.isalpha() and looks not in FUNCTION_WORDS:
        names.append("copy")
    if looks in OWNERS and seen not in CLOSED and ahead and near:
        names.append("nmod:poss")
    if looks in REFERRING and seen not in CLOSED and not ahead and query - key > 1 and seen.isalpha():
        names.append("antecedent")
    for words, name in ((DETERMINERS, "det"), (PREPOSITIONS, "case")):
        if looks in words and seen not in CLOSED and ahead and near:
            names.append(name)
        if seen in words and looks not in CLOSED and not ahead and near:
            names.append(f"{name}:back")
    return [*names, STEPS.get(key - query, "") if together else ""]
