//! The daemon of this network namespace, found without its configuration.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use joulepath_kernel::namespace::Cookie;
use joulepath_kernel::state::State;

use crate::act::FOLDER;
use crate::client;
use crate::server::Request;
use crate::status::Status;

/// Unix sockets of the calling thread's network namespace.
const SOCKETS: &str = "/proc/thread-self/net/unix";
/// Flag of a socket that listens (`__SO_ACCEPTCON`).
const LISTENS: u32 = 1 << 16;
/// Name of the daemon's process.
const PROGRAM: &str = "joulepath";

/// A daemon that runs in this network namespace.
#[derive(Debug)]
pub struct Here {
    /// Its control socket, if it was found.
    pub socket: Option<PathBuf>,
    /// Its status; `None` if it does not answer.
    pub status: Option<Status>,
}

/// The daemon of the calling thread's network namespace, wherever its control socket is; `usual` is
/// asked first. `None` if none runs.
pub fn find(usual: &Path) -> Option<Here> {
    let text = fs::read_to_string(SOCKETS).unwrap_or_default();
    let listening: Vec<(u32, PathBuf)> = text.lines().filter_map(listener).collect();
    let of_daemon = owned();
    let is_likely = |(inode, path): &&(u32, PathBuf)| path == usual || of_daemon.contains(inode);
    let mut likely: Vec<&PathBuf> = listening
        .iter()
        .filter(is_likely)
        .map(|(_, path)| path)
        .collect();
    likely.sort_by_key(|path| *path != usual);
    let answers = |path: &&PathBuf| client::ask(path, &Request::Status).ok();
    match likely.iter().find_map(|path| Some((path, answers(path)?))) {
        Some((path, status)) => Some(Here {
            socket: Some(path.to_path_buf()),
            status: Some(status),
        }),
        None => is_locked().then_some(Here {
            socket: None,
            status: None,
        }),
    }
}

/// True if a daemon holds the lock of this namespace. Only root may see that.
fn is_locked() -> bool {
    let locked = || {
        let state = State::existing().ok()??.existing_folder(FOLDER).ok()??;
        state.is_locked(&Cookie::own().ok()?.to_string()).ok()
    };
    locked().unwrap_or(false)
}

/// Inode and path of a listening socket: `Num: RefCount Protocol Flags Type St Inode Path`.
fn listener(line: &str) -> Option<(u32, PathBuf)> {
    let mut words = line.split_whitespace();
    let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
    let inode = words.nth(2)?.parse().ok()?;
    let path = words.next().filter(|path| path.starts_with('/'))?;
    (flags & LISTENS != 0).then(|| (inode, path.into()))
}

/// Inodes of the sockets that processes of this program hold and that this user may see.
fn owned() -> BTreeSet<u32> {
    let processes = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_ours = |process: &PathBuf| {
        fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim_end() == PROGRAM)
    };
    let files = processes
        .filter(is_ours)
        .flat_map(|process| fs::read_dir(process.join("fd")));
    let targets = files
        .flatten()
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |target: PathBuf| {
        target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?
            .parse()
            .ok()
    };
    targets.filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_has_inode_and_path() {
        let listens =
            "0000000000000000: 00000002 00000000 00010000 0001 01 27001 /run/joulepath/live.sock";
        assert_eq!(
            listener(listens),
            Some((27001, "/run/joulepath/live.sock".into()))
        );
        for other in [
            "Num       RefCount Protocol Flags    Type St Inode Path",
            "0000000000000000: 00000003 00000000 00000000 0001 03 27002 /run/joulepath/live.sock",
            "0000000000000000: 00000002 00000000 00010000 0001 01 27003 @abstract",
            "0000000000000000: 00000002 00000000 00010000 0001 01 27004",
        ] {
            assert_eq!(listener(other), None);
        }
    }
}
