//! Converts TOML nodes to typed values. It notes all problems instead of stopping at the first.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Problems, Span, suggest};
use crate::units::{BitRate, Bytes, Dbm, JoulesPerBit, Nanos, Probability, Watts};

/// A TOML value and its position.
pub(super) type Node<'t> = Spanned<DeValue<'t>>;

/// A value and its position in the text.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Span,
}

/// The example of a table.
pub(super) const TABLE: &str = "{ … }";

/// A type that can be read from a TOML value.
pub(super) trait Read: Sized {
    /// An example of its TOML, for messages.
    const EXAMPLE: &'static str;

    /// The value, or `None` after noting a problem.
    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self>;

    /// The value of an absent key; `None` if the key is mandatory.
    fn absent() -> Option<Self> {
        None
    }

    /// True for a list of tables, which has double brackets.
    fn is_sections() -> bool {
        false
    }

    /// The fix for a missing mandatory key.
    fn fix(key: &str) -> String {
        format!("write for example {key} = {}", Self::EXAMPLE)
    }
}

impl<T: Read> Read for At<T> {
    const EXAMPLE: &'static str = T::EXAMPLE;

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        T::read(node, out).map(|value| At {
            value,
            span: node.span(),
        })
    }

    fn fix(key: &str) -> String {
        T::fix(key)
    }
}

impl<T: Read> Read for Option<T> {
    const EXAMPLE: &'static str = T::EXAMPLE;

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        T::read(node, out).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Read> Read for Vec<T> {
    const EXAMPLE: &'static str = "[…]";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let Some(items) = node.get_ref().as_array() else {
            out.note_with_help(
                &node.span(),
                format!("a list is expected, not {}", kind_of(node)),
                "write [\"…\", \"…\"]; a section that may appear several times has double brackets, \
                 as in [[path]]",
            );
            return None;
        };
        // Read all items first, so that every problem is noted before one of them makes the list
        // invalid.
        let items: Vec<Option<T>> = items.iter().map(|item| T::read(item, out)).collect();
        items.into_iter().collect()
    }

    fn is_sections() -> bool {
        T::EXAMPLE == TABLE
    }

    fn fix(key: &str) -> String {
        format!("write [[{key}]] and its keys below it")
    }
}

/// A list of exactly two values.
impl<A: Read, B: Read> Read for (A, B) {
    const EXAMPLE: &'static str = "[\"…\", \"…\"]";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        match node
            .get_ref()
            .as_array()
            .map(|items| items.iter().collect::<Vec<_>>())
            .as_deref()
        {
            Some(&[first, second]) => {
                let (first, second) = (A::read(first, out), B::read(second, out));
                Some((first?, second?))
            }
            _ => {
                let message = "a pair is expected";
                let help = format!("write for example [{}, {}]", A::EXAMPLE, B::EXAMPLE);
                out.note_with_help(&node.span(), message, help);
                None
            }
        }
    }
}

impl Read for String {
    const EXAMPLE: &'static str = "\"…\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = node.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            let found = kind_of(node);
            let help = format!(
                "write for example \"{}\"",
                bare_number(node).unwrap_or("…".into())
            );
            let message = format!("a text in quotes is expected, not {found}");
            out.note_with_help(&node.span(), message, help);
        }
        text
    }
}

impl Read for bool {
    const EXAMPLE: &'static str = "true";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let value = node.get_ref().as_bool();
        if value.is_none() {
            let message = format!("true or false is expected, not {}", kind_of(node));
            out.note_with_help(&node.span(), message, "write true or false, without quotes");
        }
        value
    }
}

/// A count: a bare integer.
impl Read for u32 {
    const EXAMPLE: &'static str = "10";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let count = node.get_ref().as_integer();
        let count = count.and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok());
        if count.is_none() {
            let message = format!("a count is expected, not {}", kind_of(node));
            out.note_with_help(&node.span(), message, "write a bare number, for example 10");
        }
        count
    }
}

/// A factor: a bare number.
impl Read for f64 {
    const EXAMPLE: &'static str = "0.8";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let number = bare_number(node).and_then(|text| text.replace('_', "").parse::<f64>().ok());
        let number = number.filter(|number| number.is_finite());
        if number.is_none() {
            let message = format!("a factor is expected, not {}", kind_of(node));
            out.note_with_help(
                &node.span(),
                message,
                "write a bare number, for example 0.8",
            );
        }
        number
    }
}

/// Implements `Read` for quantities: strings with a unit, limited to what an engine can compute
/// with.
macro_rules! read_quantity {
    ($($quantity:ty, $example:literal, $fits:expr, $limit:literal;)*) => {$(
        impl Read for $quantity {
            const EXAMPLE: &'static str = concat!("\"", $example, "\"");

            fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
                let text = quantity_text(node, $example, out)?;
                let value: $quantity = text.parse().map_err(|e| out.note_error(&node.span(), &e)).ok()?;
                let fits: fn(&$quantity) -> bool = $fits;
                if !fits(&value) {
                    out.note(&node.span(), format!("`{text}` is out of range: at most {}", $limit));
                    return None;
                }
                Some(value)
            }
        }
    )*};
}
read_quantity! {
    Nanos, "70 ms", |t| *t <= super::MAX_DURATION, "18 h";
    BitRate, "10 Mbit/s", |r| r.bps() <= 10_000_000_000_000, "10000 Gbit/s";
    Bytes, "64 KiB", |b| b.0 <= 1_000_000_000_000_000, "1000000 GB";
    Probability, "0.1 %", |_| true, "100 %";
    Dbm, "-95 dBm", |_| true, "0 dBm";
    Watts, "132.9 mW", |p| p.0 <= 1e6, "1000000 W";
    JoulesPerBit, "137 mW/Mbps", |e| e.0 <= 1.0, "1 J/bit";
}

/// The text of a quantity. A bare number becomes text, too; its parser reports the missing unit.
pub(super) fn quantity_text(node: &Node<'_>, example: &str, out: &mut Problems) -> Option<String> {
    let text = node
        .get_ref()
        .as_str()
        .map(str::to_owned)
        .or_else(|| bare_number(node));
    if text.is_none() {
        let message = format!("a number with its unit is expected, not {}", kind_of(node));
        out.note_with_help(
            &node.span(),
            message,
            format!("write for example \"{example}\""),
        );
    }
    text
}

/// The digits of a bare number.
fn bare_number(node: &Node<'_>) -> Option<String> {
    match node.get_ref() {
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// Kind of a value, for messages.
pub(super) fn kind_of(node: &Node<'_>) -> String {
    match node.get_ref() {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(_) | DeValue::Float(_) => bare_number(node).unwrap_or_default(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// A type whose keys are in a TOML table, maybe next to the keys of others.
pub(super) trait Keys: Sized {
    /// The names of its keys, in the order of the declaration.
    fn keys() -> Vec<&'static str>;

    /// The value, or `None` after noting a problem.
    fn read_keys(table: &Table<'_, '_>, out: &mut Problems) -> Option<Self>;
}

/// A TOML table and the keys that it may have.
pub(super) struct Table<'n, 't> {
    span: Span,
    label: &'static str,
    entries: &'n DeTable<'t>,
}

impl<'n, 't> Table<'n, 't> {
    /// Checks that the node is a table without unknown keys.
    pub(super) fn open(
        node: &'n Node<'t>,
        label: &'static str,
        known: &[&str],
        out: &mut Problems,
    ) -> Option<Self> {
        let Some(entries) = node.get_ref().as_table() else {
            let keys = known.join(", ");
            let found = kind_of(node);
            let message = format!("{label} is a table, not {found}");
            // The key that the only value of a table is probably for.
            let likely = known.iter().find(|key| known.len() == 1 || **key == "hard");
            let entry = match (likely, node.get_ref()) {
                (Some(key), DeValue::String(_)) => format!("{key} = {found}"),
                _ => "key = value, …".into(),
            };
            let help = format!("write {{ {entry} }}; known keys: {keys}");
            out.note_with_help(&node.span(), message, help);
            return None;
        };
        for key in entries
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
        {
            let message = format!("`{}` is not a key of {label}", key.get_ref());
            let help = match key.get_ref().as_ref() {
                "tolerance" => "it belongs into [workload] with kind = \"messages\"".into(),
                unknown => suggest(unknown, known.iter().copied(), "keys"),
            };
            out.note_with_help(&key.span(), message, help);
        }
        Some(Table {
            span: node.span(),
            label,
            entries,
        })
    }

    /// The value of a key. An absent key has the value `default` (as TOML), or the default of its
    /// type.
    pub(super) fn get<T: Read>(
        &self,
        key: &str,
        default: Option<&'static str>,
        out: &mut Problems,
    ) -> Option<T> {
        if let Some(node) = self.entries.get(key) {
            if T::is_sections() && node.get_ref().is_table() {
                let message = format!("`{key}` can appear several times: its brackets are double");
                out.note_with_help(&node.span(), message, format!("write [[{key}]]"));
                return None;
            }
            return T::read(node, out);
        }
        if let Some(default) = default {
            return T::read(&self.default_node(default), out);
        }
        T::absent().or_else(|| {
            out.note_with_help(
                &self.span,
                format!("{} needs the key `{key}`", self.label),
                T::fix(key),
            );
            None
        })
    }

    /// A default as a node at the position of its table.
    fn default_node(&self, toml: &'static str) -> Node<'static> {
        let value = DeValue::parse(toml)
            .expect("defaults are TOML literals")
            .into_inner();
        Spanned::new(self.span.clone(), value)
    }
}

/// An enum whose values are words.
pub(super) trait Named: Copy + PartialEq + 'static {
    /// All words and values.
    const NAMES: &'static [(&'static str, Self)];

    /// The word for a value.
    fn word(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, value)| *value == self)
            .map_or("", |(word, _)| word)
    }
}

/// Reads a word of an enum.
pub(super) fn read_named<T: Named>(node: &Node<'_>, what: &str, out: &mut Problems) -> Option<T> {
    let word = String::read(node, out)?;
    let value = T::NAMES
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, value)| *value);
    if value.is_none() {
        let help = suggest(&word, T::NAMES.iter().map(|(name, _)| *name), "words");
        out.note_with_help(&node.span(), format!("`{word}` is not {what}"), help);
    }
    value
}
