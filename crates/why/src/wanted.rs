//! Which connections to examine.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use crate::gather;
use crate::subject::Subject;

/// Which connections to examine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those that carry data or wait for an answer.
    Busy,
    /// All.
    All,
    /// Those with these inodes.
    Sockets(BTreeSet<u32>),
    /// Those to a host.
    Host(IpAddr),
    /// Those to a peer.
    Peer(SocketAddr),
}

/// Why a process or an address selects no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotWanted {
    /// Neither a process id nor an address.
    Malformed,
    /// There is no such process.
    NoProcess,
    /// No socket of this process is visible: it has none, or belongs to another user.
    NoSocket,
}

impl Wanted {
    /// The connections of a process, or to an address with or without port.
    ///
    /// # Errors
    /// If the text is neither, or no socket of the process is visible.
    pub fn of(text: &str) -> Result<Self, NotWanted> {
        if let Ok(address) = text.parse() {
            return Ok(Wanted::Host(address));
        }
        if let Ok(address) = text.parse() {
            return Ok(Wanted::Peer(address));
        }
        let pid = text.parse().map_err(|_| NotWanted::Malformed)?;
        match gather::sockets(pid) {
            sockets if !sockets.is_empty() => Ok(Wanted::Sockets(sockets.into_iter().collect())),
            _ if Path::new(&format!("/proc/{pid}")).exists() => Err(NotWanted::NoSocket),
            _ => Err(NotWanted::NoProcess),
        }
    }

    /// True if this connection is selected.
    pub fn has(&self, subject: &Subject<'_>) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Busy => subject.is_busy(),
            Wanted::Sockets(inodes) => inodes.contains(&subject.inode),
            Wanted::Host(ip) => subject.remote.ip() == *ip,
            Wanted::Peer(peer) => subject.remote == *peer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_an_address_select_connections() {
        assert_eq!(
            Wanted::of("192.0.2.7"),
            Ok(Wanted::Host([192, 0, 2, 7].into()))
        );
        let peer = "[2001:db8::1]:443";
        assert_eq!(Wanted::of(peer), Ok(Wanted::Peer(peer.parse().unwrap())));
        assert_eq!(Wanted::of("firefox"), Err(NotWanted::Malformed));
        // Above the largest process id of Linux, 2^22.
        assert_eq!(Wanted::of("4194305"), Err(NotWanted::NoProcess));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let Ok(Wanted::Sockets(inodes)) = Wanted::of(&std::process::id().to_string()) else {
            panic!()
        };
        assert!(!inodes.is_empty());
        drop(listener);
    }
}
