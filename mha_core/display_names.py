"""Names of heads, shares and characters as people read them, for all screens, files and command lines."""

import math
import re
import unicodedata
from typing import Literal

# (layer, head), both from 0.
Head = tuple[int, int]
HEAD_NAME = re.compile(r"([1-9][0-9]{0,3})-([1-9][0-9]{0,3})")
# Granularity of a picture: one head, a layer (its heads mixed), or all layers together.
Per = Literal["head", "layer", "model"]
_MARKS = {"\n": "↵", "\r": "↵", "\t": "⇥", "\x7f": "␡", "\u00ad": "‐", "\u200b": "\u25cc", "\ufeff": "\u25cc"}
_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def head_name(head: Head) -> str:
    """Return a head as people read it: layer and head, numbered from 1 ("4-2")."""
    return f"{head[0] + 1}-{head[1] + 1}"


def parse_head(name: object) -> Head | None:
    """Return the head of a name such as "4-2", from 0; None for anything else."""
    match = HEAD_NAME.fullmatch(name) if isinstance(name, str) else None
    return (int(match[1]) - 1, int(match[2]) - 1) if match else None


def place_name(head: Head, per: Per = "head") -> str:
    """Return the name of a picture: "head 4-2", "layer 4", or "all layers"."""
    return {"head": f"head {head_name(head)}", "layer": f"layer {head[0] + 1}", "model": "all layers"}[per]


def short_name(head: Head, per: Per = "head") -> str:
    """Return the name without the word "head": "4-2", "layer 4", or "all layers"."""
    return head_name(head) if per == "head" else place_name(head, per)


def always(offset: int) -> str:
    """Describe a fixed-offset rule: "always two words ahead"."""
    if not offset:
        return "always the word itself"
    count, words = _NUMBERS.get(abs(offset), str(abs(offset))), "word" if abs(offset) == 1 else "words"
    return f"always {count} {words} {'ahead' if offset > 0 else 'back'}"


def count_noun(n: int, noun: str, verbs: tuple[str, str] | None = None) -> str:
    """Return a number with its noun, "1 word", "1,200 words"; with `verbs`, of one and of many, also "1 word is"."""
    counted = f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
    return f"{counted} {verbs[n != 1]}" if verbs else counted


def size_in_words(n_layers: int, n_heads: int) -> str:
    """Return the size of a model: "6 layers of 12 heads"."""
    return f"{count_noun(n_layers, 'layer')} of {count_noun(n_heads, 'head')}"


def percent(share: float) -> str:
    """Write a share as a whole percentage, "12%"; below one percent with one decimal, "0.4%".

    Halves go up, as in the browser's own scripts (assets/js/format.js).
    """
    tenths = math.floor(abs(share) * 1000 + 0.5)
    number = f"0.{tenths}" if 0 < tenths < 10 else str(math.floor(abs(share) * 100 + 0.5))
    return f"{'−' if share < 0 and tenths else ''}{number}%"


def number(value: float) -> str:
    """Write a number with two decimals and a real minus; one rounded to zero has no sign."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def signed(value: float) -> str:
    """Write a change with its sign."""
    return number(value) if value < 0 or number(value) == "0.00" else f"+{number(value)}"


def visible(text: str, spaces: bool = False) -> str:
    """Show control and zero-width characters as visible marks; joiners inside a grapheme stay."""
    if text and text.isprintable():  # nothing of the kind
        return text
    out = []
    for i, character in enumerate(text):
        if spaces and character in " \n\t\u00a0":
            out.append(character)
        elif character in _MARKS:
            out.append(_MARKS[character])
        elif ord(character) < 0x20:
            out.append(chr(0x2400 + ord(character)))
        elif character in "\u200c\u200d" and 0 < i < len(text) - 1:
            out.append(character)
        elif unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn", "Cs") and character != "\u00ad":
            out.append("\u25cc")
        else:
            out.append(character)
    return "".join(out) or "\u25cc"[: not spaces]
