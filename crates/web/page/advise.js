// Which radio for a file: sliders for the plan, the battery and the file. Nothing is simulated.

/** Positions of a slider. */
const STEPS = 100;
/** Most paths of this panel. */
const MOST_PATHS = 4;

/** Quantities by sliders: name, label, lowest, highest, unit, digits; equal ratios unless linear. */
const PATH_SLIDERS = [
  { key: "rate", label: "Rate", low: 0.1, high: 1000, unit: "Mbit/s" },
  { key: "rtt", label: "Round trip", low: 1, high: 500, unit: "ms" },
  { key: "loss", label: "Loss", low: 0, high: 5, unit: "%", linear: true },
  { key: "burst", label: "Lost in a row", low: 1, high: 30, unit: "packets" },
];
const SIZE = { key: "size", label: "Size", low: 0.01, high: 10_000, unit: "MB" };
const DEADLINE = { key: "deadline", label: "Deadline", low: 0.1, high: 3600, unit: "s" };
const BATTERY = { key: "battery", label: "Battery", low: 1, high: 100, unit: "Wh" };
const JOULES_PER_WH = 3600;
/** Balances between energy and time. */
const PRESETS = [["", "Energy alone counts"], ["balanced", "balanced: a second is worth 0.3 J"], ["fast", "fast: a second is worth 3 J"]];

/** Couplings of the congestion control of several paths. */
const COUPLINGS = [["", "uncoupled: a TCP on each path"], ["lia", "lia: together a TCP on the best path"], ["olia", "olia: as lia, on the best paths alone"]];

const FIRST_PATHS = [
  { name: "wifi", rate: "20", rtt: "30", loss: "1", burst: "1", energy: "wifi6-2021" },
  { name: "lte", rate: "40", rtt: "50", loss: "0", burst: "1", energy: "lte-2021" },
];

function positionOf({ low, high, linear }, value) {
  const part = linear ? (value - low) / (high - low) : Math.log(value / low) / Math.log(high / low);
  return Math.round(Math.min(Math.max(part, 0), 1) * STEPS);
}

function valueAt({ low, high, linear }, position) {
  const part = position / STEPS;
  return coarse(linear ? low + (high - low) * part : low * (high / low) ** part);
}

/** A slider and a number field with one value. */
function slider(id, of, value, changed) {
  const number = make("input", { id, type: "number", min: 0, step: "any", value });
  const range = make("input", { type: "range", min: 0, max: STEPS, value: positionOf(of, Number(value)) });
  range.setAttribute("aria-label", `${of.label}, coarse`);
  const tell = () => range.setAttribute("aria-valuetext", `${number.value} ${of.unit}`);
  tell();
  range.addEventListener("input", () => {
    number.value = valueAt(of, Number(range.value));
    tell();
    changed();
  });
  number.addEventListener("input", () => {
    range.value = positionOf(of, Number(number.value));
    tell();
    changed();
  });
  const label = make("label", { htmlFor: id, textContent: `${of.label}, ${of.unit}` });
  return make("div", { className: "wide slider" }, label, range, number);
}

class AdvisePanel {
  /** `changed` hears of a change by the user; `compare` opens the answer's scenario. */
  constructor(box, library, changed, compare) {
    this.box = box;
    this.library = library;
    this.changed = changed;
    this.compare = compare;
    this.show({ paths: FIRST_PATHS, size: "10", deadline: "", preset: "", device: "", cc: "", battery: "15" });
  }

  show({ paths, size, deadline, preset, device, cc, battery }) {
    const profiles = this.library.profiles.map(({ name, summary }) => [name, `${name}: ${summary}`]);
    const devices = this.library.devices.map(({ name, summary }) => [name, `${name}: ${summary}`]);
    const again = change => {
      const now = this.saved();
      change(now);
      this.show(now);
      this.changed();
    };
    const cards = paths.map((path, index) => {
      const id = key => `advise-${index}-${key}`;
      const sliders = PATH_SLIDERS.map(of => slider(id(of.key), of, path[of.key], this.changed));
      const remove = button(id("remove"), `Remove ${path.name}`, () => again(now => now.paths.splice(index, 1)));
      return card(`My plan: ${path.name}`, field(id("name"), "Name", path.name, this.changed), ...sliders,
        choice(id("energy"), "Energy model of the radio", path.energy, profiles, this.changed),
        ...(paths.length > 1 ? [make("div", { className: "wide" }, remove)] : []));
    });
    this.count = paths.length;
    const names = paths.map(({ name }) => name);
    const add = button("advise-add", "Add a radio", () => again(now =>
      now.paths.push({ name: freshName("radio", names), rate: "10", rtt: "50", loss: "0", burst: "1", energy: "lte-2021" })));
    const isDue = make("input", { type: "checkbox", id: "advise-due", checked: deadline !== "" });
    isDue.addEventListener("change", () => {
      at("advise-deadline").disabled = !isDue.checked;
      this.changed();
    });
    const due = slider("advise-deadline", DEADLINE, deadline || "10", this.changed);
    due.querySelector("#advise-deadline").disabled = !isDue.checked;
    due.querySelector("[type=range]").addEventListener("input", () => {
      isDue.checked = true;
      at("advise-deadline").disabled = false;
      this.changed();
    });
    const file = card("My file", slider("advise-size", SIZE, size, this.changed),
      make("label", { className: "tick wide" }, isDue, make("span", { textContent: "It must arrive in time" })), due,
      choice("advise-preset", "My time", preset, PRESETS, this.changed),
      choice("advise-cc", "Congestion control of several paths", cc, COUPLINGS, this.changed));
    const own = card("My battery", slider("advise-battery", BATTERY, battery, this.changed),
      choice("advise-device", "Device", device, [["", "no shared power"], ...devices], this.changed));
    const said = make("div", { id: "advice", className: "claim", hidden: true });
    said.setAttribute("role", "status");
    this.box.replaceChildren(said, file, ...cards,
      make("div", { className: "actions" }, ...(paths.length < MOST_PATHS ? [add] : [])), own);
  }

  /** The fields, for a link. */
  saved() {
    const paths = Array.from({ length: this.count }, (_, index) => {
      const value = key => at(`advise-${index}-${key}`).value.trim();
      return { name: value("name"), rate: value("rate"), rtt: value("rtt"), loss: value("loss"), burst: value("burst"), energy: value("energy") };
    });
    return {
      paths, size: at("advise-size").value, deadline: at("advise-due").checked ? at("advise-deadline").value : "",
      preset: at("advise-preset").value, device: at("advise-device").value, cc: at("advise-cc").value, battery: at("advise-battery").value,
    };
  }

  /** Sets the fields of a link. */
  load(saved) {
    const isText = value => typeof value === "string";
    // Links without a preset, bursts or a coupling are older.
    const { paths: given, size, deadline, preset = "", device, cc = "", battery } = saved;
    const paths = Array.isArray(given) ? given.map(path => ({ burst: "1", ...path })) : [];
    const isPath = path => ["name", "rate", "rtt", "loss", "burst", "energy"].every(key => isText(path?.[key]));
    const isWhole = paths.length > 0 && paths.every(isPath) && [size, deadline, preset, device, cc, battery].every(isText);
    if (isWhole) this.show({ paths: paths.slice(0, MOST_PATHS), size, deadline, preset, device, cc, battery });
  }

  /** The panel as a request. */
  question() {
    const { paths, size, deadline, preset, device, cc } = this.saved();
    const bursts = burst => (Number(burst) === 1 ? "" : `,burst=${burst}`);
    const request = {
      paths: paths.map(({ name, rate, rtt, loss, burst, energy }) => `${name}:rate=${rate}Mbit/s,rtt=${rtt}ms,loss=${loss}%${bursts(burst)},energy=${energy}`),
      size: `${size}MB`, deadline: deadline ? `${deadline}s` : null, preset: preset || null, device: device || null, cc: cc || null,
    };
    const { paths: path, ...options } = request;
    return { request, command: asWords(["advise"], { ...options, path }) };
  }

  /** Shows the answer in words, with its part of the battery. */
  tell({ reason, energy_j, scenario }) {
    const percent = 100 * energy_j / (Number(at("advise-battery").value) * JOULES_PER_WH);
    const part = percent < 0.01 ? "less than 0.01 %" : `${coarse(percent)} %`;
    const open = button("advise-compare", "Compare policies on it", () => this.compare(scenario));
    at("advice").hidden = false;
    at("advice").replaceChildren(make("p", {}, make("strong", { textContent: reason })),
      make("p", { textContent: `That is ${part} of the battery.` }), open);
  }
}
