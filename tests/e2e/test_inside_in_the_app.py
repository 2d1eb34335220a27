"""Inside in the app: every number and colour of a typed sentence against the engine, and what a mask changes."""

import csv
import io

import numpy as np
import pixels
import pytest
from alone import download
from tiles_page import cells, colours_of, number, numbers_of

from mha_core import layer_details, load_model, trace

pytestmark = pytest.mark.browser
TYPED, HEAD, FOLLOWED = "Ann gave her dog a bone because it barked.", (2, 4), 8


@pytest.mark.slow
def test_every_number_of_the_walk_is_the_layer_s_own_for_the_typed_sentence(visit, tmp_path):
    model = load_model()
    tokens = trace(TYPED, model).tokens
    truth = layer_details(tokens, model, HEAD[0])
    labels = [piece.text for piece in tokens.pieces]
    h, it = HEAD[1], FOLLOWED
    assert labels[it] == "it"
    used = truth.projections
    screens = {
        "x": {"X": truth.x},
        "qkv": {
            "W_q": used.W_q[h], "b_k": used.b_k[h][None], "Q": truth.q[h], "K": truth.k[h], "V": truth.v[h],
        },
        "scores": {"raw": truth.q[h] @ truth.k[h].T},
        "scaled": {"scores": truth.scores[h]},
        "weights": {"weights": truth.weights[h]},
        "z": {"z": truth.context[h]},
        "row": {"z-alone": np.stack([truth.context[h, it]] * 2)},
        "w_o": {"Z": truth.context.transpose(1, 0, 2).reshape(len(labels), -1)},
        "output": {"output": truth.output, "W_o": used.W_o[h]},
        "parts": {"parts": np.concatenate([truth.contributions[:, it], used.b_o[None], truth.output[it][None]])},
    }  # fmt: skip
    tab = visit(f"/inside?text={TYPED.replace(' ', '+')}&head=3-5&pin={it}&matrices=true&at=x")
    for screen, expected in screens.items():
        go_to(tab, screen, next(iter(expected)))
        every_matrix_is_shown_and_coloured(tab, expected)
        if screen == "row":
            the_followed_row(tab, truth, h, it)
        elif screen == "parts":
            what_each_head_adds(tab, truth, it)
    go_to(tab, "weights", "weights")
    figure = tab.page.locator("figure", has=tab.page.locator("button[data-matrix=weights]")).last
    file = download(tab.page, lambda: figure.get_by_role("button", name="CSV", exact=True).click(), tmp_path)
    saved = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    assert saved[0][1:] == [line[0] for line in saved[1:]]
    np.testing.assert_allclose(
        [[float(cell) for cell in line[1:]] for line in saved[1:]], truth.weights[h], atol=1e-6
    )
    drawn = download(
        tab.page, lambda: figure.get_by_role("button", name="attention weights as SVG").click(), tmp_path
    )
    picture = drawn.read_text(encoding="utf-8")
    assert picture.startswith("<?xml")
    assert all(f">{word}</text>" in picture for word in TYPED[:-1].split())
    changed_by_a_causal_mask(tab, truth, h, it)


def go_to(tab, screen: str, matrix: str) -> None:
    tab.page.get_by_label("Screen", exact=True).select_option(screen)
    tab.page.locator(f"button[data-matrix='{matrix}']").first.wait_for()
    tab.settled()


def every_matrix_is_shown_and_coloured(tab, expected: dict[str, np.ndarray]) -> None:
    for name, values in expected.items():
        lines, shown = numbers_of(tab, name)
        np.testing.assert_allclose(shown, values, atol=2e-5 + 1e-5 * np.abs(values).max(), err_msg=name)
        if name in ("X", "Q", "scores", "weights", "output"):
            assert [line[0] for line in lines[1:]] == ["[CLS]", *TYPED[:-1].split(), ".", "[SEP]"]
        assert colours_of(tab, name).shape[:2] == values.shape
        if name in ("scores", "Q", "V"):
            share = pixels.changes(colours_of(tab, name), pixels.THEMES["light"])
            top = np.sort(np.abs(values).ravel())[min(values.size - 1, int(0.995 * values.size))]
            np.testing.assert_allclose(share * top, np.clip(values, -top, top), atol=0.03 * top, err_msg=name)
        if name == "weights":
            share = pixels.weights(colours_of(tab, name), pixels.THEMES["light"]) * values.max()
            np.testing.assert_allclose(share, values, atol=0.02)
            assert lines[0][1:] == ["[CLS]", *TYPED[:-1].split(), ".", "[SEP]"]


def the_followed_row(tab, truth, h: int, it: int) -> None:
    follow = cells(tab.page, "table.follow")
    for line, i in zip(follow[2:], range(len(truth.x)), strict=False):
        assert number(line[4]) == pytest.approx(truth.scores[h, it, i], abs=6e-4)
        assert number(line[5]) == pytest.approx(100 * truth.weights[h, it, i], abs=0.051)


def what_each_head_adds(tab, truth, it: int) -> None:
    table = cells(tab.page, "table[data-matrix=heads]")
    lengths = np.linalg.norm(truth.contributions[:, it], axis=-1)
    assert [line[0] for line in table[1:13]] == [f"3-{i + 1}" for i in range(12)]
    np.testing.assert_allclose([number(line[1]) for line in table[1:13]], lengths, atol=6e-4)
    unit = truth.output[it] / np.linalg.norm(truth.output[it])
    along = truth.contributions[:, it] @ unit / np.linalg.norm(truth.output[it])
    np.testing.assert_allclose([number(line[2]) for line in table[1:13]], 100 * along, atol=0.06)
    assert min(along) < 0 < max(along)


def changed_by_a_causal_mask(tab, truth, h: int, it: int) -> None:
    go_to(tab, "scaled", "scores")
    tab.page.get_by_text("Look only back (causal mask)").click()
    tab.page.get_by_text("You changed this layer: a causal mask").wait_for()
    tab.settled()
    n = len(truth.x)
    back = np.tril(np.ones((n, n), bool))
    after = np.where(back, np.exp(truth.scores[h]), 0)
    after /= after.sum(axis=-1, keepdims=True)
    np.testing.assert_array_equal(np.isnan(numbers_of(tab, "scores")[1]), ~back)
    go_to(tab, "weights", "weights")
    np.testing.assert_allclose(numbers_of(tab, "weights")[1], after, atol=2e-5)
    lines = cells(tab.page, "table[data-matrix=softmax]")
    assert lines[0] == ["key", "score", "e^(score − largest)", "weight", "before"]
    for line, before, now in zip(lines[1:-1], truth.weights[h, it], after[it], strict=True):
        assert [number(line[4]), number(line[3])] == pytest.approx([100 * before, 100 * now], abs=0.051)


@pytest.mark.slow
def test_token_head_and_what_was_changed_stay_where_a_phone_scrolls(visit):
    tab = visit("/inside?head=4-2&pin=10&temperature=2&at=weights", viewport={"width": 390, "height": 844})
    page = tab.page
    page.wait_for_selector(".st-key-inside-changed button")
    tab.settled()
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 900)")
    page.wait_for_timeout(200)
    bar, changed = (page.locator(f".st-key-inside-{name}").bounding_box() for name in ("bar", "changed"))
    assert 0 <= bar["y"] < 5
    assert bar["y"] + bar["height"] - 5 <= changed["y"] < 120
    assert changed["y"] + changed["height"] < 170
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(".st-key-inside-changed", state="detached")
