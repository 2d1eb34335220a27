"""Tasks of the attention-only models, as data: random tokens of which some next ones can be known.

In: a random generator. Out: a `Batch` of texts with their answers. "jobs" wants one of three copies of a text, named
by the first token; "induction" repeats a random stretch, which can be continued once it was seen (Olsson et al. 2022).
To add a task: a `Task` in TASKS; pages and command line read it from there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from mha_core.errors import InputError
from mha_core.training.attention_only import AttentionOnlyConfig

TEXT = 24  # tokens to copy
TURN = 3  # places by which `rotate` turns the text
# Which of the TEXT tokens stands at each place of the copy.
ORDERS = {
    "repeat": torch.arange(TEXT),
    "mirror": torch.arange(TEXT).flip(0),
    "rotate": torch.arange(TEXT).roll(-TURN),
}
JOBS = tuple(ORDERS)
JOB_TOKENS = 32
STRETCH = (8, 24)
INDUCTION_TOKENS, INDUCTION_TEXT = 64, 48


@dataclass(frozen=True)
class Batch:
    """Texts `ids` (batch, n + 1): each of the first n tokens predicts the next one.

    The loss counts predictions from place `learns_from` of the n, accuracy those from `scored_from`; `groups` (batch,)
    is the number of each text's job.
    """

    ids: Tensor
    learns_from: int
    scored_from: int
    groups: Tensor


@dataclass(frozen=True, eq=False)
class Task:
    """A task and its numbers.

    `groups`: its jobs, one at least; `batch(n, random)` draws n texts of each, `example(random)` one to look at.
    `decay`: share of the steps over which the learning rate falls; `target`: accuracy in every job that ends the
    training. `answer_keys`: for each job the key that each of the last TEXT rows should look at. `layers`, `steps`,
    `help`: defaults and words of the command line.
    """

    name: str
    groups: tuple[str, ...]
    batch: Callable[[int, Generator], Batch]
    example: Callable[[Generator], Batch]
    batch_size: int
    decay: float
    target: float
    vocab_size: int
    n_tokens: int
    layers: int
    steps: int
    help: str
    theta: float | None = None
    answer_keys: Mapping[str, Tensor] = field(default_factory=dict)
    held_out_size: int = 64

    def config(self, layers: int, heads: int) -> AttentionOnlyConfig:
        """Return the sizes of a model that learns it. Raises InputError for sizes that cannot be."""
        return AttentionOnlyConfig(
            self.vocab_size, 64, layers, heads, max_positions=self.n_tokens, theta=self.theta
        )


def _copy_batch(size: int, random: Generator) -> Batch:
    """Draw `size` random texts of each job."""
    return _copies(torch.randint(len(JOBS), JOB_TOKENS, (len(JOBS), size, TEXT), generator=random))


def _copy_example(random: Generator) -> Batch:
    """Draw one text without repeated tokens, for all jobs."""
    text = len(JOBS) + torch.randperm(JOB_TOKENS - len(JOBS), generator=random)[:TEXT]
    return _copies(text.expand(len(JOBS), 1, TEXT))


def _copies(text: Tensor) -> Batch:
    """Return texts (job, size, TEXT) as a batch: the job, the tokens, and the same tokens in the job's order."""
    size = text.shape[1]
    copy = torch.stack([part[:, order] for part, order in zip(text, ORDERS.values(), strict=True)])
    job = torch.arange(len(JOBS))[:, None, None].expand(len(JOBS), size, 1)
    ids = torch.cat([job, text, copy], dim=-1).flatten(0, 1)
    return Batch(ids, TEXT, TEXT, torch.arange(len(JOBS)).repeat_interleave(size))


def _induction_batch(size: int, random: Generator) -> Batch:
    """Draw stretches of 8 to 24 random tokens, repeated until the text is full."""
    low, high = STRETCH
    length = torch.randint(low, high + 1, (size, 1), generator=random)
    return _repeated(torch.randint(INDUCTION_TOKENS, (size, high), generator=random), length)


def _induction_example(random: Generator) -> Batch:
    """Draw one text of three copies of a stretch without repeated tokens."""
    stretch = torch.randperm(INDUCTION_TOKENS, generator=random)[None, : STRETCH[1]]
    return _repeated(stretch, torch.tensor([[INDUCTION_TEXT // 3]]))


def _repeated(stretch: Tensor, length: Tensor) -> Batch:
    """Return a batch of repeated stretches. The loss counts everywhere, accuracy where every token was seen before."""
    ids = stretch.gather(1, torch.arange(INDUCTION_TEXT)[None] % length)
    return Batch(ids, 0, STRETCH[1] - 1, torch.zeros(len(ids), dtype=torch.long))


# In one layer a token cannot know the job before it looks: a head can only look elsewhere when the job is not its own.
COPY_TASKS = Task(
    "jobs", JOBS, _copy_batch, _copy_example, batch_size=11, decay=0.25, target=0.995, vocab_size=JOB_TOKENS,
    n_tokens=2 * TEXT, layers=1, steps=8_000, help="three jobs in one stream (repeat, mirror, rotate), one layer",
    answer_keys={job: order + 1 for job, order in ORDERS.items()},  # after the token that names the job
)  # fmt: skip
INDUCTION = Task(
    "induction", ("induction",), _induction_batch, _induction_example, batch_size=16, decay=0.0, target=0.985,
    vocab_size=INDUCTION_TOKENS, n_tokens=INDUCTION_TEXT - 1, theta=100.0, layers=2, steps=6_000,
    help="go on with a repeated random text, two layers",
)  # fmt: skip
TASKS = {task.name: task for task in (COPY_TASKS, INDUCTION)}


def task_called(name: str) -> Task:
    """Return the task of that name. Raises InputError for an unknown one."""
    if name not in TASKS:
        raise InputError(f"Unknown task '{name}'. Choose one of: {', '.join(TASKS)}.")
    return TASKS[name]
