// What begins when the library's file has arrived, with its style and the addresses of its typeface: once a tab.
import { oneStepASentence, stayHere } from "./history.js";
import { Headscope } from "./view.js";

export default function library({ css, faces }) {
  if (globalThis.headscope?.css === css) return;
  const headscope = new Headscope(css);
  globalThis.headscope = headscope;
  oneStepASentence(history, () => location.href);
  stayHere(document, () => location.href);
  const fetched = faces.map(async ([address, range]) => {
    const answer = await fetch(new URL(address, document.baseURI));
    return { bytes: await answer.arrayBuffer(), range };
  });
  Promise.all(fetched).then((fonts) => headscope.useFonts(fonts));
  for (const go of globalThis.headscopeWaiting?.splice(0) ?? []) go();
}
