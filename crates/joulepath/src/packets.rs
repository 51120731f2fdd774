//! `compare --packets`: the packets of runs as captures.

use std::path::Path;

use joulepath_capture::{self as capture, Capture, End, LIMITS};
use joulepath_model::cancel::Cancel;
use joulepath_study::compare::{Case, Plan};
use joulepath_study::engine::EngineName;
use joulepath_study::files;

use crate::failure::Failure;
use crate::terminal;

/// Checks that the runs of `plan` have captures, and creates the folder.
///
/// # Errors
/// If another engine runs them, a scenario has no capture, or the folder cannot be created.
pub(crate) fn check(plan: &Plan, engine: EngineName, folder: &Path) -> Result<(), Failure> {
    if engine != EngineName::Packet {
        return Err(Failure::usage("--packets needs the packet engine")
            .help("the other engines have no packets to write: leave out --engine"));
    }
    for case in plan.cases() {
        capture::check(case.scenario()).map_err(|refusal| Failure::usage(refusal.to_string()))?;
    }
    Ok(files::prepare(&folder.join("packets"))?)
}

/// Writes pcapng and qlog of the first seed of each policy into `folder`, for both ends.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(
    case: &Case,
    folder: &Path,
    quiet: bool,
    cancel: &Cancel,
) -> Result<(), Failure> {
    files::prepare(&folder.join("packets"))?;
    let runs = case.runs();
    let first = runs.first().map(|&(_, seed)| seed);
    let mut written = 0;
    for (index, &(policy, seed)) in runs.iter().enumerate() {
        if Some(seed) != first || cancel.is_set() {
            break;
        }
        // A run that fails has been reported by the comparison.
        let Some(Ok(trace)) = case.trace(index, &LIMITS, cancel) else {
            continue;
        };
        if trace.cut.is_some() && !quiet {
            terminal::say(&format!(
                "the captures of {policy} end at {:.1} s, after {} packets",
                trace.until.as_secs_f64(),
                trace.packets.len()
            ));
        }
        let capture = Capture::new(case.scenario(), &trace)
            .map_err(|refusal| Failure::usage(refusal.to_string()))?;
        let title = capture.title(policy, seed);
        for end in End::ALL {
            let name = |kind| folder.join(format!("{}.{}.{kind}", plain(policy), end.name()));
            files::write_bytes(&name("pcapng"), &capture.pcapng(end, &title))?;
            files::write_bytes(&name("sqlog"), &capture.qlog(end, &title))?;
            written += 2;
        }
    }
    if !quiet {
        let seed = first.unwrap_or_default();
        terminal::say(&format!(
            "packets: {} ({written} files, seed {seed})",
            folder.display()
        ));
    }
    Ok(())
}

/// `policy` as a part of a file name.
fn plain(policy: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || "-_.=".contains(c);
    let text: String = policy
        .chars()
        .map(|c| if kept(c) { c } else { '_' })
        .collect();
    text.trim_matches('_').to_owned()
}
