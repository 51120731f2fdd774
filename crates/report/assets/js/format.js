// Formats numbers and texts.

/** Units of the time series by ascending factor. */
const UNITS = {
  rate: [[1, "bit/s"], [1e3, "kbit/s"], [1e6, "Mbit/s"], [1e9, "Gbit/s"]],
  time: [[1e-6, "µs"], [1e-3, "ms"], [1, "s"]],
  power: [[1e-6, "µW"], [1e-3, "mW"], [1, "W"], [1e3, "kW"]],
  packets: [[1, "packets"]],
};

/** The largest unit in which `largest` is at least 1: [factor, name]. */
function unitFor(quantity, largest) {
  const units = UNITS[quantity];
  return units.findLast(([factor]) => largest >= factor) ?? units[0];
}

/** Three significant digits, and all digits before the point. */
function compact(value) {
  if (value == null) return "–";
  const whole = Math.floor(Math.log10(Math.abs(value) || 1)) + 1;
  return value.toFixed(Math.min(3, Math.max(0, 3 - Math.max(whole, 1))));
}

/** The longest start of `text` that fits into `width` CSS pixels. */
function ellipsis(text, width, font) {
  const context = ellipsis.context ??= document.createElement("canvas").getContext("2d");
  context.font = font;
  if (context.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 1 && context.measureText(text.slice(0, end) + "…").width > width) end -= 1;
  return text.slice(0, end) + "…";
}

/** Width of the widest text in CSS pixels. */
function widest(texts, font) {
  const context = widest.context ??= document.createElement("canvas").getContext("2d");
  context.font = font;
  return Math.max(0, ...texts.map(text => context.measureText(text).width));
}

/** Creates an element with text and classes; text is never parsed as HTML. */
function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text != null) node.textContent = text;
  return node;
}

/** Creates an SVG element. */
function svg(name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text != null) node.textContent = text;
  return node;
}
