// What begins when the library's file has arrived, with its style: once a tab.
import { Address } from "./address.js";
import { Headscope } from "./view.js";

export default function library({ css }) {
  if (globalThis.headscope?.css === css) return;
  const headscope = new Headscope(css, new Address());
  globalThis.headscope = headscope;
  for (const go of globalThis.headscopeWaiting?.splice(0) ?? []) go();
}
