"""Errors of the engine: one sentence each for the person at the screen.

The message names the input and what would be valid, with both numbers. The engine raises, the command line and the
pages show it unchanged.
"""


class HeadScopeError(ValueError):
    """The root of all errors that the engine raises on purpose."""


class InputError(HeadScopeError):
    """Invalid input of the user: a text, a corpus, an option."""


class SizeError(HeadScopeError):
    """Sizes that do not fit each other."""


class DtypeError(HeadScopeError, TypeError):
    """Numbers of a type that attention cannot be computed in."""


class ModelError(HeadScopeError):
    """A checkpoint that is damaged, incomplete, or of another architecture."""


class Unavailable(ModelError):
    """A model that is not on this machine and cannot be fetched now."""
