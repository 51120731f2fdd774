// The packet view: one or two runs in step on a time line.

/** Simulated seconds per second. */
const SPEEDS = [[0.001, "1/1000"], [0.01, "1/100"], [0.1, "1/10"], [1, "1"], [4, "4"]];
const FIRST_SPEED = 0.1;
/** A step, s of the picture's time. */
const STEP_S = 0.1;
/** With reduced motion the picture changes this often, ms. */
const CALM_MS = 1_000;
/** Numbers change at most this often while the picture moves, ms. */
const NUMBERS_MS = 125;
const NOTHING = "none";

const QUANTITIES = [
  ["Radio", state => state.radio],
  ["Window, packets", state => state.window],
  ["In flight, packets", state => state.inFlight],
  ["In queues, packets", state => state.waiting],
  ["On wires, packets", state => state.onWire],
  ["Dropped so far", state => state.dropped],
  ["Lost so far", state => state.lost],
  ["Delivered, MB", state => (state.delivered_kB / 1000).toFixed(2)],
  ["Energy, J", state => state.energy_j.toFixed(2)],
];

/** A comparison with one run: its policy and seed are those of `of`. */
function single(of, policy, seed) {
  return { ...of, request: { ...of.request, policies: policy, seeds: 1, seed, series: false } };
}

/** The trace of one run. */
async function traced(pool, of, policy, seed) {
  return Trace.of(await pool.ask({ do: "packets", of: single(of, policy, seed), index: 0 }));
}

/** Saves the packets of one run as a capture of one end. Returns what is left out. */
async function saveCapture(pool, of, policy, seed, server) {
  const { bytes, cut } = await pool.ask({ do: "capture", of: single(of, policy, seed), index: 0, server });
  const name = policy.replace(/[^\p{L}\p{N}_.=-]/gu, "_").replace(/^_+|_+$/g, "");
  save(bytes, `${name}.${server ? "server" : "client"}.pcapng`, "application/vnd.tcpdump.pcap");
  return cut;
}

/** Builds the view in `box`. `of()` is the comparison; its policies are offered. */
function packetView(box, pool, of) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const panes = [];
  let [colours, seconds, until_s, isPlaying, next, last, told] = [null, 0, 0, false, 0, 0, 0];

  const labelled = (text, input, id) => make("div", {}, make("label", { htmlFor: id, textContent: text }), Object.assign(input, { id }));
  const first = make("select");
  const second = make("select");
  const seed = make("input", { type: "number", min: 1, max: 1_000_000, step: 1, value: 1 });
  const show = make("button", { type: "button", textContent: "Show packets", className: "main" });
  const note = make("p", { className: "dim" });
  note.setAttribute("role", "status");
  const body = make("div", { hidden: true });
  const play = make("button", { type: "button", textContent: "Play" });
  const back = make("button", { type: "button", textContent: "Step back" });
  const ahead = make("button", { type: "button", textContent: "Step" });
  const speed = make("select");
  speed.replaceChildren(...SPEEDS.map(([value, text]) => make("option", { value, textContent: text })));
  speed.value = FIRST_SPEED;
  const scrub = make("input", { type: "range", min: 0, max: 1, step: "any", value: 0 });
  const clock = make("output");
  const stage = make("div", { className: "panes", tabIndex: 0 });
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", "Packets. Space plays and pauses, left and right arrow step, Home and End jump.");

  body.append(
    make("div", { className: "transport" },
      play, back, ahead,
      labelled("Simulated seconds per second", speed, "packets-speed"),
      make("div", { className: "scrub" }, labelled("Time", scrub, "packets-time"), clock)),
    stage,
    legend());
  box.replaceChildren(
    make("h2", { id: "packets-title", textContent: "Packets" }),
    make("p", { className: "dim", textContent: "One run, packet by packet, and a second policy in step with it. Upper row of each path: to the device. Lower row: from it. A box is a queue, the line after it the wire." }),
    make("div", { className: "choices" },
      labelled("Policy", first, "packets-first"), labelled("Beside it", second, "packets-second"), labelled("Seed", seed, "packets-seed"), show),
    note, body);

  /** Offers the policies of the comparison and keeps the choice. */
  function offer() {
    const listed = splitList(withOwn(at("policies").value || at("policies").placeholder, ownRules()));
    const fill = (select, names, otherwise) => {
      const kept = select.dataset.chosen && names.includes(select.value) ? select.value : otherwise;
      select.replaceChildren(...names.map(name => make("option", { value: name, textContent: name })));
      select.value = kept;
    };
    fill(first, listed, listed[0] ?? "");
    fill(second, [NOTHING, ...listed], listed.at(-1) ?? NOTHING);
  }

  async function load() {
    stop();
    show.disabled = true;
    note.textContent = "Recording …";
    const names = [first.value, second.value].filter(name => name && name !== NOTHING);
    const number = Math.max(1, Number.parseInt(seed.value, 10) || 1);
    try {
      const asked = of();
      const traces = await Promise.all(names.map(name => traced(pool(), asked, name, number)));
      build(names, traces, (name, server) => saveCapture(pool(), asked, name, number, server));
      const cuts = traces.map((trace, at) => trace.cut && `${names[at]}: ${trace.cut}`).filter(Boolean);
      note.textContent = cuts.join(" ");
      body.hidden = false;
      resize();
      if (!still.matches) start();
    } catch (error) {
      note.textContent = `Failed: ${error.message}.${error.help ? ` ${error.help}.` : ""}`;
      body.hidden = true;
    }
    show.disabled = false;
  }

  function build(names, traces, capture) {
    seconds = 0;
    until_s = Math.max(...traces.map(trace => trace.until_s), 1e-3);
    scrub.max = until_s;
    panes.splice(0, panes.length, ...traces.map((trace, at) => pane(names[at], trace, server => capture(names[at], server))));
    stage.replaceChildren(...panes.map(({ node }) => node));
  }

  /** A button that saves a capture for Wireshark. */
  function captureButton(text, capture) {
    const button = make("button", { type: "button", textContent: text });
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        note.textContent = await capture() ?? "";
      } catch (error) {
        note.textContent = `Failed: ${error.message}.${error.help ? ` ${error.help}.` : ""}`;
      }
      button.disabled = false;
    });
    return button;
  }

  /** One run. */
  function pane(name, trace, capture) {
    const rows = trace.paths.map((path, index) => {
      const canvas = make("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Packets of ${name} on ${path.name}; the table has the numbers`);
      const state = make("span", { className: "state" });
      const swatch = make("i", { className: "swatch" });
      swatch.style.background = `var(--path-${index % PATH_COLOURS})`;
      return { canvas, state, node: make("div", {}, make("p", { className: "path" }, swatch, make("b", { textContent: path.name }), state), canvas) };
    });
    const joules = make("b");
    const times = make("canvas");
    times.setAttribute("role", "img");
    times.setAttribute("aria-label", `Windows, radio states and energy of ${name} over time`);
    const head = make("div", { className: "playhead" });
    const over = make("div", { className: "over" }, times, head);
    over.addEventListener("pointerdown", event => {
      const seek = ({ clientX }) => {
        const { left, width } = over.getBoundingClientRect();
        go(until_s * (clientX - left) / width);
      };
      stop();
      seek(event);
      over.setPointerCapture(event.pointerId);
      over.onpointermove = seek;
      over.onpointerup = () => { over.onpointermove = null; };
    });
    const cells = QUANTITIES.map(() => trace.paths.map(() => make("td")));
    const table = make("table", {},
      make("caption", {}),
      make("thead", {}, make("tr", {}, make("td"), ...trace.paths.map(path => Object.assign(make("th", { textContent: path.name }), { scope: "col" })))),
      make("tbody", {}, ...QUANTITIES.map(([title], row) =>
        make("tr", {}, Object.assign(make("th", { textContent: title }), { scope: "row" }), ...cells[row]))));
    const node = make("section", { className: "pane" },
      make("h3", {}, `${name} `, joules), ...rows.map(row => row.node), over, table,
      make("p", {}, captureButton("Save packets at the device", () => capture(false)), " ", captureButton("Save packets at the server", () => capture(true))));
    node.setAttribute("aria-label", `Run of ${name}`);
    return { name, trace, rows, joules, times, head, cells, caption: table.caption, node };
  }

  /** Draws what depends on size and colours. */
  function resize() {
    if (body.hidden || !panes.length) return;
    colours = palette();
    const scale = {
      until_s,
      window: Math.max(...panes.map(({ trace }) => trace.mostWindow)),
      joules: Math.max(...panes.map(({ trace }) => trace.joules), 1e-9),
    };
    for (const { trace, times } of panes) {
      times.style.height = `${stripHeight(trace)}px`;
      drawTimes(times, trace, scale, colours);
    }
    draw(true);
  }

  function draw(withNumbers) {
    const flash_s = Number(speed.value) * 0.2;
    for (const { trace, rows, head } of panes) {
      rows.forEach(({ canvas }, path) => drawPath(canvas, trace, path, seconds, flash_s, colours));
      head.style.left = `${100 * seconds / until_s}%`;
    }
    if (withNumbers) numbers();
  }

  function numbers() {
    scrub.value = seconds;
    clock.textContent = `${seconds.toFixed(3)} s of ${until_s.toFixed(3)} s`;
    scrub.setAttribute("aria-valuetext", `${seconds.toFixed(3)} seconds`);
    for (const { trace, rows, joules, cells, caption } of panes) {
      joules.textContent = `${trace.energy(seconds).toFixed(2)} J`;
      caption.textContent = `State at ${seconds.toFixed(3)} s; the device has used ${trace.energy(seconds).toFixed(2)} J`;
      rows.forEach(({ state }, path) => {
        const now = trace.state(path, seconds);
        state.textContent = ` radio ${now.radio} · window ${now.window} · ${now.energy_j.toFixed(2)} J`;
        state.dataset.radio = now.radio;
        QUANTITIES.forEach(([, value], row) => { cells[row][path].textContent = value(now); });
      });
    }
  }

  function go(to) {
    seconds = Math.min(Math.max(to, 0), until_s);
    draw(true);
  }

  function frame(now) {
    const passed = now - last;
    const isDue = !still.matches || passed >= CALM_MS;
    if (isDue) {
      last = now;
      seconds = Math.min(seconds + Number(speed.value) * Math.min(passed, CALM_MS) / 1000, until_s);
      const withNumbers = now - told >= NUMBERS_MS;
      if (withNumbers) told = now;
      draw(withNumbers);
      if (seconds >= until_s) {
        stop();
        return;
      }
    }
    next = requestAnimationFrame(frame);
  }

  function start() {
    if (seconds >= until_s) seconds = 0;
    isPlaying = true;
    play.textContent = "Pause";
    last = performance.now();
    next = requestAnimationFrame(frame);
  }

  function stop() {
    if (!isPlaying) return;
    isPlaying = false;
    cancelAnimationFrame(next);
    play.textContent = "Play";
    draw(true);
  }

  const toggle = () => (isPlaying ? stop() : start());
  const step = way => {
    stop();
    go(seconds + way * STEP_S * Number(speed.value));
  };
  play.addEventListener("click", toggle);
  back.addEventListener("click", () => step(-1));
  ahead.addEventListener("click", () => step(1));
  show.addEventListener("click", load);
  scrub.addEventListener("input", () => {
    stop();
    go(Number(scrub.value));
  });
  scrub.addEventListener("keydown", event => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    step(way);
  });
  stage.addEventListener("keydown", event => {
    const keys = { " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => { stop(); go(0); }, End: () => { stop(); go(until_s); } };
    if (event.target !== stage || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const select of [first, second]) {
    select.addEventListener("focus", offer);
    select.addEventListener("change", () => { select.dataset.chosen = "yes"; });
  }
  new MutationObserver(offer).observe(at("policies"), { attributes: true, attributeFilter: ["placeholder"] });
  at("policies").addEventListener("input", offer);
  new ResizeObserver(resize).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", resize);
  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); });
  offer();
}

function legend() {
  const item = (look, text) => {
    const swatch = make("i", { className: "swatch" });
    swatch.style.cssText = look;
    return make("span", {}, swatch, text);
  };
  return make("p", { className: "legend dim" },
    item("background: var(--path-0)", "data in its path's colour"), item("background: var(--worse)", "retransmission"),
    item("background: var(--dim); height: 6px", "ACK"), item("background: var(--text)", "handshake, control"),
    item("background: var(--bar)", "cross traffic"), make("span", { textContent: "✕ dropped or lost" }),
    item("background: var(--policy-4)", "promotion"), make("span", { textContent: "radio: full height active, half tail, line idle" }));
}
