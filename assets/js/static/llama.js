// A Llama (mha_core/draw/static_site/graph_llama.py). What the last text began with is not computed again.

// about: its sizes. Returns (pieces) => promise of { weights (layers, heads, n, n), next (probability of each piece) }.
export function llamaOf({ heads, cached: [layers, states], speeds }, { run, integers, floats }) {
  const width = 2 * speeds.length;
  let last = { ids: [], weights: new Float32Array(0), present: new Float32Array(0) };

  return async (pieces) => {
    const ids = pieces.map(({ id }) => id), n = ids.length, old = last, before = old.ids.length;
    let first = 0;
    while (first < n - 1 && ids[first] === old.ids[first]) first++;
    const past = new Float32Array(layers * states * first * width);
    for (let i = 0; i < layers * states; i++) past.set(old.present.subarray(i * before * width, (i * before + first) * width), i * first * width);
    const { next, present, weights: rows } = await run({ ...positions(first, n), ids: integers(ids.slice(first)), past: floats(past, layers, states, first, width) });
    const weights = new Float32Array(layers * heads * n * n), row = (array, at, length) => array.subarray(at, at + length);
    for (let head = 0; head < layers * heads; head++) {
      for (let q = 0; q < first; q++) weights.set(row(old.weights, (head * before + q) * before, q + 1), (head * n + q) * n);
      weights.set(row(rows, head * (n - first) * n, (n - first) * n), (head * n + first) * n);
    }
    last = { ids, weights, present };
    return { weights, next };
  };

  // How queries and keys from `first` on are turned, and which earlier tokens they see.
  function positions(first, n) {
    const count = n - first, cos = new Float32Array(count * width), sin = new Float32Array(count * width), mask = new Float32Array(count * n);
    for (let q = 0; q < count; q++) {
      speeds.forEach((speed, pair) => {
        const angle = Math.fround((first + q) * Math.fround(speed)), left = q * width + pair, right = left + width / 2;
        cos[left] = cos[right] = Math.cos(angle);
        sin[left] = -(sin[right] = Math.sin(angle));
      });
      mask.fill(-Infinity, q * n + first + q + 1, (q + 1) * n);
    }
    return { cos: floats(cos, count, width), sin: floats(sin, count, width), mask: floats(mask, count, n) };
  }
}
