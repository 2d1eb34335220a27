"""Which heads the link asks to ablate, and how.

In: the link's parameters and a model's shape. Out: a frozen `AblationQuery`, whose interventions the engine takes, and
sentences about what was refused. No Streamlit here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mha_core import InputError
from mha_core.causal import Intervention, MeanAblation, ScaleHeads, heads_from
from mha_core.display_names import Head, head_name
from pages.parts.frame.page_text import quoted

MAX_NAMED = 3
MAX_CHARS = 50_000  # all heads of any model fit


class Setting(NamedTuple):
    """A kind of ablation: its label, a sentence, the badge on a head, the participle, and an order to the user."""

    label: str
    title: str
    badge: str
    done: str
    order: str


SETTINGS = {
    "0": Setting("zero", "Zero ablation: the output is 0", "0", "zero-ablated", "zero-ablate them"),
    "mean": Setting(
        "mean",
        "Mean ablation: the output is its mean over the built-in sentences; a decoder's first token keeps its own",
        "x̄",
        "mean-ablated",
        "mean-ablate them",
    ),
    "2": Setting("double", "The output is multiplied by 2", "×2", "doubled", "double them"),
}
ZERO = "0"


@dataclass(frozen=True)
class AblationQuery:
    """The heads to ablate, (layer, head) from 0 in order, and the key of their setting."""

    heads: tuple[Head, ...] = ()
    value: str = ZERO

    @property
    def setting(self) -> Setting:
        return SETTINGS[self.value]

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """Interventions for the engine."""
        if not self.heads:
            return ()
        return (
            MeanAblation(self.heads) if self.value == "mean" else ScaleHeads(self.heads, float(self.value)),
        )

    @property
    def text(self) -> str:
        """Start of a sentence: “Without 24-4”, “With these 12 heads doubled”."""
        names = heads_text(self.heads)
        return f"Without {names}" if self.value == ZERO else f"With {names} {self.setting.done}"


def heads_text(heads: Sequence[Head]) -> str:
    """Name a few heads, count many."""
    *first, last = map(head_name, heads)
    if len(heads) > MAX_NAMED:
        return f"these {len(heads)} heads"
    return f"{', '.join(first)} and {last}" if first else last


def heads_param(heads: Sequence[Head]) -> str | None:
    """Return heads as the link has them, "24-4,2-6"; None for none."""
    return ",".join(map(head_name, heads)) or None


def parse_ablation(params: Mapping[str, str], shape: tuple[int, int]) -> tuple[AblationQuery, list[str]]:
    """Return the ablation that a link asks of a model of (layers, heads), and sentences about what was refused."""
    refused = list[str]()
    heads: tuple[Head, ...] = ()
    names, value = params.get("off", ""), params.get("set", ZERO)
    if len(names) > MAX_CHARS:
        refused.append("The link names more heads than any model has. No head is ablated.")
    elif names:
        try:
            heads = tuple(sorted(set(heads_from(names, *shape))))
        except InputError as error:
            refused.append(f"{error} No head is ablated.")
    if value not in SETTINGS:
        offered = ", ".join(f"“{each}”" for each in SETTINGS)
        refused.append(f"Choose {offered} as the ablation, not {quoted(value)}. Heads are zero-ablated.")
    return AblationQuery(heads, value if value in SETTINGS else ZERO), refused
