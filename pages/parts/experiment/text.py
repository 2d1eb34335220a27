"""What came out, in one plain sentence drawn from the numbers. No Streamlit here."""

from collections.abc import Mapping, Sequence

from mha_core import AttentionRecord
from mha_core.heads.roles import Role
from mha_core.wording import Head, percent
from pages.parts.experiment.asked import Asked
from pages.parts.experiment.changed import WORTH_SAYING, Changed, Guess, Moved
from pages.parts.experiment.frame import named

MOVED_NAMED = 3
LEAST = f"{WORTH_SAYING:.0%}".replace("%", " %")
TENTH = 0.0005
TO = {"0": "zero-ablate them", "mean": "mean-ablate them", "2": "double them"}


def chance(p: float) -> str:
    """A probability as the bars write it: one that is too small for its decimal is not called none."""
    return "< 0.1 %" if 0 < p < TENTH else percent(p)


def finding(asked: Asked, found: Changed, followed: Guess | None, record: AttentionRecord) -> str:
    """The one sentence above the picture."""
    if not asked.heads:
        return _as_it_is(asked, found, record)
    if followed is not None:
        return _of_words(asked, found, followed)
    return _of_cosines(asked, found, record)


def _as_it_is(asked: Asked, found: Changed, record: AttentionRecord) -> str:
    title = record.model.title if record.model else "the model"
    if not found.words:
        return (
            f"{title} predicts no next word. Click heads to {TO[asked.setting.value]}, and see how far the text's "
            "embedding turns."
        )
    first, *rest = sorted(found.words, key=lambda guess: -guess.before)
    then = f", `{shown(rest[0].text)}` {chance(rest[0].before)}" if rest else ""
    told = f"As it is, {title} gives `{shown(first.text)}` {chance(first.before)}{then}"
    return f"{told}. Click heads to {TO[asked.setting.value]}."


def _of_words(asked: Asked, found: Changed, followed: Guess) -> str:
    text = f"{asked.text} `{shown(followed.text)}` {moves(followed.before, followed.after)}"
    best = max(found.words, key=lambda guess: guess.after)
    if best.id != followed.id:
        return f"{text}; likeliest is then `{shown(best.text)}` with {chance(best.after)}."
    return f"{text}."


def moves(before: float, after: float) -> str:
    """“falls from 92.3 % to 74.0 %”, or that nothing of it is seen."""
    if chance(before) == chance(after):
        return f"stays at {chance(before)}"
    return f"{'falls' if after < before else 'rises'} from {chance(before)} to {chance(after)}"


def _of_cosines(asked: Asked, found: Changed, record: AttentionRecord) -> str:
    whole, states = float(found.cosines[-1]), found.cosines[:-1]
    least = int(states.argmin())
    name = shown(record.tokens.pieces[least].bare)
    return (
        f"{asked.text} the text's embedding has cosine {whole:.3f} with what it was; the last state of `{name}` "
        f"changes most, to {float(states[least]):.3f}."
    )


def elsewhere(
    moved: Sequence[Moved], record: AttentionRecord, roles: Mapping[Head, Role], n_above: int
) -> str:
    """Which later heads now look elsewhere; `n_above`: how many heads could."""
    if not n_above:
        return "No layer follows the last one, so no head looks elsewhere now."
    if not moved:
        above = (
            f"None of the {n_above} heads in later layers moves"
            if n_above > 1
            else "The one head in a later layer does not move"
        )
        return f"{above} {LEAST} of its attention."
    names = [_moved_text(each, record, roles) for each in moved[:MOVED_NAMED]]
    one = f"Of the {n_above} heads in later layers one" if n_above > 1 else "The one head in a later layer"
    many = (
        f"{len(moved)} of the {n_above} heads in later layers now look"
        if len(moved) > 1
        else f"{one} now looks"
    )
    whose = "their" if len(moved) > 1 else "its"
    return f"{many} elsewhere with {LEAST} of {whose} attention or more, mean over all tokens: {'; '.join(names)}."


def _moved_text(each: Moved, record: AttentionRecord, roles: Mapping[Head, Role]) -> str:
    word = shown(record.tokens.pieces[each.query].bare)
    return f"{named(each.head, roles)} {percent(each.share)}, most at `{word}`"


def number(value: float) -> str:
    """A number with two decimals and a real minus; what is rounded to nothing has no sign."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def signed(value: float) -> str:
    """A change with its sign."""
    return number(value) if value < 0 or number(value) == "0.00" else f"+{number(value)}"


def measured(names: Sequence[str]) -> str:
    """What is measured, by the names of an outcome's numbers: of words with those whose logits are compared."""
    words = [f"`{shown(word_of(name))}`" for name in names[1:]]
    return f"{names[0]} of {' against '.join(words)}" if words else names[0]


def word_of(name: str) -> str:
    """The word of “probability of ' Mary'”; "'s" has a quote of its own."""
    return name.removeprefix("probability of ")[1:-1]


def shown(text: str) -> str:
    """A token in a sentence: spaces stay, line ends and backticks are signs."""
    return text.replace("`", "ˋ").replace("\n", "↵") or "␀"
