//! One pair of TUN devices.

use std::net::IpAddr;

use joulepath_model::scenario::PathIndex;

/// A pair of TUN devices, one in each namespace, for a path of the scenario or a competitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Name of the device in both namespaces.
    pub name: String,
    /// The scenario's path; `None` for a competitor.
    pub path: Option<PathIndex>,
    /// The client's address on it.
    pub client_address: IpAddr,
    /// Index of the client's device.
    pub client_device: u32,
    /// Index of the server's device.
    pub server_device: u32,
    /// Longest packet, bytes.
    pub mtu: u32,
}
