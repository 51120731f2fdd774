//! State of the sending end of one subflow.

use joulepath_model::scenario::{Recovery, Transport};

use super::owned::Owned;
use super::rtt::{RtoBounds, RttEstimator};
use super::scoreboard::Scoreboard;
use super::undo::{RackReoWnd, Undo};
use super::usage::Usage;
use crate::connection::subflow::{Phase, SubflowId};
use crate::event::LazyTimer;
use crate::path::hop::Hop;
use crate::path::packet::{ECT, Stamp, Usual};

/// Congestion state of a sender, named as in RFC 6675 and Linux.
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
    /// Whether a loss or a mark is reducing the window.
    #[inline]
    pub(crate) fn is_reducing(self) -> bool {
        matches!(self, Congestion::Recovery | Congestion::Cwr)
    }
}

/// What a sender's timer waits for. As in Linux, one timer serves all purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The RTO (RFC 6298), or the next attempt of a handshake.
    Retransmission,
    /// A probe of the tail of a flight (RFC 8985, section 7).
    Probe,
    /// The end of the reordering window, when overtaken segments become lost (RFC 8985, section
    /// 6.2).
    Reordering,
}

/// State of proportional rate reduction since the latest reduction began, packets (RFC 9937).
#[derive(Clone, Copy, Default)]
pub(crate) struct Reduction {
    /// The window before the reduction (RecoverFS in the RFC, the window in Linux).
    pub(crate) prior_cwnd: u32,
    /// prr_delivered.
    pub(crate) delivered: u32,
    /// prr_out.
    pub(crate) out: u32,
}

/// A tail loss probe without an ACK.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    /// First SSN after all data sent before the probe.
    pub(crate) end: u32,
    /// When it left; `None` if it was new data.
    pub(crate) copied_at: Option<Stamp>,
}

/// Counters of the sender for a run's result.
#[derive(Clone, Copy, Default)]
pub(crate) struct SenderStats {
    pub(crate) segments: u64,
    /// Number of retransmissions on this subflow.
    pub(crate) retransmissions: u64,
    /// Number of segments that another subflow carried before.
    pub(crate) reinjections: u64,
    /// Number of both whose first copy left before the measured interval.
    pub(crate) old_copies: u64,
    pub(crate) timeouts: u64,
    pub(crate) loss_events: u64,
    pub(crate) rtt_samples: u64,
    pub(crate) rtt_sum_ns: u64,
    /// Integral of cwnd over time, packets × ns.
    pub(crate) cwnd_ns: u128,
}

/// The sending end of one subflow. Its window is in the connection's controller, next to the other
/// subflows' windows.
///
/// Fields that every ACK and every segment touch come first, from the start of a cache line.
#[repr(C, align(64))]
pub(crate) struct SubflowSender {
    pub(crate) id: SubflowId,
    pub(crate) phase: Phase,
    pub(crate) congestion: Congestion,
    /// What `timer` waits for.
    pub(crate) waiting: Waiting,
    /// Whether the next data segment carries CWR.
    pub(crate) cwr_pending: bool,
    /// Flags of the ECN field of new data: 0, ECT, or ECT and L4S.
    pub(crate) ecn: u8,
    /// The first hop of data.
    pub(crate) first_hop: Hop,
    /// Whether the device's radio matters: this end is the device, or its first link starts at a
    /// radio.
    pub(crate) has_radio: bool,
    /// The pattern of usual ACKs while this end [is plain](Self::is_plain); [`Usual::NONE`] if that
    /// is unknown.
    pub(crate) usual: Usual,
    /// Timer for data, or for the handshake; see [`Waiting`].
    pub(crate) timer: LazyTimer,
    pub(crate) rtt: RttEstimator,
    pub(crate) last_send_ns: u64,
    /// First SSN beyond the buffer of a TCP relay at the far end.
    pub(crate) window_end: u32,
    pub(crate) usage: Usage,
    pub(crate) reduction: Reduction,
    pub(crate) probe: Option<Probe>,
    pub(crate) stats: SenderStats,
    /// The integral of cwnd is complete up to this instant, ns.
    cwnd_since_ns: u64,
    pub(crate) board: Scoreboard,
    /// Recovery, CWR and Loss end when everything below this SSN is acknowledged.
    pub(crate) recover: u32,
    /// Serial number of the next ACK with SACK blocks, if none is lost.
    pub(crate) sack_serial: u32,
    /// Whether this recovery has used NextSeg rule 4.
    pub(crate) rescued: bool,
    pub(crate) undo: Option<Undo>,
    pub(crate) reo_wnd: RackReoWnd,
    /// State for a controller that owns the window; `None` for others.
    pub(crate) owned: Option<Box<Owned>>,
    /// Pacing holds the next segment until this instant, ns; 0: not held.
    pub(crate) held_until_ns: u64,
    /// The counters at the end of the warm-up.
    pub(crate) before: SenderStats,
    /// First DSN whose first copy leaves in the measured interval.
    pub(crate) measured_from: u32,
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
    /// A closed subflow. `window_end`: end of a TCP relay's window, SSN.
    pub(crate) fn new(
        id: SubflowId,
        first_hop: Hop,
        window_end: u32,
        transport: &Transport,
    ) -> Self {
        SubflowSender {
            id,
            phase: Phase::Closed,
            congestion: Congestion::Open,
            waiting: Waiting::Retransmission,
            rescued: false,
            cwr_pending: false,
            ecn: if transport.ecn { ECT } else { 0 },
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
            reo_wnd: RackReoWnd::default(),
            owned: None,
            held_until_ns: 0,
            stats: SenderStats::default(),
            before: SenderStats::default(),
            measured_from: 0,
        }
    }

    /// Begins a new subflow on the path. It resets all transport state except the timer, the
    /// counters, and the instants since which they count.
    pub(crate) fn renew(&mut self, id: SubflowId, window_end: u32, transport: &Transport) {
        *self = SubflowSender {
            timer: self.timer,
            last_send_ns: self.last_send_ns,
            cwnd_since_ns: self.cwnd_since_ns,
            stats: self.stats,
            before: self.before,
            ecn: self.ecn,
            owned: self.owned.take().map(Owned::renewed),
            ..Self::new(id, self.first_hop, window_end, transport)
        };
    }

    /// Ends the handshake: clears its timer and starts the statistics.
    pub(crate) fn establish(&mut self, now_ns: u64) {
        self.timer.clear();
        (self.cwnd_since_ns, self.last_send_ns) = (now_ns, now_ns);
    }

    /// Adds cwnd × time to the statistics; cwnd has been `cwnd` packets since its last change.
    #[inline]
    pub(crate) fn integrate_cwnd(&mut self, cwnd: u32, now_ns: u64) {
        let since_ns = std::mem::replace(&mut self.cwnd_since_ns, now_ns);
        self.stats.cwnd_ns += u128::from(u64::from(cwnd) * (now_ns - since_ns));
    }

    /// Whether it is in Recovery or Loss.
    #[inline]
    pub(crate) fn is_recovering(&self) -> bool {
        matches!(self.congestion, Congestion::Recovery | Congestion::Loss)
    }

    /// Whether a loss or a mark is reducing its window.
    #[inline]
    pub(crate) fn is_reducing(&self) -> bool {
        self.congestion.is_reducing()
    }
}
