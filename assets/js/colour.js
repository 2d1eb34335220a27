// Colour in OKLab: equal steps of weight are equal steps of lightness. One ramp for weights, one for differences, both
// declared in palette.json.
import palette from "../palette.json" with { type: "json" };

export const PAGE = palette.page;
export const OKABE_ITO = palette.heads;
export const LEVELS = 1024;

export function parseColour(text, fallback = [255, 255, 255]) {
  const value = (text ?? "").trim();
  let m = /^#([0-9a-f]{3,8})$/i.exec(value);
  if (m) {
    const hex = m[1].length < 6 ? [...m[1]].map((c) => c + c).join("") : m[1];
    return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
  }
  m = /^rgba?\(([^)]+)\)$/i.exec(value);
  if (m) return m[1].split(/[\s,/]+/).slice(0, 3).map(Number);
  return fallback;
}

const toLinear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const fromLinear = (c) => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);

export function toOklab(rgb) {
  const [r, g, b] = rgb.map((c) => toLinear(c / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

export function fromOklab([L, A, B]) {
  const l = (L + 0.3963377774 * A + 0.2158037573 * B) ** 3;
  const m = (L - 0.1055613458 * A - 0.0638541728 * B) ** 3;
  const s = (L - 0.0894841775 * A - 1.291485548 * B) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((c) => Math.round(255 * Math.min(Math.max(fromLinear(Math.min(Math.max(c, 0), 1)), 0), 1)));
}

export function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => toLinear(c / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a, b) {
  const [hi, lo] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (hi + 0.05) / (lo + 0.05);
}

const INKS = [[29, 28, 26], [255, 255, 255], [0, 0, 0]];

// The first ink that reads on a colour: of white and black one always does.
export const inkOn = (rgb) => css(INKS.find((ink) => contrast(ink, rgb) >= 4.5));

export const css = (rgb) => `rgb(${rgb[0]}, ${rgb[1]}, ${rgb[2]})`;

export function blend(a, b, t) {
  const x = toOklab(a);
  const y = toOklab(b);
  return fromOklab(x.map((v, i) => v + (y[i] - v) * t));
}

// The first mixture of colour and ink that reads on paper at the wanted contrast.
export function readable(colour, ink, paper, wanted = 4.5) {
  for (let t = 0; t <= 1; t += 0.05) {
    const mixed = blend(colour, ink, t);
    if (contrast(mixed, paper) >= wanted) return mixed;
  }
  return ink;
}

// A colour without its hue, as light as it was.
export const grey = (rgb) => fromOklab([toOklab(rgb)[0], 0, 0]);

export const isDark = (paper) => luminance(paper) < 0.18;

export const schemeOf = (paper) => (isDark(paper) ? "dark" : "light");

// Paper at 0, deep ink (light theme) or pale glow (dark theme) at 1; a breath of blue on the way.
export function sequential(paper) {
  const { end, bend } = palette.weights[schemeOf(paper)];
  const [from, to] = [paper, parseColour(end)].map(toOklab);
  return Array.from({ length: LEVELS }, (_, i) => {
    const t = i / (LEVELS - 1);
    const hump = Math.sin(Math.PI * t);
    return fromOklab([
      from[0] + (to[0] - from[0]) * t,
      from[1] + (to[1] - from[1]) * t + bend[0] * hump,
      from[2] + (to[2] - from[2]) * t + bend[1] * hump,
    ]);
  });
}

// Orange at -1 (more in B), paper at 0, blue at +1 (more in A); both arms fall equally in lightness.
export function diverging(paper) {
  const { more, less } = palette.differences[schemeOf(paper)];
  const [middle, blue, orange] = [paper, parseColour(more), parseColour(less)].map(toOklab);
  const level = (blue[0] + orange[0]) / 2;
  return Array.from({ length: LEVELS }, (_, i) => {
    const t = (2 * i) / (LEVELS - 1) - 1;
    const end = t < 0 ? orange : blue;
    const u = Math.abs(t);
    return fromOklab([middle[0] + (level - middle[0]) * u, middle[1] + (end[1] - middle[1]) * u, middle[2] + (end[2] - middle[2]) * u]);
  });
}

// A ramp as 32-bit pixels in the byte order of ImageData, for drawing thousands of cells at once.
export function pixels(ramp) {
  const bytes = new Uint8ClampedArray(ramp.length * 4);
  ramp.forEach((rgb, i) => bytes.set([...rgb, 255], i * 4));
  return new Uint32Array(bytes.buffer);
}

export function at(ramp, value, signed = false) {
  const t = signed ? (value + 1) / 2 : value;
  return ramp[Math.max(0, Math.min(LEVELS - 1, Math.round(t * (LEVELS - 1))))];
}
