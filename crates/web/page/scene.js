// Pictures of a trace: packets on links at an instant, and the whole run over time.

/** Width of a packet on a wire, px. */
const DOT = 3;
/** Height of the row of one direction, px. */
const ROW = 26;
/** Heights of the rows over time, px. */
const STRIP = { window: 70, radio: 14, energy: 60, gap: 20 };
const NAMES = {
  text: "--text", dim: "--dim", line: "--line", card: "--card", ground: "--ground", worse: "--worse", other: "--bar",
  promotion: "--policy-4", accent: "--accent",
};
const PATH_COLOURS = 8;

/** The page's colours as a canvas reads them: custom properties keep `light-dark()`. */
function palette() {
  const probe = document.body.appendChild(document.createElement("i"));
  const resolved = name => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, resolved(name)]));
  colours.paths = Array.from({ length: PATH_COLOURS }, (_, index) => resolved(`--path-${index}`));
  probe.remove();
  return colours;
}

/** A canvas with the pixels of the screen; `pen` draws in CSS pixels. */
function sized(canvas, height) {
  const width = Math.max(1, canvas.clientWidth);
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width };
}

/** Colour and height of each class of packets on a path. */
function looks(colours, path) {
  const own = colours.paths[path % PATH_COLOURS];
  return [[own, 14], [colours.worse, 14], [colours.dim, 6], [colours.text, 10], [colours.other, 10]];
}

/** The links of a path in one direction: a queue and a wire each. Many packets share a column of pixels. */
function drawRoute(pen, trace, route, { left, top, width, isUp, seconds, flash_s, colours, looks: of }) {
  const tick = trace.tick(seconds);
  const { columns } = trace;
  const each = width / route.length;
  route.forEach((link, place) => {
    const start = left + place * each;
    const queue = Math.min(each * 0.3, 220);
    const wire = each - queue - 8;
    // Data to the device moves to the right, data from it to the left.
    const x = offset => (isUp ? 2 * left + width - start - offset : start + offset);
    const middle = top + ROW / 2;
    pen.fillStyle = colours.line;
    pen.fillRect(Math.min(x(queue + 4), x(queue + 4 + wire)), middle - 0.5, wire, 1);
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1;
    pen.strokeRect(Math.min(x(0), x(queue)) + 0.5, top + 2.5, queue - 1, ROW - 5);

    const buckets = Math.ceil(wire / DOT) + 1;
    const counts = of.map(() => new Uint16Array(buckets));
    const lost = new Uint16Array(buckets);
    const most = trace.on[link].mostWaiting;
    // All packets of the longest queue fit in: narrow ones, or several rows.
    const rows = most * 2 > queue ? 4 : 1;
    const step = Math.min(5, Math.max(0.25, (queue - 4) * rows / Math.max(most, 1)));
    let waiting = 0;
    trace.each(link, tick, i => {
      const kind = columns.class[i];
      if (columns.left[i] > tick) {
        const [column, row] = [Math.floor(waiting / rows), waiting % rows];
        waiting += 1;
        const at = queue - 2 - (column + 1) * step;
        if (at < 1) return;
        const height = (ROW - 9) / rows;
        pen.fillStyle = of[kind][0];
        const thin = Math.max(step - 1, step * 0.7);
        pen.fillRect(Math.min(x(at), x(at + thin)), top + 4.5 + row * height, thin, Math.max(height - 0.5, 1));
        return;
      }
      const share = (tick - columns.left[i]) / Math.max(columns.arrives[i] - columns.left[i], 1);
      const isLost = columns.fate[i] === FATES.indexOf("lost");
      // A lost packet stops halfway.
      if (isLost && share > 0.6) return;
      const bucket = Math.floor(share * (buckets - 1));
      if (isLost && share > 0.45) lost[bucket] += 1;
      else counts[kind][bucket] += 1;
    });
    counts.forEach((numbers, kind) => {
      const [colour, height] = of[kind];
      pen.fillStyle = colour;
      for (let bucket = 0; bucket < buckets; bucket += 1) {
        if (!numbers[bucket]) continue;
        const tall = Math.min(height + 2 * Math.log2(numbers[bucket]), ROW - 4);
        const at = x(queue + 4 + Math.min(bucket * DOT, wire - DOT));
        pen.fillRect(isUp ? at - DOT : at, middle - tall / 2, DOT - (numbers[bucket] > 1 ? 0 : 0.5), tall);
      }
    });
    pen.fillStyle = colours.worse;
    pen.font = "bold 12px system-ui, sans-serif";
    pen.textAlign = "center";
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      if (lost[bucket]) pen.fillText("✕", x(queue + 4 + bucket * DOT), middle + 4);
    }
    const { dropped } = trace.on[link];
    const since = upTo(dropped, trace.tick(Math.max(0, seconds - flash_s)));
    if (upTo(dropped, tick) > since) pen.fillText("✕", x(6), middle + 4);
  });
}

/** The packets of a path: down to the device, up from it. */
function drawPath(canvas, trace, path, seconds, flash_s, colours) {
  const { pen, width } = sized(canvas, 2 * ROW + 6);
  const shared = { width, left: 0, seconds, flash_s, colours, looks: looks(colours, path) };
  const { down, up } = trace.paths[path];
  if (down.length) drawRoute(pen, trace, down, { ...shared, top: 0, isUp: false });
  if (up.length) drawRoute(pen, trace, up, { ...shared, top: ROW + 6, isUp: true });
}

function stripHeight(trace) {
  return STRIP.window + STRIP.gap + trace.paths.length * STRIP.radio + STRIP.gap + STRIP.energy + 18;
}

/** A step line of samples: the range of each column of pixels. */
function drawLine(pen, trace, values, { until_s, width, top, height, most, colour }) {
  const { time } = trace.columns;
  const scale = width / until_s * trace.tick_s;
  const y = value => top + height - Math.min(value / most, 1) * (height - 2) - 1;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  let [column, low, high] = [-1, 0, 0];
  const flush = last => {
    if (column < 0) return;
    pen.lineTo(column, y(low));
    pen.lineTo(column, y(high));
    pen.lineTo(column, y(last));
  };
  for (let i = 0; i < values.length; i += 1) {
    const at = Math.round(time[i] * scale);
    if (at !== column) {
      flush(values[Math.max(i - 1, 0)]);
      [column, low, high] = [at, values[i], values[i]];
    }
    low = Math.min(low, values[i]);
    high = Math.max(high, values[i]);
  }
  flush(values.at(-1) ?? 0);
  pen.stroke();
}

/** The run over time: windows, radio states, energy. `scale` is common to the panes. */
function drawTimes(canvas, trace, scale, colours) {
  const height = stripHeight(trace);
  const { pen, width } = sized(canvas, height);
  const { until_s } = scale;
  const label = (text, x, y, align = "left") => {
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = align;
    pen.fillStyle = colours.dim;
    pen.fillText(text, x, y);
  };
  const frame = (top, tall) => {
    pen.fillStyle = colours.line;
    pen.fillRect(0, top + tall, width, 1);
  };
  const common = { until_s, width };
  let top = 14;
  label(`Window, up to ${scale.window} packets`, 0, 11);
  frame(top, STRIP.window - 14);
  trace.paths.forEach((_, path) => drawLine(pen, trace, trace.columns[`window ${path}`], {
    ...common, top, height: STRIP.window - 14, most: scale.window, colour: colours.paths[path % PATH_COLOURS],
  }));
  top = STRIP.window + 4;
  label("Radio", 0, top + 10);
  top += 14;
  trace.paths.forEach((_, path) => {
    drawRadio(pen, trace, path, { ...common, top, colours });
    top += STRIP.radio;
  });
  top += 4;
  label(`Energy of the device, up to ${scale.joules.toFixed(1)} J`, 0, top + 11);
  top += 14;
  frame(top, STRIP.energy - 10);
  drawLine(pen, trace, trace.columns.energy, { ...common, top, height: STRIP.energy - 10, most: scale.joules, colour: colours.accent });
  label("0 s", 0, height - 2);
  label(`${until_s.toFixed(1)} s`, width, height - 2, "right");
}

/** The states of a radio: promotion is tall and yellow, active is full, tail half, idle a line. */
function drawRadio(pen, trace, path, { until_s, width, top, colours }) {
  const [states, { time }] = [trace.columns[`radio ${path}`], trace.columns];
  const x = i => time[i] * trace.tick_s / until_s * width;
  const own = colours.paths[path % PATH_COLOURS];
  const tall = STRIP.radio - 3;
  for (let from = 0; from < states.length;) {
    let to = from + 1;
    while (to < states.length && states[to] === states[from]) to += 1;
    const [start, end] = [x(from), x(Math.min(to, states.length - 1))];
    const state = RADIO[states[from]];
    const height = { idle: 1, promotion: tall, active: tall, tail: tall / 2 }[state];
    pen.fillStyle = state === "promotion" ? colours.promotion : state === "idle" ? colours.line : own;
    pen.fillRect(start, top + tall - height, Math.max(end - start, 1), height);
    from = to;
  }
}
