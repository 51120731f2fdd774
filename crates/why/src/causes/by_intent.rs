//! The daemon leaves a path unused because its user wants it so: no fault.

use crate::finding::{Cost, Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "by-intent";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let daemon = subject.host.daemon.as_ref()?;
    if subject.is_idle() || !subject.is_client() {
        return None;
    }
    let others = subject.others();
    let backups = subject
        .flows
        .iter()
        .filter(|flow| flow.is_backup())
        .filter_map(|flow| flow.device);
    let names = backups.map(|device| subject.host.device_name(device));
    let names = others.into_iter().map(|one| one.name).chain(names);
    let spared: Vec<_> = names
        .filter_map(|name| daemon.of(&name))
        .filter(|one| !one.is_wanted)
        .collect();
    let mut commands: Vec<String> = spared
        .iter()
        .filter_map(|one| one.command.clone())
        .collect();
    commands.dedup();
    let first = spared.first()?;
    let all: Vec<&str> = spared.iter().map(|one| one.name.as_str()).collect();
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "the daemon spares {} under its intent, `{}`",
            all.join(", "),
            daemon.intent
        ),
        evidence: spared
            .iter()
            .map(|one| format!("{}: {}", one.name, one.reason))
            .collect(),
        cost: Cost::new(0.0, "nothing is wrong: the daemon does what it shall"),
        fix: Fix {
            commands,
            advice: Some(format!("only if {} shall carry data", first.name)),
        },
        remedy: None,
        gain: None,
    })
}
