"""What to do about a broken line, and what was left out so far."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from mha_core.display_names import count_noun
from mha_core.errors import InputError

OnError = Literal["refuse", "skip"]

MAX_NOTES = 20
# More than any model here reads of a text; what is longer is no sentence, and would hold up everybody else.
MAX_TEXT = 20_000


@dataclass
class Reading:
    """What to do with a broken line, and what was left out so far.

    `file`: the one that is read, where it is known; `n_skipped`: lines, sentences or choices left out; `n_unused`:
    pronouns without exactly one right name; `n_multiword`: tokens of a treebank that stand for several words ("don't").
    """

    on_error: OnError = "refuse"
    n_skipped: int = 0
    n_unused: int = 0
    n_multiword: int = 0
    notes: list[str] = field(default_factory=list)
    file: str = ""

    def broken(self, line: int, what: str) -> None:
        """Refuse the file with the number of the line, or note it and go on."""
        message = self._message(line, what)
        if self.on_error == "refuse":
            raise InputError(message)
        self._note(message)

    def left_out(self, line: int, what: str) -> None:
        """Note a line that holds nothing to measure, whatever is done about broken ones."""
        self._note(self._message(line, what))

    def said(self) -> Iterator[str]:
        """Yield what was left out, a sentence each."""
        yield from (f"Skipped. {note}" for note in self.notes)
        if self.n_skipped > len(self.notes):
            yield f"Skipped {self.n_skipped:,} in all."
        if self.n_unused:
            have = "has" if self.n_unused == 1 else "have"
            yield f"Not used: {count_noun(self.n_unused, 'pronoun')} that {have} not exactly one right candidate."
        if self.n_multiword:
            have = "is" if self.n_multiword == 1 else "are"
            yield (
                f"{count_noun(self.n_multiword, 'multiword token')} {have} read as the treebank's words, not as the "
                "text of the file."
            )

    def _message(self, line: int, what: str) -> str:
        return f"Line {line:,}{' of ' * bool(self.file)}{self.file}: {what}"

    def _note(self, message: str) -> None:
        self.n_skipped += 1
        if len(self.notes) < MAX_NOTES:
            self.notes.append(message)
