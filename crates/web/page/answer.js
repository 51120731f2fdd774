// The answer: the report's own page in a frame, and what is copied and saved.

/**
 * The report's page, in a frame that has no access to this one and runs only the report's own scripts. Each answer has a new frame:
 * one that is given another page while it loads can miss that page's height.
 */
function showAnswer(answer) {
  at("answer").hidden = at("downloads").hidden = !answer;
  if (!answer || answer === page.framed) return;
  page.framed = answer;
  const { html } = answer;
  const style = `<style>${EMBEDDED_STYLE}</style>`;
  const end = html.lastIndexOf("</body>");
  const frame = at("answer").cloneNode(false);
  frame.style.height = "";
  frame.srcdoc = `${html.slice(0, end)}${style}<script>${EMBEDDED_SCRIPT}<\/script>${html.slice(end)}`;
  at("answer").replaceWith(frame);
}

addEventListener("message", event => {
  const height = event.data?.height;
  if (event.source !== at("answer").contentWindow || typeof height !== "number") return;
  at("answer").style.height = `${Math.min(Math.max(height, 200), 100_000)}px`;
});

function save(text, name, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Texts of the buttons, by mode. */
const COPIES = {
  command: now => page.modes[page.mode].question(now).command,
  python: now => ({ compare: asPython, map: asMapPython, advise: asAdvisePython })[page.mode](page.modes[page.mode].question(now)),
  toml: now => now.toml,
  link: async now => `${location.href.replace(/#.*/, "")}#${await fragment(page.library.version, JSON.stringify(now))}`,
};

async function copy(kind) {
  const now = state();
  const text = await COPIES[kind](now);
  if (kind === "link") history.replaceState(null, "", text.slice(text.indexOf("#")));
  const isScript = page.mode !== "advise" && (kind === "command" || kind === "python");
  const hints = [];
  if (isScript && now.name.endsWith(".toml")) hints.push(`It reads the TOML from the file ${now.name}.`);
  const traces = Object.keys(now.traces);
  if (isScript && traces.length) hints.push(`Its folder needs ${traces.join(", ")}.`);
  if (kind === "link" && sizeOf(page.traces) > LINKED_BYTES) hints.push("The link holds no traces: they are too large. Send the files with it.");
  const hint = hints.map(one => ` ${one}`).join("");
  try {
    await navigator.clipboard.writeText(text);
    at("shared").textContent = `Copied.${hint}`;
  } catch {
    at("shared").textContent = `${text}${hint}`;
  }
}
