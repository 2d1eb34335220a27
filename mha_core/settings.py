"""Numbers of a config.json as they stand there: a whole number is one, and nothing is rounded or guessed.

In: the settings, a name, and what holds where the name is missing. Raises KeyError without that, SizeError for
anything that is not such a number.
"""

import math
from collections.abc import Mapping
from typing import Any

from mha_core.errors import SizeError

Raw = Mapping[str, Any]
LARGEST = 10**9


def whole(raw: Raw, name: str, default: int | None = None) -> int:
    """A whole number; null stands for the default."""
    value = raw[name] if default is None else raw.get(name)
    if value is None and default is not None:
        return default
    if type(value) is not int or abs(value) > LARGEST:
        raise SizeError(f"{name} must be a whole number in its range, not {ascii(value)[:40]}.")
    return value


def real(raw: Raw, name: str, default: float | None = None) -> float:
    """A finite number; null stands for the default."""
    value = raw[name] if default is None else raw.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise SizeError(f"{name} must be a number in its range, not {ascii(value)[:40]}.")
    return float(value)


def flag(raw: Raw, name: str, default: bool) -> bool:
    """true or false; null stands for the default."""
    value = raw.get(name)
    if value is None:
        return default
    if type(value) is not bool:
        raise SizeError(f"{name} is {ascii(value)[:40]}; it is true or false.")
    return value


def word(raw: Raw, name: str, default: str) -> str:
    """A name; null stands for the default."""
    value = raw.get(name)
    if value is None:
        return default
    if type(value) is not str:
        raise SizeError(f"{name} is {ascii(value)[:40]}; it is a name.")
    return value
