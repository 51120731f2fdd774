//! Sets the endpoints of the device during a run: by the daemon, or fixed ones.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::mptcp::path_manager::{Limits, PathManager};
use joulepath_lab::engine::PathManagement;
use joulepath_lab::{Error, Lab, Result};
use joulepath_live::{Request, client};
use joulepath_model::live::LiveConfig;
use joulepath_model::scenario::show_live;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Defaults of a new network namespace (`net/mptcp/pm.c`, `MPTCP_SUBFLOWS_MAX`): two subflows
/// besides the first one, none to announced addresses.
const KERNELS_LIMITS: Limits = Limits {
    accepted_addresses: 0,
    extra_subflows: 2,
};
/// Time limit for the daemon to start and to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for the connections of a run to end. Endpoints wait for them, and full queues delay
/// their data.
const LINGERING: Duration = Duration::from_secs(90);
const TURN: Duration = Duration::from_millis(10);

/// Source of the endpoints.
pub(super) enum Means {
    /// Fixed from the start.
    Endpoints(FixedEndpoints),
    /// Set by the daemon.
    Daemon(Box<Daemon>),
}

impl Means {
    /// Path management of one run.
    pub(super) fn management(&self, seed: u64) -> Box<dyn PathManagement> {
        match self {
            Means::Endpoints(endpoints) => Box::new(*endpoints),
            Means::Daemon(daemon) => Box::new(Running {
                daemon: (**daemon).clone(),
                seed,
                process: None,
            }),
        }
    }
}

/// One endpoint for each address, the default of NetworkManager and mptcpd.
#[derive(Clone, Copy)]
pub(super) struct FixedEndpoints;

impl PathManagement for FixedEndpoints {
    fn begin(&mut self, lab: &mut Lab) -> Result<()> {
        set_limits(lab)?;
        (0..lab.tunnels().len())
            .filter(|&i| lab.tunnels()[i].path.is_some())
            .try_for_each(|i| lab.announce(i, false))
    }

    fn end(&mut self, _lab: &mut Lab) -> Result<()> {
        Ok(())
    }
}

/// The daemon and its configuration.
#[derive(Clone)]
pub(super) struct Daemon {
    /// Program whose `live --config FILE` is the daemon.
    pub(super) program: PathBuf,
    pub(super) config: LiveConfig,
    /// Prefix of the file names for its output.
    pub(super) logs: Option<PathBuf>,
}

/// The daemon during a run.
struct Running {
    daemon: Daemon,
    seed: u64,
    process: Option<Process>,
}

struct Process {
    child: Child,
    /// Folder of its files.
    folder: TempDir,
}

impl Process {
    fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap_or_default()
    }

    fn has_ended(&mut self) -> bool {
        !self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }

    /// Error with its last output.
    fn failed(&mut self, what: &str) -> Error {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let said = self.said();
        let last: Vec<&str> = said.lines().rev().take(3).collect();
        Error::Run(format!(
            "the daemon {what}: {}",
            last.into_iter().rev().collect::<Vec<_>>().join("; ")
        ))
    }
}

impl PathManagement for Running {
    fn begin(&mut self, lab: &mut Lab) -> Result<()> {
        set_limits(lab)?;
        let trouble = |doing: &str| {
            let doing = doing.to_owned();
            move |error: std::io::Error| Error::Run(format!("{doing}: {error}"))
        };
        let folder = tempfile::tempdir().map_err(trouble("the daemon needs a folder"))?;
        let mut config = self.daemon.config.clone();
        let socket = folder.path().join("live.sock");
        config.control.socket = socket.display().to_string();
        config.state = folder.path().join("state").display().to_string();
        let file = folder.path().join("live.toml");
        fs::write(&file, show_live(&config))
            .map_err(trouble("cannot write the daemon's configuration"))?;
        let said = File::create(folder.path().join("said"))
            .map_err(trouble("cannot store the daemon's output"))?;
        let mut command = Command::new(&self.daemon.program);
        command.arg("live").arg("--config").arg(&file);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        let child = lab.launch(command)?;
        let process = self.process.insert(Process { child, folder });
        let answers = within_patience(|| match client::ask(&socket, &Request::Status) {
            Ok(_) => Ok(true),
            Err(_) if process.has_ended() => Err(process.failed("did not begin")),
            Err(_) => Ok(false),
        })?;
        if answers {
            Ok(())
        } else {
            Err(process.failed("does not answer"))
        }
    }

    fn end(&mut self, lab: &mut Lab) -> Result<()> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        if process.has_ended() {
            return Err(process.failed("ended before the run"));
        }
        if let Some(pid) = i32::try_from(process.child.id())
            .ok()
            .and_then(Pid::from_raw)
        {
            // The process has not been reaped, so its id is still valid.
            let _ = kill_process(pid, Signal::TERM);
        }
        if !within_patience(|| Ok(process.has_ended()))? {
            return Err(process.failed("does not end"));
        }
        if let Some(logs) = &self.daemon.logs {
            let name = format!("{}-{}.log", logs.display(), self.seed);
            fs::write(&name, process.said())
                .map_err(|error| Error::Run(format!("cannot write {name}: {error}")))?;
        }
        // Connections of the run still need the endpoints; a process of the daemon waits for them
        // to end.
        let mut left = String::new();
        let is_gone = within(LINGERING, || {
            let (endpoints, limits) = lab.client().enter_thread(|| {
                let mut manager = PathManager::open()?;
                Ok::<_, joulepath_kernel::Error>((manager.endpoints()?.len(), manager.limits()?))
            })??;
            left = format!("the daemon left {endpoints} endpoints and {limits:?} behind");
            Ok((endpoints, limits) == (0, KERNELS_LIMITS))
        })?;
        if is_gone {
            Ok(())
        } else {
            Err(Error::Run(left))
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may have ended already.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

fn within_patience(is_done: impl FnMut() -> Result<bool>) -> Result<bool> {
    within(PATIENCE, is_done)
}

/// Polls every [`TURN`] until `is_done`; false after `patience`.
fn within(patience: Duration, mut is_done: impl FnMut() -> Result<bool>) -> Result<bool> {
    let until = Instant::now() + patience;
    while !is_done()? {
        if Instant::now() > until {
            return Ok(false);
        }
        thread::sleep(TURN);
    }
    Ok(true)
}

fn set_limits(lab: &Lab) -> Result<()> {
    Ok(lab
        .client()
        .enter_thread(|| PathManager::open()?.set_limits(KERNELS_LIMITS))??)
}
