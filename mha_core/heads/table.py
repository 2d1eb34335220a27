"""The one table: every question asked of every head, as arrays, as a pandas frame, and as the file that is shipped.

In files layers and heads count from 1, shares go from 0 to 1 with DIGITS digits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mha_core.display_names import Head, head_name
from mha_core.heads.cluster_stats import Z_95, Gap
from mha_core.heads.conclude import BaselineScore, QuestionResult
from mha_core.heads.packed_files import read_packed, write_packed
from mha_core.heads.questions.base import KIND_OF, Question
from mha_core.heads.verdict import WORDS
from mha_core.heads.verdict_text import head_text, question_text
from mha_core.resources import asset

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 6  # four would be rounded once more where tenths of a percent are written
FORMAT = 2
Row = dict[str, Any]


@dataclass(frozen=True)
class Corpus:
    """What was read: `digests` are the SHA-256 of its files; `n_left_out` lines or texts could not be used."""

    key: str
    title: str
    files: list[str]
    digests: list[str]
    n_texts: int
    licence: str = ""
    n_left_out: int = 0


@dataclass(frozen=True, eq=False)
class RoleTable:
    """The answers to all questions about one model's heads, with the command that gives them again.

    `seed` of random weights, None for trained ones; `shape` is (layers, heads); `n_comparisons`: heads x questions,
    which one correction is made for. `untrained`: the same of the model with random weights, where it is at hand.
    """

    model: str
    digest: str
    trained: bool
    seed: int | None
    command: str
    date: str
    shape: tuple[int, int]
    n_comparisons: int
    corpora: Mapping[str, Corpus]
    answers: tuple[QuestionResult, ...]
    untrained: "RoleTable | None" = None

    @cached_property
    def by_key(self) -> dict[str, QuestionResult]:
        """All answers by their question's key."""
        return {answer.key: answer for answer in self.answers}

    @cached_property
    def heads(self) -> tuple[Head, ...]:
        """All heads, layer by layer, from 0."""
        return tuple((layer, head) for layer in range(self.shape[0]) for head in range(self.shape[1]))

    def corpus_of(self, answer: QuestionResult) -> str:
        """Return the title of the corpus that a question was asked on."""
        return self.corpora[answer.question.corpus].title

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a question and head: layers and heads from 1, shares from 0 to 1.

        `held_out` stands beside the best head of a question alone. Columns as in `docs/evidence.md`.
        """
        import pandas as pd

        verdicts = {"head_verdict": [head_text(self, head) for head in self.heads]}  # by all questions
        frames = [pd.DataFrame(_columns(self, answer) | verdicts) for answer in self.answers]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def questions(self) -> "pd.DataFrame":
        """Return one row a question: its best head, the held-out score, its interval, and the strongest baseline."""
        import pandas as pd

        return pd.DataFrame([_question_row(self, answer) for answer in self.answers])


def _question_row(table: RoleTable, answer: QuestionResult) -> Row:
    best, strongest = answer.best, answer.baselines[0]
    return {
        "question": answer.key,
        "title": answer.question.title,
        "role": KIND_OF[answer.kind].name,
        "corpus": table.corpus_of(answer),
        "n": answer.n,
        "documents": answer.documents,
        "head": head_name(best),
        "score": float(answer.score[best]),
        "held_out": answer.held_out,
        "low": answer.interval[0],
        "high": answer.interval[1],
        "baseline": strongest.name,
        "baseline_score": strongest.score,
        "control": None if answer.control is None else float(answer.control[best]),
        "verdict": str(answer.word[best]),
        "because": question_text(answer, best),
    }


def _columns(table: RoleTable, answer: QuestionResult) -> dict[str, Any]:
    layers, heads = table.shape
    strongest, n = answer.baselines[0], layers * heads
    nothing = np.full(n, np.nan)

    def flat(values: np.ndarray | None) -> np.ndarray:
        return nothing if values is None else values.ravel()

    held_out = nothing.copy()
    held_out[int(answer.score.argmax())] = answer.held_out
    evidence = [answer.evidence(head) for head in table.heads]
    return {
        "model": table.model,
        "weights": "trained" if table.trained else f"random, seed {table.seed}",
        "corpus": table.corpus_of(answer),
        "question": answer.key,
        "role": KIND_OF[answer.kind].name,
        "layer": np.repeat(np.arange(1, layers + 1), heads),
        "head": np.tile(np.arange(1, heads + 1), layers),
        "n": answer.n,
        "score": flat(answer.score),
        "low": flat(answer.low),
        "high": flat(answer.high),
        "baseline": strongest.name,
        "baseline_score": strongest.score,
        "control": flat(answer.control),
        "held_out": held_out,
        "repaired": [each.repaired for each in evidence],
        "repaired_low": [each.repaired - Z_95 * each.error for each in evidence],
        "detectable_gap": flat(answer.detectable_gap),
        "n_baseline_wrong": answer.n_baseline_wrong,
        "right_there": flat(answer.right_there),
        "as_baseline_there": flat(answer.as_baseline_there),
        "n_all_wrong": answer.n_all_wrong,
        "right_where_all_wrong": flat(answer.right_where_all_wrong),
        "chance_there": answer.chance,
        "follows": [each.follows for each in evidence],
        "verdict": answer.word.ravel(),
    }


def packed(table: RoleTable) -> Row:
    """Return the table as it is written."""
    return {
        "format": FORMAT,
        "model": table.model,
        "digest": table.digest,
        "trained": table.trained,
        "seed": table.seed,
        "command": table.command,
        "date": table.date,
        "shape": list(table.shape),
        "tried": table.n_comparisons,
        "corpora": [corpus.__dict__ for corpus in table.corpora.values()],
        "answers": [_packed(answer) for answer in table.answers],
        "untrained": None if table.untrained is None else packed(table.untrained),
    }


# Fields of a result by their names in the file.
ARRAYS = {
    "score": "score", "low": "low", "high": "high", "effective": "effective_n", "reach": "detectable_gap",
    "repair": "repaired_error", "mass": "mass", "control": "control", "over_control": "over_control",
    "gold": "right_there", "rule": "as_baseline_there", "hard": "right_where_all_wrong",
}  # fmt: skip
NUMBERS = ("n", "documents", "n_comparisons", "n_baseline_wrong", "n_all_wrong", "chance")


def _packed(result: QuestionResult) -> Row:
    arrays = {name: getattr(result, field) for name, field in ARRAYS.items()}
    return {
        "question": vars(result.question),
        "rules": [[each.name, each.does, _short(each.score), each.by_place] for each in result.baselines],
        "numbers": [
            _short(getattr(result, name)) if name == "chance" else getattr(result, name) for name in NUMBERS
        ],
        "picked": [list(head) for head in result.picked],
        "held_out": [_short(result.chosen), _short(result.held_out), *map(_short, result.interval)],
        "over_rule": [_short(value) for value in vars(result.over_baseline).values()],
        "others": {name: _list(values) for name, values in result.others.items()},
        "arrays": {name: _list(values) for name, values in arrays.items() if values is not None},
        "follows": result.follows.ravel().tolist(),
        "words": "".join(str(WORDS.index(word)) for word in result.word.ravel()),
    }


def _short(number: float) -> float:
    return round(float(number), DIGITS)


def _list(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else _short(value) for value in values.ravel()]


def unpacked(data: Row) -> RoleTable:
    """Return the table as it was written. Raises ValueError for one of another format."""
    if data["format"] != FORMAT:
        raise ValueError("format")
    shape = (data["shape"][0], data["shape"][1])
    return RoleTable(
        **{name: data[name] for name in ("model", "digest", "trained", "seed", "command", "date")},
        shape=shape,
        n_comparisons=data["tried"],
        corpora={corpus["key"]: Corpus(**corpus) for corpus in data["corpora"]},
        answers=tuple(_unpacked(row, shape) for row in data["answers"]),
        untrained=None if data["untrained"] is None else unpacked(data["untrained"]),
    )


def _unpacked(row: Row, shape: tuple[int, int]) -> QuestionResult:
    chosen, held_out, *interval = row["held_out"]

    def square(values: list[float | None]) -> np.ndarray:
        return np.array(values, dtype=np.float64).reshape(shape)

    first, second = map(tuple, row["picked"])
    return QuestionResult(
        question=Question(**row["question"]),
        baselines=tuple(BaselineScore(*each) for each in row["rules"]),
        picked=(first, second),
        chosen=chosen,
        held_out=held_out,
        interval=(interval[0], interval[1]),
        over_baseline=Gap(*row["over_rule"]),
        others={name: square(values) for name, values in row["others"].items()},
        follows=np.array(row["follows"]).reshape(shape),
        word=np.array([WORDS[int(digit)] for digit in row["words"]], dtype="<U8").reshape(shape),
        **dict(zip(NUMBERS, row["numbers"], strict=True)),
        **{
            field: square(row["arrays"][name]) if name in row["arrays"] else None
            for name, field in ARRAYS.items()
        },  # type: ignore[arg-type]
    )


def roles_file(model: str) -> Path:
    """Return where the shipped table of a model stands."""
    return asset("roles", f"{model}.json.gz")


def read_roles(model: str, digest: str | None = None) -> RoleTable | None:
    """Return the shipped table of a model by its name; None if there is none, or not for weights with this digest.

    A folder or a hub id has none, whatever its last part.
    """
    path = roles_file(model)
    table = read_table(path) if "/" not in model and path.is_file() else None
    return None if table is None or (digest is not None and table.digest != digest) else table


def read_table(path: str | Path) -> RoleTable:
    """Return a table that `write_roles` wrote. Raises InputError, with its name, for a file that is none."""
    return read_packed(path, unpacked, "table of roles")


def write_roles(table: RoleTable, path: Path) -> None:
    """Write the table; the same table gives the same bytes."""
    write_packed(packed(table), path)
