//! The process at the other end of a Unix socket, as reported by the kernel.

use std::io;
use std::os::fd::AsFd;

use crate::error::{Doing, Result};
use crate::sockopt::{self, Fields};

/// Limit of group ids that are read.
const MOST_GROUPS: usize = 1024;

/// The process at the other end of a Unix socket, at the time when it connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Process id.
    pub pid: u32,
    /// Effective user id.
    pub uid: u32,
    /// Group ids, the effective one first.
    pub gids: Vec<u32>,
}

impl Peer {
    /// Reads the other end of a connected Unix socket (`SO_PEERCRED`, `SO_PEERGROUPS`).
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the file is no connected Unix socket.
    pub fn of(socket: impl AsFd) -> Result<Self> {
        let mut buffer = [0; 12];
        let bytes = sockopt::get(&socket, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut buffer);
        let fields = Fields(bytes.doing("reading the process at the other end of a socket")?);
        let all = fields.u32(0).zip(fields.u32(4)).zip(fields.u32(8));
        let ((pid, uid), gid) = all
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
            .doing("reading the process at the other end of a socket")?;
        let mut buffer = [0; MOST_GROUPS * size_of::<u32>()];
        // For a process with more groups, only the effective group counts: it may do less, never
        // more.
        let further = sockopt::get(&socket, libc::SOL_SOCKET, libc::SO_PEERGROUPS, &mut buffer)
            .unwrap_or_default();
        let further = further
            .chunks_exact(4)
            .filter_map(|bytes| Fields(bytes).u32(0));
        Ok(Peer {
            pid,
            uid,
            gids: std::iter::once(gid).chain(further).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_other_end_of_a_pair_is_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(&one).unwrap();
        assert_eq!(
            (peer.pid, peer.uid),
            (std::process::id(), rustix::process::geteuid().as_raw())
        );
        assert_eq!(peer.gids[0], rustix::process::getegid().as_raw());
        for group in rustix::process::getgroups().unwrap() {
            assert!(peer.gids.contains(&group.as_raw()));
        }
    }
}
