"""Are heads with a role needed for it? A role's heads are taken away, then as many others drawn at random, and several
things that the model does are measured after each.

If heads of one role break one task and leave the others alone, and random heads do not, they are selective; if what
they break is no more than what random heads break, the role says where they look and not what they are needed for.
The draws leave out the role's own heads. Other heads may take over what is missing (self-repair, McGrath et al. 2023),
so what breaks nothing may still be in use.

Source: the comparison with random heads follows Olsson et al. 2022 (ablations) and Voita et al. 2019, section 6.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mha_core.errors import InputError
from mha_core.experiments.interventions import check_heads
from mha_core.experiments.parts import Part
from mha_core.experiments.tasks import Task, gates_without, ready_tasks
from mha_core.model import Model
from mha_core.wording import Head

DRAWS = 10


@dataclass(frozen=True)
class Selectivity:
    """One role and one task over `n` texts: the number of the whole model (`intact`), of the model without the role's
    heads, and without as many random ones, one number for each draw.
    """

    role: str
    heads: tuple[Head, ...]
    task: Task
    n: int
    intact: float
    without: float
    draws: tuple[float, ...]

    @property
    def low(self) -> float:
        """The least of the draws."""
        return min(self.draws)

    @property
    def high(self) -> float:
        """The largest of the draws."""
        return max(self.draws)

    @property
    def worse(self) -> bool:
        """Is the model worse without the role's heads than without any of the random sets?"""
        return self.without > self.high if self.task.better == "low" else self.without < self.low


def selective(
    sets: Mapping[str, tuple[Head, ...]], model: Model, *, draws: int = DRAWS, seed: int = 0
) -> Iterator[Part[tuple[Selectivity, ...]]]:
    """Every role of `sets` with every task of the model: one part for each set of heads that was taken away, the
    result complete role by role. Raises InputError for a set that cannot be drawn again among the other heads.
    """
    ready = ready_tasks(model)
    every = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    for role, heads in sets.items():
        check_heads(heads, model.n_layers, model.n_heads)
        if not 0 < 2 * len(set(heads)) <= len(every):
            raise InputError(
                f"'{role}' has {len(heads)} of {len(every)} heads; as many others must be there to draw from."
            )
    if draws < 1:
        raise InputError(f"{draws} draws were asked for; one is the least, {DRAWS} are usual.")
    total, done, found = 1 + len(sets) * (1 + draws), 1, list[Selectivity]()
    intact = [one.of(None) for one in ready]
    yield Part(done / total, done, ())
    for number, (role, heads) in enumerate(sets.items()):
        random = np.random.default_rng([seed, number])
        others = [head for head in every if head not in heads]
        numbers = list[list[float]]()
        for draw in range(draws + 1):
            picked = random.choice(len(others), len(heads), replace=False)
            away = heads if draw == 0 else [others[i] for i in picked]
            gates = gates_without(away, model)
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
