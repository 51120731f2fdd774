//! Bits and rates at a device's interface, from the links of its path.

use joulepath_model::energy::Traffic;
use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{
    ConnectionGroup, LinkIndex, PathIndex, ProcessingDelay, Scenario, Workload,
};

use super::acks;
use super::cost::{Pace, WireBits};
use super::uses;
use crate::path::{
    Window, delivered, least_over, links_of, peak_bps, traffic_of, trough_bps, wire_per_payload,
};

/// Bits through the device's interface per bit of payload delivered over `path`.
///
/// Downlink bits count where they arrive, uplink bits where they leave, lost or not. The same holds
/// for ACKs.
pub(super) fn wire_bits(
    scenario: &Scenario,
    group: &ConnectionGroup,
    path: PathIndex,
    window: Window,
) -> WireBits {
    let (data_links, _) = links_of(scenario, group.direction, path);
    let data = wire_per_payload(scenario);
    match traffic_of(group.direction) {
        Traffic::Down => WireBits {
            down: data,
            up: acks::per_payload(scenario),
        },
        Traffic::Up => WireBits {
            up: data / delivered(scenario, data_links),
            down: acks::received(scenario, group, path, window),
        },
    }
}

/// Rate at which the path delivers segments without other traffic.
pub(super) fn pace(
    scenario: &Scenario,
    group: &ConnectionGroup,
    path: PathIndex,
    window: Window,
) -> Pace {
    pace_in(scenario, group, path, &|_| window)
}

/// As [`pace`], each link in the part of the run that `seen` gives.
pub(super) fn pace_in(
    scenario: &Scenario,
    group: &ConnectionGroup,
    path: PathIndex,
    seen: &dyn Fn(LinkIndex) -> Window,
) -> Pace {
    let (data, acks) = links_of(scenario, group.direction, path);
    let segment_bits = scenario.transport.mss.0 as f64 * 8.0;
    let (down, up) = scenario.paths[path].radio;
    let traffic = traffic_of(group.direction);
    let own = match traffic {
        Traffic::Down => down,
        Traffic::Up => up,
    };
    // Data with a rate need not come in trains, nor need data that waits behind the device's own
    // link.
    let has_rate = matches!(
        group.workload,
        Workload::Stream { .. } | Workload::Messages { .. }
    );
    let is_loose = has_rate || traffic == Traffic::Up && data != [own];
    let least =
        |rate: &dyn Fn(LinkIndex) -> f64| least_over(data, rate) / wire_per_payload(scenario);
    let trough = |link: LinkIndex| trough_bps(&scenario.links[link], seen(link));
    Pace {
        payload_bps: match data.iter().any(|&link| trough(link).is_none()) {
            true => f64::INFINITY,
            false => least(&|link| peak_bps(&scenario.links[link], seen(link))),
        },
        slowest_bps: match is_loose {
            true => 0.0,
            false => {
                let even_bps = least(&|link| trough(link).unwrap_or(f64::INFINITY));
                segment_bits / (segment_bits / even_bps + spread_s(scenario, data, acks, &trough))
            }
        },
        air_bps: match scenario.links[own].rate {
            // Opportunities are instants.
            RateSpec::Trace(_) => f64::INFINITY,
            _ => peak_bps(&scenario.links[own], seen(own)) / wire_per_payload(scenario),
        },
        segment_bits,
    }
}

/// By how much the delay of a path's packets varies apart from queues, s: jitter and bursts of
/// links, and the host's processing. `trough`: lowest rate of a link, bit/s.
fn spread_s(
    scenario: &Scenario,
    data: &[LinkIndex],
    acks: &[LinkIndex],
    trough: &dyn Fn(LinkIndex) -> Option<f64>,
) -> f64 {
    let transport = &scenario.transport;
    let longest_s = |links: &[LinkIndex], bytes: u64| {
        8.0 * bytes as f64 / least_over(links, |link| trough(link).unwrap_or(f64::INFINITY))
    };
    let processing_s = match transport.processing_delay {
        ProcessingDelay::Time(time) => time.as_secs_f64(),
        ProcessingDelay::Packets(packets) => {
            let segment_s = longest_s(data, transport.mss.0 + transport.header.0);
            f64::from(packets) * segment_s.max(longest_s(acks, transport.ack_size.0))
        }
    };
    processing_s
        + data
            .iter()
            .map(|&link| uses::spread_s(&scenario.links[link]))
            .sum::<f64>()
}

/// The least time for which data over each path of `group` is in the window, s: until the DATA_ACK
/// has come back over any path. `link_s`: time on a link of a segment, or of an ACK.
pub(super) fn in_window_s(
    scenario: &Scenario,
    group: &ConnectionGroup,
    link_s: &dyn Fn(LinkIndex, Packet) -> f64,
) -> Vec<f64> {
    let routes = group
        .paths
        .iter()
        .map(|&path| links_of(scenario, group.direction, path));
    let sum =
        |links: &[LinkIndex], packet| links.iter().map(|&link| link_s(link, packet)).sum::<f64>();
    let back_s = routes
        .clone()
        .map(|(_, acks)| sum(acks, Packet::Ack))
        .fold(f64::INFINITY, f64::min);
    routes
        .map(|(data, _)| sum(data, Packet::Segment) + back_s)
        .collect()
}

#[derive(Clone, Copy)]
pub(super) enum Packet {
    Segment,
    Ack,
}
