"""The figure studio: what is seen is what is saved, in every format, and its link brings it back."""

import io
import re
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
import pytest
from pdf_text import text_of
from PIL import Image

from mha_core import trace
from mha_core.figures import Design, figure
from mha_core.figures.lettering import width

pytestmark = pytest.mark.browser
TIRED = "The animal didn't cross the street because it was too tired."
DESIGN = Design("matrix", ((3, 1), (4, 6)), width=8.5, size=7.5, unit="words")


def saved(tab, name: str) -> Path:
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name=name, exact=True).click()
    return Path(waiting.value.path())


def picture(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("L"), dtype=float)


def coarse(image: np.ndarray, cell: int = 10) -> np.ndarray:
    """Means of square cells, which a shift by less than a pixel hardly changes."""
    high, wide = 330 // cell, 640 // cell
    return image[: high * cell, : wide * cell].reshape(high, cell, wide, cell).mean(axis=(1, 3))


@pytest.mark.long
def test_what_is_seen_is_what_is_saved_and_the_caption_says_its_link(visit, chromium, model, tmp_path):
    tab = visit(f"/?text={quote(TIRED)}&pin=none&figure={DESIGN.as_link()}", device_scale_factor=2).drawn()
    page = tab.page
    image = page.locator(".paper img")
    image.evaluate("e => e.decode()")
    seen = picture(image.screenshot())
    svg = saved(tab, "SVG").read_text(encoding="utf-8")
    words = trace(TIRED, model).grid(words=True)
    body = re.compile(r"<desc>.*?</desc>", re.DOTALL)
    assert body.sub("", svg) == body.sub("", figure(words, DESIGN)), "the page draws as the library does"

    # On its own, in a browser without the typeface.
    alone = chromium.new_context(offline=True, device_scale_factor=2).new_page()
    (tmp_path / "alone.svg").write_text(svg, encoding="utf-8")
    alone.goto((tmp_path / "alone.svg").as_uri())
    alone.evaluate("document.fonts.ready")
    wide = alone.evaluate(
        "[...document.querySelectorAll('text')].map(e => [e.textContent, e.getComputedTextLength()])"
    )
    long = [
        (text, measured)
        for text, measured in wide
        if len(text) > 5 and text != "Head 4-2" and text != "Head 5-7"
    ]
    assert long
    for text, measured in long:
        size = 0.9 * DESIGN.size if text.endswith("%") else DESIGN.size
        assert width(text, size) == pytest.approx(measured, rel=0.05), text
    box = alone.evaluate("(r => [r.width, r.height])(document.documentElement.getBoundingClientRect())")
    own = picture(alone.screenshot(clip={"x": 0, "y": 0, "width": box[0], "height": box[1]}))
    alone.context.close()
    assert abs(seen.shape[1] - own.shape[1]) <= 2
    alike = np.corrcoef(coarse(seen).ravel(), coarse(own).ravel())[0, 1]
    assert alike > 0.98, "it looks like the page"
    assert own.std() > 20

    png = Image.open(io.BytesIO(saved(tab, "PNG, 300 dpi").read_bytes()))
    assert png.width == pytest.approx(8.5 / 2.54 * 300, abs=1)
    assert png.info["dpi"] == pytest.approx((300, 300), abs=0.1)

    caption = page.get_by_test_id("stCode").filter(has_text="Drawn with HeadScope").inner_text()
    link = re.search(r"http://\S+?(?=\.?\s*$)", caption.replace("\n", ""))[0]
    assert DESIGN.as_link() in unquote(link)
    again = visit("/" + link[link.index("?") :]).drawn()
    assert (
        saved(again, "SVG").read_text(encoding="utf-8").partition("</desc>")[2] == svg.partition("</desc>")[2]
    )


@pytest.mark.long
def test_the_pdf_has_real_text_on_a_page_of_the_figures_size(visit, chromium):
    design = Design("bars", ((3, 1),), width=8.5)
    tab = visit(f"/?text={quote(TIRED)}&pin=10&figure={design.as_link()}").drawn()
    tab.page.evaluate("window.printed = new MutationObserver(() => {})")
    tab.page.evaluate(
        "new MutationObserver((list) => list.forEach((m) => m.addedNodes.forEach((n) => {"
        " if (n.className === 'headscope-print') window.page = n.srcdoc; }))).observe(document.body, {childList: true})"
    )
    tab.page.get_by_role("button", name="PDF, through the print dialog").click()
    tab.page.wait_for_function("window.page")
    sheet = chromium.new_context(offline=True).new_page()
    sheet.set_content(tab.page.evaluate("window.page"))
    sheet.evaluate("document.fonts.ready")
    pdf = sheet.pdf(prefer_css_page_size=True)
    sheet.context.close()
    box = [float(part) for part in re.search(rb"/MediaBox \[([\d. ]+)\]", pdf)[1].split()]
    assert box[2] == pytest.approx(8.5 / 2.54 * 72, abs=1)
    said = text_of(pdf).replace(" ", "")
    for word in ("animal", "because", "67.7%", "From:it"):
        assert word in said
    assert b"/FontFile" in pdf or b"/Type3" in pdf


@pytest.mark.long
def test_the_studio_opens_by_a_button_follows_its_controls_and_back_closes_nothing(visit):
    tab = visit("/?head=4-2&pin=10").drawn()
    page = tab.page
    steps = page.evaluate("history.length")
    page.get_by_role("button", name="Figure for a paper or slide").click()
    tab.settled()
    assert "figure=matrix_4-2_each_8.5_8_white_pieces_full" in page.url
    page.locator(".st-key-figure-kind").get_by_text("arcs", exact=True).click()
    tab.settled()
    page.locator(".st-key-figure-ground").get_by_text("transparent", exact=True).click()
    tab.settled()
    assert "figure=arcs_4-2_each_8.5_8_transparent_pieces_full" in page.url
    assert page.evaluate("history.length") == steps, "a figure is no step of the history"
    tab.page.reload()
    tab.drawn()
    assert "arcs_4-2" in tab.page.url
    assert "%23" not in page.locator(".paper img").get_attribute("src")[:200]
    page.get_by_role("button", name="Close the figure studio").click()
    tab.settled()
    assert "figure=" not in page.url
    assert page.locator(".paper").count() == 0


@pytest.mark.long
def test_a_figure_that_does_not_exist_is_said(visit):
    tab = visit("/?figure=pie_9-9").drawn()
    assert "figure cannot be read" in tab.page.get_by_role("status").all_inner_texts()[0]
    assert tab.page.locator(".paper img").count() == 1
