//! What every scheduler has to answer, and what it may leave as it is.

use joulepath_model::units::Nanos;

use super::rescue::Rescue;
use super::view::{Backlog, PathView, Placement};
use crate::energy::PathEnergy;
use crate::options::{OptionError, PartInfo};

/// How a scheduler deals with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The next segment, on a subflow with space.
    Plain,
    /// The next segment, perhaps on a subflow without space: it then waits in that subflow's own queue, and
    /// no other subflow takes it from there.
    Queues,
    /// Perhaps a later segment than the next.
    Places,
    /// Copies of what other subflows carry.
    Copies,
}

/// What a scheduler is and what it reads. The caller keeps up to date only what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// How it deals with data.
    pub style: Style,
    /// [`PacketScheduler::place`] looks at the backlog. If not, it is [`PacketScheduler::pick`].
    pub weighs_backlog: bool,
    /// It reads [`PathView::rtt`].
    pub watches_rtt: bool,
    /// It sends nothing before [`PacketScheduler::allot`] has been called.
    pub wants_allotment: bool,
}

impl Features {
    /// Whether [`PacketScheduler::pick`] may name a subflow without window space.
    #[inline]
    pub fn queues_ahead(self) -> bool {
        matches!(self.style, Style::Queues)
    }
}

/// A packet scheduler with its state: one per connection.
///
/// What has no default here each scheduler has to answer. Everything else is a hook that most have no use
/// for.
pub trait PacketScheduler: Sized {
    /// Its row in the registry: name, summary, options, source.
    const INFO: PartInfo;
    /// What it is and what it reads.
    const FEATURES: Features;
    /// Whether [`Self::pick`] changes nothing and, for a segment that no subflow has carried, names the only
    /// usable regular subflow with space if there is one, and none if no usable regular one has space. So it
    /// need not be asked then.
    const TAKES_THE_ONLY_CHOICE: bool = false;

    /// The scheduler before the first segment, with the defaults of its options. `mss_bytes` is the payload
    /// of a full segment.
    fn new(mss_bytes: u32) -> Self;

    /// The sender begins to hand out data, as it does after every event. `next_byte` is where the next new
    /// segment begins in the connection's data; `window_bytes` is what the receiver's window still admits.
    fn begin(&mut self, _next_byte: u64, _window_bytes: u64) {}

    /// The instant of the next [`Self::pick`]; [`Self::place`] is told it by its backlog.
    fn at(&mut self, _now: Nanos) {}

    /// The subflow for a segment that those in the mask `carried` have carried already; `None` if it has to
    /// wait.
    ///
    /// `Some` is a commitment: the caller hands the segment of `segment_bytes` to that subflow.
    fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize>;

    /// The subflow for new data and which segment; `None` if nothing may be sent now.
    ///
    /// `Some` is a commitment, as in [`Self::pick`]. There is something to send: `backlog.unsent` > 0, except
    /// for [`Style::Copies`].
    #[inline]
    fn place(&mut self, paths: &[PathView], segment_bytes: u32, backlog: &Backlog) -> Option<Placement> {
        let path = self.pick(paths, 0, segment_bytes)?;
        Some(Placement { path, dsn: backlog.next })
    }

    /// What became of a [`Placement`]: `placement.dsn` is the segment that was sent.
    #[inline]
    fn placed(&mut self, _placement: Placement) {}

    /// What to do about the oldest segment without DATA_ACK, carried by the subflows in `carried`, when the
    /// data-level window is full, or when the send buffer is full and everything in it has been sent. `None`
    /// if nothing.
    #[inline]
    fn rescue(&mut self, _paths: &[PathView], _now: Nanos, _carried: u8) -> Option<Rescue> {
        None
    }

    /// Sets one of the options that [`Self::INFO`] lists.
    ///
    /// # Errors
    /// A value that does not fit; the message says what would.
    fn set(&mut self, option: &str, _value: &str) -> Result<(), OptionError> {
        Err(OptionError::unknown_option(Self::INFO.name, option, Self::INFO.options))
    }

    /// What the paths cost, in the order of the subflows. Called once, before the first segment.
    fn learn_costs(&mut self, _costs: &[PathEnergy]) {}

    /// The subflow on `path` has been closed; a later one on that path has carried nothing.
    fn forget(&mut self, _path: usize) {}

    /// An ACK for the subflow on `path` has been dealt with, and what it admits has been sent.
    fn acknowledged(&mut self, _path: usize, _view: &PathView) {}

    /// Whether a retransmission travels on a second path, too, while the data-level window binds and has room
    /// for more packets than there are from loss to loss.
    fn copies_repairs(&self) -> bool {
        false
    }

    /// How much the socket takes from the application before the first of it is DATA_ACKed, bytes of payload;
    /// `None` for as much as the scenario's buffers allow.
    fn send_buffer_bytes(&self, _paths: &[PathView]) -> Option<u64> {
        None
    }

    /// A slot begins in which each path may carry so many packets.
    fn allot(&mut self, _packets: &[f64]) {}
}
