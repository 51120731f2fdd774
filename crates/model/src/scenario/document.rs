//! The text of a scenario as a TOML tree with positions, and overrides of single keys.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Problems, suggest};
use super::read::Node;

/// The text of a scenario, followed by one line `key = value` for each override, so that problems
/// with an override also have a position.
pub(super) struct Document {
    /// The text that spans refer to.
    pub(super) text: String,
    written: usize,
    overrides: Vec<OverrideLine>,
}

/// An override as a line of the text.
struct OverrideLine {
    /// The line, preceded by as many blanks as there are bytes before it: its spans are then right
    /// for the whole text.
    padded: String,
    /// First byte of the line.
    start: usize,
    /// Number of parts of the dotted key; 0 if the key is malformed.
    depth: usize,
}

impl Document {
    /// Appends overrides to a text.
    pub(super) fn new(text: &str, overrides: &[(String, String)]) -> Self {
        let mut document = Document {
            text: text.to_owned(),
            written: text.len(),
            overrides: Vec::new(),
        };
        for (key, value) in overrides {
            document.append(key, value);
        }
        document
    }

    fn append(&mut self, key: &str, value: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let start = self.text.len();
        let depth = leaf_depth(&format!("{key} = 0")).unwrap_or(0);
        let bare = format!("{key} = {value}");
        // A shell has removed the quotes of `--set duration="10 s"`: text that is not TOML is taken
        // as a string.
        let is_toml = leaf_depth(&bare).is_some_and(|leaf| leaf >= depth);
        self.text.push_str(&if is_toml {
            bare
        } else {
            format!("{key} = {}", quoted(value))
        });
        let padded = " ".repeat(start) + &self.text[start..];
        self.overrides.push(OverrideLine {
            padded,
            start,
            depth,
        });
    }

    /// The tree with the overrides applied; `None` if the text is not TOML.
    pub(super) fn parse(&self, out: &mut Problems) -> Option<Node<'_>> {
        let (root, errors) = DeTable::parse_recoverable(&self.text[..self.written]);
        if !errors.is_empty() {
            for error in errors.iter().take(MOST_SYNTAX_ERRORS) {
                let span = error.span().unwrap_or(0..0);
                match bare_text(error.message(), &self.text[span.clone()]) {
                    Some((message, help)) => out.note_with_help(&span, message, help),
                    None => out.note(&span, error.message()),
                }
            }
            return None;
        }
        let mut root = root.into_inner();
        for line in &self.overrides {
            let Some((keys, value)) = line.parse(out) else {
                continue;
            };
            match of_a_connection(&root, &keys) {
                Some((message, help)) => out.note_with_help(&keys[0].span(), message, help),
                None => set_in_table(&mut root, &keys, value, out),
            }
        }
        // A missing top-level key has no position of its own: point to the start instead of to the
        // whole text.
        Some(Spanned::new(0..0, DeValue::Table(root)))
    }
}

/// Syntax errors of one text that are reported; a file that is not TOML has hundreds.
const MOST_SYNTAX_ERRORS: usize = 3;

/// Message and fix, if a syntax error is a text without quotes.
fn bare_text(message: &str, written: &str) -> Option<(String, String)> {
    let is_bare = ["string values must be quoted", "invalid boolean"];
    if !is_bare.iter().any(|start| message.starts_with(start)) {
        return None;
    }
    let written = written.trim_matches(['“', '”', '„', '‘', '’', '\'', '"']);
    let message = format!("`{written}` is not a number, true or false, and not in quotes");
    let help = match written.to_lowercase().as_str() {
        "yes" | "true" => "write true".into(),
        "no" | "false" => "write false".into(),
        _ => format!("put text in straight quotes: {}", quoted(written)),
    };
    Some((message, help))
}

/// Message and fix, if an override sets a key of a table that the scenario does not have, but its
/// connections do.
fn of_a_connection(root: &DeTable<'_>, keys: &[Key]) -> Option<(String, String)> {
    let [table, .., _] = keys else { return None };
    let table = table.get_ref().as_str();
    if root.contains_key(table) {
        return None;
    }
    let connections = root.get("connection")?.get_ref().as_array()?;
    let owner = connections
        .iter()
        .find(|item| item.get_ref().get(table).is_some())?;
    let owner = name_of(owner)?;
    let rest: Vec<_> = keys.iter().map(|key| key.get_ref().as_str()).collect();
    Some((
        format!("there is no [{table}]: the connection `{owner}` has its own"),
        format!("set `connection.{owner}.{}`", rest.join(".")),
    ))
}

/// One part of a dotted key.
type Key = Spanned<String>;

impl OverrideLine {
    /// Key and value, with their positions in the text.
    fn parse(&self, out: &mut Problems) -> Option<(Vec<Key>, Node<'_>)> {
        let parsed = if self.depth == 0 {
            None
        } else {
            DeTable::parse(&self.padded).ok()
        };
        let Some(parsed) = parsed else {
            let message = "this override is not a key and a value";
            let help = "write for example workload.size=\"16 kB\"";
            out.note_with_help(&(self.start..self.padded.len()), message, help);
            return None;
        };
        let mut node = Spanned::new(parsed.span(), DeValue::Table(parsed.into_inner()));
        let mut keys = Vec::new();
        for _ in 0..self.depth {
            let DeValue::Table(table) = node.into_inner() else {
                return None;
            };
            let (key, value) = table.into_iter().next()?;
            keys.push(Spanned::new(key.span(), key.into_inner().into_owned()));
            node = value;
        }
        Some((keys, node))
    }
}

/// Number of keys that lead to the only leaf of a document; `None` if it is not TOML or has several
/// leaves.
fn leaf_depth(text: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut depth = 0;
    loop {
        let (_, value) = table.iter().next()?;
        if table.len() != 1 {
            return None;
        }
        depth += 1;
        match value.get_ref().as_table() {
            Some(inner) if inner.len() == 1 => table = inner,
            _ => return Some(depth),
        }
    }
}

/// The place in a document that an override's key names: the parts of the key without quotes, with
/// the index of a list's element in place of its name. `None` for a malformed key.
pub(super) fn place(text: &str, key: &str) -> Option<Vec<String>> {
    let (document, line) = (DeTable::parse(text).ok()?, format!("{key} = 0"));
    let mut node = Some(Spanned::new(0..0, DeValue::Table(document.into_inner())));
    let written = DeTable::parse(&line).ok()?;
    let mut rest = Some(written.get_ref());
    let mut place = vec![];
    while let Some((key, value)) = rest.and_then(|table| table.iter().next()) {
        let mut part = key.get_ref().to_string();
        node = match node.map(Spanned::into_inner) {
            Some(DeValue::Table(mut table)) => table.remove(part.as_str()),
            Some(DeValue::Array(items)) => position(&items, &part).and_then(|index| {
                part = index.to_string();
                items.into_iter().nth(index)
            }),
            _ => None,
        };
        place.push(part);
        rest = value.get_ref().as_table();
    }
    Some(place)
}

/// A string as TOML.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Replaces the value of a dotted key.
fn set_in_table<'t>(table: &mut DeTable<'t>, keys: &[Key], value: Node<'t>, out: &mut Problems) {
    let Some((key, rest)) = keys.split_first() else {
        return;
    };
    if rest.is_empty() {
        // Remove first: otherwise the map would keep the old key and its position.
        table.remove(key.get_ref().as_str());
        table.insert(
            Spanned::new(key.span(), Cow::Owned(key.get_ref().clone())),
            value,
        );
        return;
    }
    let inner = table
        .entry(Spanned::new(key.span(), Cow::Owned(key.get_ref().clone())))
        .or_insert_with(|| Spanned::new(key.span(), DeValue::Table(DeTable::new())));
    match inner.get_mut() {
        DeValue::Table(inner) => set_in_table(inner, rest, value, out),
        DeValue::Array(items) => set_in_list(key, items, rest, value, out),
        _ => {
            let message = format!("`{}` has no keys", key.get_ref());
            out.note_with_help(
                &key.span(),
                message,
                format!("override `{}` as a whole", key.get_ref()),
            );
        }
    }
}

fn name_of<'a>(item: &'a Node<'_>) -> Option<&'a str> {
    item.get_ref().get("name")?.get_ref().as_str()
}

/// Index of the element of a list that has this name or, if none has it, this index.
fn position(items: &[Node<'_>], wanted: &str) -> Option<usize> {
    let named = items.iter().position(|item| name_of(item) == Some(wanted));
    named.or_else(|| wanted.parse().ok().filter(|index| *index < items.len()))
}

/// Replaces a value in one element of a list. The element is given by its name or index.
fn set_in_list<'t>(
    list: &Key,
    items: &mut toml::de::DeArray<'t>,
    keys: &[Key],
    value: Node<'t>,
    out: &mut Problems,
) {
    let (wanted, rest) = keys
        .split_first()
        .expect("set_in_table passes at least one key");
    let names: Vec<String> = items
        .iter()
        .filter_map(name_of)
        .map(str::to_owned)
        .collect();
    let position = position(items, wanted.get_ref());
    let Some(item) = position.and_then(|index| items.get_mut(index)) else {
        let message = format!("there is no {} `{}`", list.get_ref(), wanted.get_ref());
        let help = suggest(wanted.get_ref(), names.iter().map(String::as_str), "names");
        out.note_with_help(&wanted.span(), message, help);
        return;
    };
    match item.get_mut() {
        _ if rest.is_empty() => *item = value,
        DeValue::Table(table) => set_in_table(table, rest, value, out),
        _ => out.note(
            &wanted.span(),
            format!("`{}` has no keys", wanted.get_ref()),
        ),
    }
}
