// The page: one document (name, TOML, policies, seeds), its two views, and the answer.

const at = id => document.getElementById(id);
const FIRST = "home-wifi-lte";
/** Pause after typing before the text is checked, ms. */
const REST_MS = 300;
/** Time limit of checks, ms. */
const CHECK_MS = 5_000;
/** Seeds of the first answer, so that it comes soon. */
const FIRST_SEEDS = 2;

const page = {
  library: null,
  desk: null,
  runs: null,
  /** Shipped scenario from which the text was made. */
  original: null,
  /** Counts changes; a reply to an older one is dropped. */
  change: 0,
  /** The comparison that is shown. */
  shown: null,
};

/** Name of the scenario in results: an edited one is a file. */
function nameOf(toml) {
  const shipped = page.library.scenarios.find(({ name }) => name === page.original);
  if (shipped?.toml === toml) return shipped.name;
  return `${(page.original ?? "scenario").split("/").at(-1)}.toml`;
}

function state() {
  const toml = at("toml").value;
  const seeds = Number.parseInt(at("seeds").value, 10);
  return {
    name: nameOf(toml),
    original: page.original,
    toml,
    policies: at("policies").value.trim(),
    seeds: seeds > 0 ? seeds : null,
  };
}

/** The comparison of a document as a request. */
function comparison({ name, original, toml, policies, seeds }) {
  const command = asCommand({ name, policies, seeds });
  return { name, original, toml, policies: policies || null, seeds, first_seed: 1, series: true, command };
}

function say(text) {
  at("state").textContent = text;
}

/** Messages with lines; a click selects the line. */
function showProblems(error) {
  const box = at("problems");
  if (!error) {
    box.replaceChildren();
    return;
  }
  const items = (error.problems?.length ? error.problems : [{ message: error.message, help: error.help }]).map(problem => {
    const item = make("li");
    if (problem.line) {
      const jump = make("button", { type: "button", textContent: `Line ${problem.line}` });
      jump.addEventListener("click", () => toLine(problem.line));
      item.append(jump);
    }
    item.append(make("p", { textContent: problem.message }));
    if (problem.help) item.append(make("p", { textContent: problem.help }));
    return item;
  });
  box.replaceChildren(make("ol", {}, ...items.slice(0, 20)));
}

function toLine(line) {
  showTab("text");
  const text = at("toml");
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  const height = text.scrollHeight / Math.max(lines.length, 1);
  text.scrollTop = Math.max(0, (line - 4) * height);
}

function showGutter() {
  const count = at("toml").value.split("\n").length;
  at("gutter").textContent = Array.from({ length: count }, (_, index) => index + 1).join("\n");
  at("gutter").scrollTop = at("toml").scrollTop;
}

/** Checks the document and shows both views of it. */
async function refresh() {
  const mine = ++page.change;
  showGutter();
  at("stale").hidden = page.shown === null || page.shown === JSON.stringify(state());
  const isOld = () => mine !== page.change;
  try {
    const form = await page.desk.ask({ do: "form", toml: at("toml").value }, CHECK_MS);
    if (isOld()) return;
    showForm(at("form"), form, page.library, edit);
    const checked = await page.desk.ask({ do: "check", of: comparison(state()) }, CHECK_MS);
    if (isOld()) return;
    at("policies").placeholder = checked.policies.join(",");
    at("seeds").placeholder = String(checked.seeds);
    showOffers(checked.paths);
    showProblems(null);
    at("run").disabled = false;
    if (at("cancel").hidden) say(`${checked.runs.length} runs of ${checked.duration_s} s`);
  } catch (error) {
    if (isOld()) return;
    at("run").disabled = true;
    showProblems(error);
    if (at("cancel").hidden) say("Fix the scenario to compare.");
  }
}

async function edit(place, value) {
  try {
    at("toml").value = await page.desk.ask({ do: "edit", toml: at("toml").value, place, value }, CHECK_MS);
  } catch (error) {
    showProblems(error);
    return;
  }
  await refresh();
}

/** Check boxes of the policies, in step with the list. */
function showOffers(paths) {
  const box = at("offers");
  const listed = splitList(at("policies").value);
  const offers = page.library.policies.flatMap(policy =>
    policy.name === "single:PATH" ? paths.map(path => ({ ...policy, name: `single:${path}` })) : [policy]);
  const focused = document.activeElement?.dataset?.policy;
  box.replaceChildren(...offers.map(({ name, summary }) => {
    const tick = make("input", { type: "checkbox", checked: listed.includes(name) });
    tick.dataset.policy = name;
    tick.addEventListener("change", () => {
      const others = splitList(at("policies").value).filter(other => other !== name);
      at("policies").value = (tick.checked ? [...others, name] : others).join(",");
      refresh();
    });
    return make("label", {}, tick, make("span", {}, `${name} `, make("small", { textContent: summary })));
  }));
  if (focused) box.querySelector(`[data-policy="${CSS.escape(focused)}"]`)?.focus();
}

/** Policies of a list; commas inside brackets separate options. */
function splitList(text) {
  const parts = text.match(/(?:\[[^\]]*\]|[^,[])+/g) ?? [];
  return parts.map(part => part.trim()).filter(Boolean);
}

async function run() {
  const of = comparison(state());
  const asked = JSON.stringify(state());
  const progress = at("progress");
  at("run").disabled = true;
  at("cancel").hidden = progress.hidden = false;
  const since = performance.now();
  try {
    const answer = await compare(page.runs, of, (finished, all) => {
      progress.max = all;
      progress.value = finished;
      say(`${finished} of ${all} runs`);
    });
    page.shown = asked;
    page.answer = answer;
    showAnswer(answer.html);
    showProblems(null);
    const took = (performance.now() - since) / 1000;
    say(`${progress.max} runs in ${took.toFixed(1)} s`);
  } catch (error) {
    if (error instanceof Cancelled) {
      say("Cancelled.");
    } else {
      say(`Failed: ${error.message}.`);
      if (error instanceof Refused) showProblems(error);
    }
  }
  at("cancel").hidden = progress.hidden = true;
  at("run").disabled = false;
  at("stale").hidden = page.shown === null || page.shown === JSON.stringify(state());
}

/** The report's page, in a frame that has no access to this one and runs only the report's own scripts. */
function showAnswer(html) {
  const frame = at("answer");
  const style = `<style>${EMBEDDED_STYLE}</style>`;
  const end = html.lastIndexOf("</body>");
  frame.hidden = at("downloads").hidden = false;
  frame.srcdoc = `${html.slice(0, end)}${style}<script>${EMBEDDED_SCRIPT}<\/script>${html.slice(end)}`;
}

addEventListener("message", event => {
  const height = event.data?.height;
  if (event.source !== at("answer").contentWindow || typeof height !== "number") return;
  at("answer").style.height = `${Math.min(Math.max(height, 200), 100_000)}px`;
});

function save(text, name, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const COPIES = {
  command: async now => asCommand(now),
  python: async now => asPython(now),
  toml: async now => now.toml,
  link: async now => location.href.replace(/#.*/, "") + await toFragment(page.library.version, now),
};

async function copy(kind) {
  const now = state();
  const text = await COPIES[kind](now);
  if (kind === "link") history.replaceState(null, "", text.slice(text.indexOf("#")));
  const file = now.name.endsWith(".toml") && (kind === "command" || kind === "python");
  const hint = file ? ` It reads the TOML from the file ${now.name}.` : "";
  try {
    await navigator.clipboard.writeText(text);
    at("shared").textContent = `Copied.${hint}`;
  } catch {
    at("shared").textContent = `${text}${hint}`;
  }
}

function showTab(name) {
  for (const tab of ["form", "text"]) {
    const isShown = tab === name;
    at(tab).hidden = !isShown;
    at(`tab-${tab}`).setAttribute("aria-selected", String(isShown));
    at(`tab-${tab}`).tabIndex = isShown ? 0 : -1;
  }
  if (name === "text") showGutter();
}

function open({ name, original, toml, policies, seeds }) {
  page.original = original;
  at("gallery").value = original ?? "";
  at("toml").value = toml;
  at("policies").value = policies;
  at("seeds").value = seeds ?? "";
  return refresh();
}

function shipped(name) {
  const found = page.library.scenarios.find(scenario => scenario.name === name);
  return { name, original: name, toml: found.toml, policies: "", seeds: null };
}

/** The shipped scenarios by folder. */
function showGallery() {
  const groups = new Map();
  for (const { name, title } of page.library.scenarios) {
    const folder = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "everyday";
    const group = groups.get(folder) ?? make("optgroup", { label: folder });
    group.append(make("option", { value: name, textContent: title }));
    groups.set(folder, group);
  }
  const order = [...groups].sort(([a], [b]) => Number(b === "everyday") - Number(a === "everyday") || a.localeCompare(b));
  at("gallery").replaceChildren(...order.map(([, group]) => group));
}

function listen() {
  pictures(at("downloads"), at("answer"));
  packetView(at("packets"), () => page.runs, () => comparison(state()));
  let timer = 0;
  const typed = () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, REST_MS);
    showGutter();
  };
  at("toml").addEventListener("input", typed);
  at("toml").addEventListener("scroll", () => { at("gutter").scrollTop = at("toml").scrollTop; });
  for (const id of ["policies", "seeds"]) at(id).addEventListener("input", typed);
  at("gallery").addEventListener("change", () => open(shipped(at("gallery").value)));
  for (const tab of ["form", "text"]) {
    at(`tab-${tab}`).addEventListener("click", () => showTab(tab));
    at(`tab-${tab}`).addEventListener("keydown", event => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = tab === "form" ? "text" : "form";
      showTab(other);
      at(`tab-${other}`).focus();
    });
  }
  at("run").addEventListener("click", run);
  at("cancel").addEventListener("click", () => page.runs.cancel());
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(button.dataset.copy));
  }
  at("save-json").addEventListener("click", () => save(page.answer.json, "comparison.json", "application/json"));
  at("save-page").addEventListener("click", () => save(page.answer.html, "comparison.html", "text/html"));
  addEventListener("hashchange", openLink);
}

/** Opens the comparison of the address; false if it holds none. */
async function openLink() {
  try {
    const link = await fromFragment(location.hash);
    if (!link) return false;
    const { version } = page.library;
    at("shared").textContent = link.version === version ? ""
      : `This link was made with Joulepath ${link.version.slice(0, 20)}; this is ${version}: numbers can differ.`;
    const known = page.library.scenarios.some(({ name }) => name === link.state.original);
    await open({ ...link.state, original: known ? link.state.original : null });
    return true;
  } catch (error) {
    at("shared").textContent = `${error.message}.`;
    return false;
  }
}

async function begin() {
  listen();
  try {
    const module = await compiled();
    page.desk = new Pool(module, 1);
    page.runs = new Pool(module, Math.min(navigator.hardwareConcurrency || 2, MOST_WORKERS));
    page.library = await page.desk.ask({ do: "library" });
  } catch (error) {
    say(`This browser cannot run the simulator: ${error.message}.`);
    return;
  }
  const { version, commit } = page.library;
  at("build").textContent = `Joulepath ${version}, commit ${commit}. Own controllers and the kernel engine need the command line.`;
  showGallery();
  if (!await openLink()) await open({ ...shipped(FIRST), seeds: FIRST_SEEDS });
  if (!at("run").disabled) await run();
}

begin();
