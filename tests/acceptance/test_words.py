"""How much a page says: words and numbers on its first screen and on all of it, against a budget.

Counted is what a person sees of the page's own words. Not counted: the reader's sentence, its tokens and the numbers
drawn at them, the axes and tokens of matrices and grids, what lies in tables, and charts.
"""

import pytest

pytestmark = pytest.mark.browser

# Page: words and numbers on the first screen at 1280 x 800, and words on the whole page.
BUDGETS = {
    "/": (80, 15, 180),
    "/compare": (60, 20, 180),
    "/roles": (70, 40, 350),
    "/roles?part=atlas": (70, 30, 250),
    "/experiment": (70, 20, 120),
    "/inside": (90, 30, 120),
    "/learn": (130, 30, 150),
    "/training": (80, 15, 200),
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


@pytest.mark.parametrize("address", BUDGETS)
def test_a_page_says_no_more_than_a_reader_takes_in(reader, address):
    found = reader(address).page.evaluate(COUNT)
    words, numbers, whole = BUDGETS[address]
    assert found["first"] <= words, " | ".join(found["texts"])
    assert found["numbers"] <= numbers, found["texts"]
    assert found["all"] <= whole
