// Sorts the overview. Limits stay at the bottom.

/** Makes every column sortable. A click puts the largest number or the first name on top. */
function sortable(table) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = element("button");
    button.type = "button";
    const unit = head.querySelector("small");
    button.textContent = head.firstChild.textContent;
    head.replaceChildren(button, ...(unit ? [unit] : []));
    button.addEventListener("click", () => {
      const first = column === 0 ? "ascending" : "descending";
      const second = column === 0 ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      body.append(...[...body.rows].sort((a, b) => sign * byCell(a.cells[column], b.cells[column])));
    });
  });
}

/** Compares numbers by value, with missing ones last, and everything else by text. */
function byCell(a, b) {
  const [left, right] = [a.dataset.sort, b.dataset.sort];
  if (left != null && right != null) return left - right;
  if (left != null || right != null) return left != null ? 1 : -1;
  return a.textContent.localeCompare(b.textContent);
}
