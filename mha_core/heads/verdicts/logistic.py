"""A small logistic model that chooses between two candidates by how they differ on the surface of the text.

In: features of candidate A minus those of B, (case, feature), and which is right. Out: the choices on held-out cases.
Ten folds by the text, so that the same text is never on both sides. Newton's method with a little ridge (Bishop 2006,
section 4.3.3); no constant, since A and B are names without a meaning.
"""

import numpy as np

from mha_core.heads.words import BoolArray, FloatArray, IntArray

FOLDS, STEPS, RIDGE = 10, 30, 1.0


def held_out_choices(features: FloatArray, second_is_right: BoolArray, folds: IntArray) -> FloatArray:
    """Right (1) or wrong (0) in every case, with the weights of the other folds; 0.5 where both are alike."""
    scale = np.sqrt((features**2).mean(0))
    x = features / np.where(scale > 0, scale, 1.0)
    right = np.full(len(x), 0.5)
    for fold in np.unique(folds):
        here = folds == fold
        if here.all():
            break
        margin = x[here] @ _fitted(x[~here], second_is_right[~here])
        first = (1 + np.sign(margin)) / 2
        right[here] = np.where(second_is_right[here], 1 - first, first)
    return right


def _fitted(x: FloatArray, second_is_right: BoolArray) -> FloatArray:
    target = (~second_is_right).astype(float)
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (target - p) - RIDGE * weights
        curve = (x * (p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(x.shape[1])
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-9:
            break
    return weights
