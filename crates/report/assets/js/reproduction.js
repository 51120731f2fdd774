// Builds the page of the experiments. Figures are drawn when their experiment is unfolded, because there may
// be hundreds.

const figures = JSON.parse(document.getElementById("data").textContent);
const figureOf = place => figures[place.dataset.figure];
/** Whether a figure has any values: all its runs may be missing. */
const hasValues = ({ lines, bars, boxes }) => (lines ?? bars ?? boxes)
  .some(({ y, values, stated }) => [...(y ?? values), ...(y ? [] : stated ?? [])].some(value => value != null));

const all = [...document.querySelectorAll("[data-figure]")];
const places = all.filter(place => hasValues(figureOf(place)));
const empty = all.filter(place => !hasValues(figureOf(place)));
const charts = new Map();

/** Prepares everything but the chart. */
function prepare(place) {
  const figure = figureOf(place);
  const isLines = figure.kind === "lines";
  (isLines ? lineLegend : groupLegend)(place, figure);
  const title = axisTitle(figure, isLines ? lineValues(figure) : groupValues(figure));
  if (title) place.append(element("div", "axis-y", title));
  place.append(element("div", "plot"));
}

function draw(place) {
  // Folded or filtered figures have no width.
  if (charts.has(place) || place.offsetParent === null) return;
  const figure = figureOf(place);
  const node = place.querySelector(".plot");
  // Fixes the height, so that anchors do not move while the chart is redrawn.
  node.style.height = `${figureHeight()}px`;
  charts.set(place, (figure.kind === "lines" ? drawLinePlot : drawGroups)(node, figure));
}

/** Redraws the visible charts, for new colours or a new width. */
function render() {
  charts.forEach(chart => chart.destroy());
  charts.clear();
  places.forEach(draw);
}

places.forEach(prepare);
for (const place of empty) place.append(element("p", "dim", "No run of this figure is done yet."));
scrollHints();
const form = document.getElementById("filter");
if (form) {
  filter(form);
  form.addEventListener("input", () => places.forEach(draw));
  form.addEventListener("reset", () => setTimeout(() => places.forEach(draw)));
}
// `toggle` does not bubble, but it can be captured.
document.addEventListener("toggle", event => { if (event.target.open) places.forEach(draw); }, true);
theme(render);
render();
if (form) followAddress(form);

let width = innerWidth;
addEventListener("resize", () => {
  // On phones the height changes whenever the address bar hides.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(render);
});
