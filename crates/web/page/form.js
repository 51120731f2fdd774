// The scenario as a form. Every change is one edit of the TOML text.

const PATH_FIELDS = [["rate", "Rate"], ["delay", "Delay, one way"], ["loss", "Loss"], ["queue", "Queue"]];
const COMPETITOR_FIELDS = [["count", "How many"], ["path", "Path"], ["size", "Data of each"]];
const WORKLOADS = ["bulk", "file", "messages", "stream", "requests"];
const COMPETITOR_CC = ["reno", "cubic"];

function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

/** A labelled input. `id` keeps the focus when the form is built again. */
function field(id, label, value, change, placeholder = "") {
  const input = make("input", { id, value, placeholder, autocomplete: "off", spellcheck: false });
  input.addEventListener("change", () => change(input.value.trim()));
  return make("div", {}, make("label", { htmlFor: id, textContent: label }), input);
}

function choice(id, label, value, options, change) {
  const select = make("select", { id });
  const known = options.some(([name]) => name === value);
  for (const [name, text] of known ? options : [[value, value || "none"], ...options]) {
    select.append(make("option", { value: name, textContent: text }));
  }
  select.value = value;
  select.addEventListener("change", () => change(select.value));
  return make("div", { className: "wide" }, make("label", { htmlFor: id, textContent: label }), select);
}

function button(id, text, click) {
  const made = make("button", { type: "button", id, textContent: text });
  made.addEventListener("click", click);
  return made;
}

function card(title, ...fields) {
  return make("fieldset", {}, make("legend", { textContent: title }), make("div", { className: "fields" }, ...fields));
}

/** A name that none of `taken` has: `path3`. */
function freshName(stem, taken) {
  let number = taken.length + 1;
  while (taken.includes(`${stem}${number}`)) number += 1;
  return `${stem}${number}`;
}

/**
 * Builds the form of `values`. `change` has the functions `edit(place, value)`, `append(text)`, `remove(table, index)` and
 * `trace(place, name, text)`, and `fail(message)`.
 */
function showForm(box, values, library, change) {
  const focused = document.activeElement?.id;
  const profiles = library.profiles.map(({ name, summary }) => [name, `${name}: ${summary}`]);
  const devices = library.devices.map(({ name, summary }) => [name, `${name}: ${summary}`]);
  const paths = values.paths.map((path, index) => {
    const at = key => ({ table: "path", index, key });
    const fields = PATH_FIELDS.map(([key, label]) =>
      field(`path-${index}-${key}`, label, path[key] ?? "", value => change.edit(at(key), value), key === "loss" ? "0 %" : ""));
    const radio = choice(`path-${index}-energy`, "Energy model of the radio", path.energy ?? "", profiles,
      value => change.edit(at("energy"), value));
    const trace = traceButton(`path-${index}-trace`, "Rate from a trace in Mahimahi's format",
      (name, text) => change.trace(at("rate"), name, text), change.fail);
    const name = path.name ?? `path ${index + 1}`;
    const remove = button(`path-${index}-remove`, `Remove ${name}`, () => change.remove("path", index));
    return card(name, ...fields, radio, trace, make("div", { className: "wide" }, remove));
  });
  const names = values.paths.map(({ name }) => name ?? "");
  const addPath = button("path-add", "Add a path", () => change.append(
    `[[path]]\nname = "${freshName("path", names)}"\nrate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "100 packets"\nenergy = "lte-2021"\n`));
  const competitors = values.competitors.map((competitor, index) => {
    const at = key => ({ table: "competitor", index, key });
    const fields = COMPETITOR_FIELDS.filter(([key]) => key !== "path" || !competitor.via).map(([key, label]) =>
      field(`competitor-${index}-${key}`, label, competitor[key] ?? "", value => change.edit(at(key), value)));
    const cc = choice(`competitor-${index}-cc`, "Congestion controller", competitor.cc ?? "reno",
      COMPETITOR_CC.map(name => [name, name]), value => change.edit(at("cc"), value));
    const name = competitor.name ?? `competitor ${index + 1}`;
    const remove = button(`competitor-${index}-remove`, `Remove ${name}`, () => change.remove("competitor", index));
    return card(`TCP downloads of others: ${name}`, ...fields, cc, make("div", { className: "wide" }, remove));
  });
  const others = values.competitors.map(({ name }) => name ?? "");
  const addCompetitor = button("competitor-add", "Add TCP downloads of others", () => change.append(
    `[[competitor]]\nname = "${freshName("tcp", others)}"\npath = ${JSON.stringify(names[0] ?? "")}\n`));
  const work = { ...values.workload };
  const kind = choice("workload-kind", "Kind", work.kind ?? "", WORKLOADS.map(name => [name, name]),
    value => change.edit({ table: "workload", index: null, key: "kind" }, value));
  delete work.kind;
  const rest = Object.entries(work).map(([key, value]) =>
    field(`workload-${key}`, key, value, changed => change.edit({ table: "workload", index: null, key }, changed)));
  const parts = [...paths];
  if (paths.length) parts.push(make("div", { className: "actions" }, addPath));
  if (values.workload.kind !== undefined) parts.push(card("Workload", kind, ...rest));
  parts.push(...competitors);
  if (paths.length) parts.push(make("div", { className: "actions" }, addCompetitor));
  const general = [field("duration", "Duration", values.top.duration ?? "",
    value => change.edit({ table: null, index: null, key: "duration" }, value))];
  if (values.device.preset !== undefined) {
    general.push(choice("device", "Device", values.device.preset, devices,
      value => change.edit({ table: "device", index: null, key: "preset" }, value)));
  }
  parts.push(card("Run", ...general));
  if (!paths.length) parts.unshift(make("p", { className: "dim", textContent: "The paths of this scenario are in its TOML." }));
  box.replaceChildren(...parts);
  if (focused) box.querySelector(`#${CSS.escape(focused)}`)?.focus();
}
