//! Derives tunnels and addresses from a scenario.

use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{self, PathIndex, PathSpec, Scenario};
use joulepath_model::signal::SignalSpec;

use super::spec::LabSpec;
use super::tunnel::Tunnel;
use crate::emulator::messages::{Spec, Trace, TunnelSpec};
use joulepath_kernel::error::{Error, Result};
use joulepath_kernel::namespace::Namespace;

/// Headers of IPv4 and TCP with timestamps, bytes.
const IPV4_TCP_TIMESTAMPS: u32 = 20 + 20 + 12;
/// Extra length of the IPv6 header, bytes.
const IPV6_EXTRA: u32 = 20;
/// The data sequence signal that Linux writes into segments with data, bytes: a 32-bit
/// acknowledgement and a 64-bit mapping, padded (RFC 8684, section 3.3).
const DATA_SEQUENCE_SIGNAL: u32 = 24;
/// Minimum MTU of IPv4 that leaves room for a segment (RFC 791), and of IPv6 (RFC 8200, section 5),
/// bytes.
const LEAST_MTU: [u32; 2] = [576, 1280];
/// Maximum length of a device's name, bytes.
const MAX_NAME: usize = 15;

/// Names and links of all tunnels.
pub(super) struct Plan {
    tunnels: Vec<TunnelSpec>,
    pub(super) server_address: IpAddr,
    ipv6: bool,
}

impl Plan {
    pub(super) fn of(spec: &LabSpec) -> Result<Self> {
        let scenario = &spec.scenario;
        let mut tunnels: Vec<TunnelSpec> = vec![];
        for path in paths_in_use(scenario) {
            if scenario.paths[path].relay.is_some() {
                return Err(Error::Unsupported {
                    what: format!("the relay of the path `{}`", scenario.paths[path].name),
                    why: "the emulator has links, but no relays and no shared channels".into(),
                    remedy: "use `--engine packet`, or leave `relay` out".into(),
                });
            }
            let PathSpec { name, down, up, .. } = scenario.paths[path].clone();
            tunnels.push(TunnelSpec {
                name,
                mtu: spec.mtu(true)?,
                down,
                up,
                path: Some(path),
            });
        }
        for competitor in &scenario.competitors {
            tunnels.push(TunnelSpec {
                name: competitor.name.clone(),
                mtu: spec.mtu(false)?,
                down: competitor.down.clone(),
                up: competitor.up.clone(),
                path: None,
            });
        }
        let names = device_names(tunnels.iter().map(|tunnel| tunnel.name.as_str()));
        for (tunnel, name) in tunnels.iter_mut().zip(names) {
            tunnel.name = name;
        }
        Ok(Plan {
            tunnels,
            server_address: server_address(spec.ipv6),
            ipv6: spec.ipv6,
        })
    }

    pub(super) fn emulator(&self, spec: &LabSpec, client: &Namespace, server: &Namespace) -> Spec {
        Spec {
            scenario: scenario::show(&written_out(&spec.scenario)),
            traces: spec
                .scenario
                .links
                .iter()
                .filter_map(|link| trace(&link.rate))
                .collect(),
            seed: spec.seed,
            tunnels: self.tunnels.clone(),
            client: client.path(),
            server: server.path(),
            realtime: spec.realtime,
            series: spec.series,
            services: spec.services,
            packets: spec.packets.clone(),
        }
    }

    /// The tunnels, given their devices' indices in the client's and in the server's namespace.
    pub(super) fn tunnels(&self, devices: &[[u32; 2]]) -> Vec<Tunnel> {
        let tunnel =
            |(i, (tunnel, &[client_device, server_device])): (usize, (&TunnelSpec, &[u32; 2]))| {
                Tunnel {
                    name: tunnel.name.clone(),
                    path: tunnel.path,
                    client_address: client_address(self.ipv6, i),
                    client_device,
                    server_device,
                    mtu: tunnel.mtu,
                }
            };
        self.tunnels
            .iter()
            .zip(devices)
            .enumerate()
            .map(tunnel)
            .collect()
    }
}

impl LabSpec {
    /// The MTU with which a full segment has the scenario's payload, bytes.
    fn mtu(&self, mptcp: bool) -> Result<u32> {
        let mss = self.scenario.transport.mss.0;
        let headers = IPV4_TCP_TIMESTAMPS
            + if self.ipv6 { IPV6_EXTRA } else { 0 }
            + if mptcp { DATA_SEQUENCE_SIGNAL } else { 0 };
        let mtu = u32::try_from(mss)
            .ok()
            .and_then(|mss| mss.checked_add(headers));
        let least = LEAST_MTU[usize::from(self.ipv6)];
        mtu.filter(|mtu| (least..=u32::from(u16::MAX)).contains(mtu))
            .ok_or_else(|| Error::Unsupported {
                what: format!("segments of {mss} B"),
                why: format!(
                    "with {headers} B of headers a packet of this kernel has {least} B to 64 KiB"
                ),
                remedy: "set another size with --set transport.mss='1460 B'".into(),
            })
    }
}

/// The paths of the connections under test, in their order: a connection begins on its first path.
fn paths_in_use(scenario: &Scenario) -> Vec<PathIndex> {
    let mut paths = vec![];
    for &path in scenario.connections.iter().flat_map(|group| &group.paths) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The scenario with the signals and delays of its files written out: the emulator reads no files.
fn written_out(scenario: &Scenario) -> Scenario {
    let mut own = scenario.clone();
    for link in &mut own.links {
        if let Some(delays) = &mut link.delays {
            Arc::make_mut(delays).source = None;
        }
    }
    for path in &mut own.paths {
        let Some(signal) = &mut path.signal else {
            continue;
        };
        if let SignalSpec::Trace(trace) = &mut signal.spec {
            signal.spec = SignalSpec::Steps(mem::take(&mut trace.readings));
        }
    }
    own
}

fn trace(rate: &RateSpec) -> Option<Trace> {
    match rate {
        RateSpec::Trace(trace) => Some(Trace {
            source: trace.source.clone(),
            opportunities_ms: trace.opportunities_ms.clone(),
        }),
        _ => None,
    }
}

/// The client's address on a tunnel, in a network reserved for tests of network devices:
/// 198.18.0.0/15 (RFC 2544) or 2001:2::/48 (RFC 5180).
fn client_address(ipv6: bool, tunnel: usize) -> IpAddr {
    let network = u16::try_from(tunnel + 1).expect("a scenario has fewer tunnels than 65535");
    if ipv6 {
        Ipv6Addr::new(0x2001, 2, 0, network, 0, 0, 0, 1).into()
    } else {
        let [high, low] = network.to_be_bytes();
        // From tunnel 256 on the number needs the second byte, too. 198.19.255.1 is the server's.
        Ipv4Addr::new(198, 18 + high, low, 1).into()
    }
}

fn server_address(ipv6: bool) -> IpAddr {
    if ipv6 {
        Ipv6Addr::new(0x2001, 2, 0, 0xFFFF, 0, 0, 0, 1).into()
    } else {
        Ipv4Addr::new(198, 19, 255, 1).into()
    }
}

/// Device names that the kernel accepts, as similar to the scenario's as possible.
fn device_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = vec!["lo".into(), "all".into(), "default".into()];
    let reserved = taken.len();
    for name in names {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_".contains(c) {
                c
            } else {
                '-'
            }
        };
        let base: String = name.chars().map(plain).take(MAX_NAME).collect();
        let numbered = |n: usize| {
            let suffix = format!("-{n}");
            let kept = base.len().min(MAX_NAME - suffix.len());
            format!("{}{suffix}", &base[..kept])
        };
        let free = |name: &String| !name.is_empty() && !taken.contains(name);
        let found = std::iter::once(base.clone())
            .chain((2..).map(numbered))
            .find(free);
        taken.push(found.expect("the numbers do not end"));
    }
    taken.split_off(reserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_the_names_of_the_scenario() {
        let names = [
            "wifi",
            "my phone's LTE (indoor)",
            "my phone's LTE (outdoor)",
            "lo",
            "wifi",
        ];
        let expected = [
            "wifi",
            "my-phone-s-LTE-",
            "my-phone-s-LT-2",
            "lo-2",
            "wifi-2",
        ];
        assert_eq!(device_names(names.into_iter()), expected);
    }

    #[test]
    fn tunnels_have_different_addresses() {
        for ipv6 in [false, true] {
            let mut all: Vec<IpAddr> = (0..300)
                .map(|tunnel| client_address(ipv6, tunnel))
                .collect();
            all.push(server_address(ipv6));
            all.sort();
            all.dedup();
            assert_eq!(all.len(), 301);
        }
    }
}
