// Lets pointer and keys read charts. A chart consists of places: x values of lines, dots, or cells of a map.

const numbers = text => text.split(",").map(item => (item === "" ? null : +item));
const within = (value, most) => Math.min(most, Math.max(0, value));

/**
 * Arrow keys move from place to place, Escape ends. `show` marks a place, or none for null, and returns its words.
 * `nearest` returns the place at a pointer, or null; `acts` are further keys.
 */
function readable(node, { count, columns = count, nearest, show, acts = {} }) {
  let at = null;
  const go = place => (at = place, show(at));
  const step = (across, up) => {
    const rows = Math.ceil(count / columns);
    const [column, row] = at == null ? [across < 0 ? columns - 1 : 0, 0] : [at % columns + across, Math.floor(at / columns) + up];
    return within(within(column, columns - 1) + columns * within(row, rows - 1), count - 1);
  };
  const places = {
    ArrowLeft: event => step(event.shiftKey ? -10 : -1, 0),
    ArrowRight: event => step(event.shiftKey ? 10 : 1, 0),
    ArrowUp: () => step(0, 1),
    ArrowDown: () => step(0, -1),
    Home: () => 0,
    End: () => count - 1,
    Escape: () => null,
  };
  node.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (acts[event.key]) acts[event.key](at);
    else if (places[event.key]) document.getElementById("live").textContent = go(places[event.key](event)) ?? "";
    else return;
    event.preventDefault();
  });
  node.addEventListener("pointermove", event => go(nearest(event)));
  for (const end of ["pointerleave", "blur"]) node.addEventListener(end, () => go(null));
}

/** A description at a point of the window: a heading and lines. */
function tipOf(node) {
  const tip = node.appendChild(element("div", "tip"));
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  node.style.position = "relative";
  return (x, y, [head, ...lines] = []) => {
    tip.hidden = head == null;
    if (tip.hidden) return null;
    tip.replaceChildren(element("strong", null, head), ...lines.map(line => element("span", null, line)));
    const box = node.getBoundingClientRect();
    const [left, top] = [x - box.left, y - box.top];
    tip.style.left = `${Math.max(0, left + 14 + tip.offsetWidth > box.width ? left - 14 - tip.offsetWidth : left + 14)}px`;
    tip.style.top = `${Math.max(0, top - tip.offsetHeight - 10)}px`;
    return [head, ...lines].join("; ");
  };
}

/** Dots with descriptions. If they are lines of a table, its line is marked too. */
function dots(plot) {
  const all = [...plot.querySelectorAll("[data-tip]")];
  const rows = [...document.getElementById(plot.dataset.table)?.tBodies[0].rows ?? []];
  const tip = tipOf(plot);
  const middle = dot => { const box = dot.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  readable(plot, {
    count: all.length,
    nearest: ({ clientX, clientY }) => {
      const far = all.map(dot => { const [x, y] = middle(dot); return Math.hypot(x - clientX, y - clientY); });
      const least = Math.min(...far);
      return least <= 40 ? far.indexOf(least) : null;
    },
    show: at => {
      rows.forEach((row, i) => row.classList.toggle("near", i === at));
      return at == null ? tip() : tip(...middle(all[at]), all[at].dataset.tip.split("\n"));
    },
  });
}

/** The map of a policy, or of all policies. `data` holds their values. */
function cells(map, data) {
  const columns = +map.dataset.columns;
  const all = map.querySelector(".cells");
  const here = all.appendChild(svg("rect", { width: 1, height: 1, class: "here", visibility: "hidden" }));
  const rows = data.y.values.length;
  const tip = tipOf(map.parentNode);
  const percent = ratio => `${ratio >= 1 ? "+" : "−"}${+(Math.abs(ratio - 1) * 100).toPrecision(3)} %`;
  const line = (policy, point) => {
    const [value, first] = [data.values[policy][point], data.values[0][point]];
    const beside = policy > 0 && value != null && first ? ` (${percent(value / first)})` : "";
    return `${data.best[point] === policy ? "▸ " : ""}${data.policies[policy]}: ${brief(value)}${beside}`;
  };
  const shown = [...data.policies.keys()].filter(policy => +map.dataset.policy >= data.policies.length || policy === +map.dataset.policy);
  readable(map, {
    count: columns * rows,
    columns,
    nearest: ({ clientX, clientY }) => {
      const box = all.getBoundingClientRect();
      const [x, y] = [(clientX - box.x) / box.width, (clientY - box.y) / box.height];
      if (x < 0 || y < 0 || x >= 1 || y >= 1) return null;
      return Math.floor(x * columns) + columns * (rows - 1 - Math.floor(y * rows));
    },
    show: at => {
      here.setAttribute("visibility", at == null ? "hidden" : "visible");
      if (at == null) return tip();
      const [column, row] = [at % columns, Math.floor(at / columns)];
      here.setAttribute("x", column);
      here.setAttribute("y", rows - 1 - row);
      const box = here.getBoundingClientRect();
      const lines = shown.map(policy => line(policy, at));
      return tip(box.x + box.width / 2, box.y + box.height / 2, [`${data.x.values[column]}, ${data.y.values[row]}`, ...lines]);
    },
  });
}

/** Round numbers from `lo` to `hi`, at most about `most`. */
function ticks(lo, hi, most) {
  const least = (hi - lo) / most;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find(digit => digit * power >= least) * power;
  const first = Math.ceil(lo / step - 1e-9);
  return Array.from({ length: Math.floor(hi / step + 1e-9) - first + 1 }, (_, i) => +((first + i) * step).toPrecision(9));
}

/**
 * Lines: the legend shows the values at the cursor. Plots with `data-top` share the cursor and the zoom with their
 * `peers`; `rescale` sets the upper end of their vertical axis.
 */
function lines(plot, peers) {
  const drawing = plot.querySelector("svg");
  const legend = plot.closest(".chart").querySelector(".legend");
  const [at, ...values] = [legend.querySelector(".at"), ...legend.querySelectorAll("b")];
  const [xs, ends] = [numbers(plot.dataset.x), numbers(plot.dataset.ends)];
  const ys = [...plot.querySelectorAll("[data-y]")].map(line => numbers(line.dataset.y));
  const scale = "log" in plot.dataset ? Math.log : x => x;
  const top = +plot.dataset.top;
  const view = { x: ends, top };
  const cursor = drawing.appendChild(svg("line", { class: "cursor", y2: "100%", visibility: "hidden" }));
  const part = x => (scale(x) - scale(view.x[0])) / (scale(view.x[1]) - scale(view.x[0]));
  const partAt = ({ clientX }) => { const box = drawing.getBoundingClientRect(); return (clientX - box.x) / box.width; };
  const closest = part_ => xs.reduce((best, x, i) => (Math.abs(part(x) - part_) < Math.abs(part(xs[best]) - part_) ? i : best), 0);
  // A line may lack a point where its neighbour has one.
  const nearestOf = (all, place) => {
    for (let step = 0; step < xs.length; step += 1) {
      for (const i of [place - step, place + step]) if (all[i] != null) return all[i];
    }
    return null;
  };
  const self = {
    plot,
    /** Shows the values at the place nearest to x, or nothing for null. */
    read(x) {
      const place = x == null ? null : closest(part(x));
      const isSeen = place != null && part(xs[place]) >= 0 && part(xs[place]) <= 1;
      cursor.setAttribute("visibility", isSeen ? "visible" : "hidden");
      if (isSeen) for (const end of ["x1", "x2"]) cursor.setAttribute(end, `${100 * part(xs[place])}%`);
      const all = ys.map(line => (place == null ? null : nearestOf(line, place)));
      at.textContent = place == null ? "" : `at ${brief(xs[place])}`;
      all.forEach((value, i) => { values[i].textContent = place == null ? "" : brief(value); });
      const said = all.map((value, i) => `${values[i].previousSibling.textContent} ${brief(value)}`);
      return place == null ? "" : `${at.textContent}: ${said.join(", ")}`;
    },
    zoom(x) {
      view.x = x ?? ends;
      redraw();
    },
    rescale(to) {
      view.top = to;
      redraw();
    },
  };
  function redraw() {
    const [from, to] = view.x.map(x => 2000 * (x - ends[0]) / (ends[1] - ends[0]));
    const height = 1000 * view.top / top;
    drawing.querySelector(".curves").setAttribute("viewBox", `${from} ${1000 - height} ${to - from} ${height}`);
    plot.classList.toggle("zoomed", view.x !== ends);
    drawing.querySelector(".ticks.x").replaceChildren(...ticks(...view.x, 6).flatMap(tick => {
      const x = `${100 * part(tick)}%`;
      return [svg("line", { class: "rule", y2: "100%", x1: x, x2: x }), svg("text", { x, y: "100%", dy: 17, "text-anchor": "middle" }, tick)];
    }));
    drawing.querySelector(".ticks.y").replaceChildren(...ticks(0, view.top, 5).flatMap(tick => {
      const y = `${100 * (1 - tick / view.top)}%`;
      return [svg("line", { class: "rule", x2: "100%", y1: y, y2: y }), svg("text", { dx: -7, y, dy: 4, "text-anchor": "end" }, tick)];
    }));
  }
  const group = top ? peers : [self];
  const read = x => { group.forEach(other => other !== self && other.read(x)); return self.read(x); };
  const zoom = x => group.forEach(other => other.zoom(x));
  const about = (factor, place) => {
    const middle = place == null ? (view.x[0] + view.x[1]) / 2 : xs[place];
    const reach = (view.x[1] - view.x[0]) * factor / 2;
    const [lo, hi] = [Math.max(ends[0], middle - reach), Math.min(ends[1], middle + reach)];
    zoom(lo === ends[0] && hi === ends[1] ? null : [lo, hi]);
  };
  readable(plot, {
    count: xs.length,
    nearest: event => closest(partAt(event)),
    show: place => read(place == null ? null : xs[place]),
    acts: top ? { "+": place => about(0.6, place), "-": place => about(1 / 0.6, place), 0: () => zoom(null) } : {},
  });
  if (!top) return self;
  let from = null;
  const selection = drawing.appendChild(svg("rect", { class: "selection", height: "100%", visibility: "hidden" }));
  const span = event => [from, within(partAt(event), 1)].sort((a, b) => a - b);
  plot.addEventListener("pointerdown", event => {
    if (event.pointerType === "mouse" && event.button === 0) from = within(partAt(event), 1);
  });
  plot.addEventListener("pointermove", event => {
    if (from == null) return;
    const [left, right] = span(event);
    selection.setAttribute("visibility", "visible");
    selection.setAttribute("x", `${100 * left}%`);
    selection.setAttribute("width", `${100 * (right - left)}%`);
  });
  addEventListener("pointerup", event => {
    if (from == null) return;
    const [left, right] = span(event);
    if (right - left > 0.02) zoom([left, right].map(end => view.x[0] + end * (view.x[1] - view.x[0])));
    from = null;
    selection.setAttribute("visibility", "hidden");
  });
  plot.addEventListener("dblclick", () => zoom(null));
  return self;
}

/** Two lists of policies, whose charts over time are shown. Charts of a row share a scale. */
function pickers(container, series, plots) {
  const charts = [...series.querySelectorAll("[data-policy]")];
  const all = new Map(charts.map(chart => [chart.dataset.policy, chart.querySelector("small").textContent]));
  const shown = [...new Set(charts.filter(chart => !chart.hidden).map(chart => chart.dataset.policy))];
  // On phones two policies would be stacked.
  const chosen = innerWidth <= 600 ? shown.slice(0, 1) : shown;
  const show = () => {
    for (const chart of charts) {
      chart.hidden = !chosen.includes(chart.dataset.policy);
    }
    const seen = plots.filter(({ plot }) => plot.offsetParent !== null);
    const titleOf = ({ plot }) => plot.closest(".chart").querySelector("h3").firstChild.textContent;
    for (const one of seen) {
      const row = seen.filter(other => titleOf(other) === titleOf(one));
      one.rescale(1.05 * Math.max(...row.map(({ plot }) => +plot.dataset.most)) || 1);
    }
    series.style.setProperty("--columns", new Set(chosen.filter(policy => policy)).size);
  };
  for (const [slot, text] of ["policy", "compared with"].slice(0, all.size).entries()) {
    const select = container.appendChild(element("label", null, text)).appendChild(element("select"));
    if (slot > 0) select.append(new Option("nothing", ""));
    for (const [policy, name] of all) select.append(new Option(name, policy));
    select.value = chosen[slot] ?? "";
    select.addEventListener("change", () => { chosen[slot] = select.value; show(); });
  }
  container.hidden = false;
  show();
}
