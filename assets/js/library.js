// What begins when the library's file has arrived, with its style and the addresses of its typeface: once a tab.
import { Address } from "./address.js";
import { Headscope } from "./view.js";

export default function library({ css, faces }) {
  if (globalThis.headscope?.css === css) return;
  const headscope = new Headscope(css, new Address());
  globalThis.headscope = headscope;
  const fetched = faces.map(async ([address, range]) => {
    const answer = await fetch(new URL(address, document.baseURI));
    return { bytes: await answer.arrayBuffer(), range };
  });
  Promise.all(fetched).then((fonts) => headscope.useFonts(fonts));
  for (const go of globalThis.headscopeWaiting?.splice(0) ?? []) go();
}
