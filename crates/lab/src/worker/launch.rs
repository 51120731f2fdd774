//! Starts child processes in other namespaces, and ensures that they end.
//!
//! | processes | what ends the child |
//! |---|---|
//! | [`Processes::Own`] | the kernel kills it when this process ends for any reason |
//! | [`Processes::New`] | it is the init of its own process namespace, and decides by itself when to end |
//! | [`Processes::In`] | the kernel kills it and all its descendants when that namespace's init ends |

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::process::{Child, Command};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use joulepath_kernel::namespace::{self, Namespace};

use super::mounts::Mounts;

/// Namespaces in which a child starts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place<'a> {
    /// Its network namespace; `None` is the caller's.
    pub(crate) network: Option<&'a Namespace>,
    /// Its process namespace.
    pub(crate) processes: Processes<'a>,
    /// Mount /sys and /proc for its namespaces, if permitted.
    pub(crate) mounts: bool,
}

/// A child's process namespace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Processes<'a> {
    /// The caller's.
    #[default]
    Own,
    /// A new namespace with the child as init.
    New,
    /// An existing namespace.
    In(&'a ProcessNamespace),
}

/// A process namespace, held by a file descriptor.
#[derive(Debug)]
pub(crate) struct ProcessNamespace {
    handle: OwnedFd,
}

impl ProcessNamespace {
    /// The namespace of a child that has not been reaped.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let file = File::open(format!("/proc/{pid}/ns/pid"))?;
        Ok(ProcessNamespace {
            handle: file.into(),
        })
    }
}

/// Starts a child.
///
/// # Errors
/// As [`Command::spawn`]; without `CAP_SYS_ADMIN` for namespaces other than the caller's.
pub(crate) fn launch(mut command: Command, place: Place<'_>) -> io::Result<Child> {
    let network = place.network.map(|namespace| namespace.as_fd().as_raw_fd());
    let mounts = place.mounts.then(Mounts::prepare).transpose()?;
    let parent = Pid::from_raw(std::process::id() as i32);
    let dies_with_us = matches!(place.processes, Processes::Own);
    let prepare = move || {
        if let Some(namespace) = network {
            // SAFETY: the caller holds the namespace until the child has started.
            namespace::enter(unsafe { BorrowedFd::borrow_raw(namespace) })?;
        }
        if let Some(mounts) = &mounts {
            mounts.enter();
        }
        if dies_with_us {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above, so that nobody would send that
            // signal.
            if getppid() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes only system calls; it neither allocates nor
    // takes locks.
    unsafe { command.pre_exec(prepare) };
    match place.processes {
        Processes::Own => on_lasting_thread(move || command.spawn()),
        Processes::New => on_passing_thread(|| {
            // SAFETY: affects only the children of this thread; file descriptors stay shared.
            unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?;
            command.spawn()
        }),
        Processes::In(namespace) => on_passing_thread(|| {
            move_into_link_name_space(
                namespace.handle.as_fd(),
                Some(LinkNameSpaceType::ProcessID),
            )?;
            command.spawn()
        }),
    }
}

/// A thread cannot leave its children's process namespace again, so it ends with its work.
fn on_passing_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        scope
            .spawn(work)
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The death signal is sent when the *thread* that created the child ends, so one thread creates
/// all children and never ends.
fn on_lasting_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    type Job = Box<dyn FnOnce() + Send>;
    static JOBS: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Job>();
        thread::spawn(move || receiver.iter().for_each(|job| job()));
        Mutex::new(sender)
    });
    let (reply, answer) = mpsc::channel();
    let job = Box::new(move || drop(reply.send(work())));
    let sent = jobs
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .send(job);
    sent.expect("the thread never ends");
    answer.recv().expect("the thread answers")
}
