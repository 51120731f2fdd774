// Line charts: our lines with bands, the paper's dashed.

const STATED_DASH = [6, 4];
/** Lines with more points have no dots. */
const FEW = 30;
/** Maximum number of whole numbers that all become ticks. */
const MOST_TICKS = 12;
/** Minimum distance between two ticks, CSS pixels. */
const TICK_ROOM = 22;
/** Steps of an axis of whole numbers. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];

/** Subject of a line's name, the same for `LIA (paper)` and `LIA`. */
const subject = name => name.replace(/\(?\b(the )?paper(['’]s)?\b\)?:?/gi, "").replace(/^[\s,·:]+|[\s,·:]+$/g, "");

/** Colour and dashes of each line. The paper's line has the colour of our line on the same subject. */
function lineLooks(lines) {
  const ours = lines.filter(line => !line.stated).map(line => subject(line.name));
  const subjects = [...new Set([...ours, ...lines.map(line => subject(line.name))])];
  return lines.map(line => {
    const index = subjects.indexOf(subject(line.name));
    return { colour: `policy-${index % PALETTE}`, dash: line.stated ? STATED_DASH : dashOf(index) };
  });
}

/** Name of a line, marked if it is the paper's. */
const lineName = line => (line.stated && !/paper/i.test(line.name) ? `${line.name} (paper)` : line.name);

function lineLegend(node, { lines }) {
  const looks = lineLooks(lines);
  legendOf(node, lines.map((line, index) => {
    const { colour, dash } = looks[index];
    const stroke = `var(--${colour})`;
    const shapes = [["path", { d: "M0 6H24" }, { stroke, strokeWidth: "2px", strokeDasharray: dash.join(" ") || "none" }]];
    if (line.stated) shapes.push([...DIAMOND, { fill: stroke }]);
    return { name: lineName(line), shapes };
  }));
}

/** The x values of each line; equal ones are sent only once, with the first line. */
function abscissae(lines) {
  let x = [];
  return lines.map(line => (x = line.x ?? x));
}

/** All numbers that the chart must contain. */
const lineValues = ({ lines }) => lines.flatMap(line => [...line.y, ...(line.lo ?? []), ...(line.hi ?? [])]);

function drawLinePlot(node, figure) {
  const { lines } = figure;
  const looks = lineLooks(lines);
  const xs = abscissae(lines);
  const tables = lines.map((line, index) => (line.lo ? [xs[index], line.y, line.lo, line.hi] : [xs[index], line.y]));
  const series = [{}];
  const bands = [];
  const places = lines.map((line, index) => {
    const place = series.push(lineSeries(line, looks[index], xs[index].length)) - 1;
    if (line.lo) {
      const hidden = { width: 0, points: { show: false } };
      const lo = series.push(hidden) - 1;
      const hi = series.push({ ...hidden }) - 1;
      bands.push({ series: [hi, lo], fill: faint(looks[index].colour, 0.2) });
    }
    return place;
  });
  const all = xs.flat();
  const few = all.length <= FEW * lines.length;
  const options = {
    scales: {
      x: { time: false, distr: figure.log_x ? 3 : 1, range: horizontalEnds(all, few, figure.log_x) },
      y: { range: verticalEnds(lineValues(figure), 0.06) },
    },
    axes: [horizontalAxis(figure, xs), verticalAxis()],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 }, dataIdx: nearestValue },
    series,
    bands,
    hooks: { draw: [u => statedDots(u, lines, xs)], setCursor: [u => tellLines(u, figure, places)] },
  };
  const chart = figureChart(node, options, uPlot.join(tables), linesInWords(figure, xs));
  chart.tip = tipOf(chart);
  const [abscissa] = chart.data;
  plotKeys(chart, {
    count: abscissa.length,
    leftOf: index => chart.valToPos(abscissa[index], "x"),
    tell: () => sayLive("figure-live", wordsOf(chart.tip)),
  });
  return chart;
}

function lineSeries(line, look, length) {
  return {
    stroke: colour(look.colour),
    width: line.stated ? 1.5 : 2,
    dash: look.dash,
    points: { show: !line.stated && length <= FEW, size: 5, fill: colour(look.colour), width: 0 },
  };
}

/** Draws the paper's values as diamonds, like in bar charts, if there are few. */
function statedDots(u, lines, xs) {
  const { ctx } = u;
  const looks = lineLooks(lines);
  ctx.save();
  lines.forEach((line, index) => {
    if (!line.stated || line.y.length > FEW) return;
    ctx.fillStyle = colour(looks[index].colour);
    line.y.forEach((y, i) => {
      if (y == null) return;
      diamond(ctx, u.valToPos(xs[index][i], "x", true), u.valToPos(y, "y", true), 4.5 * uPlot.pxRatio);
      ctx.fill();
    });
  });
  ctx.restore();
}

/** Drops tick labels that are too close to the previous one. */
function spread(u, ticks) {
  let before = -Infinity;
  return ticks.map(tick => {
    const at = u.valToPos(tick, "x");
    if (at - before < TICK_ROOM) return null;
    before = at;
    return tick;
  });
}

/** Few whole numbers become the ticks: there are no fractional subflows. */
function wholeTicks(xs) {
  const all = [...new Set(xs.flat())].sort((a, b) => a - b);
  return all.length <= MOST_TICKS && all.every(Number.isInteger) ? all : null;
}

/** A logarithmic axis has labels at 1, 2 and 5, or only at powers of ten if those are too many. */
function horizontalAxis(figure, xs) {
  const axis = {
    ...axisStyle(), size: 26, gap: 2, space: 50, ...axisLabel(figure.x),
    values: (_, ticks) => ticks.map(tick => (tick == null ? "" : brief(tick))),
  };
  if (!figure.log_x) {
    const whole = wholeTicks(xs);
    if (whole) return { ...axis, splits: () => whole, filter: spread };
    return xs.flat().every(Number.isInteger) ? { ...axis, incrs: WHOLE } : axis;
  }
  const splits = (u, _, lo, hi) => {
    const decades = Math.log10(hi / lo);
    const steps = 3 * decades * axis.space <= u.width ? [1, 2, 5] : [1];
    const ticks = [];
    for (let power = Math.floor(Math.log10(lo)); 10 ** power <= hi; power += 1) {
      for (const step of steps) ticks.push(+(step * 10 ** power).toPrecision(2));
    }
    return ticks.filter(tick => lo <= tick && tick <= hi);
  };
  return { ...axis, splits, filter: (_, ticks) => ticks };
}

/** Leaves room for the dots at both ends. */
function horizontalEnds(all, few, log) {
  const [lo, hi] = [all.reduce((a, b) => Math.min(a, b), Infinity), all.reduce((a, b) => Math.max(a, b), -Infinity)];
  if (!Number.isFinite(lo)) return [0, 1];
  if (log) {
    const factor = (hi / lo) ** 0.03 || 1;
    return hi > lo ? [lo / factor, hi * factor] : [lo / 2, hi * 2];
  }
  const room = hi > lo ? (few ? 0.02 * (hi - lo) : 0) : 0.5 * Math.abs(hi) || 1;
  return [lo - room, hi + room];
}

/** A line may lack a point where its neighbour has one. */
function nearestValue(u, series, closest) {
  const values = u.data[series];
  for (let step = 0; step < values.length; step += 1) {
    for (const index of [closest - step, closest + step]) if (values[index] != null) return index;
  }
  return closest;
}

function tellLines(u, { x, lines }, places) {
  const { left, top, idxs } = u.cursor;
  if (!u.tip) return;
  u.tip.hidden = left == null || left < 0;
  if (u.tip.hidden) return;
  const what = x ? `${x}: ` : "";
  placeTip(u.tip, u, left, top, [
    element("strong", null, what + brief(u.posToVal(left, "x"))),
    ...lines.map((line, index) => {
      const values = u.data[places[index]];
      return element("span", line.stated ? "dim" : null, `${lineName(line)}: ${brief(values[idxs[places[index]]])}`);
    }),
  ]);
}

function linesInWords({ x, lines }, xs) {
  return lines.map((line, index) => {
    const known = line.y.map((_, i) => i).filter(i => line.y[i] != null);
    if (known.length === 0) return `${lineName(line)}: no value`;
    const at = i => `${brief(line.y[i])} at ${brief(xs[index][i])}`;
    const [first, last] = [known[0], known.at(-1)];
    return `${lineName(line)}: ${first === last ? at(first) : `${at(first)} to ${at(last)}`}`;
  }).join("; ") + (x ? `; along ${x}` : "");
}
