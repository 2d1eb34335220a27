"""What axe finds wrong on a page as it is: no list of all that is right with it, which takes four times as long."""

import re
from collections.abc import Sequence
from typing import Any

from axe_core_python.sync_playwright import Axe

CONTRAST = ("color-contrast",)  # all that is another in the dark
# The packaged axe is older than two things it meets: a colour that was mixed is `oklab(...)` or `color(srgb ...)`,
# which it cannot read, so that contrast was never looked at; and ARIA in HTML has allowed role=gridcell and role=slider
# on a button since 2023. For every text it asks all that is around it for its size, half of the time: here each is
# measured once.
# st.dataframe gives the cells of every table the same ids.
ALLOWED = {
    "aria-allowed-role": re.compile(r'<button [^>]*role="(gridcell|slider)"'),
    "duplicate-id-active": re.compile(r'<td [^>]*id="glide-cell-'),
}
RUN = r"""async (rules) => {
  const style = CSSStyleDeclaration.prototype, asked = style.getPropertyValue, known = new Map();
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  function plain(colour) {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, `rgba(${r}, ${g}, ${b}, ${alpha / 255})`);
    }
    return known.get(colour);
  }
  style.getPropertyValue = function (name) {
    return asked.call(this, name).replace(/\b(?:color|oklab|oklch|lab|lch)\([^)]*\)/g, plain);
  };
  const sizes = ["scrollWidth", "scrollHeight", "clientWidth", "clientHeight"];
  const measured = sizes.map((name) => Object.getOwnPropertyDescriptor(Element.prototype, name));
  sizes.forEach((name, i) => {
    const seen = new WeakMap(), get = measured[i].get;
    Object.defineProperty(Element.prototype, name, {
      ...measured[i],
      get() {
        if (!seen.has(this)) seen.set(this, get.call(this));
        return seen.get(this);
      },
    });
  });
  try {
    const found = await axe.run({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
    return [...found.violations, ...found.incomplete.filter((rule) => rule.error)];
  } finally {
    style.getPropertyValue = asked;
    sizes.forEach((name, i) => Object.defineProperty(Element.prototype, name, measured[i]));
  }
}"""


def complaints(page: Any, rules: Sequence[str] | None = None) -> list[str]:
    """A line for each rule that is broken, with the first three places; a rule that failed by itself is one, too."""
    if not page.evaluate("Boolean(globalThis.axe)"):
        page.evaluate(Axe().axe_script)
    lines = []
    for found in page.evaluate(RUN, rules and list(rules)):
        places = [
            (node["target"], node["html"][:160])
            for node in found["nodes"]
            if not (found["id"] in ALLOWED and ALLOWED[found["id"]].match(node["html"]))
        ]
        if places or found.get("error") is not None:
            said = found.get("message", found["help"])
            lines.append(f"{found['id']} ({found['impact']}): {said}: {places[:3]}")
    return lines
