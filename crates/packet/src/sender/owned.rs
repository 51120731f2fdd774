//! State for a controller that owns a subflow's window: the kernel's rate samples and pacing.
//!
//! **Rate samples** follow `tcp_rate.c` (draft-cheng-iccrg-delivery-rate-estimation): each segment
//! records how much had been delivered when it left. When it is delivered, the difference, over the
//! longer of the send interval and the ACK interval, is a sample.
//!
//! **Pacing** is TCP's internal pacing (`tcp_pacing_check`, `tcp_update_skb_after_send`): each
//! segment moves the instant of the next departure by its payload over the rate. Segments leave in
//! bursts of the size of a kernel buffer: what the rate carries in 2⁻¹⁰ s, at least two segments
//! and at most 64 KiB (`tcp_tso_autosize`, `sk_pacing_shift`). A late sender gets back up to half
//! of a segment's time. The first ten segments of a subflow leave without pacing.
//!
//! Deviation: no segment holds the next one for longer than a second, so that a rate near 0 does
//! not stall the connection.

use joulepath_controllers::{AckFlags, Area, Capability, Controller, Event};
use joulepath_link::circular::Circular;

use super::rtt::saturated_us;
use crate::event::{EventQueue, LazyTimer, Source};
use crate::path::packet::Stamp;

/// `sk_pacing_shift`: a burst is what the rate carries in 2⁻¹⁰ s.
const PACING_SHIFT: u32 = 10;
/// `tcp_min_tso_segs`, segments.
const LEAST_BURST: u64 = 2;
/// `GSO_LEGACY_MAX_SIZE`, bytes.
const MOST_BURST_BYTES: u64 = 65_536;
/// The segment with which pacing starts (`tp->data_segs_out >= 10`).
const FIRST_PACED: u32 = 10;
/// Longest time for which one segment holds the next, ns.
const LONGEST_HOLD_NS: u64 = 1_000_000_000;

/// The state that a segment records when it leaves (`tcp_skb_cb.tx`).
#[derive(Clone, Copy, Default)]
struct Departure {
    /// When the latest delivery became known, ns.
    delivered_at_ns: u64,
    /// When the segment of that delivery left, ns.
    first_sent_ns: u64,
    /// Segments delivered by then.
    delivered: u32,
    /// Whether there was no more data to send.
    app_limited: bool,
}

/// The sample of one ACK (`struct rate_sample`).
#[derive(Clone, Copy, Default)]
struct Sample {
    departure: Departure,
    /// Departure time, ns, and number of the latest segment that the ACK covers.
    latest: Option<(u64, u32)>,
    /// Time from `departure.first_sent_ns` to `latest`, ns.
    send_ns: u64,
}

/// A segment that leaves a paced subflow.
pub(super) struct Paced {
    /// Its payload.
    pub(super) bytes: u64,
    /// Bytes per second.
    pub(super) rate: u64,
    /// Payload of a full segment, bytes.
    pub(super) mss: u64,
}

/// State of a subflow whose controller owns the window.
pub(crate) struct Owned {
    pub(super) area: Area,
    /// Timer of the next departure.
    pub(super) timer: LazyTimer,
    /// When the next segment may leave, ns.
    release_ns: u64,
    /// Segments that may still leave in this burst.
    burst: u32,
    /// Segments that left, retransmissions included; counted up to `FIRST_PACED`.
    left: u32,
    /// Whether the receiver echoes each mark separately.
    pub(super) each_mark: bool,
    /// Whether a mark called for a reduction since the last event.
    pub(super) marked: bool,
    /// Flags for the next event.
    pub(super) flags: AckFlags,
    /// Segments delivered since the start (`tcp_sock.delivered`).
    pub(super) delivered: u32,
    /// When the latest of them became known, ns.
    delivered_at_ns: u64,
    /// When the latest segment of a sample left, ns (`first_tx_mstamp`).
    pub(super) first_sent_ns: u64,
    /// Samples are application-limited until this many segments are delivered; 0: they are not.
    pub(super) app_limited: u32,
    /// The RTT round ends with a segment that left after this many deliveries.
    round: u32,
    /// Losses reported to the controller.
    pub(super) told_lost: u32,
    /// By SSN, as in the scoreboard.
    departures: Circular<Departure>,
    sample: Sample,
}

impl Owned {
    pub(super) fn new(each_mark: bool) -> Self {
        Owned {
            area: Area::default(),
            timer: LazyTimer::new(),
            release_ns: 0,
            burst: 0,
            left: 0,
            each_mark,
            marked: false,
            flags: AckFlags::NONE,
            delivered: 0,
            delivered_at_ns: 0,
            first_sent_ns: 0,
            app_limited: 0,
            round: 0,
            told_lost: 0,
            departures: Circular::new(64),
            sample: Sample::default(),
        }
    }

    /// Whether the departure timer expires now.
    pub(crate) fn timer_fires(
        &mut self,
        now_ns: u64,
        source: Source,
        queue: &mut EventQueue,
    ) -> bool {
        self.timer.fires(now_ns, source, queue)
    }

    /// Resets everything from the path's previous subflow except the timer's event.
    pub(super) fn renewed(mut self: Box<Self>) -> Box<Self> {
        let (mut timer, departures) = (self.timer, std::mem::take(&mut self.departures));
        timer.clear();
        *self = Owned {
            timer,
            departures,
            ..Owned::new(self.each_mark)
        };
        self
    }

    /// Adds flags to the next event.
    pub(super) fn note(&mut self, flags: AckFlags) {
        self.flags = self.flags | flags;
    }

    /// Records that a mark calls for a reduction.
    pub(super) fn note_mark(&mut self) {
        self.marked = true;
    }

    /// Records the departure of segment `ssn` (`tcp_rate_skb_sent`); `first`: no other segment is
    /// outstanding.
    pub(super) fn departs(&mut self, ssn: u32, room: u32, first: bool, now_ns: u64) {
        if first {
            (self.first_sent_ns, self.delivered_at_ns) = (now_ns, now_ns);
        }
        if self.departures.places() < room {
            self.departures
                .grow(room, ssn.wrapping_sub(self.departures.places()));
        }
        self.departures[ssn] = Departure {
            delivered_at_ns: self.delivered_at_ns,
            first_sent_ns: self.first_sent_ns,
            delivered: self.delivered,
            app_limited: self.app_limited != 0,
        };
    }

    /// Records the delivery of segment `ssn`, whose latest copy left at `sent`
    /// (`tcp_rate_skb_delivered`).
    pub(super) fn arrives(&mut self, ssn: u32, sent: Stamp) {
        let sent_ns = sent.since_start_ns();
        let departure = self.departures[ssn];
        if self
            .sample
            .latest
            .is_none_or(|latest| (sent_ns, ssn) > latest)
        {
            let send_ns = sent_ns.saturating_sub(departure.first_sent_ns);
            self.sample = Sample {
                departure,
                latest: Some((sent_ns, ssn)),
                send_ns,
            };
            self.first_sent_ns = sent_ns;
        }
    }

    /// The sample of an ACK for `acked` segments, as part of an event (`tcp_rate_gen`).
    pub(super) fn take_sample(&mut self, acked: u32, least_rtt_us: u32, now_ns: u64) -> Event {
        self.delivered = self.delivered.wrapping_add(acked);
        if self.app_limited != 0 && self.delivered.wrapping_sub(self.app_limited).cast_signed() > 0
        {
            self.app_limited = 0;
        }
        if acked > 0 {
            self.delivered_at_ns = now_ns;
        }
        let Sample {
            departure,
            latest,
            send_ns,
        } = std::mem::take(&mut self.sample);
        let mut event = Event {
            acked,
            total_delivered: self.delivered,
            ..Event::default()
        };
        if latest.is_none() {
            return event;
        }
        event.prior_delivered = departure.delivered;
        let interval_ns = send_ns.max(now_ns - departure.delivered_at_ns);
        // A shorter interval comes from ACKs that were delayed and arrived together.
        let interval_us = saturated_us(interval_ns);
        if interval_us >= least_rtt_us {
            event.delivered = self.delivered.wrapping_sub(departure.delivered);
            event.interval_us = interval_us;
            event.flags = event
                .flags
                .with(AckFlags::APP_LIMITED, departure.app_limited);
        }
        if self.round.wrapping_sub(departure.delivered).cast_signed() <= 0 {
            self.round = self.delivered;
            event.flags = event.flags | AckFlags::ROUND_END;
        }
        event
    }

    /// Records the departure of a segment. Returns until when the next segment is held, ns (0: not
    /// held).
    pub(super) fn pace(&mut self, departure: Paced, now_ns: u64) -> u64 {
        let Paced { bytes, rate, mss } = departure;
        if self.left + 1 < FIRST_PACED {
            self.left += 1;
            return 0;
        }
        if self.burst == 0 {
            let segments = (rate >> PACING_SHIFT).min(MOST_BURST_BYTES) / mss;
            self.burst = segments.max(LEAST_BURST) as u32;
        }
        self.burst -= 1;
        let length_ns = (bytes * 1_000_000_000 / rate).min(LONGEST_HOLD_NS);
        let late_ns = now_ns.saturating_sub(self.release_ns);
        self.release_ns = self.release_ns.max(now_ns) + length_ns - late_ns.min(length_ns / 2);
        if self.burst > 0 { 0 } else { self.release_ns }
    }
}

/// State for a controller that owns the window; `None` for other controllers.
pub(crate) fn owned(controller: Controller) -> Option<Box<Owned>> {
    let has = |capability| controller.has(capability);
    has(Capability::OwnsWindow).then(|| Box::new(Owned::new(has(Capability::ReadsMarks))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Four segments leave at 0, 10, 20 and 30 ms, and each is acknowledged 100 ms later. Nothing
    /// had been delivered when the last one left, so its ACK gives 4 segments over the longer of
    /// the send interval, 30 − 0 ms, and the ACK interval, 130 − 0 ms.
    #[test]
    fn a_rate_sample_uses_the_longer_of_send_and_ack_interval() {
        let mut owned = Owned::new(false);
        for ssn in 0..4 {
            owned.departs(ssn, 64, ssn == 0, u64::from(ssn) * 10 * MS);
        }
        let mut last = Event::default();
        for ssn in 0..4 {
            owned.arrives(ssn, Stamp::at(u64::from(ssn) * 10 * MS));
            last = owned.take_sample(1, 100_000, (u64::from(ssn) * 10 + 100) * MS);
        }
        assert_eq!(
            (last.delivered, last.interval_us, last.total_delivered),
            (4, 130_000, 4)
        );
        assert!(!last.flags.has(AckFlags::APP_LIMITED));
        // the next flight: two segments at 130 and 131 ms; their ACKs arrive together at 231 ms
        owned.departs(4, 64, false, 130 * MS);
        owned.departs(5, 64, false, 131 * MS);
        owned.arrives(4, Stamp::at(130 * MS));
        owned.arrives(5, Stamp::at(131 * MS));
        let event = owned.take_sample(2, 100_000, 231 * MS);
        // 2 delivered since 4 were at 130 ms: send interval 131 − 30 = 101 ms, ACK interval 231 −
        // 130 = 101 ms
        assert_eq!(
            (event.delivered, event.interval_us, event.prior_delivered),
            (2, 101_000, 4)
        );
    }

    /// Two ACKs within 1 ms cannot give a rate where the minimum RTT is 100 ms.
    #[test]
    fn an_interval_below_the_minimum_rtt_gives_no_rate() {
        let mut owned = Owned::new(false);
        owned.departs(0, 64, true, 5 * MS);
        owned.arrives(0, Stamp::at(5 * MS));
        let event = owned.take_sample(1, 100_000, 6 * MS);
        assert_eq!((event.interval_us, event.delivered, event.acked), (0, 0, 1));
    }

    #[test]
    fn a_round_ends_with_a_segment_sent_after_the_previous_round() {
        let mut owned = Owned::new(false);
        let ends = |owned: &mut Owned, ssn: u32, at: u64| {
            owned.arrives(ssn, Stamp::at(u64::from(ssn) * MS));
            owned
                .take_sample(1, 1, at * MS)
                .flags
                .has(AckFlags::ROUND_END)
        };
        (0..3).for_each(|ssn| owned.departs(ssn, 64, ssn == 0, u64::from(ssn) * MS));
        assert!(ends(&mut owned, 0, 100), "the first ACK ends a round");
        owned.departs(3, 64, false, 3 * MS);
        assert!(
            !ends(&mut owned, 1, 101) && !ends(&mut owned, 2, 102),
            "they left before it"
        );
        assert!(ends(&mut owned, 3, 103), "it left after one delivery");
    }

    /// A subflow that has sent the segments that leave without pacing.
    fn paced() -> Owned {
        Owned {
            left: FIRST_PACED - 1,
            ..Owned::new(false)
        }
    }

    /// A segment of 1000 bytes leaves.
    fn leaves(owned: &mut Owned, rate: u64, now_ns: u64) -> u64 {
        owned.pace(
            Paced {
                bytes: 1_000,
                rate,
                mss: 1_000,
            },
            now_ns,
        )
    }

    /// At 1 byte/s the tenth segment begins a burst of two, which holds the twelfth.
    #[test]
    fn the_first_ten_segments_are_not_paced() {
        let mut owned = Owned::new(false);
        assert!((0..10).all(|_| leaves(&mut owned, 1, MS) == 0));
        assert!(leaves(&mut owned, 1, MS) > MS);
    }

    /// 1 MB/s: 1000 bytes take 1 ms. A burst has max(1 MB/s / 1024, 2 segments) = 2 segments.
    #[test]
    fn segments_leave_in_bursts_at_the_pacing_rate() {
        let mut owned = paced();
        assert_eq!(
            leaves(&mut owned, 1_000_000, 10 * MS),
            0,
            "one more may leave"
        );
        // 1 ms each; half of the first one's time, because nothing was held before
        assert_eq!(
            leaves(&mut owned, 1_000_000, 10 * MS),
            10 * MS + MS / 2 + MS
        );
        let release = 11 * MS + MS / 2;
        assert_eq!(leaves(&mut owned, 1_000_000, release), 0);
        assert_eq!(leaves(&mut owned, 1_000_000, release), release + 2 * MS);
        // 100 MB/s: 2⁻¹⁰ s carry 97 segments, but 64 KiB are 65
        let burst = |rate| {
            let mut owned = paced();
            (1..).find(|_| leaves(&mut owned, rate, MS) != 0).unwrap()
        };
        assert_eq!([burst(10_000_000), burst(100_000_000)], [9, 65]);
    }

    /// A rate of 1 byte/s would hold a segment of 1000 bytes for 17 minutes.
    #[test]
    fn no_segment_is_held_for_more_than_a_second() {
        let mut owned = paced();
        owned.release_ns = 5 * MS;
        leaves(&mut owned, 1, 5 * MS);
        assert_eq!(leaves(&mut owned, 1, 5 * MS), 5 * MS + 2 * LONGEST_HOLD_NS);
    }

    #[test]
    fn the_next_subflow_of_a_path_takes_over_the_pending_event() {
        let (mut owned, mut queue) = (Box::new(Owned::new(false)), EventQueue::heap());
        owned.timer.set(10, 0, &mut queue);
        let mut owned = owned.renewed();
        owned.timer.set(20, 0, &mut queue);
        queue.pop();
        assert_eq!(queue.peek(), None);
        assert!(!owned.timer_fires(10, 0, &mut queue));
        assert_eq!(queue.peek(), Some((20, 0)));
    }

    /// Records of all outstanding segments, including the oldest, keep their place.
    #[test]
    fn records_survive_growth() {
        let mut owned = Owned::new(false);
        for ssn in 0..=64 {
            owned.delivered = 1_000 + ssn;
            owned.departs(ssn, if ssn < 64 { 64 } else { 128 }, false, u64::from(ssn));
        }
        assert_eq!(owned.departures.places(), 128);
        assert!((0..=64).all(|ssn| owned.departures[ssn].delivered == 1_000 + ssn));
    }
}
