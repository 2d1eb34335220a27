"""The version of the package, which part files carry too."""

__version__ = "0.1.0"
