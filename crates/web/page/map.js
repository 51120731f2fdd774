// A map: the winning policy at each point of a plane of two keys.

const METRIC = "bits_per_joule";
const AXES = ["x", "y"];
const AXIS_NAMES = { x: "Horizontal axis", y: "Vertical axis" };
const AXIS_SIGNS = { x: "→", y: "↑" };
/** Points of an axis, unless the user changes it. */
const MAP_POINTS = 12;
/** A range around a value: from its quarter to four times it. */
const AROUND = 4;
const NO_LOSS = { from: "0.1 %", to: "10 %" };

/** Number and unit of a quantity. */
function quantity(text) {
  const found = /^\s*([0-9][0-9._]*(?:e[+-]?\d+)?)\s*([^\d\s].*)$/i.exec(text ?? "");
  return found && { number: Number(found[1].replaceAll("_", "")), unit: found[2].trim() };
}

/** Two significant digits. */
function coarse(number) {
  return String(Number(number.toPrecision(2)));
}

/** The keys of a scenario that can be an axis, with a range for each. */
function axisKeys(values) {
  const keys = [];
  const add = (key, text) => {
    const found = quantity(text);
    if (!found) return;
    const { number, unit } = found;
    const range = number > 0
      ? { from: `${coarse(number / AROUND)} ${unit}`, to: `${coarse(number * AROUND)} ${unit}` } : NO_LOSS;
    if (number > 0 || unit === "%") keys.push({ key, ...range, log: true });
  };
  for (const path of values.paths) {
    if (!path.name) continue;
    for (const [key] of PATH_FIELDS) add(`path.${path.name}.${key}`, path[key] ?? (key === "loss" ? "0 %" : undefined));
  }
  for (const [key, text] of Object.entries(values.workload)) add(`workload.${key}`, text);
  return keys;
}

class MapPanel {
  /** `metrics` are those that can decide; `changed` hears of a change by the user. */
  constructor(box, metrics, changed) {
    this.box = box;
    this.changed = changed;
    this.keys = [];
    const chips = make("ul", { className: "chips-list", id: "map-keys" });
    const axes = AXES.map(axis => this.axis(axis, changed));
    const metric = choice("map-metric", "The best by", METRIC, metrics, changed);
    const check = field("map-check", "Points that the packet simulator checks", "0", changed);
    check.querySelector("input").inputMode = "numeric";
    box.replaceChildren(
      make("p", { className: "dim", textContent: "Drag two keys onto the axes, press → or ↑ next to a key, or choose it in the list of an axis. The fluid model computes all points." }),
      chips, ...axes, card("Map", metric, check));
  }

  axis(axis, changed) {
    const key = choice(`map-${axis}`, "Key", "", [], name => {
      this.take(axis, name);
      changed();
    });
    const part = (name, label) => field(`map-${axis}-${name}`, label, "", changed);
    const log = make("input", { type: "checkbox", id: `map-${axis}-log`, checked: true });
    log.addEventListener("change", changed);
    const made = card(AXIS_NAMES[axis], key, part("from", "From"), part("to", "To"), part("points", "Points"),
      make("label", { className: "tick" }, log, make("span", { textContent: "equal ratios" })));
    made.classList.add("axis");
    made.addEventListener("dragover", event => event.preventDefault());
    made.addEventListener("drop", event => {
      event.preventDefault();
      this.choose(axis, event.dataTransfer.getData("text/plain"));
    });
    return made;
  }

  /** Puts a key onto an axis. */
  choose(axis, name) {
    if (!this.keys.some(({ key }) => key === name)) return;
    at(`map-${axis}`).value = name;
    this.take(axis, name);
    this.changed();
  }

  /** A button that puts a key onto an axis: keyboards and touch screens cannot drag. */
  put(axis, key) {
    const made = make("button", { type: "button", textContent: AXIS_SIGNS[axis] });
    made.setAttribute("aria-label", `${AXIS_NAMES[axis]}: ${key}`);
    made.addEventListener("click", () => this.choose(axis, key));
    return made;
  }

  /** Offers the keys of a scenario. Axes that it has keep their range. */
  offer(values) {
    this.keys = axisKeys(values);
    const wanted = AXES.map(axis => at(`map-${axis}`).value);
    at("map-keys").replaceChildren(...this.keys.map(({ key }) => {
      const chip = make("li", { draggable: true }, make("span", { textContent: key }), ...AXES.map(axis => this.put(axis, key)));
      chip.addEventListener("dragstart", event => event.dataTransfer.setData("text/plain", key));
      return chip;
    }));
    const losses = this.keys.filter(({ key }) => key.endsWith(".loss")).map(({ key }) => key);
    AXES.forEach((axis, place) => {
      const select = at(`map-${axis}`);
      select.replaceChildren(...this.keys.map(({ key }) => make("option", { value: key, textContent: key })));
      const known = this.keys.some(({ key }) => key === wanted[place]);
      const name = known ? wanted[place] : losses[place] ?? this.keys[place]?.key ?? "";
      select.value = name;
      if (!known) this.take(axis, name);
    });
  }

  /** Sets the range of an axis to that of its key. */
  take(axis, name) {
    const found = this.keys.find(({ key }) => key === name);
    if (!found) return;
    at(`map-${axis}-from`).value = found.from;
    at(`map-${axis}-to`).value = found.to;
    at(`map-${axis}-points`).value = at(`map-${axis}-points`).value || String(MAP_POINTS);
    at(`map-${axis}-log`).checked = found.log;
  }

  /** The fields, for a link. */
  saved() {
    const ids = AXES.flatMap(axis => ["", "-from", "-to", "-points"].map(part => `map-${axis}${part}`)).concat("map-metric", "map-check");
    const logs = AXES.map(axis => `map-${axis}-log`);
    return Object.fromEntries([...ids.map(id => [id, at(id).value]), ...logs.map(id => [id, String(at(id).checked)])]);
  }

  /** Sets the fields of a link that this page has. */
  load(saved) {
    for (const [id, value] of Object.entries(saved)) {
      const node = this.box.querySelector(`#${CSS.escape(id)}`);
      if (!node || typeof value !== "string") continue;
      if (node.type === "checkbox") node.checked = value === "true";
      else node.value = value;
    }
  }

  text(axis) {
    const part = name => at(`map-${axis}-${name}`).value.trim();
    const log = at(`map-${axis}-log`).checked ? "log" : "";
    return `${at(`map-${axis}`).value}=${part("from")}..${part("to")}:${part("points")}${log}`;
  }

  /** The map of a document as a request. */
  question({ name, original, toml, traces, policies }) {
    const check = Number.parseInt(at("map-check").value, 10);
    const [x, y] = AXES.map(axis => this.text(axis));
    const metric = at("map-metric").value;
    const options = { policies: policies || null, metric: metric === METRIC ? undefined : metric, spot_check: check > 0 ? check : undefined };
    const request = { x, y, ...options };
    return { name, original, toml, traces, request, command: asWords(["map", name], request) };
  }
}

/** Draws a map on a pool: one request for each row, one for each checked point. `tell(finished, all)` hears of each. */
async function drawMap(pool, of, tell) {
  const { points, columns, checked } = await pool.ask({ do: "map-check", of });
  const rows = Array.from({ length: points / columns }, (_, row) => Array.from({ length: columns }, (_, x) => row * columns + x));
  let finished = 0;
  const all = rows.length + checked.length;
  tell(finished, all);
  const part = async (some, check) => {
    const text = await pool.ask({ do: "map-part", of, points: some, check });
    finished += 1;
    tell(finished, all);
    return text;
  };
  try {
    const parts = rows.map(row => part(row, false));
    const spots = checked.map(point => part([point], true));
    return await pool.ask({ do: "map-gather", of, parts: await Promise.all(parts), checked: await Promise.all(spots) });
  } catch (error) {
    pool.cancel();
    throw error;
  }
}
