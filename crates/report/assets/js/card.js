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

/** Names with their colours. */
function legend(node, entries) {
  const list = node.appendChild(element("div", "legend"));
  for (const [colour, text] of entries) {
    const item = list.appendChild(element("span"));
    item.append(element("i", "swatch"), text);
    item.firstChild.style.background = colour;
  }
}
