// Puts the page of the experiments together. A figure is drawn when its experiment is unfolded: there may be hundreds.

const figures = JSON.parse(document.getElementById("data").textContent);
const figureOf = place => figures[place.dataset.figure];
/** Where all runs are missing, there is nothing to draw. */
const hasValues = ({ lines, bars, boxes }) => (lines ?? bars ?? boxes)
  .some(({ y, values, stated }) => [...(y ?? values), ...(y ? [] : stated ?? [])].some(value => value != null));

const all = [...document.querySelectorAll("[data-figure]")];
const places = all.filter(place => hasValues(figureOf(place)));
const empty = all.filter(place => !hasValues(figureOf(place)));
const charts = new Map();

/** Everything but the chart. */
function prepare(place) {
  const figure = figureOf(place);
  const isLines = figure.kind === "lines";
  (isLines ? lineLegend : groupLegend)(place, figure);
  const title = axisTitle(figure, isLines ? lineValues(figure) : groupValues(figure));
  if (title) place.append(element("div", "axis-y", title));
  place.append(element("div", "plot"));
}

function draw(place) {
  // What is folded or filtered out has no width.
  if (charts.has(place) || place.offsetParent === null) return;
  const figure = figureOf(place);
  const node = place.querySelector(".plot");
  // An anchor must not move when a chart is drawn anew.
  node.style.height = `${figureHeight()}px`;
  charts.set(place, (figure.kind === "lines" ? drawLinePlot : drawGroups)(node, figure));
}

/** Draws what is to be seen anew: in other colours, or another width. */
function render() {
  charts.forEach(chart => chart.destroy());
  charts.clear();
  places.forEach(draw);
}

places.forEach(prepare);
for (const place of empty) place.append(element("p", "dim", "No run of this figure is there yet."));
scrollHints();
const form = document.getElementById("filter");
if (form) {
  filter(form);
  form.addEventListener("input", () => places.forEach(draw));
  form.addEventListener("reset", () => setTimeout(() => places.forEach(draw)));
}
// The event does not rise, but it comes down.
document.addEventListener("toggle", event => { if (event.target.open) places.forEach(draw); }, true);
theme(render);
render();
if (form) followAddress(form);

let width = innerWidth;
addEventListener("resize", () => {
  // A phone changes the height whenever its address bar hides.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(render);
});
