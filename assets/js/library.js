// What the library does when its mount brings style and font: it is there once a tab, for all pictures.
import { column } from "./column.js";
import { oneStepASentence } from "./history.js";
import { Headscope } from "./view.js";

export default function library({ data }) {
  if (globalThis.headscope?.css === data.css) return;
  const headscope = new Headscope(data.css);
  globalThis.headscope = headscope;
  oneStepASentence(history, () => location.href);
  headscope.useFonts(data.faces.map(([name, range]) => ({ bytes: Uint8Array.from(column(data[name])).buffer, range })));
  for (const go of globalThis.headscopeWaiting?.splice(0) ?? []) go();
}
