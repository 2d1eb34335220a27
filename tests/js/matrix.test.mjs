// The large matrix as it is painted: every pixel of it, its size, and the names on both axes.
import assert from "node:assert/strict";
import test from "node:test";
import { level } from "../../assets/js/heatmap.js";
import { Matrix, clip } from "../../assets/js/matrix.js";
import { onPage, withGlobals } from "./page.mjs";

const PAINT = { pixels: Uint32Array.from({ length: 1024 }, (_, i) => i), line: [1, 1, 1], accent: [2, 2, 2], accentText: [3, 3, 3], soft: [4, 4, 4], font: "serif" };
const spec = (rows, columns, more = {}) => ({ rows, columns, values: new Float32Array(rows.length * columns.length), from: [], to: null, hovered: [null, null], least: 0, ...more });

// Draws on a page `wide` pixels wide where a letter has 8: the image, what was written [text, x, y, font, colour], and the canvas.
function drawn(given, { wide = 400, scale = 1, view = null } = {}) {
  return onPage(() => {
    const texts = [];
    const images = [];
    const cleared = [];
    let shift = [0, 0];
    document.fonts = { size: 1 };
    const context = {
      measureText: (text) => ({ width: 8 * text.length }), createImageData: (width, height) => ({ width, height, data: new Uint8ClampedArray(4 * width * height) }),
      putImageData: (image, x, y) => images.push({ x, y, width: image.width, height: image.height, pixels: new Uint32Array(image.data.buffer) }),
      setTransform: (...to) => (context.transform = to), clearRect: (...box) => cleared.push(box), strokeRect() {}, rect() {}, clip() {}, beginPath() {}, moveTo() {}, lineTo() {}, stroke() {},
      save() {}, restore: () => (shift = [0, 0]), translate: (x, y) => (shift = [x, y]), rotate: (by) => (context.turned = by),
      fillText: (text, x, y) => texts.push([text, ...(shift[0] ? [shift[0] + y - 1, shift[1]] : [x, y]), context.font.split(" ")[0], context.fillStyle, context.textAlign]),
    };
    const matrix = view ?? new Matrix({}, "weights");
    matrix.canvas.getContext = () => context;
    matrix.root.clientWidth = wide;
    withGlobals({ devicePixelRatio: scale }, () => matrix.draw(given, PAINT));
    return { matrix, texts, images, cleared, context, frame: matrix.frame, canvas: matrix.canvas };
  });
}

test("every pixel of a cell has its shade, at any scale, and none of what is not there", () => {
  const values = Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6);
  for (const scale of [1, 2]) {
    const { images: [image], frame } = drawn(spec(["a", "b"], ["x", "y", "z"], { values, absent: (q, k) => q === 0 && k === 2 }), { scale, wide: 170 });
    assert.deepEqual([image.width, image.height, image.x, image.y], [frame.size * scale, frame.high * scale, frame.left * scale, frame.top * scale]);
    const edge = (i, n, size) => Math.round((i * size) / n);
    for (let y = 0; y < image.height; y++) {
      for (let x = 0; x < image.width; x++) {
        const q = [0, 1].findLast((i) => y >= edge(i, 2, image.height));
        const k = [0, 1, 2].findLast((i) => x >= edge(i, 3, image.width));
        const wanted = q === 0 && k === 2 ? 0 : Math.round(values[3 * q + k] * 1023);
        assert.equal(image.pixels[y * image.width + x], wanted, `${scale}: ${x}, ${y}`);
      }
    }
  }
});

test("the matrix is as large as the page and the screen allow, and its canvas as fine as the screen, up to two", () => {
  const names = ["a", "b"];
  const size = (more, page) => {
    const { frame, canvas } = drawn(spec(names, names, more), page);
    return [frame.left, frame.top, frame.size, frame.high, canvas.width, canvas.height, canvas.style.height];
  };
  // A name has 8 pixels and 12 more to the left; above, 1.04 of them and 14.
  assert.deepEqual(size({}), [20, 23, 378, 378, 400, 403, "403px"]);
  assert.deepEqual(size({}, { wide: 2000 }), [20, 23, 1200, 1200, 2000, 1225, "1225px"]);
  assert.deepEqual(size({ most: 100 }), [20, 23, 100, 100, 400, 125, "125px"]);
  assert.deepEqual(size({ tall: 225 }), [20, 23, 200, 200, 400, 225, "225px"], "where the screen ends below");
  assert.deepEqual(size({}, { wide: 50 }), [20, 23, 40, 40, 50, 65, "65px"], "and never smaller than 40");
  assert.deepEqual(size({ measured: ["four"] }).slice(0, 2), [44, Math.ceil(32 * 1.04 + 14)]);
  assert.deepEqual(size({ measured: ["x".repeat(90)] })[0], 400 * 0.24 + 12, "names take less than a quarter");
  assert.deepEqual([1.5, 3].map((scale) => size({}, { scale })[4]), [600, 800]);
  const wide = drawn(spec(["a"], ["x", "y"]));
  assert.deepEqual([wide.frame.size, wide.frame.high], [378, 189]);
  assert.deepEqual(wide.cleared, []);
  assert.deepEqual(drawn(spec(["a"], ["x", "y"]), { view: wide.matrix }).cleared, [[0, 0, 400, wide.canvas.height]], "the same canvas is wiped");
  assert.equal(drawn(spec(names, names), { wide: 0 }).frame, undefined);
});

test("names stand beside the middles of their rows and above those of their columns, chosen ones in the accent's colour", () => {
  const { texts, context } = drawn(spec(["a", "b"], ["x", "y"], { from: [1], to: 0 }));
  // Cells of 189 pixels from (20, 23).
  assert.deepEqual(texts, [
    ["a", 12, 23 + 94.5, "400", "rgb(4, 4, 4)", "right"], ["b", 12, 23 + 283.5, "650", "rgb(3, 3, 3)", "right"],
    ["x", 20 + 94.5, 15, "650", "rgb(3, 3, 3)", "left"], ["y", 20 + 283.5, 15, "400", "rgb(4, 4, 4)", "left"],
  ]);
  assert.deepEqual([context.turned, context.textBaseline, context.transform], [-Math.PI / 2, "middle", [1, 0, 0, 1, 0, 0]]);
  const over = drawn(spec(["a", "b"], ["x", "y"], { hovered: [0, 1] })).texts.map(([text, , , weight]) => `${text} ${weight}`);
  assert.deepEqual(over, ["a 650", "b 400", "x 400", "y 650"]);
});

test("where there is no room for all names every second or third stands, and the chosen ones without those beside them", () => {
  const names = Array.from({ length: 50 }, (_, i) => `${i}`);
  const shown = (more) => {
    const { texts } = drawn(spec(names, names, more), { wide: 430 });
    return [texts.filter((one) => one[5] === "right"), texts.filter((one) => one[5] === "left")].map((all) => all.map(([text]) => Number(text)).sort((a, b) => a - b));
  };
  // 400 pixels for 50 names are 8 each; 13 letters high, 1.12 of it apart: every second.
  const [rows, columns] = shown({});
  assert.deepEqual([rows, columns], [names.map(Number).filter((i) => i % 2 === 0), names.map(Number).filter((i) => i % 2 === 0)]);
  const chosen = shown({ from: [5], to: 10 });
  assert.deepEqual([chosen[0].slice(0, 5), chosen[1].slice(3, 8)], [[0, 2, 5, 8, 10], [6, 8, 10, 12, 14]]);
});

test("a name that is too long ends in an ellipsis, between letters and not inside one", () => {
  const context = { measureText: (text) => ({ width: 8 * [...new Intl.Segmenter().segment(text)].length }) };
  assert.deepEqual(["word", "longword", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"].map((name) => clip(context, name, 40)), ["word", "long…", "e\u0301e\u0301e\u0301e\u0301…"]);
  assert.equal(clip(context, "abc", 1), "a…");
  const marksTakeRoom = { measureText: (text) => ({ width: 8 * text.length }) };
  assert.deepEqual([36, 52].map((room) => clip(marksTakeRoom, "e\u0301e\u0301e\u0301e\u0301", room)), ["e\u0301…", "e\u0301e\u0301…"], "half a letter would have had room");
});

test("what lies below the threshold or is filtered out is paper, what lies on the threshold is drawn", () => {
  const values = Float32Array.of(0.25, 0.125, 0.5, 1);
  const shown = (more) => {
    const { images: [{ pixels, width }] } = drawn(spec(["a", "b"], ["x", "y"], { values, ...more }));
    return [pixels[0], pixels[width - 1], pixels.at(-width), pixels.at(-1)];
  };
  assert.deepEqual([shown({ least: 0.25 }), shown({ hidden: (q, k) => q < k })], [[256, 0, 512, 1023], [256, 0, 512, 1023]]);
});

test("of the cells under one pixel of a crowded matrix the strongest is painted, with its sign, and nothing where there are none", () => {
  const n = 300; // three by three to a pixel
  const names = Array.from({ length: n }, () => "");
  const crowded = (cells, more) => {
    const values = new Float32Array(n * n);
    for (const [q, k, value] of cells) values[q * n + k] = value;
    const { images: [image] } = drawn(spec(names, names, { values, most: 100, ...more }), { wide: 150 });
    assert.deepEqual([image.width, image.height], [100, 100]);
    return image.pixels;
  };
  const painted = (...given) => [...crowded(...given)].flatMap((level, at) => (level ? [[Math.floor(at / 100), at % 100, level]] : []));
  const links = [[6, 10, 0.5], [7, 11, 0.75], [8, 9, 0.25], [299, 0, 1]];
  assert.deepEqual(painted(links), [[2, 3, 767], [99, 0, 1023]]);
  assert.deepEqual(painted(links, { hidden: (q, k) => q === 7 && k === 11, least: 0.5 }), [[2, 3, 512], [99, 0, 1023]]);
  const signed = crowded([[0, 0, 0.25], [1, 2, -1], [3, 3, -0.5], [5, 4, 0.75]], { signed: true, absent: (q, k) => k > q + 150 });
  assert.deepEqual([0, 101, 5, 99].map((at) => signed[at]), [0, 895, 512, 0], "nothing there is not the same as no change");
});

test("differences are stretched to the largest one shown, weights to the top, and both are kept inside the ramp", () => {
  const levels = [[0.1, { signed: true, span: 0.2 }], [-0.1, { signed: true, span: 0.2 }], [-3, { signed: true, span: 0.2 }], [0.5, { signed: true }], [0.3, { signed: false, span: 0.2 }], [1.4, { signed: false }], [-0.4, { signed: false }], [0.45, { signed: false, top: 0.9 }]];
  assert.deepEqual(levels.map((given) => level(...given)), [0.75, 0.25, 0, 0.75, 0.3, 1, 0, 0.5]);
});
