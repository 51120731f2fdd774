//! Arrivals. A sent packet waits in the queues of its route, and each queue serves packets in order
//! of arrival.
//!
//! Link l has received E_l = V_l + q_l packets and served V_l of them. A packet that leaves it at t
//! arrived at a_l(t), E_l(a_l(t)) = V_l(t). A route over the links 1, 2, … n that has sent K_r
//! packets, without lost ones, has delivered K_r(a₁(a₂(… a_n(t)))). So every link has carried all
//! delivered packets.

use crate::dynamics::Flow;
use crate::network::LinkIndex;

/// All routes of all users at one time.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) time_s: f64,
    /// Routes, user by user.
    pub(crate) flows: Vec<Flow>,
    /// Waiting packets at each link of the network.
    pub(crate) queues: Vec<f64>,
    /// Packets served by each link so far.
    pub(crate) served: Vec<f64>,
    /// Packets carried by each route so far.
    pub(crate) carried: Vec<Carried>,
}

/// Packets of a route since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Carried {
    pub(crate) sent: f64,
    /// Packets lost in full queues and on the wire.
    pub(crate) lost: f64,
    /// Packets lost because they waited for a link that went down.
    pub(crate) stranded: f64,
    /// Packets at the receiver.
    pub(crate) delivered: f64,
}

impl Carried {
    /// Packets that have arrived or will arrive.
    pub(crate) fn kept(&self) -> f64 {
        self.sent - self.lost - self.stranded
    }

    /// Packets carried since `earlier`.
    pub(crate) fn since(&self, earlier: &Carried) -> Carried {
        Carried {
            sent: self.sent - earlier.sent,
            lost: self.lost - earlier.lost,
            stranded: self.stranded - earlier.stranded,
            delivered: self.delivered - earlier.delivered,
        }
    }
}

/// A time between two samples.
#[derive(Clone, Copy)]
struct Place {
    after: usize,
    /// Fraction of the interval to the next sample.
    part: f64,
}

impl Place {
    fn value(self, samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
        let before = of(&samples[self.after]);
        let next = samples.get(self.after + 1).map_or(before, of);
        before + self.part * (next - before)
    }
}

/// Arrival at `link` of the packet that is the `served`th to be served.
fn entered(samples: &[Sample], link: LinkIndex, served: f64) -> Place {
    let taken_in = |sample: &Sample| sample.served[link] + sample.queues[link];
    let next = samples.partition_point(|sample| taken_in(sample) <= served);
    let Some(after) = next.checked_sub(1) else {
        return Place {
            after: 0,
            part: 0.0,
        };
    };
    let Some(later) = samples.get(next) else {
        return Place { after, part: 0.0 };
    };
    let before = taken_in(&samples[after]);
    Place {
        after,
        part: (served - before) / (taken_in(later) - before),
    }
}

/// Packets delivered by route `r` over `links` at the last of `samples`.
pub(crate) fn delivered(samples: &[Sample], r: usize, links: &[LinkIndex]) -> f64 {
    let Some((last, earlier)) = samples.split_last() else {
        return 0.0;
    };
    let mut place = Place {
        after: earlier.len(),
        part: 0.0,
    };
    for &link in links.iter().rev() {
        let served = place.value(samples, |sample| sample.served[link]);
        place = entered(samples, link, served);
    }
    let left = place.value(samples, |sample| {
        sample.carried[r].sent - sample.carried[r].lost
    });
    let before = earlier
        .last()
        .map_or(0.0, |sample| sample.carried[r].delivered);
    // Packets that waited in another link when one went down do not arrive.
    before.max(left - last.carried[r].stranded)
}

/// The last packet of a file on one route, on its way through the queues.
#[derive(Clone, Debug)]
pub(crate) struct LastPacket {
    links: Vec<LinkIndex>,
    /// Number of links that it has left.
    passed: usize,
    /// It leaves the next link once that link has served this many packets.
    behind: f64,
}

/// Error of the solver in served packets.
const ROUNDING: f64 = 1e-6;

impl LastPacket {
    /// A packet at the entrance of the first of `links`.
    pub(crate) fn new(links: &[LinkIndex], served: &[f64], queues: &[f64]) -> Self {
        let mut this = LastPacket {
            links: links.to_vec(),
            passed: 0,
            behind: 0.0,
        };
        this.enter(served, queues);
        this
    }

    fn enter(&mut self, served: &[f64], queues: &[f64]) {
        if let Some(&link) = self.links.get(self.passed) {
            self.behind = served[link] + queues[link];
        }
    }

    /// True if it has left its current link.
    pub(crate) fn moves(&self, served: &[f64]) -> bool {
        self.links
            .get(self.passed)
            .is_some_and(|&link| served[link] + ROUNDING >= self.behind)
    }

    /// Moves it as far as possible. Returns true if it has arrived.
    pub(crate) fn follow(&mut self, served: &[f64], queues: &[f64]) -> bool {
        while self.moves(served) {
            self.passed += 1;
            self.enter(served, queues);
        }
        self.passed == self.links.len()
    }
}
