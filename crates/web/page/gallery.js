// What a comparison can start from: the shipped scenarios, and the papers' claims that one command checks.

const CLAIM = "claim ";

/** The claims that this page can check, with their verdicts. */
function claims() {
  return JSON.parse(at("claims").textContent);
}

function shippedOne(library, name) {
  const found = library.scenarios.find(scenario => scenario.name === name);
  return found && { name, original: name, toml: found.toml, traces: {}, policies: "", seeds: null };
}

/** The comparison of an entry, and the claim that it checks, if it does. `ask` sends a request to the simulator. */
async function chosen(library, value, ask) {
  if (!value.startsWith(CLAIM)) return { state: shippedOne(library, value), claim: null };
  const claim = claims().find(({ id }) => id === value.slice(CLAIM.length));
  const { scenario, policies, seeds, variant, set } = claim;
  const toml = await ask({ do: "changed", scenario, variant, set });
  return { state: { ...shippedOne(library, scenario), toml, policies, seeds }, claim };
}

/** The entries by folder: everyday scenarios first, then claims, then the others. */
function showGallery(box, library) {
  const groups = new Map();
  const add = (label, value, text) => {
    const group = groups.get(label) ?? make("optgroup", { label });
    group.append(make("option", { value, textContent: text }));
    groups.set(label, group);
  };
  for (const { name, title } of library.scenarios) {
    if (!name.includes("/")) add("Everyday", name, title);
  }
  for (const { id, claim } of claims()) add("The papers' claims", `${CLAIM}${id}`, `${id}: ${claim}`);
  for (const { name, title } of library.scenarios) {
    if (name.includes("/")) add(`Scenarios: ${name.slice(0, name.lastIndexOf("/"))}`, name, title);
  }
  box.replaceChildren(...groups.values());
}

/** What a paper claims, whether it holds, and what to move. */
function showClaim(box, claim, map) {
  box.hidden = claim === null;
  if (claim === null) return;
  const more = claim.comparisons > 1 ? ` This is the first of ${claim.comparisons} comparisons that check it.` : "";
  const verdict = make("p", {}, make("strong", { textContent: claim.sentence }));
  const button = make("button", { type: "button", textContent: "Map where it holds" });
  button.addEventListener("click", map);
  const hint = "Move the loss, see where it holds.";
  const open = claim.deciding.length ? `${hint} Of what the paper leaves open, this decides: ${claim.deciding.join(", ")}.` : hint;
  box.replaceChildren(
    make("p", { textContent: `The paper (${claim.source}) claims: ${claim.claim}.${more}` }), verdict,
    make("p", { className: "dim", textContent: open }), button);
}
