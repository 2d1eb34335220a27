"""Tables of measures → rows for files and screens: what was found, against what, and what may be said of it.

Layers and heads count from 1 here, shares go from 0 to 1, and what cannot be measured (no repeated token in the
corpus, say) gives no row. Every row that compares says its verdict, which is verdict.py's.
"""

from typing import Any

import numpy as np

from mha_core.heads.copying import LABELS as COPY_LABELS
from mha_core.heads.copying import CopyTable
from mha_core.heads.coreference_table import DIRECTIONS, CoreferenceTable
from mha_core.heads.positions import PositionTable
from mha_core.heads.relation_table import RelationTable
from mha_core.heads.similarity import SimilarityTable
from mha_core.heads.verdict import judge
from mha_core.heads.words import FloatArray
from mha_core.wording import Head, head_name

BEST = 5
Row = dict[str, Any]


def relation_rows(table: RelationTable, every_head: bool = False) -> list[Row]:
    """One row for the best head of each relation and direction (the better direction first), or for every
    head.

    The best rows also say which heads cannot be told from the best, and what is left of its accuracy when it
    is chosen on one half of the sentences and counted on the other.
    """
    rows = []
    for score in table.scores(every_head):
        row = score.as_row() | {"n_cut": table.n_cut(score.relation)}
        if not every_head:
            equals = table.equals(score.relation, score.direction)
            row["equals"] = [head_name(place) for place in equals]
            row["held_out"] = table.held_out(score.relation, score.direction)
        rows.append(row)
    return rows


def choice_row(table: CoreferenceTable, direction: int, head: Head) -> Row:
    """One head (from 0) choosing between two mentions, in one direction (0 or 1)."""
    place = (direction, *head)
    found = table.evidence(direction, head)
    verdict = judge(found)
    row: Row = {
        "direction": DIRECTIONS[direction],
        "layer": head[0] + 1,
        "head": head[1] + 1,
        "n": table.n,
        "accuracy": found.score,
        "ci_low": float(table.ci_low[place]),
        "ci_high": float(table.ci_high[place]),
        "control": found.control,
        "baseline": table.baseline,
        "baseline_rule": max(table.baselines, key=table.baselines.__getitem__),
        "tried": found.tried,
        "resolves": bool(verdict),
        "verdict": verdict.word,
        "because": verdict.because,
    }
    if table.n_pairs:
        pairs = {"flip": float(table.flip[place]), "both": float(table.both[place])}
        row |= {"pairs": table.n_pairs} | pairs
    return row


def choice_rows(table: CoreferenceTable) -> list[Row]:
    """The best heads of each direction."""
    return [
        choice_row(table, d, divmod(int(flat), table.accuracy.shape[2]))
        for d in range(len(table.directions))
        for flat in table.accuracy[d].ravel().argsort(kind="stable")[::-1][:BEST]
        if table.n
    ]


def place_rows(table: PositionTable) -> list[Row]:
    """The head with the highest value in every measure of places."""
    return [
        _highest(label, key, table[key], table.n_texts, table.baseline(key))
        for key, label in table.labels.items()
        if table.n_texts
    ]


def copy_rows(table: CopyTable) -> list[Row]:
    """The head that looks most at rare tokens, and the one that looks most at earlier copies."""
    rows = [
        _highest(COPY_LABELS["rare"], "rare", table.rare, table.n_rare, table.rare_baseline),
        _highest(COPY_LABELS["copy"], "copy", table.copy, table.n_copies, table.copy_baseline),
    ]
    return [row for row in rows if row["n"] and np.isfinite(row["value"])]


def _highest(label: str, key: str, values: FloatArray, n: int, baseline: float | None) -> Row:
    """The head with the highest value; `tied` is how many others have the same."""
    seen = np.nan_to_num(values, nan=-1.0)
    layer, head = divmod(int(seen.argmax()), values.shape[1])
    return {
        "measure": label,
        "layer": layer + 1,
        "head": head + 1,
        "n": n,
        "value": float(values[layer, head]),
        "baseline": baseline,
        "unit": "nats" if key == "entropy" else "share",
        "tied": int((seen == seen.max()).sum()) - 1,
    }


def similarity_rows(table: SimilarityTable) -> list[Row]:
    """The pairs of heads that are most and least alike."""
    first, second = np.triu_indices(len(table.distance), 1)
    apart = table.distance[first, second]
    order = apart.argsort(kind="stable")
    rows = []
    for title, chosen in (("nearest", order[:BEST]), ("farthest", order[::-1][:BEST])):
        for i in chosen:
            pair = [head_name(divmod(int(flat), table.shape[1])) for flat in (first[i], second[i])]
            rows.append({"pair": title, "heads": pair, "distance": float(apart[i]), "unit": "nats"})
    return rows
