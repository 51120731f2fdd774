// A chart that the keyboard can read.

/**
 * Makes a chart reachable: arrow keys move its cursor from place to place, Escape takes it away. `leftOf` gives the distance of a
 * place from the left end, `tell` hears where the cursor is. `acts` are further keys.
 */
function plotKeys(u, { count, leftOf, tell, acts = {} }) {
  const { root } = u;
  let at = null;
  root.tabIndex = 0;
  const moveTo = place => {
    at = Math.min(count - 1, Math.max(0, place));
    u.setCursor({ left: leftOf(at), top: u.over.clientHeight / 2 }, true, true);
    tell(at);
  };
  const all = {
    ArrowLeft: event => moveTo((at ?? count) - (event.shiftKey ? 10 : 1)),
    ArrowRight: event => moveTo((at ?? -1) + (event.shiftKey ? 10 : 1)),
    Home: () => moveTo(0),
    End: () => moveTo(count - 1),
    Escape: () => {
      at = null;
      u.setCursor({ left: -10, top: -10 }, true, true);
    },
    ...acts,
  };
  root.addEventListener("keydown", event => {
    const act = all[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event);
  });
  // The next one begins where the pointer or another chart has left the cursor.
  root.addEventListener("focus", () => { at = u.cursor.idx ?? null; });
}

/** Says `text` to those who hear the page. */
function sayLive(id, text) {
  document.getElementById(id).textContent = text;
}
