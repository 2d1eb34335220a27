"""Findings of the page Experiment as sentences. No Streamlit here."""

from collections.abc import Mapping, Sequence

from mha_core import AttentionRecord
from mha_core.display_names import Head, percent
from mha_core.heads.roles import Role
from pages.parts.experiment.asked import Asked
from pages.parts.experiment.changed import WORTH_SAYING, Changed, Guess, Moved
from pages.parts.experiment.frame import named

MOVED_NAMED = 3
LEAST = f"{WORTH_SAYING:.0%}"
TENTH = 0.0005
TO = {"0": "zero-ablate them", "mean": "mean-ablate them", "2": "double them"}


def chance(p: float) -> str:
    """A probability as the bars write it: one that is too small for its decimal is not called none."""
    return "under 0.1%" if 0 < p < TENTH else percent(p)


def finding(asked: Asked, found: Changed, followed: Guess | None, record: AttentionRecord) -> str:
    """The one sentence above the picture."""
    if not asked.heads:
        return _as_it_is(asked, found, record)
    if followed is not None:
        return _of_words(asked, found, followed)
    return _of_cosines(asked, found, record)


def _as_it_is(asked: Asked, found: Changed, record: AttentionRecord) -> str:
    title = record.model.title if record.model else "The model"
    if not found.words:
        return f"{title} predicts no next word: watch the text's embedding. Click heads to {TO[asked.setting.value]}."
    first = max(found.words, key=lambda guess: guess.before)
    return f"{title} predicts `{shown(first.text)}` ({chance(first.before)}). Click heads to {TO[asked.setting.value]}."


def _of_words(asked: Asked, found: Changed, followed: Guess) -> str:
    text = f"{asked.text}, `{shown(followed.text)}` {moves(followed.before, followed.after)}."
    best = max(found.words, key=lambda guess: guess.after)
    if best.id == followed.id:
        return text
    return f"{text} Likeliest is `{shown(best.text)}` ({chance(best.after)})."


def moves(before: float, after: float) -> str:
    """Return “falls from 92% to 74%”, or that nothing of it is seen."""
    if chance(before) == chance(after):
        return f"stays at {chance(before)}"
    return f"{'falls' if after < before else 'rises'} from {chance(before)} to {chance(after)}"


def _of_cosines(asked: Asked, found: Changed, record: AttentionRecord) -> str:
    whole, states = float(found.cosines[-1]), found.cosines[:-1]
    least = int(states.argmin())
    name = shown(record.tokens.pieces[least].bare)
    return (
        f"{asked.text}, the embedding keeps cosine similarity {whole:.2f}. `{name}` changes most "
        f"({float(states[least]):.2f})."
    )


def moved_text(
    moved: Sequence[Moved], record: AttentionRecord, roles: Mapping[Head, Role], n_later: int
) -> str:
    """Return which heads of later layers change; `n_later`: how many there are."""
    if not n_later:
        return "No later layer."
    if not moved:
        return f"No later head changes (all {n_later} move under {LEAST} of their attention)."
    names = [_moved_text(each, record, roles) for each in moved[:MOVED_NAMED]]
    verb = "moves" if len(moved) == 1 else "move"
    return f"{len(moved)} of {n_later} later heads {verb} {LEAST} of attention or more: {'; '.join(names)}."


def _moved_text(each: Moved, record: AttentionRecord, roles: Mapping[Head, Role]) -> str:
    word = shown(record.tokens.pieces[each.query].bare)
    return f"{named(each.head, roles)} {percent(each.share)}, most at `{word}`"


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
