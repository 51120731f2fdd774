//! State of one subflow: both of its ends.
//!
//! ```text
//!  CLOSED ──open──► SYN_SENT ──SYN/ACK──► CONFIRMING ──third (fourth) packet──► ESTABLISHED ──retries──► DEAD
//!    ▲                                                                              │ the selector closes it
//!    └───────────────────── everything acknowledged, or a timeout ────── CLOSING ◄──┘
//! ```

use joulepath_model::scenario::Transport;

use crate::event::LazyTimer;
use crate::network::Route;
use crate::packet::Tick;
use crate::reassembly::SubflowReceiver;
use crate::relay::Relay;
use crate::rtt::{RtoBounds, RttEstimator};
use crate::scoreboard::Scoreboard;

/// Life of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    /// The device has sent its SYN.
    SynSent,
    /// The device has the SYN/ACK; the sender of data may not send yet.
    Confirming,
    Established,
    /// Repeats what is lost, takes nothing new.
    Closing,
    /// Given up, or the connection is done.
    Dead,
}

/// Congestion state of the sender, with the names of RFC 6675 and Linux.
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

/// What the timer of a sender waits for; one timer for all, as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The RTO (RFC 6298), or the next try of a handshake.
    Retransmission,
    /// The tail of a flight is probed (RFC 8985, section 7).
    Probe,
    /// A segment that was overtaken is given up (RFC 8985, section 6.2).
    Reordering,
}

/// Proportional rate reduction since the latest reduction began, packets (RFC 9937).
#[derive(Clone, Copy, Default)]
pub(crate) struct Reduction {
    /// Window before (RecoverFS; Linux takes the window).
    pub(crate) prior_cwnd: u32,
    /// prr_delivered.
    pub(crate) delivered: u32,
    /// prr_out.
    pub(crate) out: u32,
}

/// A tail loss probe that no ACK has answered.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    /// Everything sent before it ends here.
    pub(crate) end: u32,
    /// When it left, if it was a retransmission.
    pub(crate) copied_at: Option<Tick>,
}

/// What a run reports of a subflow.
#[derive(Clone, Copy, Default)]
pub(crate) struct SubflowStats {
    pub(crate) segments: u64,
    /// Segments sent again on this subflow.
    pub(crate) retransmissions: u64,
    /// Segments that another subflow had carried before.
    pub(crate) reinjections: u64,
    pub(crate) timeouts: u64,
    pub(crate) loss_events: u64,
    /// Payload whose first copy came this way, bytes.
    pub(crate) first_copy_bytes: u64,
    pub(crate) rtt_samples: u64,
    pub(crate) rtt_sum_ns: u64,
    /// Integral of cwnd over time, packets × ns.
    pub(crate) cwnd_ns: u128,
}

/// One subflow, sender and receiver of data side by side.
pub(crate) struct Subflow {
    /// Index of the connection.
    pub(crate) connection: u32,
    /// Index within the connection.
    pub(crate) local: u8,
    /// Index of the scenario's path; none for competitors.
    pub(crate) path: Option<u16>,
    /// Index of the interface in the device's meter.
    pub(crate) interface: u8,
    pub(crate) phase: Phase,
    pub(crate) congestion: Congestion,
    /// The radio is certainly awake until here, and the meter need not hear of a packet at once, ns.
    pub(crate) awake_until_ns: u64,
    /// How long that lasts behind a packet, ns (see `DeviceMeter::patience`).
    pub(crate) patience_ns: u64,
    /// Bytes that the meter has not heard of: received and sent by the device.
    pub(crate) unmetered: [u64; 2],
    /// By how much the bytes count: every host that relays burns, too.
    pub(crate) crossings: u32,
    /// When the last of them passed the interface, ns.
    pub(crate) last_packet_ns: u64,
    /// The link next to the device, on the route of the data and on that of the ACKs.
    pub(crate) radio: (u32, u32),
    /// Where data travels.
    pub(crate) data_route: Route,
    /// Where ACKs travel.
    pub(crate) ack_route: Route,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: RttEstimator,
    /// Recovery, CWR and Loss end when everything below is acknowledged.
    pub(crate) recover: u32,
    /// NextSeg rule 4 has been used in this recovery.
    pub(crate) rescued: bool,
    pub(crate) reduction: Reduction,
    pub(crate) probe: Option<Probe>,
    /// What `rto` stands for.
    pub(crate) waiting: Waiting,
    /// The next data segment tells the receiver that the window was reduced.
    pub(crate) cwr_pending: bool,
    /// Serial number expected of the next ACK with SACK blocks.
    pub(crate) sack_serial: u32,
    pub(crate) last_send_ns: u64,
    /// cwnd has been integrated up to here, ns.
    pub(crate) cwnd_since_ns: u64,
    /// Retransmission of data, or of the handshake while that lasts; see [`Waiting`].
    pub(crate) rto: LazyTimer,
    pub(crate) receiver: SubflowReceiver,
    /// The receiver sits there, if the subflow ends before the device.
    pub(crate) relay: Option<Box<Relay>>,
    /// First SSN that the relay has no room for.
    pub(crate) window_end: u32,
    pub(crate) delayed_ack: LazyTimer,
    /// The subflow opens at this instant, once the connection allows it.
    pub(crate) opens_at_ns: u64,
    pub(crate) handshake_tries: u32,
    /// The policy wants it; it opens once the connection allows it.
    pub(crate) wanted: bool,
    /// Counts the subflows that the path has had; packets of earlier ones are nobody's.
    pub(crate) epoch: u8,
    /// Until then a wish of the selector may still be on its way, ns.
    pub(crate) asked_until_ns: u64,
    pub(crate) stats: SubflowStats,
    /// What had been counted at the end of the warm-up.
    pub(crate) before: SubflowStats,
}

/// Where a subflow runs.
#[derive(Clone, Copy)]
pub(crate) struct Placement {
    pub(crate) connection: u32,
    pub(crate) local: u8,
    pub(crate) path: Option<u16>,
    pub(crate) interface: u8,
    pub(crate) data_route: Route,
    pub(crate) ack_route: Route,
    pub(crate) radio: (u32, u32),
    /// How late the meter may hear of a packet, ns; none without a meter.
    pub(crate) patience_ns: Option<u64>,
    /// Hosts whose interfaces each packet enters or leaves, the two ends counting as one.
    pub(crate) crossings: u32,
    pub(crate) opens_at_ns: u64,
}

fn bounds(transport: &Transport) -> RtoBounds {
    RtoBounds {
        initial_ns: transport.rto_initial.0,
        min_ns: transport.rto_min.0,
        max_ns: transport.rto_max.0,
    }
}

impl Subflow {
    pub(crate) fn new(place: Placement, transport: &Transport) -> Self {
        Subflow {
            connection: place.connection,
            local: place.local,
            path: place.path,
            interface: place.interface,
            phase: Phase::Closed,
            congestion: Congestion::Open,
            awake_until_ns: if place.patience_ns.is_some() { 0 } else { u64::MAX },
            patience_ns: place.patience_ns.unwrap_or(u64::MAX),
            unmetered: [0; 2],
            crossings: place.crossings,
            last_packet_ns: 0,
            radio: place.radio,
            data_route: place.data_route,
            ack_route: place.ack_route,
            board: Scoreboard::new(transport.dup_threshold as usize),
            rtt: RttEstimator::new(bounds(transport)),
            recover: 0,
            rescued: false,
            reduction: Reduction::default(),
            probe: None,
            waiting: Waiting::Retransmission,
            cwr_pending: false,
            sack_serial: 0,
            last_send_ns: 0,
            cwnd_since_ns: 0,
            rto: LazyTimer::new(),
            receiver: SubflowReceiver::new(),
            relay: None,
            window_end: u32::MAX,
            delayed_ack: LazyTimer::new(),
            opens_at_ns: place.opens_at_ns,
            handshake_tries: 0,
            wanted: true,
            epoch: 0,
            asked_until_ns: 0,
            stats: SubflowStats::default(),
            before: SubflowStats::default(),
        }
    }

    /// The path gets a new subflow: nothing of the transport survives, what was counted does.
    pub(crate) fn renew(&mut self, transport: &Transport) {
        self.phase = Phase::Closed;
        self.congestion = Congestion::Open;
        self.board = Scoreboard::new(transport.dup_threshold as usize);
        self.rtt = RttEstimator::new(bounds(transport));
        self.receiver = SubflowReceiver::new();
        (self.recover, self.rescued, self.cwr_pending) = (0, false, false);
        (self.reduction, self.probe, self.waiting) = (Reduction::default(), None, Waiting::Retransmission);
        (self.sack_serial, self.handshake_tries) = (0, 0);
        self.asked_until_ns = 0;
        if let Some(relay) = &mut self.relay {
            self.window_end = relay.first_window();
        }
        self.epoch = self.epoch.wrapping_add(1);
        self.wanted = true;
    }

    /// cwnd was `cwnd` packets since it last changed: adds cwnd × time to the statistics.
    #[inline]
    pub(crate) fn integrate_cwnd(&mut self, cwnd: u32, now_ns: u64) {
        let since_ns = std::mem::replace(&mut self.cwnd_since_ns, now_ns);
        self.stats.cwnd_ns += u128::from(u64::from(cwnd) * (now_ns - since_ns));
    }
}
