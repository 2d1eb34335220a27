"""A JSON list → its items one by one, with the line each begins on, without holding the whole list.

The text is parsed again only once twice as much of it has been read, so an item spread over many lines costs
linear time.
"""

import json
from collections.abc import Iterable, Iterator

MAX_ITEM = 1_000_000
CHUNK = 1 << 16


class BrokenListError(Exception):
    """The text stops being a JSON list: on which line, and why."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


def json_items(lines: Iterable[str]) -> Iterator[tuple[int, object]]:
    """(line, item) for every item of the list. Raises BrokenListError where it breaks off."""
    text = _Window(lines)
    text.take("[")
    while not text.at("]"):
        yield text.line, text.item()
        if not text.at("]"):
            text.take(",")


class _Window:
    """The part of the text that has been read and not yet been used."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = iter(lines)
        self.text = ""
        self.place = 0
        self.line = 1
        self.done = False
        self.decoder = json.JSONDecoder()

    def at(self, sign: str) -> bool:
        """Is this the next sign that is not white space?"""
        while True:
            start = self.place
            while self.place < len(self.text) and self.text[self.place] in " \t\r\n":
                self.place += 1
            self.line += self.text.count("\n", start, self.place)
            if self.place < len(self.text) or self.done:
                return self.text.startswith(sign, self.place)
            self._read(CHUNK)

    def take(self, sign: str) -> None:
        if not self.at(sign):
            # At the end the line break after the last line has been counted as well.
            line = self.line if self.place < len(self.text) else max(self.line - 1, 1)
            raise BrokenListError(line, f"{sign!r} is missing: pairs are one JSON list.")
        self.place += 1

    def item(self) -> object:
        self.at("")
        while True:
            value, end, flaw = self._parse()
            # A number at the edge of what has been read may go on: it is whole once something follows.
            if flaw is None and (self.done or end < len(self.text)):
                self.line += self.text.count("\n", self.place, end)
                self.place = end
                return value
            if self.done or len(self.text) - self.place > MAX_ITEM:
                raise BrokenListError(
                    self.line, f"no JSON item ends here or within a million characters ({flaw})."
                )
            self._read(max(CHUNK, 2 * (len(self.text) - self.place)))

    def _parse(self) -> tuple[object, int, str | None]:
        try:
            value, end = self.decoder.raw_decode(self.text, self.place)
        except RecursionError:
            raise BrokenListError(self.line, "brackets inside brackets without end.") from None
        except json.JSONDecodeError as error:
            return None, self.place, error.msg
        except ValueError:
            raise BrokenListError(self.line, "a number with more digits than can be read.") from None
        return value, end, None

    def _read(self, wanted: int) -> None:
        held = [self.text[self.place :]]
        size = len(held[0])
        for line in self.lines:
            held.append(line + "\n")
            size += len(line) + 1
            if size >= wanted:
                break
        else:
            self.done = True
        self.text, self.place = "".join(held), 0
