"""Seeds: whole numbers that every generator takes."""

from typing import TypeGuard

from mha_core.errors import InputError

MAX_SEED = 2**31 - 1


def is_seed(seed: object) -> TypeGuard[int]:
    """Return whether it is a seed."""
    return isinstance(seed, int) and 0 <= seed <= MAX_SEED


def check_seed(seed: object) -> None:
    """Raise InputError for anything but a seed."""
    if not is_seed(seed):
        raise InputError(f"The seed is {seed!r:.40}; it is a whole number from 0 to {MAX_SEED}.")
