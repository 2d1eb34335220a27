// The page's theme as colours a canvas can use, read from the --st-* variables and read again when they change.
import { PAGE, at, blend, contrast, css, diverging, grey, isDark, parseColour, pixels, readable, schemeOf, sequential } from "./colour.js";

export const FONT = '"HeadScope", "Source Serif 4", Georgia, "Times New Roman", serif';

// The theme read last: a page has one, and every board and picture asks for it.
let known = {};

export function readTheme(root) {
  const style = getComputedStyle(root);
  const own = (name, fallback) => parseColour(style.getPropertyValue(name), fallback);
  const paper = own("--st-background-color", parseColour(PAGE.light.paper));
  const given = PAGE[schemeOf(paper)];
  const ink = own("--st-text-color", parseColour(given.ink));
  const accent = own("--st-primary-color", parseColour(given.accent));
  const key = [paper, ink, accent].join("|");
  if (known.key !== key) known = { key, ...themeOf(paper, ink, accent) };
  return known;
}

export function themeOf(paper, ink, accent) {
  const ramp = sequential(paper);
  const change = diverging(paper);
  return {
    paper,
    ink,
    accent,
    accentText: readable(accent, ink, paper, 4.6),
    onAccent: contrast(paper, accent) >= contrast(ink, accent) ? paper : ink,
    soft: readable(blend(ink, paper, 0.34), ink, paper, 4.6),
    line: blend(ink, paper, 0.8),
    trace: blend(ink, paper, 0.62),
    rest: grey(at(ramp, 0.3)), // arcs to special tokens: as light as the lightest arc
    ramp,
    pixels: pixels(ramp),
    change: { ramp: change, pixels: pixels(change), signed: true, line: blend(ink, paper, 0.8) },
    font: FONT,
    dark: isDark(paper),
  };
}

// Derived colours go back into CSS, so that the drawn and the styled agree.
export function applyTheme(root, paint) {
  const set = (name, rgb) => root.style.setProperty(name, css(rgb));
  set("--paper", paint.paper);
  set("--ink", paint.ink);
  set("--accent", paint.accent);
  set("--accent-text", paint.accentText);
  set("--on-accent", paint.onAccent);
  set("--soft", paint.soft);
  set("--line", paint.line);
  set("--data", at(paint.ramp, 0.82));
  set("--less", paint.change.ramp[60]);
  set("--more", paint.change.ramp[963]);
  root.style.setProperty("--ramp", gradient(paint.ramp));
  root.style.setProperty("--change", gradient(paint.change.ramp));
}

// A ramp as a strip of colour for CSS.
export function gradient(ramp) {
  return `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map((t) => css(at(ramp, t))).join(", ")})`;
}
