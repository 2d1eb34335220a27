"""Findings of the page Experiment as sentences. No Streamlit here."""

from collections.abc import Mapping, Sequence

from mha_core import AttentionRecord
from mha_core.causal import LogitDifference
from mha_core.display_names import Head, head_name, number, percent
from mha_core.heads.roles import Role
from pages.parts.experiment.ablation_query import AblationQuery
from pages.parts.experiment.ablation_result import MIN_SHIFT, AblationResult, MovedHead, NextWord

MAX_NAMED = 3
TENTH = 0.0005


def probability_text(p: float, is_share: bool = True) -> str:
    """Write a probability as the bars do; one too small for its decimal is not 0. Unless `is_share`, any number."""
    if not is_share:
        return number(p)
    return "under 0.1%" if 0 < p < TENTH else percent(p)


def finding(
    query: AblationQuery, result: AblationResult, followed: NextWord | None, record: AttentionRecord
) -> str:
    """Return the sentence above the picture."""
    if not query.heads:
        return _without_ablation(query, result, record)
    if followed is None:
        return _cosine_text(query, result, record)
    change = change_text(followed.before, followed.after, result.is_share)
    text = f"{query.text}, `{visible_token(followed.text)}` {change}."
    best = max(result.words, key=lambda word: word.after)
    if best.id == followed.id:
        return text
    return (
        f"{text} Likeliest is `{visible_token(best.text)}` ({probability_text(best.after, result.is_share)})."
    )


def _without_ablation(query: AblationQuery, result: AblationResult, record: AttentionRecord) -> str:
    title = record.model.title if record.model else "The model"
    order = f"Click heads to {query.setting.order}."
    if not result.words:
        return f"{title} predicts no next word: watch the text's embedding. {order}"
    first = max(result.words, key=lambda word: word.before)
    share = probability_text(first.before, result.is_share)
    return f"{title} predicts `{visible_token(first.text)}` ({share}). {order}"


def change_text(before: float, after: float, is_share: bool = True) -> str:
    """Return “falls from 92% to 74%”, or that the rounded value stays."""
    first, last = (probability_text(value, is_share) for value in (before, after))
    if first == last:
        return f"stays at {first}"
    return f"{'falls' if after < before else 'rises'} from {first} to {last}"


def logit_text(label: LogitDifference, logits: Sequence[float]) -> str:
    """Return “The logit of `good` less that of `bad` falls from 6.67 to 2.55.”"""
    rest = "" if label.against is None else f" less that of `{visible_token(label.against)}`"
    before, after = logits
    return f"The logit of `{visible_token(label.target)}`{rest} {change_text(before, after, is_share=False)}."


def _cosine_text(query: AblationQuery, result: AblationResult, record: AttentionRecord) -> str:
    *states, whole = map(float, result.cosines)
    least = min(range(len(states)), key=states.__getitem__)
    name = visible_token(record.tokens.pieces[least].bare)
    return (
        f"{query.text}, the embedding keeps cosine similarity {whole:.2f}. `{name}` changes most "
        f"({states[least]:.2f})."
    )


def moved_text(
    moved: Sequence[MovedHead], record: AttentionRecord, roles: Mapping[Head, Role], n_later: int
) -> str:
    """Name the heads of later layers that shift their attention; `n_later`: number of later heads."""
    if not n_later:
        return "No later layer."
    least = percent(MIN_SHIFT)
    if not moved:
        return f"No later head changes (all {n_later} shift under {least} of their attention)."
    names = [
        f"{head_with_role(each.head, roles)} {percent(each.share)}, "
        f"most at `{visible_token(record.tokens.pieces[each.query].bare)}`"
        for each in moved[:MAX_NAMED]
    ]
    verb = "shifts" if len(moved) == 1 else "shift"
    return f"{len(moved)} of {n_later} later heads {verb} {least} of attention or more: {'; '.join(names)}."


def head_with_role(head: Head, roles: Mapping[Head, Role]) -> str:
    """Return a head's name with its role, if it has one: "4-2 (coreference head)"."""
    return f"{head_name(head)} ({roles[head].name})" if head in roles else head_name(head)


def outcome_text(names: Sequence[str]) -> str:
    """Describe an outcome by the names of its numbers, with the words whose logits it compares."""
    words = [f"`{visible_token(word_of(name))}`" for name in names[1:]]
    return f"{names[0]} of {' against '.join(words)}" if words else names[0]


def word_of(name: str) -> str:
    """Return the word in “probability of ' Mary'”."""
    return name.removeprefix("probability of ")[1:-1]


def visible_token(text: str) -> str:
    """Return a token for a sentence: spaces stay, line ends and backticks are signs."""
    return text.replace("`", "ˋ").replace("\n", "↵") or "␀"
