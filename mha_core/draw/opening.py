"""The selection that a picture opens with: a named head and words, or the strongest link between two words.

In: a grid and names as a person writes them. Out: a `Selection`.
"""

from mha_core.draw.selection import Selection
from mha_core.errors import InputError
from mha_core.record.grid import Grid, head_from_name
from mha_core.record.links import find_unit, heads_by_link, ranked_heads, strongest_link


def opening(grid: Grid, head: str | None, word: str | None, to: str | None) -> Selection:
    """Choose the head named "4-2", looked at from `word`, and its link to `to`; "it#2" is the second of its kind.

    Without a head: the one that links the two words best, or `word` and any other word, or any two words. Raises
    InputError for what is not there, and for `to` without `word`.
    """
    if to is not None and word is None:
        raise InputError("A word that is looked at needs one that looks: give word='...' as well.")
    pin = None if word is None else find_unit(grid.units, word)
    target = None if to is None else find_unit(grid.columns, to)
    if pin is not None and target is not None:
        best = ranked_heads(grid, pin, target).iloc[0]
        strongest = head_from_name(best["head"], *grid.weights.shape[:2])
    else:
        ranked = heads_by_link(grid, pin)
        strongest = ranked[0][0] if ranked else (0, 0)
    chosen = strongest if head is None else head_from_name(head, *grid.weights.shape[:2])
    if pin is not None:
        return Selection(chosen, (pin,), target)
    link = strongest_link(grid, chosen)
    return Selection(chosen, link[:1], link[1]) if link else Selection(chosen)
