// The page of a search has nothing to draw: its pictures stand in it.

theme(() => {});
scrollHints();
const form = document.getElementById("filter");
filter(form);
followAddress(form);
