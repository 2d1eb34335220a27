"""Prompts of one kind: the project's own, those of a file, and copies of one sentence with other names.

Sources of the two tasks: Wang et al. 2022, section 2 (the indirect object, with names in the orders ABBA and BABA);
Linzen et al. 2016 (agreement over an attractor). The sentences are this project's.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mha_core.causal.outcomes import spaced
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.resources import asset

N_PROMPTS = 12  # made of one by default
MIN_PROMPTS = 4  # with fewer, no other prompt has two other names


@dataclass(frozen=True)
class Prompt:
    """Beginning of a sentence, the word that should come next, and one that should not, or None; for a classifier a
    text, its label and another one."""

    text: str
    target: str
    against: str | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """Both words, or the target alone."""
        return (self.target,) if self.against is None else (self.target, self.against)


@dataclass(frozen=True)
class Prompts:
    """The project's own. `name`: the indirect object against the repeated subject; `agreement`: the verb's right form
    against that of the nearest noun; `ordinary`: passages of two or three sentences; `names`: common first names;
    `naming`: beginnings with {A}, {B} and {B} again, before a name, at distances that few of them share."""

    name: tuple[Prompt, ...]
    agreement: tuple[Prompt, ...]
    ordinary: tuple[str, ...]
    names: tuple[str, ...]
    naming: tuple[str, ...]


@cache
def prompts(path: Path | None = None) -> Prompts:
    """Read the project's own. Raises InputError if the file does not hold `Prompts`."""
    path = path or asset("experiments.json")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Prompts(
            tuple(Prompt(**row) for row in raw["name"]),
            tuple(Prompt(**row) for row in raw["agreement"]),
            tuple(map(str, raw["ordinary"])),
            tuple(map(str, raw["names"])),
            tuple(map(str, raw["naming"])),
        )
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as flaw:
        raise InputError(f"{path.name} does not hold the prompts of the experiments ({flaw}).") from None


def read_prompts(lines: Sequence[str], model: Model) -> tuple[Prompt, ...]:
    """Read one prompt a line: its text, its answer and the other answer, separated by tabs.

    Raises InputError for a line of another form.
    """
    parsed = list[Prompt]()
    for number, line in enumerate(lines, 1):
        text, *answers = line.rstrip("\r").split("\t")
        if len(answers) != 2 or not all(answers):
            raise InputError(f"Line {number} must be a prompt and its two answers, separated by tabs.")
        parsed.append(Prompt(text, *(spaced(answer, model) for answer in answers)))
    return tuple(parsed)


def with_other_names(prompt: Prompt, model: Model, n: int = N_PROMPTS) -> tuple[Prompt, ...]:
    """Make `n` prompts of one by replacing its two names with other first names; the first is the prompt itself.

    Each name serves once as the first and once as the second name. Where the sentence begins with "A and B", half of
    the prompts begin with "B and A" (BABA beside ABBA). All have as many tokens. Empty where the sentence does not
    have two names that are one token each, or the vocabulary has too few. Raises InputError for fewer than four
    prompts, or more than there are names.
    """
    if not MIN_PROMPTS <= n <= len(prompts().names):
        raise InputError(f"Choose {MIN_PROMPTS} to {len(prompts().names)} prompts, not {n}.")
    own = _two_names(prompt)
    first = re.match(r"\w*", prompt.text).group()  # type: ignore[union-attr]  # it matches any text
    ring = [
        name
        for name in dict.fromkeys((*own, *prompts().names))
        if len(model.tokenizer.ids_of(f" {name}")) == 1
        and (first not in own or len(model.tokenizer.ids_of(name)) == 1)
    ]
    if len(own) != 2 or ring[:2] != own or len(ring) < n:
        return ()
    both = " and ".join(own)
    swapped = prompt.text.replace(both, " and ".join(reversed(own)), 1)
    can_swap = prompt.text.find(both) == prompt.text.find(own[0])
    renamed = list[Prompt]()
    for i in range(n):
        other = dict(zip(own, (ring[i], ring[(i + 1) % n]), strict=True))
        text = swapped if can_swap and i // 2 % 2 else prompt.text
        answers = prompt.answers  # a label is no part of the sentence
        if model.label_head is None:
            answers = tuple(_renamed(word, other) for word in answers)
        renamed.append(Prompt(_renamed(text, other), *answers))
    lengths = {len(model.tokenizer.encode(each.text)) for each in renamed}
    return tuple(renamed) if len(lengths) == 1 else ()


def _two_names(prompt: Prompt) -> list[str]:
    """Return the names of a sentence in order: its answers if both are names in it, else the first names it has."""
    words = list(dict.fromkeys(re.findall(r"\w+", prompt.text)))
    answers = {word.strip() for word in prompt.answers}
    if len(answers) == 2 and all(word in words and word.istitle() for word in answers):
        return [word for word in words if word in answers]
    return [word for word in words if word in prompts().names]


def _renamed(text: str, other: dict[str, str]) -> str:
    return re.sub(rf"\b({'|'.join(map(re.escape, other))})\b", lambda match: other[match[0]], text)
