//! What all paths would have cost at least: the modelled energy if every connection had had
//! subflows on every usable interface.
//!
//! In a round in which MPTCP connections move data, every usable interface without an open subflow
//! joins. Its radio gets its share of the data, by capacity, or one packet. What passed at full
//! rate would have passed sooner, so the round shrinks for all interfaces. Where a program limited
//! the rate, that is too much, and the estimate too low. An interface of unknown capacity counts as
//! fast as those that carry the data: if it is slower, the estimate is too low. An interface with
//! open subflows spares nothing.

use std::collections::BTreeMap;

use joulepath_kernel::mptcp::Token;
use joulepath_kernel::mptcp::diag::{Connection, Listing};
use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::Nanos;

use crate::decide::{UNTRIED_BPS, is_over_hard_quota};
use crate::placing::{Passed, Placed};
use crate::snapshot::Interface;

/// A DATA_ACK without data: IPv4 and TCP headers, timestamps, and 12 bytes of option.
const ACK_BYTES: u64 = 64;
/// A full packet.
const PACKET_BYTES: u64 = 1500;

/// Bytes received and sent by MPTCP connections, from listing to listing.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    before: Option<BTreeMap<Token, [u64; 2]>>,
}

impl Moved {
    /// Bytes received and sent since the last listing; none in the first, and where the kernel has
    /// no counters (before Linux 6.5).
    pub(crate) fn since_last(&mut self, listing: &Listing) -> [u64; 2] {
        let is_here = |one: &&Connection| one.remote.ip().to_canonical().is_loopback();
        let of_mptcp = listing
            .connections
            .iter()
            .filter(|one| !one.info.fallback && !is_here(one));
        let counted = of_mptcp.filter_map(|one| {
            let counters = one.info.counters?;
            Some((one.info.token, [counters.received, counters.sent]))
        });
        let now: BTreeMap<Token, [u64; 2]> = counted.collect();
        let mut moved = [0; 2];
        if let Some(before) = &self.before {
            for (token, bytes) in &now {
                let known = before.get(token).copied().unwrap_or_default();
                for direction in [0, 1] {
                    moved[direction] += bytes[direction].saturating_sub(known[direction]);
                }
            }
        }
        self.before = Some(now);
        moved
    }
}

/// Capacity of an interface in bytes/s: configured, else measured, else `untried`.
fn capacity(config: &LiveConfig, interface: &Interface, untried: f64) -> f64 {
    let configured = config
        .interface(&interface.name)
        .and_then(|known| known.rate);
    let known_bps = configured
        .map(|rate| rate.bps() as f64)
        .or(interface.capacity_bps);
    known_bps
        .map_or(untried, |bps| bps / 8.0)
        .max(interface.rate_bps / 8.0)
}

/// True if a policy of all paths would use the interface.
fn is_open(config: &LiveConfig, interface: &Interface) -> bool {
    let own = config
        .interface(&interface.name)
        .and_then(|known| known.intent);
    let is_open = interface.usable && interface.routed && !interface.addresses.is_empty();
    is_open && own != Some(Intent::Off) && !is_over_hard_quota(config, interface)
}

/// A round with all paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shortened {
    /// Its length, as a part of the real one.
    pub(crate) part: f64,
    /// The part of it in which data passes.
    busy: f64,
    /// What joins, by index, with the bytes and packets that it carries.
    joins: BTreeMap<u32, Passed>,
}

impl Shortened {
    /// A round of `length_s` in which MPTCP moved data; `None` if nothing joins. `passed`: the
    /// traffic of an interface that has an energy model. All traffic beside that of MPTCP counts as
    /// its: the estimate is lower.
    pub(crate) fn new(
        config: &LiveConfig,
        interfaces: &[Interface],
        passed: impl Fn(&Interface) -> Option<Passed>,
        length_s: f64,
    ) -> Option<Self> {
        let are_open = interfaces.iter().any(|one| one.subflows > 0);
        let carries = |one: &&Interface| match are_open {
            true => one.subflows > 0,
            // All have ended since the last poll.
            false => passed(one).is_some_and(|passed| passed.packets > 0),
        };
        let (mut own, mut all) = (0.0, Passed::default());
        for one in interfaces.iter().filter(carries) {
            // Without its energy, the gain of a shorter time is unknown.
            all.add(passed(one)?);
            own += capacity(config, one, UNTRIED_BPS / 8.0);
        }
        if own == 0.0 {
            return None;
        }
        let joins =
            |one: &&Interface| !carries(one) && is_open(config, one) && passed(one).is_some();
        let joining: Vec<&Interface> = interfaces.iter().filter(joins).collect();
        let of = |one: &Interface| capacity(config, one, own.max(UNTRIED_BPS / 8.0));
        let others: f64 = joining.iter().map(|one| of(one)).sum();
        let full = (all.bytes() as f64 / (length_s * own).max(1.0)).min(1.0);
        let busy = full * own / (own + others);
        let share = |one: &Interface| {
            let share = of(one) / (own + others);
            let bytes = |all: u64| (all as f64 * share) as u64;
            let (received_bytes, sent_bytes) = (
                bytes(all.received_bytes),
                bytes(all.sent_bytes).max(ACK_BYTES),
            );
            let packets = ((received_bytes + sent_bytes) / PACKET_BYTES).max(1);
            (
                one.index,
                Passed {
                    received_bytes,
                    sent_bytes,
                    packets,
                },
            )
        };
        let joins: BTreeMap<u32, Passed> = joining.into_iter().map(share).collect();
        let part = 1.0 - full + busy;
        (!joins.is_empty()).then_some(Shortened {
            part,
            busy: busy / part.max(f64::MIN_POSITIVE),
            joins,
        })
    }

    /// The round of an interface that joins and has carried `own` by other traffic.
    pub(crate) fn interval(
        &self,
        index: u32,
        from: Nanos,
        until: Nanos,
        own: Passed,
    ) -> Option<Placed> {
        let mut passed = *self.joins.get(&index)?;
        passed.add(own);
        let length_s = until.saturating_sub(from).as_secs_f64() * self.part;
        let at = |part: f64| from.saturating_add(Nanos::from_secs_f64(length_s * part));
        let [first, last] = [0.5 - self.busy / 2.0, 0.5 + self.busy / 2.0].map(at);
        Some(Placed {
            from,
            until: at(1.0),
            first,
            last,
            passed,
        })
    }
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::mptcp::info::ByteCounters;
    use joulepath_model::scenario::read_live;

    use super::*;
    use crate::samples::{connection, seen};

    fn listing(all: &[(u32, u64, bool)]) -> Listing {
        let one = |&(token, received, fallback): &(u32, u64, bool)| {
            let mut one = connection(token, &[[192, 0, 2, 1].into()]);
            let counters = ByteCounters {
                sent: 10,
                received,
                acked: 0,
                reinjected: 0,
                timeouts: 0,
            };
            (one.info.counters, one.info.fallback) = (Some(counters), fallback);
            one
        };
        Listing {
            connections: all.iter().map(one).collect(),
            ..Listing::default()
        }
    }

    #[test]
    fn bytes_of_mptcp_connections_count_from_listing_to_listing() {
        let mut moved = Moved::default();
        assert_eq!(
            moved.since_last(&listing(&[(1, 5000, false)])),
            [0, 0],
            "they are older than the daemon"
        );
        // 2 is new, and 3 has fallen back to TCP.
        let second = listing(&[(1, 7000, false), (2, 300, false), (3, 9000, true)]);
        assert_eq!(moved.since_last(&second), [2300, 10]);
        assert_eq!(moved.since_last(&listing(&[(2, 300, false)])), [0, 0]);
    }

    /// 20 Mbit/s of WiFi, and LTE with 10 Mbit/s.
    fn shortened(wifi_bytes: u64, lte_subflows: usize) -> Option<Shortened> {
        let text = "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\nrate = \"20 Mbit/s\"\n\
                    [[interface]]\nname = \"wwan0\"\nrate = \"10 Mbit/s\"\n";
        let config = read_live(text).unwrap();
        let mut all = [seen(2, "wlan0"), seen(3, "wwan0")];
        (all[0].subflows, all[1].subflows) = (1, lte_subflows);
        let passed = |one: &Interface| {
            let received_bytes = if one.index == 2 { wifi_bytes } else { 0 };
            Some(Passed {
                received_bytes,
                sent_bytes: 0,
                packets: wifi_bytes / 1000,
            })
        };
        Shortened::new(&config, &all, passed, 2.0)
    }

    #[test]
    fn a_round_at_full_rate_shrinks_by_the_share_of_the_interface_that_joins() {
        // WiFi at its full rate: with LTE it takes two thirds of the time, and LTE carries a third.
        let full = shortened(5_000_000, 0).unwrap();
        let interval = full
            .interval(3, Nanos::ZERO, Nanos::from_secs(2), Passed::default())
            .unwrap();
        assert!(
            (full.part - 2.0 / 3.0).abs() < 1e-9 && interval.passed.received_bytes == 1_666_666
        );
        assert!((interval.until.as_secs_f64() - 4.0 / 3.0).abs() < 1e-6 && interval.first.0 < 1000);
        // A tenth of it saves a tenth of that, and the data passes in a tenth of the time.
        let little = shortened(500_000, 0).unwrap();
        assert!((little.part - (1.0 - 0.1 / 3.0)).abs() < 1e-9);
        let interval = little
            .interval(3, Nanos::ZERO, Nanos::from_secs(2), Passed::default())
            .unwrap();
        let lasts = interval.last.saturating_sub(interval.first).as_secs_f64();
        assert!((lasts - 0.2 * 2.0 / 3.0).abs() < 1e-6, "{lasts}");
        assert_eq!(
            full.interval(2, Nanos::ZERO, Nanos::from_secs(2), Passed::default()),
            None
        );
    }

    #[test]
    fn an_interface_of_unknown_capacity_carries_half() {
        let config = read_live("intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\n").unwrap();
        let mut all = [seen(2, "wlan0"), seen(3, "wwan0")];
        (all[0].subflows, all[0].capacity_bps, all[1].capacity_bps) = (1, Some(80e6), None);
        let passed = |one: &Interface| {
            let received_bytes = if one.index == 2 { 10_000_000 } else { 0 };
            Some(Passed {
                received_bytes,
                sent_bytes: 0,
                packets: received_bytes / 1000,
            })
        };
        let halved = Shortened::new(&config, &all, passed, 1.0).unwrap();
        assert_eq!(
            (halved.part, halved.joins[&3].received_bytes),
            (0.5, 5_000_000)
        );
    }

    #[test]
    fn an_interface_with_an_open_subflow_does_not_join_and_a_trickle_is_one_packet() {
        assert_eq!(shortened(400, 1), None);
        let trickle = shortened(400, 0).unwrap();
        assert_eq!(
            trickle.joins[&3],
            Passed {
                received_bytes: 133,
                sent_bytes: 64,
                packets: 1
            }
        );
    }
}
