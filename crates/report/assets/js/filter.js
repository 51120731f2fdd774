// Which experiments are shown.

/** Shows what the form's lists choose. */
function filter(form) {
  const items = [...document.querySelectorAll("[data-paper]")];
  const rows = items.filter(item => item.tagName === "TR");
  const apply = () => {
    const { paper, verdict } = form.elements;
    for (const item of items) {
      const fits = list => list.value === "" || item.dataset[list.name] === list.value;
      item.hidden = !(fits(paper) && fits(verdict));
    }
    const count = rows.filter(row => !row.hidden).length;
    form.querySelector("output").textContent = count === rows.length ? "" : `${count} of ${rows.length} experiments`;
  };
  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("submit", event => event.preventDefault());
  // The lists have their first values only after the event.
  form.addEventListener("reset", () => setTimeout(apply));
  // A page that is shown again may keep its lists.
  apply();
}
