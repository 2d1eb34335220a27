"""What a ready experiment comes to: one sentence drawn from the numbers, the numbers as bars, and where to go on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mha_core.embedded import EMBEDDED
from mha_core.experiments import Effects
from mha_core.wording import Head, head_name, percent
from pages.parts.experiment.said import number, shown


@dataclass(frozen=True)
class Bar:
    """One number: what it is of, the number, and how it is written."""

    name: str
    value: float
    text: str


@dataclass(frozen=True)
class Answer:
    """The sentence, the bars, and the link that opens the experiment on this page, ready to be changed."""

    said: str
    bars: tuple[Bar, ...]
    link: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def names_of(heads: Sequence[Head]) -> str:
    """Heads by name, in the order given."""
    return ", ".join(map(head_name, heads))


def repetition(best: Sequence[Head], intact: float, without: float, draws: Sequence[float], n: int) -> Answer:
    """The loss on the second copy with and without the induction heads, against as many others at random."""
    below = sum(loss < without for loss in draws)
    meaning = (
        "more than in any draw, so going on with a text that was seen once rests on these heads"
        if below == len(draws)
        else f"more than in {below} of the draws, so these heads are not alone in it"
    )
    return Answer(
        f"The loss on the second copy is {number(intact)} nats a token. Without the {len(best)} heads that do most "
        f"induction it is {number(without)}; without {len(best)} random others {number(float(np.median(draws)))} "
        f"(median of {len(draws)} draws, {number(min(draws))} to {number(max(draws))}): {meaning}.",
        (
            Bar("as it is", intact, number(intact)),
            Bar(f"without {names_of(best)}", without, number(without)),
            *_draws(len(best), draws),
        ),
        note=f"Mean loss in nats, {n} texts of 40 random tokens said twice. More is worse.",
    )


def _draws(k: int, draws: Sequence[float]) -> tuple[Bar, ...]:
    """The median draw and the worst one."""
    found = {"the median draw": float(np.median(draws)), "the worst draw": max(draws)}
    return tuple(Bar(f"without {k} others, {name}", loss, number(loss)) for name, loss in found.items())


def next_word(effects: Effects, text: str, word: str, rival: str, named: int = 6) -> Answer:
    """Two words after a text, and every head taken away in turn."""
    difference, p, q = effects.before
    flips = int((np.asarray(effects.after) < 0).sum())
    strongest = effects.strongest(named)
    (layer, head), _ = strongest[0]
    after = effects.numbers[layer, head]
    turned = (
        f"{flips or 'None'} of {effects.after.size} heads, taken away alone, make"
        if flips != 1
        else f"One of {effects.after.size} heads, taken away alone, makes"
    )
    bars = [Bar("as it is", difference, number(difference))]
    for place, effect in strongest:
        bars.append(Bar(f"without {head_name(place)}", difference + effect, number(difference + effect)))
    return Answer(
        f"`{shown(word)}` gets {percent(p)}, `{shown(rival)}` {percent(q)}. {turned} "
        f"`{shown(rival)}` the likelier one; {head_name((layer, head))} matters most: without it the logit difference "
        f"goes from {number(difference)} to {number(float(after[0]))}, and `{shown(word)}` from {percent(p)} to "
        f"{percent(float(after[1]))}.",
        tuple(bars),
        {"text": text, "off": head_name((layer, head)), "word": word},
        f"Logit of `{shown(word)}` less that of `{shown(rival)}`, one sentence; the heads with the largest effect.",
    )


def sink(
    n_heads: int,
    rest: Sequence[Head],
    intact: float,
    without: float,
    mean: float,
    draws: Sequence[float],
    n: int,
    text: str,
) -> Answer:
    """The loss over an ordinary `text` of `n` tokens to predict, without the heads that rest on the first token."""
    meaning = (
        "less harm than as many others do, but not none"
        if without < min(draws)
        else "no less harm than others do: resting is not all they do, or the model needs what they add"
    )
    return Answer(
        f"In {len(rest)} of {n_heads} heads the first token takes more than half of the attention. Without them the "
        f"loss on ordinary text goes from {number(intact)} to {number(without)}, with their mean output instead to "
        f"{number(mean)}; without {len(rest)} random others it is {number(min(draws))} to {number(max(draws))} "
        f"({len(draws)} draws): {meaning}.",
        (
            Bar("as it is", intact, number(intact)),
            Bar(f"without the {len(rest)} that rest there", without, number(without)),
            Bar("with their mean output instead", mean, number(mean)),
            *_draws(len(rest), draws),
        ),
        {"text": text, "off": ",".join(map(head_name, rest))},
        f"Mean loss in nats over {n} tokens of one ordinary text. More is worse.",
    )


def embedding(mean: np.ndarray, n: int, head: Head, text: str) -> Answer:
    """How far every head's absence turns the embedding, mean of `n` texts; `mean` (layer, head) are cosines."""
    order = [divmod(int(i), mean.shape[1]) for i in np.argsort(mean, axis=None, kind="stable")]
    rank, last = order.index(head) + 1, order[-1]
    top = order[: mean.shape[1]]
    upper = sum(layer == mean.shape[0] - 1 for layer, _ in top)
    place = "the most of all" if rank == 1 else f"number {rank} of all"
    return Answer(
        f"Without {head_name(head)} the embedding keeps a cosine of {mean[head]:.3f} with what it was: {place} "
        f"{mean.size} heads. {upper} of the {len(top)} that turn it most stand in the last layer, which nothing above "
        f"can make good; {head_name(last)} turns it least ({mean[last]:.4f}).",
        tuple(
            Bar(f"without {head_name(each)}", 1 - float(mean[each]), f"{mean[each]:.3f}")
            for each in order[:8]
        ),
        {"model": EMBEDDED, "text": text, "off": head_name(head)},
        f"Mean cosine with the plain embedding over {n} built-in sentences; the bars are what is lost, 1 less cosine.",
    )
