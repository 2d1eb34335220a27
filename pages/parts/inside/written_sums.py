"""Sums of the worked example, written as with a pencil.

In: a scene and the place of a number. Out: text.
"""

from collections.abc import Iterable

from mha_core.layer import origin
from pages.parts.inside.scene import WalkState


def written_sum(scene: WalkState, name: str, i: int, j: int) -> str:
    """Return a sum of products with its result: 1·1 + 0·0 + 1·1 + 0·0 = 1 + 0 + 1 + 0 = 2."""
    product = origin(scene.run, scene.h, name, i, j)
    pairs = [f"{digits(a)}·{digits(b)}" for a, b in zip(product.left, product.right, strict=True)]
    return f"{_added(pairs)} = {_added(map(digits, product.products))} = {digits(product.value)}"


def written_row(scene: WalkState, name: str, i: int) -> str:
    """Return a projected row without the products with a zero of the matrix: (1 + 1, 0 + 0) = (2, 0)."""
    columns = [origin(scene.run, scene.h, name, i, column) for column in range(scene.sizes.d_k)]
    sums = [
        _added(digits(p) for p, w in zip(each.products, each.right, strict=True) if w) or "0"
        for each in columns
    ]
    return f"({', '.join(sums)}) = ({', '.join(digits(each.value) for each in columns)})"


def written_softmax(scene: WalkState) -> list[str]:
    """Return each weight of the scene's head as its quotient of powers, row by row."""
    texts = list[str]()
    for scores, weights in zip(scene.run.scores[scene.h], scene.run.weights[scene.h], strict=True):
        powers = " + ".join(f"e^{digits(score)}" for score in scores)
        texts += [
            f"e^{digits(score)} ÷ ({powers}) = {digits(weight)}"
            for score, weight in zip(scores, weights, strict=True)
        ]
    return texts


def _added(parts: Iterable[str]) -> str:
    return " + ".join(f"({part})" if part.startswith("−") else part for part in parts)


def digits(value: float) -> str:
    """Return a number whole where it is, else with four places; one too small for them in scientific notation."""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    if text in ("0", "-0") and value:
        mantissa, exponent = f"{value:.1e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    return "0" if text == "-0" else text.replace("-", "−")
