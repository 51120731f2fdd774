// Selects the experiments to show and to unfold.

/** Applies the form's filters; links of the index set paper and verdict. */
function filter(form) {
  const items = [...document.querySelectorAll(".experiment")];
  const papers = [...document.querySelectorAll(".paper")];
  const { text, paper, verdict, engine } = form.elements;
  const lists = [...form.querySelectorAll("select")].filter(list => list !== engine);
  const what = form.dataset.what ?? "experiments";
  const texts = new Map(items.map(item => [item, item.querySelector("summary").textContent.toLowerCase()]));
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(word => word);
    const fits = item => lists.every(list => !list.value || item.dataset[list.name] === list.value)
      && (!engine?.value || item.dataset.engine.split(" ").includes(engine.value))
      && words.every(word => texts.get(item).includes(word));
    for (const item of items) item.hidden = !fits(item);
    for (const group of papers) group.hidden = !group.querySelector(".experiment:not([hidden])");
    const count = items.filter(item => !item.hidden).length;
    form.querySelector("output").textContent = count === items.length ? "" : `${count} of ${items.length} ${what}`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  // The lists have their initial values only after the event.
  form.addEventListener("reset", () => setTimeout(apply));
  for (const button of form.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => {
      for (const item of items) if (!item.hidden) item.open = button.dataset.fold === "open";
    });
  }
  for (const link of document.querySelectorAll("[data-choose-paper]")) {
    // Without scripts, the link leads to the first experiment.
    link.addEventListener("click", event => {
      event.preventDefault();
      form.reset();
      paper.value = link.dataset.choosePaper;
      verdict.value = link.dataset.chooseVerdict;
      apply();
      document.getElementById("scoreboard").scrollIntoView();
    });
  }
  // A page that is shown again may keep its filters.
  apply();
}

/** Shows and unfolds the experiment in the address. */
function followAddress(form) {
  const follow = () => {
    const item = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!item?.matches(".experiment")) return;
    if (item.hidden) form.reset();
    item.open = true;
    // Unfolding above it has moved it.
    setTimeout(() => item.scrollIntoView());
  };
  addEventListener("hashchange", follow);
  follow();
}
