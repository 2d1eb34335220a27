"""What the built-in sentences tell of one model's heads: made once a model, read by every page. No Streamlit here.

In: a model. Out: frozen `Findings`: the study with its roles, the jobs with their cases, the map of the heads.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mha_core import Model
from mha_core.heads.builtin import GOLD, read_builtin
from mha_core.heads.evidence import JOBS, EvidenceLog, JobTable, sample
from mha_core.heads.positions import MEASURES
from mha_core.heads.roles import Role
from mha_core.heads.similarity import clusters, plane
from mha_core.heads.studies import Study, study_builtin
from mha_core.heads.survey import every_item, survey
from mha_core.record import ModelInfo
from pages.parts.frame.request import Head, name

N_CLUSTERS = 8
Row = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """`jobs` by name, in the order of JOBS; `points` (head, 2) of the map, from 0 to 1; `cluster` (head,)."""

    model: ModelInfo
    study: Study
    jobs: dict[str, JobTable]
    points: np.ndarray
    stress: float
    cluster: np.ndarray
    n_sentences: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.model.n_layers, self.model.n_heads

    @cached_property
    def heads(self) -> tuple[Head, ...]:
        """All heads, layer by layer, from 0."""
        return tuple((layer, head) for layer in range(self.shape[0]) for head in range(self.shape[1]))

    @cached_property
    def roles(self) -> dict[Head, Role]:
        """The heads that have a role, and which, in words; a head without a clear one is not in it."""
        every = ((la, h, role) for la, row in enumerate(self.study.roles) for h, role in enumerate(row))
        return {(la, h): _in_words(role) for la, h, role in every if role}

    def best_jobs(self, head: Head) -> list[JobTable]:
        """The jobs a head is a specialist in and among the best sixth, by how far it is above the baseline."""
        few = max(len(self.heads) // 6, 1)
        mine = [t for t in self.jobs.values() if t.verdict(*head) == "specialist" and t.rank(*head) <= few]
        return sorted(mine, key=lambda table: table.baseline - float(table.score[head]))

    def measures(self) -> dict[str, tuple[str, np.ndarray]]:
        """Everything a map can be coloured by: key → (title, values (layer, head) from 0 to 1 or more)."""
        found = {f"job:{job}": (_title(table), table.score) for job, table in self.jobs.items()}
        positions = self.study.tables.positions
        return found | {f"place:{key}": (_PLACES[key], positions[key]) for key in MEASURES}


_PLACES = {
    "previous": "mass on the previous token",
    "next": "mass on the next token",
    "self": "mass on the token itself",
    "first": "mass on the first token",
    "last": "mass on the last token",
    "cls": "mass on [CLS]",
    "sep": "mass on [SEP]",
    "period": "mass on periods",
    "comma": "mass on commas",
    "entropy": "entropy (nats)",
    "confidence": "mean of the largest weight",
}


def _title(table: JobTable) -> str:
    return f"{table.job.title} (right in)"


# The roles name relations as treebanks do; a reader is told the words.
_RELATIONS = {gold[0]: role for role, gold in GOLD.items()}


def _in_words(role: Role) -> Role:
    """A role as the page says it; a syntactic one with the title of its job."""
    relation, _, direction = role.label.partition(", ")
    said = role.evidence.removeprefix(f"{role.label}: ").replace("->", " → ")
    said = said[:1].upper() + said[1:]
    if role.key != "syntactic" or relation not in _RELATIONS:
        return replace(role, evidence=said)
    name = _RELATIONS[relation] + ("" if direction == "dep->head" else ", back")
    title = next(job.title for job in JOBS if job.name == name)
    return replace(role, label=title, evidence=said)


def find(model: Model) -> Findings:
    """Run the built-in sentences through the model and measure everything they can tell."""
    study = study_builtin(model)
    log = EvidenceLog(model.n_layers, model.n_heads)
    sentences = read_builtin()
    survey((sample(sentence, model.tokenizer) for sentence in sentences), model, [(log, every_item)])
    jobs = log.result()
    distance = study.similarity.distance if study.similarity else np.zeros((1, 1))
    points, stress = plane(distance)
    ordered = {job.name: jobs[job.name] for job in JOBS if job.name in jobs}
    groups = clusters(distance, min(N_CLUSTERS, len(distance)))
    return Findings(model.info, study, ordered, _legible(points), stress, groups, len(sentences))


# Room for a head's label on the map, as a share of its width and height.
LABEL = np.array([0.085, 0.042])
N_PUSHES = 200


def _legible(points: np.ndarray) -> np.ndarray:
    """Points for the screen, 0 to 1: distances from the middle as their square root, labels pushed apart."""
    middle = points - np.median(points, axis=0)
    away = np.linalg.norm(middle, axis=1, keepdims=True)
    placed = _unit(middle / np.sqrt(np.maximum(away, 1e-9)))
    for _ in range(N_PUSHES):
        apart = placed[:, None] - placed
        overlap = LABEL - np.abs(apart)
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
        along = overlap / LABEL == (overlap / LABEL).min(-1, keepdims=True)
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
                "role": role.label if role else "no clear role",
                "job": table.job.title,
                "kind": table.job.role,
                "score": round(float(table.score[head]), 6),
                "ci_low": round(float(table.low[head]), 6),
                "ci_high": round(float(table.high[head]), 6),
                "n": table.n,
                "baseline": round(table.baseline, 6),
                "baseline_rule": table.baseline_name,
                "control": None if table.control is None else round(float(table.control[head]), 6),
                "verdict": table.verdict(*head),
            }


def as_csv(found: Findings) -> str:
    """All rows as CSV; every cell is ours, so none can start a formula."""
    out = io.StringIO()
    lines = list(rows(found))
    writer = csv.DictWriter(out, list(lines[0]))
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def as_json(found: Findings) -> str:
    """All rows, the roles with their evidence, and the distances, with the model they belong to."""
    model = found.model
    content = {
        "model": {"name": model.name, "title": model.title, "trained": model.trained, "digest": model.digest},
        "n_sentences": found.n_sentences,
        "jobs": list(rows(found)),
        "roles": {name(head): {"label": r.label, "evidence": r.evidence} for head, r in found.roles.items()},
        "distance": {
            "heads": [name(head) for head in found.heads],
            "nats": np.round(found.study.similarity.distance, 5).tolist() if found.study.similarity else [],
        },
    }
    return json.dumps(content, ensure_ascii=False) + "\n"
