"""What a link for a class hides: names in the parameter `hide`, by commas; unknown names are passed over."""

from pages.parts.frame.prose import markup

HIDE = {"menu": "st-key-top", "sentence": "st-key-controls", "title": "st-key-heading"}


def hide_parts(asked: str) -> None:
    """Hide the parts of the frame that are named."""
    names = [f".{HIDE[part]}" for part in asked.split(",") if part in HIDE]
    if names:
        markup(f"<style>{', '.join(names)} {{ display: none; }}</style>")
