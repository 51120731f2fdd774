//! From a scenario to lines and addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{self, PathIndex, PathSpec, Scenario};

use super::Line;
use super::stack::Stack;
use crate::emulator::messages::{LineSpec, Spec, Trace};
use crate::error::{Error, Result};
use crate::namespace::Namespace;

/// IP and TCP headers and timestamps of every segment, bytes.
const IPV4_TCP_TIMESTAMPS: u32 = 20 + 20 + 12;
/// What IPv6 has more.
const IPV6_EXTRA: u32 = 20;
/// The data sequence signal as this kernel writes it into data: an acknowledgement of 32 bits, a mapping of 64, padded (RFC 8684,
/// section 3.3).
const DATA_SEQUENCE_SIGNAL: u32 = 24;
/// Least MTU of IPv6 (RFC 8200, section 5); of IPv4 the kernel takes 68, with room for a segment 576 (RFC 791).
const LEAST_MTU: [u32; 2] = [576, 1280];
/// Longest name of a device, bytes.
const MAX_NAME: usize = 15;

/// What a lab is to be.
#[derive(Clone, Debug)]
pub struct LabSpec {
    /// What the links, the stack and the meter are.
    pub scenario: Scenario,
    /// Which random numbers the links draw.
    pub seed: u64,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// Congestion controller of every socket that does not choose one.
    pub default_cc: String,
    /// Keep time series of queues and power.
    pub series: bool,
    /// Ask for real-time priority where it helps.
    pub realtime: bool,
    /// Further sysctls of both namespaces: name and value. They win over those of the scenario.
    pub sysctls: Vec<(String, String)>,
}

/// Names and links of all lines.
pub(super) struct Plan {
    lines: Vec<LineSpec>,
    pub(super) server_address: IpAddr,
    ipv6: bool,
}

impl LabSpec {
    /// The paths of the scenario's connections under test, and a line for each competitor. Links draw the simulator's random
    /// numbers for `seed`.
    pub fn of(scenario: &Scenario, seed: u64) -> Self {
        LabSpec {
            scenario: scenario.clone(),
            seed,
            ipv6: false,
            default_cc: "reno".into(),
            series: false,
            realtime: true,
            sysctls: vec![],
        }
    }

    /// Whether there can be such a lab, as far as that can be seen without building it.
    ///
    /// # Errors
    /// If the kernel cannot send segments of the scenario's size.
    pub fn check(&self) -> Result<()> {
        Plan::of(self).map(drop)
    }

    /// What the scenario asks for and the kernel cannot do exactly, one sentence each.
    pub fn differences(&self) -> Vec<String> {
        Stack::of(self).differences().to_vec()
    }

    pub(super) fn title(&self) -> String {
        self.scenario.title.clone()
    }
}

impl Plan {
    pub(super) fn of(spec: &LabSpec) -> Result<Self> {
        let scenario = &spec.scenario;
        let mut lines: Vec<LineSpec> = vec![];
        for path in paths_in_use(scenario) {
            if scenario.paths[path].relay.is_some() {
                return Err(Error::Unsupported {
                    what: format!("the relay of the path `{}`", scenario.paths[path].name),
                    why: "the emulator has links, but no relays and no shared channels".into(),
                    remedy: "use `--engine packet`, or leave `relay` out".into(),
                });
            }
            let PathSpec { name, down, up, .. } = scenario.paths[path].clone();
            lines.push(LineSpec { name, mtu: spec.mtu(true)?, down, up, path: Some(path) });
        }
        for competitor in &scenario.competitors {
            lines.push(LineSpec {
                name: competitor.name.clone(),
                mtu: spec.mtu(false)?,
                down: competitor.down.clone(),
                up: competitor.up.clone(),
                path: None,
            });
        }
        let names = device_names(lines.iter().map(|line| line.name.as_str()));
        for (line, name) in lines.iter_mut().zip(names) {
            line.name = name;
        }
        Ok(Plan { lines, server_address: server_address(spec.ipv6), ipv6: spec.ipv6 })
    }

    pub(super) fn emulator(&self, spec: &LabSpec, client: &Namespace, server: &Namespace) -> Spec {
        Spec {
            scenario: scenario::show(&spec.scenario),
            traces: spec.scenario.links.iter().filter_map(|link| trace(&link.rate)).collect(),
            seed: spec.seed,
            lines: self.lines.clone(),
            client: client.path(),
            server: server.path(),
            realtime: spec.realtime,
            series: spec.series,
        }
    }

    /// With the indices of the devices, in the client's namespace and in the server's.
    pub(super) fn lines(&self, devices: &[[u32; 2]]) -> Vec<Line> {
        let line = |(i, (line, &[client_device, server_device])): (usize, (&LineSpec, &[u32; 2]))| Line {
            name: line.name.clone(),
            path: line.path,
            client_address: client_address(self.ipv6, i),
            client_device,
            server_device,
            mtu: line.mtu,
        };
        self.lines.iter().zip(devices).enumerate().map(line).collect()
    }
}

impl LabSpec {
    /// With which a full segment has the scenario's payload, whatever its headers are in the scenario.
    fn mtu(&self, mptcp: bool) -> Result<u32> {
        let mss = self.scenario.transport.mss.0;
        let headers = IPV4_TCP_TIMESTAMPS
            + if self.ipv6 { IPV6_EXTRA } else { 0 }
            + if mptcp { DATA_SEQUENCE_SIGNAL } else { 0 };
        let mtu = u32::try_from(mss).ok().and_then(|mss| mss.checked_add(headers));
        let least = LEAST_MTU[usize::from(self.ipv6)];
        mtu.filter(|mtu| (least..=u32::from(u16::MAX)).contains(mtu)).ok_or_else(|| Error::Unsupported {
            what: format!("segments of {mss} B"),
            why: format!("with {headers} B of headers a packet of this kernel has {least} B to 64 KiB"),
            remedy: "set another size with --set transport.mss='1460 B'".into(),
        })
    }
}

/// Those of the connections under test, in their order: the first is where a connection begins.
fn paths_in_use(scenario: &Scenario) -> Vec<PathIndex> {
    let mut paths = vec![];
    for &path in scenario.connections.iter().flat_map(|group| &group.paths) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn trace(rate: &RateSpec) -> Option<Trace> {
    match rate {
        RateSpec::Trace(trace) => {
            Some(Trace { source: trace.source.clone(), opportunities_ms: trace.opportunities_ms.clone() })
        }
        _ => None,
    }
}

/// In the networks that are set aside for tests of network devices: 198.18.0.0/15 (RFC 2544), 2001:2::/48 (RFC 5180).
fn client_address(ipv6: bool, line: usize) -> IpAddr {
    let network = u16::try_from(line + 1).expect("a scenario has fewer lines than 65535");
    if ipv6 {
        Ipv6Addr::new(0x2001, 2, 0, network, 0, 0, 0, 1).into()
    } else {
        let [high, low] = network.to_be_bytes();
        // Past 255 lines the third byte runs on into the second; 198.19.255.1 stays the server's.
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

/// Names that the kernel takes for devices, as like those of the scenario as can be.
fn device_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = vec!["lo".into(), "all".into(), "default".into()];
    let reserved = taken.len();
    for name in names {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
        let base: String = name.chars().map(plain).take(MAX_NAME).collect();
        let numbered = |n: usize| {
            let suffix = format!("-{n}");
            let kept = base.len().min(MAX_NAME - suffix.len());
            format!("{}{suffix}", &base[..kept])
        };
        let free = |name: &String| !name.is_empty() && !taken.contains(name);
        let found = std::iter::once(base.clone()).chain((2..).map(numbered)).find(free);
        taken.push(found.expect("the numbers do not end"));
    }
    taken.split_off(reserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_called_as_in_the_scenario() {
        let names = ["wifi", "my phone's LTE (indoor)", "my phone's LTE (outdoor)", "lo", "wifi"];
        let expected = ["wifi", "my-phone-s-LTE-", "my-phone-s-LT-2", "lo-2", "wifi-2"];
        assert_eq!(device_names(names.into_iter()), expected);
    }

    #[test]
    fn no_two_lines_share_an_address() {
        for ipv6 in [false, true] {
            let mut all: Vec<IpAddr> = (0..300).map(|line| client_address(ipv6, line)).collect();
            all.push(server_address(ipv6));
            all.sort();
            all.dedup();
            assert_eq!(all.len(), 301);
        }
    }
}
