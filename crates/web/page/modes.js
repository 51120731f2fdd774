// The three questions: compare policies, map two keys, which radio for a file. And the start of the page.

/** Pause after a slider moved before its answer is computed, ms. */
const SLIDER_MS = 120;

/** By mode: name of the button, of the parts of an answer and of its files; question, check and answer. */
function modes() {
  const idle = text => {
    if (isIdle()) say(text);
  };
  return {
    compare: {
      label: "Compare", parts: "runs", file: "comparison", question: comparison,
      check: async ({ runs, duration_s }) => idle(`${runs.length} runs of ${duration_s} s`),
      answer: (of, tell) => compare(page.runs, of, tell),
    },
    map: {
      label: "Draw the map", parts: "parts", file: "map", question: now => page.map.question({ ...now, traces: page.traces }),
      check: async () => {
        const { points, notes } = await page.desk.ask({ do: "map-check", of: page.modes.map.question(state()) }, CHECK_MS);
        idle([`${points} points.`, ...notes].join(" "));
      },
      answer: (of, tell) => drawMap(page.runs, of, tell),
    },
    advise: { label: "Advise", parts: "answers", file: "advice", question: () => page.advise.question() },
  };
}

/** Answers the sliders. A newer change drops an older answer. */
async function adviseNow() {
  const mine = ++page.change;
  const now = state();
  const question = asked();
  try {
    const answer = await page.desk.ask({ do: "advise", of: JSON.parse(question) }, CHECK_MS);
    if (mine !== page.change) return;
    page.answers.advise = { ...answer, question, state: now };
    page.advise.tell(answer);
    showProblems(null);
    showAnswer(page.answers.advise);
    showStale();
    say("");
  } catch (error) {
    if (mine === page.change) showProblems(error);
  }
}

/** Opens the scenario of an advice as a comparison. */
async function compareAdvice(toml) {
  at("gallery").value = "";
  showClaim(at("claim"), null);
  page.mode = "compare";
  showPanels();
  at("mode-compare").focus();
  await open({ name: "scenario.toml", original: null, toml, traces: {}, policies: "", seeds: FIRST_SEEDS });
  if (!at("run").disabled) await run();
}

function showPanels() {
  const { mode } = page;
  choose(MODES, mode, name => name, "mode-");
  at("scenario").hidden = mode === "advise";
  at("run").hidden = mode === "advise";
  // The axes of a map come soon after the choice of the scenario.
  at("document").open = mode === "compare";
  at("packets").hidden = mode !== "compare";
  document.querySelector("[data-copy=toml]").hidden = mode === "advise";
  at("run").textContent = at("again").textContent = page.modes[mode].label;
  showProblems(null);
  showAnswer(page.answers[mode]);
  showStale();
}

async function showMode(mode) {
  if (!isIdle()) page.runs.cancel();
  page.mode = mode;
  showPanels();
  await (mode === "advise" ? adviseNow() : refresh());
}

async function begin() {
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
  at("build").textContent = `Joulepath ${version}, commit ${commit}. Controllers in C or Python and the kernel engine run on the command line.`;
  showGallery(at("gallery"), page.library);
  let timer = 0;
  const later = (pause, act) => () => {
    clearTimeout(timer);
    timer = setTimeout(act, pause);
  };
  page.map = new MapPanel(at("map"), page.library.metrics, later(REST_MS, () => refresh()));
  page.advise = new AdvisePanel(at("advise"), page.library, later(SLIDER_MS, () => adviseNow()), compareAdvice);
  page.modes = modes();
  listen();
  at("gallery").value = FIRST;
  if (!await openLink()) {
    at("gallery").value = FIRST;
    await open({ ...shippedOne(page.library, FIRST), seeds: FIRST_SEEDS });
  }
  if (page.mode === "advise") await adviseNow();
  else if (!at("run").disabled) await run();
}

begin();
