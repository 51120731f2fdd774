// Puts the page of an advice together.

const data = JSON.parse(document.getElementById("data").textContent);
const place = document.getElementById("front");
const rows = [...document.getElementById("ways").tBodies[0].rows];
let chart = null;

/** What is said of the corner at the pointer, and its line in the table. */
function tell(tip, index, u) {
  rows.forEach((row, i) => row.classList.toggle("near", i === index));
  tip.hidden = index == null;
  if (index == null) return;
  const way = data.ways[index];
  const part = way.split === "100" ? "" : `, split ${way.split} %`;
  tip.replaceChildren(
    element("strong", null, way.interfaces + part),
    element("span", null, `${way.time} s · ${way.energy} J`),
    element("span", "dim", `${way.rates} Mbit/s`),
  );
  const [x, y] = [u.valToPos(way.seconds, "x"), u.valToPos(way.joules, "y")];
  const { offsetLeft, offsetTop } = u.over;
  const room = u.over.clientWidth - x;
  tip.style.left = `${offsetLeft + (room < tip.offsetWidth + 16 ? Math.max(0, x - tip.offsetWidth - 14) : x + 14)}px`;
  tip.style.top = `${offsetTop + Math.max(0, y - tip.offsetHeight - 14)}px`;
}

function render() {
  chart?.destroy();
  place.replaceChildren();
  const node = card(place, "What a saved second costs", "point at a corner for its split");
  const tip = element("div", "tip");
  tip.hidden = true;
  chart = drawFront(node, data, (index, u) => tell(tip, index, u));
  chart.root.querySelector(".u-wrap").append(tip);
  const fill = colourOfWay(data.ways);
  for (const swatch of document.querySelectorAll("[data-way]")) {
    swatch.style.background = fill(data.ways[swatch.dataset.way]);
  }
}

theme(render);
render();

let width = innerWidth;
addEventListener("resize", () => {
  // A phone changes the height whenever its address bar hides.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(render);
});
