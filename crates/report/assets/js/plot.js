// Keyboard access to charts.

/**
 * Makes a chart focusable: arrow keys move its cursor from place to place, Escape hides it. `leftOf` returns the
 * distance of a place from the left end, `tell` receives the cursor's place, `acts` are further keys.
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
  // Starts at the cursor's position from the pointer or another chart.
  root.addEventListener("focus", () => { at = u.cursor.idx ?? null; });
}

/** Announces `text` to screen readers. */
function sayLive(id, text) {
  document.getElementById(id).textContent = text;
}
