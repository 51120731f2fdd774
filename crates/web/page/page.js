// The page: one document (name, TOML, traces, policies), its views, and the three questions about it.

const at = id => document.getElementById(id);
const FIRST = "home-wifi-lte";
/** Pause after typing before the text is checked, ms. */
const REST_MS = 300;
/** Time limit of checks, ms. */
const CHECK_MS = 5_000;
/** Seeds of the first answer, so that it comes soon. */
const FIRST_SEEDS = 2;
const MODES = ["compare", "map", "advise"];

const page = {
  library: null,
  desk: null,
  runs: null,
  mode: "compare",
  /** For each mode its panel: question, answer, and what a link keeps. */
  modes: {},
  map: null,
  advise: null,
  /** Shipped scenario from which the text was made. */
  original: null,
  /** The user's own traces by name. */
  traces: {},
  /** Counts changes; a reply to an older one is dropped. */
  change: 0,
  /** By mode: the answer, and the question that it answers. */
  answers: {},
  /** The answer in the frame. */
  framed: null,
};

/** Name of the scenario in results: an edited one is a file. */
function nameOf(toml) {
  const shipped = page.library.scenarios.find(({ name }) => name === page.original);
  if (shipped?.toml === toml) return shipped.name;
  return `${(page.original ?? "scenario").split("/").at(-1)}.toml`;
}

/** Everything that a link holds. */
function state() {
  const toml = at("toml").value;
  const seeds = at("seeds").valueAsNumber;
  return {
    name: nameOf(toml),
    original: page.original,
    toml,
    traces: linked(page.traces),
    policies: at("policies").value.trim(),
    rules: ownRules(),
    seeds: Number.isNaN(seeds) ? null : seeds,
    mode: page.mode,
    map: page.map.saved(),
    advise: page.advise.saved(),
  };
}

/** The library with the JSON schema of scenarios, which is computed when it is first needed. */
async function withSchema() {
  page.library.schema ??= await page.desk.ask({ do: "schema" });
  return page.library;
}

/** The comparison of a document as a request. */
function comparison({ name, original, toml, policies: listed, rules, seeds }) {
  const policies = withOwn(listed, rules);
  const options = { policies: policies || null, seeds };
  const command = asWords(["compare", name], { cc: rules && rulesFile(), ...options });
  const request = { ...options, series: true };
  return { name, original, toml, traces: page.traces, rules, request, command };
}

/** The question of the shown mode as text, to see whether its answer is of now. */
function asked() {
  return JSON.stringify(page.modes[page.mode].question(state()));
}

function say(text) {
  at("state").textContent = text;
}

function isIdle() {
  return at("cancel").hidden;
}

function showStale() {
  const answer = page.answers[page.mode];
  at("stale").hidden = !answer || at("run").disabled || answer.question === asked();
}

/** Checks the document and shows both views of it. */
async function refresh() {
  const mine = ++page.change;
  showGutter();
  showTraces(at("traces"), page.traces, name => {
    delete page.traces[name];
    refresh();
  });
  const isOld = () => mine !== page.change;
  try {
    const form = await page.desk.ask({ do: "form", toml: at("toml").value }, CHECK_MS);
    if (isOld()) return;
    showForm(at("form"), form, page.library, CHANGES);
    page.map.offer(form);
    showStale();
    document.querySelector("[data-copy=rules]").hidden = ownRules() === null;
    if (page.mode === "compare") await checkOwn(request => page.desk.ask(request, CHECK_MS));
    if (isOld()) return;
    checkSeeds();
    const checked = await page.desk.ask({ do: "check", of: comparison(state()) }, CHECK_MS);
    if (isOld()) return;
    at("policies").placeholder = checked.policies.join(",");
    at("seeds").placeholder = String(checked.seeds);
    showOffers(checked.paths);
    await page.modes[page.mode].check?.(checked);
    if (isOld()) return;
    showProblems(null);
    at("run").disabled = !isIdle();
    showStale();
  } catch (error) {
    if (isOld()) return;
    // The advice needs no scenario.
    at("run").disabled = page.mode !== "advise";
    showStale();
    // Mistakes of the rules are shown next to them.
    const isOfRules = at("rules-problems").childElementCount > 0 && page.mode === "compare";
    if (isOfRules) at("own").open = true;
    if (page.mode !== "advise") showProblems(isOfRules ? null : error);
    if (isIdle()) say(page.mode === "advise" ? "" : "Fix the question to get an answer.");
  }
}

function checkSeeds() {
  if (page.mode !== "compare" || at("seeds").checkValidity()) return;
  const message = "seeds are a whole number from 1 to 1000";
  throw new Refused({ message, problems: [{ field: "seeds", message }] });
}

/** `count` and the name of the things, which ends in s. */
function counted(count, things) {
  return `${count} ${count === 1 ? things.replace(/s$/, "") : things}`;
}

/** A change of the document by the simulator's own functions. */
async function changed(request) {
  try {
    at("toml").value = await page.desk.ask({ toml: at("toml").value, ...request }, CHECK_MS);
  } catch (error) {
    showProblems(error);
    return;
  }
  await refresh();
}

const CHANGES = {
  edit: (place, value) => changed({ do: "edit", place, value }),
  remove: (table, index) => changed({ do: "remove", table, index }),
  append: text => {
    at("toml").value = `${at("toml").value.trimEnd()}\n\n${text}`;
    return refresh();
  },
  trace: (place, name, text) => {
    page.traces = { ...page.traces, [name]: text };
    return CHANGES.edit(place, `{ trace = ${JSON.stringify(name)} }`);
  },
  fail: message => showProblems(new Error(message)),
};

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
  const { mode } = page;
  const now = state();
  const question = asked();
  const progress = at("progress");
  at("run").disabled = true;
  at("cancel").hidden = progress.hidden = false;
  const since = performance.now();
  try {
    const answer = await page.modes[mode].answer(JSON.parse(question), (finished, all) => {
      progress.max = all;
      progress.value = finished;
      say(`${finished} of ${counted(all, page.modes[mode].parts)}`);
    });
    page.answers[mode] = { ...answer, question, state: now };
    if (mode === page.mode) showAnswer(page.answers[mode]);
    showProblems(null);
    const took = (performance.now() - since) / 1000;
    say(`${counted(progress.max, page.modes[mode].parts)} in ${took.toFixed(1)} s${answer.failure ? `; failed: ${answer.failure}` : ""}`);
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
  showStale();
}

/** Opens a document. Rules of the user stay, unless it has its own. */
function open({ original, toml, traces, policies, seeds, rules }) {
  page.original = original;
  if (rules !== undefined) at("rules").value = rules ?? "";
  page.traces = traces;
  const options = [...at("gallery").options].map(({ value }) => value);
  if (!at("gallery").value.startsWith(CLAIM)) at("gallery").value = options.includes(original ?? "") ? original : "";
  at("toml").value = toml;
  at("policies").value = policies;
  at("seeds").value = seeds ?? "";
  return refresh();
}

function listen() {
  pictures(at("downloads"), () => at("answer"));
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
  at("gallery").addEventListener("change", async () => {
    const { state: start, claim } = await chosen(page.library, at("gallery").value, request => page.desk.ask(request, CHECK_MS));
    showClaim(at("claim"), claim, () => showMode("map"));
    open(start);
  });
  completing(at("toml"), at("completions"), withSchema, typed);
  ownPanel(page.library, typed);
  tabs(["form", "text"], "tab-", showTab);
  tabs(MODES, "mode-", showMode);
  at("run").addEventListener("click", run);
  at("cancel").addEventListener("click", () => page.runs.cancel());
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(button.dataset.copy));
  }
  const shown = () => page.answers[page.mode];
  at("save-json").addEventListener("click", () => save(shown().json, `${page.modes[page.mode].file}.json`, "application/json"));
  at("save-page").addEventListener("click", async () => {
    save(await withLink(shown()), `${page.modes[page.mode].file}.html`, "text/html");
  });
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
    const { mode, map, advise, original } = link.state;
    const known = page.library.scenarios.some(({ name }) => name === original);
    at("gallery").value = "";
    showClaim(at("claim"), null);
    if (advise) page.advise.load(advise);
    page.mode = MODES.includes(mode) ? mode : "compare";
    showPanels();
    await open({ ...link.state, original: known ? original : null });
    if (map) page.map.load(map);
    return true;
  } catch (error) {
    at("shared").textContent = `${error.message}.`;
    return false;
  }
}
