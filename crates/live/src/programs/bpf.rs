//! A program in a control group of its own, whose processes get MPTCP sockets from the kernel.
//!
//! ```text
//! joulepath run ── creates the group, attaches the eBPF program, joins ──► becomes the command
//!        └─ first keeper ── leaves the group, starts ──► second keeper: removes the empty group
//! ```
//! The eBPF program stays attached while the second keeper has its descriptor. The first one ends
//! at once, so that the command has no child that it did not start.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use joulepath_kernel::group::Group;
use joulepath_kernel::programs::{Scope, hold, may_hold};
use joulepath_kernel::{Error, Result};

/// The start of a group's name; the id of the command's process follows.
const NAME: &str = "joulepath-run-";
/// The command line of a keeper, without the group's folder.
const KEEP: [&str; 2] = ["run", "--keep-group"];

/// Puts this process, and the processes that it will start, on MPTCP: from their next socket on.
///
/// # Errors
/// Why the kernel or this user's rights do not allow it. Nothing is changed then.
pub fn join() -> Result<()> {
    may_hold()?;
    let own = Group::own()?;
    sweep(&own);
    let group = own.create(&format!("{NAME}{}", process::id()))?;
    let done = join_kept(&own, &group);
    if done.is_err() {
        // The first error is the one to report.
        let _ = own.join().and_then(|()| group.remove());
    }
    done
}

fn join_kept(own: &Group, group: &Group) -> Result<()> {
    let held = hold(&Scope::group(group.id()?))?;
    group.join()?;
    let doing = "starting the process that removes the control group";
    let descriptor = held
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Error::io(doing, error))?;
    let status = keeper(group.path(), descriptor.into()).status();
    match status.map_err(|error| Error::io(doing, error))?.success() {
        true => Ok(()),
        false => Err(Error::Run(format!(
            "{doing} failed in {}",
            own.path().display()
        ))),
    }
}

/// A process that keeps the eBPF program attached, which is its standard input.
fn keeper(group: &Path, held: Stdio) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("joulepath")
        .args(KEEP)
        .arg(group)
        .current_dir("/")
        .stdin(held);
    // Signals of the terminal are for the command.
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

/// Runs a keeper: in the group it starts another one outside; outside it waits for the group's end
/// and removes it.
///
/// # Errors
/// If the group cannot be left, watched or removed.
pub fn keep(group: PathBuf) -> Result<()> {
    let group = match Group::at(group) {
        // Its service has ended, and systemd has removed it.
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if Group::own()? != group {
        group.wait_for_end()?;
        return group.remove();
    }
    let doing = "leaving the control group of the command";
    let outside = group
        .parent()
        .ok_or_else(|| Error::Run(format!("{doing}: it has no parent")))?;
    outside.join()?;
    keeper(group.path(), Stdio::inherit())
        .spawn()
        .map(drop)
        .map_err(|error| Error::io(doing, error))
}

/// Removes groups whose keeper was killed.
fn sweep(own: &Group) {
    let is_left = |group: &Group| {
        let pid = group.path().file_name()?.to_str()?.strip_prefix(NAME)?;
        (!Path::new("/proc").join(pid).exists()).then_some(())
    };
    for group in own
        .children()
        .unwrap_or_default()
        .iter()
        .filter(|group| is_left(group).is_some())
    {
        // With processes in it the group stays.
        let _ = group.remove();
    }
}
