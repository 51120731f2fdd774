//! Events of connections and subflows.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use serde::{Deserialize, Serialize};

use super::endpoint::Ends;
use super::uapi::event as attr;
use crate::capability::Task;
use crate::error::{Doing, Error, Result};
use crate::mptcp::diag::{Diag, Listing};
use crate::mptcp::{AddressId, Token};
use crate::netlink::{Attributes, Failure as NetlinkFailure, Generic, Known, Malformed};
use crate::wait::ready;

/// An event of the path manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A connection has begun. It may take long to become established.
    Created {
        /// Local token of the connection.
        token: Token,
        /// Ends of the first subflow.
        ends: Ends,
        /// True if this host accepted the connection.
        server: bool,
    },
    /// The connection can have further subflows from now on.
    Established {
        /// Local token of the connection.
        token: Token,
        /// Ends of the first subflow.
        ends: Ends,
        /// True if this host accepted the connection.
        server: bool,
    },
    /// A connection has ended.
    Closed {
        /// Local token of the connection.
        token: Token,
    },
    /// The peer has announced an address.
    Announced {
        /// Local token of the connection.
        token: Token,
        /// The peer's id of the address.
        id: AddressId,
        /// The address; the port is 0 if not announced.
        remote: SocketAddr,
    },
    /// The peer has withdrawn an address.
    Removed {
        /// Local token of the connection.
        token: Token,
        /// The peer's id of the address.
        id: AddressId,
    },
    /// A subflow is established.
    SubflowEstablished(SubflowEvent),
    /// A subflow has ended.
    SubflowClosed(SubflowEvent),
    /// A subflow became a backup or regular.
    SubflowPriority(SubflowEvent),
    /// A socket started to listen.
    ListenerCreated {
        /// Its local address.
        local: SocketAddr,
    },
    /// A socket stopped listening.
    ListenerClosed {
        /// Its local address.
        local: SocketAddr,
    },
    /// Events were lost because they were not read in time. This is the current state, which
    /// replaces all earlier information.
    Resync(Box<Listing>),
    /// An event that this version does not know.
    Other {
        /// Its number.
        number: u8,
    },
}

/// An event of a subflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubflowEvent {
    /// Local token of the connection.
    pub token: Token,
    /// Ends of the subflow.
    pub ends: Ends,
    /// This host's id of the local address.
    pub local_id: AddressId,
    /// The peer's id of the remote address.
    pub remote_id: AddressId,
    /// True if the peer has declared it a backup. Before Linux 6.10 also if this host has.
    pub backup_remotely: bool,
    /// Index of the interface, if it is bound to one.
    pub interface: Option<u32>,
    /// Why it ended, if known.
    pub failure: Option<Failure>,
}

/// Why a subflow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// `errno` of the subflow's socket; 0 if there is none.
    pub errno: u8,
    /// Reason of the reset (RFC 8684, section 3.6), if there was a reset.
    pub reset_reason: Option<u32>,
}

/// The events of a network namespace, in order. If they are not read for long, the kernel drops
/// some; the current state then replaces them, see [`Event::Resync`].
#[derive(Debug)]
pub struct Events {
    family: Generic,
    /// A listing of the same namespace.
    diag: Diag,
    waiting: VecDeque<Event>,
    /// True if events were lost and the listing that replaces them is still pending.
    lost: bool,
}

impl Events {
    /// Must be called in the namespace of the family's socket.
    pub(super) fn subscribe(family: &Generic, group: u32) -> Result<Self> {
        let family = family
            .subscribed(group)
            .doing_task(Task::Network, "subscribing to MPTCP events")?;
        Ok(Events {
            family,
            diag: Diag::open()?,
            waiting: VecDeque::new(),
            lost: false,
        })
    }

    /// Sets how many bytes of unread events the socket holds.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel refuses.
    pub fn set_room(&self, bytes: usize) -> Result<()> {
        self.family
            .socket()
            .set_room(bytes)
            .doing("setting the buffer size for MPTCP events")
    }

    /// The next event; `None` if none comes within `patience`.
    ///
    /// # Errors
    /// [`Error::Malformed`] if an event cannot be parsed. The next call continues with the event
    /// after it.
    pub fn next_within(&mut self, patience: Duration) -> Result<Option<Event>> {
        let deadline = Instant::now() + patience;
        loop {
            if self.lost {
                self.resynchronise()?;
            }
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if !ready(self.as_fd(), PollFlags::IN, deadline).doing("waiting for MPTCP events")? {
                return Ok(None);
            }
            let waiting = &mut self.waiting;
            let read = self.family.notices(|number, attributes| {
                waiting.push_back(parse(number, attributes)?);
                Ok(())
            });
            match read {
                Ok(_) => {}
                Err(NetlinkFailure::Overrun) => self.lost = true,
                Err(failure) => return Err(failure.doing("reading MPTCP events")),
            }
        }
    }

    /// Events that have already arrived are older than the listing.
    fn resynchronise(&mut self) -> Result<()> {
        self.waiting.clear();
        self.family
            .drop_notices()
            .map_err(|failure| failure.doing("reading MPTCP events"))?;
        let listing = self.diag.list()?;
        self.waiting.push_back(Event::Resync(Box::new(listing)));
        self.lost = false;
        Ok(())
    }

    /// Waits for the first event for which `wanted` returns a value, and skips the others. `None`
    /// after `patience`.
    ///
    /// # Errors
    /// As [`Self::next_within`], and [`Error::Overrun`] if events were lost, as the wanted event
    /// may be among them.
    pub fn find_within<T>(
        &mut self,
        patience: Duration,
        mut wanted: impl FnMut(&Event) -> Option<T>,
    ) -> Result<Option<T>> {
        let deadline = Instant::now() + patience;
        while let Some(event) =
            self.next_within(deadline.saturating_duration_since(Instant::now()))?
        {
            if let Some(found) = wanted(&event) {
                return Ok(Some(found));
            }
            if matches!(event, Event::Resync(_)) {
                return Err(Error::Overrun {
                    what: "MPTCP events".into(),
                });
            }
        }
        Ok(None)
    }
}

/// For `poll` and `epoll`.
impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.family.socket().as_fd()
    }
}

fn parse(number: u8, attributes: Attributes<'_>) -> Result<Event, Malformed> {
    let token = || Ok(Token(needed(attributes.u32(attr::TOKEN)?, attr::TOKEN)?));
    Ok(match number {
        1 => Event::Created {
            token: token()?,
            ends: ends(attributes)?,
            server: is_server(attributes)?,
        },
        2 => Event::Established {
            token: token()?,
            ends: ends(attributes)?,
            server: is_server(attributes)?,
        },
        3 => Event::Closed { token: token()? },
        6 => {
            let ip = ip(attributes, attr::DADDR4, attr::DADDR6)?;
            let port = port(attributes, attr::DPORT)?.unwrap_or(0);
            Event::Announced {
                token: token()?,
                id: remote_id(attributes)?,
                remote: (ip, port).into(),
            }
        }
        7 => Event::Removed {
            token: token()?,
            id: remote_id(attributes)?,
        },
        10 => Event::SubflowEstablished(subflow(attributes)?),
        11 => Event::SubflowClosed(subflow(attributes)?),
        13 => Event::SubflowPriority(subflow(attributes)?),
        15 => Event::ListenerCreated {
            local: local(attributes)?,
        },
        16 => Event::ListenerClosed {
            local: local(attributes)?,
        },
        number => Event::Other { number },
    })
}

fn needed<T>(value: Option<T>, known: Known) -> Result<T, Malformed> {
    value.ok_or_else(|| Malformed::new(known.1, "it is missing"))
}

fn subflow(attributes: Attributes<'_>) -> Result<SubflowEvent, Malformed> {
    let errno = attributes.u8(attr::ERROR)?;
    let reset_reason = attributes.u32(attr::RESET_REASON)?;
    let failed = errno.is_some_and(|errno| errno != 0) || reset_reason.is_some();
    Ok(SubflowEvent {
        token: Token(needed(attributes.u32(attr::TOKEN)?, attr::TOKEN)?),
        ends: ends(attributes)?,
        local_id: AddressId(needed(attributes.u8(attr::LOCAL_ID)?, attr::LOCAL_ID)?),
        remote_id: remote_id(attributes)?,
        backup_remotely: needed(attributes.u8(attr::BACKUP)?, attr::BACKUP)? != 0,
        interface: attributes.u32(attr::INTERFACE)?.filter(|index| *index != 0),
        failure: failed.then_some(Failure {
            errno: errno.unwrap_or(0),
            reset_reason,
        }),
    })
}

fn remote_id(attributes: Attributes<'_>) -> Result<AddressId, Malformed> {
    Ok(AddressId(needed(
        attributes.u8(attr::REMOTE_ID)?,
        attr::REMOTE_ID,
    )?))
}

/// Older kernels have an attribute that is 0 or 1. Newer kernels have a flag, and the attribute
/// only on the server.
fn is_server(attributes: Attributes<'_>) -> Result<bool, Malformed> {
    let flags = attributes.u16(attr::FLAGS)?.unwrap_or(0);
    Ok(attributes
        .u8(attr::SERVER_SIDE)?
        .is_some_and(|side| side != 0)
        || flags & attr::FLAG_SERVER_SIDE != 0)
}

fn ends(attributes: Attributes<'_>) -> Result<Ends, Malformed> {
    let port = needed(port(attributes, attr::DPORT)?, attr::DPORT)?;
    let remote = (ip(attributes, attr::DADDR4, attr::DADDR6)?, port).into();
    Ok(Ends {
        local: local(attributes)?,
        remote,
    })
}

fn local(attributes: Attributes<'_>) -> Result<SocketAddr, Malformed> {
    let port = needed(port(attributes, attr::SPORT)?, attr::SPORT)?;
    Ok((ip(attributes, attr::SADDR4, attr::SADDR6)?, port).into())
}

fn ip(attributes: Attributes<'_>, v4: Known, v6: Known) -> Result<IpAddr, Malformed> {
    let ip = attributes.ip(v4)?.or(attributes.ip(v6)?);
    Ok(needed(ip, v4)?.to_canonical())
}

/// In network byte order, unlike in requests.
fn port(attributes: Attributes<'_>, known: Known) -> Result<Option<u16>, Malformed> {
    Ok(attributes.array(known)?.map(u16::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put;

    /// A subflow from 10.0.0.2:40000 to 10.0.0.1:443 that ended by a reset.
    fn closed_subflow() -> Vec<u8> {
        let mut payload = vec![];
        for (known, value) in [
            (attr::TOKEN, &7u32.to_ne_bytes()[..]),
            (attr::SADDR4, &[10, 0, 0, 2]),
            (attr::DADDR4, &[10, 0, 0, 1]),
            (attr::SPORT, &[0x9c, 0x40]),
            (attr::DPORT, &[0x01, 0xbb]),
            (attr::LOCAL_ID, &[1]),
            (attr::REMOTE_ID, &[0]),
            (attr::BACKUP, &[0]),
            (attr::ERROR, &[104]),
            (attr::RESET_REASON, &4u32.to_ne_bytes()),
        ] {
            put(&mut payload, known.0, value);
        }
        payload
    }

    fn attributes(payload: &[u8]) -> Attributes<'_> {
        Attributes::parse("a test", payload).unwrap()
    }

    #[test]
    fn the_end_of_a_subflow_has_its_reason() {
        let payload = closed_subflow();
        let Event::SubflowClosed(subflow) = parse(11, attributes(&payload)).unwrap() else {
            panic!()
        };
        let ends = Ends {
            local: "10.0.0.2:40000".parse().unwrap(),
            remote: "10.0.0.1:443".parse().unwrap(),
        };
        assert_eq!(
            (subflow.token, subflow.ends, subflow.local_id),
            (Token(7), ends, AddressId(1))
        );
        assert_eq!(
            subflow.failure,
            Some(Failure {
                errno: 104,
                reset_reason: Some(4)
            })
        );
    }

    #[test]
    fn an_unknown_event_is_passed_on_and_a_missing_attribute_is_named() {
        assert_eq!(
            parse(200, attributes(&[])),
            Ok(Event::Other { number: 200 })
        );
        assert_eq!(
            parse(3, attributes(&[])).unwrap_err().to_string(),
            "MPTCP_ATTR_TOKEN: it is missing"
        );
        let mut payload = vec![];
        put(&mut payload, attr::TOKEN.0, &[1, 2]);
        assert!(
            parse(3, attributes(&payload))
                .unwrap_err()
                .to_string()
                .starts_with("MPTCP_ATTR_TOKEN")
        );
    }

    #[test]
    fn no_message_causes_a_panic() {
        joulepath_testbed::fuzz([closed_subflow()], |bytes| {
            let Ok(attributes) = Attributes::parse("a test", bytes) else {
                return;
            };
            (0..20).for_each(|number| drop(parse(number, attributes)));
        });
    }
}
