//! `joulepath on` and `joulepath off`: the daemon as a service of systemd, enabled and started, or
//! neither.
//!
//! ```text
//! on   configuration if there is none ─► drop-in with the options ─► daemon-reload, enable, restart
//! off  disable, stop ─► our files ─► daemon-reload ─► undo what the daemon has left
//! ```
//! Both files are their own journal (`owned`). A kill at any step leaves what `off` removes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::Error as KernelError;
use joulepath_model::live::{First, Intent, Manager};
use rustix::process::geteuid;

use crate::client;
use crate::config::{Chosen, SAMPLE, load_for};
use crate::daemon::{self, Undone, undo};
use crate::error::{Error, Result};
use crate::owned::{self, Stamp};
use crate::precheck;
use crate::server::Request;
use crate::status::Status;
use crate::systemd;
use crate::units::FOLDER;

/// Where the package puts the configuration.
const CONFIG: &str = "/etc/joulepath/live.toml";
const SERVICE: &str = "joulepathd.service";
/// The file with the options, in the folder of the service's drop-ins.
const OPTIONS: &str = "zz-joulepath-on.conf";
/// The service's variable for further options.
const VARIABLE: &str = "JOULEPATH_OPTIONS";
const PURPOSE: &str = "`joulepath off` removes it unless changed";
/// Where packages and administrators put services.
const SERVICES: [&str; 4] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
];
/// A stopping daemon, or a process that waits, holds its lock at most this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// What switching on does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Files and what is written into them.
    files: Vec<(PathBuf, String)>,
    /// Calls of `systemctl`.
    calls: Vec<Vec<String>>,
    /// The command that starts the daemon by hand.
    by_hand: String,
    /// Why systemd cannot start it; `None` if it can.
    obstacle: Option<String>,
}

impl Plan {
    fn steps(&self) -> Vec<String> {
        let files = self
            .files
            .iter()
            .map(|(file, _)| format!("write {}", file.display()));
        let calls = self
            .calls
            .iter()
            .map(|words| format!("run systemctl {}", words.join(" ")));
        let by_hand = self
            .obstacle
            .iter()
            .map(|why| format!("start no daemon: {why}; run `{}`", self.by_hand));
        files.chain(calls).chain(by_hand).collect()
    }
}

fn plan(root: &Path, intent: Option<Intent>, adopt: bool) -> Result<Plan> {
    if intent == Some(Intent::Off) {
        let remedy = "run `sudo joulepath off`".into();
        return Err(Error::Refused {
            what: "`joulepath on` has no intent `off`".into(),
            remedy,
        });
    }
    let mut plan = Plan::default();
    let config = inside(root, CONFIG);
    // A configuration of the user is not changed.
    if fs::symlink_metadata(&config).is_err() {
        plan.files.push((config, SAMPLE.into()));
    } else if !is_ours(&config) {
        load_for(&config, Chosen::default())?;
    }
    let options = options(intent, adopt);
    plan.by_hand = format!("sudo joulepath live --config {CONFIG} {options}");
    plan.obstacle = obstacle(root);
    if plan.obstacle.is_none() {
        let body = format!("[Service]\nEnvironment=\"{VARIABLE}={options}\"\n");
        plan.files.push((options_file(root), body));
        let calls: [&[&str]; 3] = [
            &["daemon-reload"],
            &["enable", SERVICE],
            &["restart", SERVICE],
        ];
        plan.calls = calls
            .map(|words| words.iter().map(|&word| word.into()).collect())
            .into();
    }
    Ok(plan)
}

/// The status and the steps if [`on`] were called like this. Changes nothing.
///
/// # Errors
/// If the configuration is wrong, or a request to the kernel fails.
pub fn dry_run(intent: Option<Intent>, adopt: bool) -> Result<(Status, Vec<String>)> {
    let (plan, config) = (plan(Path::new("/"), intent, adopt)?, Path::new(CONFIG));
    let chosen = Chosen {
        intent,
        first: Some(First::Steer),
        manager: None,
        adopt,
    };
    let (status, steps) = match config.exists() {
        true => daemon::dry_run(config, chosen)?,
        false => daemon::dry_run_of(SAMPLE, config, chosen)?,
    };
    Ok((status, [plan.steps(), steps].concat()))
}

/// Options of the daemon. Without an intent, the configuration's applies.
fn options(intent: Option<Intent>, adopt: bool) -> String {
    let intent = intent
        .map(|intent| format!("--intent {} ", intent.word()))
        .unwrap_or_default();
    let adopt = if adopt { " --adopt" } else { "" };
    format!("{intent}--first {}{adopt}", First::Steer.word())
}

fn obstacle(root: &Path) -> Option<String> {
    if !systemd::is_running(root) {
        return Some("systemd does not run here".into());
    }
    let is_there = SERVICES
        .iter()
        .any(|folder| root.join(folder).join(SERVICE).exists());
    (!is_there).then(|| {
        format!("systemd has no {SERVICE}: the Debian package and the folder packaging have it")
    })
}

/// Switches on; without an intent, the configuration's applies. `adopt` takes over endpoints of
/// other programs, also if the configuration does not. Returns the status of the started daemon.
///
/// # Errors
/// As [`dry_run`]; if rights or MPTCP are missing; if a file cannot be written, or systemd cannot
/// start the daemon. `off` removes what was done until then.
pub fn on(intent: Option<Intent>, adopt: bool) -> Result<Status> {
    need_root("on")?;
    // A running daemon may have chosen the path manager.
    let manager = if daemon::is_running()? {
        Manager::UserSpace
    } else {
        Manager::default()
    };
    if let Some(blocker) = precheck::blockers(manager).into_iter().next() {
        return Err(blocker.into());
    }
    let plan = plan(Path::new("/"), intent, adopt)?;
    let stamp = Stamp::now()?;
    for (file, body) in &plan.files {
        owned::put(file, PURPOSE, body, stamp.clone()).map_err(|error| unwritten(file, &error))?;
    }
    for words in &plan.calls {
        systemd::call(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    if let Some(why) = plan.obstacle {
        let remedy = format!("run `{}`; Ctrl-C undoes its changes", plan.by_hand);
        let what = "no daemon was started".into();
        return Err(KernelError::Unsupported { what, why, remedy }.into());
    }
    let config = load_for(Path::new(CONFIG), Chosen::default())?;
    client::ask(Path::new(&config.control.socket), &Request::Status)
}

/// Switches off: stops and disables the service, removes the files of [`on`] that nobody has
/// changed, and undoes what the daemon has left. No connection is cut. `say` gets what stays.
///
/// # Errors
/// If `systemctl` fails, a file cannot be removed, or a daemon runs that systemd has not started.
/// The call may be repeated.
pub fn off(say: &mut dyn FnMut(&str)) -> Result<Undone> {
    need_root("off")?;
    let root = Path::new("/");
    let is_service = obstacle(root).is_none();
    if is_service {
        systemd::call(&["disable", SERVICE])?;
        systemd::call(&["stop", SERVICE])?;
    }
    let mut removed = 0;
    for file in [options_file(root), inside(root, CONFIG)] {
        removed += usize::from(owned::remove(&file).map_err(|error| unwritten(&file, &error))?);
    }
    if is_service && removed > 0 {
        systemd::reload()?;
    }
    let begun = Instant::now();
    loop {
        match undo(false, say) {
            Err(Error::Kernel(KernelError::Busy { .. })) if begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(100));
            }
            Err(Error::Kernel(KernelError::Busy { .. })) => {
                return Err(Error::Refused {
                    what: "a daemon runs that systemd has not started".into(),
                    remedy:
                        "end it with Ctrl-C in its terminal; then call `sudo joulepath off` again"
                            .into(),
                });
            }
            undone => return undone,
        }
    }
}

fn options_file(root: &Path) -> PathBuf {
    root.join(FOLDER).join(format!("{SERVICE}.d")).join(OPTIONS)
}

fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn is_ours(file: &Path) -> bool {
    matches!(owned::look(file), Ok(owned::Found::Ours(_)))
}

fn need_root(word: &str) -> Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    let denied = io::Error::from(io::ErrorKind::PermissionDenied);
    Err(KernelError::io(format!("`joulepath {word}` needs root"), denied).into())
}

fn unwritten(file: &Path, error: &io::Error) -> Error {
    Error::Refused {
        what: format!("cannot change {}: {error}", file.display()),
        remedy: "`sudo joulepath off` removes what was written".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(root: &Path, intent: Option<Intent>) -> Plan {
        plan(root, intent, false).unwrap_or_else(|error| panic!("{error}"))
    }

    fn write(root: &Path, file: &str, text: &str) {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn without_systemd_only_the_configuration_is_written_and_the_command_is_named() {
        let root = tempfile::tempdir().unwrap();
        let plan = planned(root.path(), Some(Intent::Handover));
        assert_eq!(plan.files.len(), 1);
        assert!(
            plan.calls.is_empty()
                && plan
                    .obstacle
                    .as_ref()
                    .unwrap()
                    .contains("systemd does not run")
        );
        let command =
            "sudo joulepath live --config /etc/joulepath/live.toml --intent handover --first steer";
        assert_eq!(plan.by_hand, command);
        let step = format!("start no daemon: systemd does not run here; run `{command}`");
        assert_eq!(plan.steps()[1], step);
        let adopts = super::plan(root.path(), Some(Intent::Frugal), true).unwrap();
        assert!(
            adopts
                .by_hand
                .ends_with("--intent frugal --first steer --adopt"),
            "{}",
            adopts.by_hand
        );
        let error = super::plan(root.path(), Some(Intent::Off), false).unwrap_err();
        assert!(error.to_string().contains("no intent `off`"), "{error}");
    }

    #[test]
    fn with_systemd_and_no_service_the_reason_says_where_it_is() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("run/systemd/system")).unwrap();
        let why = planned(root.path(), None).obstacle.unwrap();
        assert!(why.contains("systemd has no joulepathd.service"), "{why}");
    }

    #[test]
    fn a_configuration_of_the_user_is_checked_and_never_written() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("run/systemd/system")).unwrap();
        write(root.path(), "usr/lib/systemd/system/joulepathd.service", "");
        let names = |plan: Plan| {
            plan.files
                .into_iter()
                .map(|(file, _)| file)
                .collect::<Vec<_>>()
        };
        let (config, drop_in) = (inside(root.path(), CONFIG), options_file(root.path()));
        assert_eq!(
            names(planned(root.path(), None)),
            [config.clone(), drop_in.clone()]
        );
        write(
            root.path(),
            "etc/joulepath/live.toml",
            "intent = \"aggregate\"\n",
        );
        let plan = planned(root.path(), Some(Intent::Frugal));
        let body = "[Service]\nEnvironment=\"JOULEPATH_OPTIONS=--intent frugal --first steer\"\n";
        assert_eq!(plan.files, [(drop_in, body.to_owned())]);
        assert_eq!(
            plan.steps().last().unwrap(),
            "run systemctl restart joulepathd.service"
        );
        write(
            root.path(),
            "etc/joulepath/live.toml",
            "intent = \"cheap\"\n",
        );
        let error = super::plan(root.path(), None, false)
            .unwrap_err()
            .to_string();
        assert!(error.contains("1:10: `cheap` is not an intent"), "{error}");
    }
}
