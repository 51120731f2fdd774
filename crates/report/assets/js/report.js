// Puts the page together.

const data = JSON.parse(document.getElementById("data").textContent);
const [bars, stacks, series] = ["bars", "stacks", "series"].map(id => document.getElementById(id));
let charts = [];
let seriesCharts = [];

for (const swatch of document.querySelectorAll("[data-policy]")) {
  swatch.style.background = `var(--policy-${swatch.dataset.policy % PALETTE})`;
}
sortable(document.getElementById("overview"));
const chosen = series ? pickers(document.getElementById("pickers"), data, renderSeries) : null;

function renderSeries() {
  seriesCharts.forEach(chart => chart.destroy());
  seriesCharts = series ? drawSeries(series, data, chosen()) : [];
}

function render() {
  charts.forEach(chart => chart.destroy());
  bars.replaceChildren();
  stacks.replaceChildren();
  const barCards = data.bars.map(spec => card(bars, spec.title, barHint(spec)));
  const stackCards = data.stacks.map(spec => card(stacks, spec.title, spec.hint));
  charts = data.bars.map((spec, index) => drawBars(barCards[index], spec, data.policies));
  charts.push(...data.stacks.map((spec, index) => drawStack(stackCards[index], spec, data.policies)));
  renderSeries();
}

// A comparison that was interrupted at once has nothing to draw.
const redraw = data.policies.length > 0 ? render : () => {};
theme(redraw);
redraw();

let width = innerWidth;
addEventListener("resize", () => {
  // A phone changes the height whenever its address bar hides.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(redraw);
});
