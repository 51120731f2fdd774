// The whole comparison in a link's fragment, compressed; and as a command, as Python.

/** Most bytes of a link's content after decompression: a small link can expand to gigabytes. */
const MOST_BYTES = 512 * 1024;

/** `#v=VERSION&s=…`, with the state as JSON, compressed, in base64url. */
async function toFragment(version, state) {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
  return `#v=${encodeURIComponent(version)}&s=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The version and state of a fragment; null if it has none. Throws an Error with a message for the user. */
async function fromFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!fields.has("s")) return null;
  const broken = new Error("this link is damaged: open the page without it, or ask for the link again");
  try {
    const text = atob(fields.get("s").replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, letter => letter.charCodeAt(0));
    const json = await inflated(bytes);
    const { name, original, toml, policies, seeds } = JSON.parse(json);
    if (typeof name !== "string" || typeof toml !== "string" || typeof policies !== "string") throw broken;
    const count = Number.isInteger(seeds) && seeds > 0 ? seeds : null;
    return { version: fields.get("v") ?? "", state: { name, original: typeof original === "string" ? original : null, toml, policies, seeds: count } };
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

/** The command that gives the same numbers. An edited scenario is a file. */
function asCommand({ name, policies, seeds }) {
  const words = ["joulepath", "compare", name];
  if (policies) words.push("--policies", policies);
  if (seeds) words.push("--seeds", String(seeds));
  return words.map(quoted).join(" ");
}

function asPython({ name, policies, seeds }) {
  const options = [JSON.stringify(name)];
  if (policies) options.push(`policies=${JSON.stringify(policies)}`);
  if (seeds) options.push(`seeds=${seeds}`);
  return `import joulepath\n\ncomparison = joulepath.compare(${options.join(", ")})\nprint(comparison)\n`;
}
