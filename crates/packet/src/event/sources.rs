use crate::event::Source;

/// The numbers of the event sources, in this order: links, two timers per subflow, five timers per
/// connection, cross traffic, channels, links that hold packets, departures of paced subflows,
/// single timers.
#[derive(Clone, Copy)]
pub(crate) struct Sources {
    subflows: Source,
    connections: Source,
    cross: Source,
    channels: Source,
    held: Source,
    releases: Source,
    marks: Source,
}

/// Number of parts of each kind that have events.
pub(crate) struct Counts {
    pub(crate) links: usize,
    pub(crate) subflows: usize,
    pub(crate) connections: usize,
    pub(crate) cross: usize,
    pub(crate) channels: usize,
    /// Links that hold packets.
    pub(crate) held: usize,
    /// Subflows with a departure timer.
    pub(crate) paced: usize,
}

const SUBFLOW_TIMERS: u32 = 2;
const CONNECTION_TIMERS: u32 = 5;

/// The purpose of an event other than a link's, with the index of its subflow, connection, source
/// or channel.
pub(crate) enum Timer {
    Rto(usize),
    DelayedAck(usize),
    Application(usize),
    Control(usize),
    Look(usize),
    Slot(usize),
    Data(usize),
    Cross(usize),
    Channel(usize),
    Held(usize),
    Release(usize),
    WarmUp,
    Sample,
    Fabric,
    Queues,
}

impl Sources {
    pub(crate) fn new(counts: &Counts) -> Self {
        let &Counts {
            links,
            subflows,
            connections,
            cross,
            channels,
            held,
            paced,
        } = counts;
        let subflows_at = links as u32;
        let connections_at = subflows_at + SUBFLOW_TIMERS * subflows as u32;
        let cross_at = connections_at + CONNECTION_TIMERS * connections as u32;
        Sources {
            subflows: subflows_at,
            connections: connections_at,
            cross: cross_at,
            channels: cross_at + cross as u32,
            held: cross_at + (cross + channels) as u32,
            releases: cross_at + (cross + channels + held) as u32,
            marks: cross_at + (cross + channels + held + paced) as u32,
        }
    }

    /// Number of sources.
    pub(crate) fn count(self) -> usize {
        self.marks as usize + 4
    }

    #[inline]
    pub(crate) fn rto(self, subflow: usize) -> Source {
        self.subflows + SUBFLOW_TIMERS * subflow as u32
    }

    /// The subflow whose retransmission timer ([`rto`](Self::rto)) has this number, if any.
    #[inline]
    pub(crate) fn subflow_of_rto(self, source: Source) -> Option<usize> {
        let at = source - self.subflows;
        (source < self.connections && at.is_multiple_of(SUBFLOW_TIMERS))
            .then_some((at / SUBFLOW_TIMERS) as usize)
    }

    #[inline]
    pub(crate) fn delayed_ack(self, subflow: usize) -> Source {
        self.rto(subflow) + 1
    }

    pub(crate) fn application(self, connection: usize) -> Source {
        self.connections + CONNECTION_TIMERS * connection as u32
    }

    pub(crate) fn control(self, connection: usize) -> Source {
        self.application(connection) + 1
    }

    /// The selector of a connection.
    pub(crate) fn look(self, connection: usize) -> Source {
        self.application(connection) + 2
    }

    /// The retransmission timer of a connection's data level.
    pub(crate) fn data(self, connection: usize) -> Source {
        self.application(connection) + 4
    }

    /// The slots of a connection's allocator.
    pub(crate) fn slot(self, connection: usize) -> Source {
        self.application(connection) + 3
    }

    pub(crate) fn cross(self, index: usize) -> Source {
        self.cross + index as u32
    }

    pub(crate) fn channel(self, index: usize) -> Source {
        self.channels + index as u32
    }

    /// A link that holds packets; `index` counts only such links.
    pub(crate) fn held(self, index: usize) -> Source {
        self.held + index as u32
    }

    /// The next departure of a subflow whose controller owns the window.
    pub(crate) fn release(self, subflow: usize) -> Source {
        self.releases + subflow as u32
    }

    pub(crate) fn warm_up(self) -> Source {
        self.marks
    }

    pub(crate) fn sample(self) -> Source {
        self.marks + 1
    }

    /// A sample of a topology's switches.
    pub(crate) fn fabric(self) -> Source {
        self.marks + 2
    }

    /// A sample of the queues of all links.
    pub(crate) fn queues(self) -> Source {
        self.marks + 3
    }

    /// The purpose of an event of a source that is not a link.
    pub(crate) fn timer(self, source: Source) -> Timer {
        if source >= self.marks {
            match source - self.marks {
                0 => Timer::WarmUp,
                1 => Timer::Sample,
                2 => Timer::Fabric,
                _ => Timer::Queues,
            }
        } else if source >= self.releases {
            Timer::Release((source - self.releases) as usize)
        } else if source >= self.held {
            Timer::Held((source - self.held) as usize)
        } else if source >= self.channels {
            Timer::Channel((source - self.channels) as usize)
        } else if source >= self.cross {
            Timer::Cross((source - self.cross) as usize)
        } else if source >= self.connections {
            let offset = source - self.connections;
            let connection = (offset / CONNECTION_TIMERS) as usize;
            match offset % CONNECTION_TIMERS {
                0 => Timer::Application(connection),
                1 => Timer::Control(connection),
                2 => Timer::Look(connection),
                3 => Timer::Slot(connection),
                _ => Timer::Data(connection),
            }
        } else {
            let offset = source - self.subflows;
            let subflow = (offset / SUBFLOW_TIMERS) as usize;
            if offset % SUBFLOW_TIMERS == 1 {
                Timer::DelayedAck(subflow)
            } else {
                Timer::Rto(subflow)
            }
        }
    }
}
