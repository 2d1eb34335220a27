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
  const { request } = event;
  const ours = request.method === "GET" && new URL(request.url).origin === location.origin;
  if (ours && request.destination !== "" || ours && !request.url.includes("/model")) event.respondWith(answer(request));
});

async function answer(request) {
  const cache = await caches.open(NAME);
  try {
    const found = await fetch(fresh(request.url));
    if (found.ok) await cache.put(request.url.split("?")[0], found.clone());
    return found;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
