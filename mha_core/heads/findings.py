"""What the built-in sentences tell of one model's heads: made once a model, read by every page.

In: a model. Out: frozen `Findings`: the study with its roles, the jobs with their cases, the map of the heads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mha_core import export
from mha_core.heads.job_table import JobTable
from mha_core.heads.jobs import JOBS, NO_ROLE_SAID, Job
from mha_core.heads.roles import Role
from mha_core.heads.similarity import clusters, plane
from mha_core.heads.studies import Study, study_builtin
from mha_core.heads.survey import Options
from mha_core.model import Model
from mha_core.record import ModelInfo
from mha_core.wording import Head, head_name

N_CLUSTERS = 8
Row = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """The study with its roles and jobs; `points` (head, 2) of the map, from 0 to 1; `cluster` (head,)."""

    model: ModelInfo
    study: Study
    points: np.ndarray
    stress: float
    cluster: np.ndarray

    @property
    def jobs(self) -> Mapping[str, JobTable]:
        """The tables of all jobs by name, in the order of the catalogue."""
        return self.study.tables.jobs

    @property
    def absent(self) -> tuple[Job, ...]:
        """The jobs that a decoder cannot be asked for; the reason stands in the catalogue."""
        return tuple(job for job in JOBS if self.model.is_causal and job.absent and job.name not in self.jobs)

    @property
    def n_sentences(self) -> int:
        """How many sentences were read."""
        return self.study.done.n_texts

    @property
    def shape(self) -> tuple[int, int]:
        """Layers, and heads in each."""
        return self.model.n_layers, self.model.n_heads

    @cached_property
    def heads(self) -> tuple[Head, ...]:
        """All heads, layer by layer, from 0."""
        return tuple((layer, head) for layer in range(self.shape[0]) for head in range(self.shape[1]))

    @cached_property
    def roles(self) -> dict[Head, Role]:
        """The heads that have a role, and which, in words; a head without a clear one is not in it."""
        every = ((la, h, role) for la, row in enumerate(self.study.roles) for h, role in enumerate(row))
        return {(la, h): role for la, h, role in every if role}

    def best_jobs(self, head: Head) -> list[JobTable]:
        """The jobs a head is a specialist in and among the best sixth, by how far it is above the baseline."""
        few = max(len(self.heads) // 6, 1)
        mine = [t for t in self.jobs.values() if t.verdict(*head) == "specialist" and t.rank(*head) <= few]
        return sorted(mine, key=lambda table: table.baseline - float(table.score[head]))

    def measures(self) -> dict[str, tuple[str, np.ndarray]]:
        """Everything a map can be coloured by: key → (title, values (layer, head) from 0 to 1 or more)."""
        found = {f"job:{job}": (_title(table), table.score) for job, table in self.jobs.items()}
        positions = self.study.tables.positions
        return found | {f"place:{key}": (label, positions[key]) for key, label in positions.labels.items()}


def _title(table: JobTable) -> str:
    return f"{table.job.title} (right in)"


def find(model: Model, options: Options | None = None) -> Findings:
    """Run the built-in sentences through the model and measure everything they can tell."""
    study = study_builtin(model, options=options)
    distance = study.similarity.distance if study.similarity else np.zeros((1, 1))
    points, stress = plane(distance)
    groups = clusters(distance, min(N_CLUSTERS, len(distance)))
    return Findings(model.info, study, _legible(points), stress, groups)


# Room for a head's label on the map, as a share of its width and height; with more heads than SQUARE the map is
# drawn taller (assets/js/head_map.js), so that a label takes less of its height.
LABEL = np.array([0.085, 0.042])
SQUARE = 110
N_PUSHES = 200


def _legible(points: np.ndarray) -> np.ndarray:
    """Points for the screen, 0 to 1: distances from the middle as their square root, labels pushed apart."""
    middle = points - np.median(points, axis=0)
    away = np.linalg.norm(middle, axis=1, keepdims=True)
    label = LABEL * np.array([1.0, min(1.0, SQUARE / len(points))])
    placed = _unit(middle / np.sqrt(np.maximum(away, 1e-9)))
    for _ in range(N_PUSHES):
        apart = placed[:, None] - placed
        overlap = label - np.abs(apart)
        covers = (overlap > 0).all(-1)
        np.fill_diagonal(covers, False)
        if not covers.any():
            break
        # Along the axis on which less is to be moved; of two at one place the later goes right and down.
        sign = np.where(
            apart == 0,
            np.sign(np.arange(len(placed))[:, None, None] - np.arange(len(placed))[:, None]),
            np.sign(apart),
        )
        along = overlap / label == (overlap / label).min(-1, keepdims=True)
        placed = np.clip(placed + 0.25 * (sign * overlap * along * covers[..., None]).sum(1), 0, 1)
    return placed


def _unit(points: np.ndarray) -> np.ndarray:
    """Points moved and scaled, each axis for itself, to fill 0 to 1."""
    low, high = points.min(0), points.max(0)
    scaled: np.ndarray = (points - low) / np.maximum(high - low, 1e-9)
    return scaled


def rows(found: Findings) -> Iterator[Row]:
    """One row for every head and job: layer and head from 1, shares from 0 to 1."""
    for table in found.jobs.values():
        for head in found.heads:
            role = found.roles.get(head)
            yield {
                "layer": head[0] + 1,
                "head": head[1] + 1,
                "role": role.label if role else NO_ROLE_SAID,
                "job": table.job.title,
                "kind": table.job.group,
                "score": round(float(table.score[head]), 6),
                "ci_low": round(float(table.low[head]), 6),
                "ci_high": round(float(table.high[head]), 6),
                "n": table.n,
                "baseline": round(table.baseline, 6),
                "baseline_rule": table.baseline_name,
                "control": None if table.control is None else round(float(table.control[head]), 6),
                "tried": table.tried,
                "verdict": table.verdict(*head),
                "because": table.verdicts[head].because,
            }


def as_csv(found: Findings) -> str:
    """All rows as CSV."""
    return export.csv_of(rows(found))


def as_json(found: Findings) -> str:
    """All rows, the roles with their evidence, and the distances, with the model they belong to."""
    roles = found.roles.items()
    content = {
        "model": export.model_of(found.model),
        "n_sentences": found.n_sentences,
        "jobs": list(rows(found)),
        "roles": {head_name(head): {"label": r.label, "evidence": r.evidence} for head, r in roles},
        "distance": {
            "heads": [head_name(head) for head in found.heads],
            "nats": np.round(found.study.similarity.distance, 5).tolist() if found.study.similarity else [],
        },
    }
    return export.json_of(content)
