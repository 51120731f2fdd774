// Horizontal bars: one per policy, with whiskers, or stacked.

const BAR = 30; // height of a policy's line, CSS pixels
const AXIS = 44; // height of the axis with its unit
const GAP = 8;
const LINE = 15; // height of a line of text
/** A limit further off than this many times the longest bar would squeeze the bars; it is told beneath instead. */
const FAR = 3;

/** What all charts with one line per policy have in common. */
function barOptions(width, policies, max, unit, top, reserve) {
  const label = Math.min(Math.ceil(widest(policies, FONT)), Math.round(0.4 * width));
  const names = policies.map(name => ellipsis(name, label, FONT));
  const plot = width - label - 2 * GAP;
  // The texts behind the bars need `reserve` pixels beyond the longest.
  const scaleMax = (max || 1) * plot / Math.max(plot - reserve, plot / 3);
  const style = axisStyle();
  return {
    width,
    height: policies.length * BAR + AXIS + top,
    padding: [top, GAP, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, ori: 1, dir: -1, range: [-0.5, policies.length - 0.5] },
      y: { ori: 0, dir: 1, range: [0, scaleMax] },
    },
    axes: [
      {
        ...style, side: 3, stroke: colour("text"), size: label + GAP, gap: GAP, grid: { show: false }, ticks: { show: false },
        splits: () => policies.map((_, index) => index), values: () => names,
      },
      { ...style, side: 2, size: 24, gap: 2, label: unit, labelSize: 18, labelFont: FONT, labelGap: 0, space: 60 },
    ],
  };
}

/** Bars of several colours from `from` to `to`. */
function barSeries(from, to, colours) {
  const disp = {
    y0: { unit: 1, values: () => from },
    y1: { unit: 1, values: () => to },
    fill: { unit: 3, values: () => colours },
  };
  return { width: 0, paths: uPlot.paths.bars({ size: [0.66, BAR], disp }), points: { show: false } };
}

/** Upper end of the longest bar with its whisker. */
const longestBar = spec => Math.max(0, ...spec.means, ...spec.intervals.map(ends => ends?.[1] ?? 0));
const isNear = (limit, spec) => limit.value <= FAR * longestBar(spec);

/** What the title of a bar chart adds: where limits are that lie off the chart. */
function barHint(spec) {
  const far = spec.limits.filter(limit => !isNear(limit, spec));
  return [spec.hint, ...far.map(limit => `${limit.name} off the chart at ${compact(limit.value)} ${spec.unit}`)].join("; ");
}

/** One bar a policy with its interval, its number behind it, and the limits as lines. */
function drawBars(node, spec, policies) {
  const near = spec.limits.filter(limit => isNear(limit, spec));
  const reserve = widest(spec.texts, FONT) + 2 * GAP;
  // A limit's line needs no text behind it.
  const furthest = Math.max(0, ...near.map(limit => limit.value));
  const options = barOptions(insideWidth(node), policies, longestBar(spec), spec.unit, near.length ? 8 + LINE * near.length : 6, reserve);
  options.scales.y.range[1] = Math.max(options.scales.y.range[1], 1.05 * furthest);
  const colours = policies.map((_, index) => policyColour(index));
  options.series = [{}, barSeries(spec.means.map(() => 0), spec.means, colours)];
  options.hooks = { draw: [u => { limitLines(u, near); whiskers(u, spec); }] };
  const chart = new uPlot(options, [policies.map((_, index) => index), spec.means], node);
  chart.root.setAttribute("role", "img");
  chart.root.setAttribute("aria-label", policies.map((name, i) => `${name}: ${spec.texts[i]} ${spec.unit}`).join("; "));
  return chart;
}

function whiskers(u, spec) {
  const { ctx } = u;
  const px = uPlot.pxRatio;
  ctx.save();
  ctx.font = scaledFont();
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  spec.means.forEach((mean, index) => {
    if (mean == null) return;
    const y = u.valToPos(index, "x", true);
    const ends = spec.intervals[index];
    if (ends) {
      const [lo, hi] = ends.map(value => u.valToPos(value, "y", true));
      whisker(ctx, lo, hi, y, 5 * px);
    }
    const x = u.valToPos(ends?.[1] ?? mean, "y", true) + GAP * px;
    const text = spec.texts[index];
    // A limit's line must not run through the number.
    ctx.fillStyle = colour("card");
    ctx.fillRect(x - 2 * px, y - 8 * px, ctx.measureText(text).width + 4 * px, 16 * px);
    ctx.fillStyle = colour("text");
    ctx.fillText(text, x, y);
  });
  ctx.restore();
}

/** From `lo` to `hi`, with a rim in the card's colour that sets it off from any bar. */
function whisker(ctx, lo, hi, y, cap) {
  const path = new Path2D();
  path.moveTo(lo, y); path.lineTo(hi, y);
  for (const end of [lo, hi]) {
    path.moveTo(end, y - cap); path.lineTo(end, y + cap);
  }
  for (const [stroke, width] of [["card", 4], ["text", 1.5]]) {
    ctx.strokeStyle = colour(stroke);
    ctx.lineWidth = width * uPlot.pxRatio;
    ctx.stroke(path);
  }
}

/** Dashed, each with its name to the left, on a line of its own: two limits may be close. */
function limitLines(u, limits) {
  const { ctx, bbox } = u;
  const px = uPlot.pxRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("dim");
  ctx.font = scaledFont();
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.lineWidth = 1.5 * px;
  ctx.setLineDash([4 * px, 3 * px]);
  // The lowest name belongs to the smallest limit: no line runs through another's name.
  limits.toSorted((a, b) => a.value - b.value).forEach((limit, index) => {
    const x = u.valToPos(limit.value, "y", true);
    const top = bbox.top - (4 + LINE * (index + 1)) * px;
    ctx.beginPath();
    ctx.moveTo(x, top); ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(limit.name, x - 4 * px, top + LINE * px);
  });
  ctx.restore();
}

/** One bar a policy, made of the keys' parts. */
function drawStack(node, spec, policies) {
  const colourOf = spec.colours === "path" ? pathColour : causeColour;
  legend(node, spec.keys.map((key, index) => [colourOf(index), key]));
  const sums = [policies.map(() => 0)];
  for (const part of spec.values) sums.push(part.map((value, i) => sums.at(-1)[i] + value));
  const options = barOptions(insideWidth(node), policies, Math.max(...sums.at(-1)), spec.unit, 6, 4);
  options.series = [{}];
  spec.keys.forEach((_, index) => {
    options.series.push(barSeries(sums[index], sums[index + 1], policies.map(() => colourOf(index))));
  });
  options.hooks = { draw: [u => partTexts(u, spec, sums)] };
  const chart = new uPlot(options, [policies.map((_, index) => index), ...sums.slice(1)], node);
  chart.root.setAttribute("role", "img");
  chart.root.setAttribute("aria-label", policies.map((name, i) =>
    `${name}: ` + spec.keys.map((key, k) => `${key} ${compact(spec.values[k][i])} ${spec.unit}`).join(", ")).join("; "));
  return chart;
}

/** The number within each part that is long enough for it. */
function partTexts(u, spec, sums) {
  const { ctx } = u;
  ctx.save();
  ctx.font = scaledFont();
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = colour("on-fill");
  spec.values.forEach((part, key) => part.forEach((value, policy) => {
    const from = u.valToPos(sums[key][policy], "y", true);
    const to = u.valToPos(sums[key + 1][policy], "y", true);
    const text = spec.unit === "%" ? value.toFixed(0) : compact(value);
    if (ctx.measureText(text).width + 6 * uPlot.pxRatio > to - from) return;
    ctx.fillText(text, (from + to) / 2, u.valToPos(policy, "x", true));
  }));
  ctx.restore();
}
