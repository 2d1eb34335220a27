"""A pronoun and two candidates of which only one fits in gender or number: is it the pronoun that a head follows?

In: the built-in sentences of agreement, and a model. Out: one `Measured` in each direction. `others`: in place of the
pronoun stands another word with the same feature that stands for nobody that was named ("the man" for "he", "are" for
"they"). A head that chooses the fitting candidate from there as well matches gender or number and finds no antecedent.
Two versions of a sentence are one cluster.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.builtin import AGREEMENT, BuiltIn, read_builtin
from mha_core.heads.corpora import PronounCase
from mha_core.heads.questions.base import BACK, Baseline, Measured, Question, binary_baseline
from mha_core.heads.questions.pronouns import CONTROL, RULES, ChoiceCase, ChoiceLog, choice_case
from mha_core.heads.stats import half_of
from mha_core.heads.survey import Options, survey
from mha_core.heads.words import FloatArray
from mha_core.model import Model

# What stands in for a pronoun: masculine and feminine, or one and many. "{}" is where a possessive has its ending.
GENDERED = {
    "man or woman": ("the man{}", "the woman{}"),
    "boy or girl": ("the boy{}", "the girl{}"),
    "father or mother": ("the father{}", "the mother{}"),
    "another name": ("Thomas{}", "Laura{}"),
}
NUMBERED = {"is or are": ("is", "are"), "this or these": ("this", "these")}
PRONOUN = "pronoun"
Rights = dict[str, tuple[FloatArray, FloatArray, tuple[float, ...]]]


def substituted(sentence: BuiltIn, twin: BuiltIn) -> Iterator[tuple[str, PronounCase]]:
    """Yield the sentence with each substitute in the pronoun's place, by name; `twin` has the other pronoun."""
    choice = sentence.choice
    if choice is None or twin.choice is None:
        return
    forms = [one.text[slice(*one.pronoun)].lower() for one in (choice, twin.choice)]
    if sentence.kind == "number":
        second, ending, table = forms[0] in ("they", "them", "their", "theirs"), "", NUMBERED
    else:
        second = forms[0] in ("she", "her", "hers")
        ending, table = "'s" if {"his", "its"} & set(forms) else "", GENDERED
    for name, words in table.items():
        yield name, _put(choice, words[second].format(ending), words[second].format(""))


def _put(choice: PronounCase, words: str, looks: str) -> PronounCase:
    """The choice with other words for its pronoun, of which the last of `looks` is the one that looks."""
    start, stop = choice.pronoun
    text = choice.text[:start] + words + choice.text[stop:]
    away = len(words) - (stop - start)
    first = start + len(looks) - len(looks.split()[-1])
    spans = [(a + away, b + away) if a >= stop else (a, b) for a, b in choice.candidates]
    return replace(choice, text=text, pronoun=(first, start + len(looks)), candidates=(spans[0], spans[1]))


def measure_agreement(model: Model, corpus: str, options: Options | None = None) -> Iterator[Measured]:
    """Yield both questions of agreement, or the one that a decoder can be asked."""
    sentences = [one for one in read_builtin() if one.kind in AGREEMENT and one.choice is not None]
    asked = {PRONOUN: {one.id: one.choice for one in sentences if one.choice is not None}}
    for one in sentences:
        twins = (other for other in sentences if other.cluster == one.cluster and other.id != one.id)
        twin = next(twins, None)
        for name, choice in () if twin is None else substituted(one, twin):
            asked.setdefault(name, {})[one.id] = choice
    options = Options(limit=None, stop=None if options is None else options.stop)
    rights = {name: _rights(choices, model, options) for name, choices in asked.items()}
    known = [one for one in sentences if one.id in rights[PRONOUN]]
    if known:
        for way in range(1 if model.info.is_causal else 2):
            yield _measured(known, rights, corpus, way)


def _rights(choices: Mapping[str, PronounCase], model: Model, options: Options) -> Rights:
    """By the sentence's id: right (direction, head) from the word that looks, and from the other rows; the rules."""
    log, items = ChoiceLog(model.info.visibility), dict[str, ChoiceCase]()
    for name, choice in choices.items():
        try:
            items[name] = choice_case(choice, model.tokenizer)
        except InputError:
            continue
    survey(list(items.values()), model, [log], options)
    names = {id(one.source): name for name, one in items.items()}
    found: Rights = {}
    for one in log.found:
        side = 1 if one.answer else -1
        found[names[id(one.source)]] = ((1 + one.prefers * side) / 2, (1 + one.others * side) / 2, one.rules)
    return found


def _measured(known: list[BuiltIn], rights: dict[str, Rights], corpus: str, way: int) -> Measured:
    own = [rights[PRONOUN][one.id] for one in known]
    right = np.array([each[way] for each, _, _ in own])
    nothing = np.full(right.shape[1], np.nan)
    others = {
        name: np.array([there[one.id][0][way] if one.id in there else nothing for one in known])
        for name, there in rights.items()
        if name != PRONOUN
    }
    hits = np.array([rules for _, _, rules in own])
    named = [(f"the {name} candidate", hits[:, i]) for i, name in enumerate(RULES)]
    named.append(("the last candidate", 1 - hits[:, RULES.index("first")]))
    rules = [binary_baseline(name, name, values, right) for name, values in named]
    return Measured(
        _question(corpus, bool(way)),
        right,
        np.unique([one.cluster for one in known], return_inverse=True)[1],
        np.array([half_of(one.cluster) for one in known], dtype=bool),
        (*rules, Baseline("a coin", "a coin", np.full(len(known), 0.5))),
        np.array([control[way] for _, control, _ in own]),
        others,
        chance=np.full(len(known), 0.5),
    )


def _question(corpus: str, back: bool) -> Question:
    if back:
        title, does = "name → the pronoun that fits it", "looks from a name to the pronoun that fits it"
        asks = "Of two candidates, does the one that fits a pronoun in gender or number look more at it?"
    else:
        title, does = "pronoun → the name that fits it", "looks from a pronoun to the name that fits it"
        asks = "Of two candidates, does a pronoun look more at the one that fits it in gender or number?"
    key = "agreement" + (BACK if back else "")
    return Question(key, "agreement", title, does, asks, corpus, control=CONTROL)
