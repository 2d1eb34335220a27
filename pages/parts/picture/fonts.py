"""The typeface: its files, and the characters that each of them holds."""

from mha_core.draw.standalone import FACES, FOLDER

FONTS = FACES


def font_bytes(name: str) -> bytes:
    """One file of the typeface."""
    return (FOLDER / name).read_bytes()
