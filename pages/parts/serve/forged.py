"""Values of controls that no browser of ours sends: of another kind, or not to be read. They count as not sent.

Streamlit hands whatever comes to whoever reads the control, and a page that meets a number where a text belongs ends
with an exception, again at every later run, because the value stays.
"""

from functools import cache
from typing import Any

from pages.parts.serve.streamlit_private import Serialized, WStates

# What reading a value can raise, from a missing key to a JSON text of 5,000 brackets.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@cache
def ignore_forged_values() -> None:
    """Have every session read only values of the kind its control sends; once a process."""
    read, packed = WStates.__getitem__, WStates.get_serialized

    def checked(states: WStates, widget: str) -> Any:
        if is_forged(states, widget):
            raise KeyError(widget)
        try:
            return read(states, widget)
        except UNREADABLE:
            raise KeyError(widget) from None

    def serialized(states: WStates, widget: str) -> Any:
        return None if is_forged(states, widget) else packed(states, widget)

    setattr(WStates, "__getitem__", checked)  # noqa: B010 - mypy lets no method be assigned
    setattr(WStates, "get_serialized", serialized)  # noqa: B010


def is_forged(states: WStates, widget: str) -> bool:
    """Whether a value that has arrived is of another kind than its control sends, or no choice that it offers."""
    state, known = states.states.get(widget), states.widget_metadata.get(widget)
    if not isinstance(state, Serialized) or known is None:
        return False
    kind = state.value.WhichOneof("value")
    if kind is None or kind != known.value_type:
        return kind is not None
    offered = getattr(known, "formatted_options", None)
    if offered is None or kind not in ("string_value", "string_array_value"):
        return False
    sent = [state.value.string_value] if kind == "string_value" else state.value.string_array_value.data
    return not set(sent) <= set(offered)
