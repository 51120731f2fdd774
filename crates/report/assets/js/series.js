// Time series of one or two policies side by side: rows are quantities, lines are paths.

const QUANTITIES = [
  { key: "goodput_bps", title: "Goodput", quantity: "rate", sum: true },
  { key: "cwnd", title: "Congestion window", quantity: "packets" },
  { key: "rtt_s", title: "Smoothed RTT", quantity: "time", zeroIsNone: true },
  { key: "queue", title: "Queue at the slowest link", quantity: "packets" },
  { key: "power_w", title: "Power of the interfaces", quantity: "power", sum: true },
];
const SERIES_HEIGHT = 170;

/** Two lists of policies; `redraw` is called with the chosen ones whenever they change. */
function pickers(container, data, redraw) {
  const available = data.policies.map((_, index) => index).filter(index => data.series[index]);
  const chosen = available.slice(0, 2);
  const picker = (slot, text) => {
    const label = container.appendChild(element("label", null, text));
    const select = label.appendChild(element("select"));
    if (slot > 0) select.append(new Option("nothing", ""));
    for (const index of available) select.append(new Option(data.policies[index], index));
    select.value = chosen[slot] ?? "";
    select.addEventListener("change", () => {
      chosen[slot] = select.value === "" ? undefined : Number(select.value);
      redraw();
    });
  };
  picker(0, "policy");
  if (available.length > 1) picker(1, "beside it");
  return () => chosen.filter(index => index != null);
}

/** All charts of the chosen policies; scales are shared within a row, cursors and zoom by all. */
function drawSeries(container, data, chosen) {
  container.replaceChildren();
  container.style.setProperty("--columns", Math.max(chosen.length, 1));
  const end = Math.max(...chosen.map(index => data.series[index].time_s.at(-1)));
  const drawings = QUANTITIES.flatMap(what => {
    const lines = chosen.map(index => linesOf(data.series[index], what, data.paths));
    const largest = lines.flatMap(list => list.flatMap(line => line.values)).reduce((a, b) => Math.max(a, b ?? 0), 0);
    const [factor, unit] = unitFor(what.quantity, largest);
    return chosen.map((policy, slot) => {
      const node = card(container, `${what.title}, ${unit}`, data.policies[policy]);
      return () => drawLines(node, data.series[policy].time_s, lines[slot], factor, largest / factor || 1, end);
    });
  });
  return drawings.map(draw => draw());
}

/** One line per path, and their sum where that means something. */
function linesOf(series, what, paths) {
  const none = value => (what.zeroIsNone && value === 0 ? null : value);
  const lines = paths.map((name, path) => ({
    name, colour: pathColour(path), values: series[what.key][path].map(none),
  }));
  if (what.sum && paths.length > 1) {
    const total = series.time_s.map((_, i) => lines.reduce((sum, line) => sum + (line.values[i] ?? 0), 0));
    lines.unshift({ name: "sum", colour: colour("dim"), values: total, thin: true });
  }
  return lines;
}

function drawLines(node, time, lines, factor, max, end) {
  const style = axisStyle();
  // A run that ended earlier than its neighbour still has the neighbour's time axis.
  const pad = time.at(-1) < end;
  const withEnd = (values, last) => (pad ? [...values, last] : values);
  const scaled = values => withEnd(values.map(value => (value == null ? null : value / factor)), null);
  const options = {
    width: insideWidth(node),
    height: SERIES_HEIGHT,
    padding: [8, 18, 0, 0],
    cursor: { sync: { key: "joulepath" }, y: false, drag: { x: true, y: false }, points: { size: 6 } },
    scales: { x: { time: false }, y: { range: [0, 1.05 * max] } },
    axes: [
      { ...style, size: 26, gap: 2, space: 50, values: (_, ticks) => ticks.map(tick => `${+tick.toFixed(6)} s`) },
      { ...style, size: 46, gap: 4, space: 28 },
    ],
    series: [
      { label: "t", value: (_, value) => (value == null ? "–" : `${value.toFixed(1)} s`) },
      ...lines.map(line => ({
        label: line.name,
        stroke: line.colour,
        width: line.thin ? 1 : 1.75,
        points: { show: false },
        value: (_, value) => compact(value),
      })),
    ],
  };
  return new uPlot(options, [withEnd(time, end), ...lines.map(line => scaled(line.values))], node);
}
