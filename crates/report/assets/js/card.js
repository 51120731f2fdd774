// Cards that hold charts.

/** A card with a title. Add all cards of a grid before measuring the first. */
function card(container, title, hint) {
  const node = container.appendChild(element("div", "chart"));
  const head = node.appendChild(element("h3", null, title));
  if (hint) head.append(element("small", null, hint));
  return node;
}

/** Inner width of a card, CSS pixels. */
function insideWidth(node) {
  const style = getComputedStyle(node);
  return node.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}

/** Adds names with their colours and dashes, and returns the nodes. */
function legend(node, entries) {
  const list = node.appendChild(element("div", "legend"));
  return entries.map(([colour, text, dash]) => {
    const item = list.appendChild(element("span"));
    item.append(dash ? lineSample(colour, dash) : element("i", "swatch"), text);
    if (!dash) item.firstChild.style.backgroundColor = colour;
    return item;
  });
}

function lineSample(colour, dash) {
  const drawing = svg("svg", { width: 20, height: 10, "aria-hidden": "true" });
  const line = svg("path", { d: "M0 5H20" });
  Object.assign(line.style, { stroke: colour, strokeWidth: "2.5px", strokeDasharray: dash.join(" ") || "none" });
  drawing.append(line);
  return drawing;
}
