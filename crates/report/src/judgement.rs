//! The judgement of a calibrated profile as text.

use std::fmt::Write as _;

use joulepath_model::scenario::{CalibratedProfile, Finding};

/// What a profile says of its origin, what was found, and the verdict. `name` is that of the file;
/// `wrapped` breaks a paragraph.
pub fn judgement(
    name: &str,
    profile: &CalibratedProfile,
    findings: &[Finding],
    wrapped: &dyn Fn(&str) -> String,
) -> String {
    let problems = findings.iter().filter(|finding| finding.is_problem).count();
    let unknown = || "unknown".to_owned();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(unknown);
    let signal = profile
        .signal
        .map_or_else(unknown, |[low, high]| format!("{low} to {high}"));
    let mut page = String::new();
    for (key, value) in [
        ("device", text(&profile.device)),
        ("radio", text(&profile.radio)),
        ("firmware", text(&profile.firmware)),
        ("signal", signal),
        (
            "measured",
            format!("{} with {}", profile.date, profile.meter),
        ),
    ] {
        let _ = writeln!(page, "{key:10}{value}");
    }
    page.push('\n');
    for Finding {
        is_problem,
        what,
        help,
    } in findings
    {
        let kind = if *is_problem { "problem" } else { "remark" };
        page += &(wrapped(&format!("{kind}: {what}; {help}")) + "\n");
    }
    let verdict = match problems {
        0 => format!("{name} can be used by others at this signal."),
        1 => format!("{name} has 1 problem."),
        count => format!("{name} has {count} problems."),
    };
    page + &(wrapped(&verdict) + "\n")
}
