"""Which seeds there are: whole numbers that every generator takes."""

from typing import TypeGuard

from mha_core.errors import InputError

LAST = 2**31 - 1


def is_seed(seed: object) -> TypeGuard[int]:
    """Whether that is one."""
    return isinstance(seed, int) and 0 <= seed <= LAST


def check_seed(seed: object) -> None:
    """Raises InputError for what is none."""
    if not is_seed(seed):
        raise InputError(f"The seed is {seed!r:.40}; it is a whole number from 0 to {LAST}.")
