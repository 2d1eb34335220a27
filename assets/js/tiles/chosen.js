// The token that every board of the page follows: chosen on one, heard by all.

const bus = new EventTarget();
let chosen = null;

export function choose(query) {
  chosen = query;
  bus.dispatchEvent(new Event("chosen"));
}

// listener(chosen) runs at every choice; returned are a call to run it now and one to stop it.
export function whenChosen(listener) {
  const heard = () => listener(chosen);
  bus.addEventListener("chosen", heard);
  return [heard, () => bus.removeEventListener("chosen", heard)];
}
