// The editor of the TOML: line numbers, messages with lines, the tabs of the scenario's views.

/** Mistakes of the question; a click selects the line in the TOML. Those of a field stand below it, too. */
function showProblems(error) {
  showMistakes(at("problems"), error, line => toLine(line));
  for (const input of document.querySelectorAll("#scenario [aria-invalid], #seeds[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
  for (const old of document.querySelectorAll(".mistake")) old.remove();
  for (const { line, field, message, help } of error?.problems ?? []) {
    const input = at(field ?? fieldOf(at("toml").value.split("\n"), line));
    if (!input || input.hasAttribute("aria-invalid")) continue;
    const note = make("p", { id: `${input.id}-mistake`, className: "mistake", textContent: help ? `${message}: ${help}` : message });
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", note.id);
    input.after(note);
  }
}

/** The id of the form's field for the key on this line of the TOML; empty if there is none. Lines count from 1. */
function fieldOf(lines, line) {
  const key = /^\s*([\w-]+)\s*=/.exec(lines[(line ?? 0) - 1] ?? "")?.[1];
  if (!key) return "";
  const headers = lines.slice(0, line).map(text => /^\s*\[\[?\s*([\w.-]+)\s*\]/.exec(text)?.[1]).filter(Boolean);
  const table = headers.at(-1);
  if (table === "device" && key === "preset") return "device";
  if (!table) return key;
  const index = headers.filter(name => name === table).length - 1;
  return table === "workload" ? `workload-${key}` : `${table}-${index}-${key}`;
}

/** Messages in `box`; a click on a line calls `jump(line, column)`. */
function showMistakes(box, error, jump) {
  if (!error) {
    box.replaceChildren();
    return;
  }
  const items = (error.problems?.length ? error.problems : [{ message: error.message, help: error.help }]).map(problem => {
    const item = make("li");
    if (problem.line) {
      const go = make("button", { type: "button", textContent: `Line ${problem.line}, column ${problem.column}` });
      go.addEventListener("click", () => jump(problem.line, problem.column));
      item.append(go);
    }
    item.append(make("p", { textContent: problem.message }));
    if (problem.help) item.append(make("p", { textContent: problem.help }));
    return item;
  });
  box.replaceChildren(make("ol", {}, ...items.slice(0, 20)));
}

/** Puts the cursor of a text area at a place. Lines and columns count from 1. */
function toPlace(area, line, column) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  // A column is a character, which has one or two units of a string.
  const before = [...(lines[line - 1] ?? "")].slice(0, column - 1).join("");
  area.focus();
  area.setSelectionRange(start + before.length, start + (lines[line - 1] ?? "").length);
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

/** Shows one of two panels with tabs. */
function showTab(name) {
  choose(["form", "text"], name, tab => tab, "tab-");
  if (name === "text") showGutter();
}

/** Shows the panel of one tab and hides those of the others. */
function choose(names, chosen, panel, prefix) {
  for (const name of names) {
    at(panel(name)).hidden = name !== chosen;
    at(`${prefix}${name}`).setAttribute("aria-selected", String(name === chosen));
    at(`${prefix}${name}`).tabIndex = name === chosen ? 0 : -1;
  }
}

/** Tabs by mouse and by arrow keys. */
function tabs(names, prefix, show) {
  names.forEach((name, place) => {
    at(`${prefix}${name}`).addEventListener("click", () => show(name));
    at(`${prefix}${name}`).addEventListener("keydown", event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const other = names[(place + step + names.length) % names.length];
      show(other);
      at(`${prefix}${other}`).focus();
    });
  });
}
