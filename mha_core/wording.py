"""How heads and shares are written for people, once for all screens, files and command lines."""

import math

# (layer, head), both from 0.
Head = tuple[int, int]


def head_name(head: Head) -> str:
    """A head as people read it: layer and head, numbered from 1 ("4-2")."""
    return f"{head[0] + 1}-{head[1] + 1}"


def percent(share: float) -> str:
    """A share with one decimal, "12.3 %". Halves of a tenth go up, as in the browser's own scripts."""
    tenths = math.floor(abs(share) * 1000 + 0.5)
    return f"{'−' if share < 0 and tenths else ''}{tenths // 10}.{tenths % 10} %"
