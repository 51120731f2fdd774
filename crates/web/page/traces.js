// Traces of the user: files for `trace = "…"`, kept in this page.

/** Most bytes of all traces in a link. */
const LINKED_BYTES = 64 << 10;
/** Most bytes of all traces in this page, as the simulator accepts them. */
const TRACE_BYTES = 32 << 20;

/** A name that TOML and a shell take without quotes. */
function traceName(file) {
  const name = file.split(/[\\/]/).at(-1).replace(/[^\w.-]+/g, "-").replace(/^[.-]+/, "");
  return name || "my.trace";
}

function sizeOf(traces) {
  return Object.values(traces).reduce((sum, text) => sum + text.length, 0);
}

/** The traces that a link holds: all, or none. */
function linked(traces) {
  return sizeOf(traces) > LINKED_BYTES ? {} : traces;
}

/** Names in the text that are neither shipped next to the original nor in this page are shown as problems by the simulator. */
function showTraces(box, traces, remove) {
  const names = Object.keys(traces);
  if (!names.length) {
    box.replaceChildren();
    return;
  }
  const items = names.map(name => {
    const button = make("button", { type: "button", textContent: "Remove" });
    button.setAttribute("aria-label", `Remove ${name}`);
    button.addEventListener("click", () => remove(name));
    return make("li", {}, `${name}, ${Math.ceil(traces[name].length / 1024)} kB `, button);
  });
  const note = sizeOf(traces) > LINKED_BYTES
    ? `They have more than ${LINKED_BYTES >> 10} kB: a link does not hold them. Send the files with it.` : "A link holds them.";
  box.replaceChildren(make("h3", { textContent: "Your traces" }), make("ul", { className: "traces" }, ...items), make("p", { className: "dim", textContent: note }));
}

/** A button that reads a file and calls `loaded(name, text)`, or `failed(message)`. */
function traceButton(id, label, loaded, failed) {
  const input = make("input", { type: "file", id, accept: ".trace,.up,.down,.txt,.csv,text/*" });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (!file) return;
    if (file.size > TRACE_BYTES) {
      failed(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB; this page takes ${TRACE_BYTES >> 20} MB: use the command line`);
      return;
    }
    loaded(traceName(file.name), await file.text());
  });
  return make("div", { className: "wide" }, make("label", { htmlFor: id, textContent: label }), input);
}
