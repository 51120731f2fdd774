// The answer: the report's own page in a frame, and what is copied and saved.

/**
 * The report's page, in a frame that has no access to this one and runs only the report's own scripts. Each answer has a new frame:
 * one that is given another page while it loads can miss that page's height.
 */
function showAnswer(answer) {
  at("answer").hidden = at("downloads").hidden = !answer;
  showWinner(answer?.best);
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

/** What the most efficient policy does. */
function showWinner(best) {
  at("winner").hidden = !best;
  if (!best) return;
  const name = best.policy.replace(/[[:].*/, "");
  const known = page.library.policies.find(policy => policy.name.replace(/:.*/, "") === name);
  const what = name === page.library.rules.policy ? "your own rules" : known?.summary;
  at("winner").replaceChildren("Most data per joule: ", make("strong", { textContent: best.label }), what ? ` (${what})` : "");
}

addEventListener("message", event => {
  const height = event.data?.height;
  if (event.source !== at("answer").contentWindow || typeof height !== "number") return;
  at("answer").style.height = `${Math.min(Math.max(height, 200), 100_000)}px`;
});

/** The report of an answer. From a server it has a link that opens its question there. */
async function withLink({ html, state: asked }) {
  if (!asked || !location.protocol.startsWith("http")) return html;
  const href = (await linkTo(asked)).replaceAll("&", "&amp;");
  const link = `<p><a href="${href}">Try it</a>: change this question and run it in the browser.</p>\n`;
  const place = html.lastIndexOf("</main>");
  return `${html.slice(0, place)}${link}${html.slice(place)}`;
}

/** The address of this page with a question. */
async function linkTo(asked) {
  return `${location.href.replace(/#.*/, "")}#${await fragment(page.library.version, JSON.stringify(asked))}`;
}

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
  rules: now => now.rules ?? "",
  link: linkTo,
};

async function copy(kind) {
  const now = state();
  const text = await COPIES[kind](now);
  if (kind === "link") history.replaceState(null, "", text.slice(text.indexOf("#")));
  const isScript = page.mode !== "advise" && (kind === "command" || kind === "python");
  const hints = [];
  if (isScript && now.name.endsWith(".toml")) hints.push(`It reads the TOML from the file ${now.name}.`);
  if (page.mode === "compare" && now.rules) {
    if (kind === "command") hints.push(`It reads your rules from the file ${rulesFile()}: Copy rules.`);
    if (kind === "python") hints.push("Your controller is left out: in Python it is a class, or a header in C.");
  }
  const traces = Object.keys(now.traces);
  if (isScript && traces.length) hints.push(`Its folder needs ${traces.join(", ")}.`);
  if (kind === "link" && sizeOf(page.traces) > LINKED_BYTES) hints.push("The link holds no traces: they are too large. Send the files with it.");
  if (kind === "link" && location.protocol === "file:") hints.push("It opens this file on this machine only: to share a result, save the report.");
  const hint = hints.map(one => ` ${one}`).join("");
  try {
    await navigator.clipboard.writeText(text);
    at("shared").textContent = `Copied.${hint}`;
  } catch {
    at("shared").textContent = `${text}${hint}`;
  }
}
