//! The time that a host takes to process an arriving packet.
//!
//! Hosts that answer at once lock the phases of flows at a DropTail queue: each packet arrives just
//! when another leaves, and the same flow finds room again and again (Floyd and Jacobson: On
//! traffic phase effects in packet-switched gateways, 1992). A random time of up to one packet time
//! at the bottleneck breaks the lock and changes little else.
//!
//! Each end of each subflow is a host of its own and processes packets in the order of their
//! arrival. A link that computes the arrival of a packet at its last hop asks the host for the time
//! when processing ends, and uses that as the arrival time. So processing needs no extra event.

use joulepath_model::random::{Domain, Stream};

use crate::event::MAX_TIME_NS;
use crate::parallel::shared::Shared;
use crate::prefetch::hint::prefetch_lines;

/// The end of a subflow to which a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum End {
    Receiver,
    Sender,
}

/// One end of a subflow. It fills a cache line, because the two ends may belong to different parts
/// of the network.
#[repr(align(64))]
struct Host {
    /// Upper bound (exclusive) of its time for a packet, ns; 0: it takes no time.
    most_ns: u64,
    /// When it finishes its latest packet, ns.
    done_ns: u64,
    random: Stream,
}

/// The ends of all subflows, receiver before sender; empty if hosts take no time.
#[derive(Default)]
pub(crate) struct Hosts(Shared<Host>);

impl Hosts {
    /// A view for one part of the network. A host belongs to the part where the last link to it
    /// begins.
    ///
    /// # Safety
    /// See [`Shared::view`].
    pub(crate) unsafe fn view(&self) -> Self {
        // SAFETY: the caller guarantees it.
        Hosts(unsafe { self.0.view() })
    }

    /// Adds both ends of the next subflow. They take up to `most_ns` for a packet.
    pub(crate) fn add_subflow(&mut self, most_ns: u64, seed: u64) {
        for _ in 0..2 {
            let random = Stream::new(seed, Domain::Processing, self.0.len() as u64);
            self.0.push(Host {
                most_ns: most_ns.min(MAX_TIME_NS / 2),
                done_ns: 0,
                random,
            });
        }
    }

    /// When the host at an end of a subflow finishes a packet that arrives at `arrival_ns`, ns. It
    /// never finishes before an earlier packet.
    #[inline(always)]
    pub(crate) fn done_with(&mut self, arrival_ns: u64, subflow: u32, end: End) -> u64 {
        let Some(host) = self.0.get_mut(2 * subflow as usize + end as usize) else {
            return arrival_ns;
        };
        // Uniform in [0, most): the high word of bits × most.
        let takes_ns = (u128::from(host.random.bits()) * u128::from(host.most_ns)) >> u64::BITS;
        host.done_ns = host.done_ns.max(arrival_ns + takes_ns as u64);
        host.done_ns
    }

    /// Prefetches the host at an end of a subflow.
    #[inline(always)]
    pub(crate) fn prefetch(&self, subflow: u32, end: End) {
        prefetch_lines(self.0.address(2 * subflow as usize + end as usize), 1);
    }

    /// Upper bound of the processing time for each subflow, ns; empty if hosts take no time.
    #[cfg(test)]
    pub(crate) fn most_ns(&self) -> Vec<u64> {
        self.0[0..self.0.len()]
            .chunks(2)
            .map(|ends| ends[0].most_ns)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_NS: u64 = 1_000;

    /// Processing times of 10⁴ packets that arrive `gap_ns` apart.
    fn times(gap_ns: u64) -> Vec<u64> {
        let mut hosts = Hosts::default();
        hosts.add_subflow(MOST_NS, 1);
        let arrivals = (0..10_000).map(|n| n * gap_ns);
        let done: Vec<_> = arrivals
            .clone()
            .map(|at| hosts.done_with(at, 0, End::Receiver))
            .collect();
        assert!(done.is_sorted(), "packets {gap_ns} ns apart");
        done.iter()
            .zip(arrivals)
            .map(|(done, at)| done - at)
            .collect()
    }

    #[test]
    fn a_host_takes_a_uniform_time_per_packet_and_keeps_their_order() {
        for gap_ns in [MOST_NS, MOST_NS / 10, 1] {
            assert!(times(gap_ns).iter().all(|&ns| ns < MOST_NS), "{gap_ns}");
        }
        // At one packet time apart no packet waits for another. Mean 499.5; the standard error of
        // the mean of 10⁴ is 1000/√12/100 = 2.9. A tenth of the packets take less than a tenth of
        // the time.
        let times = times(MOST_NS);
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!((mean - 499.5).abs() < 5.0 * 2.9, "{mean}");
        let short = times.iter().filter(|&&ns| ns < 100).count();
        assert!(short.abs_diff(1_000) < 150, "{short}");
    }

    #[test]
    fn each_end_of_each_subflow_has_its_own_random_stream() {
        let mut hosts = Hosts::default();
        (0..2).for_each(|_| hosts.add_subflow(1 << 40, 1));
        let ends = [
            (0, End::Receiver),
            (0, End::Sender),
            (1, End::Receiver),
            (1, End::Sender),
        ];
        let mut done = ends.map(|(subflow, end)| hosts.done_with(7, subflow, end));
        done.sort_unstable();
        assert!(done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
    }

    #[test]
    fn hosts_with_no_processing_time_add_no_delay() {
        let mut hosts = Hosts::default();
        assert_eq!(hosts.done_with(7, 0, End::Receiver), 7);
        hosts.add_subflow(0, 1);
        assert_eq!(hosts.done_with(7, 0, End::Receiver), 7);
    }
}
