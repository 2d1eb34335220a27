"""What the atlas says of a head, in sentences for a person: how certain it is stands in them.

In: a head's entry. Out: text; words in `backquotes` are tokens.
"""

from mha_core.heads.atlas.describe import LEAST_MOMENTS, Description, Finding
from mha_core.heads.atlas.table import HeadEntry

NO_DESCRIPTION = "no description"
SAID = 2  # findings beside a position; the data have all


def label(description: Description) -> str:
    """A few words by which heads are counted: the most telling feature, both where a head does two things."""
    names = [one.feature.name for one in description.findings]
    if not names:
        return NO_DESCRIPTION
    return f"two things: {names[0]}; {names[1]}" if description.two else names[0]


def sentence(entry: HeadEntry, rests_on: str) -> str:
    """How it rests, where there is a token to rest on, and what it does when it acts, with the evidence."""
    rests = f"Rests on {rests_on} in {_whole(entry.measures['rests'])} of the rows. " if rests_on else ""
    description = entry.description
    if description.few:
        return (
            f"{rests}No description: it has too few moments in this text to look for one; {LEAST_MOMENTS} at least are "
            "asked for in each half of the passages."
        )
    if not description.findings:
        return (
            f"{rests}No description: none of the fixed features is true of at least half of its strongest moments "
            "and clearly more often than of other pairs, in both halves of the passages."
        )
    if description.two:
        first, second = description.findings[:2]
        return (
            f"{rests}When it acts, it does two things: it looks {_with(first)}; and it looks {_with(second)}."
        )
    content = [one for one in description.findings if one.feature.kind != "position"][:SAID]
    place = [one for one in description.findings if one.feature.kind == "position"]
    return f"{rests}When it acts, it looks {'; '.join(map(_with, content + place))}."


def _with(one: Finding) -> str:
    against = (
        "the keys these rows could choose" if one.feature.kind == "position" else "other pairs as far apart"
    )
    return (
        f"{one.feature.words} ({_whole(one.share)} of its {one.n} strongest moments, {_times(one.lift)} as often as "
        f"{against})"
    )


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"


def _times(lift: float) -> str:
    return f"{lift:.0f} times" if lift >= 10 else f"{lift:.1f} times"
