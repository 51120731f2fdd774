//! The steps of a route.

use crate::event::{MAX_SOURCES, SOURCE_BITS};
use crate::path::host::End;

/// What a packet enters next on its route: a link or a station. A link that is the last hop also
/// holds the end of the subflow to which it leads. A hop is half a word, so that a whole route fits
/// into half a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

/// The number of the link or station.
const NUMBER: u32 = MAX_SOURCES as u32 - 1;
/// The hop is a station.
const STATION: u32 = 1 << SOURCE_BITS;
/// The radio of the subflow's device is at one end of the link. It may sleep.
const RADIO: u32 = STATION << 1;
/// The link leads to an end of the subflow.
const LAST: u32 = RADIO << 1;
/// The end is the sender.
const TO_SENDER: u32 = LAST << 1;
/// The link leads to another part of the network.
const CROSSING: u32 = TO_SENDER << 1;
/// The link has more than a packet queue, a constant rate, a constant delay and random loss.
const MODELLED: u32 = CROSSING << 1;
/// No hop: the packet has arrived.
const NONE: u32 = MODELLED << 1;

impl Hop {
    /// A link with hops after it. [`Self::leading_to`] makes it the last hop.
    pub(crate) const fn over(link: usize) -> Self {
        // The builder refuses a network with more links.
        Hop(link as u32 & NUMBER)
    }

    /// A link with the radio of the subflow's device at one end.
    pub(crate) fn at_radio(link: usize) -> Self {
        Hop(Self::over(link).0 | RADIO)
    }

    pub(crate) fn station(number: usize) -> Self {
        Hop(Self::over(number).0 | STATION)
    }

    /// The same link as the last hop of a route to `end`. A station is returned unchanged.
    pub(crate) fn leading_to(self, end: End) -> Self {
        match end {
            _ if self.is_station() => self,
            End::Receiver => Hop(self.0 | LAST),
            End::Sender => Hop(self.0 | LAST | TO_SENDER),
        }
    }

    /// The same link, leading to another part of the network.
    pub(crate) fn crossing(self) -> Self {
        Hop(self.0 | CROSSING)
    }

    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        self.0 & NUMBER
    }

    #[inline(always)]
    pub(crate) fn is_station(self) -> bool {
        self.0 & STATION != 0
    }

    /// The same link, marked as [not plain](joulepath_link::Link::is_plain).
    pub(crate) fn modelled(self) -> Self {
        Hop(self.0 | MODELLED)
    }

    /// Comes after the last hop.
    pub(crate) const NONE: Self = Hop(NONE);

    /// False for [`Self::NONE`].
    #[inline(always)]
    pub(crate) fn is_some(self) -> bool {
        self.0 & NONE == 0
    }

    /// Whether it is a plain link with both ends in this part of the network.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (STATION | CROSSING | MODELLED | NONE) == 0
    }

    /// Whether the radio of the subflow's device is at one end of the link.
    #[inline(always)]
    pub(crate) fn is_at_radio(self) -> bool {
        self.0 & RADIO != 0
    }

    /// Whether it leads to an end of the subflow.
    #[inline(always)]
    pub(crate) fn is_last(self) -> bool {
        self.0 & LAST != 0
    }

    /// Whether the far end of the link is in another part of the network.
    #[inline(always)]
    pub(crate) fn is_crossing(self) -> bool {
        self.0 & CROSSING != 0
    }

    /// The end to which a last hop leads.
    #[inline(always)]
    pub(crate) fn end(self) -> End {
        if self.0 & TO_SENDER != 0 {
            End::Sender
        } else {
            End::Receiver
        }
    }

    /// Its link; `None` for a station.
    pub(crate) fn link(self) -> Option<usize> {
        (!self.is_station()).then_some(self.number() as usize)
    }
}
