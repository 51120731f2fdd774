//! The text of a scenario as a TOML tree with places, and overrides of single keys in it.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Problems, suggest};
use super::read::Node;

/// A scenario's text with one more line, `key = value`, for each override: a problem with an override has a
/// place, too.
pub(super) struct Document {
    /// What spans refer to.
    pub(super) text: String,
    written: usize,
    overrides: Vec<OverrideLine>,
}

/// An override as it stands in the text.
struct OverrideLine {
    /// The line after as many blanks as there is text before it: every span in it is where it belongs.
    padded: String,
    /// First byte of the line.
    start: usize,
    /// Number of parts of the dotted key; zero if the key is malformed.
    depth: usize,
}

impl Document {
    /// Appends overrides to a text.
    pub(super) fn new(text: &str, overrides: &[(String, String)]) -> Self {
        let mut document = Document { text: text.to_owned(), written: text.len(), overrides: Vec::new() };
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
        // A shell has taken the quotes of `--set duration="10 s"`: what is not TOML is a text.
        let is_toml = leaf_depth(&bare).is_some_and(|leaf| leaf >= depth);
        self.text.push_str(&if is_toml { bare } else { format!("{key} = {}", quoted(value)) });
        let padded = " ".repeat(start) + &self.text[start..];
        self.overrides.push(OverrideLine { padded, start, depth });
    }

    /// The tree, with overrides applied; `None` if the text is not TOML.
    pub(super) fn parse(&self, out: &mut Problems) -> Option<Node<'_>> {
        let (root, errors) = DeTable::parse_recoverable(&self.text[..self.written]);
        if !errors.is_empty() {
            for error in errors {
                out.note(&error.span().unwrap_or(0..0), error.message());
            }
            return None;
        }
        let mut root = root.into_inner();
        for line in &self.overrides {
            if let Some((keys, value)) = line.parse(out) {
                set_in_table(&mut root, &keys, value, out);
            }
        }
        // A key that is missing at the top has no place of its own; the beginning is better than everything.
        Some(Spanned::new(0..0, DeValue::Table(root)))
    }
}

/// One part of a dotted key.
type Key = Spanned<String>;

impl OverrideLine {
    /// Key and value, with their places in the text.
    fn parse(&self, out: &mut Problems) -> Option<(Vec<Key>, Node<'_>)> {
        let parsed = if self.depth == 0 { None } else { DeTable::parse(&self.padded).ok() };
        let Some(parsed) = parsed else {
            let message = "this override is not a key and a value";
            let help = "write for example workload.size=\"16 kB\"";
            out.note_with_help(&(self.start..self.padded.len()), message, help);
            return None;
        };
        let mut node = Spanned::new(parsed.span(), DeValue::Table(parsed.into_inner()));
        let mut keys = Vec::new();
        for _ in 0..self.depth {
            let DeValue::Table(table) = node.into_inner() else { return None };
            let (key, value) = table.into_iter().next()?;
            keys.push(Spanned::new(key.span(), key.into_inner().into_owned()));
            node = value;
        }
        Some((keys, node))
    }
}

/// How many keys lead to the only leaf of a document; `None` if it is not TOML or has not exactly one leaf.
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

/// A text as TOML.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Replaces the value of a dotted key.
fn set_in_table<'t>(table: &mut DeTable<'t>, keys: &[Key], value: Node<'t>, out: &mut Problems) {
    let Some((key, rest)) = keys.split_first() else { return };
    if rest.is_empty() {
        // Removed first: the map would keep the old key and its place.
        table.remove(key.get_ref().as_str());
        table.insert(Spanned::new(key.span(), Cow::Owned(key.get_ref().clone())), value);
        return;
    }
    let inner = table
        .entry(Spanned::new(key.span(), Cow::Owned(key.get_ref().clone())))
        .or_insert_with(|| Spanned::new(key.span(), DeValue::Table(DeTable::new())));
    match inner.get_mut() {
        DeValue::Table(inner) => set_in_table(inner, rest, value, out),
        DeValue::Array(items) => set_in_list(key, items, rest, value, out),
        _ => {
            let message = format!("`{}` has no keys of its own", key.get_ref());
            out.note_with_help(&key.span(), message, format!("override `{}` as a whole", key.get_ref()));
        }
    }
}

/// Replaces a value within one element of a list, found by its name or its index.
fn set_in_list<'t>(
    list: &Key,
    items: &mut toml::de::DeArray<'t>,
    keys: &[Key],
    value: Node<'t>,
    out: &mut Problems,
) {
    let (wanted, rest) = keys.split_first().expect("set_in_table passes at least one key");
    let name_of = |item: &Node<'_>| {
        item.get_ref().get("name").and_then(|name| name.get_ref().as_str().map(str::to_owned))
    };
    let names: Vec<String> = items.iter().filter_map(name_of).collect();
    let position = items
        .iter()
        .position(|item| name_of(item).as_deref() == Some(wanted.get_ref()))
        .or_else(|| wanted.get_ref().parse().ok().filter(|index| *index < items.len()));
    let Some(item) = position.and_then(|index| items.get_mut(index)) else {
        let message = format!("there is no {} `{}`", list.get_ref(), wanted.get_ref());
        let help = suggest(wanted.get_ref(), names.iter().map(String::as_str), "names");
        out.note_with_help(&wanted.span(), message, help);
        return;
    };
    match item.get_mut() {
        _ if rest.is_empty() => *item = value,
        DeValue::Table(table) => set_in_table(table, rest, value, out),
        _ => out.note(&wanted.span(), format!("`{}` has no keys of its own", wanted.get_ref())),
    }
}
