"""The picture's payload is the record, its words are the browser's words, and a reader's text is never markup."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mha_core.display_names import visible
from mha_core.draw.payload import compare_payload, explore_payload, record_payload
from mha_core.draw.standalone import standalone_html
from mha_core.draw.text import grapheme_end
from mha_core.record.compact_weights import thumbnails
from mha_core.record.grid import Grid, Unit
from mha_core.text.tokens import Tokens
from pages.parts.frame.selection import Selection

WITHIN = 8e-6


def grid_of(words: str, layers: int = 2, heads: int = 3, seed: int = 7, pair: str | None = None) -> Grid:
    """A grid with a special token at both ends; one unit a word, spans as in the text."""
    units = [Unit("[CLS]", 0, 0, 0, True, (0,))]
    for segment, text in enumerate((words, pair)):
        for match in re.finditer(r"\S+", text or ""):
            units.append(Unit(match[0], match.start(), match.end(), segment, False, (len(units),)))
    units.append(Unit("[SEP]", 0, 0, 0 if pair is None else 1, True, (len(units),)))
    n = len(units)
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.3), size=(layers, heads, n))
    weights = weights.astype(np.float32)
    weights.setflags(write=False)
    return Grid(tuple(units), weights, False, "shown")


def tokens_of(text: str, pair: str | None = None) -> Tokens:
    return Tokens(text, pair, (), ())


def test_a_cut_never_falls_inside_a_grapheme():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert grapheme_end("cafe\u0301s", 4) == 5
    assert grapheme_end(family, 1) == len(family)
    assert grapheme_end("\U0001f44d\U0001f3fd!", 1) == 2
    assert grapheme_end("ab", 1) == 1


def test_what_cannot_be_seen_is_shown_by_a_mark():
    assert visible("a\x00b\x07\x7f") == "a␀b␇␡"
    assert visible("\u202eabc\u200b") == "\u25ccabc\u25cc"
    assert visible("\U0001f468\u200d\U0001f469") == "\U0001f468\u200d\U0001f469"
    assert visible(" \n", spaces=True) == " \n"


def test_a_long_text_sends_small_pictures_and_the_chosen_head_in_full():
    text = " ".join(f"w{i}" for i in range(300))
    grid = grid_of(text, layers=2, heads=2)
    chosen = Selection((1, 0), pins=(5, 9), to=17)
    packed = explore_payload(grid, tokens_of(text), model_title="M", selection=chosen)
    record, sent = packed["records"][0], packed["view"]
    assert record["packing"] == "small"
    assert record["weights"].dtype == np.uint8
    assert record["weights"].size == 2 * 2 * 64 * 64
    assert sent["opened_0"].dtype == np.float32, "the engine's own numbers, to the last digit"
    assert np.array_equal(sent["opened_0"].reshape(302, 302), grid.weights[1, 0])
    row = grid.weights[:, :, [5, 9]].sum(axis=2)
    toward = sent["link_toward"].reshape(2, 2) / 65535 * sent["links"]["scale"]
    assert np.abs(toward - row[..., 17]).max() <= 2 * WITHIN
    best = sent["link_index"].reshape(2, 2, -1)[..., 0]
    assert (best == row.argmax(axis=-1)).all()


def test_a_small_picture_is_the_maximum_under_each_cell():
    weights = np.zeros((1, 1, 130, 130), dtype=np.float32)
    weights[0, 0, 129, 3] = 1
    small = thumbnails(weights, 64)
    assert small.shape == (1, 1, 64, 64)
    assert small[0, 0, 63, 1] == 255
    assert (small > 0).sum() == 1


def test_a_selection_outside_the_text_is_clamped():
    assert Selection((9, -1), (2, 5), 77).inside((2, 3, 5, 5)) == Selection((1, 0), (2,), None)
    assert Selection((-1, 9), (), 1).inside((2, 3, 5, 5)) == Selection((0, 2))
    assert Selection((0, 0), (2,), 1).inside((2, 3, 5, 5)) == Selection((0, 0), (2,), 1)


@pytest.mark.parametrize("blind", [None, 0, 1])
def test_of_two_long_texts_come_the_largest_change_under_each_cell_and_the_chosen_head_of_both(blind):
    """A minus B between the words that both have; no difference where one, `blind` for what is later, has no weight."""
    words = [f"w{i}" for i in range(150)]
    other = [*words[:20], *words[21:71], "new", "newer", *words[71:]]
    texts = " ".join(words), " ".join(other)
    beside = [(i, i) for i in range(21)] + [(i, i - 1) for i in range(22, 72)]
    beside += [(i, i + 1) for i in range(72, 152)]  # [CLS] is 0, so w20 is 21 and w71 is 72
    grids = [grid_of(text, layers=4, heads=4, seed=seed) for seed, text in enumerate(texts)]
    left, right = np.transpose(beside)
    apart = grids[0].weights[:, :, left][..., left].astype(float) - grids[1].weights[:, :, right][..., right]
    if blind is not None:
        seen = np.tri(len(grids[blind]), dtype=bool)
        grids[blind] = replace(grids[blind], visible=np.broadcast_to(seen, (4, *seen.shape)))
        apart = np.tril(apart)
    a, b = zip(grids, map(tokens_of, texts), strict=True)
    packed = compare_payload(*a, *b, titles=("A", "B"), selection=Selection((3, 1), (4,)))
    change, view = packed["records"][2], packed["view"]
    cells = change["weights"].reshape(4, 4, 64, 64) / 127
    _, starts = np.unique(np.arange(len(beside)) * 64 // len(beside), return_index=True)  # of a cell's places
    most, least = (
        reduce.reduceat(reduce.reduceat(apart, starts, 2), starts, 3) for reduce in (np.maximum, np.minimum)
    )
    np.testing.assert_allclose(cells, np.where(most > -least, most, least), atol=0.5 / 127 + 1e-9)
    assert change["side"] == 64
    assert view["opened"] == [{"record": side, "head": [3, 1], "column": f"opened_{side}"} for side in (0, 1)]
    for side, grid in enumerate(grids):
        assert np.array_equal(view[f"opened_{side}"].reshape(len(grid), -1), grid.weights[3, 1])


@pytest.mark.parametrize("pins", [(7,), (5, 9, 250)])
def test_a_long_text_sends_the_strongest_links_of_the_pinned_words_whatever_is_left_out(pins):
    words = [f"w{i}" for i in range(300)]
    texts = " ".join(words[:160]), " ".join(words[160:])
    grid = grid_of(texts[0], layers=2, heads=2, pair=texts[1])
    weights = grid.weights.copy()
    weights[:, :, 3, 0] = 1.0  # stronger than all, and to [CLS]
    weights[:, :, :, 20:40] *= 50  # more than any few, and all in one sentence
    weights[0, :, :, [0, 301]] *= 5000
    grid = replace(grid, weights=(weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32))
    packed = explore_payload(grid, tokens_of(*texts), model_title="M", selection=Selection((1, 0), pins))
    view = packed["view"]
    links, k = view["links"], view["links"]["k"]
    assert (links["pins"], links["to"], links["scale"]) == (list(pins), None, len(pins))
    assert "link_toward" not in view
    row = sum(grid.weights[:, :, pin].astype(float) for pin in pins)
    word, first = ~np.isin(np.arange(302), (0, 301)), np.arange(302) <= 160
    loud = np.array(packed["records"][0]["loudest"]).reshape(2, 2, 3)
    for place in np.ndindex(2, 2):
        sent = view["link_index"].reshape(2, 2, k)[place]
        shares = view["link_weight"].reshape(2, 2, k)[place] / 65535 * links["scale"]
        assert np.abs(shares - row[place][sent]).max() <= len(pins) * WITHIN
        for among in (word | True, word, first, ~first, first & word, ~first & word):
            assert next(key for key in sent if among[key]) == np.where(among, row[place], -1).argmax()
        between = grid.weights[place] * np.outer(word, word) * ~np.eye(302, dtype=bool)
        q, key = np.unravel_index(between.argmax(), between.shape)
        assert loud[place].tolist() == [q, key, round(float(between.max()) * 65535)]


def test_a_pair_comes_with_the_text_and_the_segment_of_every_unit():
    text, pair = "  Ann\n ran,", "She won!  "
    grid = grid_of(text, pair=pair)
    record = record_payload(grid, tokens_of(text, pair), "M")
    assert record["segments"] == [0, 0, 0, 1, 1, 1]
    assert record["specials"] == [1, 0, 0, 0, 0, 1]
    assert record["names"][1:-1] == ["Ann", "ran,", "She", "won!"]
    assert record["before"][1:-1] == ["  ", "\n ", "", " "]
    assert record["after"] == ["", "  "]
    assert record["title"] == f"{text} {pair}"


def test_markup_in_a_text_stays_text_in_the_file():
    text = "</script><script>alert(1)</script> <b>x</b> @@SOURCE@@"
    packed = explore_payload(grid_of(text), tokens_of(text), model_title="M", selection=Selection((1, 2)))
    page = standalone_html(packed, title=text)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2
    assert "<b>x" not in page
    assert r"\u003c/script>" in page
