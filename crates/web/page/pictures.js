// Copies of the answer's charts. The frame of the answer draws them: this page has no access to it.

const PICTURE_MS = 30_000;

/** A choice of chart with two buttons, in `box`. `frame` returns the frame of the answer, which each answer replaces. */
function pictures(box, frame) {
  const chart = make("select");
  chart.setAttribute("aria-label", "Chart to copy");
  const note = make("span", { className: "dim" });
  note.setAttribute("role", "status");
  let waiting = null;
  // Which charts are shown changes in the frame.
  chart.addEventListener("focus", () => frame().contentWindow.postMessage({ list: true }, "*"));
  const asked = kind => new Promise((done, failed) => {
    waiting = { done, failed };
    frame().contentWindow.postMessage({ picture: kind, index: chart.selectedIndex }, "*");
    setTimeout(() => failed(new Error("the answer drew no chart")), PICTURE_MS);
  });
  addEventListener("message", ({ data, source }) => {
    if (source !== frame().contentWindow) return;
    if (Array.isArray(data?.charts)) {
      const kept = chart.value;
      chart.replaceChildren(...data.charts.slice(0, 100).map(name => make("option", { textContent: String(name).replace(/\s+/g, " ").slice(0, 100) })));
      if (kept) chart.value = kept;
      if (chart.selectedIndex < 0) chart.selectedIndex = 0;
      tools.hidden = !data.charts.length;
      note.textContent = "";
    }
    if (data?.picture instanceof Blob) waiting?.done(data.picture);
    if (typeof data?.failure === "string") waiting?.failed(new Error(data.failure));
  });
  /** To the clipboard; as a file where the browser does not allow that. */
  const copy = async kind => {
    note.textContent = "";
    try {
      const picture = await asked(kind);
      try {
        if (kind === "svg") await navigator.clipboard.writeText(await picture.text());
        else await navigator.clipboard.write([new ClipboardItem({ [picture.type]: picture })]);
        note.textContent = "Copied.";
      } catch {
        save(picture, `chart.${kind}`, picture.type);
        note.textContent = `Saved as chart.${kind}.`;
      }
    } catch (error) {
      note.textContent = `Failed: ${error.message}.`;
    }
  };
  const button = (kind, text) => {
    const one = make("button", { type: "button", textContent: text });
    one.addEventListener("click", () => copy(kind));
    return one;
  };
  const tools = make("div", { className: "actions pictures", hidden: true }, chart, button("png", "Copy as PNG"), button("svg", "Copy as SVG"), note);
  box.append(tools);
}
