//! State of the sending end of one subflow.

use joulepath_model::scenario::{Recovery, Transport};

use super::owned::Owned;
use super::rtt::{RtoBounds, RttEstimator};
use super::scoreboard::Scoreboard;
use super::undo::{ReorderingWindow, Undo};
use super::usage::Usage;
use crate::connection::subflow::{Phase, SubflowId};
use crate::event::LazyTimer;
use crate::path::hop::Hop;
use crate::path::packet::{Stamp, Usual};

/// Congestion state of a sender, with the names of RFC 6675 and Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Congestion {
    Open,
    /// Window reduced after an ECN echo, nothing lost.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl Congestion {
    /// Whether the window is being reduced, for a loss or for a mark.
    #[inline]
    pub(crate) fn is_reducing(self) -> bool {
        matches!(self, Congestion::Recovery | Congestion::Cwr)
    }
}

/// What the timer of a sender waits for. As in Linux there is one timer for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The RTO (RFC 6298), or the next try of a handshake.
    Retransmission,
    /// A probe of the tail of a flight (RFC 8985, section 7).
    Probe,
    /// The end of the reordering window: an overtaken segment is judged lost (RFC 8985, section 6.2).
    Reordering,
}

/// State of proportional rate reduction since the latest reduction began, packets (RFC 9937).
#[derive(Clone, Copy, Default)]
pub(crate) struct Reduction {
    /// The window before the reduction (RecoverFS; Linux takes the window).
    pub(crate) prior_cwnd: u32,
    /// prr_delivered.
    pub(crate) delivered: u32,
    /// prr_out.
    pub(crate) out: u32,
}

/// A tail loss probe that no ACK has answered.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    /// First SSN after all that was sent before the probe.
    pub(crate) end: u32,
    /// When it left, if it was a copy.
    pub(crate) copied_at: Option<Stamp>,
}

/// What a run reports about the sending end.
#[derive(Clone, Copy, Default)]
pub(crate) struct SenderStats {
    pub(crate) segments: u64,
    /// Number of segments that were sent again on this subflow.
    pub(crate) retransmissions: u64,
    /// Number of segments that another subflow had carried before.
    pub(crate) reinjections: u64,
    pub(crate) timeouts: u64,
    pub(crate) loss_events: u64,
    pub(crate) rtt_samples: u64,
    pub(crate) rtt_sum_ns: u64,
    /// Integral of cwnd over time, packets × ns.
    pub(crate) cwnd_ns: u128,
}

/// The sending end of one subflow. Its window is in the connection's controller, next to those of the other
/// subflows.
///
/// What every ACK and every segment touches comes first, from the start of a cache line on.
#[repr(C, align(64))]
pub(crate) struct SubflowSender {
    pub(crate) id: SubflowId,
    pub(crate) phase: Phase,
    pub(crate) congestion: Congestion,
    /// What `timer` waits for.
    pub(crate) waiting: Waiting,
    /// Whether the next data segment tells the receiver that the window was reduced.
    pub(crate) cwr_pending: bool,
    /// The first hop of data.
    pub(crate) first_hop: Hop,
    /// Whether the device's radio matters here: this end is the device, or what it sends enters a link at a
    /// radio.
    pub(crate) has_radio: bool,
    /// Which ACKs are usual while the state of this end [is](Self::is_plain); none if nobody knows whether it
    /// is.
    pub(crate) usual: Usual,
    /// Timer for data, or for the handshake while that lasts; see [`Waiting`].
    pub(crate) timer: LazyTimer,
    pub(crate) rtt: RttEstimator,
    pub(crate) last_send_ns: u64,
    /// First SSN that a TCP relay at the far end has no room for.
    pub(crate) window_end: u32,
    pub(crate) usage: Usage,
    pub(crate) reduction: Reduction,
    pub(crate) probe: Option<Probe>,
    pub(crate) stats: SenderStats,
    /// The integral of cwnd is up to date until here, ns.
    cwnd_since_ns: u64,
    pub(crate) board: Scoreboard,
    /// Recovery, CWR and Loss end when everything below this SSN is acknowledged.
    pub(crate) recover: u32,
    /// Serial number that the next ACK with SACK blocks should have.
    pub(crate) sack_serial: u32,
    /// Whether NextSeg rule 4 has been used in this recovery.
    pub(crate) rescued: bool,
    pub(crate) undo: Option<Undo>,
    pub(crate) window: ReorderingWindow,
    /// What a controller that owns the window needs; none for others.
    pub(crate) owned: Option<Box<Owned>>,
    /// Until then the pacing rate holds the next segment, ns; 0 if nothing holds it.
    pub(crate) held_until_ns: u64,
    /// The counters at the end of the warm-up.
    pub(crate) before: SenderStats,
}

fn bounds(transport: &Transport) -> RtoBounds {
    RtoBounds {
        initial_ns: transport.rto_initial.0,
        min_ns: transport.rto_min.0,
        max_ns: transport.rto_max.0,
    }
}

fn board(transport: &Transport) -> Scoreboard {
    match transport.recovery {
        Recovery::Sack => Scoreboard::new(transport.dup_threshold as usize),
        Recovery::Rack | Recovery::NewReno => Scoreboard::judged_otherwise(),
    }
}

impl SubflowSender {
    /// A subflow that has not been opened. `window_end` is where the window of a TCP relay ends.
    pub(crate) fn new(id: SubflowId, first_hop: Hop, window_end: u32, transport: &Transport) -> Self {
        SubflowSender {
            id,
            phase: Phase::Closed,
            congestion: Congestion::Open,
            waiting: Waiting::Retransmission,
            rescued: false,
            cwr_pending: false,
            first_hop,
            has_radio: !id.downloads || first_hop.is_at_radio(),
            usual: Usual::NONE,
            board: board(transport),
            rtt: RttEstimator::new(bounds(transport)),
            timer: LazyTimer::new(),
            last_send_ns: 0,
            cwnd_since_ns: 0,
            window_end,
            usage: Usage::default(),
            recover: 0,
            sack_serial: 0,
            reduction: Reduction::default(),
            probe: None,
            undo: None,
            window: ReorderingWindow::default(),
            owned: None,
            held_until_ns: 0,
            stats: SenderStats::default(),
            before: SenderStats::default(),
        }
    }

    /// Begins a new subflow on the path. No state of the transport survives; the timer, the counters and the
    /// instants since which they count do.
    pub(crate) fn renew(&mut self, id: SubflowId, window_end: u32, transport: &Transport) {
        *self = SubflowSender {
            timer: self.timer,
            last_send_ns: self.last_send_ns,
            cwnd_since_ns: self.cwnd_since_ns,
            stats: self.stats,
            before: self.before,
            owned: self.owned.take().map(Owned::renewed),
            ..Self::new(id, self.first_hop, window_end, transport)
        };
    }

    /// Lets the subflow carry data from now on. The handshake's timer is not needed any more.
    pub(crate) fn establish(&mut self, now_ns: u64) {
        self.timer.clear();
        (self.cwnd_since_ns, self.last_send_ns) = (now_ns, now_ns);
    }

    /// Adds cwnd × time to the statistics; cwnd was `cwnd` packets since it last changed.
    #[inline]
    pub(crate) fn integrate_cwnd(&mut self, cwnd: u32, now_ns: u64) {
        let since_ns = std::mem::replace(&mut self.cwnd_since_ns, now_ns);
        self.stats.cwnd_ns += u128::from(u64::from(cwnd) * (now_ns - since_ns));
    }

    /// Whether it recovers from a loss, by retransmissions or after a timeout.
    #[inline]
    pub(crate) fn is_recovering(&self) -> bool {
        matches!(self.congestion, Congestion::Recovery | Congestion::Loss)
    }

    /// Whether it reduces its window, for a loss or for a mark.
    #[inline]
    pub(crate) fn is_reducing(&self) -> bool {
        self.congestion.is_reducing()
    }
}
