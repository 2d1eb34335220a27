"""A pronoun and two candidates of which only one fits in gender or number: is it the pronoun that a head follows?

A case is a built-in sentence of agreement; its two versions are one document. `others`: in place of the pronoun stands
another word with the same feature that stands for nobody that was named ("the man" for "he", "are" for "they"). A head
that chooses the fitting candidate from there as well matches gender or number and finds no antecedent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from mha_core.errors import InputError
from mha_core.heads.baselines import (
    fit_blind,
    fit_first,
    fit_last,
    fit_most_mentioned,
    fit_nearest,
    fit_on_halves,
)
from mha_core.heads.builtin import AGREEMENT, BuiltIn, read_builtin
from mha_core.heads.cases import Frame, ScoredCases, agreement
from mha_core.heads.cluster_stats import half_of
from mha_core.heads.corpora import PronounCase
from mha_core.heads.questions.base import BACK, Question
from mha_core.heads.questions.choices import Choice, choice_of
from mha_core.heads.questions.pronouns import CONTROL, ChoiceQuestions
from mha_core.heads.questions.question_set import FrameCollector
from mha_core.heads.survey import Options, stream_corpus
from mha_core.models.model import Model

# What stands in for a pronoun: masculine and feminine, or one and many. "{}" is where a possessive has its ending.
GENDERED = {
    "man or woman": ("the man{}", "the woman{}"),
    "boy or girl": ("the boy{}", "the girl{}"),
    "father or mother": ("the father{}", "the mother{}"),
    "another name": ("Thomas{}", "Laura{}"),
}
NUMBERED = {"is or are": ("is", "are"), "this or these": ("this", "these")}
PRONOUN = "pronoun"


class AgreementQuestions(ChoiceQuestions):
    """The candidate that fits a pronoun, in both directions."""

    name = "agreement"
    noun = "candidate"
    fits = (fit_nearest, fit_first, fit_most_mentioned, fit_last, fit_blind)
    keys = ("agreement",)

    def question(self, key: str, corpus: str) -> Question:
        """Return the question of a direction."""
        if key.endswith(BACK):
            title, does = "name → the pronoun that fits it", "looks from a name to the pronoun that fits it"
            asks = "Of two candidates, does the one that fits a pronoun in gender or number look more at it?"
        else:
            title, does = "pronoun → the name that fits it", "looks from a pronoun to the name that fits it"
            asks = "Of two candidates, does a pronoun look more at the one that fits it in gender or number?"
        return Question(key, "agreement", title, does, asks, corpus, control=CONTROL)


def substituted(sentence: BuiltIn, twin: BuiltIn) -> Iterator[tuple[str, PronounCase]]:
    """Yield the sentence with each substitute in the pronoun's place, by name; `twin` has the other pronoun."""
    choice = sentence.choice
    if choice is None or twin.choice is None:
        return
    forms = [each.text[slice(*each.pronoun)].lower() for each in (choice, twin.choice)]
    if sentence.kind == "number":
        second, ending, table = forms[0] in ("they", "them", "their", "theirs"), "", NUMBERED
    else:
        second = forms[0] in ("she", "her", "hers")
        ending, table = "'s" if {"his", "its"} & set(forms) else "", GENDERED
    for name, words in table.items():
        yield name, _put(choice, words[second].format(ending), words[second].format(""))


def _put(choice: PronounCase, words: str, looks: str) -> PronounCase:
    """Return the choice with other words for its pronoun, of which the last of `looks` is the one that looks."""
    start, stop = choice.pronoun
    text = choice.text[:start] + words + choice.text[stop:]
    away = len(words) - (stop - start)
    first = start + len(looks) - len(looks.split()[-1])
    spans = [(a + away, b + away) if a >= stop else (a, b) for a, b in choice.candidates]
    return replace(choice, text=text, pronoun=(first, start + len(looks)), candidates=(spans[0], spans[1]))


def agreement_cases(model: Model, corpus: str, options: Options | None = None) -> Iterator[ScoredCases]:
    """Yield both questions of agreement, or the one that a decoder can be asked."""
    sentences = [each for each in read_builtin() if each.kind in AGREEMENT and each.choice is not None]
    variants = {PRONOUN: {each.id: each.choice for each in sentences if each.choice is not None}}
    for sentence in sentences:
        twins = (
            other for other in sentences if other.cluster == sentence.cluster and other.id != sentence.id
        )
        twin = next(twins, None)
        for name, choice in () if twin is None else substituted(sentence, twin):
            variants.setdefault(name, {})[sentence.id] = choice
    questions = AgreementQuestions(model.info.visibility)
    options = Options(limit=None, stop=None if options is None else options.stop)
    collected = {name: _collected(questions, choices, model, options) for name, choices in variants.items()}
    frame, numbers = collected.pop(PRONOUN)
    known_sentences = [sentence for sentence in sentences if sentence.id in numbers]
    documents = np.unique([sentence.cluster for sentence in known_sentences], return_inverse=True)[1]
    second = np.array([half_of(sentence.cluster) for sentence in known_sentences], dtype=bool)
    for key, by_text in questions.cases(frame).items():
        cases = [by_text[numbers[sentence.id]] for sentence in known_sentences]
        scored = questions.score(key, frame, cases, fit_on_halves(questions.fits, cases, second), corpus)
        others = {}
        for name, (other_frame, other_numbers) in collected.items():
            others[name] = np.full(scored.right.shape, np.nan)
            known = [i for i, sentence in enumerate(known_sentences) if sentence.id in other_numbers]
            if known:
                rows = [other_numbers[known_sentences[i].id] for i in known]
                answers = np.array([cases[i].answer for i in known])
                others[name][known] = agreement(questions.looks(key, other_frame)[rows], answers)
        yield replace(scored, documents=documents, second_half=second, others=others)


def _collected(
    questions: AgreementQuestions, choices: Mapping[str, PronounCase], model: Model, options: Options
) -> tuple[Frame, dict[str, int]]:
    """Return what heads choose in texts, and the number of each in it by the sentence's id."""
    collector, items = FrameCollector(questions), dict[str, Choice]()
    for name, choice in choices.items():
        try:
            items[name] = choice_of(choice, model.tokenizer)
        except InputError:
            continue
    stream_corpus(list(items.values()), model, [collector], options)
    names = {id(item.source): name for name, item in items.items()}
    return collector.frame(), {names[id(text)]: number for number, text in enumerate(collector.texts)}
