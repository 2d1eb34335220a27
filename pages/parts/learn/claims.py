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

Trial = tuple[str, str, str]  # test, result, conclusion
HEAD: Head = (3, 1)
AGREES: Head = (1, 3)
PRONOUNS, EVEN = "antecedent", "antecedent-even"
IMPOSSIBLE = "She knew that Anna thanked Peter."
CANDIDATES = ("animal", "street")
NOTICED = ("role", "slight", "weak", "tracks")  # verdicts before which a higher score does not count


def best_of_kinds(table: RoleTable) -> list[tuple[QuestionResult, Head]]:
    """Return for every kind of role the question and the head that come closest to it."""

    def rank(pair: tuple[QuestionResult, Head]) -> tuple[int, float]:
        answer, head = pair
        word = str(answer.word[head])
        place = NOTICED.index(word) if word in NOTICED else len(NOTICED)
        return place, -answer.n * float(answer.score[head])

    best: dict[str, tuple[QuestionResult, Head]] = {}
    for answer, head in sorted(product(table.answers, table.heads), key=rank):
        best.setdefault(answer.kind, (answer, head))
    return [best[kind.key] for kind in KINDS if kind.key in best]


def besides(table: RoleTable) -> list[tuple[QuestionResult, Head]]:
    """Return what 4-2 does other than coreference, described or not, and what 2-4 does."""
    mine = [answer for answer in answers_of(table, HEAD, NOTICED) if answer.kind != "coreference"]
    return [(a, HEAD) for a in mine] + [(a, AGREES) for a in answers_of(table, AGREES, ("role",))]


def attention_to(
    targets: Sequence[str], text: str, word: str, head: Head, model: str = EMBEDDED
) -> dict[str, float]:
    """Return the attention of the first token spelled `word` to each target, in one head, as the model computes it."""
    record = cache.record(Request(text, model=model))
    names = [unit.label.strip().lower() for unit in piece_units(record.tokens)]
    row = record.weights[head][names.index(word.lower())]
    return {name: float(row[names.index(name.lower())]) for name in targets}


def one_word() -> Trial:
    """Ask whether `it` follows the change from tired to wide."""
    weights = {
        word: attention_to(CANDIDATES, text, "it", HEAD) for word, text in (("tired", TIRED), ("wide", WIDE))
    }
    results = (
        f"`{word}`: animal {given['animal']:.0%}, street {given['street']:.0%}"
        for word, given in weights.items()
    )
    n_right = (weights["tired"]["animal"] > weights["tired"]["street"]) + _follows()
    says = f"{n_right} of 2 right: `it` {'moves' if _follows() else 'stays with `animal`'}."
    return "One word changed", "; ".join(results), says


def _follows() -> bool:
    weights = attention_to(CANDIDATES, WIDE, "it", HEAD)
    return weights["street"] > weights["animal"]


def pronouns() -> Trial:
    """Ask all pronouns of GAP, and say what fewer would have shown."""
    few = json.loads((LESSON / "gap.json").read_text(encoding="utf-8"))
    got, says = _answered(PRONOUNS)
    apart = "could not be told apart" if few["verdict"] == "unclear" else "could be told apart"
    says += f" On {few['n']} pronouns alone, {few['score']:.0%} and {few['baseline_score']:.0%} {apart}."
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
    says = "So training taught it this." if learned else "Training made no clear difference."
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


def vote_result(vote: str) -> str:
    """Return what the tests say to a vote about the claim, with n and the best baseline."""
    answer = _table().by_key[PRONOUNS]
    word, lead = str(answer.word[HEAD]), float(answer.score[HEAD]) - answer.baselines[0].score
    if word == "role" and _follows():
        says = "The tests say yes"
    else:
        says = "The tests say: in part" if word in ("role", "weak") else "The tests say no"
    ahead = f"{abs(100 * lead):.0f} points {'ahead of' if lead > 0 else 'behind'}"
    follows = "follows" if _follows() else "does not follow"
    return (
        f"You voted “{vote}”. **{says}.** Over {answer.n:,} pronouns 4-2 is {ahead} the best baseline. It {follows} "
        "`tired` and `wide`."
    )


def impossible() -> str:
    """Return where agreement and reference part: the pronoun cannot mean the name that agrees."""
    weights = attention_to(("Anna", "Peter"), IMPOSSIBLE, "She", AGREES)
    follows = "it matches gender" if weights["Anna"] > weights["Peter"] else "here it does not match gender"
    return (
        f"“{IMPOSSIBLE}” She is not Anna. Yet head {head_name(AGREES)} gives Anna **{weights['Anna']:.0%}** and Peter "
        f"{weights['Peter']:.0%}: {follows}."
    )


def moving() -> pd.DataFrame:
    """Return the percentage of attention from `it` to both nouns, in MiniLM's 4-2 and in the toy model's head."""
    toy = cache.record(Request(TIRED, model=CLASSROOM))
    head = head_from_name(report()["models"]["seed-1"]["head"], toy.n_layers, toy.n_heads)
    rows = []
    for name, model, place in (("MiniLM", EMBEDDED, HEAD), ("Toy model", CLASSROOM, head)):
        for word, text in (("tired", TIRED), ("wide", WIDE)):
            weights = attention_to(CANDIDATES, text, "it", place, model)
            shares = {noun: 100 * share for noun, share in weights.items()}
            rows.append({"model": f"{name} {head_name(place)}", "“... too”": word, **shares})
    return pd.DataFrame(rows)


def for_and_against() -> list[str]:
    """Return the toy model's evaluation for the claim, and against it."""
    results = report()
    seeds, card = results["over_seeds"], results["models"]["seed-1"]
    answers, without = card["answers"]["better"], card["without_head"]["better"]
    depends = "hardly depends on" if answers - without < 0.05 else "depends on"
    return [
        f"**For it:** its head follows the meaning in {seeds['pass']:.0%} of {card['pairs']} new pairs, over "
        f"{seeds['seeds']} seeds; untrained, in {results['untrained']['pass']:.0%}.",
        f"**Against it:** zero-ablate head {card['head']}, and the model still prefers the right noun in "
        f"{without:.0%}. Its answer {depends} that head.",
    ]
