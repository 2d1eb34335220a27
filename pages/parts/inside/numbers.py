"""Sizes in bytes as people read them."""


def format_bytes(count: float) -> str:
    """Bytes as people read them, in powers of 1,024; 1.25 GiB stays 1.25."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{_short(count)} {unit}"
        count /= 1024
    return f"{_short(count)} TiB"


def _short(value: float) -> str:
    """One decimal; a second one below ten, where it says something."""
    return f"{value:.2f}".removesuffix("0") if value < 10 else f"{value:,.1f}"
