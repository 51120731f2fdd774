//! The group of a connection: the machine's, or that of the first matching rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use joulepath_kernel::mptcp::diag::Connection;
use joulepath_model::live::{LiveConfig, Rule, fits};

use super::process::{Processes, Program};
use crate::decide::{Decider, Decision, Overrides};
use crate::names::number_of;
use crate::snapshot::Snapshot;

const USERS: &str = "/etc/passwd";

/// The rules of a configuration, each with its decider.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    all: Vec<Ruled>,
    processes: Processes,
    /// Why some rules cannot match.
    pub(crate) troubles: Vec<String>,
}

#[derive(Debug)]
struct Ruled {
    rule: Rule,
    /// `None`: any user. `Some(None)`: the user does not exist.
    uid: Option<Option<u32>>,
    /// The configuration with the rule's intent.
    config: LiveConfig,
    decider: Decider,
    /// The last matching connection.
    fitted: Option<Fitted>,
}

/// A connection that matched a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fitted {
    pub(crate) uid: u32,
    pub(crate) words: String,
}

impl Rules {
    pub(crate) fn new(config: &LiveConfig) -> Self {
        Rules::of(
            config,
            &fs::read_to_string(USERS).unwrap_or_default(),
            Processes::default(),
        )
    }

    fn of(config: &LiveConfig, users: &str, processes: Processes) -> Self {
        let mut troubles = vec![];
        let mut ruled = |rule: &Rule| {
            let uid = rule.user.as_ref().map(|name| user_number(users, name));
            if uid == Some(None) {
                let words = rule.words();
                troubles.push(format!(
                    "the rule `{words}` matches nothing: there is no such user"
                ));
            }
            let config = LiveConfig {
                intent: rule.intent,
                tolerance: rule.tolerance,
                ..config.clone()
            };
            Ruled {
                rule: rule.clone(),
                uid,
                config,
                decider: Decider::default(),
                fitted: None,
            }
        };
        let all = config.all_rules().iter().map(&mut ruled).collect();
        Rules {
            all,
            processes,
            troubles,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Decides for each rule. An intent set at run time for the machine does not apply to rules.
    pub(crate) fn decide(&mut self, overrides: &Overrides, snapshot: &Snapshot) -> Vec<Decision> {
        let overrides = Overrides {
            machine: None,
            ..overrides.clone()
        };
        let decide = |one: &mut Ruled| one.decider.decide(&one.config, &overrides, snapshot);
        self.all.iter_mut().map(decide).collect()
    }

    /// Each rule and its last match.
    pub(crate) fn told(&self) -> impl Iterator<Item = (&Rule, Option<&Fitted>)> {
        self.all.iter().map(|one| (&one.rule, one.fitted.as_ref()))
    }

    /// Groups of connections: 0 is the machine's, 1 the first rule's.
    pub(crate) fn groups(&mut self, connections: &[&Connection]) -> Vec<usize> {
        let paths: Vec<Option<String>> = connections.iter().map(|one| self.path_of(one)).collect();
        let programs = self.programs(connections, &paths);
        let mut groups = vec![];
        for (connection, path) in connections.iter().zip(&paths) {
            let programs = programs.get(&connection.inode);
            let found = self.all.iter().position(|one| {
                one.may_fit(connection, path.as_deref()) && one.fits_programs(programs)
            });
            if let Some(place) = found {
                let words = seen(connection, path.as_deref(), programs);
                self.all[place].fitted = Some(Fitted {
                    uid: connection.uid,
                    words,
                });
            }
            groups.push(found.map_or(0, |place| place + 1));
        }
        let trouble = "some processes cannot be examined, so rules with `program` may miss connections: give \
                       the daemon CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or use `user` or `cgroup`";
        if self.processes.hidden && !self.troubles.iter().any(|known| known == trouble) {
            self.troubles.push(trouble.into());
        }
        groups
    }

    /// The control group of a connection, if a rule needs it or it narrows the search for programs.
    fn path_of(&mut self, connection: &Connection) -> Option<String> {
        let asks = self
            .all
            .iter()
            .any(|one| one.rule.cgroup.is_some() || one.rule.program.is_some());
        connection
            .cgroup
            .filter(|_| asks)
            .and_then(|number| self.processes.group(number))
    }

    /// Programs, by socket inode, of connections that may match a rule with `program`.
    fn programs(
        &mut self,
        connections: &[&Connection],
        paths: &[Option<String>],
    ) -> BTreeMap<u32, BTreeSet<Program>> {
        let mut wanted: BTreeMap<Option<&str>, BTreeSet<u32>> = BTreeMap::new();
        for (connection, path) in connections.iter().zip(paths) {
            let path = path.as_deref();
            let asks = |one: &Ruled| one.rule.program.is_some() && one.may_fit(connection, path);
            if connection.inode != 0 && self.all.iter().any(asks) {
                // Processes in the root group tell nothing.
                wanted
                    .entry(path.filter(|path| *path != "/"))
                    .or_default()
                    .insert(connection.inode);
            }
        }
        let mut found = BTreeMap::new();
        for (path, sockets) in wanted {
            found.extend(self.processes.programs(&sockets, path));
            // A process may have changed its group or passed the socket to one in another group.
            let missing: BTreeSet<u32> = sockets
                .into_iter()
                .filter(|inode| !found.contains_key(inode))
                .collect();
            if path.is_some() && !missing.is_empty() {
                found.extend(self.processes.programs(&missing, None));
            }
        }
        found
    }
}

impl Ruled {
    /// True if everything except the program matches. The program is the most expensive check.
    fn may_fit(&self, connection: &Connection, path: Option<&str>) -> bool {
        let Rule {
            cgroup,
            port,
            remote,
            ..
        } = &self.rule;
        let is_in = |pattern: &String| path.is_some_and(|path| fits_group(pattern, path));
        self.uid.is_none_or(|uid| uid == Some(connection.uid))
            && cgroup.as_ref().is_none_or(is_in)
            && port.is_none_or(|port| port == connection.remote.port())
            && remote.is_none_or(|range| range.contains(connection.remote.ip()))
    }

    fn fits_programs(&self, programs: Option<&BTreeSet<Program>>) -> bool {
        let Some(pattern) = &self.rule.program else {
            return true;
        };
        programs.is_some_and(|all| all.iter().any(|program| fits_program(pattern, program)))
    }
}

/// True if the path of a control group, or one component, matches the pattern.
fn fits_group(pattern: &str, path: &str) -> bool {
    fits(pattern, path)
        || path
            .split('/')
            .any(|part| !part.is_empty() && fits(pattern, part))
}

/// A pattern with a `/` must match the whole path.
fn fits_program(pattern: &str, program: &Program) -> bool {
    let path = program.path.as_deref();
    if pattern.contains('/') {
        return path.is_some_and(|path| fits(pattern, path));
    }
    let file = path.and_then(|path| path.rsplit('/').next());
    file.is_some_and(|file| fits(pattern, file)) || fits(pattern, &program.name)
}

/// Describes a match: `ffmpeg of user 1000 in /user.slice to 192.0.2.1:443`.
fn seen(
    connection: &Connection,
    path: Option<&str>,
    programs: Option<&BTreeSet<Program>>,
) -> String {
    let program = programs
        .and_then(BTreeSet::first)
        .map_or("a program", |program| program.name.as_str());
    let place = path.map(|path| format!(" in {path}")).unwrap_or_default();
    format!(
        "{program} of user {}{place} to {}",
        connection.uid, connection.remote
    )
}

/// A user's id; `name` may be the id itself.
fn user_number(users: &str, name: &str) -> Option<u32> {
    name.parse().ok().or_else(|| number_of(users, name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use joulepath_kernel::mptcp::TcpState;
    use joulepath_model::scenario::read_live;

    use super::*;
    use crate::samples::connection_info;

    fn connection(uid: u32, inode: u32, cgroup: u64, remote: &str) -> Connection {
        Connection {
            local: "198.18.0.2:40000".parse().unwrap(),
            remote: remote.parse().unwrap(),
            state: TcpState::Established,
            uid,
            inode,
            cgroup: Some(cgroup),
            mark: 0,
            memory: None,
            info: connection_info(inode),
            subflows: vec![],
        }
    }

    #[test]
    fn the_first_matching_rule_applies() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, groups) = (folder.path().join("proc"), folder.path().join("groups"));
        let unit = groups.join("system.slice/film.service");
        fs::create_dir_all(&unit).unwrap();
        fs::create_dir_all(proc.join("7/fd")).unwrap();
        fs::write(proc.join("7/comm"), "python3\n").unwrap();
        symlink("/opt/film/python3.11", proc.join("7/exe")).unwrap();
        symlink("socket:[70]", proc.join("7/fd/3")).unwrap();
        // Not searched, because the connection of this socket matches no rule with `program`.
        symlink("socket:[71]", proc.join("7/fd/4")).unwrap();
        let number = fs::metadata(&unit).unwrap().ino();
        let rule = |keys: &str| format!("[[rule]]\nintent = \"aggregate\"\n{keys}\n");
        let text = "intent = \"frugal\"\npm = \"userspace\"\n".to_owned()
            + &rule("user = \"ann\"\nport = 22")
            + &rule("program = \"python*\"\nremote = \"192.0.2.0/24\"")
            + &rule("program = \"/opt/film/*\"\nport = 80")
            + &rule("cgroup = \"film.service\"")
            + &rule("user = \"nobody-there\"");
        let config = read_live(&text).unwrap_or_else(|errors| panic!("{errors}"));
        let processes = Processes::below(proc, Some(groups));
        let mut rules = Rules::of(&config, "root:x:0:0::/:\nann:x:1000:1000::/:\n", processes);
        assert_eq!(
            rules.troubles,
            ["the rule `user nobody-there` matches nothing: there is no such user"]
        );
        let all = [
            connection(1000, 70, 1, "203.0.113.1:22"),
            connection(1000, 70, 1, "192.0.2.9:443"),
            connection(0, 70, 1, "203.0.113.1:80"),
            connection(0, 71, number, "203.0.113.1:443"),
            connection(0, 72, 1, "192.0.2.9:80"),
        ];
        assert_eq!(rules.groups(&all.each_ref()), [1, 2, 3, 4, 0]);
        let fitted: Vec<_> = rules
            .told()
            .map(|(_, fitted)| fitted.map(|one| one.words.as_str()))
            .collect();
        assert_eq!(fitted[1], Some("python3 of user 1000 to 192.0.2.9:443"));
        assert_eq!(
            fitted[3],
            Some("a program of user 0 in /system.slice/film.service to 203.0.113.1:443")
        );
        assert_eq!(fitted[4], None);
    }

    #[test]
    fn only_programs_in_the_group_of_a_connection_match_it() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, groups) = (folder.path().join("proc"), folder.path().join("groups"));
        let unit = groups.join("film.service");
        fs::create_dir_all(&unit).unwrap();
        fs::write(unit.join("cgroup.procs"), "7\n").unwrap();
        // A process in another group has the same socket.
        for (process, name) in [("7", "ffmpeg"), ("8", "curl")] {
            fs::create_dir_all(proc.join(process).join("fd")).unwrap();
            fs::write(proc.join(process).join("comm"), name).unwrap();
            symlink("socket:[70]", proc.join(process).join("fd/3")).unwrap();
        }
        let number = fs::metadata(&unit).unwrap().ino();
        let group_of = |program: &str| {
            let rule = format!("[[rule]]\nintent = \"frugal\"\nprogram = \"{program}\"");
            let text = format!("intent = \"off\"\npm = \"userspace\"\n{rule}");
            let processes = Processes::below(proc.clone(), Some(groups.clone()));
            let mut rules = Rules::of(&read_live(&text).unwrap(), "", processes);
            rules.groups(&[&connection(0, 70, number, "203.0.113.1:443")])
        };
        assert_eq!((group_of("ffmpeg"), group_of("curl")), (vec![1], vec![0]));
    }

    #[test]
    fn hidden_processes_are_reported_once() {
        let mut rules = Rules::default();
        rules.groups(&[]);
        assert_eq!(rules.troubles.len(), 0);
        rules.processes.hidden = true;
        rules.troubles.push("another".into());
        rules.groups(&[]);
        rules.groups(&[]);
        assert!(
            rules.troubles.len() == 2 && rules.troubles[1].contains("CAP_SYS_PTRACE"),
            "{rules:?}"
        );
    }
}
