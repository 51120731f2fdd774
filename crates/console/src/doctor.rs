//! What this machine can run, why not, and the fix: `joulepath doctor`.

use joulepath_kernel::probe::{Fact, Group, Report, Status, Verdict};

/// Width of the titles: the longest, plus two spaces.
const TITLE_WIDTH: usize = 20;
/// Width of the status words: `missing`, plus two spaces.
const STATUS_WIDTH: usize = 9;
/// Indentation of the lines of a group.
const MARGIN: &str = "  ";

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

fn heading(group: Group) -> &'static str {
    match group {
        Group::KernelEngine => "Kernel engine",
        Group::Lab => "Lab: namespaces with emulated links",
        Group::EnergyMeters => "Energy meters",
        Group::Interference => "Interference",
    }
}

/// The report as text, wrapped to `width` characters.
pub fn text(report: &Report, width: usize, color: bool) -> String {
    let page = Page { width, color };
    let mut text = format!(
        "Linux {}, {}\n",
        report.release,
        if report.root { "root" } else { "not root" }
    );
    let mut said = Vec::new();
    for group in Group::ALL {
        let facts: Vec<&Fact> = report
            .facts
            .iter()
            .filter(|fact| fact.group == group)
            .collect();
        let Some(needed_for) = facts.first().map(|fact| fact.needed_for) else {
            continue;
        };
        let heading = heading(group);
        let line = page.wrapped(&format!("{heading} (for {})", needed_for.join(", ")));
        text += &format!(
            "\n{}\n",
            line.replacen(heading, &page.paint(BOLD, heading), 1)
        );
        for fact in facts {
            text += &page.fact(fact, needed_for);
            text += &page.fixes(fact, &mut said);
        }
    }
    let lines = [
        page.wrapped(OF_METERS),
        page.wrapped(of_cc(report)),
        page.verdict(report),
    ];
    format!("{text}\n{}\n", lines.join("\n"))
}

/// Where the report is shown.
struct Page {
    /// In characters.
    width: usize,
    color: bool,
}

impl Page {
    fn paint(&self, style: &str, text: &str) -> String {
        if self.color {
            format!("{style}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    }

    /// Breaks text only at spaces: paths and options stay whole.
    fn indented<'a>(&self, first: &'a str, further: &'a str) -> textwrap::Options<'a> {
        textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(further)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
    }

    /// The line of a fact: status, title, finding.
    fn fact(&self, fact: &Fact, usual: &[&str]) -> String {
        let status = fact.finding.status;
        let style = match status {
            Status::Ok => GREEN,
            Status::Limited => YELLOW,
            Status::Denied | Status::Missing => {
                if fact.essential {
                    RED
                } else {
                    YELLOW
                }
            }
        };
        let mut detail = fact.finding.detail.clone();
        if fact.needed_for != usual {
            detail += &format!(" (for {})", fact.needed_for.join(", "));
        }
        let indent = " ".repeat(MARGIN.len() + STATUS_WIDTH + TITLE_WIDTH);
        let lines = textwrap::fill(&detail, self.indented(&indent, &indent));
        let word = self.paint(style, status.name());
        let gap = " ".repeat(STATUS_WIDTH - status.name().len());
        format!(
            "{MARGIN}{word}{gap}{:TITLE_WIDTH$}{}\n",
            fact.title,
            lines.trim_start()
        )
    }

    /// The fix: one line per command, to be copied. A fix that was already shown is not repeated.
    fn fixes<'a>(&self, fact: &'a Fact, said: &mut Vec<&'a str>) -> String {
        let mut fresh = |text: &'a str| {
            let known = said.contains(&text);
            said.push(text);
            !known
        };
        let commands: Vec<_> = fact
            .finding
            .fix
            .iter()
            .filter(|command| fresh(command))
            .collect();
        let mut text: String = commands
            .iter()
            .map(|command| format!("{MARGIN}{MARGIN}→ {command}\n"))
            .collect();
        if let Some(advice) = fact
            .finding
            .advice
            .as_deref()
            .filter(|advice| fresh(advice))
        {
            text += &format!(
                "{}\n",
                textwrap::fill(advice, self.indented("    → ", "      "))
            );
        }
        text
    }

    fn verdict(&self, report: &Report) -> String {
        let failing = |status| {
            let facts = report
                .facts
                .iter()
                .filter(|fact| fact.essential && fact.finding.status == status);
            facts.map(|fact| fact.title).collect::<Vec<_>>().join(", ")
        };
        let (style, sentence) = match report.kernel_engine {
            Verdict::Ready => (GREEN, "The kernel engine can run here.".to_owned()),
            Verdict::Denied => (
                RED,
                format!(
                    "The kernel engine may not run here: {}.",
                    failing(Status::Denied)
                ),
            ),
            Verdict::Missing => (
                RED,
                format!(
                    "The kernel engine cannot run here: {}.",
                    failing(Status::Missing)
                ),
            ),
        };
        self.paint(style, &self.wrapped(&sentence))
    }

    fn wrapped(&self, sentence: &str) -> String {
        textwrap::fill(sentence, self.indented("", "  "))
    }
}

/// Points from the energy meters to `joulepath meter`.
const OF_METERS: &str = "`joulepath meter` reads the energy meters: their steps and their noise.";

fn of_cc(report: &Report) -> &'static str {
    match report.cc {
        Verdict::Ready => "Persistent controllers can be loaded (cc load).",
        Verdict::Denied => "This user may not load persistent controllers (cc load).",
        Verdict::Missing => "Persistent controllers cannot be loaded here (cc load).",
    }
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::probe::Finding;

    use super::*;

    fn fact(
        title: &'static str,
        group: Group,
        essential: bool,
        status: Status,
        detail: &str,
    ) -> Fact {
        let finding = Finding {
            status,
            detail: detail.to_owned(),
            fix: vec![],
            advice: None,
        };
        Fact {
            name: "name",
            title,
            group,
            needed_for: &["lab"],
            essential,
            finding,
        }
    }

    fn report() -> Report {
        let mut tun = fact(
            "TUN",
            Group::Lab,
            true,
            Status::Denied,
            "opening /dev/net/tun: not permitted",
        );
        tun.finding.fix = vec!["sudo joulepath doctor".to_owned()];
        let mut namespaces = fact(
            "namespaces",
            Group::Lab,
            true,
            Status::Denied,
            "not permitted",
        );
        namespaces.finding.fix = vec!["sudo joulepath doctor".to_owned()];
        let mut battery = fact(
            "battery",
            Group::EnergyMeters,
            false,
            Status::Limited,
            "shows something else",
        );
        battery.needed_for = &["measured energy", "sleep"];
        battery.finding.advice = Some("pull the plug".to_owned());
        let facts = vec![
            fact(
                "kernel",
                Group::KernelEngine,
                true,
                Status::Ok,
                "6.12.1 and a long name that is wrapped",
            ),
            namespaces,
            tun,
            fact(
                "RAPL",
                Group::EnergyMeters,
                false,
                Status::Missing,
                "no zones",
            ),
            battery,
        ];
        Report {
            release: "6.12.1".to_owned(),
            root: false,
            kernel_engine: Verdict::Denied,
            cc: Verdict::Ready,
            facts,
        }
    }

    #[test]
    fn each_fix_is_printed_once_and_long_lines_are_wrapped() {
        let expected = "\
Linux 6.12.1, not root

Kernel engine (for lab)
  ok       kernel              6.12.1 and a
                               long name that
                               is wrapped

Lab: namespaces with emulated links (for lab)
  denied   namespaces          not permitted
    → sudo joulepath doctor
  denied   TUN                 opening
                               /dev/net/tun:
                               not permitted

Energy meters (for lab)
  missing  RAPL                no zones
  limited  battery             shows something
                               else (for
                               measured energy,
                               sleep)
    → pull the plug

`joulepath meter` reads the energy meters:
  their steps and their noise.
Persistent controllers can be loaded (cc load).
The kernel engine may not run here: namespaces,
  TUN.
";
        assert_eq!(text(&report(), 47, false), expected);
    }

    #[test]
    fn colours_change_no_text() {
        let mut colored = text(&report(), 47, true);
        assert!(
            colored.contains(&format!("{RED}denied{PLAIN}   TUN")),
            "{colored}"
        );
        assert!(
            colored.contains(&format!("{YELLOW}missing{PLAIN}  RAPL")),
            "{colored}"
        );
        for style in [BOLD, RED, GREEN, YELLOW, PLAIN] {
            colored = colored.replace(style, "");
        }
        assert_eq!(colored, text(&report(), 47, false));
    }
}
