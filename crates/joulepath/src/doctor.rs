//! `joulepath doctor`: what of Joulepath this machine can run, why not, and what mends it.

use std::path::Path;

use joulepath_kernel::probe::{self, Fact, Finding, Group, Machine, RAPL_RULE, Report, Status, Verdict};
use joulepath_live::leaks::{self, Leaks};
use serde::Serialize;

use crate::cli::DoctorOptions;
use crate::cli::live::SOCKET;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Of the JSON; a change that breaks readers increases it.
const SCHEMA: u32 = 1;
/// Width of the column of names: the longest, and two blanks.
const TITLE_WIDTH: usize = 20;
/// Width of the column of words: `missing`, and two blanks.
const STATUS_WIDTH: usize = 9;
/// Before every line of a group.
const MARGIN: &str = "  ";

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

/// Runs the command.
///
/// # Errors
/// If stdout cannot take it.
pub(crate) fn doctor(options: &DoctorOptions) -> Result<Exit, Failure> {
    if options.udev_rule {
        return terminal::print(RAPL_RULE);
    }
    let mut report = probe::examine(&Machine::default());
    let found = leaks::examine(Path::new(SOCKET));
    report.facts.push(endpoints(found.map_or_else(Finding::from, |leaks| finding(&leaks, report.root))));
    match options.json {
        true => print_json(&Json { schema: SCHEMA, report: &report })?,
        false => {
            let (width, color) = terminal::stdout();
            terminal::print(&text(&report, width, color))?
        }
    };
    Ok(exit(report.kernel_engine))
}

/// The fact about the table of endpoints, which other programs and the daemon fill.
fn endpoints(finding: Finding) -> Fact {
    Fact {
        name: "endpoints",
        title: "MPTCP endpoints",
        group: Group::Interference,
        needed_for: &["live"],
        essential: false,
        finding,
    }
}

fn finding(leaks: &Leaks, root: bool) -> Finding {
    let Leaks { endpoints, own, leaks } = leaks;
    let owners =
        own.map_or_else(|| "no daemon runs here".into(), |own| format!("{own} of them the daemon's"));
    let mut detail = vec![format!("{endpoints}, {owners}")];
    detail.extend(leaks.iter().map(|leak| leak.what.clone()));
    let as_user = |command: &String| if root { command.clone() } else { format!("sudo {command}") };
    let mut mend: Vec<String> = leaks.iter().map(|leak| as_user(&leak.mend)).collect();
    mend.dedup();
    Finding {
        status: if leaks.is_empty() { Status::Ok } else { Status::Limited },
        detail: detail.join("; "),
        mend,
        advice: None,
    }
}

#[derive(Serialize)]
struct Json<'a> {
    schema: u32,
    #[serde(flatten)]
    report: &'a Report,
}

fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Ready => Exit::Ok,
        Verdict::Missing => Exit::Unsupported,
        Verdict::Denied => Exit::Permission,
    }
}

fn heading(group: Group) -> &'static str {
    match group {
        Group::KernelEngine => "Kernel engine",
        Group::Lab => "Lab: namespaces with emulated links",
        Group::EnergyMeters => "Energy meters",
        Group::Interference => "Interference",
    }
}

/// The report for people.
fn text(report: &Report, width: usize, color: bool) -> String {
    let page = Page { width, color };
    let mut text = format!("Linux {}, {}\n", report.release, if report.root { "root" } else { "not root" });
    let mut said = Vec::new();
    for group in Group::ALL {
        let facts: Vec<&Fact> = report.facts.iter().filter(|fact| fact.group == group).collect();
        let Some(needed_for) = facts.first().map(|fact| fact.needed_for) else { continue };
        text += &format!("\n{} (for {})\n", page.paint(BOLD, heading(group)), needed_for.join(", "));
        for fact in facts {
            text += &page.fact(fact, needed_for);
            text += &page.mends(fact, &mut said);
        }
    }
    let lines = [page.wrapped(OF_METERS), page.wrapped(of_cc(report)), page.verdict(report)];
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
        if self.color { format!("{style}{text}{PLAIN}") } else { text.to_owned() }
    }

    /// Text is broken at blanks only: paths and options stay whole.
    fn indented<'a>(&self, first: &'a str, further: &'a str) -> textwrap::Options<'a> {
        textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(further)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
    }

    /// A line: how it stands, its name, and what was found, wrapped.
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
        format!("{MARGIN}{word}{gap}{:TITLE_WIDTH$}{}\n", fact.title, lines.trim_start())
    }

    /// What mends it: commands in one line each, to be copied. What was said already is not repeated.
    fn mends<'a>(&self, fact: &'a Fact, said: &mut Vec<&'a str>) -> String {
        let mut fresh = |text: &'a str| {
            let known = said.contains(&text);
            said.push(text);
            !known
        };
        let commands: Vec<_> = fact.finding.mend.iter().filter(|command| fresh(command)).collect();
        let mut text: String =
            commands.iter().map(|command| format!("{MARGIN}{MARGIN}→ {command}\n")).collect();
        if let Some(advice) = fact.finding.advice.as_deref().filter(|advice| fresh(advice)) {
            text += &format!("{}\n", textwrap::fill(advice, self.indented("    → ", "      ")));
        }
        text
    }

    fn verdict(&self, report: &Report) -> String {
        let failing = |status| {
            let facts = report.facts.iter().filter(|fact| fact.essential && fact.finding.status == status);
            facts.map(|fact| fact.title).collect::<Vec<_>>().join(", ")
        };
        let (style, sentence) = match report.kernel_engine {
            Verdict::Ready => (GREEN, "The kernel engine can run here.".to_owned()),
            Verdict::Denied => {
                (RED, format!("The kernel engine may not run here: {}.", failing(Status::Denied)))
            }
            Verdict::Missing => {
                (RED, format!("The kernel engine cannot run here: {}.", failing(Status::Missing)))
            }
        };
        self.paint(style, &self.wrapped(&sentence))
    }

    fn wrapped(&self, sentence: &str) -> String {
        textwrap::fill(sentence, self.indented("", "  "))
    }
}

/// Where a person goes from the list of energy meters.
const OF_METERS: &str = "`joulepath meter` reads the energy meters: their steps and their noise.";

fn of_cc(report: &Report) -> &'static str {
    match report.cc {
        Verdict::Ready => "Controllers can be loaded to stay (cc load).",
        Verdict::Denied => "Controllers may not be loaded to stay by this user (cc load).",
        Verdict::Missing => "Controllers cannot be loaded to stay here (cc load).",
    }
}

#[cfg(test)]
mod tests {
    use joulepath_live::leaks::Leak;

    use super::*;

    fn fact(title: &'static str, group: Group, essential: bool, status: Status, detail: &str) -> Fact {
        let finding = Finding { status, detail: detail.to_owned(), mend: vec![], advice: None };
        Fact { name: "name", title, group, needed_for: &["lab"], essential, finding }
    }

    fn report() -> Report {
        let mut tun = fact("TUN", Group::Lab, true, Status::Denied, "opening /dev/net/tun: not permitted");
        tun.finding.mend = vec!["sudo joulepath doctor".to_owned()];
        let mut namespaces = fact("namespaces", Group::Lab, true, Status::Denied, "not permitted");
        namespaces.finding.mend = vec!["sudo joulepath doctor".to_owned()];
        let mut battery =
            fact("battery", Group::EnergyMeters, false, Status::Limited, "shows something else");
        battery.needed_for = &["measured energy", "sleep"];
        battery.finding.advice = Some("pull the plug".to_owned());
        let facts = vec![
            fact("kernel", Group::KernelEngine, true, Status::Ok, "6.12.1 and a long name that is wrapped"),
            namespaces,
            tun,
            fact("RAPL", Group::EnergyMeters, false, Status::Missing, "no zones"),
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
    fn what_mends_is_said_once_and_what_does_not_fit_is_wrapped_below() {
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
Controllers can be loaded to stay (cc load).
The kernel engine may not run here: namespaces,
  TUN.
";
        assert_eq!(text(&report(), 47, false), expected);
    }

    #[test]
    fn endpoints_that_should_not_be_there_are_told_with_the_command_that_ends_them() {
        let fine = finding(&Leaks { endpoints: 2, own: Some(2), leaks: vec![] }, false);
        assert_eq!((fine.status, fine.detail.as_str()), (Status::Ok, "2, 2 of them the daemon's"));
        let leak = Leak { what: "10.8.0.2 is of wg0".into(), mend: "ip mptcp endpoint delete id 1".into() };
        let leaks = Leaks { endpoints: 1, own: None, leaks: vec![leak] };
        let told = finding(&leaks, false);
        assert_eq!(told.status, Status::Limited);
        assert_eq!(told.detail, "1, no daemon runs here; 10.8.0.2 is of wg0");
        assert_eq!(told.mend, ["sudo ip mptcp endpoint delete id 1"]);
        assert_eq!(finding(&leaks, true).mend, ["ip mptcp endpoint delete id 1"]);
    }

    #[test]
    fn colours_add_nothing_but_colours() {
        let mut colored = text(&report(), 47, true);
        assert!(colored.contains(&format!("{RED}denied{PLAIN}   TUN")), "{colored}");
        assert!(colored.contains(&format!("{YELLOW}missing{PLAIN}  RAPL")), "{colored}");
        for style in [BOLD, RED, GREEN, YELLOW, PLAIN] {
            colored = colored.replace(style, "");
        }
        assert_eq!(colored, text(&report(), 47, false));
    }

    #[test]
    fn exit_codes_are_those_of_every_command() {
        let codes = [Verdict::Ready, Verdict::Missing, Verdict::Denied].map(exit);
        assert_eq!(codes, [Exit::Ok, Exit::Unsupported, Exit::Permission]);
    }
}
