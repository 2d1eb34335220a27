"""What a link asks to be tried: which heads are ablated, how, and which word is followed.

In: the link's parameters and a model's shape. Out: a frozen `Asked`, whose interventions the engine takes, and the
sentences that say what was refused. No Streamlit here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mha_core import InputError
from mha_core.causal import Intervention, MeanAblation, ScaleHeads, heads_from
from mha_core.display_names import Head, head_name
from pages.parts.frame.page_text import quoted

NAMED_AT_MOST = 3
LINK_CHARS = 50_000  # all heads of any model there is; a link that says more is none of ours


@dataclass(frozen=True)
class Setting:
    """How heads are ablated: `value` in the link, `label` on the switch, `title` at more length, `badge` on the
    head, and what was `done` to it."""

    value: str
    label: str
    title: str
    badge: str
    done: str


SETTINGS = (
    Setting("0", "zero", "Zero ablation: the output is 0", "0", "zero-ablated"),
    Setting(
        "mean",
        "mean",
        "Mean ablation: the output is its mean over the built-in sentences; a decoder's first token keeps its own",
        "x̄",
        "mean-ablated",
    ),
    Setting("2", "double", "The output is multiplied by 2", "×2", "doubled"),
)
BY_VALUE = {setting.value: setting for setting in SETTINGS}


@dataclass(frozen=True)
class Asked:
    """The heads that are ablated, (layer, head) from 0 in order, and how."""

    heads: tuple[Head, ...] = ()
    setting: Setting = SETTINGS[0]

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """The same as the engine takes it."""
        if not self.heads:
            return ()
        if self.setting.value == "mean":
            return (MeanAblation(self.heads),)
        return (ScaleHeads(self.heads, float(self.setting.value)),)

    @property
    def text(self) -> str:
        """What is done, as a sentence begins: “Without 24-4”, “With these 12 heads doubled”."""
        if self.setting == SETTINGS[0]:
            return f"Without {heads_text(self.heads)}"
        return f"With {heads_text(self.heads)} {self.setting.done}"


def heads_text(heads: Sequence[Head]) -> str:
    """Some heads by their names, many by their number."""
    names = [head_name(head) for head in heads]
    if len(names) > NAMED_AT_MOST:
        return f"these {len(names)} heads"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def spelled(heads: Sequence[Head]) -> str | None:
    """Heads as the link has them, "24-4,2-6"; None for none."""
    return ",".join(map(head_name, heads)) or None


def asked(params: Mapping[str, str], shape: tuple[int, int]) -> tuple[Asked, list[str]]:
    """What the link asks for of a model of (layers, heads), and what was refused."""
    refused = list[str]()
    heads: tuple[Head, ...] = ()
    given = params.get("off", "")
    if len(given) > LINK_CHARS:
        refused.append("The link names more heads than any model has. No head is ablated.")
    elif given:
        try:
            heads = tuple(sorted(set(heads_from(given, *shape))))
        except InputError as error:
            refused.append(f"{error} No head is ablated.")
    setting = BY_VALUE.get(params.get("set", SETTINGS[0].value))
    if setting is None:
        offered = ", ".join(f"“{value}”" for value in BY_VALUE)
        refused.append(
            f"Choose {offered} as the ablation, not {quoted(params['set'])}. Heads are zero-ablated."
        )
    return Asked(heads, setting or SETTINGS[0]), refused
