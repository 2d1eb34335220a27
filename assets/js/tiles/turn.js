// One pair of numbers as an arrow in a plane, turned by an angle.
// In: a block with before, after ([x, y]) and angle in radians. Out: an SVG in a figure.

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 210;
const RADIUS = 78;

function shape(tag, attributes, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

// Where the tip of an arrow of full length is drawn: y points up, as in mathematics.
export function tip([x, y], radius = RADIUS, centre = SIZE / 2) {
  const length = Math.hypot(x, y) || 1;
  return [centre + (radius * x) / length, centre - (radius * y) / length];
}

// The way of the turn as a path: whole circles are left out, the last part of one is drawn.
export function arc(from, angle, radius, centre = SIZE / 2) {
  const turned = ((angle % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI);
  const end = [Math.cos(from + turned), Math.sin(from + turned)];
  const [x1, y1] = tip([Math.cos(from), Math.sin(from)], radius, centre);
  const [x2, y2] = tip(end, radius, centre);
  return `M${x1.toFixed(2)},${y1.toFixed(2)}A${radius},${radius} 0 ${turned > Math.PI ? 1 : 0} 0 ${x2.toFixed(2)},${y2.toFixed(2)}`;
}

function arrow(svg, point, name, colour, dash) {
  const centre = SIZE / 2;
  const [x, y] = tip(point);
  svg.append(shape("line", { x1: centre, y1: centre, x2: x, y2: y, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash, class: name }));
  svg.append(shape("circle", { cx: x, cy: y, r: 4, fill: colour }));
  const [tx, ty] = tip(point, RADIUS + 14);
  const anchor = tx > centre + 20 ? "start" : tx < centre - 20 ? "end" : "middle";
  svg.append(shape("text", { x: tx, y: ty + 5, "text-anchor": anchor, style: `fill:${colour}` }, name));
}

export function turn(block) {
  const svg = shape("svg", { viewBox: `-50 0 ${SIZE + 100} ${SIZE}`, width: SIZE + 100, height: SIZE, role: "img", "aria-label": block.describe });
  const centre = SIZE / 2;
  svg.append(shape("circle", { cx: centre, cy: centre, r: RADIUS, fill: "none", stroke: "var(--line)" }));
  svg.append(shape("path", { d: `M${centre - RADIUS},${centre}h${2 * RADIUS}M${centre},${centre - RADIUS}v${2 * RADIUS}`, stroke: "var(--line)" }));
  const from = Math.atan2(block.before[1], block.before[0]);
  svg.append(shape("path", { d: arc(from, block.angle, 34), fill: "none", stroke: "var(--quiet)", "stroke-width": 1.5, class: "arc" }));
  arrow(svg, block.before, "before", "var(--link)", "5 3");
  arrow(svg, block.after, "after", "var(--accent)", "");
  const made = document.createElement("figure");
  made.append(svg);
  return made;
}
