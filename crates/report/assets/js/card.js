// Cards that hold charts.

/** A card with a title. All cards of a grid must be there before the first is measured. */
function card(container, title, hint) {
  const node = container.appendChild(element("div", "chart"));
  const head = node.appendChild(element("h3", null, title));
  if (hint) head.append(element("small", null, hint));
  return node;
}

/** Width of a card's inside, CSS pixels. */
function insideWidth(node) {
  const style = getComputedStyle(node);
  return node.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}

/** Names with their colours, and dashes if they have any; returns their nodes. */
function legend(node, entries) {
  const list = node.appendChild(element("div", "legend"));
  return entries.map(([colour, text, dash]) => {
    const item = list.appendChild(element("span"));
    item.append(dash ? lineSample(colour, dash) : element("i", "swatch"), text);
    if (!dash) item.firstChild.style.backgroundColor = colour;
    return item;
  });
}

/** A short piece of a line. */
function lineSample(colour, dash) {
  const drawing = svg("svg", { width: 20, height: 10, "aria-hidden": "true" });
  const line = svg("path", { d: "M0 5H20" });
  Object.assign(line.style, { stroke: colour, strokeWidth: "2.5px", strokeDasharray: dash.join(" ") || "none" });
  drawing.append(line);
  return drawing;
}
