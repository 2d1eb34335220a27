"""Typed answers as a number or a shape: 0,5 and 94.4 %, 1,048,576, (2, 100, 512) and 2x100x512. No Streamlit."""

import re

_MINUS = str.maketrans("−–—‑", "----")
_DECIMAL = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[., '’_]\d{3})+")
_SHAPE = re.compile(r"[-\d\s,;x×*()\[\]]+", re.IGNORECASE)


def values(typed: str) -> list[float]:
    """Return the readings of a number: 1,024 is a thousand and twenty-four, or one and a bit; [] for anything else."""
    text = typed.translate(_MINUS).strip()
    number = text.removesuffix("%").rstrip()
    scale = 1.0 if number == text else 100.0
    readings = [number.replace(",", ".")] if _DECIMAL.fullmatch(number) else []
    readings += [re.sub(r"[., '’_]", "", number)] if _GROUPED.fullmatch(number) else []
    return [float(reading) / scale for reading in readings]


def shape(typed: str) -> list[float]:
    """Return the whole numbers of a shape, whatever separates them; [] for anything else."""
    text = typed.translate(_MINUS)
    return [float(size) for size in re.findall(r"-?\d+", text)] if _SHAPE.fullmatch(text) else []
