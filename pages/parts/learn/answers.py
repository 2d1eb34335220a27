"""What a reader typed, as a number or a shape: 0,5 and 94.4 %, 1,048,576, (2, 100, 512) and 2x100x512. No Streamlit."""

import re

_MINUS = str.maketrans("−–—‑", "----")
_DECIMAL = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[., '’_]\d{3})+")
_SHAPE = re.compile(r"[-\d\s,;x×*()\[\]]+", re.IGNORECASE)


def values(typed: str) -> list[float]:
    """Return what a number may mean: 1,024 is a thousand and twenty-four, or one and a bit; [] for anything else."""
    text = typed.translate(_MINUS).strip()
    number = text.removesuffix("%").rstrip()
    scale = 1.0 if number == text else 100.0
    found = list[float]()
    if _DECIMAL.fullmatch(number):
        found.append(float(number.replace(",", ".")) / scale)
    if _GROUPED.fullmatch(number):
        found.append(float(re.sub(r"[., '’_]", "", number)) / scale)
    return found


def shape(typed: str) -> list[float]:
    """Return the whole numbers of a shape, however they are parted; [] for anything else."""
    text = typed.translate(_MINUS)
    return [float(size) for size in re.findall(r"-?\d+", text)] if _SHAPE.fullmatch(text) else []
