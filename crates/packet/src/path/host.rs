//! The time that a host takes for a packet that has reached it.
//!
//! Hosts that answer in no time lock the phases of flows at a DropTail queue: each packet comes just when
//! another one has left, and the same flow finds room again and again (Floyd and Jacobson: On traffic phase
//! effects in packet-switched gateways, 1992). A random time of up to one packet time at the bottleneck
//! breaks that, and changes little else.
//!
//! Each end of each subflow is a host of its own. It is done with packets in the order in which they came.
//! When a link knows the arrival of a packet that leaves the network after it, the host says when it will be
//! done, and the packet counts as arrived then: there is no event more.

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

/// One end of a subflow. The two ends may belong to different parts of the network, so that each has a cache
/// line of its own.
#[repr(align(64))]
struct Host {
    /// It takes less than that for a packet, ns; 0 is a host that takes no time.
    most_ns: u64,
    /// When it is done with the latest packet, ns.
    done_ns: u64,
    random: Stream,
}

/// The ends of all subflows: the receiving and the sending one of each; none if hosts take no time.
#[derive(Default)]
pub(crate) struct Hosts(Shared<Host>);

impl Hosts {
    /// A view of them for one part of the network. A host belongs to the part where the last link to it
    /// begins.
    ///
    /// # Safety
    /// What [`Shared::view`] demands.
    pub(crate) unsafe fn view(&self) -> Self {
        // SAFETY: the caller has promised it.
        Hosts(unsafe { self.0.view() })
    }

    /// Adds both ends of the next subflow. They take up to `most_ns` for a packet.
    pub(crate) fn add_subflow(&mut self, most_ns: u64, seed: u64) {
        for _ in 0..2 {
            let random = Stream::new(seed, Domain::Processing, self.0.len() as u64);
            self.0.push(Host { most_ns: most_ns.min(MAX_TIME_NS / 2), done_ns: 0, random });
        }
    }

    /// When the host at an end of a subflow is done with a packet that reaches it at `arrival_ns`, and not
    /// before it is done with those that came earlier, ns.
    #[inline(always)]
    pub(crate) fn done_with(&mut self, arrival_ns: u64, subflow: u32, end: End) -> u64 {
        let Some(host) = self.0.get_mut(2 * subflow as usize + end as usize) else { return arrival_ns };
        // Uniform in [0, most): the high word of bits × most.
        let takes_ns = (u128::from(host.random.bits()) * u128::from(host.most_ns)) >> u64::BITS;
        host.done_ns = host.done_ns.max(arrival_ns + takes_ns as u64);
        host.done_ns
    }

    /// Asks for the memory of the host at an end of a subflow.
    #[inline(always)]
    pub(crate) fn prefetch(&self, subflow: u32, end: End) {
        prefetch_lines(self.0.address(2 * subflow as usize + end as usize), 1);
    }

    /// How many hosts there are, and the most that the ends of each subflow take for a packet, ns.
    #[cfg(test)]
    pub(crate) fn most_ns(&self) -> Vec<u64> {
        self.0[0..self.0.len()].chunks(2).map(|ends| ends[0].most_ns).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_NS: u64 = 1_000;

    /// How long a host takes for each of 10⁴ packets that come `gap_ns` apart.
    fn times(gap_ns: u64) -> Vec<u64> {
        let mut hosts = Hosts::default();
        hosts.add_subflow(MOST_NS, 1);
        let arrivals = (0..10_000).map(|n| n * gap_ns);
        let done: Vec<_> = arrivals.clone().map(|at| hosts.done_with(at, 0, End::Receiver)).collect();
        assert!(done.is_sorted(), "packets {gap_ns} ns apart");
        done.iter().zip(arrivals).map(|(done, at)| done - at).collect()
    }

    #[test]
    fn a_host_takes_a_uniform_time_and_keeps_the_order() {
        for gap_ns in [MOST_NS, MOST_NS / 10, 1] {
            assert!(times(gap_ns).iter().all(|&ns| ns < MOST_NS), "{gap_ns}");
        }
        // One packet time apart nothing waits for another one. Mean 499.5; the standard error of the mean of
        // 10⁴ is 1000/√12/100 = 2.9. A tenth takes less than a tenth of the time.
        let times = times(MOST_NS);
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!((mean - 499.5).abs() < 5.0 * 2.9, "{mean}");
        let short = times.iter().filter(|&&ns| ns < 100).count();
        assert!(short.abs_diff(1_000) < 150, "{short}");
    }

    #[test]
    fn both_ends_of_each_subflow_draw_for_themselves() {
        let mut hosts = Hosts::default();
        (0..2).for_each(|_| hosts.add_subflow(1 << 40, 1));
        let ends = [(0, End::Receiver), (0, End::Sender), (1, End::Receiver), (1, End::Sender)];
        let mut done = ends.map(|(subflow, end)| hosts.done_with(7, subflow, end));
        done.sort_unstable();
        assert!(done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
    }

    #[test]
    fn hosts_that_take_no_time_are_done_at_once() {
        let mut hosts = Hosts::default();
        assert_eq!(hosts.done_with(7, 0, End::Receiver), 7);
        hosts.add_subflow(0, 1);
        assert_eq!(hosts.done_with(7, 0, End::Receiver), 7);
    }
}
