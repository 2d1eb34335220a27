"""Random-ablation control: is a role's set of heads needed for a task more than other heads of the same layers?

The role's heads are zero-ablated together, then sets drawn at random, layer by layer as many, of all heads of the
layer. If the role made no difference, its own set would be one of the draws: p = (1 + draws with at least as large an
effect) / (1 + draws). Other heads may take over what is missing (self-repair, McGrath et al. 2023), so a set without
an effect may still be in use.

Sources: the comparison with random heads follows Olsson et al. 2022 (ablations) and Voita et al. 2019, section 6; the
p value Phipson & Smyth 2010.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mha_core.errors import InputError
from mha_core.experiments.parts import Part
from mha_core.experiments.tasks import Task, gates_without, ready_tasks
from mha_core.grid import check_heads
from mha_core.model import Model
from mha_core.wording import Head, head_name

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 40
LEVEL = 0.05


@dataclass(frozen=True)
class Selectivity:
    """One role and one task over `n` texts: the number of the whole model (`intact`), of the model without the role's
    heads, and without each random set of as many heads in the same layers.
    """

    role: str
    heads: tuple[Head, ...]
    task: Task
    n: int
    intact: float
    without: float
    draws: tuple[float, ...]

    @property
    def p(self) -> float:
        """The share of sets, the role's own among them, that harm the task at least as much as the role's."""
        harm = 1 if self.task.better == "low" else -1
        return (1 + sum(harm * draw >= harm * self.without for draw in self.draws)) / (1 + len(self.draws))

    @property
    def stands(self) -> bool:
        """Does the task need the role's heads more than random ones, at p < 0.05?"""
        return self.p < LEVEL


def selectivity_frame(found: Sequence[Selectivity]) -> "pd.DataFrame":
    """Return one row a role and task: `without` the role's heads, `low` and `high` of the random sets, and `p`."""
    import pandas as pd

    rows = [
        {
            "role": one.role,
            "heads": ", ".join(map(head_name, one.heads)),
            "task": one.task.title,
            "unit": one.task.unit,
            "better": one.task.better,
            "n": one.n,
            "intact": one.intact,
            "without": one.without,
            "low": min(one.draws),
            "high": max(one.draws),
            "p": one.p,
        }
        for one in found
    ]
    return pd.DataFrame(rows)


def selective(
    sets: Mapping[str, tuple[Head, ...]], model: Model, *, draws: int = DRAWS, seed: int = 0
) -> Iterator[Part[tuple[Selectivity, ...]]]:
    """Try every role of `sets` with every task of the model: one part for each set of heads that was ablated, the
    result complete role by role. Raises InputError for an empty set and heads that are not there.
    """
    for role, heads in sets.items():
        check_heads(heads, model.n_layers, model.n_heads)
        if not heads:
            raise InputError(f"'{role}' has no heads. Give one or more.")
    if draws < 1:
        raise InputError(f"draws must be 1 or more, not {draws}; {DRAWS} are usual.")
    ready = ready_tasks(model)
    total, done, found = 1 + len(sets) * (1 + draws), 1, list[Selectivity]()
    intact = [one.of(None) for one in ready]
    yield Part(done / total, done, ())
    for number, (role, heads) in enumerate(sets.items()):
        random = np.random.default_rng([seed, number])
        numbers = list[list[float]]()
        for draw in range(draws + 1):
            gates = gates_without(heads if draw == 0 else same_layers(heads, model.n_heads, random), model)
            numbers.append([one.of(gates) for one in ready])
            done += 1
            if draw < draws:
                yield Part(done / total, done, tuple(found))
        found += [
            Selectivity(
                role, heads, one.task, one.n, intact[i], numbers[0][i], tuple(row[i] for row in numbers[1:])
            )
            for i, one in enumerate(ready)
        ]
        yield Part(done / total, done, tuple(found))


def same_layers(heads: tuple[Head, ...], n_heads: int, random: np.random.Generator) -> list[Head]:
    """Draw as many heads in each layer as `heads` has there, out of all heads of the layer."""
    counts = Counter(layer for layer, _ in set(heads))
    return [
        (layer, int(head))
        for layer, count in sorted(counts.items())
        for head in random.choice(n_heads, count, replace=False)
    ]
