// Completion of keys and values in the TOML, from the scenario's JSON schema and what is shipped.

/** Most entries of the list. */
const MOST_COMPLETIONS = 60;

/** The schemas that a node stands for: behind references, alternatives, and the items of arrays. */
function alternatives(root, node, depth = 0) {
  if (!node || depth > 8) return [];
  if (node.$ref) {
    const target = root.$defs[node.$ref.split("/").at(-1)];
    return alternatives(root, target, depth + 1).map(found => ({ description: node.description ?? target.description, ...found }));
  }
  const parts = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])];
  const inner = parts.flatMap(part => alternatives(root, part, depth + 1));
  const items = node.items ? alternatives(root, node.items, depth + 1) : [];
  return [node, ...inner, ...items];
}

/** Keys and their schemas of the table with this path, such as ["path", "up"]. */
function keysOf(root, table) {
  let nodes = [root];
  for (const name of table) {
    nodes = nodes.flatMap(node => alternatives(root, node.properties?.[name]));
  }
  const keys = {};
  for (const [name, node] of nodes.flatMap(({ properties }) => Object.entries(properties ?? {}))) {
    // Tables of several kinds share keys, such as `kind`.
    keys[name] = keys[name] ? { description: keys[name].description, anyOf: [keys[name], node] } : node;
  }
  return keys;
}

/** The table in which a place of the text is. */
function tableAt(text, offset) {
  const headers = [...text.slice(0, offset).matchAll(/^[ \t]*\[\[?[ \t]*([\w.-]+)[ \t]*\]\]?/gm)];
  return headers.length ? headers.at(-1)[1].split(".") : [];
}

/** Headers of tables: those of the schema, and the tables within them. */
function headers(root) {
  const all = [];
  for (const [name, node] of Object.entries(root.properties)) {
    const parts = alternatives(root, node);
    if (!parts.some(part => part.properties)) continue;
    const isArray = node.type === "array";
    all.push({ text: isArray ? `[[${name}]]` : `[${name}]`, help: node.description ?? "" });
    for (const [inner, below] of Object.entries(keysOf(root, [name]))) {
      if (below.$ref && alternatives(root, below).some(part => part.properties)) {
        all.push({ text: `[${name}.${inner}]`, help: below.description ?? "" });
      }
    }
  }
  return all;
}

/** Values of a key: words of the schema, examples, and names that are shipped or in the text. */
function valuesOf(root, library, text, table, key) {
  const nodes = alternatives(root, keysOf(root, table)[key]);
  const words = nodes.flatMap(node => [...(node.enum ?? []), ...("const" in node ? [node.const] : []), ...(node.examples ?? [])]);
  const named = list => list.map(({ name, summary }) => ({ text: JSON.stringify(name), help: summary }));
  const paths = [...text.matchAll(/^\[\[path\]\][^[]*?^name[ \t]*=[ \t]*"([^"\n]*)"/gm)].map(([, name]) => name);
  const known = {
    energy: () => named(library.profiles),
    preset: () => named(library.devices),
    policies: () => named(library.policies),
    path: () => paths.map(name => ({ text: JSON.stringify(name), help: "a path of this scenario" })),
    paths: () => paths.map(name => ({ text: JSON.stringify(name), help: "a path of this scenario" })),
  }[key];
  const toggles = nodes.some(node => node.type === "boolean") ? [true, false] : [];
  const texts = [...new Set([...words, ...toggles])].map(word => ({ text: JSON.stringify(word), help: "" }));
  return [...(known ? known() : []), ...texts];
}

/** What can stand at the cursor: the start of the word that it replaces, and the entries. */
function completions(library, text, offset) {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  const root = library.schema;
  const table = tableAt(text, offset - line.length);
  const pick = (typed, entries) => {
    const wanted = typed.toLowerCase();
    const is = ({ text: entry }) => entry.toLowerCase().replace(/^["[]+/, "").startsWith(wanted.replace(/^["[]+/, ""));
    return { from: offset - typed.length, entries: entries.filter(is).slice(0, MOST_COMPLETIONS) };
  };
  const header = /^[ \t]*(\[\[?[\w.-]*)$/.exec(line);
  if (header) return pick(header[1], headers(root));
  const value = /^[ \t]*([\w-]+)[ \t]*=[ \t]*(?:\[.*[[,][ \t]*|\[[ \t]*)?("[^"]*|[\w-]*)$/.exec(line);
  if (value) return pick(value[2], valuesOf(root, library, text, table, value[1]));
  // Within a list over several lines.
  const list = /^[ \t]*("[^"]*)$/.exec(line);
  const opened = list && [...text.slice(0, offset).matchAll(/^[ \t]*([\w-]+)[ \t]*=[ \t]*\[/gm)].at(-1);
  if (opened) return pick(list[1], valuesOf(root, library, text, table, opened[1]));
  const key = /^[ \t]*([\w-]*)$/.exec(line);
  if (!key) return { from: offset, entries: [] };
  const keys = Object.entries(keysOf(root, table)).filter(([, node]) => !isHeaderOnly(root, node));
  const entries = keys.map(([name, node]) => ({ text: `${name} = `, help: node.description ?? "" }));
  return pick(key[1], table.length ? entries : [...entries, ...headers(root)]);
}

/** Whether a key is written as a header of its own: each of its values is a table, or a list of tables. */
function isHeaderOnly(root, node) {
  const values = alternatives(root, node).filter(({ type }) => type && type !== "null" && type !== "array");
  return values.length > 0 && values.every(({ properties }) => properties);
}

/**
 * Adds completion to a text area. `list` is an element with the role listbox; `library` gives the library with its schema; `changed`
 * hears of an inserted entry.
 */
function completing(area, list, library, changed) {
  let shown = { from: 0, entries: [] };
  let active = -1;
  const close = () => {
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  };
  const mark = place => {
    active = place;
    [...list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === place)));
    area.setAttribute("aria-activedescendant", `completion-${place}`);
    list.children[place].scrollIntoView({ block: "nearest" });
  };
  const accept = place => {
    const { text } = shown.entries[place];
    const end = area.selectionStart;
    // A quote that the editor's user typed ahead is not written twice.
    const quote = text.endsWith('"') && area.value[end] === '"' ? 1 : 0;
    close();
    area.focus();
    area.setRangeText(text, shown.from, end + quote, "end");
    changed();
  };
  const show = async isAsked => {
    const known = await library();
    if (document.activeElement !== area) return;
    shown = completions(known, area.value, area.selectionStart);
    const typed = area.selectionStart - shown.from;
    const isDone = shown.entries.length === 1 && shown.entries[0].text.trim() === area.value.slice(shown.from, area.selectionStart);
    if (!shown.entries.length || isDone || (!isAsked && typed < 2)) {
      close();
      return;
    }
    list.replaceChildren(...shown.entries.map(({ text, help }, index) => {
      const item = make("li", { id: `completion-${index}` }, make("code", { textContent: text }), make("span", { textContent: help }));
      item.setAttribute("role", "option");
      item.addEventListener("mousedown", event => event.preventDefault());
      item.addEventListener("click", () => accept(index));
      return item;
    }));
    list.hidden = false;
    mark(0);
  };
  area.setAttribute("aria-controls", list.id);
  area.addEventListener("keydown", event => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      show(true);
      return;
    }
    if (list.hidden) return;
    const count = shown.entries.length;
    const acts = {
      ArrowDown: () => mark((active + 1) % count),
      ArrowUp: () => mark((active + count - 1) % count),
      Enter: () => accept(active),
      Tab: () => accept(active),
      Escape: close,
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
  area.addEventListener("input", event => {
    if (event.inputType === "insertText" || event.inputType === "deleteContentBackward") show(false);
  });
  area.addEventListener("blur", close);
}
