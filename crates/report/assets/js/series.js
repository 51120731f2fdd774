// Charts over time for one or two policies: a row for each quantity, a line with a band for each path.

const QUANTITIES = [
  { key: "goodput", title: "Goodput", quantity: "rate" },
  { key: "cwnd", title: "Congestion window", quantity: "packets" },
  { key: "rtt", title: "Smoothed RTT", quantity: "time" },
  { key: "queue", title: "Queue at the slowest link", quantity: "packets" },
  { key: "power", title: "Power of the interfaces", quantity: "power" },
];
const SERIES_HEIGHT = 170;
/** Fraction of the axis that remains after pressing +. */
const ZOOM = 0.6;
/** If no queue exceeds this, a sentence replaces the charts. */
const NO_QUEUE = 0.05;

/** Two lists of policies. Calls `redraw` with the selected ones after each change. */
function pickers(container, data, redraw) {
  const available = data.policies.map((_, index) => index).filter(index => data.series[index]);
  // On phones two policies would be stacked.
  const most = innerWidth <= 600 ? 1 : 2;
  const chosen = data.shown.filter(index => available.includes(index)).slice(0, most);
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
  if (available.length > 1) picker(1, "compared with");
  container.hidden = false;
  return () => chosen.filter(index => index != null);
}

/** Draws all charts of the selected policies. Charts of a row share scales; all charts share cursor and zoom. */
function drawSeries(container, data, chosen) {
  container.replaceChildren();
  container.style.setProperty("--columns", Math.max(chosen.length, 1));
  const drawings = QUANTITIES.flatMap(what => {
    const lines = chosen.map(index => linesOf(data.series[index][what.key], data.paths));
    const values = lines.flat().flatMap(line => [line.median, line.lo ?? [], line.hi ?? []]).flat();
    const largest = values.reduce((a, b) => Math.max(a, b ?? 0), 0);
    if (what.key === "queue" && largest < NO_QUEUE) {
      const note = container.appendChild(element("p", "notes wide", "The queues at the slowest links stay empty."));
      return [() => ({ destroy: () => note.remove() })];
    }
    const [factor, unit] = unitFor(what.quantity, largest);
    return chosen.map((policy, slot) => {
      const node = card(container, `${what.title}, ${unit}`, data.policies[policy]);
      const about = `${what.title} of ${data.policies[policy]} over time, ${unit}`;
      return () => drawLines(node, data, lines[slot], { factor, max: largest / factor || 1, about });
    });
  });
  return drawings.map(draw => draw());
}

/** A line for each path, and one for their total if that is meaningful. */
function linesOf(bands, paths) {
  const lines = bands.paths.map((band, path) => ({ name: paths[path], colour: pathColour(path), dash: dashOf(path), ...band }));
  if (bands.total) lines.unshift({ name: "all", colour: colour("text"), dash: [], ...bands.total });
  return lines;
}

/** Mean of the medians, and their ends, for screen readers. */
function inWords(line, factor) {
  const known = line.median.filter(value => value != null).map(value => value / factor);
  if (known.length === 0) return `${line.name}: nothing`;
  const mean = known.reduce((a, b) => a + b, 0) / known.length;
  return `${line.name}: ${compact(mean)} on average, ${compact(Math.min(...known))} to ${compact(Math.max(...known))}`;
}

function drawLines(node, data, lines, { factor, max, about }) {
  const scaled = values => data.time_s.map((_, i) => (values[i] == null ? null : values[i] / factor));
  const columns = [data.time_s];
  const series = [{}];
  const bands = [];
  const hidden = { width: 0, points: { show: false } };
  const places = lines.map(line => {
    columns.push(scaled(line.median));
    const place = series.push({ stroke: line.colour, width: 2, dash: line.dash, points: { show: false } }) - 1;
    if (line.lo) {
      columns.push(scaled(line.lo), scaled(line.hi));
      const lo = series.push(hidden) - 1;
      const hi = series.push({ ...hidden }) - 1;
      bands.push({ series: [hi, lo], fill: line.colour.replace("rgb(", "rgba(").replace(")", ", 0.16)") });
    }
    return place;
  });
  const style = axisStyle();
  const half = data.bin_s / 2;
  const at = node.querySelector("h3").appendChild(element("span", "at"));
  const values = legend(node, lines.map(line => [line.colour, line.name, line.dash])).map(item => item.appendChild(element("b")));
  const read = index => {
    at.textContent = index == null ? "" : `at ${+data.time_s[index].toPrecision(6)} s`;
    lines.forEach((_, i) => { values[i].textContent = index == null ? "" : compact(columns[places[i]][index]); });
  };
  const u = new uPlot({
    width: insideWidth(node),
    height: SERIES_HEIGHT,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: "joulepath" }, y: false, drag: { x: true, y: false }, points: { size: 6 } },
    scales: {
      // The first bin begins half a bin before its centre.
      x: { time: false, range: (_, lo, hi) => [lo === data.time_s[0] ? Math.max(0, lo - half) : lo, hi] },
      y: { range: [0, 1.05 * max] },
    },
    axes: [
      { ...style, size: 26, gap: 2, space: 50, values: (_, ticks) => ticks.map(tick => `${+tick.toFixed(6)} s`) },
      { ...style, size: 46, gap: 4, space: 28 },
    ],
    series,
    bands,
    hooks: { setCursor: [self => read(self.cursor.idx)] },
  }, columns, node);
  u.root.setAttribute("role", "img");
  u.root.setAttribute("aria-label", `${about}. ${lines.map(line => inWords(line, factor)).join("; ")}`);
  const [first, last] = [data.time_s[0], data.time_s.at(-1)];
  const zoom = factor => {
    const { min, max } = u.scales.x;
    const middle = u.cursor.idx == null ? (min + max) / 2 : data.time_s[u.cursor.idx];
    const reach = (max - min) * factor / 2;
    u.setScale("x", { min: Math.max(first, middle - reach), max: Math.min(last, middle + reach) });
  };
  plotKeys(u, {
    count: data.time_s.length,
    leftOf: index => u.valToPos(data.time_s[index], "x"),
    tell: index => {
      const said = lines.map((line, i) => `${line.name} ${compact(columns[places[i]][index])}`);
      sayLive("series-live", `${+data.time_s[index].toPrecision(6)} s: ${said.join(", ")}`);
    },
    acts: {
      "+": () => zoom(ZOOM),
      "-": () => zoom(1 / ZOOM),
      0: () => u.setScale("x", { min: first, max: last }),
    },
  });
  return u;
}
