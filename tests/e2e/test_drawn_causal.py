"""What a decoder cannot see is drawn as not there: read back from pixels, arcs, tables, files and words."""

from dataclasses import replace

import numpy as np
import pytest
from causal_runs import causal_record
from drawn import SHADE, Picture, centres, page_of, shares

from mha_core import AttentionRecord

pytestmark = pytest.mark.browser
HEAD = (1, 4)
IT, LATE = 3, 7  # pieces


@pytest.fixture(scope="module")
def record() -> AttentionRecord:
    return causal_record()


def cell_pixels(picture: Picture, n: int) -> dict[tuple[int, int], np.ndarray]:
    """All pixels of every cell of the matrix, a pixel within its edges: (query, key) to (pixels, 4)."""
    image = picture.image(picture.matrix)
    left, top, side = picture.frame(image)
    edge = [round(i * side / n) for i in range(n + 1)]
    return {
        (q, k): image[
            top + edge[q] + 3 : top + edge[q + 1] - 3, left + edge[k] + 3 : left + edge[k + 1] - 3
        ].reshape(-1, 4)
        for q in range(n)
        for k in range(n)
    }


@pytest.mark.parametrize(("scheme", "words"), [("light", False), ("dark", True)])
def test_what_comes_later_is_hatched_in_the_matrix_left_out_of_small_pictures_and_no_arc_goes_there(
    draw, record, scheme, words
):
    grid = record.grid(words=words)
    n, late = len(grid), len(grid) - 1
    picture = draw(page_of(grid, record.tokens, HEAD, (2, late)), scheme)
    for (q, k), pixels in cell_pixels(picture, n).items():
        if k <= q:
            assert (pixels[:, 3] == 255).all(), (q, k)
        else:
            assert (pixels[:, 3] == 0).mean() > 0.4, "the page's paper"
            assert 0.05 < (pixels[:, 3] > 60).mean() < 0.5, "thin lines on it"
    image = picture.image(picture.matrix)
    left, top, side = picture.frame(image)
    drawn = shares(image[np.ix_(centres(top, side, n), centres(left, side, n))][..., :3], picture.paper)
    seen = np.tril(np.ones((n, n), bool))
    assert np.abs(drawn - grid.weights[HEAD])[seen].max() < SHADE
    check_triangles(picture, grid.weights, seen)
    weights = grid.weights[HEAD]
    expected = {(q, k) for q in (2, late) for k in range(n) if weights[q, k] >= 0.01}
    assert {(q, k) for q, k, *_ in picture.arcs()} == expected
    assert all(k <= q for q, k in expected)


def check_triangles(picture: Picture, weights: np.ndarray, seen: np.ndarray) -> None:
    """Every small picture is a triangle of its own head's shades."""
    canvas = picture.part("All heads").locator("canvas")
    image = picture.image(canvas)
    boxes = picture.root.get_by_role("gridcell").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().toJSON())"
    )
    origin = canvas.bounding_box()
    small = picture.small()
    assert len(small) == 12
    for (name, shades), box in zip(small.items(), boxes, strict=True):
        head = tuple(int(part) - 1 for part in name.split("-"))
        side = shades.shape[0]
        middle = centres(0, side, len(seen))
        left, top = round(box["left"] - origin["x"]), round(box["top"] - origin["y"])
        alpha = image[top : top + side, left : left + side, 3][np.ix_(middle, middle)]
        assert (alpha == np.where(seen, 255, 0)).all()
        assert np.abs(shades[np.ix_(middle, middle)] - weights[head])[seen].max() < SHADE


def test_a_zero_of_an_encoder_is_a_cell_of_paper(draw, record):
    encoder = AttentionRecord(
        replace(record.model, is_causal=False, n_kv_heads=None), record.tokens, record.weights.copy()
    )
    grid = encoder.grid()
    picture = draw(page_of(grid, record.tokens, HEAD, (IT,), LATE))
    assert np.abs(picture.weights(len(grid)) - grid.weights[HEAD]).max() < SHADE
    assert picture.labels()[LATE] == "0%"
    assert len(picture.all_ranked()) == 12
    picture.point(IT, LATE, len(grid))
    assert picture.tip() == "it looks at late: 0%"
    assert not picture.root.locator(".bracket").count()
