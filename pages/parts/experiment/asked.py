"""What a link asks to be tried: which heads are switched, what they give instead, and which word is followed.

In: the link's parameters and a model's shape. Out: a frozen `Asked`, whose interventions the engine takes, and the
sentences that say what was refused. No Streamlit here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mha_core import InputError
from mha_core.experiments import Factor, Intervention, MeanOutput, heads_from
from mha_core.wording import Head, head_name
from pages.parts.frame.prose import quoted

NAMED_AT_MOST = 3
LINK_CHARS = 50_000  # all heads of any model there is; a link that says more is none of ours


@dataclass(frozen=True)
class Setting:
    """What a switched head gives: `value` in the link, `label` on the switch, `title` at more length, `badge` on the
    head; `said` goes before the names of heads, `done` after them."""

    value: str
    label: str
    title: str
    badge: str
    said: str
    done: str


SETTINGS = (
    Setting("0", "nothing", "Its output is multiplied by 0", "0", "Without", "taken away"),
    Setting(
        "mean",
        "its mean",
        "Its output is its mean over the built-in sentences, which is what it gives whatever it reads",
        "x̄",
        "With",
        "at its mean output",
    ),
    Setting("2", "twice as much", "Its output is multiplied by 2", "×2", "With", "doubled"),
)
BY_VALUE = {setting.value: setting for setting in SETTINGS}


@dataclass(frozen=True)
class Asked:
    """The heads that are switched, (layer, head) from 0 in order, and what they give."""

    heads: tuple[Head, ...] = ()
    setting: Setting = SETTINGS[0]

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """The same as the engine takes it."""
        if not self.heads:
            return ()
        if self.setting.value == "mean":
            return (MeanOutput(self.heads),)
        return (Factor(self.heads, float(self.setting.value)),)

    @property
    def said(self) -> str:
        """What is done, as a sentence begins: “Without 24-4”, “With these 12 heads doubled”."""
        done = "" if self.setting.said == "Without" else f" {self.setting.done}"
        if len(self.heads) > 1:
            done = done.replace("its", "their")
        return f"{self.setting.said} {heads_said(self.heads)}{done}"


def heads_said(heads: Sequence[Head]) -> str:
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
    said = list[str]()
    heads: tuple[Head, ...] = ()
    given = params.get("off", "")
    if len(given) > LINK_CHARS:
        said.append("The link names more heads than any model has. No head is switched.")
    elif given:
        try:
            heads = tuple(sorted(set(heads_from(given, *shape))))
        except InputError as error:
            said.append(f"{error} No head is switched.")
    setting = BY_VALUE.get(params.get("set", SETTINGS[0].value))
    if setting is None:
        offered = ", ".join(f"“{value}”" for value in BY_VALUE)
        said.append(
            f"A switched head cannot be set to {quoted(params['set'])}, only to {offered}; it gives nothing."
        )
    return Asked(heads, setting or SETTINGS[0]), said
