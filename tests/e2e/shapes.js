// What a page has drawn, a line for each: every shape with its colours, places in tens of pixels to a tenth, so that one of
// them may round otherwise; every canvas as weighted means of its colours; what hangs over the picture, what is said aloud
// and where links lead.
() => {
  const PLACES = ["d", "points", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height"];
  const SHAPES = ["path", "line", "rect", "circle", "polygon", "polyline", "text", "title"];
  const lines = [];
  const tens = (text) => text.replace(/-?\d+(\.\d+)?/g, (number) => (number / 10).toFixed(1));
  const all = (selector) => document.querySelectorAll(selector);

  function shape(node) {
    const style = getComputedStyle(node);
    const name = node.tagName.toLowerCase();
    const places = PLACES.filter((place) => node.hasAttribute(place)).map((place) => `${place} ${tens(node.getAttribute(place))}`);
    const wide = tens(style.strokeWidth.replace("px", ""));
    const words = ["text", "title"].includes(name) ? [JSON.stringify(node.textContent)] : [];
    return [name, ...places, `fill ${style.fill}`, `stroke ${style.stroke}`, `wide ${wide}`, `seen ${(+style.opacity).toFixed(2)}`, ...words].join(", ");
  }

  function painted(canvas) {
    const small = Object.assign(document.createElement("canvas"), { width: 24, height: 24 });
    const to = small.getContext("2d");
    to.drawImage(canvas, 0, 0, 24, 24);
    const pixels = to.getImageData(0, 0, 24, 24).data;
    const means = [1, 2, 3, 4].map((turn) => {
      let sum = 0;
      let seed = turn * 9973;
      for (let i = 0; i < pixels.length; i += 4) {
        seed = (seed * 16807) % 2147483647;
        sum += ((2 * seed) / 2147483647) * (pixels[i] + 2 * pixels[i + 1] + 3 * pixels[i + 2]) * (pixels[i + 3] / 255);
      }
      return (sum / 576).toExponential(4);
    });
    return `canvas ${means.join(" ")}`;
  }

  for (const canvas of all("canvas")) if (canvas.width && canvas.height && canvas.offsetParent) lines.push(painted(canvas));
  for (const node of all(SHAPES.map((name) => `svg ${name}`).join(", "))) {
    if (node.closest("button, .katex, [data-testid=stIconMaterial], [data-testid=stHeader]")) continue;
    if (node.tagName === "title" || node.getClientRects().length) lines.push(shape(node));
  }
  for (const tip of all(".tip")) if (!tip.hidden && tip.offsetParent) lines.push(`tip ${JSON.stringify(tip.textContent)}`);
  for (const node of all("[aria-live], [role=status]")) if (node.textContent) lines.push(`aloud ${JSON.stringify(node.textContent)}`);
  for (const link of all("[data-testid=stMain] a[href]")) lines.push(`link ${JSON.stringify(link.textContent)} ${link.getAttribute("href")}`);
  return lines;
};
