"""Training in a browser: it starts, draws, stops and goes on; two readers stand in line; a head is taken away."""

import re
from urllib.parse import quote

import pytest

from mha_core.device import use_one_thread
from mha_core.learning import report
from mha_core.learning.train import Setup
from mha_core.wording import percent

pytestmark = pytest.mark.browser
SHORT = "/training?left=1&right=2&limit=200"


def button(tab, name):
    return tab.page.get_by_role("button", name=name, exact=True)


def begin(tab):
    button(tab, "Start").click()
    tab.page.wait_for_selector("figure.course", timeout=60_000)


def progress(tab):
    return tab.page.locator(".st-key-training-progress")


def until(tab, done, what, seconds=60):
    for _ in range(10 * seconds):
        if done():
            return
        tab.page.wait_for_timeout(100)
    pytest.fail(f"not in {seconds} s: {what}")


def ends(tab, seconds=120):
    tab.page.get_by_role("heading", name="Take a head away").wait_for(timeout=1000 * seconds)
    return tab.settled()


def step_of(tab, name):
    said = tab.page.get_by_text(re.compile(rf"^{name}, step")).first.inner_text()
    return int(re.search(r"step ([\d,]+)", said)[1].replace(",", ""))


@pytest.fixture(scope="module")
def by_hand():
    """What the command line says of the same training."""
    use_one_thread()
    return [report.trained(Setup("jobs", 1, heads, seed=6, steps=200)) for heads in (1, 2)]


@pytest.mark.slow
def test_two_readers_stand_in_line_one_stops_and_goes_on(visit):
    first, second = visit("/training?left=8&right=8&seed=1"), visit(f"{SHORT}&seed=5")
    begin(first)
    until(
        first,
        lambda: first.page.locator(".sheets canvas").count() == 2 * 3 * 8,
        "every head of both is drawn",
    )
    button(second, "Start").click()
    second.page.get_by_text("Waiting: 1 training is before yours.").wait_for()
    pixels = "node => [...node.getContext('2d').getImageData(0, 0, 21, 20).data].join()"
    head = first.page.locator(".sheets canvas").first
    before = head.evaluate(pixels)
    until(first, lambda: head.evaluate(pixels) != before, "the picture changes")
    button(first, "Stop").click()
    button(first, "Go on").wait_for()
    assert "Stopped; what was reached is shown." in progress(first).inner_text()
    second.page.wait_for_selector("figure.course", timeout=60_000)
    ends(second)
    stopped_at = step_of(first, "8 heads \\(left\\)")
    button(first, "Go on").click()
    button(first, "Stop").wait_for()
    until(first, lambda: step_of(first, "8 heads \\(left\\)") > stopped_at, "it goes on")
    button(first, "Stop").click()
    button(first, "Go on").wait_for()


@pytest.mark.slow
def test_a_training_gives_the_command_lines_numbers_and_its_link_repeats_them(visit, by_hand):
    tab = visit(f"{SHORT}&seed=6&guess={quote('about 40 %')}")
    begin(tab)
    ends(tab)
    for found in by_hand:
        for job, share in found["curve"][-1]["jobs"].items():
            assert tab.page.get_by_text(f"{percent(share)} ({job})").count() == 1
    assert tab.page.get_by_text("You expected “about 40 %” with 1 head.").count() == 1
    curve = tab.page.locator("[data-matrix=jobs-1] svg")
    last = by_hand[1]["curve"][-1]["jobs"]
    now = ", ".join(f"{job} {percent(share)}" for job, share in last.items())
    assert curve.get_attribute("aria-label") == f"2 heads: right answers by job: now {now}"
    ends_of_lines = [points.split()[-1].split(",") for points in line_points(curve)]
    heights = [float(y) for _, y in ends_of_lines]
    assert heights == pytest.approx([12 + 150 * (1 - share) for share in last.values()], abs=0.01)

    button(tab, "1-2").click()
    tab.page.wait_for_selector("[data-matrix=taken-away]")
    tab.settled()
    rows = tab.page.locator("[data-matrix=taken-away] tbody tr").all_inner_texts()
    without = by_hand[1]["without"][1]["jobs"]
    assert [row.split("\t")[:3] for row in rows] == [
        [job, percent(last[job]), percent(without[job])] for job in last
    ]
    assert "without=1-2" in tab.page.url

    tab.page.get_by_text("Export: numbers, code, link").click()
    link = tab.page.locator(".st-key-training-take code").first
    link.wait_for()
    tab.settled()
    address = link.inner_text()
    assert "seed=6" in address
    again = visit(address.removeprefix(tab.base))
    again.page.wait_for_selector("[data-matrix=taken-away]")
    assert again.page.locator("[data-matrix=taken-away] tbody tr").all_inner_texts() == rows
    assert button(again, "Start").count() == 0, "what the server knows is not trained twice"


def line_points(curve):
    return curve.locator("polyline").evaluate_all("nodes => nodes.map((node) => node.getAttribute('points'))")
