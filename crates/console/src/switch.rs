//! What `joulepath on` has done, in five lines.

use joulepath_live::decide::Role;
use joulepath_live::status::Status;

use crate::figures;

/// Five lines: paths, the first subflow, programs, connections, and how to undo it. Then the
/// warnings.
pub fn on(status: &Status) -> String {
    let carry: Vec<&str> = of_role(status, Role::Regular);
    let rest: Vec<&str> = [Role::Backup, Role::Unused]
        .iter()
        .flat_map(|&role| of_role(status, role))
        .collect();
    let carry = if carry.is_empty() {
        "no interface carries data".into()
    } else {
        joined(&carry, "carry data")
    };
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("; {} in reserve", rest.join(", "))
    };
    let first: Vec<String> = figures::first(&status.first)
        .into_iter()
        .chain(figures::tunnels(&status.first))
        .collect();
    let first = match first.is_empty() {
        true => "New connections start by the routing table: there is no choice.".into(),
        false => first.join(" "),
    };
    let programs = status
        .programs
        .as_ref()
        .map(figures::programs)
        .filter(|said| !said.is_empty());
    let programs = programs.map_or_else(
        || {
            format!(
                "Programs: `joulepath run -- COMMAND` for one, [[mptcp]] in {} for services.",
                status.config
            )
        },
        |said| said.join(" "),
    );
    let warnings = status
        .warnings
        .iter()
        .map(|warning| format!("warning: {warning}\n"));
    let lines = [
        format!("Joulepath is on: {}; {carry}{rest}.", status.intent.word()),
        first,
        programs,
        format!("{}; `joulepath status` shows more.", figures::mptcp(status)),
        "`sudo joulepath off` undoes all of this without cutting a connection.".into(),
    ]
    .map(|line| line + "\n");
    lines.into_iter().chain(warnings).collect()
}

fn of_role(status: &Status, role: Role) -> Vec<&str> {
    let usable = status
        .interfaces
        .iter()
        .filter(|one| one.allowed && one.role == role && !one.addresses.is_empty());
    usable.map(|one| one.name.as_str()).collect()
}

fn joined(names: &[&str], verb: &str) -> String {
    let verb = if names.len() == 1 {
        verb.replacen("carry", "carries", 1)
    } else {
        verb.into()
    };
    format!("{} {verb}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use joulepath_live::status::{FirstStatus, InterfaceStatus, ProgramsStatus};

    use super::*;
    use crate::top::samples;

    #[test]
    fn five_lines_say_what_is_on_and_how_to_undo_it() {
        let mut status = samples::status();
        status.interfaces.truncate(2);
        status.warnings.clear();
        status.interfaces[0].role = Role::Regular;
        status.interfaces[1].role = Role::Unused;
        // A socket without a cable is no reserve.
        status.interfaces.push(InterfaceStatus {
            name: "eth0".into(),
            addresses: vec![],
            ..status.interfaces[1].clone()
        });
        let names = [0, 1].map(|place| status.interfaces[place].name.clone());
        status.first = FirstStatus {
            steered: true,
            preferred: Some(names[0].clone()),
            ..FirstStatus::default()
        };
        let lines: Vec<String> = on(&status).lines().map(str::to_owned).collect();
        let [first, second] = &names;
        assert_eq!(
            lines[0],
            format!("Joulepath is on: frugal; {first} carries data; {second} in reserve.")
        );
        assert_eq!(lines[1], format!("New connections start on {first}."));
        assert!(
            lines[2].starts_with("Programs: `joulepath run -- COMMAND` for one"),
            "{}",
            lines[2]
        );
        assert!(lines[4].contains("sudo joulepath off"));
        assert_eq!(lines.len(), 5);
        status.warnings = vec!["another program has set the endpoints of wlan0".into()];
        assert!(
            on(&status).ends_with("\nwarning: another program has set the endpoints of wlan0\n")
        );
        status.warnings.clear();
        status.programs = Some(ProgramsStatus {
            on: ["a.service", "b.service"].map(String::from).into(),
            waiting: vec!["b.service".into()],
            ..ProgramsStatus::default()
        });
        let said = on(&status);
        assert!(
            said.contains("On MPTCP: a.service, b.service. On MPTCP after a restart"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 5);
    }
}
