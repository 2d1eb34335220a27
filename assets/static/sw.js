// The page offline: its files as they were last, by the network where there is one. The parts of a model keep themselves.
const NAME = "headscope-page-@@DIGEST@@";
const FILES = @@FILES@@;
const fresh = (request) => new Request(request, { cache: "no-cache" });

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES.map(fresh))).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("headscope-page-") && name !== NAME;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))).then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => {
  const { origin, search } = new URL(event.request.url);
  const isPart = /^\?[0-9a-f]{64}$/.test(search); // of a model
  if (event.request.method === "GET" && origin === location.origin && !isPart) event.respondWith(answer(event.request));
});

async function answer(request) {
  const cache = await caches.open(NAME);
  const address = request.mode === "navigate" ? self.registration.scope : request.url.split("?")[0];
  try {
    const found = await fetch(fresh(address));
    if (found.ok) await cache.put(address, found.clone());
    return found;
  } catch (error) {
    const kept = await cache.match(address);
    if (kept) return kept;
    throw error;
  }
}
