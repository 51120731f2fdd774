//! Subflows that the peer refuses, from the kernel's events.
//!
//! A server at its subflow limit completes the handshake and then closes the subflow without a
//! reason. So a subflow counts as refused if it ends at once, or if it is reset during the
//! handshake. A join without an answer causes no event.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::Token;
use joulepath_kernel::mptcp::path_manager::{Event, Events, PathManager, SubflowEvent};
use joulepath_model::units::Nanos;

/// A subflow that lived no longer than this was refused. Events carry the time of the poll that
/// reads them.
const AT_ONCE: Nanos = Nanos::from_secs(1);
/// Receive buffer for events, bytes.
const ROOM: usize = 1 << 20;
/// Events handled per call.
const MOST_EVENTS: usize = 10_000;
/// The handshake was answered with a reset.
const ECONNREFUSED: u8 = 111;

/// Refused subflows, by connection and own address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    opened: BTreeMap<(Token, SocketAddr, SocketAddr), Nanos>,
    refused: BTreeSet<(Token, IpAddr)>,
}

impl Refusals {
    /// True if the peer refuses subflows of this connection from this address.
    pub(crate) fn has(&self, token: Token, address: IpAddr) -> bool {
        self.refused.contains(&(token, address))
    }

    pub(crate) fn observe(&mut self, now: Nanos, event: &Event) {
        match event {
            Event::SubflowEstablished(SubflowEvent { token, ends, .. }) => {
                self.opened.insert((*token, ends.local, ends.remote), now);
                self.refused.remove(&(*token, ends.local.ip()));
            }
            Event::SubflowClosed(SubflowEvent {
                token,
                ends,
                failure,
                ..
            }) => {
                let opened = self.opened.remove(&(*token, ends.local, ends.remote));
                let is_reset = failure.is_some_and(|failure| failure.errno == ECONNREFUSED);
                let is_refused = match opened {
                    Some(opened) => now.saturating_sub(opened) <= AT_ONCE,
                    None => is_reset,
                };
                if is_refused {
                    self.refused.insert((*token, ends.local.ip()));
                }
            }
            Event::Closed { token } => self.forget(|one| one != *token),
            Event::Resync(listing) => {
                let stand: BTreeSet<Token> = listing
                    .connections
                    .iter()
                    .map(|connection| connection.info.token)
                    .collect();
                self.forget(|one| stand.contains(&one));
            }
            _ => {}
        }
    }

    fn forget(&mut self, stays: impl Fn(Token) -> bool) {
        self.opened.retain(|(token, ..), _| stays(*token));
        self.refused.retain(|(token, _)| stays(*token));
    }
}

/// Receives the events about refusals.
#[derive(Debug)]
pub(crate) struct Ear {
    events: Events,
    pub(crate) refusals: Refusals,
    /// Some connection was established since [`Self::begun`].
    begun: bool,
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl Ear {
    /// Subscribes to events.
    ///
    /// # Errors
    /// As [`PathManager::events`].
    pub(crate) fn open() -> Result<Self> {
        let events = PathManager::open()?.events()?;
        events.set_room(ROOM)?;
        Ok(Ear {
            events,
            refusals: Refusals::default(),
            begun: false,
        })
    }

    /// True if some connection was established since the last call.
    pub(crate) fn begun(&mut self) -> bool {
        std::mem::take(&mut self.begun)
    }

    /// Reads the events since the last call.
    ///
    /// # Errors
    /// As [`Events::next_within`].
    pub(crate) fn hear(&mut self, now: Nanos) -> Result<()> {
        for _ in 0..MOST_EVENTS {
            match self.events.next_within(Duration::ZERO)? {
                Some(event) => {
                    self.begun |= matches!(event, Event::Established { .. });
                    self.refusals.observe(now, &event);
                }
                None => break,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::mptcp::AddressId;
    use joulepath_kernel::mptcp::path_manager::{Ends, Failure};

    use super::*;

    const TOKEN: Token = Token(7);

    fn subflow(failure: Option<Failure>) -> SubflowEvent {
        let ends = Ends {
            local: "10.0.1.2:4000".parse().unwrap(),
            remote: "10.0.9.2:443".parse().unwrap(),
        };
        let (local_id, remote_id, interface) = (AddressId(1), AddressId(0), Some(3));
        SubflowEvent {
            token: TOKEN,
            ends,
            local_id,
            remote_id,
            backup_remotely: false,
            interface,
            failure,
        }
    }

    /// True if the subflow counts as refused after `events`, each with its time in ms.
    fn is_refused(events: &[(u64, Event)]) -> bool {
        let mut refusals = Refusals::default();
        for (ms, event) in events {
            refusals.observe(Nanos::from_millis(*ms), event);
        }
        refusals.has(TOKEN, "10.0.1.2".parse().unwrap())
    }

    #[test]
    fn a_subflow_that_ends_at_once_or_is_reset_in_its_handshake_counts_as_refused() {
        let (opened, closed) = (
            Event::SubflowEstablished(subflow(None)),
            Event::SubflowClosed(subflow(None)),
        );
        let reset = |errno| {
            Event::SubflowClosed(subflow(Some(Failure {
                errno,
                reset_reason: None,
            })))
        };
        assert!(is_refused(&[(0, opened.clone()), (40, closed.clone())]));
        assert!(is_refused(&[(0, reset(111))]));
        assert!(!is_refused(&[(0, closed.clone())]));
        // Not refused: a timeout; a reset of the initial subflow; a reset of a subflow older than
        // the daemon.
        assert!(!is_refused(&[(0, reset(110))]));
        assert!(!is_refused(&[(0, reset(104))]));
        assert!(!is_refused(&[(0, opened.clone()), (5000, reset(104))]));
        // The next attempt, or the end of the connection, clears it.
        assert!(!is_refused(&[
            (0, opened.clone()),
            (40, closed.clone()),
            (5000, opened.clone())
        ]));
        assert!(!is_refused(&[
            (0, opened),
            (40, closed),
            (50, Event::Closed { token: TOKEN })
        ]));
    }
}
