"""Every error of the engine: one sentence for the person at the screen.

The message says what was given and what is taken, with both numbers. The engine raises, the command line and
the pages show it as it is.
"""


class HeadScopeError(ValueError):
    """The root of all errors that the engine raises on purpose."""


class InputError(HeadScopeError):
    """What the reader gave (a text, a corpus, an option) cannot be used."""


class SizeError(HeadScopeError):
    """Sizes that do not fit each other."""


class DtypeError(HeadScopeError, TypeError):
    """Numbers of a type that attention cannot be computed in."""


class ModelError(HeadScopeError):
    """A checkpoint that is damaged, incomplete, or of another architecture."""


class Unavailable(ModelError):
    """A model that is not on this machine and cannot be fetched now."""
