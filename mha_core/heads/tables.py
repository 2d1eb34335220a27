"""Results → rows for JSON and CSV, and the same as text for a terminal. Layers and heads from 1 here.

What cannot be measured (no repeated token in the corpus, say) is None, never a number.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mha_core import export
from mha_core.heads.coreference_table import CoreferenceTable
from mha_core.heads.positions import DISTANCES, SPECIAL
from mha_core.heads.relation_table import RelationTable
from mha_core.heads.rows import Row, choice_row, similarity_rows
from mha_core.heads.similarity import SimilarityTable, clusters, plane
from mha_core.heads.studies import Study
from mha_core.heads.verdict import judge
from mha_core.record import ModelInfo
from mha_core.wording import counted, head_name, percent

N_CLUSTERS = 8


def relation_text(table: RelationTable) -> str:
    """The best heads as lines, each against its fixed offset."""
    lines = [("relation", "direction", "head", "accuracy", "95 % interval", "n", "best offset", "")]
    for score in table.scores():
        interval = f"{100 * score.ci_low:.1f} to {100 * score.ci_high:.1f}"
        offset = f"{percent(score.offset_accuracy)} ({score.offset:+d})"
        lines.append(
            (
                score.relation,
                score.direction,
                head_name((score.layer, score.head)),
                percent(score.accuracy),
                interval,
                f"{score.n:,}",
                offset,
                score.said,
            )
        )
    return _text(lines)


def coreference_data(table: CoreferenceTable, model: ModelInfo) -> Row:
    """Every head and direction, the baselines, and for pairs the share that flips and that is right twice."""
    heads = [
        choice_row(table, d, (layer, head))
        for d, layer, head in np.ndindex(len(table.directions), *table.accuracy.shape[1:])
    ]
    return {
        "model": export.model_of(model),
        "n": table.n,
        "n_pairs": table.n_pairs,
        "baselines": table.baselines,
        "heads": heads,
    }


def coreference_text(table: CoreferenceTable, count: int = 5) -> str:
    """The best heads of each direction, then the baselines."""
    lines = [("direction", "head", "accuracy", "95 % interval", "other rows", "flips", "")]
    for d, direction in enumerate(table.directions):
        for flat in np.argsort(-table.accuracy[d], axis=None, kind="stable")[:count]:
            place = (d, *divmod(int(flat), table.accuracy.shape[2]))
            verdict = judge(table.evidence(d, place[1:]))
            lines.append(
                (
                    direction,
                    head_name(place[1:]),
                    percent(table.accuracy[place]),
                    f"{100 * table.ci_low[place]:.1f} to {100 * table.ci_high[place]:.1f}",
                    percent(table.control[place]),
                    percent(table.flip[place]) if table.n_pairs else "",
                    "" if verdict else verdict.because,
                )
            )
    rules = ", ".join(f"{name} {percent(share)}" for name, share in table.baselines.items())
    return _text(lines) + f"n = {table.n:,}. Simple rules: {rules}.\n"


def profile_data(study: Study, model: ModelInfo) -> Row:
    """Every measure of positions and copies for every head, and its role."""
    positions, copies = study.tables.positions, study.tables.copies
    heads = []
    for layer, roles in enumerate(study.roles):
        for head, role in enumerate(roles):
            place = (layer, head)
            row: Row = {"layer": layer + 1, "head": head + 1, "role": role.key, "label": role.label}
            row |= {"score": role.score, "baseline": role.baseline, "n": role.n, "evidence": role.evidence}
            row |= {measure: float(positions[measure][place]) for measure in positions.labels}
            row["distance"] = dict(zip(DISTANCES.tolist(), positions.distance[place].tolist(), strict=True))
            row["peak"] = dict(zip(DISTANCES.tolist(), positions.peak[place].tolist(), strict=True))
            if copies is not None:
                for name in ("rare", "lift", "copy", "copy_mass", "after_copy"):
                    row[name] = number(getattr(copies, name)[place])
            if study.repeated is not None:
                names = ("previous", "first", "duplicate", "induction")
                row["repeated"] = {name: float(getattr(study.repeated, name)[place]) for name in names}
            heads.append(row)
    found: Row = {
        "model": export.model_of(model),
        "n_texts": study.done.n_texts,
        "rows": "pieces",
        "heads": heads,
    }
    found["uniform"] = {"entropy": positions.uniform_entropy, "share": positions.uniform_share}
    if copies is not None:
        found |= {"n_rare": copies.n_rare, "rare_baseline": number(copies.rare_baseline)}
        found |= {"n_copies": copies.n_copies, "copy_baseline": number(copies.copy_baseline)}
    return found


def profile_text(study: Study) -> str:
    """One line a head: role and evidence, and the measures most asked for."""
    positions = study.tables.positions
    titles = {"previous": "previous", "next": "next", "first": "first"}
    if positions.names:
        titles.pop("first")
        titles |= {key: positions.names[role] for key, role in SPECIAL.items() if role in positions.names}
    lines = [["head", *titles.values(), "entropy", "role", "evidence"]]
    for layer, roles in enumerate(study.roles):
        for head, role in enumerate(roles):
            masses = [percent(positions[name][layer, head]) for name in titles]
            nats = f"{positions['entropy'][layer, head]:.2f}"
            says = role.evidence if role else ""
            lines.append([head_name((layer, head)), *masses, nats, role.label, says])
    return _text(lines) + f"{counted(study.done.n_texts, 'text')}; mass and entropy between pieces.\n"


def similarity_data(table: SimilarityTable, model: ModelInfo) -> Row:
    """The distances, the map and the clusters; heads in the order of `heads`."""
    points, stress = plane(table.distance)
    names = [head_name((layer, head)) for layer, head in np.ndindex(*table.shape)]
    return {
        "model": export.model_of(model),
        "n_texts": table.n_texts,
        "unit": "nats",
        "mean": number(table.mean),
        "heads": names,
        "distance": table.distance.tolist(),
        "map": points.tolist(),
        "stress": stress,
        "cluster": clusters(table.distance, min(N_CLUSTERS, len(names))).tolist(),
    }


def similarity_text(table: SimilarityTable) -> str:
    """The nearest and the farthest pairs of heads."""
    lines = [("", "heads", "distance in nats")]
    lines += [
        (row["pair"], " and ".join(row["heads"]), f"{row['distance']:.3f}") for row in similarity_rows(table)
    ]
    mean = (
        f"mean {table.mean:.3f} nats" if len(table.distance) > 1 else "one head, which no other can be like"
    )
    return _text(lines) + f"{mean}, {counted(table.n_texts, 'text')}\n"


def similarity_cells(data: Mapping[str, Any]) -> list[Row]:
    """The distances as a square with the heads' names in the first row and column."""
    names = data["heads"]
    rows = zip(names, data["distance"], strict=True)
    return [{"head": name} | dict(zip(names, (f"{v:.6f}" for v in row), strict=True)) for name, row in rows]


def number(value: float) -> float | None:
    """A number for JSON, which knows no nan."""
    return None if math.isnan(value) else float(value)


def _text(lines: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest entry."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )
