// What all figures of the papers have in common: their place, the legend, axes.

const FIGURE_HEIGHT = 270;
/** On paper two stand side by side. */
const PRINTED_HEIGHT = 190;
const figureHeight = () => (document.documentElement.classList.contains("printing") ? PRINTED_HEIGHT : FIGURE_HEIGHT);
/** Turn of names that stand too close, degrees. */
const TURN = 40;

/** Four significant digits, without idle zeros. */
const brief = value => (value == null ? "–" : String(+value.toPrecision(4)));

/** `1.2 [1.1, 1.3]`. */
function briefInterval([mean, lo, hi]) {
  return lo === hi ? brief(mean) : `${brief(mean)} [${brief(lo)}, ${brief(hi)}]`;
}

/** A canvas colour with so much of it left. */
const faint = (name, alpha) => colour(name).replace("rgb(", "rgba(").replace(")", `, ${alpha})`);

/** Nodes of a legend's samples are drawn with the style sheet's colours: a new theme needs no new legend. */
function sample(shapes) {
  const drawing = svg("svg", { width: 24, height: 12, "aria-hidden": "true" });
  for (const [tag, attributes, style] of shapes) Object.assign(drawing.appendChild(svg(tag, attributes)).style, style);
  return drawing;
}

/** A diamond around (12, 6): what the paper states. */
const DIAMOND = ["path", { d: "M12 1L17 6L12 11L7 6Z" }];

/** The path of a diamond around (x, y). */
function diamond(ctx, x, y, size) {
  ctx.beginPath();
  ctx.moveTo(x, y - size); ctx.lineTo(x + size, y); ctx.lineTo(x, y + size); ctx.lineTo(x - size, y);
  ctx.closePath();
}

/** Names with samples. */
function legendOf(node, items) {
  const legend = node.appendChild(element("div", "legend"));
  for (const { name, shapes } of items) {
    const item = legend.appendChild(element("span"));
    item.append(sample(shapes), name);
  }
}

/** Ends of a vertical axis: from 0 unless all values are close together far from it. */
function verticalEnds(values, room) {
  const known = values.filter(value => value != null && Number.isFinite(value));
  if (known.length === 0) return [0, 1];
  let [lo, hi] = [Math.min(...known), Math.max(...known)];
  if (lo > 0 && lo < 0.5 * hi) lo = 0;
  if (hi < 0 && hi > 0.5 * lo) hi = 0;
  const span = hi - lo || Math.abs(hi) || 1;
  return [lo === 0 ? 0 : lo - 0.06 * span, hi === 0 ? 0 : hi + room * span];
}

/** What is written above a vertical axis: the quantity, and that it does not begin at 0 if so. */
function axisTitle(figure, values) {
  const [lo, hi] = verticalEnds(values, 0);
  const cut = lo > 0 || hi < 0 ? "axis does not begin at 0" : "";
  return [figure.y, cut].filter(text => text).join("; ");
}

/** An axis as wide as its numbers. */
function verticalAxis() {
  return {
    ...axisStyle(), gap: 4, space: 32,
    values: (_, ticks) => ticks.map(tick => (tick == null ? "" : brief(tick))),
    size: (_, values) => Math.max(30, Math.ceil(widest(values ?? [], FONT)) + 12),
  };
}

/** What is written along an axis, if anything is. */
const axisLabel = text => (text ? { label: text, labelSize: 18, labelFont: FONT, labelGap: 0 } : {});

/** A chart without uPlot's legend, that says of itself what `label` says. */
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
