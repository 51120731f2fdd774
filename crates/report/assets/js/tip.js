// Tooltips of charts.

/** Adds an empty tooltip to a chart. */
function tipOf(chart) {
  const tip = chart.root.querySelector(".u-wrap").appendChild(element("div", "tip"));
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  return tip;
}

/** Puts the tooltip with `lines` next to (x, y), in CSS pixels of the chart, where it fits. */
function placeTip(tip, u, x, y, lines) {
  tip.hidden = false;
  tip.replaceChildren(...lines);
  const { offsetLeft, offsetTop } = u.over;
  const room = u.over.clientWidth - x;
  tip.style.left = `${offsetLeft + (room < tip.offsetWidth + 16 ? Math.max(0, x - tip.offsetWidth - 14) : x + 14)}px`;
  tip.style.top = `${offsetTop + Math.max(0, y - tip.offsetHeight - 14)}px`;
}

/** Text of a tooltip in one line. */
const wordsOf = tip => [...tip.children].map(line => line.textContent).join("; ");
