//! The init of a lab: the first process of a process namespace, in which all programs of the lab run.
//!
//! ```text
//!   joulepath ── stdin ──► init (process 1 of the namespace)
//!       │                    ▲ the kernel kills all others of the namespace when it ends
//!       └── the lab's command, and whatever that has started: setsid, double forks, an empty environment
//! ```
//!
//! No process can leave a process namespace, so that none of them is missed, and no process of others is in
//! it, so that none of them is hit. The init waits for the end of its parent, orderly or not. Then it kills
//! the processes, resets the connections that are still closing, and removes the lab's entry from the ledger.
//! If it is killed itself the kernel ends the processes.

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
/// How long processes and connections may take to go once they were told. They take milliseconds; a busy
/// machine needs more.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two looks at what is still there.
const TURN: Duration = Duration::from_millis(2);

/// What the init is told first.
#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    title: String,
    client: PathBuf,
    server: PathBuf,
}

/// What it is told last.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    End,
}

/// What it tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Ready {
        id: String,
        /// Why the lab is not in the ledger, if it is not.
        unrecorded: Option<String>,
    },
    Ended(Remains),
}

/// The init, from the side of the lab. When it is dropped, everything in the lab ends.
#[derive(Debug)]
pub(super) struct Init {
    id: String,
    unrecorded: Option<String>,
    namespace: ProcessNamespace,
    /// None once the lab has ended.
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
        let spec = Spec { title: title.to_owned(), client: client.path(), server: server.path() };
        let place = Place { processes: Processes::New, ..Place::default() };
        // Not the lab's: what ends the lab must answer even then.
        let cancel = Cancel::new();
        let mut worker = Worker::spawn_at(ROLE, &spec, place, program, &cancel).map_err(not_started)?;
        let namespace = ProcessNamespace::of(worker.pid()).doing("holding the lab's process namespace")?;
        match worker.receive(PATIENCE)? {
            Event::Ready { id, unrecorded } => Ok(Init { id, unrecorded, namespace, worker: Some(worker) }),
            Event::Ended(_) => Err(Error::Run(format!("the {ROLE} ended before the lab began"))),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn unrecorded(&self) -> Option<&str> {
        self.unrecorded.as_deref()
    }

    /// Where the lab's programs run.
    pub(super) fn namespace(&self) -> &ProcessNamespace {
        &self.namespace
    }

    /// Ends the lab, and tells what there was to end.
    ///
    /// # Errors
    /// If the init was killed: the kernel has then ended the processes, but connections may still be closing.
    pub(super) fn end(&mut self) -> Result<Remains> {
        let Some(mut worker) = self.worker.take() else { return Ok(Remains::default()) };
        let asked = worker.send(&Command::End).and_then(|()| worker.receive(3 * PATIENCE));
        // The kernel keeps an init until its namespace is empty, and a program whose parent has not waited
        // for it is still in it.
        worker.let_go();
        match asked? {
            Event::Ended(remains) => Ok(remains),
            Event::Ready { .. } => Err(Error::Run(format!("the {ROLE} began twice"))),
        }
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        // Without an answer the init still sees that its parent has closed the channel.
        let _ = self.end();
    }
}

/// The kernel says "no space left on device" if there are too many process namespaces.
fn not_started(error: Error) -> Error {
    match error {
        Error::Kernel(KernelError::Io { source, .. }) if source.raw_os_error() == Some(libc::ENOSPC) => {
            let unsupported = KernelError::Unsupported {
                what: "another process namespace for a lab".into(),
                why: "there are as many as user.max_pid_namespaces allows".into(),
                remedy: "sysctl -w user.max_pid_namespaces=1024".into(),
            };
            unsupported.into()
        }
        error => error,
    }
}

/// The worker [`ROLE`].
pub(crate) fn run(parent: &mut Parent) -> Result<()> {
    let Some(spec) = parent.receive::<Spec>()? else { return Ok(()) };
    let namespaces = [Namespace::at(&spec.client)?, Namespace::at(&spec.server)?];
    reap_automatically();
    let record = Record::new(&spec.title, namespaces.each_ref())?;
    let entry = Entry::new(&record);
    let unrecorded = entry.as_ref().err().map(ToString::to_string);
    parent.send(&Event::Ready { id: record.id, unrecorded })?;
    // Whatever it says, or if it says nothing any more: this is the end.
    let _ = parent.receive::<Command>();
    let remains = end(&namespaces)?;
    drop(entry);
    // A parent that was killed does not listen.
    let _ = parent.send(&Event::Ended(remains));
    Ok(())
}

/// Processes whose parent has ended become children of the init. Nobody wants to know how they end.
fn reap_automatically() {
    // SAFETY: SIG_IGN runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

fn end(namespaces: &[Namespace; 2]) -> Result<Remains> {
    let ended = end_processes()?;
    let connections = end_connections(namespaces)?;
    let networks = namespaces.each_ref().map(|namespace| Identity::of_file(namespace.as_fd()));
    let networks =
        networks.into_iter().collect::<io::Result<Vec<_>>>().doing("looking at the lab's networks")?;
    Ok(Remains { ended, holders: processes::inside(&networks, Kind::Network), connections })
}

/// Kills every other process of the own process namespace, and waits until none runs.
fn end_processes() -> Result<Vec<Process>> {
    let own = Identity::of_process("self", Kind::Process).doing("looking at /proc/self/ns/pid")?;
    let found = processes::inside(&[own], Kind::Process);
    let deadline = Instant::now() + PATIENCE;
    loop {
        // SAFETY: the call has no pointers. -1 are all processes of the own namespace, without its init.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        if processes::inside(&[own], Kind::Process).is_empty() || Instant::now() > deadline {
            return Ok(found);
        }
        thread::sleep(TURN);
    }
}

/// Resets connections until there are none. Returns how many are left.
fn end_connections(namespaces: &[Namespace; 2]) -> Result<usize> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut left = 0;
        for namespace in namespaces {
            left += match namespace.enter_thread(abort_connections)? {
                // They end by themselves.
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
