// Bars and box plots in groups.

/** Fraction of a group's width that its bars take. */
const FILLED = 0.8;
const WIDEST_BAR = 44;
const LINE_HEIGHT = 18;
const LONGEST_NAME = 140;

const columnsOf = figure => figure.bars ?? figure.boxes;

function groupLegend(node, figure) {
  const items = columnsOf(figure).map(({ name }, index) => {
    const fill = `var(--policy-${index % PALETTE})`;
    const shapes = [["rect", { x: 7, y: 1, width: 10, height: 10, rx: 2 }, { fill }]];
    if (isHatched(index)) shapes.push(["path", { d: "M8 10L16 2M7 6L12 1M12 11L17 6" }, { stroke: "var(--card)", strokeWidth: "1.5px" }]);
    return { name, shapes };
  });
  if (columnsOf(figure).some(isStated)) items.push({ name: "paper", shapes: [[...DIAMOND, { fill: "var(--text)" }]] });
  // A single unnamed colour needs no legend.
  if (items.length > 1 || items[0]?.name) legendOf(node, items);
}

const isStated = ({ stated }) => (stated ?? []).some(value => value != null);
/** Colours beyond the palette repeat with hatching. */
const isHatched = index => index >= PALETTE;

/** Hatches a box in the card's colour. */
function hatch(ctx, left, top, width, height) {
  const step = 6 * uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.beginPath();
  for (let x = left - height; x < left + width; x += step) {
    ctx.moveTo(x, top + height); ctx.lineTo(x + height, top);
  }
  ctx.strokeStyle = colour("card");
  ctx.lineWidth = 1.5 * uPlot.pxRatio;
  ctx.stroke();
  ctx.restore();
}

/** Centre and width of a column within the chart, CSS pixels. */
function columnPlace(u, figure, group, column) {
  const slot = u.over.clientWidth / figure.groups.length;
  const count = columnsOf(figure).length;
  const width = Math.min(WIDEST_BAR, FILLED * slot / count);
  return { width, x: (group + 0.5) * slot + (column - (count - 1) / 2) * width };
}

/** Calls `draw` for each column of each group, with canvas coordinates. */
function eachColumn(u, figure, draw) {
  const px = uPlot.pxRatio;
  columnsOf(figure).forEach((of, column) => figure.groups.forEach((_, group) => {
    const { x, width } = columnPlace(u, figure, group, column);
    const gap = width > 6 ? 1 : 0;
    draw(of, group, column, u.bbox.left + x * px, (width - gap) * px);
  }));
}

/** A vertical line with a bar at each end. */
function verticalWhisker(ctx, x, from, to, half) {
  ctx.beginPath();
  ctx.moveTo(x, from); ctx.lineTo(x, to);
  for (const y of [from, to]) { ctx.moveTo(x - half, y); ctx.lineTo(x + half, y); }
  ctx.stroke();
}

function drawBarsInside(u, figure) {
  const { ctx } = u;
  const px = uPlot.pxRatio;
  const at = value => u.valToPos(value, "y", true);
  ctx.save();
  ctx.font = scaledFont();
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  const marked = figure.bars.some(isStated);
  eachColumn(u, figure, (bars, group, column, x, width) => {
    const value = bars.values[group];
    const stated = bars.stated[group];
    let top = Infinity;
    if (value) {
      const [mean, lo, hi] = value;
      const box = [x - width / 2, Math.min(at(mean), at(0)), width, Math.abs(at(mean) - at(0))];
      ctx.fillStyle = colour(`policy-${column % PALETTE}`);
      ctx.fillRect(...box);
      if (isHatched(column)) hatch(ctx, ...box);
      // A pale rim makes the line visible on the bar.
      for (const [name, thickness] of lo === hi ? [] : [["card", 3.5], ["text", 1.5]]) {
        ctx.strokeStyle = colour(name);
        ctx.lineWidth = thickness * px;
        verticalWhisker(ctx, x, at(lo), at(hi), Math.min(5 * px, width / 3));
      }
      top = Math.min(at(mean), at(hi), at(lo));
    }
    if (stated != null) {
      diamond(ctx, x, at(stated), 5.5 * px);
      ctx.fillStyle = colour("text");
      ctx.strokeStyle = colour("card");
      ctx.lineWidth = 2 * px;
      ctx.stroke();
      ctx.fill();
    }
    const text = value ? brief(+value[0].toPrecision(3)) : "";
    if (!text || ctx.measureText(text).width > width) return;
    // A number above the paper's mark would look like the paper's, so it goes to the foot of the bar.
    const isInside = marked && at(0) - Math.max(...value.map(at)) > LINE_HEIGHT * px;
    if (marked && !isInside) return;
    ctx.fillStyle = colour(isInside ? "on-fill" : "text");
    ctx.fillText(text, x, (isInside ? at(0) : top) - 3 * px);
  });
  ctx.restore();
}

function drawBoxesInside(u, figure) {
  const { ctx } = u;
  const px = uPlot.pxRatio;
  const at = value => u.valToPos(value, "y", true);
  ctx.save();
  eachColumn(u, figure, (boxes, group, column, x, room) => {
    const five = boxes.values[group];
    if (!five) return;
    const [min, q1, median, q3, max] = five.map(at);
    const width = 0.75 * room;
    const name = `policy-${column % PALETTE}`;
    ctx.strokeStyle = colour(name);
    ctx.lineWidth = 1.5 * px;
    verticalWhisker(ctx, x, min, q1, width / 4);
    verticalWhisker(ctx, x, q3, max, width / 4);
    ctx.fillStyle = faint(name, 0.3);
    ctx.fillRect(x - width / 2, q3, width, q1 - q3);
    if (isHatched(column)) hatch(ctx, x - width / 2, q3, width, q1 - q3);
    ctx.strokeRect(x - width / 2, q3, width, q1 - q3);
    ctx.beginPath();
    ctx.strokeStyle = colour("text");
    ctx.lineWidth = 2 * px;
    ctx.moveTo(x - width / 2, median); ctx.lineTo(x + width / 2, median);
    ctx.stroke();
  });
  ctx.restore();
}

/** All numbers that the chart must contain; bars begin at 0. */
function groupValues(figure) {
  const values = columnsOf(figure).flatMap(of => [...of.values.flatMap(value => value ?? []), ...(of.stated ?? [])]);
  return figure.bars ? [0, ...values] : values;
}

/** Group names below the axis: horizontal if they fit, otherwise turned and shortened. */
function groupAxis(figure, width) {
  const slot = (width - 60) / figure.groups.length;
  const named = widest(figure.groups, FONT);
  const isTight = named + 8 > slot;
  const angle = TURN * Math.PI / 180;
  // A turned name ends below its group and must begin within the chart.
  const most = group => Math.min(LONGEST_NAME, (40 + (group + 0.5) * slot) / Math.cos(angle));
  const names = isTight ? figure.groups.map((name, group) => ellipsis(name, most(group), FONT)) : figure.groups;
  const turned = widest(names, FONT) * Math.sin(angle);
  return {
    ...axisStyle(), stroke: colour("text"), gap: isTight ? 4 : 6, grid: { show: false }, ticks: { show: false },
    size: isTight ? Math.ceil(turned) + 20 : 26, ...(isTight ? { rotate: TURN } : {}), ...axisLabel(figure.x),
    splits: () => names.map((_, index) => index), values: () => names,
  };
}

function drawGroups(node, figure) {
  const inside = figure.bars ? drawBarsInside : drawBoxesInside;
  const last = figure.groups.length - 1;
  const options = {
    scales: {
      x: { time: false, range: [-0.5, last + 0.5] },
      y: { range: verticalEnds(groupValues(figure), figure.bars ? 0.12 : 0.06) },
    },
    axes: [groupAxis(figure, insideWidth(node)), verticalAxis()],
    cursor: { x: false, y: false, drag: { x: false, y: false }, points: { show: false } },
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { draw: [u => inside(u, figure)], setCursor: [u => tellColumn(u, figure)] },
  };
  const chart = figureChart(node, options, [[-0.5, last + 0.5], [null, null]], groupsInWords(figure));
  chart.tip = tipOf(chart);
  plotKeys(chart, {
    count: figure.groups.length,
    leftOf: group => (group + 0.5) / figure.groups.length * chart.over.clientWidth,
    tell: () => sayLive("figure-live", wordsOf(chart.tip)),
  });
  return chart;
}

/** Our number, followed by the paper's. */
function columnText(figure, of, group) {
  const value = of.values[group];
  const ours = !value ? "–" : figure.bars ? briefInterval(value)
    : `median ${brief(value[2])}, quartiles ${brief(value[1])} to ${brief(value[3])}, range ${brief(value[0])} to ${brief(value[4])}`;
  const stated = of.stated?.[group];
  return stated == null ? ours : `${ours}; paper ${brief(stated)}`;
}

function tellColumn(u, figure) {
  const { left, top } = u.cursor;
  if (!u.tip) return;
  u.tip.hidden = left == null || left < 0;
  if (u.tip.hidden) return;
  const group = Math.min(figure.groups.length - 1, Math.floor(left / u.over.clientWidth * figure.groups.length));
  placeTip(u.tip, u, left, top, [
    element("strong", null, figure.groups[group]),
    ...columnsOf(figure).map(of => element("span", null, `${of.name}: ${columnText(figure, of, group)}`)),
  ]);
}

function groupsInWords(figure) {
  return figure.groups.map((name, group) =>
    `${name}: ${columnsOf(figure).map(of => `${of.name} ${columnText(figure, of, group)}`).join(", ")}`).join("; ");
}
