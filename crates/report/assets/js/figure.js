// Common parts of all figures of the papers: height, legend, axes.

const FIGURE_HEIGHT = 270;
/** Two figures side by side on paper. */
const PRINTED_HEIGHT = 190;
const figureHeight = () => (document.documentElement.classList.contains("printing") ? PRINTED_HEIGHT : FIGURE_HEIGHT);
/** Angle of names that would overlap, degrees. */
const TURN = 40;

/** Four significant digits without trailing zeros. */
const brief = value => (value == null ? "–" : String(+value.toPrecision(4)));

/** Formats `1.2 [1.1, 1.3]`. */
function briefInterval([mean, lo, hi]) {
  return lo === hi ? brief(mean) : `${brief(mean)} [${brief(lo)}, ${brief(hi)}]`;
}

/** A colour with opacity `alpha`, for canvases. */
const faint = (name, alpha) => colour(name).replace("rgb(", "rgba(").replace(")", `, ${alpha})`);

/** Legend samples use the style sheet's colours, so that a new theme needs no redrawing. */
function sample(shapes) {
  const drawing = svg("svg", { width: 24, height: 12, "aria-hidden": "true" });
  for (const [tag, attributes, style] of shapes) Object.assign(drawing.appendChild(svg(tag, attributes)).style, style);
  return drawing;
}

/** A diamond around (12, 6), the mark of the paper's values. */
const DIAMOND = ["path", { d: "M12 1L17 6L12 11L7 6Z" }];

/** Path of a diamond around (x, y). */
function diamond(ctx, x, y, size) {
  ctx.beginPath();
  ctx.moveTo(x, y - size); ctx.lineTo(x + size, y); ctx.lineTo(x, y + size); ctx.lineTo(x - size, y);
  ctx.closePath();
}

/** Adds a legend: names with samples. */
function legendOf(node, items) {
  const legend = node.appendChild(element("div", "legend"));
  for (const { name, shapes } of items) {
    const item = legend.appendChild(element("span"));
    item.append(sample(shapes), name);
  }
}

/** Ends of a vertical axis: from 0, unless all values lie close together far from 0. */
function verticalEnds(values, room) {
  const known = values.filter(value => value != null && Number.isFinite(value));
  if (known.length === 0) return [0, 1];
  let [lo, hi] = [Math.min(...known), Math.max(...known)];
  if (lo > 0 && lo < 0.5 * hi) lo = 0;
  if (hi < 0 && hi > 0.5 * lo) hi = 0;
  const span = hi - lo || Math.abs(hi) || 1;
  return [lo === 0 ? 0 : lo - 0.06 * span, hi === 0 ? 0 : hi + room * span];
}

/** Title of a vertical axis: the quantity, and a note if it does not begin at 0. */
function axisTitle(figure, values) {
  const [lo, hi] = verticalEnds(values, 0);
  const cut = lo > 0 || hi < 0 ? "axis does not begin at 0" : "";
  return [figure.y, cut].filter(text => text).join("; ");
}

/** A vertical axis as wide as its numbers. */
function verticalAxis() {
  return {
    ...axisStyle(), gap: 4, space: 32,
    values: (_, ticks) => ticks.map(tick => (tick == null ? "" : brief(tick))),
    size: (_, values) => Math.max(30, Math.ceil(widest(values ?? [], FONT)) + 12),
  };
}

/** Label of an axis, if any. */
const axisLabel = text => (text ? { label: text, labelSize: 18, labelFont: FONT, labelGap: 0 } : {});

/** A chart without uPlot's legend, with `label` as its accessible name. */
function figureChart(node, options, columns, label) {
  const chart = new uPlot({
    width: insideWidth(node),
    height: figureHeight(),
    padding: [10, 12, 0, 0],
    legend: { show: false },
    ...options,
  }, columns, node);
  chart.root.setAttribute("role", "img");
  chart.root.setAttribute("aria-label", label);
  return chart;
}
