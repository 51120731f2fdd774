// Sets up whatever a page has.

theme();
scrollHints();
const peers = [];
for (const plot of document.querySelectorAll(".plot[data-x]")) {
  const chart = lines(plot, peers);
  if (plot.dataset.top) peers.push(chart);
}
for (const plot of document.querySelectorAll(".plot:has([data-tip])")) dots(plot);
const maps = document.querySelectorAll(".heat");
const data = JSON.parse(document.getElementById("data").textContent);
for (const map of maps) cells(map, data);
const series = document.getElementById("series");
if (peers.length) pickers(document.getElementById("pickers"), series, peers);
const overview = document.getElementById("overview");
if (overview) sortable(overview);
const form = document.getElementById("filter");
if (form) {
  filter(form);
  followAddress(form);
}
