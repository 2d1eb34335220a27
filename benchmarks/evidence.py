"""How sure the verdicts on heads are, and the numbers about heads in the documents, from the shipped tables alone.

`python benchmarks/evidence.py write` puts the numbers into README.md and docs/evidence.md, between comments with the
name of a passage; `... power`, a minute of planted heads, the power curve.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mha_core.display_names import Head, count_noun, head_name, percent  # noqa: E402
from mha_core.heads.atlas.shipped import read_shipped  # noqa: E402
from mha_core.heads.cases import Baseline, ScoredCases  # noqa: E402
from mha_core.heads.cluster_stats import Z_95  # noqa: E402
from mha_core.heads.conclude import QuestionResult, score_question  # noqa: E402
from mha_core.heads.questions.base import KINDS, POSITIONAL_KINDS, Question  # noqa: E402
from mha_core.heads.roles import heads_with, roles  # noqa: E402
from mha_core.heads.surface import FEATURES  # noqa: E402
from mha_core.heads.table import RoleTable, read_roles  # noqa: E402
from mha_core.heads.verdict import missing  # noqa: E402
from mha_core.heads.verdict_text import comparison, question_text  # noqa: E402
from mha_core.resources import asset  # noqa: E402

DOCUMENTS = ("README.md", "docs/evidence.md")
PASSAGE = re.compile(r"(<!-- (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# The questions of the table in docs/evidence.md.
NAMED = (
    "previous", "next", "copy", "duplicate", "induction", "antecedent", "antecedent-even", "agreement", "semantic",
    "det", "case", "amod", "obj", "nsubj", "conj", "rare",
)  # fmt: skip
MAX_NAMED = 6  # heads of a kind
NEW_BASELINES = (
    "boosted trees on", "the last word of its own", "the next word of its own", "the first noun or name", "the longest",
)  # fmt: skip

# Question, its kind of role, cases, documents, and the score of the best baseline: those of MiniLM's table.
PLANTED = (
    ("agreement", "agreement", 126, 63, 0.50),
    ("conj", "syntactic", 916, 219, 0.50),
    ("semantic", "semantic", 1510, 254, 0.34),
    ("det", "syntactic", 1817, 273, 0.93),
    ("nsubj", "syntactic", 1958, 275, 0.81),
    ("antecedent", "coreference", 3964, 3500, 0.73),
)
SHARES = (1 / 5, 1 / 4, 1 / 3, 1 / 2)
KNOWS = np.arange(0.05, 1.001, 0.05)
BETTER_RULE = (
    0.28  # of the best baseline's errors, the most that a simple rule which was missing has repaired
)
DRAWS, COMPARISONS = 20, 5040


def planted(kind: str, n: int, documents: int, rule: float, knows: np.ndarray, seed: int) -> ScoredCases:
    """Return heads that know the answer in shares of the cases, (head,), and follow the best baseline in the others."""
    rng = np.random.default_rng(seed)
    hits = (rng.random(n) < rule).astype(float)
    right = np.where(rng.random((n, len(knows))) < knows, 1.0, hits[:, None])
    same = (right == hits[:, None]).astype(float)
    question = Question("planted", kind, "", "", "", "")
    document = rng.integers(0, documents, n)
    return ScoredCases(
        question, right, document, document % 2 == 1, (Baseline("rule", "", hits, True, same),), 0 * right,
        mass=np.ones(len(knows)),
    )  # fmt: skip


def power(kind: str, n: int, documents: int, rule: float, knows: np.ndarray) -> np.ndarray:
    """Return in which share of draws such heads get the role, by the share of errors it asks for, (share, head)."""
    roles = np.zeros((len(SHARES), len(knows)))
    for seed in range(DRAWS):
        result = score_question(planted(kind, n, documents, rule, knows, seed), (1, len(knows)), COMPARISONS)
        assert result is not None
        for head in range(len(knows)):
            evidence = result.evidence((0, head))
            is_else_met = set(missing(evidence)) <= {"repair"}
            low = evidence.repaired - Z_95 * evidence.error
            roles[:, head] += [is_else_met and low >= share for share in SHARES]
    return roles / DRAWS


def power_table() -> Iterator[str]:
    """Yield the least knowledge with which eight draws of ten give the role, and how often a better rule gets it."""
    yield f"| question | n | best baseline | {' | '.join(f'asks {percent(share)}' for share in SHARES)} |"
    yield f"|---|--:|--:|{'--:|' * len(SHARES)}"
    for name, kind, n, documents, rule in PLANTED:
        roles = power(kind, n, documents, rule, np.append(KNOWS, BETTER_RULE))
        cells = []
        for row in roles:
            enough = np.flatnonzero(row[:-1] >= 0.8)
            least = percent(KNOWS[enough[0]]) if len(enough) else "none"
            cells.append(f"{least} ({percent(row[-1])})")
        yield f"| {name} | {n:,} | {percent(rule)} | {' | '.join(cells)} |"


def passages() -> dict[str, str]:
    """Return every passage of the documents that comes from the shipped tables, by its name."""
    minilm, smollm2 = _shipped("minilm"), _shipped("smollm2")
    return {
        "4-2": f"4-2, the famous pronoun head of MiniLM, is {comparison(minilm.by_key['antecedent'], (3, 1))}.",
        "features": f"The twelve features: {'; '.join(FEATURES)}.",
        "minilm-corpora": _corpora(minilm),
        "minilm": "\n".join(_best_heads(minilm)),
        "minilm-more": "\n\n".join(_of_minilm(minilm)),
        "taken": "\n".join(_taken(minilm)),
        "smollm2": "\n\n".join(_of_smollm2(smollm2)),
        "controls": "\n\n".join(map(_control, (minilm, smollm2))),
        "atlas": "\n\n".join(map(_atlas, ("minilm", "smollm2"))),
    }


def _shipped(name: str) -> RoleTable:
    table = read_roles(name)
    assert table is not None
    return table


def _corpora(table: RoleTable) -> str:
    corpora = (f"{corpus.title} ({corpus.n_texts:,} texts)" for corpus in table.corpora.values())
    return f"Asked on {'; '.join(corpora)}. {count_noun(table.n_comparisons, 'comparison')} in all."


def _best_heads(table: RoleTable) -> Iterator[str]:
    yield "| question | n | best head | held out | in all | strongest baseline | control | verdict |"
    yield "|---|--:|---|--:|--:|---|--:|---|"
    for answer in (table.by_key[key] for key in NAMED if key in table.by_key):
        rule, best = answer.baselines[0], answer.best
        control = "" if answer.control is None else percent(float(answer.control[best]))
        score, held_out = percent(float(answer.score[best])), percent(answer.held_out)
        yield (
            f"| {answer.question.title} | {answer.n:,} | {head_name(best)} | {held_out} | {score} | "
            f"{rule.name}, {percent(rule.score)} | {control} | {answer.word[best]} |"
        )


def _of_minilm(table: RoleTable) -> Iterator[str]:
    yield f"The famous pronoun head 4-2 has no role. It is {comparison(table.by_key['antecedent'], (3, 1))}."
    few = json.loads(asset("lesson", "gap.json").read_text(encoding="utf-8"))
    score, rule = percent(few["score"]), percent(few["baseline_score"])
    yield (
        f"On the {few['n']} pronouns of GAP's validation part alone, it scores {score} and the best rule {rule}: "
        "too few to tell."
    )
    tracks = [
        f"{head_name(head)} on {answer.question.title}, {percent(float(answer.right_where_all_wrong[head]))} of "
        f"{answer.n_all_wrong:,} (chance {percent(answer.chance)})"
        for answer in table.answers
        if answer.kind == "syntactic" and answer.right_where_all_wrong is not None
        for head in table.heads
        if answer.word[head] == "tracks"
    ]
    relations = [answer for answer in table.answers if answer.kind == "syntactic"]
    n_roles = sum(int((answer.word == "role").sum()) for answer in relations)
    yield (
        f"Of {len(relations)} questions on relations, {n_roles or 'none'} gives a head a role. Some heads track one. "
        f"Right where every rule is wrong: {'; '.join(tracks)}."
    )


def _taken(table: RoleTable) -> Iterator[str]:
    yield "| question | best head | best baseline before | best baseline now | verdict |"
    yield "|---|---|---|---|---|"
    for answer in table.answers:
        before = next(each for each in answer.baselines if not each.name.startswith(NEW_BASELINES))
        if before is answer.baselines[0]:
            continue
        cells = (f"{each.name}, {percent(each.score)}" for each in (before, answer.baselines[0]))
        best, score = answer.best, percent(float(answer.score[answer.best]))
        yield f"| {answer.question.title} | {head_name(best)}, {score} | {' | '.join(cells)} | {answer.word[best]} |"


def _of_smollm2(table: RoleTable) -> Iterator[str]:
    yield _corpora(table)
    yield "\n".join(["| kind of role | heads | the first by score |", "|---|--:|---|", *_kinds(table)])
    for kind in ("coreference", "agreement"):
        answer, head = _closest(table, kind)
        yield f"{answer.question.title}, {head_name(head)}. {question_text(answer, head)}"
    answers = [answer for answer in table.answers if answer.kind in ("mover", "suppression")]
    rows = [
        f"| {head_name(head)} | {answer.question.title} | {percent(float(answer.score[head]))} | "
        f"{percent(float(answer.mass[head]))} |"
        for answer in answers
        for head in sorted(table.heads, key=lambda head: -float(answer.mass[head]))
        if answer.mass is not None and answer.word[head] == "role"
    ]
    yield "\n".join(["| head | question | names | attention to names |", "|---|---|--:|--:|", *rows])
    yield answers[0].question.asks if answers else ""
    for answer in (table.by_key[key] for key in ("retrieval", "successor", "dormant") if key in table.by_key):
        title, text = answer.question.title, question_text(answer, answer.best)
        yield f"{title.capitalize()}, {head_name(answer.best)}. {answer.question.asks} {text}"


def _closest(table: RoleTable, kind: str) -> tuple[QuestionResult, Head]:
    """Return the question of a kind with the most cases, and its best head."""
    answer = max((each for each in table.answers if each.kind == kind), key=lambda each: each.n)
    return answer, answer.best


def _kinds(table: RoleTable) -> Iterator[str]:
    for kind in KINDS:
        if any(answer.kind == kind.key for answer in table.answers):
            heads = heads_with(table, kind.key)
            yield f"| {kind.name} | {len(heads)} | {', '.join(map(head_name, heads[:MAX_NAMED]))} |"


def _control(table: RoleTable) -> str:
    untrained = table.untrained
    assert untrained is not None
    held = roles(untrained)
    about = [answer for answer in untrained.answers if answer.kind not in POSITIONAL_KINDS]
    words = [str(word) for answer in about for word in answer.word.ravel()]
    described = sum(word in ("role", "slight", "weak", "tracks") for word in words)
    corpora = "; ".join(corpus.title for corpus in untrained.corpora.values())
    return (
        f"{table.model} with random weights ({corpora}): {count_noun(len(held), 'head')} with a role; "
        f"{described} of {len(words):,} answers on content are role, slight, weak or tracks."
    )


def _atlas(name: str) -> str:
    shipped = read_shipped(name)
    assert shipped is not None
    atlas, controls = shipped.atlas, shipped.controls
    by_control = (
        f"{name}: {each.described} of {each.heads}, {each.by_content} by more than position"
        for name, each in controls.items()
    )
    return (
        f"{name}, {atlas.n_passages} passages: {atlas.n_described} of {len(atlas.heads)} heads have a description, "
        f"{atlas.n_by_content} by more than position. Controls ({'; '.join(by_control)})."
    )


def written(text: str, texts: dict[str, str]) -> str:
    """Return a document with its passages as they are texts."""
    return PASSAGE.sub(
        lambda match: f"{match[1]}{texts[match['name']]}\n{match[3]}" if match["name"] in texts else match[0],
        text,
    )


def main(arguments: Sequence[str]) -> None:
    """Print the power curve, or write all passages."""
    texts = {"power": "\n".join(power_table())} if "power" in arguments else {}
    if "write" in arguments:
        texts |= passages()
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(written(path.read_text(encoding="utf-8"), texts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
