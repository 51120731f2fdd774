//! Addresses on their way to and from the path manager.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::super::netlink::{Attribute, Attributes, Look, attribute, nested};
use super::AddressId;
use super::uapi::{address, flag};

/// An address of this host that connections use by themselves (in-kernel path manager).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// Its id; none lets the kernel choose.
    pub id: Option<AddressId>,
    /// Index of the interface that subflows from here leave through; none: as routes say, which is mostly the first one.
    pub interface: Option<u32>,
    /// Connections open a subflow from here to the other end's first address.
    pub subflow: bool,
    /// Connections tell the other end about it, so that it opens a subflow.
    pub signal: bool,
    /// Used only while no regular subflow is usable.
    pub backup: bool,
    /// Connections open a subflow from here to every address of the other end.
    pub fullmesh: bool,
}

impl Endpoint {
    /// From which every connection opens a subflow through this interface.
    pub fn subflow(address: IpAddr, interface: u32) -> Self {
        Endpoint {
            address,
            id: None,
            interface: Some(interface),
            subflow: true,
            signal: false,
            backup: false,
            fullmesh: false,
        }
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
        .sum()
    }
}

/// Own end of a subflow (user-space path manager).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Local {
    /// Own address.
    pub address: IpAddr,
    /// Own port; 0 lets the kernel choose.
    pub port: u16,
    /// What the connection calls the address; none where it is known already.
    pub id: Option<AddressId>,
    /// Index of the interface; none: as routes say, which is mostly the first path's.
    pub interface: Option<u32>,
    /// Used only while no regular subflow is usable.
    pub backup: bool,
}

impl Default for Local {
    fn default() -> Self {
        let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Local { address, port: 0, id: None, interface: None, backup: false }
    }
}

/// Family and address.
fn ip_attributes(ip: IpAddr) -> io::Result<Vec<Attribute>> {
    let (family, kind, bytes) = match ip {
        IpAddr::V4(ip) => (libc::AF_INET, address::ADDR4, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6, address::ADDR6, ip.octets().to_vec()),
    };
    Ok(vec![attribute(address::FAMILY, &(family as u16).to_ne_bytes())?, attribute(kind, &bytes)?])
}

pub(super) fn address_attributes(endpoint: &Endpoint) -> io::Result<Vec<Attribute>> {
    let mut attributes = ip_attributes(endpoint.address)?;
    if let Some(id) = endpoint.id {
        attributes.push(attribute(address::ID, &[id.0])?);
    }
    if let Some(interface) = endpoint.interface {
        attributes.push(attribute(address::INTERFACE, &interface.to_ne_bytes())?);
    }
    attributes.push(attribute(address::FLAGS, &endpoint.flags().to_ne_bytes())?);
    Ok(attributes)
}

/// Without flags: for commands that refuse them.
pub(super) fn bare_local_attributes(local: &Local) -> io::Result<Vec<Attribute>> {
    let mut attributes = ip_attributes(local.address)?;
    if let Some(id) = local.id {
        attributes.push(attribute(address::ID, &[id.0])?);
    }
    if local.port != 0 {
        attributes.push(attribute(address::PORT, &local.port.to_ne_bytes())?);
    }
    if let Some(interface) = local.interface {
        attributes.push(attribute(address::INTERFACE, &interface.to_ne_bytes())?);
    }
    Ok(attributes)
}

pub(super) fn local_attributes(local: &Local, flags: u32) -> io::Result<Vec<Attribute>> {
    let mut attributes = bare_local_attributes(local)?;
    attributes.push(attribute(address::FLAGS, &flags.to_ne_bytes())?);
    Ok(attributes)
}

pub(super) fn remote_attribute(kind: u16, remote: SocketAddr) -> io::Result<Attribute> {
    let mut attributes = ip_attributes(remote.ip())?;
    attributes.push(attribute(address::PORT, &remote.port().to_ne_bytes())?);
    nested(kind, &attributes)
}

/// An endpoint as the kernel lists it; none without an address.
pub(super) fn endpoint_of(attributes: &Attributes) -> Option<Endpoint> {
    let v4 = attributes.array::<4>(address::ADDR4).map(|octets| IpAddr::V4(Ipv4Addr::from(octets)));
    let v6 = || attributes.array::<16>(address::ADDR6).map(|octets| IpAddr::V6(Ipv6Addr::from(octets)));
    let flags = attributes.u32(address::FLAGS).unwrap_or(0);
    Some(Endpoint {
        address: v4.or_else(v6)?,
        id: attributes.u8(address::ID).map(AddressId),
        interface: attributes.u32(address::INTERFACE).filter(|index| *index != 0),
        subflow: flags & flag::SUBFLOW != 0,
        signal: flags & flag::SIGNAL != 0,
        backup: flags & flag::BACKUP != 0,
        fullmesh: flags & flag::FULLMESH != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_comes_back_as_it_went() {
        let endpoints = [
            Endpoint {
                id: Some(AddressId(3)),
                backup: true,
                ..Endpoint::subflow("10.0.2.1".parse().unwrap(), 7)
            },
            Endpoint { signal: true, interface: None, ..Endpoint::subflow("fd00::1".parse().unwrap(), 7) },
        ];
        for endpoint in endpoints {
            let attributes: Attributes = address_attributes(&endpoint).unwrap().into_iter().collect();
            assert_eq!(endpoint_of(&attributes), Some(endpoint));
        }
    }
}
