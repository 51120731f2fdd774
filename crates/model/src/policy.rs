//! A policy by name: `mptcp`, `mptcp[cc=olia]`, `ewtcp[a=1/sqrt(n)]`, `single:wifi`.
//!
//! Grammar: `name[:argument]['[' key=value {',' key=value} ']']`. The registry of policies decides
//! which names and keys exist.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A policy as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Name in the registry.
    pub name: String,
    /// Text after the colon, as in `single:wifi`.
    pub argument: Option<String>,
    /// Overrides in the order written.
    pub overrides: Vec<(String, String)>,
}

/// Reason why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a policy: {why}; {help}")]
pub struct PolicySyntax {
    text: String,
    why: &'static str,
    help: String,
}

/// The policy that a table shows as `label`: `single:wifi` for `wifi only`, `mptcp[cc=olia]` for
/// `MPTCP [cc=olia]`.
fn of_label(label: &str) -> Option<String> {
    let label = label.strip_suffix(" (recon.)").unwrap_or(label);
    let name = match label.strip_suffix(" only") {
        Some(path) => format!("single:{path}"),
        None => {
            let (title, overrides) = label.split_once(" [").unwrap_or((label, ""));
            let overrides = if overrides.is_empty() {
                String::new()
            } else {
                format!("[{overrides}")
            };
            format!("{}{}", title.to_lowercase(), overrides.replace(", ", ","))
        }
    };
    (name != label && !name.contains(' ')).then_some(name)
}

impl FromStr for Policy {
    type Err = PolicySyntax;

    fn from_str(text: &str) -> Result<Self, PolicySyntax> {
        let text = text.trim();
        let outside = text.split_once('[').map_or(text, |(head, _)| head);
        let is_list = outside.contains(char::is_whitespace);
        let fail = |why| PolicySyntax {
            text: text.to_owned(),
            why,
            help: match of_label(text) {
                Some(name) => format!("did you mean `{name}`?"),
                None if is_list => {
                    let parts: Vec<_> = text.split_whitespace().collect();
                    format!("write `{}`", parts.join(","))
                }
                None => "write for example `mptcp[cc=olia]`".to_owned(),
            },
        };
        if is_list {
            return Err(fail("commas separate the policies of a list"));
        }
        let (head, overrides) = match text.split_once('[') {
            None => (text, ""),
            Some((head, rest)) => (
                head,
                rest.strip_suffix(']')
                    .ok_or_else(|| fail("`]` is missing at the end"))?,
            ),
        };
        let (name, argument) = match head.split_once(':') {
            None => (head, None),
            Some((_, argument)) if argument.trim().is_empty() => {
                return Err(fail("nothing follows the colon"));
            }
            Some((name, argument)) => (name, Some(argument.trim().to_owned())),
        };
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        {
            return Err(fail("the name must consist of letters, digits and hyphens"));
        }
        let overrides = overrides
            .split(',')
            .filter(|pair| !pair.trim().is_empty())
            .map(|pair| {
                let (key, value) = pair
                    .split_once('=')
                    .ok_or_else(|| fail("an override is written key=value"))?;
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            })
            .collect::<Result<_, _>>()?;
        Ok(Policy {
            name: name.to_owned(),
            argument,
            overrides,
        })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(argument) = &self.argument {
            write!(f, ":{argument}")?;
        }
        if !self.overrides.is_empty() {
            let pairs: Vec<_> = self
                .overrides
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            write!(f, "[{}]", pairs.join(","))?;
        }
        Ok(())
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Splits a list of policies at commas outside brackets.
pub fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_policy_parses_to_the_same_policy() {
        for text in [
            "mptcp",
            "mptcp[cc=olia]",
            "single:wifi",
            "mptcp[cc=ewtcp,a=1/sqrt(n)]",
        ] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn commas_in_brackets_do_not_split_a_list() {
        assert_eq!(split_list("a[x=1,y=2], b"), ["a[x=1,y=2]", "b"]);
    }

    #[test]
    fn the_label_of_a_table_suggests_its_policy() {
        for (label, name) in [
            ("5g only", "single:5g"),
            ("MPTCP [cc=olia, a=2]", "mptcp[cc=olia,a=2]"),
        ] {
            let error = label.parse::<Policy>().unwrap_err().to_string();
            assert!(
                error.ends_with(&format!("did you mean `{name}`?")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_malformed_policy_is_refused_with_a_reason() {
        for (text, why) in [
            ("mptcp[cc=olia", "`]`"),
            ("mptcp[cc]", "key=value"),
            ("single:", "colon"),
            ("a b", "commas separate the policies of a list; write `a,b`"),
            ("single:wifi mptcp", "write `single:wifi,mptcp`"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
