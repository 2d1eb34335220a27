"""Every page and every tab of it by its address: it opens, fits the screen, reads well, and says no more than a reader
takes in."""

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
from axe import CONTRAST, complaints
from playwright.sync_api import TimeoutError

pytestmark = pytest.mark.browser
DESKTOP, TABLET, PHONE = (1280, 800), (1024, 768), (390, 844)
ROLES = "/roles"
IN_TABS = ("try", "part", "show", "train")  # whose value is the name of a tab


def to(path: str, **params: str) -> str:
    """An address as a link has it. (`try_`: what is a word of Python's has a line behind it here.)"""
    query = "&".join(f"{key.rstrip('_')}={quote_plus(value)}" for key, value in params.items())
    return f"{path}?{query}"


# Every page and tab, by what takes long to begin and is begun once: a group is a person with one tab of the browser.
PAGES = {
    "sentences and heads": [
        "/",
        to("/", text="Maria gave the book to her sister.", pair="She had already read it twice."),
        "/compare",
        ROLES,
        to(ROLES, question="det", head="4-2"),
        to(ROLES, part="atlas"),
        to(ROLES, part="atlas", head="4-2"),
    ],
    "a decoder": [
        "/experiment",
        to("/experiment", try_="Ablation sweep"),
        to("/experiment", try_="Activation patching", model="minilm"),
        to("/", model="smollm2"),
    ],
    "inside and learn": [
        *(to("/inside", part=tab) for tab in ("Step by step", "By hand", "One head or many", "Variants")),
        to("/inside", part="Sizes and costs"),
        "/learn",
        *(to("/learn", show=tab) for tab in ("Quiz", "Glossary", "For teachers")),
        *(to("/training", train=tab) for tab in ("One head or four?", "Induction heads")),
        to("/training", train="Pronoun head"),
    ],
}
# The first of each page, which axe looks at in light and dark.
SAMPLES = {urlsplit(address).path: address for address in reversed([*chain(*PAGES.values())])}
# What sticks out of the screen and is in nothing that scrolls.
STICKS_OUT = """() => {
  const found = [], main = document.querySelector("[data-testid=stMain]");
  function scrolls(element) {
    for (let e = element; e && e !== main; e = e.assignedSlot ?? e.parentElement ?? e.getRootNode().host)
      if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true;
    return false;
  }
  function look(root) {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) look(e.shadowRoot);
      const { left, right, width } = e.getBoundingClientRect();
      const out = width > 1 && (right > innerWidth + 1 || left < -1);
      if (out && !e.ownerSVGElement && !e.closest("[data-testid=stProgress]") && e.checkVisibility() && !scrolls(e))
        found.push(`${e.outerHTML.slice(0, 120)}: from ${Math.round(left)} to ${Math.round(right)}`);
    }
  }
  look(main);
  for (const e of [document.documentElement, main])
    if (e.scrollWidth > e.clientWidth) found.push(`${e.tagName}: ${e.scrollWidth} of ${e.clientWidth} pixels`);
  return found.slice(0, 5);
}"""
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SAID = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  return [main.innerText, ...[...main.querySelectorAll("input, textarea")].map((box) => box.value)].join();
}"""


# Words and numbers on the first screen of a page at 1280 x 800, and words on all of it, at most. Counted is what a
# person sees of the page's own words, not the sentence that was typed, what is drawn of it, tables and charts.
BUDGETS = {
    "/": (80, 15, 180),
    "/compare": (60, 20, 180),
    ROLES: (70, 40, 350),
    to(ROLES, part="atlas"): (70, 30, 250),
    "/experiment": (70, 20, 120),
    to("/inside", part="Step by step"): (90, 30, 120),
    "/learn": (130, 30, 150),
    to("/training", train="One head or four?"): (80, 15, 200),
}
COUNT = r"""() => {
  const drawn = [
    "svg, canvas, table, input, textarea, select, [role=grid], [role=table], [data-uncounted]",
    "[data-testid=stDataFrame], [data-testid=stIconMaterial], .js-plotly-plot",
    ".matrix, .katex, .tokens, .labels, .top, .picture",
  ].join();
  const own = "nav, header a, footer";
  const found = [];
  const walk = (node) => {
    if (node.nodeType === 3) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      const seen = node.textContent.trim() && box.width > 2 && box.height > 2;
      if (seen) found.push([node.textContent, box.top < innerHeight && box.bottom > 0]);
      return;
    }
    if (node.nodeType === 1) {
      const style = getComputedStyle(node);
      if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
      if (node.matches("style, script, noscript") || node.matches(drawn) || node.matches(own)) return;
      const box = node.getBoundingClientRect();
      if (style.position === "absolute" && box.bottom < 0) return;
    }
    if (node.shadowRoot) walk(node.shadowRoot);
    node.childNodes.forEach(walk);
  };
  walk(document.body);
  const words = (texts) => texts.join(" ").match(/\p{L}[\p{L}'’-]*/gu)?.length ?? 0;
  const numbers = (texts) => texts.join(" ").match(/\d[\d.,]*/g)?.length ?? 0;
  const first = found.filter(([, seen]) => seen).map(([text]) => text);
  return { first: words(first), numbers: numbers(first), all: words(found.map(([text]) => text)), texts: first };
}"""


def opened(page: Any, address: str) -> list[str]:
    """What is wrong with the page that an address opened, as a stranger sees it."""
    wrong = [
        f"says {alert.inner_text()!r}" for alert in page.get_by_role("alert").all() if alert.is_visible()
    ]
    wrong += ["an exception"] * page.get_by_test_id("stException").count()
    wrong += ["Page not found"] * page.get_by_text("Page not found").count()
    if not [text for text in page.get_by_role("heading", level=1).all_inner_texts() if text.strip()]:
        wrong.append("no heading")
    if not re.fullmatch(r"\S+ · HeadScope", page.title()):
        wrong.append(f"the title is {page.title()!r}")
    query = parse_qs(urlsplit(address).query)
    for tab in (value for key, (value,) in query.items() if key in IN_TABS):
        try:  # the heading is there before its tabs are
            radio = page.get_by_role("radio", name=tab, exact=True, checked=True)
            link = page.locator(
                'a[aria-current="page"]', has_text=re.compile(f"^{re.escape(tab)}$", re.IGNORECASE)
            )
            radio.or_(link).first.wait_for(timeout=20_000)
        except TimeoutError:
            wrong.append(f"not the tab {tab!r}")
    if not query.items() <= parse_qs(urlsplit(page.url).query).items():
        wrong.append(f"the address is now {page.url}")
    return wrong


def too_much(page: Any, address: str) -> list[str]:
    """What a page with a budget says beyond it."""
    if address not in BUDGETS:
        return []
    counts = page.evaluate(COUNT)
    found = zip((counts[name] for name in ("first", "numbers", "all")), BUDGETS[address], strict=True)
    return [f"{n} words or numbers, {most} at most: {counts['texts']}" for n, most in found if n > most]


def seen(person: Any, ask_axe: bool) -> list[str]:
    """What is wrong with how it looks: too wide, or what axe takes to be serious; in the dark it looks at contrast."""
    page, wrong = person.page, []

    def note(look: Callable[[], list[str]], about: str) -> None:
        """What is still wrong once the page has come to rest."""
        if look():
            person.settled()
            wrong.extend(f"{about}: {each}" for each in look())

    def axe(rules: Sequence[str] | None = None) -> list[str]:
        return [each for each in complaints(page, rules) if not re.search(r"\((minor|moderate)\)", each)]

    if ask_axe:
        note(axe, "light")
        page.emulate_media(color_scheme="dark")
        note(lambda: axe(CONTRAST), "dark")
        page.emulate_media(color_scheme="light")
    for width, height in (TABLET, PHONE, DESKTOP):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(DRAWN)
        note(lambda: page.evaluate(STICKS_OUT), f"{width} pixels wide")
    return wrong


@pytest.mark.parametrize("group", PAGES)
def test_every_page_and_tab_opens_fits_and_reads_well(app, reader, group):
    person, wrong, shown = reader(None), list[str](), set[str]()
    for address in PAGES[group]:
        person.open(address)
        shown.add(person.page.evaluate(SAID))
        problems = opened(person.page, address) + too_much(person.page, address)
        problems += seen(person, ask_axe=address in SAMPLES.values())
        wrong += [f"{address}: {problem}" for problem in problems]
    assert not wrong, "\n".join(wrong)
    assert len(shown) == len(PAGES[group]), "no two addresses show the same"
    assert "Traceback" not in app.output()
