//! What remains of a lab, as text.

use joulepath_lab::hosts::{Clean, Process, Remains};

/// Reports processes that were ended after the command, and those that could not be.
pub fn sentences(remains: &Remains) -> Vec<String> {
    let mut sentences = vec![];
    if !remains.ended.is_empty() {
        sentences.push(format!("ended with the lab: {}", named(&remains.ended)));
    }
    if !remains.holders.is_empty() {
        sentences.push(format!(
            "warning: these processes have entered the lab's network from outside, \
             and it lives until they end: {}",
            named(&remains.holders)
        ));
    }
    if remains.connections > 0 {
        sentences.push(format!(
            "warning: {} connections of the lab are still closing, for two minutes at most; \
             until then they hold its network and its congestion controller",
            remains.connections
        ));
    }
    sentences
}

/// `123 (sleep 600), 124 (sh -c …)`: commands are cut to a length that fits a line.
fn named(processes: &[Process]) -> String {
    const LONGEST: usize = 60;
    let one = |process: &Process| {
        let cut: String = process.command.chars().take(LONGEST).collect();
        let dots = if cut.len() < process.command.len() {
            "…"
        } else {
            ""
        };
        format!("{} ({cut}{dots})", process.pid)
    };
    processes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What `joulepath lab clean` found and removed.
pub fn cleaned(found: &Clean) -> String {
    let mut lines = String::new();
    for lab in &found.removed {
        lines += &format!(
            "lab {} ({}): was killed; nothing of it runs, and its entry is removed\n",
            lab.id, lab.title
        );
        if !lab.holders.is_empty() {
            lines += &format!(
                "  others are inside its network, which lives until they end: {}\n",
                named(&lab.holders)
            );
        }
    }
    for lab in &found.running {
        lines += &format!("lab {} ({}): runs, and was left alone\n", lab.id, lab.title);
    }
    if found.removed.is_empty() {
        lines += "nothing was left behind\n";
    }
    lines
}
