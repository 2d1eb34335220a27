"""What Compare saves, opened and read: numbers, words and places are those of the two runs."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pixels
import pytest
from alone import compared, download, own_page, show
from two_runs import BOTH, COREFERENCE, DOG, IT, NAMES, PAIRS, RUN_A, RUN_B, WEIGHTS, change, percent, row

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture
def picture(chromium, tmp_path):
    with own_page(chromium) as page:
        yield chosen(show(page, compared(RUN_A, RUN_B, (0, 0)), tmp_path))


def chosen(page):
    """`it` pinned and the dog aimed at, in head 2-3."""
    page.get_by_role("gridcell", name="Head 2-3:").click()
    words = page.get_by_label("Both sentences, word under word").get_by_role("button")
    words.nth(IT).click()
    words.nth(DOG).click()
    page.mouse.move(2, 2)
    return page


def saved(page, item: str, folder):
    def click():
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("menuitem", name=item).click()

    return download(page, click, folder)


def test_the_csv_has_every_pair_of_words_with_both_weights(picture, tmp_path):
    file = saved(picture, "Numbers, CSV", tmp_path)
    assert file.name.startswith("headscope-head-2-3-compared-")
    lines = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    assert lines[0] == [
        "layer", "head", "query", "key", "query_text", "key_text", "A", "B", "A minus B", "link",
    ]  # fmt: skip
    assert len(lines) == 1 + len(BOTH) ** 2
    cells = iter(lines[1:])
    for q in BOTH:
        for k in BOTH:
            *place, query, key, first, second, change, _ = next(cells)
            assert place == ["2", "3", str(PAIRS[q][0]), str(PAIRS[k][0])]
            assert (query, key) == (NAMES[q], NAMES[k])
            numbers = [first, second, change]
            a, b = (WEIGHTS[side][COREFERENCE][PAIRS[q][side], PAIRS[k][side]] for side in (0, 1))
            np.testing.assert_allclose([float(cell) for cell in numbers], [a, b, a - b], atol=2e-5)


def test_the_json_has_both_matrices_whole_and_what_is_chosen(picture, tmp_path):
    content = json.loads(saved(picture, "Numbers, JSON", tmp_path).read_text())
    assert (content["head"], content["pinned"], content["to"]) == ("2-3", [PAIRS[IT][0]], PAIRS[DOG][0])
    assert content["titles"] == ["first", "second"]
    assert content["pairs"] == [list(pair) for pair in PAIRS]
    for side, label in enumerate("AB"):
        np.testing.assert_allclose(content[label], WEIGHTS[side][COREFERENCE], atol=1.5e-5, rtol=0)
        at = [
            NAMES[c].split(" / ")[side if " / " in NAMES[c] else 0]
            for c, p in enumerate(PAIRS)
            if p[side] is not None
        ]
        assert content["labels"][side] == at
    assert content["said"].startswith("Head 2-3: “it” looks at “dog” (70.0 % in A")


def tables(root) -> list[dict[str, np.ndarray]]:
    """The matrices of a vector picture: the frame of each, and the colours in the middle of its cells."""
    found = []
    for element in root.iter():
        if (
            element.tag == f"{SVG}rect"
            and element.get("fill") == "none"
            and element.get("rx") is None
            and element.get("stroke-width") is None
        ):
            found.append(
                {"frame": [float(element.get(name)) for name in ("x", "y", "width", "height")], "runs": []}
            )
        elif element.tag == f"{SVG}path" and element.get("fill") != "none" and found:
            colour = pixels.colour(element.get("fill"))
            for run in re.findall(r"M(\S+) (\S+)h(\S+)v(\S+)h", element.get("d")):
                found[-1]["runs"].append((*map(float, run), colour))
    return found


def cells(table, n: int, paper) -> np.ndarray:
    x0, y0, wide, high = table["frame"]
    out = np.tile(np.array(paper, float), (n, n, 1))
    for x, y, w, h, colour in table["runs"]:
        q = round((y + h / 2 - y0) / (high / n) - 0.5)
        first, last = round((x - x0) / (wide / n)), round((x + w - x0) / (wide / n))
        out[q, first:last] = colour
    return out


def test_the_vector_picture_has_the_cells_arcs_and_numbers_of_the_runs(chromium, theme, tmp_path):
    with own_page(chromium, theme) as page:
        file = saved(chosen(show(page, compared(RUN_A, RUN_B, (0, 0)), tmp_path)), "Picture, SVG", tmp_path)
    promised = pixels.THEMES[theme]
    root = ElementTree.fromstring(file.read_text())  # noqa: S314 - our own file
    truth = [WEIGHTS[0][COREFERENCE], WEIGHTS[1][COREFERENCE], change(COREFERENCE)]
    found = tables(root)
    assert len(found) == 3
    for table, weights in zip(found[:2], truth, strict=False):
        drawn = pixels.weights(cells(table, len(weights), promised.paper), promised)
        np.testing.assert_allclose(drawn, weights, atol=0.035)
    drawn = pixels.changes(cells(found[2], len(BOTH), promised.paper), promised)
    clear = np.abs(truth[2]) > 0.05
    scale = np.abs(truth[2][clear]) / np.abs(drawn[clear])
    assert (np.sign(drawn) == np.sign(truth[2]))[clear].all()
    assert np.median(scale) == pytest.approx(_span(), abs=0.02)
    np.testing.assert_allclose(drawn[clear] * _span(), truth[2][clear], atol=0.04)
    assert [table["frame"][0] for table in found] == sorted(table["frame"][0] for table in found)
    the_words_and_arcs_are_those_of_the_screen(root)


def the_words_and_arcs_are_those_of_the_screen(root) -> None:
    texts = [
        (element.text, float(element.get("x") or 0), float(element.get("y") or 0))
        for element in root.iter(f"{SVG}text")
    ]
    said = [text for text, _, _ in texts]
    assert [said.index(letter) for letter in ("A", "B", "A − B")] == sorted(
        said.index(letter) for letter in ("A", "B", "A − B")
    )
    assert "A: first · B: second" in said
    assert any(line.startswith("A: first · head 2-3 · Raw attention · ") for line in said)
    assert any(text.startswith("Head 2-3: “it” looks at “dog”") for text in said)
    assert root.find(f"{SVG}title").text.startswith("Head 2-3: “it” looks at “dog” (70.0 % in A")
    shares = [row(COREFERENCE, IT, side)[DOG] for side in (0, 1)]
    upper, lower = ([y for text, x, y in texts if text == percent(share) and x] for share in shares)
    assert len(upper) == 1
    assert lower
    assert upper[0] < lower[0], "A's number stands above B's"
    axes = [text for text in said if text in NAMES or text in ("and", "because")]
    assert axes.count("yesterday") == 3, "once in the sentence, on both axes of B, and nowhere else"
    assert axes.count("ran") == 3
    paths = [e for e in root.iter(f"{SVG}path") if e.get("fill") == "none"]
    strongest = max(paths, key=lambda e: float(e.get("stroke-width")))
    ends = [float(part) for part in re.findall(r"-?[\d.]+", strongest.get("d"))]
    words = {text: x for text, x, y in texts[: 2 * len(PAIRS)]}
    assert ends[0] == pytest.approx(words["it"], abs=0.6)
    assert ends[-2] == pytest.approx(words["dog"], abs=0.6)


def _span() -> float:
    return np.ceil(10 * max(np.abs(change((la, h))).max() for la in range(2) for h in range(3))) / 10
