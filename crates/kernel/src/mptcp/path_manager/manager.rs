//! The commands of the path manager.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rustix::io::Errno;

use super::endpoint::{
    Endpoint, Ends, Limits, Local, endpoint_of, put_endpoint, put_id, put_local, put_remote,
};
use super::event::Events;
use super::uapi::{self, attr, command, flag};
use crate::error::{Error, Result};
use crate::mptcp::{AddressId, Token};
use crate::netlink::{Generic, put};

/// The kernel's message for a connection that does not exist.
const INVALID_TOKEN: &str = "invalid token";

/// The limit of kernels that do not name it (`MPTCP_PM_ADDR_MAX` before Linux 7.2).
const LEAST_MOST: usize = 8;

/// The path manager of the network namespace in which the value was opened.
#[derive(Debug)]
pub struct PathManager {
    family: Generic,
}

impl PathManager {
    /// Opens it in the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a kernel without a path manager.
    pub fn open() -> Result<Self> {
        let family = Generic::open(uapi::FAMILY_NAME, uapi::VERSION);
        match family.map_err(|failure| failure.doing("finding the MPTCP path manager"))? {
            Some(family) => Ok(PathManager { family }),
            None => Err(Error::Unsupported {
                what: "the MPTCP path manager".into(),
                why: "this kernel has no generic netlink family `mptcp_pm`".into(),
                remedy: "boot a kernel with CONFIG_MPTCP=y, 6.1 or newer".into(),
            }),
        }
    }

    /// Adds an endpoint. Existing connections use it, too, within the limits.
    ///
    /// # Errors
    /// [`Error::Io`] if the address or the id is taken, [`Error::Permission`] without
    /// `CAP_NET_ADMIN`.
    pub fn add(&mut self, endpoint: &Endpoint) -> Result<()> {
        let mut payload = vec![];
        put_endpoint(&mut payload, attr::ENDPOINT.0, endpoint);
        self.command(
            format!("adding the MPTCP endpoint {}", endpoint.address),
            command::ADD_ADDR,
            &payload,
        )
    }

    /// Removes an endpoint; its subflows are closed.
    ///
    /// # Errors
    /// [`Error::Io`] if there is none, [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn delete(&mut self, id: AddressId) -> Result<()> {
        let mut payload = vec![];
        put_id(&mut payload, attr::ENDPOINT.0, id, None);
        self.command(
            format!("removing the MPTCP endpoint {id}"),
            command::DEL_ADDR,
            &payload,
        )
    }

    /// Closes every first subflow with this local address, whether or not it is an endpoint. A
    /// connection without another subflow is cut off.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn delete_first(&mut self, address: IpAddr) -> Result<()> {
        let local = Local {
            address,
            port: 0,
            id: Some(AddressId(0)),
            interface: None,
            backup: false,
        };
        let mut payload = vec![];
        put_local(&mut payload, attr::ENDPOINT.0, &local, None);
        self.command(
            format!("closing first subflows of {address}"),
            command::DEL_ADDR,
            &payload,
        )
    }

    /// Removes all endpoints.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn flush(&mut self) -> Result<()> {
        self.command("removing all MPTCP endpoints", command::FLUSH_ADDRS, &[])
    }

    /// Lists the endpoints.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the kernel's answer cannot be parsed.
    pub fn endpoints(&mut self) -> Result<Vec<Endpoint>> {
        let listed = self.family.list(command::GET_ADDR, &[], |attributes| {
            attributes
                .nested(attr::ENDPOINT)?
                .map(endpoint_of)
                .transpose()
        });
        listed.map_err(|failure| failure.doing("listing MPTCP endpoints"))
    }

    /// Sets the limits.
    ///
    /// # Errors
    /// [`Error::Io`] if one is above [`Self::most`], [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn set_limits(&mut self, limits: Limits) -> Result<()> {
        let mut payload = vec![];
        put(
            &mut payload,
            attr::ACCEPTED_ADDRESSES.0,
            &limits.accepted_addresses.to_ne_bytes(),
        );
        put(
            &mut payload,
            attr::SUBFLOWS.0,
            &limits.extra_subflows.to_ne_bytes(),
        );
        self.command("setting MPTCP's limits", command::SET_LIMITS, &payload)
    }

    /// The kernel's limit of endpoints, of accepted addresses and of extra subflows: 8, since Linux
    /// 7.2 64. It changes nothing: it asks for a limit that no kernel accepts, and reads the
    /// kernel's message.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn most(&mut self) -> Result<usize> {
        let mut payload = vec![];
        for attribute in [attr::ACCEPTED_ADDRESSES, attr::SUBFLOWS] {
            put(&mut payload, attribute.0, &u32::MAX.to_ne_bytes());
        }
        let Err(failure) = self.family.command(command::SET_LIMITS, &payload) else {
            return Ok(LEAST_MOST);
        };
        match failure.errno() {
            Some(Errno::INVAL) => Ok(failure.said().and_then(most_said).unwrap_or(LEAST_MOST)),
            _ => Err(failure.doing("asking for MPTCP's highest limit")),
        }
    }

    /// The current limits.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the kernel's answer cannot be parsed.
    pub fn limits(&mut self) -> Result<Limits> {
        let asked = self.family.ask(command::GET_LIMITS, &[], |attributes| {
            let (addresses, subflows) = (
                attributes.u32(attr::ACCEPTED_ADDRESSES)?,
                attributes.u32(attr::SUBFLOWS)?,
            );
            let both = addresses.zip(subflows);
            Ok(both.map(|(accepted_addresses, extra_subflows)| Limits {
                accepted_addresses,
                extra_subflows,
            }))
        });
        let limits = asked.map_err(|failure| failure.doing("reading MPTCP's limits"))?;
        limits.ok_or_else(|| Error::Malformed {
            what: "the answer about MPTCP's limits".into(),
            why: "they are missing".into(),
        })
    }

    /// Makes existing and future subflows of an endpoint backups or regular, and informs the peer
    /// (MP_PRIO). Clears the endpoint's flag `fullmesh`.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such endpoint, [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn set_endpoint_backup(&mut self, id: AddressId, backup: bool) -> Result<()> {
        self.set_endpoint_flags(id, backup, false)
    }

    /// As [`Self::set_endpoint_backup`], and sets or clears `fullmesh`. A change of `fullmesh`
    /// closes and reopens all subflows of the endpoint.
    ///
    /// # Errors
    /// As [`Self::set_endpoint_backup`].
    pub fn set_endpoint_flags(
        &mut self,
        id: AddressId,
        backup: bool,
        fullmesh: bool,
    ) -> Result<()> {
        let mut payload = vec![];
        let flags = backup_flag(backup) | if fullmesh { flag::FULLMESH } else { 0 };
        put_id(&mut payload, attr::ENDPOINT.0, id, Some(flags));
        self.command(
            format!("changing the priority of the MPTCP endpoint {id}"),
            command::SET_FLAGS,
            &payload,
        )
    }

    /// True if user space may steer a connection; `None` if there is no such connection. It changes
    /// nothing: it asks the kernel to close a subflow that no connection can have.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn is_steerable(&mut self, token: Token) -> Result<Option<bool>> {
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 1));
        let payload = subflow_request(
            token,
            &own(Ends {
                local: nowhere,
                remote: nowhere,
            }),
            None,
            nowhere,
        );
        let Err(failure) = self.family.command(command::SUBFLOW_DESTROY, &payload) else {
            return Ok(Some(true));
        };
        match failure.errno() {
            Some(Errno::SRCH) => Ok(Some(true)),
            Some(Errno::INVAL)
                if failure
                    .said()
                    .is_some_and(|said| said.contains(INVALID_TOKEN)) =>
            {
                Ok(None)
            }
            Some(Errno::INVAL) => Ok(Some(false)),
            _ => Err(failure.doing(format!("checking which path manager controls {token}"))),
        }
    }

    /// User-space path manager: makes one subflow a backup or regular, and informs the peer
    /// (MP_PRIO).
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such subflow, or if the in-kernel path manager controls its
    /// connection; [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn set_subflow_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()> {
        let doing = format!(
            "changing the priority of the subflow {} of {token}",
            ends.local
        );
        let payload = subflow_request(token, &own(ends), Some(backup_flag(backup)), ends.remote);
        self.command(doing, command::SET_FLAGS, &payload)
    }

    /// User-space path manager: announces an address of this host to the peer, which may connect to
    /// it.
    ///
    /// # Errors
    /// As [`Self::set_subflow_backup`].
    pub fn announce(&mut self, token: Token, local: &Local) -> Result<()> {
        let mut payload = token_request(token);
        put_local(&mut payload, attr::ENDPOINT.0, local, Some(flag::SIGNAL));
        self.command(
            format!("announcing {} to {token}", local.address),
            command::ANNOUNCE,
            &payload,
        )
    }

    /// User-space path manager: withdraws an announced address and closes its subflows.
    ///
    /// # Errors
    /// [`Error::Io`] if it was not announced, [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn remove(&mut self, token: Token, id: AddressId) -> Result<()> {
        let mut payload = token_request(token);
        put(&mut payload, attr::LOCAL_ID.0, &[id.0]);
        self.command(
            format!("withdrawing the address {id} from {token}"),
            command::REMOVE,
            &payload,
        )
    }

    /// User-space path manager: opens a subflow.
    /// [`Event::SubflowEstablished`](super::Event::SubflowEstablished) reports when it is
    /// established.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such connection, if the in-kernel path manager controls it, or
    /// if it has 8 subflows; [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn create_subflow(
        &mut self,
        token: Token,
        local: &Local,
        remote: SocketAddr,
    ) -> Result<()> {
        let doing = format!("opening a subflow from {} to {remote}", local.address);
        let flags = local.backup.then_some(flag::BACKUP);
        let payload = subflow_request(token, local, flags, remote);
        self.command(doing, command::SUBFLOW_CREATE, &payload)
    }

    /// User-space path manager: closes a subflow.
    ///
    /// # Errors
    /// [`Error::Io`] if there is none, [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn destroy_subflow(&mut self, token: Token, ends: Ends) -> Result<()> {
        let doing = format!("closing the subflow from {} to {}", ends.local, ends.remote);
        let payload = subflow_request(token, &own(ends), None, ends.remote);
        self.command(doing, command::SUBFLOW_DESTROY, &payload)
    }

    /// Subscribes to events of this namespace's connections; call it in the namespace.
    /// [`diag`](crate::mptcp::diag) lists the connections that exist already.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_NET_ADMIN`, [`Error::Unsupported`] on a kernel without
    /// events (before 5.13).
    pub fn events(&self) -> Result<Events> {
        let group = self
            .family
            .group(uapi::EVENTS_NAME)
            .ok_or_else(|| Error::Unsupported {
                what: "MPTCP events".into(),
                why: "this kernel's path manager has none".into(),
                remedy: "boot Linux 6.1 or newer".into(),
            })?;
        Events::subscribe(&self.family, group)
    }

    fn command(&mut self, doing: impl Into<String>, command: u8, payload: &[u8]) -> Result<()> {
        self.family
            .command(command, payload)
            .map_err(|failure| failure.doing(doing))
    }
}

/// The number in `limit greater than maximum (64)`. Kernels before 6.15 name none.
fn most_said(text: &str) -> Option<usize> {
    text.rsplit_once('(')?.1.split_once(')')?.0.parse().ok()
}

fn backup_flag(backup: bool) -> u32 {
    if backup { flag::BACKUP } else { 0 }
}

/// The local end of an existing subflow.
fn own(ends: Ends) -> Local {
    Local {
        address: ends.local.ip(),
        port: ends.local.port(),
        ..Local::default()
    }
}

fn token_request(token: Token) -> Vec<u8> {
    let mut payload = vec![];
    put(&mut payload, attr::TOKEN.0, &token.0.to_ne_bytes());
    payload
}

fn subflow_request(token: Token, local: &Local, flags: Option<u32>, remote: SocketAddr) -> Vec<u8> {
    let mut payload = token_request(token);
    put_local(&mut payload, attr::ENDPOINT.0, local, flags);
    put_remote(&mut payload, attr::REMOTE.0, remote);
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_limit_is_in_the_kernel_s_message() {
        assert_eq!(most_said("limit greater than maximum (64)"), Some(64));
        assert_eq!(most_said("limit greater than maximum (8)"), Some(8));
        assert_eq!(most_said("limit greater than maximum"), None);
        assert_eq!(most_said("limit (of addresses) greater"), None);
    }
}
