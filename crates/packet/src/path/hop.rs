//! The steps of a route.

use crate::event::{MAX_SOURCES, SOURCE_BITS};
use crate::path::host::End;

/// What a packet enters next on its route: a link or a station. A link has the end of the subflow to which it
/// leads, if there is no hop after it. It is half a word, so that a whole route fits into half a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

/// The number of the link or station.
const NUMBER: u32 = MAX_SOURCES as u32 - 1;
/// It is a station.
const STATION: u32 = 1 << SOURCE_BITS;
/// At one end of the link is the radio of the subflow's device, which may sleep.
const RADIO: u32 = STATION << 1;
/// The link leads to an end of the subflow.
const LAST: u32 = RADIO << 1;
/// That end is the sending one.
const TO_SENDER: u32 = LAST << 1;
/// The link leads from one part of the network to another one.
const CROSSING: u32 = TO_SENDER << 1;
/// The link is more than a queue of packets, a constant rate, a constant delay and random loss.
const MODELLED: u32 = CROSSING << 1;
/// There is no hop: the packet has arrived.
const NONE: u32 = MODELLED << 1;

impl Hop {
    /// A link with hops after it. [`Self::leading_to`] makes it the last one.
    pub(crate) const fn over(link: usize) -> Self {
        // A network with more links is refused before it runs.
        Hop(link as u32 & NUMBER)
    }

    /// A link at one end of which is the radio of the subflow's device.
    pub(crate) fn at_radio(link: usize) -> Self {
        Hop(Self::over(link).0 | RADIO)
    }

    pub(crate) fn station(number: usize) -> Self {
        Hop(Self::over(number).0 | STATION)
    }

    /// The same link as the last hop of a route to `end`. A station stays as it is.
    pub(crate) fn leading_to(self, end: End) -> Self {
        match end {
            _ if self.is_station() => self,
            End::Receiver => Hop(self.0 | LAST),
            End::Sender => Hop(self.0 | LAST | TO_SENDER),
        }
    }

    /// The same link if it leads from one part of the network to another one.
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

    /// The same link if it [is not plain](joulepath_link::Link::is_plain).
    pub(crate) fn modelled(self) -> Self {
        Hop(self.0 | MODELLED)
    }

    /// What comes after the last hop.
    pub(crate) const NONE: Self = Hop(NONE);

    /// Whether it is a hop, and not what comes after the last one.
    #[inline(always)]
    pub(crate) fn is_some(self) -> bool {
        self.0 & NONE == 0
    }

    /// Whether it is a plain link both ends of which are in this part of the network.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (STATION | CROSSING | MODELLED | NONE) == 0
    }

    /// Whether it is a link at one end of which is the radio of the subflow's device.
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

    /// The end to which it leads if it is the last one.
    #[inline(always)]
    pub(crate) fn end(self) -> End {
        if self.0 & TO_SENDER != 0 { End::Sender } else { End::Receiver }
    }

    /// Its link, if it is one.
    pub(crate) fn link(self) -> Option<usize> {
        (!self.is_station()).then_some(self.number() as usize)
    }
}
