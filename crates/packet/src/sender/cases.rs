//! The cases for which [`SubflowSender::take_ack`] is compiled.

use super::connection::SenderEnd;
use super::subflow::{Congestion, SubflowSender};
use crate::connection::context::{Clock, Context};
use crate::connection::subflow::Phase;
use crate::path::packet::{ECE, Packet, Usual};
use crate::run::config::Config;

/// What the caller of [`SubflowSender::take_ack`] knows about an ACK, and the borrows that the call
/// needs.
pub(crate) trait AckCase<'a> {
    /// Nothing is known. If false, the controller is not hosted, and either `IN_ORDER` holds, or
    /// the ACK has no ECE, the recovery is RACK, and the subflow is in Open or Recovery without a
    /// probe.
    const IS_GENERAL: bool;
    /// The ACK is for new data and has no ECE and no blocks, and the subflow [is
    /// plain](SubflowSender::is_plain).
    const IN_ORDER: bool;
    /// Whether the controller owns the window; `None` if unknown.
    const OWNS_WINDOW: Option<bool>;

    fn config(&self) -> &'a Config;
    fn now_ns(&self) -> u64;
    fn clock(&mut self) -> Clock<'_>;
    /// Retransmits segment `ssn` at once; only the general case needs this.
    fn retransmit(&mut self, subflow: &mut SubflowSender, end: &mut SenderEnd, ssn: u32);
}

/// Any ACK, for subflow `i` of its connection.
pub(super) struct General<'c, 'a> {
    pub(super) cx: &'c mut Context<'a>,
    pub(super) i: usize,
}

/// An ACK of a known case, with the clock of the subflow.
pub(crate) struct Known<'a, const IN_ORDER: bool, const OWNS_WINDOW: bool> {
    pub(crate) clock: Clock<'a>,
}

/// An ACK in order on a plain subflow.
pub(crate) type InOrder<'a, const OWNS_WINDOW: bool> = Known<'a, true, OWNS_WINDOW>;

/// An ACK for which [`SubflowSender::may_have_gaps`] holds, with RACK and a controller that does
/// not own the window.
pub(crate) type WithGaps<'a> = Known<'a, false, false>;

impl<'a> AckCase<'a> for General<'_, 'a> {
    const IS_GENERAL: bool = true;
    const IN_ORDER: bool = false;
    const OWNS_WINDOW: Option<bool> = None;

    #[inline(always)]
    fn config(&self) -> &'a Config {
        self.cx.config
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.cx.now_ns
    }

    #[inline(always)]
    fn clock(&mut self) -> Clock<'_> {
        self.cx.clock(self.i)
    }

    fn retransmit(&mut self, subflow: &mut SubflowSender, end: &mut SenderEnd, ssn: u32) {
        subflow.retransmit(self.cx, end, ssn);
    }
}

impl<'a, const IN_ORDER: bool, const OWNS_WINDOW: bool> AckCase<'a>
    for Known<'a, IN_ORDER, OWNS_WINDOW>
{
    const IS_GENERAL: bool = false;
    const IN_ORDER: bool = IN_ORDER;
    const OWNS_WINDOW: Option<bool> = Some(OWNS_WINDOW);

    #[inline(always)]
    fn config(&self) -> &'a Config {
        self.clock.config
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns
    }

    #[inline(always)]
    fn clock(&mut self) -> Clock<'_> {
        self.clock.reborrow()
    }

    fn retransmit(&mut self, _: &mut SubflowSender, _: &mut SenderEnd, _: u32) {
        debug_assert!(
            false,
            "RACK retransmits what the window admits, after the ACK"
        );
    }
}

impl SubflowSender {
    /// Whether the subflow is established and not in recovery, in a window reduction, or probing.
    pub(crate) fn is_plain(&self) -> bool {
        self.phase == Phase::Established
            && self.congestion == Congestion::Open
            && self.probe.is_none()
            && self.board.is_plain()
    }

    /// Whether an ACK is for new data, has no ECE and no blocks, and the subflow [is
    /// plain](Self::is_plain).
    #[inline(always)]
    pub(crate) fn takes_plainly(&mut self, packet: &Packet) -> bool {
        let is_usual = packet.is_usual_ack(self.usual) || self.becomes_plain(packet);
        if !is_usual {
            return false;
        }
        debug_assert!(self.is_plain() && packet.epoch() == self.id.epoch);
        debug_assert!(packet.aux() == 0 && packet.flags() & ECE == 0);
        packet.ssn() > self.board.una() && packet.ssn() <= self.board.next()
    }

    /// Recomputes the pattern of usual ACKs and compares an ACK with it.
    #[inline(never)]
    fn becomes_plain(&mut self, packet: &Packet) -> bool {
        self.usual = if self.is_plain() {
            Packet::usual(self.id.epoch)
        } else {
            Usual::NONE
        };
        packet.is_usual_ack(self.usual)
    }

    /// Whether an ACK has no ECE and the subflow is in Open or Recovery without a probe.
    #[inline(always)]
    pub(crate) fn may_have_gaps(&self, packet: &Packet) -> bool {
        packet.epoch() == self.id.epoch
            && packet.flags() & ECE == 0
            && packet.ssn() <= self.board.next()
            && self.phase == Phase::Established
            && matches!(self.congestion, Congestion::Open | Congestion::Recovery)
            && self.probe.is_none()
    }
}
