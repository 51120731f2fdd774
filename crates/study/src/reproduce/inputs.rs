//! The parts of a row's files on which its results depend.

use toml::{Table, Value};

/// Keys for readers and for quick runs, on which no stored result depends.
const OTHERS: [&str; 11] = [
    "title",
    "source",
    "claim",
    "cause",
    "why",
    "printed",
    "origin",
    "description",
    "not_in_kernel",
    "quick",
    "quick_set",
];
/// These parts in canonical form.
#[derive(Clone, Default)]
pub(super) struct Inputs {
    /// For the runs of all seeds.
    pub(super) full: String,
    /// For a search.
    pub(super) searched: String,
}

impl Inputs {
    /// From the texts of the row and of its set-up.
    pub(super) fn of(row: &str, set_up: Option<&str>) -> Self {
        let text = |text: &str, without: &[&str]| {
            let mut table: Table = text.parse().expect("the file has been read");
            table.retain(|key, value| !(without.contains(&key) || key == "open" && value.is_str()));
            drop_others(&mut table);
            table.to_string()
        };
        let set_up = set_up.unwrap_or_default();
        Inputs {
            full: text(row, &[]) + &text(set_up, &["box", "values"]),
            searched: text(row, &["figure"]) + &text(set_up, &["kernel", "values"]),
        }
    }
}

/// Drops the keys of a table, at all levels, on which no result depends.
pub(super) fn drop_others(table: &mut Table) {
    table.retain(|key, _| !OTHERS.contains(&key));
    table
        .iter_mut()
        .for_each(|(_, value)| drop_others_of(value));
}

fn drop_others_of(value: &mut Value) {
    match value {
        Value::Table(table) => drop_others(table),
        Value::Array(items) => items.iter_mut().for_each(drop_others_of),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "id = \"x\"\nclaim = \"A\"\nopen = \"why\"\n[[finding]]\nwhat = \"x\"\nabove = 1.0\n\
                       [[figure]]\ntitle = \"F\"\ny = \"J\"\n";
    const SET_UP: &str = "name = \"s\"\n[kernel]\nseeds = 3\n[values]\na = 1\n[box]\nseeds = 4\n\
                          [[box.open]]\nkey = \"queue\"\nwhy = \"open\"\nfrom = 1\nto = 9\nprinted = [3]\n";

    /// Whether the parts for runs and for a search stay the same with `from` replaced by `to`.
    fn stays(from: &str, to: &str) -> (bool, bool) {
        let [row, set_up] = [ROW, SET_UP].map(|text| text.replace(from, to));
        assert!(row != ROW || set_up != SET_UP, "{from} is in neither");
        let (old, new) = (
            Inputs::of(ROW, Some(SET_UP)),
            Inputs::of(&row, Some(&set_up)),
        );
        (old.full == new.full, old.searched == new.searched)
    }

    #[test]
    fn words_change_nothing_and_rules_boxes_and_kernel_runs_change_what_depends_on_them() {
        for words in ["\"A\"", "\"why\"", "\"open\"", "[3]", "\"F\"", "a = 1\n"] {
            let other = words
                .replace(['A', 'y', 'n', 'F'], "B")
                .replace('3', "4")
                .replace('1', "2");
            assert_eq!(stays(words, &other), (true, true), "{words}");
        }
        assert_eq!(stays("above = 1.0", "above = 1.1"), (false, false));
        assert_eq!(stays("to = 9", "to = 10"), (true, false));
        assert_eq!(stays("seeds = 3", "seeds = 5"), (false, true));
        assert_eq!(stays("y = \"J\"", "y = \"kJ\""), (false, true));
    }
}
