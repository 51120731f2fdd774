// The time–energy front: its line, corners and their descriptions.

const FRONT_HEIGHT = 340;
/** Distance within which the pointer selects a corner, CSS pixels. */
const NEAR = 40;

/** A colour for each set of interfaces, in the order of the table. */
function colourOfWay(ways) {
  const sets = [...new Set(ways.map(way => way.interfaces))];
  return way => policyColour(sets.indexOf(way.interfaces));
}

/** Colours beyond the palette repeat with another shape. */
function shapeOfWay(ways) {
  const sets = [...new Set(ways.map(way => way.interfaces))];
  return way => (sets.indexOf(way.interfaces) < PALETTE ? "round" : "square");
}

/** Text such as `wifi + lte 71/29 %, 3.00 s, 11.2 J`. */
function wayText(way) {
  const split = way.split === "100" ? "" : ` ${way.split} %`;
  return `${way.interfaces}${split}, ${way.time} s, ${way.energy} J`;
}

/** Ends of an axis with room around `values`. */
function around(values, most) {
  const [lo, hi] = [Math.min(...values), Math.max(...values)];
  const room = 0.08 * (hi - lo) || 0.1 * hi || 1;
  return [Math.max(0, lo - room), hi + most * room];
}

/** Draws the front. Calls `onNear` with the plan at the pointer, or null. */
function drawFront(node, data, onNear) {
  const { ways, line } = data;
  const times = [...line.map(([s]) => s), ...ways.map(way => way.seconds), ...(data.deadline_s == null ? [] : [data.deadline_s])];
  const x = around(times, 2);
  const y = around([...line.map(([, j]) => j), ...ways.map(way => way.joules)], 1.5);
  const style = axisStyle();
  const cut = ([lo]) => (lo > 0 ? "; axis does not begin at 0" : "");
  const digits = ticks => Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(Math.abs(ticks[1] - ticks[0]) || 1) + 1e-9)));
  const values = (_, ticks) => ticks.map(tick => String(+tick.toFixed(digits(ticks))));
  const options = {
    width: insideWidth(node),
    height: FRONT_HEIGHT,
    padding: [14, 14, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: x }, y: { range: y } },
    axes: [
      { ...style, size: 26, gap: 2, space: 60, label: `time, s${cut(x)}`, labelSize: 18, labelFont: FONT, labelGap: 0, values },
      { ...style, size: 48, gap: 4, space: 34, label: `energy, J${cut(y)}`, labelSize: 18, labelFont: FONT, labelGap: 0, values },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [u => { deadlineLine(u, data.deadline_s); frontLine(u, line); cornerTexts(u, ways); corners(u, ways); }],
      setCursor: [u => onNear(nearest(u, ways), u)],
    },
  };
  const chart = new uPlot(options, [[x[0], x[1]], [null, null]], node);
  chart.root.setAttribute("role", "img");
  chart.root.setAttribute("aria-label", ways.map(wayText).join("; "));
  return chart;
}

const onCanvas = (u, seconds, joules) => [u.valToPos(seconds, "x", true), u.valToPos(joules, "y", true)];

/** The front, extended beyond its end, where more time saves no energy. */
function frontLine(u, line) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = colour("dim");
  ctx.lineWidth = 2 * uPlot.pxRatio;
  ctx.lineJoin = "round";
  ctx.beginPath();
  line.forEach(([s, j], index) => ctx[index ? "lineTo" : "moveTo"](...onCanvas(u, s, j)));
  ctx.stroke();
  ctx.setLineDash([2 * uPlot.pxRatio, 4 * uPlot.pxRatio]);
  ctx.beginPath();
  ctx.moveTo(...onCanvas(u, ...line.at(-1)));
  ctx.lineTo(bbox.left + bbox.width, u.valToPos(line.at(-1)[1], "y", true));
  ctx.stroke();
  ctx.restore();
}

function deadlineLine(u, deadline) {
  if (deadline == null) return;
  const { ctx, bbox } = u;
  const x = u.valToPos(deadline, "x", true);
  const px = uPlot.pxRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("dim");
  ctx.font = scaledFont();
  ctx.lineWidth = 1.5 * px;
  ctx.setLineDash([4 * px, 3 * px]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  const left = x + ctx.measureText("deadline").width + 8 * px > bbox.left + bbox.width;
  ctx.textAlign = left ? "right" : "left";
  ctx.textBaseline = "bottom";
  ctx.fillText("deadline", x + (left ? -4 : 4) * px, bbox.top + bbox.height - 4 * px);
  ctx.restore();
}

/** A dot for each plan; the best one has a ring. */
function corners(u, ways) {
  const { ctx } = u;
  const px = uPlot.pxRatio;
  const fill = colourOfWay(ways);
  const shape = shapeOfWay(ways);
  ctx.save();
  for (const way of ways) {
    const [x, y] = onCanvas(u, way.seconds, way.joules);
    const dot = radius => {
      ctx.beginPath();
      if (shape(way) === "round") ctx.arc(x, y, radius * px, 0, 2 * Math.PI);
      else ctx.rect(x - radius * px, y - radius * px, 2 * radius * px, 2 * radius * px);
    };
    dot(6.5);
    ctx.fillStyle = colour("card");
    ctx.fill();
    dot(5);
    ctx.fillStyle = fill(way);
    ctx.fill();
    if (!way.is_best) continue;
    dot(9);
    ctx.strokeStyle = colour("accent");
    ctx.lineWidth = 2 * px;
    ctx.stroke();
  }
  ctx.restore();
}

/** The interfaces next to each dot, without overlaps: the best first, then the ends. */
function cornerTexts(u, ways) {
  const { ctx, bbox } = u;
  const px = uPlot.pxRatio;
  const taken = ways.map(way => {
    const [x, y] = onCanvas(u, way.seconds, way.joules);
    return [x - 7 * px, y - 7 * px, x + 7 * px, y + 7 * px];
  });
  const free = box => taken.every(([l, t, r, b]) => box[2] < l || box[0] > r || box[3] < t || box[1] > b)
    && box[0] >= bbox.left && box[2] <= bbox.left + bbox.width && box[1] >= 0 && box[3] <= bbox.top + bbox.height;
  const rank = index => (ways[index].is_best ? 0 : index === 0 || index === ways.length - 1 ? 1 : 2);
  ctx.save();
  ctx.font = scaledFont();
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const index of ways.map((_, i) => i).sort((a, b) => rank(a) - rank(b) || a - b)) {
    const way = ways[index];
    const [x, y] = onCanvas(u, way.seconds, way.joules);
    const gap = 12 * px;
    const texts = [`${way.interfaces} · ${way.energy} J`, way.interfaces];
    const places = texts.flatMap(text => {
      const width = ctx.measureText(text).width;
      return [[x + gap, y - gap], [x + gap, y], [x - gap - width, y + gap], [x + gap, y + gap], [x - gap - width, y - gap], [x - width / 2, y - 1.5 * gap]]
        .map(([left, middle]) => ({ text, left, middle, box: [left, middle - 8 * px, left + width, middle + 8 * px] }));
    });
    const place = places.find(({ box }) => free(box));
    if (!place) continue;
    taken.push(place.box);
    // No line may cross the text.
    const [l, t, r, b] = place.box;
    ctx.fillStyle = colour("card");
    ctx.fillRect(l - 2 * px, t, r - l + 4 * px, b - t);
    ctx.fillStyle = colour("text");
    ctx.fillText(place.text, place.left, place.middle);
  }
  ctx.restore();
}

/** Index of the plan at the pointer, or null. */
function nearest(u, ways) {
  const { left, top } = u.cursor;
  if (left == null || left < 0) return null;
  const distances = ways.map(way => Math.hypot(u.valToPos(way.seconds, "x") - left, u.valToPos(way.joules, "y") - top));
  const least = Math.min(...distances);
  return least <= NEAR ? distances.indexOf(least) : null;
}
