// Your own controller: a few rules as text, which the simulator compiles and runs as one more policy.

/** The rules, or null without any. */
function ownRules() {
  const text = at("rules").value;
  return text.trim() ? text : null;
}

/** Whether a list of policies has the own controller, as a policy or as a part of one. */
function hasOwn(policies) {
  const { policy } = page.library.rules;
  return splitList(policies).some(name => name === policy || name.includes(`cc=${policy}`));
}

/** The policies of a comparison: with rules and a list, the own controller is one of them. Without a list the simulator adds it. */
function withOwn(policies, rules) {
  return rules && policies && !hasOwn(policies) ? `${policies},${page.library.rules.policy}` : policies;
}

/** A list of policies without the own controller. */
function withoutOwn(policies) {
  return splitList(policies ?? "").filter(name => !hasOwn(name)).join(",");
}

/** Name of the file for the command line. */
function rulesFile() {
  return `${page.library.rules.policy}.rules`;
}

/** Checks the rules. Throws the mistake, which it shows next to them. */
async function checkOwn(ask) {
  const rules = ownRules();
  at("rules-remove").hidden = rules === null;
  try {
    if (rules) await ask({ do: "rules", text: rules });
    showMistakes(at("rules-problems"), null);
  } catch (error) {
    showMistakes(at("rules-problems"), error, (line, column) => toPlace(at("rules"), line, column));
    throw error;
  }
}

/** Fills the list of rules to start from. `changed` hears of every change. */
function ownPanel(library, changed) {
  const start = at("rules-start");
  start.replaceChildren(
    make("option", { value: "", textContent: "Choose …" }),
    ...library.rules.presets.map(({ name }) => make("option", { value: name, textContent: name })));
  start.addEventListener("change", () => {
    const preset = library.rules.presets.find(({ name }) => name === start.value);
    if (preset) at("rules").value = preset.text;
    changed();
  });
  at("rules").addEventListener("input", () => {
    start.value = "";
    changed();
  });
  at("rules-remove").addEventListener("click", () => {
    at("rules").value = start.value = "";
    changed();
    at("rules").focus();
  });
}
