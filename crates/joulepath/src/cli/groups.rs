//! The commands of `joulepath --help`, by what a user wants to do.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use super::Cli;

/// Headings, and the commands below them. Each command that is not hidden is in one group.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Compare policies",
        &[
            "compare",
            "map",
            "study",
            "benchmark",
            "advise",
            "bill",
            "reproduce",
            "gap",
        ],
    ),
    (
        "Look things up",
        &["list", "show", "explain", "schema", "completions", "help"],
    ),
    (
        "Use this machine's radios",
        &[
            "on",
            "off",
            "live",
            "status",
            "top",
            "why",
            "run",
            "relay",
            "meter",
            "calibrate",
            "profile",
        ],
    ),
    ("Use this machine's kernel", &["doctor", "cc", "lab"]),
];
/// Columns before the sentence about a command.
const INDENT: usize = 15;

/// The command line, with its commands in groups.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let about = |name: &str| match command.find_subcommand(name) {
        Some(found) => found
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
        // clap adds it later.
        None => "Print the help of a command".into(),
    };
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        // Writing to a String does not fail.
        let _ = write!(template, "\n{header}{heading}:{header:#}\n");
        for name in names {
            let gap = " ".repeat(INDENT - 2 - name.len());
            let _ = writeln!(template, "  {literal}{name}{literal:#}{gap}{}", about(name));
        }
    }
    let _ = write!(
        template,
        "\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 80;

    #[test]
    fn each_command_is_in_one_group_and_its_sentence_fits_a_line() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let mut command = Cli::command();
        command.build();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut all: Vec<&str> = shown.map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
        for line in super::command().render_help().to_string().lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
}
