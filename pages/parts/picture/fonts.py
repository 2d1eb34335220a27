"""The typeface: its files, and the characters that each of them holds."""

from pages.parts.picture.bundle import ASSETS

FONTS = {
    "headscope-latin.woff2": "U+0-FF, U+131, U+152-153, U+2000-206F, U+20AC, U+2122, U+2212",
    "headscope-latin-ext.woff2": "U+100-130, U+132-151, U+154-17F, U+218-21B, U+1E9E",
}


def font_bytes(name: str) -> bytes:
    """One file of the typeface."""
    return (ASSETS / "fonts" / name).read_bytes()
