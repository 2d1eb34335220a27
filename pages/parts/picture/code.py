"""What the mounts of the app say in the browser: one fetches the library, once a tab; the others tell it what to do."""

# Where it cannot be had, it tries again.
LIBRARY = """
const address = "@@ADDRESS@@";
const bring = (tries) => import(new URL(tries ? `${address}?again=${tries}` : address, document.baseURI).href).catch(
  () => setTimeout(() => bring(tries + 1), Math.min(500 * 2 ** tries, 10000)));
export default function () {
  if (!globalThis.headscope) globalThis.headscopeComing ??= bring(0);
}
"""
# These go along with every message, so they are short.
STUB = """
export default (mount) => {
  const go = () => headscope.@@DOES@@(mount);
  globalThis.headscope ? go() : (globalThis.headscopeWaiting ??= []).push(go);@@LEAVE@@
};
"""
LEAVE = """
  return () => globalThis.headscope?.unmount(mount.parentElement);"""
