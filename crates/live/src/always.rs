//! What all paths would have cost: the modelled energy if every usable radio were awake while MPTCP
//! connections move data.
//!
//! The bytes stay where they were, in place and time. An interface that carried nothing in an interval gets
//! one packet, because a connection with all subflows acknowledges data on each. Split over all paths, the
//! data would also move to radios that cost more for each bit, and a transfer that fills its path would end
//! sooner: both are left out. Connections that begin and end between two listings are not seen.

use std::collections::BTreeMap;

use joulepath_kernel::mptcp::Token;
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_model::live::{Intent, LiveConfig};

use crate::decide::is_over_hard_quota;
use crate::joules::Passed;
use crate::snapshot::Interface;

/// A DATA_ACK without data: IPv4 and TCP headers, timestamps, and 12 bytes of option.
const ACK_BYTES: u64 = 64;

/// Bytes received and sent by MPTCP connections, from listing to listing.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    before: Option<BTreeMap<Token, [u64; 2]>>,
}

impl Moved {
    /// Bytes received and sent since the last listing; none in the first, and where the kernel has no
    /// counters (before Linux 6.5).
    pub(crate) fn since_last(&mut self, listing: &Listing) -> [u64; 2] {
        let of_mptcp = listing.connections.iter().filter(|one| !one.info.fallback);
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

/// True if a policy of all paths would use the interface.
pub(crate) fn would_be_used(config: &LiveConfig, interface: &Interface) -> bool {
    let own = config.interface(&interface.name).and_then(|known| known.intent);
    let is_open = interface.usable && interface.routed && !interface.addresses.is_empty();
    is_open && own != Some(Intent::Off) && !is_over_hard_quota(config, interface)
}

/// The traffic of an interval in which the radio must not sleep.
pub(crate) fn kept_awake(passed: Passed) -> Passed {
    match passed.packets {
        0 => Passed { sent_bytes: passed.sent_bytes + ACK_BYTES, packets: 1, ..passed },
        _ => passed,
    }
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::mptcp::info::ByteCounters;

    use super::*;
    use crate::samples::connection;

    fn listing(all: &[(u32, u64, bool)]) -> Listing {
        let one = |&(token, received, fallback): &(u32, u64, bool)| {
            let mut one = connection(token, &[[192, 0, 2, 1].into()]);
            let counters = ByteCounters { sent: 10, received, acked: 0, reinjected: 0, timeouts: 0 };
            (one.info.counters, one.info.fallback) = (Some(counters), fallback);
            one
        };
        Listing { connections: all.iter().map(one).collect(), ..Listing::default() }
    }

    #[test]
    fn bytes_of_mptcp_connections_count_from_listing_to_listing() {
        let mut moved = Moved::default();
        assert_eq!(moved.since_last(&listing(&[(1, 5000, false)])), [0, 0], "they are older than the daemon");
        // 2 is new, and 3 has fallen back to TCP.
        let second = listing(&[(1, 7000, false), (2, 300, false), (3, 9000, true)]);
        assert_eq!(moved.since_last(&second), [2300, 10]);
        assert_eq!(moved.since_last(&listing(&[(2, 300, false)])), [0, 0]);
    }

    #[test]
    fn only_a_radio_that_would_sleep_gets_a_packet() {
        let busy = Passed { received_bytes: 1500, sent_bytes: 0, packets: 1 };
        assert_eq!(kept_awake(busy), busy);
        assert_eq!(kept_awake(Passed::default()), Passed { received_bytes: 0, sent_bytes: 64, packets: 1 });
    }
}
