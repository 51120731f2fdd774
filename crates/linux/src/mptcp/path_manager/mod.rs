//! Which subflows there are, and which of them are backups: the kernel's path manager over generic netlink (`mptcp_pm`).
//!
//! Two kinds, chosen for a network namespace by the sysctl `net.mptcp.pm_type` before connections begin:
//! - *in-kernel* (0): [endpoints](Endpoint) and [limits](Limits) say what every connection does by itself;
//! - *user space* (1): nothing happens until [`PathManager::create_subflow`] and its like are called for a connection.
//!
//! [`Events`] come with both.
//!
//! Traps that this module takes care of: a change of flags by id must not name an address family; a subflow whose interface
//! index is not given leaves through the first path; ports are in the machine's byte order in requests and in the network's in
//! events; an event without `server_side` is the client's.

mod endpoint;
mod event;
mod uapi;

use std::io;
use std::net::SocketAddr;

use neli::consts::genl::CtrlCmd;
use neli::consts::nl::GenlId;
use neli::consts::socket::NlFamily;
use serde::{Deserialize, Serialize};

pub use endpoint::{Endpoint, Local};
pub use event::{Event, Events, Failure, SubflowEvent};

use super::netlink::{Attributes, Each, Extent, Look, Netlink, Refusal};
use super::netlink::{attribute, generic, nested, parse_attributes, parse_generic};
use super::{AddressId, Token};
use crate::error::{Error, Result};
use endpoint::{address_attributes, endpoint_of, local_attributes, remote_attribute};
use uapi::{attr, command, flag};

/// How many subflows the in-kernel path manager makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Addresses of the other end that a connection accepts and connects to, at most 8.
    pub accepted_addresses: u32,
    /// Subflows of a connection besides the first one, at most 8; both ends must allow them.
    pub extra_subflows: u32,
}

/// A subflow's two ends, as seen from this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ends {
    /// Own address.
    pub local: SocketAddr,
    /// The other host's.
    pub remote: SocketAddr,
}

/// The path manager of the network namespace in which it was opened.
pub struct PathManager {
    netlink: Netlink,
    family: Family,
}

/// What generic netlink calls the path manager today.
#[derive(Clone, Copy, Debug)]
struct Family {
    id: u16,
    /// The multicast group of the events.
    events: Option<u32>,
}

impl PathManager {
    /// Opens it in the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a kernel without it.
    pub fn open() -> Result<Self> {
        let mut netlink =
            Netlink::open(NlFamily::Generic).map_err(|e| Error::io("opening generic netlink", e))?;
        let family = find_family(&mut netlink)?;
        Ok(PathManager { netlink, family })
    }

    /// Adds an endpoint. Connections that stand use it, too, as far as the limits allow.
    ///
    /// # Errors
    /// If the address or the id is taken, or without `CAP_NET_ADMIN`.
    pub fn add(&mut self, endpoint: &Endpoint) -> Result<()> {
        let doing = format!("adding the MPTCP endpoint {}", endpoint.address);
        let address =
            nested(attr::ENDPOINT, &address_attributes(endpoint).map_err(|e| Error::io(&doing, e))?);
        self.command(doing, command::ADD_ADDR, vec![address])
    }

    /// Removes an endpoint; its subflows are closed.
    ///
    /// # Errors
    /// If there is none, or without `CAP_NET_ADMIN`.
    pub fn delete(&mut self, id: AddressId) -> Result<()> {
        let address = attribute(uapi::address::ID, &[id.0]).and_then(|id| nested(attr::ENDPOINT, &[id]));
        self.command(format!("removing the MPTCP endpoint {id}"), command::DEL_ADDR, vec![address])
    }

    /// Removes all endpoints.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`.
    pub fn flush(&mut self) -> Result<()> {
        self.command("removing all MPTCP endpoints", command::FLUSH_ADDRS, vec![])
    }

    /// Lists the endpoints.
    ///
    /// # Errors
    /// If the kernel says what cannot be understood.
    pub fn endpoints(&mut self) -> Result<Vec<Endpoint>> {
        let mut found = vec![];
        let each: Each<'_> = &mut |payload| {
            let (_, attributes) = parse_generic(payload)?;
            if let Some(inner) = attributes.bytes(attr::ENDPOINT) {
                found.extend(endpoint_of(&parse_attributes(inner)?));
            }
            Ok(())
        };
        self.ask("listing MPTCP endpoints", command::GET_ADDR, Extent::All, vec![], each)?;
        Ok(found)
    }

    /// Sets the limits.
    ///
    /// # Errors
    /// If one is above 8, or without `CAP_NET_ADMIN`.
    pub fn set_limits(&mut self, limits: Limits) -> Result<()> {
        let attributes = vec![
            attribute(attr::ACCEPTED_ADDRESSES, &limits.accepted_addresses.to_ne_bytes()),
            attribute(attr::SUBFLOWS, &limits.extra_subflows.to_ne_bytes()),
        ];
        self.command("setting MPTCP's limits", command::SET_LIMITS, attributes)
    }

    /// The limits in force.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn limits(&mut self) -> Result<Limits> {
        let mut found = None;
        let each: Each<'_> = &mut |payload| {
            let (_, attributes) = parse_generic(payload)?;
            let value = |kind| attributes.u32(kind);
            if let (Some(accepted_addresses), Some(extra_subflows)) =
                (value(attr::ACCEPTED_ADDRESSES), value(attr::SUBFLOWS))
            {
                found = Some(Limits { accepted_addresses, extra_subflows });
            }
            Ok(())
        };
        self.ask("asking for MPTCP's limits", command::GET_LIMITS, Extent::One, vec![], each)?;
        found.ok_or_else(|| Error::Run("the kernel does not tell MPTCP's limits".into()))
    }

    /// Makes the subflows of an endpoint backups, or regular again, now and in future; the other end is told (MP_PRIO).
    ///
    /// # Errors
    /// If there is no such endpoint, or without `CAP_NET_ADMIN`.
    pub fn set_endpoint_backup(&mut self, id: AddressId, backup: bool) -> Result<()> {
        let inner = [attribute(uapi::address::ID, &[id.0]), flags(backup)];
        let address =
            inner.into_iter().collect::<io::Result<Vec<_>>>().and_then(|a| nested(attr::ENDPOINT, &a));
        self.command(
            format!("changing the priority of the MPTCP endpoint {id}"),
            command::SET_FLAGS,
            vec![address],
        )
    }

    /// User space: makes one subflow a backup, or regular again; the other end is told (MP_PRIO).
    ///
    /// # Errors
    /// If there is no such subflow, or its connection is the in-kernel path manager's.
    pub fn set_subflow_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()> {
        let local = Local { address: ends.local.ip(), port: ends.local.port(), ..Local::default() };
        let doing = format!("changing the priority of the subflow {} of {token}", ends.local);
        self.on_subflow(doing, command::SET_FLAGS, token, &local, Some(backup), Some(ends.remote))
    }

    /// User space: tells the other end an address of this host; it may connect to it.
    ///
    /// # Errors
    /// If there is no such connection, or it is the in-kernel path manager's.
    pub fn announce(&mut self, token: Token, local: &Local) -> Result<()> {
        let doing = format!("announcing {} to {token}", local.address);
        let address = local_attributes(local, flag::SIGNAL).and_then(|inner| nested(attr::ENDPOINT, &inner));
        self.command(doing, command::ANNOUNCE, vec![token_attribute(token), address])
    }

    /// User space: takes an announced address back; its subflows are closed.
    ///
    /// # Errors
    /// If it was not announced.
    pub fn remove(&mut self, token: Token, id: AddressId) -> Result<()> {
        let attributes = vec![token_attribute(token), attribute(attr::LOCAL_ID, &[id.0])];
        self.command(format!("taking the address {id} back from {token}"), command::REMOVE, attributes)
    }

    /// User space: opens a subflow. It is there when [`Event::SubflowEstablished`] says so.
    ///
    /// # Errors
    /// If there is no such connection, it is the in-kernel path manager's, or has 8 subflows.
    pub fn create_subflow(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()> {
        let doing = format!("opening a subflow from {} to {remote}", local.address);
        let backup = local.backup.then_some(true);
        self.on_subflow(doing, command::SUBFLOW_CREATE, token, local, backup, Some(remote))
    }

    /// User space: closes a subflow.
    ///
    /// # Errors
    /// If there is none.
    pub fn destroy_subflow(&mut self, token: Token, ends: Ends) -> Result<()> {
        let local = Local { address: ends.local.ip(), port: ends.local.port(), ..Local::default() };
        let doing = format!("closing the subflow from {} to {}", ends.local, ends.remote);
        self.on_subflow(doing, command::SUBFLOW_DESTROY, token, &local, None, Some(ends.remote))
    }

    /// Events of this namespace's connections, from now on. What stands already tells [`super::diag`].
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or on a kernel without events (before 5.13).
    pub fn events(&self) -> Result<Events> {
        let group = self.family.events.ok_or_else(|| Error::Unsupported {
            what: "events of MPTCP".into(),
            why: "this kernel's path manager has none".into(),
            remedy: "boot Linux 6.1 or newer".into(),
        })?;
        Events::subscribe(group)
    }

    fn on_subflow(
        &mut self,
        doing: String,
        command: u8,
        token: Token,
        local: &Local,
        backup: Option<bool>,
        remote: Option<SocketAddr>,
    ) -> Result<()> {
        let value = if backup == Some(true) { flag::BACKUP } else { 0 };
        let inner = match backup {
            Some(_) => local_attributes(local, value),
            None => endpoint::bare_local_attributes(local),
        };
        let mut attributes =
            vec![token_attribute(token), inner.and_then(|inner| nested(attr::ENDPOINT, &inner))];
        attributes.extend(remote.map(|remote| remote_attribute(attr::REMOTE, remote)));
        self.command(doing, command, attributes)
    }

    fn command(&mut self, doing: impl Into<String>, command: u8, attributes: Built) -> Result<()> {
        self.ask(doing, command, Extent::One, attributes, &mut |_| Ok(()))
    }

    fn ask(
        &mut self,
        doing: impl Into<String>,
        command: u8,
        extent: Extent,
        attributes: Built,
        each: Each<'_>,
    ) -> Result<()> {
        let attributes: io::Result<Attributes> = attributes.into_iter().collect();
        let message = attributes.and_then(|attributes| generic(command, uapi::VERSION, attributes));
        let asked = message
            .map_err(Refusal::from)
            .and_then(|message| self.netlink.request(self.family.id, extent, message, each));
        asked.map_err(|refusal| Error::io(doing, refusal))
    }
}

type Built = Vec<io::Result<super::netlink::Attribute>>;

fn token_attribute(token: Token) -> io::Result<super::netlink::Attribute> {
    attribute(attr::TOKEN, &token.0.to_ne_bytes())
}

fn flags(backup: bool) -> io::Result<super::netlink::Attribute> {
    let value = if backup { flag::BACKUP } else { 0 };
    attribute(uapi::address::FLAGS, &value.to_ne_bytes())
}

/// Asks generic netlink for the family's number and its group of events.
fn find_family(netlink: &mut Netlink) -> Result<Family> {
    let mut found = None;
    let each: Each<'_> = &mut |payload| {
        let (_, attributes) = parse_generic(payload)?;
        if let Some(id) = attributes.u16(uapi::control::FAMILY_ID) {
            let groups = attributes.bytes(uapi::control::GROUPS).map(event_group).transpose()?;
            found = Some(Family { id, events: groups.flatten() });
        }
        Ok(())
    };
    let name = attribute(uapi::control::FAMILY_NAME, uapi::FAMILY_NAME);
    let asked = name
        .and_then(|name| generic(CtrlCmd::Getfamily.into(), 1, [name].into_iter().collect()))
        .map_err(Refusal::from)
        .and_then(|message| netlink.request(GenlId::Ctrl.into(), Extent::One, message, each));
    match (asked, found) {
        (Ok(()), Some(family)) => Ok(family),
        (Err(refusal), _) if refusal.error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("looking for the MPTCP path manager", refusal))
        }
        _ => Err(Error::Unsupported {
            what: "the MPTCP path manager".into(),
            why: "this kernel has no generic netlink family `mptcp_pm`".into(),
            remedy: "boot a kernel with CONFIG_MPTCP=y, 6.1 or newer".into(),
        }),
    }
}

/// The number of the group of events in a list of groups.
fn event_group(groups: &[u8]) -> io::Result<Option<u32>> {
    for group in parse_attributes(groups)?.iter() {
        let group = parse_attributes(group.nla_payload().as_ref())?;
        if group.bytes(uapi::control::GROUP_NAME) == Some(uapi::EVENTS_NAME) {
            return Ok(group.u32(uapi::control::GROUP_ID));
        }
    }
    Ok(None)
}
