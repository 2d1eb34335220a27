"""What the classroom's model can do beside the pairs, task by task.

In: a stack. Out: for every task of the grammar the share of right answers where one word is hidden, with all heads or
without some. The texts are new ones of the training's grammar: their seed is one that no training has. They are no test
of held-out words; the pairs are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
import torch

from mha_core.learning.classroom.batches import MASK, PAD
from mha_core.learning.classroom.grammar import RATE, Grammar, Text
from mha_core.learning.classroom.lexicon import vocabulary
from mha_core.stack import Stack
from mha_core.wording import Head

TASKS = ("because", "names", "gender", "agreement", "repeated")
TASK_SEED, N_TEXTS = 2**31, 200  # live trainings have seeds below
COPULAS = (("is", "was"), ("are", "were"))


@dataclass(frozen=True)
class Probe:
    """A text; of its word at `slot`, a position from 0, any of `answers` is right."""

    words: tuple[str, ...]
    slot: int
    answers: tuple[str, ...]


@cache
def probes(task: str, n: int = N_TEXTS) -> tuple[Probe, ...]:
    """n texts of a task."""
    return tuple(islice(_probes(task), n))


def _probes(task: str) -> Iterator[Probe]:
    for text in Grammar(TASK_SEED).texts():
        if text.task == task and (found := _PROBE[task](text)) is not None:
            yield found


def _because(text: Text) -> Probe | None:
    """What "it" stands for."""
    if text.slot is None or text.right is None or text.wrong is None or text.pronoun != "it":
        return None
    return Probe(tuple(text.words), text.slot, (text.words[text.right],))


def _again(text: Text) -> Probe:
    """The last name or noun, which was said before; or "she" or "he", after a name."""
    slot = _asked(text)
    return Probe(tuple(text.words), slot, (text.words[slot],))


def _agreement(text: Text) -> Probe:
    """One or many, whatever the time: the noun before "near" says it."""
    slot = _asked(text)
    answers = next(forms for forms in COPULAS if text.words[slot] in forms)
    return Probe(tuple(text.words), slot, answers)


def _asked(text: Text) -> int:
    return max(i for i, rate in enumerate(text.rates) if rate == RATE["again"])


_PROBE: dict[str, Callable[[Text], Probe | None]] = {
    "because": _because, "names": _again, "gender": _again, "agreement": _agreement, "repeated": _again,
}  # fmt: skip


def gates_without(stack: Stack, heads: Sequence[Head]) -> torch.Tensor:
    """A gate for every head, (layer, head): 0 for these, 1 for the others."""
    gates = torch.ones(stack.config.n_layers, stack.config.n_heads)
    for head in heads:
        gates[head] = 0
    return gates


def task_scores(stack: Stack, without: Sequence[Head] = (), n: int = N_TEXTS) -> dict[str, float]:
    """The share of right answers at [MASK] in n texts of each task; `without` heads: with their outputs set to zero."""
    gates = gates_without(stack, without)
    return {task: _right(stack, probes(task, n), gates) for task in TASKS}


def _right(stack: Stack, of: Sequence[Probe], gates: torch.Tensor) -> float:
    ids, real = _ids(of, hidden=True)
    slots = torch.tensor([probe.slot for probe in of])
    with torch.inference_mode():
        hidden = stack(ids, real=real, gates=gates, need_weights=False).hidden
        matrix = stack.get_submodule("embeddings.word").weight
        best = (hidden[torch.arange(len(ids)), slots] @ matrix.t()).argmax(-1)  # type: ignore[operator]
    said = (vocabulary()[int(i)] for i in best)
    return float(np.mean([word in probe.answers for word, probe in zip(said, of, strict=True)]))


def _ids(of: Sequence[Probe], *, hidden: bool) -> tuple[torch.Tensor, torch.Tensor]:
    number = {word: i for i, word in enumerate(vocabulary())}
    longest = max(len(probe.words) for probe in of)
    rows = [[number[word] for word in probe.words] + [PAD] * (longest - len(probe.words)) for probe in of]
    if hidden:
        for row, probe in zip(rows, of, strict=True):
            row[probe.slot] = MASK
    ids = torch.tensor(rows)
    return ids, ids != PAD
