// Puts the page of the experiments together. Charts are drawn as they come near the screen: there may be hundreds.

const figures = JSON.parse(document.getElementById("data").textContent);
const figureOf = place => figures[place.dataset.figure];
/** Where all runs are missing, there is nothing to draw. */
const hasValues = ({ lines, bars, boxes }) => (lines ?? bars ?? boxes)
  .some(({ y, values, stated }) => [...(y ?? values), ...(y ? [] : stated ?? [])].some(value => value != null));

const all = [...document.querySelectorAll("[data-figure]")];
const places = all.filter(place => hasValues(figureOf(place)));
const empty = all.filter(place => !hasValues(figureOf(place)));
const charts = new Map();
let isPrinting = false;

/** Everything but the chart, with room for it: anchors must not move when it is drawn. */
function prepare(place) {
  const figure = figureOf(place);
  (figure.kind === "lines" ? lineLegend : groupLegend)(place, figure);
  if (figure.y) place.append(element("div", "axis-y", figure.y));
  place.appendChild(element("div", "plot")).style.height = `${FIGURE_HEIGHT}px`;
}

function draw(place) {
  // What is filtered out has no width.
  if (charts.has(place) || place.offsetParent === null) return;
  const figure = figureOf(place);
  const node = place.querySelector(".plot");
  charts.set(place, (figure.kind === "lines" ? drawLinePlot : drawGroups)(node, figure));
}

const observer = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
}, { rootMargin: "600px 0px" });

/** Draws what is near, and on paper all, anew. */
function render() {
  charts.forEach(chart => chart.destroy());
  charts.clear();
  observer.disconnect();
  for (const place of places) {
    if (isPrinting) draw(place);
    else observer.observe(place);
  }
}

places.forEach(prepare);
for (const place of empty) place.append(element("p", "dim", "No run of this figure is there yet."));
filter(document.getElementById("filter"));
addEventListener("beforeprint", () => { isPrinting = true; });
addEventListener("afterprint", () => { isPrinting = false; });
theme(render);
render();

let width = innerWidth;
addEventListener("resize", () => {
  // A phone changes the height whenever its address bar hides.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(render);
});
