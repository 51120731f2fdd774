// Builds the page of a comparison. Only the charts over time need scripts.

const data = JSON.parse(document.getElementById("data").textContent);
const series = document.getElementById("series");
let charts = [];

scrollHints();
sortable(document.getElementById("overview"));
const chosen = series ? pickers(document.getElementById("pickers"), data, render) : null;

function render() {
  charts.forEach(chart => chart.destroy());
  charts = series ? drawSeries(series, data, chosen()) : [];
}

if (series) document.getElementById("series-note").hidden = false;
theme(render);
render();

let width = innerWidth;
addEventListener("resize", () => {
  // On phones the height changes whenever the address bar hides.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(render);
});
