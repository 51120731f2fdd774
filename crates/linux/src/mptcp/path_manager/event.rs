//! What happens to connections and subflows.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use neli::consts::socket::NlFamily;
use rustix::event::PollFlags;
use serde::{Deserialize, Serialize};

use super::super::netlink::{Attributes, Look, Netlink, parse_generic};
use super::super::socket::ready;
use super::uapi::event as attr;
use super::{AddressId, Ends, Token};
use crate::error::{Doing, Result};

/// Something that the path manager tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A connection has begun; it may take long until it is established.
    Created {
        /// Its name here.
        token: Token,
        /// Of the first subflow.
        ends: Ends,
        /// Whether this host accepted it.
        server: bool,
    },
    /// From now on it can have further subflows.
    Established {
        /// Its name here.
        token: Token,
        /// Of the first subflow.
        ends: Ends,
        /// Whether this host accepted it.
        server: bool,
    },
    /// A connection has ended.
    Closed {
        /// Its name here.
        token: Token,
    },
    /// The other end has told an address of its own.
    Announced {
        /// The connection.
        token: Token,
        /// What the other end calls it.
        id: AddressId,
        /// The address; the port is 0 unless it was told.
        remote: SocketAddr,
    },
    /// The other end has taken an address back.
    Removed {
        /// The connection.
        token: Token,
        /// What the other end calls it.
        id: AddressId,
    },
    /// A subflow can carry data.
    SubflowEstablished(SubflowEvent),
    /// A subflow has ended.
    SubflowClosed(SubflowEvent),
    /// A subflow became a backup, or regular.
    SubflowPriority(SubflowEvent),
    /// A socket listens.
    ListenerCreated {
        /// Where.
        local: SocketAddr,
    },
    /// It does no more.
    ListenerClosed {
        /// Where.
        local: SocketAddr,
    },
    /// What this version does not know, by its number.
    Other(u8),
}

/// What is told about a subflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubflowEvent {
    /// The connection.
    pub token: Token,
    /// Its ends.
    pub ends: Ends,
    /// What this host calls its own address.
    pub local_id: AddressId,
    /// What the other end calls its own.
    pub remote_id: AddressId,
    /// Whether the other end has declared it a backup. (Before Linux 6.10 also, whether this one has.)
    pub backup_remotely: bool,
    /// Index of the interface, if it is bound to one.
    pub interface: Option<u32>,
    /// Why it ended, if that is known.
    pub failure: Option<Failure>,
}

/// Why a subflow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// `errno` of the subflow's socket; 0 if there is none.
    pub errno: u8,
    /// Reason of the reset (RFC 8684, section 3.6), if there was one.
    pub reset_reason: Option<u32>,
}

/// The events of a network namespace, in their order. The kernel drops some if they are not read for long.
pub struct Events {
    netlink: Netlink,
    waiting: VecDeque<Event>,
}

impl Events {
    pub(super) fn subscribe(group: u32) -> Result<Self> {
        let netlink = Netlink::open(NlFamily::Generic).doing("opening generic netlink")?;
        netlink.join(group).doing("subscribing to events of MPTCP")?;
        Ok(Events { netlink, waiting: VecDeque::new() })
    }

    /// The next event; none if there was none before `patience` had passed.
    ///
    /// # Errors
    /// If events were lost (`ENOBUFS`): list the connections again.
    pub fn next_within(&mut self, patience: Duration) -> Result<Option<Event>> {
        let deadline = Instant::now() + patience;
        while self.waiting.is_empty() {
            if !ready(self.netlink.fd(), PollFlags::IN, deadline).doing("waiting for events of MPTCP")? {
                return Ok(None);
            }
            let waiting = &mut self.waiting;
            let read = self.netlink.notices(&mut |payload| {
                let (number, attributes) = parse_generic(payload)?;
                waiting.push_back(parse(number, &attributes).unwrap_or(Event::Other(number)));
                Ok(())
            });
            read.doing("reading events of MPTCP")?;
        }
        Ok(self.waiting.pop_front())
    }

    /// Waits for the first event that `wanted` makes something of; the others are passed over. None after `patience`.
    ///
    /// # Errors
    /// As [`Self::next_within`].
    pub fn find_within<T>(
        &mut self,
        patience: Duration,
        mut wanted: impl FnMut(&Event) -> Option<T>,
    ) -> Result<Option<T>> {
        let deadline = Instant::now() + patience;
        while let Some(event) = self.next_within(deadline.saturating_duration_since(Instant::now()))? {
            if let Some(found) = wanted(&event) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// For `poll` and `epoll`.
impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.netlink.fd()
    }
}

/// None if the event lacks what it should have, or is unknown.
fn parse(number: u8, attributes: &Attributes) -> Option<Event> {
    let token = || attributes.u32(attr::TOKEN).map(Token);
    Some(match number {
        1 => Event::Created { token: token()?, ends: ends(attributes)?, server: is_server(attributes) },
        2 => Event::Established { token: token()?, ends: ends(attributes)?, server: is_server(attributes) },
        3 => Event::Closed { token: token()? },
        6 => {
            let ip = ip(attributes, attr::DADDR4, attr::DADDR6)?;
            let port = port(attributes, attr::DPORT).unwrap_or(0);
            Event::Announced { token: token()?, id: remote_id(attributes)?, remote: (ip, port).into() }
        }
        7 => Event::Removed { token: token()?, id: remote_id(attributes)? },
        10 => Event::SubflowEstablished(subflow(attributes)?),
        11 => Event::SubflowClosed(subflow(attributes)?),
        13 => Event::SubflowPriority(subflow(attributes)?),
        15 => Event::ListenerCreated { local: local(attributes)? },
        16 => Event::ListenerClosed { local: local(attributes)? },
        _ => return None,
    })
}

fn subflow(attributes: &Attributes) -> Option<SubflowEvent> {
    let errno = attributes.u8(attr::ERROR);
    let reset_reason = attributes.u32(attr::RESET_REASON);
    let failed = errno.is_some_and(|errno| errno != 0) || reset_reason.is_some();
    Some(SubflowEvent {
        token: Token(attributes.u32(attr::TOKEN)?),
        ends: ends(attributes)?,
        local_id: AddressId(attributes.u8(attr::LOCAL_ID)?),
        remote_id: remote_id(attributes)?,
        backup_remotely: attributes.u8(attr::BACKUP)? != 0,
        interface: attributes.u32(attr::INTERFACE).filter(|index| *index != 0),
        failure: failed.then_some(Failure { errno: errno.unwrap_or(0), reset_reason }),
    })
}

fn remote_id(attributes: &Attributes) -> Option<AddressId> {
    attributes.u8(attr::REMOTE_ID).map(AddressId)
}

/// Older kernels: an attribute that is 0 or 1. Newer ones: a flag, and the attribute only on the server.
fn is_server(attributes: &Attributes) -> bool {
    attributes.u8(attr::SERVER_SIDE).is_some_and(|side| side != 0)
        || attributes.u16(attr::FLAGS).is_some_and(|flags| flags & attr::FLAG_SERVER_SIDE != 0)
}

fn ends(attributes: &Attributes) -> Option<Ends> {
    let remote = (ip(attributes, attr::DADDR4, attr::DADDR6)?, port(attributes, attr::DPORT)?);
    Some(Ends { local: local(attributes)?, remote: remote.into() })
}

fn local(attributes: &Attributes) -> Option<SocketAddr> {
    Some((ip(attributes, attr::SADDR4, attr::SADDR6)?, port(attributes, attr::SPORT)?).into())
}

fn ip(attributes: &Attributes, v4: u16, v6: u16) -> Option<IpAddr> {
    let v4 = attributes.array::<4>(v4).map(|octets| IpAddr::V4(Ipv4Addr::from(octets)));
    let v6 = || attributes.array::<16>(v6).map(|octets| Ipv6Addr::from(octets).to_canonical());
    v4.or_else(v6)
}

/// In the network's byte order, unlike in requests.
fn port(attributes: &Attributes, kind: u16) -> Option<u16> {
    attributes.array(kind).map(u16::from_be_bytes)
}
