// Builds the page of a map. Colours are variables of the style sheet, so that light, dark and paper need no
// redrawing.

const data = JSON.parse(document.getElementById("data").textContent);
const columns = data.x.values.length;
const rows = data.y.values.length;
/** Size of a cell and width of the margins, in units of the drawing. */
const CELL = 360 / Math.max(columns, rows);
const [BOTTOM, EDGE] = [34, 8];
/** Fits the longest value of the vertical axis. */
const LEFT = Math.max(64, 14 + 6.4 * Math.max(...data.y.values.map(value => value.length)));

/** Order in the palette: policies that win somewhere come first and get different colours. */
const palette = [...data.policies.keys()].sort((a, b) => data.best.includes(b) - data.best.includes(a) || a - b);
const placeOf = policy => palette.indexOf(policy);
const policyFill = policy => `var(--policy-${placeOf(policy) % PALETTE})`;
const isHatched = policy => policy != null && placeOf(policy) >= PALETTE;
/** Letters as in the terminal: A, B, … */
const letterOf = policy => (policy < 26 ? String.fromCharCode(65 + policy) : "*");
/** Smaller cells have no letter. */
const ROOM_FOR_LETTER = 9;

/**
 * A card with a map. For each point, `fill` returns colour and opacity, `tell` the lines of its tooltip, and
 * `mark` a letter, its class and whether the cell is hatched.
 */
function drawMap({ title, hint, fill, tell, mark = () => ({}), checked = [], words }) {
  const node = card(document.getElementById("maps"), title, hint);
  const [width, height] = [columns * CELL, rows * CELL];
  const drawing = svg("svg", {
    viewBox: `0 0 ${LEFT + width + EDGE} ${EDGE + height + BOTTOM}`,
    class: "map", role: "img", "aria-label": `${title}, ${hint}: ${words}`, tabindex: 0,
  });
  const x = point => LEFT + (point % columns) * CELL;
  const y = point => EDGE + (rows - 1 - Math.floor(point / columns)) * CELL;
  for (let point = 0; point < columns * rows; point += 1) {
    const [colour, opacity] = fill(point);
    const cell = svg("rect", { x: x(point), y: y(point), width: CELL + 0.3, height: CELL + 0.3 });
    cell.style.fill = colour;
    cell.style.fillOpacity = opacity;
    cell.dataset.point = point;
    drawing.append(cell);
    const { letter, tied, hatched } = mark(point);
    if (hatched) drawing.append(svg("path", { d: `M${x(point)} ${y(point) + CELL}L${x(point) + CELL} ${y(point)}`, class: "hatch" }));
    if (!letter || CELL < ROOM_FOR_LETTER) continue;
    const text = svg("text", { x: x(point) + CELL / 2, y: y(point) + CELL / 2, class: tied ? "letter tied" : "letter" }, letter);
    text.style.fontSize = `${Math.min(16, 0.55 * CELL)}px`;
    drawing.append(text);
  }
  for (const [point, policy] of checked) {
    const dot = svg("circle", { cx: x(point) + 0.8 * CELL, cy: y(point) + 0.2 * CELL, r: Math.min(5, CELL / 5), class: "checked" });
    dot.style.fill = policy == null ? "none" : policyFill(policy);
    drawing.append(dot);
  }
  labels(drawing, width, height);
  const here = drawing.appendChild(svg("rect", { width: CELL, height: CELL, class: "here", visibility: "hidden" }));
  node.append(drawing);
  tips(node, drawing, tell, point => {
    if (point != null) { here.setAttribute("x", x(point)); here.setAttribute("y", y(point)); }
    here.setAttribute("visibility", point == null ? "hidden" : "visible");
  });
  return node;
}

/** Describes the point at the pointer, or at the place selected by arrow keys. */
function tips(node, drawing, tell, mark) {
  const tip = node.appendChild(element("div", "tip"));
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  node.style.position = "relative";
  const nameOf = point => `${data.x.values[point % columns]}, ${data.y.values[Math.floor(point / columns)]}`;
  const show = (point, clientX, clientY) => {
    tip.hidden = false;
    tip.replaceChildren(element("strong", null, nameOf(point)), ...tell(point).map(line => element("span", null, line)));
    const box = node.getBoundingClientRect();
    const [left, top] = [clientX - box.left, clientY - box.top];
    tip.style.left = `${Math.max(0, left + 14 + tip.offsetWidth > box.width ? left - 14 - tip.offsetWidth : left + 14)}px`;
    tip.style.top = `${Math.max(0, top - tip.offsetHeight - 10)}px`;
  };
  const hide = () => { tip.hidden = true; mark(null); };
  drawing.addEventListener("pointermove", event => {
    const point = event.target.dataset?.point;
    if (point == null) hide(); else show(+point, event.clientX, event.clientY);
  });
  drawing.addEventListener("pointerleave", hide);
  drawing.addEventListener("blur", hide);
  let at = null;
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  drawing.addEventListener("keydown", event => {
    if (event.key === "Escape") { at = null; hide(); return; }
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [column, row] = at == null ? [0, 0] : [at % columns + step[0], Math.floor(at / columns) + step[1]];
    at = Math.min(columns - 1, Math.max(0, column)) + columns * Math.min(rows - 1, Math.max(0, row));
    mark(at);
    const cell = drawing.querySelector(`[data-point="${at}"]`).getBoundingClientRect();
    show(at, cell.x + cell.width / 2, cell.y + cell.height / 2);
    document.getElementById("map-live").textContent = [...tip.children].map(line => line.textContent).join("; ");
  });
}

/** Values along the axes: the first, the last, and as many between as fit. */
function labels(drawing, width, height) {
  const places = (count, most) => {
    const step = Math.max(1, Math.ceil((count - 1) / most));
    const all = [];
    for (let i = 0; i + step / 2 < count - 1; i += step) all.push(i);
    return [...all, count - 1];
  };
  for (const i of places(columns, 3)) {
    const anchor = i === 0 ? "start" : i === columns - 1 ? "end" : "middle";
    const at = LEFT + (anchor === "start" ? 0 : anchor === "end" ? width : (i + 0.5) * CELL);
    drawing.append(svg("text", { x: at, y: EDGE + height + 16, "text-anchor": anchor }, data.x.values[i]));
  }
  for (const i of places(rows, 5)) {
    drawing.append(svg("text", { x: LEFT - 6, y: EDGE + (rows - 0.5 - i) * CELL + 4, "text-anchor": "end" }, data.y.values[i]));
  }
  drawing.append(svg("text", { x: LEFT + width / 2, y: EDGE + height + 31, "text-anchor": "middle", class: "axis" }, data.x.title));
}

const percent = ratio => `${ratio >= 1 ? "+" : "−"}${compact(Math.abs(ratio - 1) * 100)} %`;

function winners() {
  // A point where all policies tie has no winner.
  const isOpen = point => data.best[point] == null || data.all_tie[point];
  const fill = point => isOpen(point) ? ["var(--line)", 1] : [policyFill(data.best[point]), data.clear[point] ? 1 : 0.45];
  const tell = point => data.policies.map((policy, i) => {
    const [value, first] = [data.values[i][point], data.values[0][point]];
    const beside = i > 0 && value != null && first ? ` (${percent(value / first)})` : "";
    return `${data.best[point] === i ? "▸ " : ""}${policy}: ${value == null ? "–" : Number(value.toPrecision(3)).toLocaleString("en")}${beside}`;
  });
  const mark = point => {
    const best = data.best[point];
    if (best == null) return { letter: "?", tied: true };
    const letter = data.clear[point] ? letterOf(best) : letterOf(best).toLowerCase();
    return { letter: data.all_tie[point] ? "·" : letter, tied: !data.clear[point], hatched: !isOpen(point) && isHatched(best) };
  };
  const hint = data.checked.length ? "pale and small: a tie; grey: all tie; dots: the packet engine's winner" : "pale and small: a tie; grey: all tie";
  const count = policy => data.best.filter((best, point) => best === policy && !isOpen(point)).length;
  const present = [...data.policies.keys()].filter(count);
  const words = present.map(policy => `${data.policies[policy]} at ${count(policy)} of ${data.best.length} points`).join(", ");
  const node = drawMap({ title: `Best ${data.metric}`, hint, fill, tell, mark, checked: data.checked, words: words || "all tie" });
  const items = legend(node, present.map(policy => [policyFill(policy), `${letterOf(policy)} ${data.policies[policy]}`]));
  present.forEach((policy, i) => items[i].firstChild.classList.toggle("hatched", isHatched(policy)));
}

/** A policy relative to the first: one colour for better, one for worse. The largest difference on any map has the full colour. */
function relatives() {
  const ratio = (i, point) => data.values[i][point] != null && data.values[0][point] ? data.values[i][point] / data.values[0][point] : null;
  const span = Math.max(0.01, ...data.policies.flatMap((_, i) => data.best.map((_, point) => Math.abs(Math.log(ratio(i, point) || 1)))));
  const same = [];
  for (let i = 1; i < data.policies.length; i += 1) {
    const all = data.best.map((_, point) => ratio(i, point)).filter(r => r != null);
    // A map without differences is replaced by a sentence.
    if (all.length && all.every(r => Math.abs(r - 1) < 0.001)) { same.push(data.policies[i]); continue; }
    const fill = point => {
      const r = ratio(i, point);
      if (r == null || r <= 0) return ["var(--line)", 1];
      return [(r > 1) === data.more_is_better ? "var(--better)" : "var(--worse)", Math.min(1, Math.abs(Math.log(r)) / span)];
    };
    const tell = point => [`${data.policies[i]}: ${ratio(i, point) == null ? "–" : percent(ratio(i, point))}`];
    const hint = `${data.metric} against ${data.policies[0]}`;
    const range = all.length ? `from ${percent(Math.min(...all))} to ${percent(Math.max(...all))}` : "no value";
    const node = drawMap({ title: data.policies[i], hint, fill, tell, words: range });
    if (all.length) scale(node, span, range);
  }
  if (same.length) {
    const text = `The same as ${data.policies[0]} to a thousandth at all points: ${same.join(", ")}.`;
    document.getElementById("maps").after(element("p", "notes", text));
  }
}

/** The colour scale from worse through equal to better, the same on all maps. */
function scale(node, span, range) {
  const line = node.appendChild(element("p", "scale"));
  const [worse, better] = [-span, span].map(log => percent(Math.exp(data.more_is_better ? log : -log)));
  const [left, right] = [`worse, ${worse}`, `better, ${better}`].map(text => element("span", null, text));
  line.append(left, element("i"), right, element("span", "dim", `here ${range}`));
}

theme(() => {});
scrollHints();
winners();
relatives();
document.getElementById("map-note").hidden = false;
for (const swatch of document.querySelectorAll("[data-policy]")) {
  swatch.style.backgroundColor = policyFill(+swatch.dataset.policy);
  swatch.classList.toggle("hatched", isHatched(+swatch.dataset.policy));
}
for (const badge of document.querySelectorAll("[data-letter]")) badge.textContent = letterOf(+badge.dataset.letter);
