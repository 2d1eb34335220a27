"""What a picture opens with: the head and the words that were asked for, or the strongest link between two words.

In: a grid and names as a person writes them. Out: a `Selection`.
"""

import numpy as np

from mha_core.errors import InputError
from mha_core.grid import Grid, head_from
from mha_core.picture.selection import Selection
from mha_core.ranked_links import ranked_heads, strongest_words, unit_named
from mha_core.wording import Head

Link = tuple[Head, int, int]


def opening(grid: Grid, head: str | None, word: str | None, to: str | None) -> Selection:
    """The head named "4-2", looked at from `word`, and its link to the word `to`; "it#2" is the second of its kind.

    Without a head: the one that links the two words best, or `word` and any other word, or any two words. Raises
    InputError for what is not there, and for `to` without `word`.
    """
    if to is not None and word is None:
        raise InputError("A word that is looked at needs one that looks: give word='...' as well.")
    pin = None if word is None else unit_named(grid, word)
    target = None if to is None else unit_named(grid, to, among_keys=True)
    if pin is not None and target is not None:
        best = ranked_heads(grid, pin, target).iloc[0]
        found: Link | None = (head_from(best["head"], *grid.weights.shape[:2]), pin, target)
    else:
        found = _strongest(grid, pin)
    chosen = head_from(head, *grid.weights.shape[:2]) if head is not None else (found[0] if found else (0, 0))
    if pin is None and head is not None:
        within = _pair(grid, chosen)
        found = within and (chosen, *within)
    if pin is None:
        return Selection(chosen, (found[1],), found[2]) if found else Selection(chosen)
    return Selection(chosen, (pin,), target)


def _strongest(grid: Grid, pin: int | None) -> Link | None:
    """The head with the strongest link between two different words, from `pin` if it is given."""
    best, link = 0.0, None
    for layer, head in np.ndindex(*grid.weights.shape[:2]):
        pair = _pair(grid, (layer, head), pin)
        if pair is not None and grid.weights[layer, head][pair] > best:
            best, link = float(grid.weights[layer, head][pair]), ((layer, head), *pair)
    return link


def _pair(grid: Grid, head: Head, pin: int | None = None) -> tuple[int, int] | None:
    weights = grid.weights[head]
    if pin is not None:
        weights = np.where((np.arange(len(weights)) == pin)[:, None], weights, 0)
    return strongest_words(grid, weights)
