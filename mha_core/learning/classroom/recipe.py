"""What the classroom model is and how it is trained: every number of it, in one place."""

from dataclasses import dataclass

from mha_core.families.classroom import ClassroomConfig
from mha_core.learning.classroom.lexicon import vocabulary


@dataclass(frozen=True)
class Recipe:
    """`window`: how many words to each side layer 1 sees, 0 for all; `steps` of `batch` texts each. The learning
    rate rises for `warm_up` steps, and falls all the while in a straight line from `rate` to nothing."""

    window: int = 3
    steps: int = 5600
    batch: int = 64
    rate: float = 3e-3
    warm_up: int = 200
    betas: tuple[float, float] = (0.9, 0.98)
    n_layers: int = 2
    n_heads: int = 4
    d_model: int = 128
    d_ff: int = 256
    theta: float = 100.0

    def rate_at(self, done: int) -> float:
        """The learning rate of the step after `done` others."""
        return self.rate * (1 - done / self.steps) * min(1.0, (done + 1) / (self.warm_up + 1))

    @property
    def config(self) -> ClassroomConfig:
        """The sizes of the model. Half of each head's pairs are turned."""
        return ClassroomConfig(
            vocab_size=len(vocabulary()),
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ff=self.d_ff,
            theta=self.theta,
            turning=self.d_model // self.n_heads // 4,
            windows=(self.window,) + (0,) * (self.n_layers - 1),
        )


CLASSROOM = Recipe()
TWIN = Recipe(window=0)
