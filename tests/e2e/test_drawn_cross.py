"""Cross-attention as it is drawn, and pictures in the frames of a notebook: read back from pixels, places and files."""

import numpy as np
import pytest
from drawn import ATTRIBUTES, SHADE, centres, percent, shares, strokes

from mha_core import record_from_weights, show

pytestmark = pytest.mark.browser
TARGET, SOURCE = ["<pad>", "Die", "Katze", "schlief"], ["The", "cat", "was", "fast", "asleep", "."]
N_KEYS, N_QUERIES = len(SOURCE), len(TARGET)
HEAD, KATZE, CAT = (1, 2), 2, 1


@pytest.fixture(scope="module")
def cross():
    weights = np.random.default_rng(5).dirichlet(np.full(N_KEYS, 0.3), (2, 3, N_QUERIES)).astype(np.float32)
    return record_from_weights(weights, TARGET, keys=SOURCE, title="small")


def block(picture, rows, columns):
    """What the shades of a matrix of so many rows and columns say."""
    image = picture.image(picture.matrix)
    _, top, tall = picture.frame(image)
    wide = round(tall * columns / rows)
    left = image.shape[1] - 2 - wide
    cells = image[np.ix_(centres(top, tall, rows), centres(left, wide, columns))]
    return shares(cells[..., :3], picture.paper)


def arcs_between(picture):
    """The arcs as {(target word, source word): weight by the shade}, each from the one's middle to the other's."""
    words, found = picture.words(), {}
    for stroke in strokes(picture.root.locator("svg.arcs path").evaluate_all(ATTRIBUTES)):
        ends = [
            min(range(start, stop), key=lambda i: abs(words[i]["x"] - x))
            for start, stop, x in ((N_KEYS, N_KEYS + N_QUERIES, stroke.x1), (0, N_KEYS, stroke.x2))
        ]
        assert abs(words[ends[0]]["x"] - stroke.x1) < 1
        assert abs(words[ends[1]]["x"] - stroke.x2) < 1
        assert words[ends[1]]["y"] < stroke.y2 < stroke.y1 < words[ends[0]]["y"], "upwards, between the lines"
        found[ends[0] - N_KEYS, ends[1]] = picture.strength(stroke)
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cross_attention_is_drawn_as_it_is_in_all_pictures(draw, cross, scheme):
    picture = draw(show(cross, head="2-3", word="Katze").html, scheme)
    weights = cross.weights[HEAD]
    assert np.abs(block(picture, N_QUERIES, N_KEYS) - weights).max() < SHADE
    for name, image in picture.small().items():
        layer, head = (int(part) - 1 for part in name.split("-"))
        side = len(image)
        cells = image[np.ix_(centres(0, side, N_QUERIES), centres(0, side, N_KEYS))]
        assert np.abs(cells - cross.weights[layer, head]).max() < SHADE, name
    stand = picture.words()
    assert max(word["y"] for word in stand[:N_KEYS]) < min(word["y"] for word in stand[N_KEYS:])
    assert picture.names() == [*SOURCE, *TARGET]
    drawn = arcs_between(picture)
    assert set(drawn) == {(KATZE, k) for k in range(N_KEYS) if weights[KATZE, k] >= 0.01}
    for (q, k), share in drawn.items():
        assert share == pytest.approx(weights[q, k], abs=0.02)
    assert picture.labels()[int(weights[KATZE].argmax())] == percent(weights[KATZE].max())


def test_a_click_chooses_who_looks_and_what_is_looked_at(draw, cross):
    picture = draw(show(cross, head="2-3", word="Katze").html)
    weights = cross.weights[HEAD]
    picture.word(CAT).click()
    assert picture.settle().said().startswith(f"Head 2-3: “Katze” → “cat” {percent(weights[KATZE, CAT])}")
    assert [row[0] for row in picture.all_ranked()] == list(cross.rank("Katze", "cat")["head"])
    picture.word(N_KEYS + 1).click()
    assert f"“Die” → “cat” {percent(weights[1, CAT])}" in picture.settle().said()
    picture.root.get_by_role("button", name="Clear", exact=True).click()
    picture.word(CAT).hover()
    drawn = arcs_between(picture.settle())
    assert set(drawn) == {(q, CAT) for q in range(N_QUERIES) if weights[q, CAT] >= 0.01}
    picture.word(CAT).click()
    looker = TARGET[int(weights[:, CAT].argmax())]
    assert f"“{looker}” → “cat”" in picture.settle().said()
