//! The init of a lab: the first process of a process namespace in which all programs of the lab
//! run.
//!
//! ```text
//!   joulepath ── stdin ──► init (process 1 of the namespace)
//!       │                    ▲ when it ends, the kernel kills all others in the namespace
//!       └── the lab's command and its descendants, even with setsid, double forks, an empty environment
//! ```
//!
//! No process can leave a process namespace, and no foreign process is in it, so the init ends
//! exactly the lab's processes. The init waits until its parent ends, in whatever way. Then it
//! kills the processes, resets connections that are still closing, and removes the lab's entry from
//! the ledger. If the init itself is killed, the kernel kills the processes.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{io, thread};

use joulepath_kernel::error::{Doing, Error as KernelError};
use joulepath_kernel::mptcp::abort::abort_connections;
use joulepath_kernel::mptcp::diag;
use joulepath_kernel::namespace::Namespace;
use joulepath_model::cancel::Cancel;
use serde::{Deserialize, Serialize};

use super::ledger::{Entry, Record};
use super::processes::{self, Identity, Kind, Process, Remains};
use crate::error::{Error, Result};
use crate::worker::{Parent, Place, ProcessNamespace, Processes, Program, Worker};

/// Role of the worker.
pub(crate) const ROLE: &str = "lab-init";
/// How long processes and connections may take to disappear. They take milliseconds; a busy machine
/// needs more.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two checks for what is left.
const TURN: Duration = Duration::from_millis(2);

/// The first message to the init.
#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    title: String,
    client: PathBuf,
    server: PathBuf,
}

/// The last message to the init.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    End,
}

/// A message from the init.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Ready {
        id: String,
        /// The reason, if the lab could not be recorded in the ledger.
        unrecorded: Option<String>,
    },
    Ended(Remains),
}

/// The init, as the lab uses it. Dropping the value ends everything in the lab.
#[derive(Debug)]
pub(super) struct Init {
    id: String,
    unrecorded: Option<String>,
    namespace: ProcessNamespace,
    /// `None` once the lab has ended.
    worker: Option<Worker>,
}

impl Init {
    /// # Errors
    /// Without `CAP_SYS_ADMIN`, or without process namespaces.
    pub(super) fn start(
        title: &str,
        client: &Namespace,
        server: &Namespace,
        program: &Program,
    ) -> Result<Self> {
        let spec = Spec {
            title: title.to_owned(),
            client: client.path(),
            server: server.path(),
        };
        let place = Place {
            processes: Processes::New,
            ..Place::default()
        };
        // Not the lab's own: the init must still answer when the lab is cancelled.
        let cancel = Cancel::new();
        let mut worker =
            Worker::spawn_at(ROLE, &spec, place, program, &cancel).map_err(not_started)?;
        let namespace =
            ProcessNamespace::of(worker.pid()).doing("holding the lab's process namespace")?;
        match worker.receive(PATIENCE)? {
            Event::Ready { id, unrecorded } => Ok(Init {
                id,
                unrecorded,
                namespace,
                worker: Some(worker),
            }),
            Event::Ended(_) => Err(Error::Run(format!(
                "the {ROLE} ended before the lab started"
            ))),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn unrecorded(&self) -> Option<&str> {
        self.unrecorded.as_deref()
    }

    /// The namespace of the lab's programs.
    pub(super) fn namespace(&self) -> &ProcessNamespace {
        &self.namespace
    }

    /// Ends the lab. Returns what was still running and what is left.
    ///
    /// # Errors
    /// If the init was killed: the kernel has then killed the processes, but connections may still
    /// be closing.
    pub(super) fn end(&mut self) -> Result<Remains> {
        let Some(mut worker) = self.worker.take() else {
            return Ok(Remains::default());
        };
        let asked = worker
            .send(&Command::End)
            .and_then(|()| worker.receive(3 * PATIENCE));
        // The kernel keeps an init until its namespace is empty, and a program that its parent has
        // not reaped is still in it.
        worker.let_go();
        match asked? {
            Event::Ended(remains) => Ok(remains),
            Event::Ready { .. } => Err(Error::Run(format!("the {ROLE} started twice"))),
        }
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        // Without an answer the init still sees that its parent has closed the channel.
        let _ = self.end();
    }
}

/// The kernel reports "no space left on device" if there are too many process namespaces.
fn not_started(error: Error) -> Error {
    match error {
        Error::Kernel(KernelError::Io { source, .. })
            if source.raw_os_error() == Some(libc::ENOSPC) =>
        {
            let unsupported = KernelError::Unsupported {
                what: "another process namespace for a lab".into(),
                why: "the limit user.max_pid_namespaces is reached".into(),
                remedy: "sysctl -w user.max_pid_namespaces=1024".into(),
            };
            unsupported.into()
        }
        error => error,
    }
}

/// The worker [`ROLE`].
pub(crate) fn run(parent: &mut Parent) -> Result<()> {
    let Some(spec) = parent.receive::<Spec>()? else {
        return Ok(());
    };
    let namespaces = [Namespace::at(&spec.client)?, Namespace::at(&spec.server)?];
    reap_automatically();
    let record = Record::new(&spec.title, namespaces.each_ref())?;
    let entry = Entry::new(&record);
    let unrecorded = entry.as_ref().err().map(ToString::to_string);
    parent.send(&Event::Ready {
        id: record.id,
        unrecorded,
    })?;
    // Any command, or the end of the channel, ends the lab.
    let _ = parent.receive::<Command>();
    let remains = end(&namespaces)?;
    drop(entry);
    // A killed parent does not read it.
    let _ = parent.send(&Event::Ended(remains));
    Ok(())
}

/// Processes whose parent has ended become children of the init, which needs no exit status.
fn reap_automatically() {
    // SAFETY: SIG_IGN runs no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

fn end(namespaces: &[Namespace; 2]) -> Result<Remains> {
    let ended = end_processes()?;
    let connections = end_connections(namespaces)?;
    let networks = namespaces
        .each_ref()
        .map(|namespace| Identity::of_file(namespace.as_fd()));
    let networks = networks
        .into_iter()
        .collect::<io::Result<Vec<_>>>()
        .doing("opening the lab's namespaces")?;
    Ok(Remains {
        ended,
        holders: processes::inside(&networks, Kind::Network),
        connections,
    })
}

/// Kills every other process of this process namespace, and waits until none runs.
fn end_processes() -> Result<Vec<Process>> {
    let own = Identity::of_process("self", Kind::Process).doing("opening /proc/self/ns/pid")?;
    let found = processes::inside(&[own], Kind::Process);
    let deadline = Instant::now() + PATIENCE;
    loop {
        // SAFETY: the call takes no pointers. -1 means all processes of this namespace except its
        // init.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        if processes::inside(&[own], Kind::Process).is_empty() || Instant::now() > deadline {
            return Ok(found);
        }
        thread::sleep(TURN);
    }
}

/// Resets connections until none is left. Returns how many are left.
fn end_connections(namespaces: &[Namespace; 2]) -> Result<usize> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut left = 0;
        for namespace in namespaces {
            left += match namespace.enter_thread(abort_connections)? {
                // They will end by themselves.
                Err(KernelError::Unsupported { .. }) => return count_connections(namespaces),
                found => found?,
            };
        }
        if left == 0 || Instant::now() > deadline {
            return Ok(left);
        }
        thread::sleep(TURN);
    }
}

fn count_connections(namespaces: &[Namespace; 2]) -> Result<usize> {
    let mut count = 0;
    for namespace in namespaces {
        let listing = namespace.enter_thread(diag::list)??;
        count += listing.connections.len() + listing.plain.len() + listing.orphans.len();
    }
    Ok(count)
}
