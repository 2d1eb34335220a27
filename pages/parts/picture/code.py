"""What a mount of the app says in the browser: it fetches the library once a tab and hands it what it is given."""

# What the small mounts do once the library is there, which a tab fetches once; where that fails, it tries again.
STUB = """
const address = "@@ADDRESS@@";
const bring = (tries) => import(new URL(tries ? `${address}?again=${tries}` : address, document.baseURI).href).catch(
  () => setTimeout(() => bring(tries + 1), Math.min(500 * 2 ** tries, 10000)));
const ready = (go) => {
  if (globalThis.headscope) return go();
  (globalThis.headscopeWaiting ??= []).push(go);
  globalThis.headscopeComing ??= bring(0);
};
export default function (component) {
  const { rest, ...columns } = component.data;
  const data = { ...rest, ...columns };
  ready(() => globalThis.headscope.@@DOES@@);
  return () => globalThis.headscope?.unmount(component.parentElement);
}
"""
