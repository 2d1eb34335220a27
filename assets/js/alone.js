// The picture in a file of its own: the same code, the numbers from base64, choices stay in the page.
import { decodeArrays } from "./portable.js";
import { Headscope } from "./view.js";

export function alone(content) {
  const headscope = new Headscope(content.css);
  headscope.live = false;
  headscope.framed = parent !== globalThis; // in a notebook
  globalThis.headscope = headscope;
  content.records.forEach((record) => headscope.keep(decodeArrays(record)));
  const component = { data: decodeArrays(content.view), key: "file", parentElement: document.getElementById("picture") };
  headscope.mount(component);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => headscope.mount(component));

  // The page around it is told how high the picture is, and says whether it is dark. A frame that is out of sight computes
  // no style, or lays nothing out: what it was told then is drawn once more when it is seen.
  if (headscope.framed) {
    const [page, place] = [document.documentElement, component.parentElement];
    const draw = () => {
      headscope.mount(component);
      const seen = place.clientWidth && getComputedStyle(page).colorScheme === page.dataset.scheme;
      if (!seen) requestAnimationFrame(draw);
    };
    page.classList.add("framed");
    addEventListener("message", ({ source, data }) => {
      if (source !== parent || !["dark", "light"].includes(data?.headscope) || page.dataset.scheme === data.headscope) return;
      page.dataset.scheme = data.headscope;
      draw();
    });
    new ResizeObserver(() => parent.postMessage({ headscope: Math.ceil(place.getBoundingClientRect().height) }, "*")).observe(place);
  }
}
