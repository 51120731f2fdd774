//! What `[[mptcp]]` selects.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use joulepath_kernel::programs::Scope;
use joulepath_model::live::{LiveConfig, OnMptcp, Programs, fits};

use super::files::{Service, Services};
use crate::names::number_of;

const USERS: &str = "etc/passwd";

/// The programs of a configuration, for BPF.
pub(super) struct Selection {
    pub(super) scope: Scope,
    /// Names of units, or `all programs`.
    pub(super) on: Vec<String>,
    /// What stays on TCP, and why.
    pub(super) notes: Vec<String>,
}

/// The control groups of a configuration's programs.
pub(super) fn select(root: &Path, config: &LiveConfig) -> Selection {
    let services = Services::read(root);
    let mut selection = Selection {
        scope: Scope::default(),
        on: vec![],
        notes: vec![],
    };
    if config
        .mptcp
        .iter()
        .any(|entry| entry.programs == Programs::All)
    {
        selection.scope.add_all();
        selection.on.push("all programs".into());
        return selection;
    }
    let mut units = BTreeSet::new();
    for entry in &config.mptcp {
        // It contains the user's sessions and the user's own systemd.
        let slice = match &entry.programs {
            Programs::User(user) => {
                number(user, &users(root)).map(|number| format!("user-{number}.slice"))
            }
            _ => None,
        };
        match services_of(root, &services, entry) {
            Ok(found) => units.extend(found),
            Err(_) if slice.is_some() => {}
            Err(why) => selection.notes.push(format!("{}: {why}", entry.words())),
        }
        units.extend(slice);
    }
    for name in units {
        match selection.scope.add_unit(&name) {
            Ok(()) => selection.on.push(name),
            Err(why) => selection.notes.push(format!("{name}: {why}")),
        }
    }
    selection
}

/// The machine's list of users; empty if it cannot be read.
fn users(root: &Path) -> String {
    fs::read_to_string(root.join(USERS)).unwrap_or_default()
}

/// The id of a user, who has a name or a number.
fn number(user: &str, users: &str) -> Option<u32> {
    user.parse().ok().or_else(|| number_of(users, user))
}

/// The services of an entry; an error says why there are none.
pub(super) fn services_of(
    root: &Path,
    services: &Services,
    entry: &OnMptcp,
) -> std::result::Result<BTreeSet<String>, String> {
    let that = |fits: &dyn Fn(&Service) -> bool| -> BTreeSet<String> {
        let fits = |name: &&String| services.service(name).is_some_and(|service| fits(&service));
        services.names().filter(fits).cloned().collect()
    };
    let (found, why) = match &entry.programs {
        Programs::All => return Ok(BTreeSet::new()),
        Programs::Unit(pattern) => (
            services.matching(pattern),
            "systemd has no such service".into(),
        ),
        Programs::Program(pattern) => {
            let is_it = |program: &String| {
                let name = if pattern.contains('/') {
                    program
                } else {
                    name_of(program)
                };
                fits(pattern, name)
            };
            let why = "no service starts it, and programs of shells and desktops cannot be put on MPTCP by \
                       name: start it with `joulepath run`, or write `user = \"ann\"` in place of `program`";
            (
                that(&|service| service.programs.iter().any(is_it)),
                why.into(),
            )
        }
        Programs::User(user) => {
            let users = users(root);
            let Some(number) = number(user, &users) else {
                return Err("there is no such user".into());
            };
            let is_it = |name: &String| name == user || number_of(&users, name) == Some(number);
            let mut found = that(&|service| service.user.as_ref().is_some_and(is_it));
            let own = services.matching(&format!("user@{number}.service"));
            // root's own systemd exists only while root is logged in, as that of others.
            found.extend(own);
            (found, "systemd starts nothing for this user".to_owned())
        }
    };
    if found.is_empty() {
        Err(why)
    } else {
        Ok(found)
    }
}

fn name_of(program: &str) -> &str {
    program.rsplit_once('/').map_or(program, |(_, name)| name)
}
