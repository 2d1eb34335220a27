// Streamlit's own cache of messages, cut out of the script that browsers get: what it holds after what it was sent.
// In: the script's path; events, as JSON, one list a line: ["whole", name, part], ["name", name], ["end", ...parts].
// Out: names that it could not look up, and messages that came whole although it had them.
import { readFileSync } from "node:fs";

const AGE = 2;
const source = readFileSync(process.argv[2], "utf8");

function found(pattern) {
  const match = source.match(pattern);
  if (!match) throw new Error(`the script has no ${pattern}`);
  return match;
}

function classAt(start) {
  let depth = 0;
  for (let end = source.indexOf("{", start); ; end++) {
    if (source[end] === "{") depth++;
    if (source[end] === "}" && --depth === 0) return source.slice(start, end + 1);
  }
}

const entry = found(/(\w+)=class\{getAge\(/);
const cache = found(/(\w+)=class\{constructor\(\)\{this\.messages=new Map,this\.scriptRunCount=0\}/);
const logger = found(/(\w+)\.info\(`Caching ForwardMsg/)[1];
const isNothing = found(/if\((\w+)\(\w+\)\)throw Error\(`Cached ForwardMsg MISS/)[1];
const codec = found(/(\w+)\.decode\(\w+\.encodedMsg\)/)[1];
const Cache = new Function(
  logger,
  isNothing,
  codec,
  `const ${classAt(entry.index)}, ${classAt(cache.index)}; return ${cache[1]};`,
)({ info() {}, error() {} }, (value) => value === undefined || value === null, { decode: (it) => ({ ...it }) });

const answers = [];
for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const held = new Cache();
  const missed = [];
  const again = [];
  for (const [kind, ...rest] of JSON.parse(line)) {
    if (kind === "end") held.incrementRunCount(AGE, rest);
    else if (kind === "name") {
      const name = { type: "refHash", refHash: rest[0], metadata: {} };
      await held.processMessagePayload(name, name).catch(() => missed.push(rest[0]));
    } else {
      if (held.getCachedMessageHashes().includes(rest[0])) again.push(rest[0]);
      const whole = { type: "delta", hash: rest[0], metadata: { cacheable: true }, delta: { fragmentId: rest[1] } };
      await held.processMessagePayload(whole, whole);
    }
  }
  answers.push({ missed, again, holds: held.getCachedMessageHashes().length });
}
console.log(JSON.stringify(answers));
