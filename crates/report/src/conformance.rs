//! Test cases for congestion controllers and what came of them.

/// Width of the table.
const WIDTH: usize = 80;
/// Width of the column of names, and of the text behind it.
const NAME: usize = 8;

/// A case and what came of its checks.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Name of the suite.
    pub suite: String,
    /// Name of the case.
    pub case: String,
    /// What the case shows.
    pub title: String,
    /// The document and section.
    pub source: String,
    /// One verdict for each check.
    pub verdicts: Vec<Verdict>,
}

impl Judged {
    /// Whether all checks hold.
    pub fn holds(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds)
    }
}

/// Outcome of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What it asserts.
    pub says: String,
    /// Whether it holds.
    pub holds: bool,
    /// What was measured.
    pub measured: String,
    /// What it may be.
    pub limit: String,
}

/// The cases of each suite with its title, in 80 columns, and how many did not hold.
pub fn table(controller: &str, suites: &[(&str, &[Judged])]) -> String {
    let mut text = String::new();
    for (title, judged) in suites {
        text += &format!("{controller}: {title}\n{}\n", "─".repeat(WIDTH));
        judged.iter().for_each(|judged| text += &rows(judged));
        text.push('\n');
    }
    let all = || suites.iter().flat_map(|(_, judged)| *judged);
    let failed = all().filter(|judged| !judged.holds()).count();
    text += &match failed {
        0 => format!("{}: all hold\n", cases(all().count())),
        failed => format!("{}: {failed} did not hold\n", cases(all().count())),
    };
    text
}

/// For example `7 cases`.
fn cases(n: usize) -> String {
    if n == 1 {
        "1 case".to_owned()
    } else {
        format!("{n} cases")
    }
}

/// A case and its checks, each within [`WIDTH`].
fn rows(judged: &Judged) -> String {
    let word = if judged.holds() {
        "held"
    } else {
        "DID NOT HOLD"
    };
    let title = textwrap::wrap(&judged.title, WIDTH - NAME - 1 - word.len());
    let mut text = String::new();
    for (k, line) in title.iter().enumerate() {
        let name = if k == 0 { judged.case.as_str() } else { "" };
        let word = if k == 0 { word } else { "" };
        let gap = WIDTH.saturating_sub(NAME + line.chars().count() + word.len());
        text += format!("{name:<NAME$}{line}{}{word}", " ".repeat(gap)).trim_end();
        text.push('\n');
    }
    for verdict in &judged.verdicts {
        let mark = if verdict.holds { "ok" } else { "WRONG" };
        let line = format!(
            "{mark:<5} {}: {} ({})",
            verdict.says, verdict.measured, verdict.limit
        );
        let indent = " ".repeat(NAME);
        let further = " ".repeat(NAME + 6);
        text += &textwrap::fill(
            &line,
            textwrap::Options::new(WIDTH)
                .initial_indent(&indent)
                .subsequent_indent(&further),
        );
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_the_table_is_wider_than_80_columns() {
        let verdict = Verdict {
            says: "the greatest window in the interval from enter PROBE_RTT until leave PROBE_RTT"
                .to_owned(),
            holds: false,
            measured: "STARTUP DRAIN DOWN CRUISE REFILL UP DOWN CRUISE REFILL UP DOWN".to_owned(),
            limit: "STARTUP DRAIN DOWN|CRUISE".to_owned(),
        };
        let judged = Judged {
            suite: "bbr3".to_owned(),
            case: "A.10".to_owned(),
            title: "a title that is so long that it does not fit into the line with the word at its end"
                .to_owned(),
            source: String::new(),
            verdicts: vec![verdict],
        };
        let text = rows(&judged);
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(
            text.contains("DID NOT HOLD") && text.contains("WRONG"),
            "{text}"
        );
    }
}
