"""Settings of a config.json, read exactly: a whole number is one, and nothing is rounded or guessed.

In: the settings, a name, and the default where the name is missing or null. Raises KeyError without a default,
SizeError for a value of another kind.
"""

import math
from collections.abc import Mapping
from typing import Any

from mha_core.errors import SizeError

Raw = Mapping[str, Any]
MAX_SIZE = 10**9


def whole(raw: Raw, name: str, default: int | None = None) -> int:
    """Read a whole number."""
    value = _value(raw, name, default)
    if type(value) is not int or abs(value) > MAX_SIZE:
        raise SizeError(f"{name} must be a whole number in its range, not {ascii(value)[:40]}.")
    return value


def real(raw: Raw, name: str, default: float | None = None) -> float:
    """Read a finite number."""
    value = _value(raw, name, default)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise SizeError(f"{name} must be a number in its range, not {ascii(value)[:40]}.")
    return float(value)


def flag(raw: Raw, name: str, default: bool) -> bool:
    """Read true or false."""
    value = _value(raw, name, default)
    if type(value) is not bool:
        raise SizeError(f"{name} is {ascii(value)[:40]}; it is true or false.")
    return value


def word(raw: Raw, name: str, default: str) -> str:
    """Read a name."""
    value = _value(raw, name, default)
    if type(value) is not str:
        raise SizeError(f"{name} is {ascii(value)[:40]}; it is a name.")
    return value


def _value(raw: Raw, name: str, default: Any) -> Any:
    value = raw[name] if default is None else raw.get(name)
    return default if value is None else value
