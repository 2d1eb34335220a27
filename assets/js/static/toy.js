// The toy model (mha_core/models/families/classroom.py) in plain JavaScript: pre-LN, rotary positions, a window in some layers.

// about: its sizes; tensor(name): its numbers, matrices (out, in). Returns (pieces) => { weights } (layers, heads, n, n).
export function toyOf(about, tensor) {
  const { layers, heads, width, inner, eps, turning, theta, windows } = about;
  const dk = width / heads, scale = 1 / Math.sqrt(dk);
  const norm = (name, x) => layerNorm(x, tensor(`${name}.weight`), tensor(`${name}.bias`), eps);
  const linear = (name, x, n) => multiplied(x, n, tensor(`${name}.weight`), tensor(`${name}.bias`));

  return (pieces) => {
    const n = pieces.length, all = new Float32Array(layers * heads * n * n), words = tensor("embeddings.word.weight");
    let x = new Float32Array(n * width);
    pieces.forEach(({ id }, i) => x.set(words.subarray(id * width, (id + 1) * width), i * width));
    for (let layer = 0; layer < layers; layer++) {
      const name = `layers.${layer}`, read = norm(`${name}.attention_norm`, x);
      const [q, k] = ["W_q", "W_k"].map((part) => turned(linear(`${name}.attention.${part}`, read, n), n));
      const weights = all.subarray(layer * heads * n * n, (layer + 1) * heads * n * n);
      attend(q, k, weights, n, windows[layer] || n);
      if (layer + 1 === layers) break;
      const context = mixed(weights, linear(`${name}.attention.W_v`, read, n), n);
      x = added(x, linear(`${name}.attention.W_o`, context, n));
      const up = linear(`${name}.up`, norm(`${name}.output_norm`, x), n);
      x = added(x, linear(`${name}.down`, up.map(gelu), n));
    }
    return { weights: all };
  };

  // Number i of a head's first `turning` pairs with i + dk / 2.
  function turned(x, n) {
    for (let pair = 0; pair < turning; pair++) {
      const speed = theta ** (-pair / turning); // radians a position
      for (let at = 0; at < n; at++) {
        const angle = at * speed, cos = Math.cos(angle), sin = Math.sin(angle);
        for (let i = at * width + pair; i < (at + 1) * width; i += dk) {
          const [a, b] = [x[i], x[i + dk / 2]];
          [x[i], x[i + dk / 2]] = [a * cos - b * sin, b * cos + a * sin];
        }
      }
    }
    return x;
  }

  // Softmax of the scaled products, of keys no further than `reach` away.
  function attend(q, k, weights, n, reach) {
    for (let head = 0; head < heads; head++) {
      for (let i = 0; i < n; i++) {
        const row = weights.subarray((head * n + i) * n, (head * n + i + 1) * n);
        const first = Math.max(0, i - reach), stop = Math.min(n, i + reach + 1);
        let largest = -Infinity, sum = 0;
        for (let j = first; j < stop; j++) {
          row[j] = dot(q, i * width + head * dk, k, j * width + head * dk, dk) * scale;
          largest = Math.max(largest, row[j]);
        }
        for (let j = first; j < stop; j++) sum += row[j] = Math.exp(row[j] - largest);
        for (let j = first; j < stop; j++) row[j] /= sum;
      }
    }
  }

  function mixed(weights, v, n) {
    const out = new Float32Array(n * width);
    for (let head = 0; head < heads; head++) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          const weight = weights[(head * n + i) * n + j];
          if (weight) for (let d = head * dk; d < (head + 1) * dk; d++) out[i * width + d] += weight * v[j * width + d];
        }
      }
    }
    return out;
  }
}

// n is a multiple of four: four sums at once take a third of the time.
function dot(a, atA, b, atB, n) {
  let s = 0, t = 0, u = 0, v = 0;
  for (let i = 0; i < n; i += 4) {
    s += a[atA + i] * b[atB + i];
    t += a[atA + i + 1] * b[atB + i + 1];
    u += a[atA + i + 2] * b[atB + i + 2];
    v += a[atA + i + 3] * b[atB + i + 3];
  }
  return s + t + u + v;
}

// x (n, in) and a matrix (out, in): (n, out).
function multiplied(x, n, matrix, bias) {
  const outs = bias.length, ins = matrix.length / outs, y = new Float32Array(n * outs);
  for (let i = 0; i < n; i++) {
    for (let o = 0; o < outs; o++) y[i * outs + o] = bias[o] + dot(x, i * ins, matrix, o * ins, ins);
  }
  return y;
}

function layerNorm(x, weight, bias, eps) {
  const width = weight.length, y = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    const row = x.subarray(at, at + width), mean = row.reduce((sum, v) => sum + v, 0) / width;
    const deviation = Math.sqrt(row.reduce((sum, v) => sum + (v - mean) ** 2, 0) / width + eps);
    row.forEach((v, i) => { y[at + i] = ((v - mean) / deviation) * weight[i] + bias[i]; });
  }
  return y;
}

const added = (a, b) => a.map((value, i) => value + b[i]);

// x times the normal distribution's share below it; erf by Abramowitz & Stegun 7.1.26, within 1.5e-7.
function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const erf = 1 - tail * Math.exp(-z * z);
  return 0.5 * x * (1 + Math.sign(x) * erf);
}
