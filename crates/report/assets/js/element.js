// Creates elements and formats numbers.

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

/** Four significant digits without trailing zeros. */
const brief = value => (value == null ? "–" : String(+value.toPrecision(4)));
