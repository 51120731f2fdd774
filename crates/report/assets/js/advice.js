// Builds the page of an advice.

const data = JSON.parse(document.getElementById("data").textContent);
const place = document.getElementById("front");
const rows = [...document.getElementById("ways").tBodies[0].rows];
let chart = null;

/** Describes the corner at the pointer, and marks its line in the table. */
function tell(tip, index, u) {
  rows.forEach((row, i) => row.classList.toggle("near", i === index));
  if (index == null) {
    tip.hidden = true;
    return;
  }
  const way = data.ways[index];
  const part = way.split === "100" ? "" : `, split ${way.split} %`;
  placeTip(tip, u, u.valToPos(way.seconds, "x"), u.valToPos(way.joules, "y"), [
    element("strong", null, way.interfaces + part),
    element("span", null, `${way.time} s · ${way.energy} J`),
    element("span", "dim", `${way.rates} Mbit/s`),
  ]);
}

function render() {
  chart?.destroy();
  place.replaceChildren();
  const node = card(place, "What a saved second costs", "point at a corner for its split");
  let tip = null;
  chart = drawFront(node, data, (index, u) => tip && tell(tip, index, u));
  tip = tipOf(chart);
  plotKeys(chart, {
    count: data.ways.length,
    leftOf: index => chart.valToPos(data.ways[index].seconds, "x"),
    tell: index => {
      tell(tip, index, chart);
      sayLive("front-live", wordsOf(tip));
    },
  });
  const fill = colourOfWay(data.ways);
  for (const swatch of document.querySelectorAll("[data-way]")) {
    swatch.style.background = fill(data.ways[swatch.dataset.way]);
    swatch.dataset.shape = shapeOfWay(data.ways)(data.ways[swatch.dataset.way]);
  }
}

scrollHints();
theme(render);
render();

let width = innerWidth;
addEventListener("resize", () => {
  // On phones the height changes whenever the address bar hides.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(render);
});
