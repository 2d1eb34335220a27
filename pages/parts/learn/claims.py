"""The claim about head 4-2 of MiniLM, its tests, what the head does besides, and a model for which the claim holds.

In: MiniLM's table of roles, records of the embedded models, the shipped figures of the classroom. Out: rows and
sentences; every number is computed or shipped. No Streamlit here.
"""

import json
from collections.abc import Callable, Sequence
from itertools import product

import pandas as pd

from mha_core.display_names import Head, head_name
from mha_core.heads.conclude import QuestionResult
from mha_core.heads.questions.base import KINDS
from mha_core.heads.roles import answers_of
from mha_core.heads.table import RoleTable
from mha_core.heads.verdict_text import head_text, question_text
from mha_core.models.model_list import CLASSROOM, EMBEDDED
from mha_core.models.toy_checkpoints import report
from mha_core.record.grid import head_from_name, piece_units
from pages.parts.frame import head_facts
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.presets import TIRED, WIDE
from pages.parts.frame.request import Request
from pages.parts.serve import cache

Trial = tuple[str, str, str]  # what is asked, what came out, what follows
HEAD: Head = (3, 1)
AGREES: Head = (1, 3)
PRONOUNS, EVEN = "antecedent", "antecedent-even"
IMPOSSIBLE = "She knew that Anna thanked Peter."
CANDIDATES = ("animal", "street")
NOTICED = ("role", "slight", "weak", "tracks")  # verdicts before which a higher score does not count


def best_of_kinds(table: RoleTable) -> list[tuple[QuestionResult, Head]]:
    """Return for every kind of role the question and the head that come closest to it."""
    found: dict[str, tuple[QuestionResult, Head]] = {}
    for answer, head in sorted(product(table.answers, table.heads), key=_place):
        found.setdefault(answer.kind, (answer, head))
    return [found[kind.key] for kind in KINDS if kind.key in found]


def _place(asked: tuple[QuestionResult, Head]) -> tuple[int, float]:
    answer, head = asked
    word = str(answer.word[head])
    place = NOTICED.index(word) if word in NOTICED else len(NOTICED)
    return place, -answer.n * float(answer.score[head])


def besides(table: RoleTable) -> list[tuple[QuestionResult, Head]]:
    """Return what 4-2 does other than coreference, described or not, and what 2-4 does."""
    mine = [answer for answer in answers_of(table, HEAD, NOTICED) if answer.kind != "coreference"]
    return [(a, HEAD) for a in mine] + [(a, AGREES) for a in answers_of(table, AGREES, ("role",))]


def looks(text: str, word: str, at: Sequence[str], head: Head, model: str = EMBEDDED) -> dict[str, float]:
    """Return how much the first token with that spelling gives to others, in one head, as the model computes it now."""
    record = cache.record(Request(text, model=model))
    names = [unit.label.strip().lower() for unit in piece_units(record.tokens)]
    row = record.weights[head][names.index(word.lower())]
    return {name: float(row[names.index(name.lower())]) for name in at}


def one_word() -> Trial:
    """Ask whether `it` follows the change from tired to wide."""
    found = {word: looks(text, "it", CANDIDATES, HEAD) for word, text in (("tired", TIRED), ("wide", WIDE))}
    got = (f"`{word}`: animal {at['animal']:.0%}, street {at['street']:.0%}" for word, at in found.items())
    right = (found["tired"]["animal"] > found["tired"]["street"]) + _follows()
    says = f"{right} of 2 right: `it` {'moves' if _follows() else 'stays with `animal`'}."
    return "One word changed", "; ".join(got), says


def _follows() -> bool:
    at = looks(WIDE, "it", CANDIDATES, HEAD)
    return at["street"] > at["animal"]


def pronouns() -> Trial:
    """Ask all pronouns of GAP, and say what fewer would have shown."""
    few = json.loads((LESSON / "gap.json").read_text(encoding="utf-8"))
    got, says = _answered(PRONOUNS)
    told = "could not be told apart" if few["verdict"] == "unclear" else "could be told apart"
    says += f" On {few['n']} pronouns alone, {few['score']:.0%} and {few['baseline_score']:.0%} {told}."
    return f"{_table().by_key[PRONOUNS].n:,} pronouns of GAP (Webster et al. 2018)", got, says


def even() -> Trial:
    """Ask those in which counting the names does not help."""
    return f"The {_table().by_key[EVEN].n:,} with both names equally frequent", *_answered(EVEN)


def _answered(key: str) -> tuple[str, str]:
    outcome, _, numbers = question_text(_table().by_key[key], HEAD).partition(": ")
    return f"{numbers[0].upper()}{numbers[1:-1]}", f"{outcome}."


def random_weights() -> Trial:
    """Ask the same head before training."""
    trained, random = (_table(weights).by_key[PRONOUNS] for weights in (True, False))
    got = f"Right in {random.score[HEAD]:.0%} of {random.n:,}; trained, {trained.score[HEAD]:.0%}"
    learned = trained.low[HEAD] > random.high[HEAD]
    says = "It learned this." if learned else "Training made no clear difference."
    return "The same head with random weights", got, says


def _table(trained: bool = True) -> RoleTable:
    return head_facts.table(EMBEDDED, trained)


TESTS: dict[str, Callable[[], Trial]] = {
    "change one word": one_word,
    "published pronouns": pronouns,
    "names equally frequent": even,
    "before training": random_weights,
}


def conclusion() -> str:
    """Return what is left of the claim after all tests."""
    follows = "follows" if _follows() else "does not follow"
    return f"Head {head_name(HEAD)}. {head_text(_table(), HEAD)} It {follows} `tired` and `wide`."


def impossible() -> str:
    """Return where agreement and reference part: the pronoun cannot mean the name that agrees."""
    at = looks(IMPOSSIBLE, "She", ("Anna", "Peter"), AGREES)
    follows = "it matches gender" if at["Anna"] > at["Peter"] else "here it does not match gender"
    return (
        f"“{IMPOSSIBLE}” She is not Anna. Yet head {head_name(AGREES)} gives Anna **{at['Anna']:.0%}** and Peter "
        f"{at['Peter']:.0%}: {follows}."
    )


def moving() -> pd.DataFrame:
    """Return what `it` gives to both nouns, tired and wide, in MiniLM's 4-2 and in the classroom's head, in percent."""
    classroom = cache.record(Request(TIRED, model=CLASSROOM))
    head = head_from_name(report()["models"]["seed-1"]["head"], classroom.n_layers, classroom.n_heads)
    rows = [
        {
            "model": f"{name} {head_name(place)}",
            "“... too”": word,
            **{noun: 100 * share for noun, share in looks(text, "it", CANDIDATES, place, model).items()},
        }
        for name, model, place in (("MiniLM", EMBEDDED, HEAD), ("Classroom", CLASSROOM, head))
        for word, text in (("tired", TIRED), ("wide", WIDE))
    ]
    return pd.DataFrame(rows)


def for_and_against() -> list[str]:
    """Return what the evaluation of the classroom says for the claim, and against it."""
    found = report()
    seeds, card = found["over_seeds"], found["models"]["seed-1"]
    answers, without = card["answers"]["better"], card["without_head"]["better"]
    depends = "hardly depends on" if answers - without < 0.05 else "depends on"
    return [
        f"**For it:** its head follows the meaning in {seeds['pass']:.0%} of {card['pairs']} new pairs, over "
        f"{seeds['seeds']} seeds; untrained, in {found['untrained']['pass']:.0%}.",
        f"**Against it:** zero-ablate head {card['head']}, and the model still prefers the right noun in "
        f"{without:.0%}. Its answer {depends} that head.",
    ]
