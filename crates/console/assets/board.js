"use strict";
// Replaces the content every 2 s while the page is visible; it keeps focus and scrolled tables.
const PERIOD_MS = 2000;

const placeOf = node => [...document.querySelectorAll(".scroll")].indexOf(node);

async function renew() {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!answer.ok) throw new Error(String(answer.status));
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("board");
  const focused = placeOf(document.activeElement);
  const scrolled = [...document.querySelectorAll(".scroll")].map(node => node.scrollLeft);
  document.getElementById("board").replaceWith(fresh);
  const boxes = [...document.querySelectorAll(".scroll")];
  boxes.forEach((node, place) => { node.scrollLeft = scrolled[place] ?? 0; });
  boxes[focused]?.focus({ preventScroll: true });
}

setInterval(async () => {
  if (document.hidden || String(getSelection())) return;
  let lost = false;
  try { await renew(); } catch { lost = true; }
  document.getElementById("lost").hidden = !lost;
}, PERIOD_MS);
