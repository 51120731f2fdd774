// Light and dark theme, and colours as plain values for canvases.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** Colours of policies and paths repeat after this many, with other dashes or hatches. */
const PALETTE = 8;
/** Dashes of lines by repetition of the palette, CSS pixels. */
const DASHES = [[], [2, 3], [10, 3, 2, 3]];
const dashOf = index => DASHES[Math.min(DASHES.length - 1, Math.floor(index / PALETTE))];

/** Current value of the style sheet's variable `--name`, with light-dark() resolved. */
function colour(name) {
  const probe = colour.probe ??= document.body.appendChild(element("span"));
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

const policyColour = index => colour(`policy-${index % PALETTE}`);
const pathColour = index => colour(`path-${index % PALETTE}`);

/** Sets up the button. Calls `redraw` when colours change. `#dark` or `#light` in the address sets the initial theme. */
function theme(redraw) {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = isDark() ? "☀ Light" : "☾ Dark"; };
  const asked = location.hash.slice(1);
  if (asked === "dark" || asked === "light") root.dataset.theme = asked;
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
    redraw();
  });
  system.addEventListener("change", () => { label(); redraw(); });
  // Paper is white and narrow: redraw canvases for it, and again afterwards.
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("printing");
    redraw();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    redraw();
  });
}

/** Colours of a chart's axis. */
function axisStyle() {
  const grid = { stroke: colour("line"), width: 1 };
  return { stroke: colour("dim"), font: FONT, grid, ticks: { ...grid, size: 4 } };
}

/** The axis font in canvas pixels. */
function scaledFont() {
  return FONT.replace("12px", `${12 * uPlot.pxRatio}px`);
}
