//! Reads and edits single keys of a scenario's TOML text, so that a form and an editor show one
//! document. An edit changes the bytes of its value only: comments and order remain.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys and values of a table, without tables inside it.
type Values = BTreeMap<String, String>;

/// Values that a form shows, as a person writes them: strings without quotes, others as TOML.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Form {
    /// Keys outside of tables.
    pub top: Values,
    /// Keys of each path.
    pub paths: Vec<Values>,
    /// Keys of each competitor.
    pub competitors: Vec<Values>,
    /// Keys of the workload.
    pub workload: Values,
    /// Keys of the device.
    pub device: Values,
    /// Keys of the comparison.
    pub compare: Values,
}

/// A key of a scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The table, such as `workload`; none: outside of tables.
    pub table: Option<String>,
    /// Place among tables of the same name, from 0, for `[[path]]`.
    pub index: Option<usize>,
    /// The key.
    pub key: String,
}

/// The keys that a form shows; empty if the text is not TOML.
pub fn read(text: &str) -> Form {
    let Ok(root) = DeTable::parse(text) else {
        return Form::default();
    };
    let root = root.get_ref();
    let of = |name: &str| {
        table(root, Some(name), None)
            .map(|table| values(table, text))
            .unwrap_or_default()
    };
    let all = |name: &str| {
        let tables = (0..).map_while(|index| table(root, Some(name), Some(index)));
        tables.map(|table| values(table, text)).collect()
    };
    Form {
        top: values(root, text),
        paths: all("path"),
        competitors: all("competitor"),
        workload: of("workload"),
        device: of("device"),
        compare: of("compare"),
    }
}

/// The text with the key set to `value`, or without the key if `value` is empty; `None` if the text
/// is not TOML or has no such table.
pub fn edit(text: &str, place: &Place, value: &str) -> Option<String> {
    let parsed = DeTable::parse(text).ok()?;
    let table = table(parsed.get_ref(), place.table.as_deref(), place.index)?;
    let known = table
        .iter()
        .find(|(key, _)| *key.get_ref() == place.key.as_str());
    let replaced =
        |from: usize, to: usize, new: &str| format!("{}{new}{}", &text[..from], &text[to..]);
    match known {
        Some((key, _)) if value.is_empty() => {
            let span = key.span();
            let (from, to) = (line_start(text, span.start), line_end(text, span.end));
            let one_line = table
                .iter()
                .all(|(_, other)| other.span().end <= to || other.span().start >= to);
            one_line.then(|| replaced(from, to, ""))
        }
        Some((_, old)) => {
            let span = old.span();
            let is_string = matches!(old.get_ref(), DeValue::String(_)) && !value.starts_with('{');
            let new = if is_string {
                quoted(value)
            } else {
                bare_or_quoted(value)
            };
            Some(replaced(span.start, span.end, &new))
        }
        None if value.is_empty() => Some(text.to_owned()),
        None => {
            let scalars = table.iter().filter(|(_, other)| !is_table(other, text));
            let ends = scalars.map(|(_, other)| other.span().end);
            let at = line_end(text, ends.max()?);
            let gap = if text[..at].ends_with('\n') { "" } else { "\n" };
            Some(replaced(
                at,
                at,
                &format!("{gap}{} = {}\n", place.key, bare_or_quoted(value)),
            ))
        }
    }
}

/// The text without the table number `index` of the array of tables `name`, such as `[[path]]`, and
/// without its own tables, such as `[path.up]`. `None` if there is no such table, or its lines
/// cannot be told from those of other tables.
pub fn remove(text: &str, name: &str, index: usize) -> Option<String> {
    let parsed = DeTable::parse(text).ok()?;
    table(parsed.get_ref(), Some(name), Some(index))?;
    let is_header = |line: &str| line.trim_start().starts_with(&format!("[[{name}]]"));
    let is_own = |line: &str| line.trim_start().starts_with(&format!("[{name}."));
    let mut starts: Vec<(usize, &str)> = vec![];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            starts.push((at, line));
        }
        at += line.len();
    }
    let mut own = starts
        .iter()
        .enumerate()
        .filter(|(_, (_, line))| is_header(line))
        .map(|(place, _)| place);
    let first = own.nth(index)?;
    let from = starts[first].0;
    let to = starts[first + 1..]
        .iter()
        .find(|(_, line)| !is_own(line))
        .map_or(text.len(), |(at, _)| *at);
    let after = format!("{}{}", &text[..from], &text[to..]);
    // A line of a text or an array can look like a header: then more would be gone.
    let mut expected: toml::Table = text.parse().ok()?;
    match expected.get_mut(name)? {
        toml::Value::Array(all) if all.len() > 1 => drop(all.remove(index)),
        _ => drop(expected.remove(name)),
    }
    (after.parse::<toml::Table>().ok()? == expected).then_some(after)
}

/// The table of this name; the one at `index` if there are several.
fn table<'t, 'i>(
    root: &'t DeTable<'i>,
    name: Option<&str>,
    index: Option<usize>,
) -> Option<&'t DeTable<'i>> {
    let Some(name) = name else { return Some(root) };
    let (_, found) = root.iter().find(|(key, _)| *key.get_ref() == name)?;
    match (found.get_ref(), index) {
        (DeValue::Table(table), None) => Some(table),
        (DeValue::Array(all), Some(index)) => match all.get(index)?.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        },
        _ => None,
    }
}

fn values(table: &DeTable<'_>, text: &str) -> Values {
    let shown = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(string) => string.to_string(),
        _ => text[value.span()].to_owned(),
    };
    let scalars = table.iter().filter(|(_, value)| !is_table(value, text));
    scalars
        .map(|(key, value)| (key.get_ref().to_string(), shown(value)))
        .collect()
}

/// Whether it is a table with a header of its own, or an array of tables.
fn is_table(value: &Spanned<DeValue<'_>>, text: &str) -> bool {
    match value.get_ref() {
        DeValue::Table(_) => !text[value.span()].starts_with('{'),
        DeValue::Array(all) => all
            .iter()
            .any(|one| matches!(one.get_ref(), DeValue::Table(_))),
        _ => false,
    }
}

/// TOML of a value that is a number, a list or a table if it reads as one, else a string.
fn bare_or_quoted(value: &str) -> String {
    let line = format!("key = {value}");
    let is_toml = !value.contains('\n')
        && DeTable::parse(&line).is_ok_and(|table| table.get_ref().len() == 1);
    if is_toml && !value.starts_with(['"', '\'']) {
        value.to_owned()
    } else {
        quoted(value)
    }
}

/// A TOML string. JSON's escapes are TOML's too.
fn quoted(value: &str) -> String {
    serde_json::Value::from(value)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// First byte after the line.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "title = \"A\" # ä\n\n[[path]]\nname = \"wifi\"\nrate = \"10 Mbit/s\" # fast\n\n\
                        [path.up]\nrate = \"1 Mbit/s\"\n\n[[path]]\nname = \"lte\"\n\n[compare]\nseeds = 2";

    fn place(table: &str, index: Option<usize>, key: &str) -> Place {
        Place {
            table: (!table.is_empty()).then(|| table.to_owned()),
            index,
            key: key.to_owned(),
        }
    }

    #[test]
    fn a_form_shows_scalars_without_quotes_and_leaves_tables_out() {
        let form = read(TEXT);
        assert_eq!(form.top["title"], "A");
        assert_eq!(form.paths[0]["rate"], "10 Mbit/s");
        assert_eq!(form.paths[0].keys().collect::<Vec<_>>(), ["name", "rate"]);
        assert_eq!((form.paths.len(), form.compare["seeds"].as_str()), (2, "2"));
        assert_eq!(read("title = "), Form::default());
    }

    #[test]
    fn an_edit_changes_one_value_and_keeps_comments() {
        let edited = edit(TEXT, &place("path", Some(0), "rate"), "25 Mbit/s").unwrap();
        assert_eq!(edited, TEXT.replace("\"10 Mbit/s\"", "\"25 Mbit/s\""));
        let seeds = edit(TEXT, &place("compare", None, "seeds"), "7").unwrap();
        assert!(seeds.ends_with("seeds = 7"), "{seeds}");
        let title = edit(TEXT, &place("", None, "title"), "\"B\" </script>").unwrap();
        assert_eq!(read(&title).top["title"], "\"B\" </script>");
    }

    #[test]
    fn a_new_key_follows_the_others_of_its_table() {
        let edited = edit(TEXT, &place("path", Some(1), "loss"), "1 %").unwrap();
        assert_eq!(
            edited,
            TEXT.replace("name = \"lte\"\n", "name = \"lte\"\nloss = \"1 %\"\n")
        );
        // The last line has no end.
        let edited = edit(TEXT, &place("compare", None, "first"), "3").unwrap();
        assert!(edited.ends_with("seeds = 2\nfirst = 3\n"), "{edited}");
        let before_a_table = edit(TEXT, &place("path", Some(0), "loss"), "1 %").unwrap();
        assert_eq!(read(&before_a_table).paths[0]["loss"], "1 %");
    }

    #[test]
    fn a_trace_replaces_a_rate_and_a_rate_a_trace() {
        let rate = place("path", Some(0), "rate");
        let traced = edit(TEXT, &rate, "{ trace = \"drive.trace\" }").unwrap();
        assert!(
            traced.contains("rate = { trace = \"drive.trace\" } # fast"),
            "{traced}"
        );
        assert_eq!(
            read(&traced).paths[0]["rate"],
            "{ trace = \"drive.trace\" }"
        );
        assert_eq!(edit(&traced, &rate, "10 Mbit/s").unwrap(), TEXT);
    }

    #[test]
    fn a_path_is_removed_with_its_own_tables() {
        let without = remove(TEXT, "path", 0).unwrap();
        assert_eq!(
            without,
            "title = \"A\" # ä\n\n[[path]]\nname = \"lte\"\n\n[compare]\nseeds = 2"
        );
        let last = remove(&without, "path", 0).unwrap();
        assert_eq!(last, "title = \"A\" # ä\n\n[compare]\nseeds = 2");
        assert_eq!(
            (remove(&last, "path", 0), remove(TEXT, "path", 2)),
            (None, None)
        );
        // The header in the text would be taken for one.
        let quoted = "[[path]]\nname = \"\"\"\n[[path]]\n\"\"\"\n[[path]]\nname = \"b\"\n";
        assert_eq!(remove(quoted, "path", 1), None);
    }

    #[test]
    fn an_empty_value_removes_the_key() {
        let edited = edit(TEXT, &place("path", Some(0), "rate"), "").unwrap();
        assert_eq!(edited, TEXT.replace("rate = \"10 Mbit/s\" # fast\n", ""));
        assert_eq!(
            edit(TEXT, &place("path", Some(1), "rate"), "").unwrap(),
            TEXT
        );
        assert_eq!(edit(TEXT, &place("path", Some(2), "rate"), "1"), None);
        assert_eq!(edit("path = 1", &place("path", Some(0), "rate"), "1"), None);
    }
}
