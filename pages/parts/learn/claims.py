"""A claim about head 4-2 of MiniLM, tested until it falls; what the head does instead; and a model for which it holds.

In: records and findings of the embedded models, and the shipped figures of GAP and of the classroom. Out: rows and
sentences; every number is computed or read from what is shipped. No Streamlit here.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache as once
from typing import Any

from mha_core import AttentionRecord
from mha_core.grid import piece_units
from mha_core.heads.findings import Findings
from mha_core.learning.classroom.shipped import report
from mha_core.shelf import CLASSROOM, EMBEDDED
from mha_core.wording import Head, head_name, percent
from pages.parts.frame import head_facts
from pages.parts.frame.glossary import LESSON
from pages.parts.frame.presets import TIRED, WIDE
from pages.parts.frame.request import Request
from pages.parts.learn.outcome import Share, Trial, learnt, pronouns_said
from pages.parts.serve import cache

HEAD: Head = (3, 1)
AGREES: Head = (1, 3)
MEANING, AGREEMENT = "coreference", "agreement"
IMPOSSIBLE = "She knew that Anna thanked Peter."
CANDIDATES = ("animal", "street")
BEATS = {"specialist": "yes", "rule": "a rule does it", "unsure": "not sure", "none": "no"}


@once
def gap() -> dict[str, Any]:
    """Head 4-2 on GAP's validation file, trained and untrained; the command that counted stands in it."""
    found: dict[str, Any] = json.loads((LESSON / "gap.json").read_text(encoding="utf-8"))
    return found


def looks(text: str, word: str, at: Sequence[str], head: Head, model: str = EMBEDDED) -> dict[str, float]:
    """How much a word's row gives to each of these words, in one head (from 0), as the model computes it now."""
    record = cache.record(Request(text, model=model))
    return row_of(record, word, at, head)


def row_of(record: AttentionRecord, word: str, at: Sequence[str], head: Head) -> dict[str, float]:
    """The same of a record: the first token with that spelling looks at the first ones of the others."""
    names = [unit.label.strip().lower() for unit in piece_units(record.tokens)]
    row = record.weights[head[0], head[1], names.index(word.lower())]
    return {name: float(row[names.index(name.lower())]) for name in at}


def one_word() -> Trial:
    """Tired and wide."""
    tired, wide = (looks(text, "it", CANDIDATES, HEAD) for text in (TIRED, WIDE))
    right = (tired["animal"] > tired["street"]) + (wide["street"] > wide["animal"])
    moved = "it moves" if wide["street"] > wide["animal"] else "it stays with `animal`"
    return Trial(
        "One word changed: tired, wide",
        f"tired: animal {percent(tired['animal'])}, street {percent(tired['street'])}; "
        f"wide: animal {percent(wide['animal'])}, street {percent(wide['street'])}",
        "To beat: both right.",
        f"{right} of 2 right: {moved}.",
        right == 2,
    )


def built_in() -> Trial:
    """Sentences in which only the meaning tells the two candidates apart."""
    table = head_facts.findings(EMBEDDED).jobs[MEANING]
    low, high = percent(float(table.low[HEAD])), percent(float(table.high[HEAD]))
    return Trial(
        f"{table.n} sentences where only the meaning decides",
        f"{percent(float(table.score[HEAD]))} (95 %: {low} to {high}; n = {table.n})",
        f"To beat: {table.baseline_name} {percent(table.baseline)}.",
        f"{table.verdicts[HEAD].because.capitalize()}.",
        bool(table.verdicts[HEAD]),
    )


def published() -> Trial:
    """GAP: texts by others."""
    card = gap()["trained"]
    mine, rule = card["head"], max(card["baselines"], key=card["baselines"].get)
    because = str(mine["because"]).replace(f"“{rule}”", "just named")
    return Trial(
        f"{card['n']} pronouns of GAP (Webster et al. 2018)",
        f"{percent(mine['accuracy'])} (95 %: {percent(mine['ci_low'])} to {percent(mine['ci_high'])}; n = {card['n']})",
        f"To beat: “take the {rule} name” {percent(card['baselines'][rule])}.",
        f"{pronouns_said(mine)}; {because}.",
        mine["verdict"] == "specialist",
    )


def untrained() -> Trial:
    """The same head before it learnt anything."""
    table, twin = (head_facts.findings(EMBEDDED, trained).jobs[MEANING] for trained in (True, False))
    published = [gap()[weights]["head"] for weights in ("trained", "untrained")]
    meaning = [Share(*(float(part[HEAD]) for part in (t.score, t.low, t.high))) for t in (table, twin)]
    names = [Share(card["accuracy"], card["ci_low"], card["ci_high"]) for card in published]
    says, held = learnt(head_name(HEAD), (meaning[0], meaning[1]), (names[0], names[1]))
    return Trial(
        "The same head with random weights",
        f"{percent(meaning[1].score)} of the {twin.n}, {percent(names[1].score)} of GAP's {gap()['untrained']['n']}",
        f"Trained: {percent(meaning[0].score)} and {percent(names[0].score)}.",
        says,
        held,
    )


TESTS: tuple[tuple[str, Callable[[], Trial]], ...] = (
    ("change one word", one_word),
    ("sentences of meaning", built_in),
    ("texts by others", published),
    ("before training", untrained),
)


def instead(found: Findings) -> list[list[str]]:
    """What 4-2 is a specialist in, then the job of the claim, and 2-4's own: job, head, score, what it beats, n."""
    mine = [(table, HEAD) for table in found.best_jobs(HEAD)]
    asked = [*mine, (found.jobs[MEANING], HEAD), (found.jobs[AGREEMENT], AGREES)]
    return [
        [
            table.job.title,
            head_name(head),
            percent(float(table.score[head])),
            percent(table.baseline),
            str(table.n),
            BEATS[table.verdict(*head)],
        ]
        for table, head in asked
    ]


def impossible() -> str:
    """Where agreement and reference part: the pronoun cannot mean the name that agrees."""
    at = looks(IMPOSSIBLE, "She", ("Anna", "Peter"), AGREES)
    follows = "it looks for agreement" if at["Anna"] > at["Peter"] else "here it does not look for agreement"
    return (
        f"“{IMPOSSIBLE}” Whoever she is, she is not Anna. Head {head_name(AGREES)} gives Anna "
        f"**{percent(at['Anna'])}** and Peter {percent(at['Peter'])}: {follows}."
    )


def moving() -> list[list[str]]:
    """Tired and wide: what `it` gives to both nouns in MiniLM's 4-2 and in the classroom's head."""
    lines = []
    card = report()["models"]["seed-1"]
    layer, head = (int(part) - 1 for part in card["head"].split("-"))
    for name, model, place in (("MiniLM", EMBEDDED, HEAD), ("Classroom", CLASSROOM, (layer, head))):
        for word, text in (("tired", TIRED), ("wide", WIDE)):
            at = looks(text, "it", CANDIDATES, place, model)
            lines.append([f"{name} {head_name(place)}", word, percent(at["animal"]), percent(at["street"])])
    return lines


def card_said() -> list[str]:
    """What the report card of the classroom says for the claim, and against it."""
    found = report()
    seeds, card = found["over_seeds"], found["models"]["seed-1"]
    answers, without = card["answers"]["better"], card["without_head"]["better"]
    left = "almost nothing is lost" if answers - without < 0.05 else "much is lost"
    windows = ", ".join(percent(value) for value in found.get("without_window", {}).values())
    said = [
        f"**For it:** over {seeds['seeds']} seeds, none left out, one head goes to the right noun of both sentences in "
        f"{percent(seeds['pass'])} of {card['pairs']} pairs that no text of the training had; untrained in "
        f"{percent(found['untrained']['pass'])}.",
        f"**Against it:** cut head {card['head']}, and the model still prefers the right noun in {percent(without)} "
        f"instead of {percent(answers)}: {left}. What the head shows is not what the answer rests on.",
    ]
    if windows:
        said.append(
            f"**What it took:** a task that pays for it, and a layer 1 that sees a few words only. Without that window "
            f"the best head passed {windows}."
        )
    return said
