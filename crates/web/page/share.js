// The whole question in a link's fragment, compressed; and as a command, as Python.

/** Most bytes of a link's content after decompression: a small link can expand to gigabytes. */
const MOST_BYTES = 512 * 1024;

/** The version and state of a fragment; null if it has none. Throws an Error with a message for the user. */
async function fromFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!fields.has("s")) return null;
  const broken = new Error("this link is damaged: open the page without it, or ask for the link again");
  try {
    const text = atob(fields.get("s").replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, letter => letter.charCodeAt(0));
    const json = await inflated(bytes);
    const { name, original, toml, policies, rules, seeds, traces, mode, map, advise } = JSON.parse(json);
    if (typeof name !== "string" || typeof toml !== "string" || typeof policies !== "string") throw broken;
    const isTable = value => typeof value === "object" && value !== null && !Array.isArray(value);
    const texts = isTable(traces) ? Object.entries(traces).filter(([, text]) => typeof text === "string") : [];
    return {
      version: fields.get("v") ?? "",
      state: {
        name, toml, policies, traces: Object.fromEntries(texts),
        original: typeof original === "string" ? original : null,
        rules: typeof rules === "string" ? rules : null,
        seeds: Number.isInteger(seeds) && seeds > 0 ? seeds : null,
        mode, map: isTable(map) ? map : null, advise: isTable(advise) ? advise : null,
      },
    };
  } catch (error) {
    throw error instanceof RangeError ? error : broken;
  }
}

async function inflated(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MOST_BYTES) {
      reader.cancel();
      throw new RangeError(`this link holds more than ${MOST_BYTES / 1024} kB and was not opened`);
    }
    parts.push(value);
  }
  return new Blob(parts).text();
}

/** A word for a shell. */
function quoted(word) {
  return /^[\w./:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The options that have a value. */
function given(options) {
  return Object.entries(options).filter(([, value]) => (value ?? "") !== "");
}

/** The command of these words and options. */
function asWords(words, options) {
  const all = given(options).flatMap(([name, value]) => [value].flat().flatMap(one => [`--${name.replaceAll("_", "-")}`, String(one)]));
  return ["joulepath", ...words, ...all].map(quoted).join(" ");
}

/** A call of the Python package. */
function asCall(name, words, options, result) {
  const all = [...words.map(word => JSON.stringify(word)), ...given(options).map(([key, value]) => `${key}=${JSON.stringify(value)}`)];
  return `import joulepath\n\n${result} = joulepath.${name}(${all.join(", ")})\nprint(${result})\n`;
}

/** Rules are left out: Python has classes in their place. */
function asPython({ name, request: { policies, seeds } }) {
  return asCall("compare", [name], { policies: withoutOwn(policies), seeds }, "comparison");
}

function asMapPython({ name, request: { x, y, ...options } }) {
  return asCall("map", [name, x, y], options, "plane");
}

function asAdvisePython({ request: { paths, size, ...options } }) {
  return asCall("advise", ["PATHS", size], options, "advice").replace('"PATHS"', () => JSON.stringify(paths));
}
