// Puts the page of a map together. Colours are the style sheet's variables, so that light, dark and paper need no redrawing.

const data = JSON.parse(document.getElementById("data").textContent);
const columns = data.x.values.length;
const rows = data.y.values.length;
/** Size of a cell and width of the margins, in the units of the drawing. */
const CELL = 360 / Math.max(columns, rows);
const [LEFT, BOTTOM, EDGE] = [64, 34, 8];

const policyFill = policy => `var(--policy-${policy % PALETTE})`;

/** A card with a map; `fill` gives a point's colour and opacity, `tell` the lines of its tip. */
function drawMap(title, hint, fill, tell, marks) {
  const node = card(document.getElementById("maps"), title, hint);
  const [width, height] = [columns * CELL, rows * CELL];
  const drawing = svg("svg", { viewBox: `0 0 ${LEFT + width + EDGE} ${EDGE + height + BOTTOM}`, class: "map", role: "img", "aria-label": title });
  const x = point => LEFT + (point % columns) * CELL;
  const y = point => EDGE + (rows - 1 - Math.floor(point / columns)) * CELL;
  for (let point = 0; point < columns * rows; point += 1) {
    const [colour, opacity] = fill(point);
    const cell = svg("rect", { x: x(point), y: y(point), width: CELL + 0.3, height: CELL + 0.3 });
    cell.style.fill = colour;
    cell.style.fillOpacity = opacity;
    cell.dataset.point = point;
    drawing.append(cell);
  }
  for (const [point, policy] of marks) {
    const dot = svg("circle", { cx: x(point) + CELL / 2, cy: y(point) + CELL / 2, r: Math.min(5, CELL / 3), class: "checked" });
    dot.style.fill = policy == null ? "none" : policyFill(policy);
    drawing.append(dot);
  }
  labels(drawing, width, height);
  node.append(drawing);
  const tip = node.appendChild(element("div", "tip"));
  tip.hidden = true;
  node.style.position = "relative";
  drawing.addEventListener("pointermove", event => {
    const point = event.target.dataset?.point;
    tip.hidden = point == null;
    if (tip.hidden) return;
    const place = `${data.x.values[point % columns]}, ${data.y.values[Math.floor(point / columns)]}`;
    tip.replaceChildren(element("strong", null, place), ...tell(+point).map(line => element("span", null, line)));
    const box = node.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    tip.style.left = `${Math.max(0, left + 14 + tip.offsetWidth > box.width ? left - 14 - tip.offsetWidth : left + 14)}px`;
    tip.style.top = `${Math.max(0, top - tip.offsetHeight - 10)}px`;
  });
  drawing.addEventListener("pointerleave", () => { tip.hidden = true; });
  return node;
}

/** Values along the axes: the first, the last and what fits between. */
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
  const fill = point => data.best[point] == null ? ["var(--line)", 1] : [policyFill(data.best[point]), data.clear[point] ? 1 : 0.45];
  const tell = point => data.policies.map((policy, i) => {
    const [value, first] = [data.values[i][point], data.values[0][point]];
    const beside = i > 0 && value != null && first ? ` (${percent(value / first)})` : "";
    return `${data.best[point] === i ? "▸ " : ""}${policy}: ${value == null ? "–" : Number(value.toPrecision(3)).toLocaleString("en")}${beside}`;
  });
  const hint = data.checked.length ? "pale: a tie; dots: whom the packet engine names" : "pale: a tie";
  const node = drawMap(`Best ${data.metric}`, hint, fill, tell, data.checked);
  const present = data.policies.map((policy, i) => [policyFill(i), policy]).filter((_, i) => data.best.includes(i));
  legend(node, present);
}

/** One policy relative to the first: better in one colour, worse in another; the farthest of all maps is the full colour. */
function relatives() {
  const ratio = (i, point) => data.values[i][point] != null && data.values[0][point] ? data.values[i][point] / data.values[0][point] : null;
  const span = Math.max(0.01, ...data.policies.flatMap((_, i) => data.best.map((_, point) => Math.abs(Math.log(ratio(i, point) || 1)))));
  for (let i = 1; i < data.policies.length; i += 1) {
    const fill = point => {
      const r = ratio(i, point);
      if (r == null || r <= 0) return ["var(--line)", 1];
      return [(r > 1) === data.more_is_better ? "var(--policy-0)" : "var(--policy-1)", Math.min(1, Math.abs(Math.log(r)) / span)];
    };
    const tell = point => [`${data.policies[i]}: ${ratio(i, point) == null ? "–" : percent(ratio(i, point))}`];
    const all = data.best.map((_, point) => ratio(i, point)).filter(r => r != null);
    const hint = `${data.metric} against ${data.policies[0]}`;
    const node = drawMap(data.policies[i], hint, fill, tell, []);
    if (all.length) legend(node, [["var(--policy-0)", "better"], ["var(--policy-1)", "worse"], ["transparent", `from ${percent(Math.min(...all))} to ${percent(Math.max(...all))}`]]);
  }
}

theme(() => {});
winners();
relatives();
for (const swatch of document.querySelectorAll("[data-policy]")) swatch.style.background = policyFill(+swatch.dataset.policy);
