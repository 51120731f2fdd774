// The scenario as a form. Every change is one edit of the TOML text.

const PATH_FIELDS = [["rate", "Rate"], ["delay", "Delay, one way"], ["loss", "Loss"], ["queue", "Queue"]];
const WORKLOADS = ["bulk", "file", "messages", "stream", "requests"];

function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

/** A labelled input. `id` keeps the focus when the form is built again. */
function field(id, label, value, change) {
  const input = make("input", { id, value, autocomplete: "off", spellcheck: false });
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
  const box = make("div", { className: "wide" }, make("label", { htmlFor: id, textContent: label }), select);
  return box;
}

/** Builds the form of `values`; `edit(place, value)` changes a key. */
function showForm(box, values, library, edit) {
  const focused = document.activeElement?.id;
  const group = (title, ...fields) =>
    make("fieldset", {}, make("legend", { textContent: title }), make("div", { className: "fields" }, ...fields));
  const profiles = library.profiles.map(({ name, summary }) => [name, `${name}: ${summary}`]);
  const devices = library.devices.map(({ name, summary }) => [name, `${name}: ${summary}`]);
  const paths = values.paths.map((path, index) => {
    const at = key => ({ table: "path", index, key });
    const fields = PATH_FIELDS.map(([key, label]) =>
      field(`path-${index}-${key}`, label, path[key] ?? "", value => edit(at(key), value)));
    const radio = choice(`path-${index}-energy`, "Energy model of the radio", path.energy ?? "", profiles,
      value => edit(at("energy"), value));
    return group(path.name ?? `path ${index + 1}`, ...fields, radio);
  });
  const work = { ...values.workload };
  const kind = choice("workload-kind", "Kind", work.kind ?? "", WORKLOADS.map(name => [name, name]),
    value => edit({ table: "workload", index: null, key: "kind" }, value));
  delete work.kind;
  const rest = Object.entries(work).map(([key, value]) =>
    field(`workload-${key}`, key, value, changed => edit({ table: "workload", index: null, key }, changed)));
  const parts = [...paths];
  if (values.workload.kind !== undefined) parts.push(group("Workload", kind, ...rest));
  const time = field("duration", "Duration", values.top.duration ?? "",
    value => edit({ table: null, index: null, key: "duration" }, value));
  const general = [time];
  if (values.device.preset !== undefined) {
    general.push(choice("device", "Device", values.device.preset, devices,
      value => edit({ table: "device", index: null, key: "preset" }, value)));
  }
  parts.push(group("Run", ...general));
  if (!values.paths.length) parts.unshift(make("p", { className: "dim", textContent: "The paths of this scenario are in its TOML." }));
  box.replaceChildren(...parts);
  if (focused) box.querySelector(`#${CSS.escape(focused)}`)?.focus();
}
