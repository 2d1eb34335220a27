"""What the classroom's model can do beside the pairs, task by task, and where each head looks meanwhile.

In: a stack. Out: for every task of the grammar the share of right answers where one word is hidden, with all heads or
without one; and for every head its mean attention on what the answer rests on. The texts are new ones of the training's
grammar: their seed is one that no training has. They are no test of held-out words; the pairs are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
import torch

from mha_core.heads.words import BoolArray, FloatArray
from mha_core.learning.classroom.batches import MASK, PAD
from mha_core.learning.classroom.grammar import RATE, Grammar, Text
from mha_core.learning.classroom.lexicon import lexicon, vocabulary
from mha_core.stack import Stack
from mha_core.wording import Head

TASKS = ("because", "names", "gender", "agreement", "repeated")
JOBS = (
    *TASKS,
    "other",
    "said",
    "previous",
    "next",
)  # of heads; after "because" the wrong noun, and what is said
TASK_SEED, N_TEXTS = 2**31, 200  # live trainings have seeds below
COPULAS = (("is", "was"), ("are", "were"))


@dataclass(frozen=True)
class Probe:
    """A text; the word at `slot` can be known from the one at `rests_on`, and any of `answers` is right. Positions from
    0. Of a "because" text, `other`: the noun that is not meant, `said`: what is said of the one that is."""

    words: tuple[str, ...]
    slot: int
    rests_on: int
    answers: tuple[str, ...]
    other: int | None = None
    said: int | None = None


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
    noun = text.words[text.right]
    said = next(i for i in range(text.slot + 1, len(text.words)) if lexicon().fits(noun, text.words[i]))
    return Probe(tuple(text.words), text.slot, text.right, (noun,), text.wrong, said)


def _again(text: Text) -> Probe:
    """The last name or noun that was said before."""
    slot = _asked(text)
    return Probe(tuple(text.words), slot, text.words.index(text.words[slot]), (text.words[slot],))


def _gender(text: Text) -> Probe:
    """She or he, after the name that the text begins with."""
    slot = _asked(text)
    return Probe(tuple(text.words), slot, 0, (text.words[slot],))


def _agreement(text: Text) -> Probe:
    """One or many, whatever the time: the noun before "near" says it."""
    slot = _asked(text)
    near = next(i for i, word in enumerate(text.words) if word in lexicon().others["near"])
    answers = next(forms for forms in COPULAS if text.words[slot] in forms)
    return Probe(tuple(text.words), slot, near - 1, answers)


def _asked(text: Text) -> int:
    return max(i for i, rate in enumerate(text.rates) if rate == RATE["again"])


_PROBE: dict[str, Callable[[Text], Probe | None]] = {
    "because": _because, "names": _again, "gender": _gender, "agreement": _agreement, "repeated": _again,
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


def job_masses(stack: Stack, n: int = N_TEXTS) -> dict[str, FloatArray]:
    """Every head's mean attention (layer, head) in each of JOBS: from the hidden word to what it can be known from; in
    "because" texts from "it" to its noun, to the other and to what is said; from every word to the ones beside it."""
    found = {task: _mass(stack, probes(task, n), "rests_on", hidden=task != "because") for task in TASKS}
    because = probes("because", n)
    for name in ("other", "said"):
        found[name] = _mass(stack, because, name, hidden=False)
    weights, real = _weights(stack, because, hidden=False)
    for name, step in (("previous", -1), ("next", 1)):
        on = np.diagonal(weights, step, -2, -1)  # (layer, text, head, place)
        there = (real[:, 1:] & real[:, :-1])[None, :, None]
        found[name] = (on * there).sum((1, 3)) / there.sum()
    return {job: found[job] for job in JOBS}


def _mass(stack: Stack, of: Sequence[Probe], key: str, *, hidden: bool) -> FloatArray:
    weights, _ = _weights(stack, of, hidden=hidden)
    rows = np.arange(len(of))
    slots, keys = (np.array([getattr(probe, name) for probe in of]) for name in ("slot", key))
    found: FloatArray = weights[:, rows, :, slots, keys].mean(
        0
    )  # advanced indices come first: (text, layer, head)
    return found


def _weights(stack: Stack, of: Sequence[Probe], *, hidden: bool) -> tuple[FloatArray, BoolArray]:
    """Weights (layer, text, head, query, key), and which places are no padding (text, place)."""
    ids, real = _ids(of, hidden=hidden)
    with torch.inference_mode():
        return stack(ids, real=real).stacked().double().numpy(), real.numpy()


def _ids(of: Sequence[Probe], *, hidden: bool) -> tuple[torch.Tensor, torch.Tensor]:
    number = {word: i for i, word in enumerate(vocabulary())}
    longest = max(len(probe.words) for probe in of)
    rows = [[number[word] for word in probe.words] + [PAD] * (longest - len(probe.words)) for probe in of]
    if hidden:
        for row, probe in zip(rows, of, strict=True):
            row[probe.slot] = MASK
    ids = torch.tensor(rows)
    return ids, ids != PAD
