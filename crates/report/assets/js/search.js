// The page of a search draws nothing: its pictures are part of the HTML.

theme(() => {});
scrollHints();
const form = document.getElementById("filter");
filter(form);
followAddress(form);
