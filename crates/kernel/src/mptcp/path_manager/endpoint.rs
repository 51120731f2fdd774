//! Addresses in messages to and from the path manager.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::uapi::{address, flag};
use crate::mptcp::AddressId;
use crate::netlink::{Attributes, Malformed, put, put_nested};
use crate::probe::Version;

/// Limits of the in-kernel path manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How many of the peer's addresses a connection accepts and connects to, at most
    /// [`PathManager::most`](super::PathManager::most).
    pub accepted_addresses: u32,
    /// Subflows of a connection apart from the first, at most as many. Both ends must allow them.
    pub extra_subflows: u32,
}

/// The two ends of a subflow, from this host's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ends {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
}

/// An address of this host that the in-kernel path manager uses for all connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// Its id; `None` lets the kernel choose.
    pub id: Option<AddressId>,
    /// Index of the interface through which its subflows leave. `None`: the routing table decides,
    /// which usually means the first interface.
    pub interface: Option<u32>,
    /// Connections open a subflow from here to the peer's first address.
    pub subflow: bool,
    /// Connections announce it to the peer, which may then open a subflow.
    pub signal: bool,
    /// Used only while no regular subflow is usable.
    pub backup: bool,
    /// Connections open a subflow from here to every address of the peer.
    pub fullmesh: bool,
    /// Port that the kernel announces with the address, and on which it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Further flags, as the kernel lists them: `implicit`, `laminar` and those of newer kernels.
    #[serde(default)]
    pub other_flags: u32,
}

impl Endpoint {
    /// In `other_flags`, since [`Self::LAMINAR_SINCE`]: connections open a subflow from it to an
    /// address that the peer announces, unless they have one from it.
    pub const LAMINAR: u32 = flag::LAMINAR;
    /// Older kernels ignore the flag.
    pub const LAMINAR_SINCE: Version = Version(6, 18);

    /// An endpoint from which every connection opens a subflow through this interface.
    pub fn subflow(address: IpAddr, interface: u32) -> Self {
        Endpoint {
            address,
            id: None,
            interface: Some(interface),
            subflow: true,
            signal: false,
            backup: false,
            fullmesh: false,
            port: None,
            other_flags: 0,
        }
    }

    /// True if it has this address and no port. The kernel accepts one such endpoint for an
    /// address.
    pub fn is_at(&self, address: IpAddr) -> bool {
        self.address == address && self.port.is_none()
    }

    /// True if connections open subflows from it.
    pub fn opens_subflows(&self) -> bool {
        self.subflow || self.fullmesh || self.other_flags & flag::LAMINAR != 0
    }

    /// True if the kernel created it with a connection. Adding an endpoint of the same address
    /// replaces it.
    pub fn is_implicit(&self) -> bool {
        self.flags() & !flag::IMPLICIT == 0
    }

    fn flags(&self) -> u32 {
        [
            (self.signal, flag::SIGNAL),
            (self.subflow, flag::SUBFLOW),
            (self.backup, flag::BACKUP),
            (self.fullmesh, flag::FULLMESH),
        ]
        .into_iter()
        .filter_map(|(set, bit)| set.then_some(bit))
        .fold(self.other_flags, |all, bit| all | bit)
    }
}

/// Local end of a subflow (user-space path manager).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Local {
    /// Local address.
    pub address: IpAddr,
    /// Local port; 0 lets the kernel choose.
    pub port: u16,
    /// The connection's id of the address; `None` if the connection has the address already.
    pub id: Option<AddressId>,
    /// Index of the interface. `None`: the routing table decides, which usually means the first
    /// path's interface.
    pub interface: Option<u32>,
    /// Used only while no regular subflow is usable.
    pub backup: bool,
}

impl Default for Local {
    fn default() -> Self {
        let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Local {
            address,
            port: 0,
            id: None,
            interface: None,
            backup: false,
        }
    }
}

/// Appends family and address.
fn put_ip(payload: &mut Vec<u8>, ip: IpAddr) {
    let family = if ip.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    } as u16;
    put(payload, address::FAMILY.0, &family.to_ne_bytes());
    match ip {
        IpAddr::V4(ip) => put(payload, address::ADDR4.0, &ip.octets()),
        IpAddr::V6(ip) => put(payload, address::ADDR6.0, &ip.octets()),
    }
}

/// Appends an endpoint to a request.
pub(super) fn put_endpoint(payload: &mut Vec<u8>, kind: u16, endpoint: &Endpoint) {
    let mut inner = vec![];
    put_ip(&mut inner, endpoint.address);
    if let Some(id) = endpoint.id {
        put(&mut inner, address::ID.0, &[id.0]);
    }
    if let Some(port) = endpoint.port {
        put(&mut inner, address::PORT.0, &port.to_ne_bytes());
    }
    if let Some(interface) = endpoint.interface {
        put(&mut inner, address::INTERFACE.0, &interface.to_ne_bytes());
    }
    put(
        &mut inner,
        address::FLAGS.0,
        &endpoint.flags().to_ne_bytes(),
    );
    put_nested(payload, kind, &inner);
}

/// Appends the id of an endpoint and its new flags, if any. Without the address family: the kernel
/// refuses a change by id that contains one.
pub(super) fn put_id(payload: &mut Vec<u8>, kind: u16, id: AddressId, flags: Option<u32>) {
    let mut inner = vec![];
    put(&mut inner, address::ID.0, &[id.0]);
    if let Some(flags) = flags {
        put(&mut inner, address::FLAGS.0, &flags.to_ne_bytes());
    }
    put_nested(payload, kind, &inner);
}

/// Appends the local end of a subflow; without flags for commands that refuse them.
pub(super) fn put_local(payload: &mut Vec<u8>, kind: u16, local: &Local, flags: Option<u32>) {
    let mut inner = vec![];
    put_ip(&mut inner, local.address);
    if let Some(id) = local.id {
        put(&mut inner, address::ID.0, &[id.0]);
    }
    if local.port != 0 {
        put(&mut inner, address::PORT.0, &local.port.to_ne_bytes());
    }
    if let Some(interface) = local.interface {
        put(&mut inner, address::INTERFACE.0, &interface.to_ne_bytes());
    }
    if let Some(flags) = flags {
        put(&mut inner, address::FLAGS.0, &flags.to_ne_bytes());
    }
    put_nested(payload, kind, &inner);
}

/// Appends the remote end of a subflow.
pub(super) fn put_remote(payload: &mut Vec<u8>, kind: u16, remote: SocketAddr) {
    let mut inner = vec![];
    put_ip(&mut inner, remote.ip());
    put(&mut inner, address::PORT.0, &remote.port().to_ne_bytes());
    put_nested(payload, kind, &inner);
}

/// An endpoint as the kernel lists it.
pub(super) fn endpoint_of(attributes: Attributes<'_>) -> Result<Endpoint, Malformed> {
    let ip = attributes
        .ip(address::ADDR4)?
        .or(attributes.ip(address::ADDR6)?);
    let flags = attributes.u32(address::FLAGS)?.unwrap_or(0);
    Ok(Endpoint {
        address: ip.ok_or_else(|| {
            Malformed::new(
                address::ADDR4.1,
                "it is missing, and so is MPTCP_PM_ADDR_ATTR_ADDR6",
            )
        })?,
        id: attributes.u8(address::ID)?.map(AddressId),
        interface: attributes
            .u32(address::INTERFACE)?
            .filter(|index| *index != 0),
        subflow: flags & flag::SUBFLOW != 0,
        signal: flags & flag::SIGNAL != 0,
        backup: flags & flag::BACKUP != 0,
        fullmesh: flags & flag::FULLMESH != 0,
        port: attributes.u16(address::PORT)?.filter(|port| *port != 0),
        other_flags: flags & !flag::KNOWN,
    })
}

#[cfg(test)]
mod tests {
    use super::super::uapi::attr::ENDPOINT;
    use super::*;

    #[test]
    fn an_endpoint_is_parsed_as_it_was_written() {
        let endpoints = [
            Endpoint {
                id: Some(AddressId(3)),
                backup: true,
                ..Endpoint::subflow("10.0.2.1".parse().unwrap(), 7)
            },
            Endpoint {
                signal: true,
                interface: None,
                ..Endpoint::subflow("fd00::1".parse().unwrap(), 7)
            },
            Endpoint {
                port: Some(8080),
                ..Endpoint::subflow("10.0.2.1".parse().unwrap(), 7)
            },
        ];
        for endpoint in endpoints {
            let mut payload = vec![];
            put_endpoint(&mut payload, ENDPOINT.0, &endpoint);
            let attributes = Attributes::parse("a test", &payload).unwrap();
            assert_eq!(
                endpoint_of(attributes.nested(ENDPOINT).unwrap().unwrap()),
                Ok(endpoint)
            );
        }
    }

    #[test]
    fn flags_of_newer_kernels_are_kept() {
        // Linux' `implicit`, 1 << 4, `laminar`, 1 << 5, and one that no kernel has.
        for other_flags in [1 << 4, 1 << 5, 1 << 5 | 1 << 30] {
            let endpoint = Endpoint {
                other_flags,
                ..Endpoint::subflow("10.0.2.1".parse().unwrap(), 7)
            };
            let mut payload = vec![];
            put_endpoint(&mut payload, ENDPOINT.0, &endpoint);
            let attributes = Attributes::parse("a test", &payload)
                .unwrap()
                .nested(ENDPOINT)
                .unwrap()
                .unwrap();
            assert_eq!(
                attributes.u32(address::FLAGS),
                Ok(Some(other_flags | flag::SUBFLOW))
            );
            assert_eq!(endpoint_of(attributes), Ok(endpoint));
        }
    }

    #[test]
    fn a_laminar_endpoint_opens_subflows_and_an_implicit_one_has_no_other_flag() {
        let flags = |subflow: bool, other_flags: u32| {
            let one = Endpoint {
                subflow,
                other_flags,
                ..Endpoint::subflow("10.0.2.1".parse().unwrap(), 7)
            };
            (one.opens_subflows(), one.is_implicit())
        };
        assert_eq!(flags(true, 0), (true, false));
        assert_eq!(flags(false, flag::LAMINAR), (true, false));
        assert_eq!(flags(false, flag::IMPLICIT), (false, true));
        assert_eq!(flags(true, flag::IMPLICIT), (true, false));
    }

    #[test]
    fn an_endpoint_without_an_address_is_malformed() {
        let mut payload = vec![];
        put_id(&mut payload, ENDPOINT.0, AddressId(3), None);
        let attributes = Attributes::parse("a test", &payload).unwrap();
        let error = endpoint_of(attributes.nested(ENDPOINT).unwrap().unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("MPTCP_PM_ADDR_ATTR_ADDR4: it is missing"),
            "{error}"
        );
    }
}
