//! The interface of schedulers.

use joulepath_model::units::Nanos;

use super::rescue::Rescue;
use super::view::{Backlog, PathView, Placement};
use crate::energy::PathEnergy;
use crate::options::{OptionError, PartInfo};

/// How a scheduler handles data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Gives the next segment to a subflow with space.
    Plain,
    /// Gives the next segment to any subflow. Without space it waits in that subflow's own queue,
    /// and no other subflow takes it from there.
    Queues,
    /// May choose a later segment than the next.
    Places,
    /// Sends copies of segments that other subflows carry.
    Copies,
}

/// When a scheduler moves data that is outstanding on one subflow to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// Never.
    #[default]
    Never,
    /// Before new data is sent.
    First,
    /// Once no new data may be sent.
    Last,
}

/// Properties of a scheduler, and its inputs. The caller updates only the inputs that the scheduler
/// reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// How it handles data.
    pub style: Style,
    /// Whether [`PacketScheduler::place`] reads the backlog. Otherwise it equals
    /// [`PacketScheduler::pick`].
    pub weighs_backlog: bool,
    /// Whether it reads [`PathView::rtt`].
    pub watches_rtt: bool,
    /// Whether it sends nothing before [`PacketScheduler::allot`].
    pub wants_allotment: bool,
}

impl Features {
    /// True if [`PacketScheduler::pick`] may name a subflow without window space.
    #[inline]
    pub fn queues_ahead(self) -> bool {
        matches!(self.style, Style::Queues)
    }
}

/// A packet scheduler with its state: one per connection. The methods with a default are optional
/// hooks.
pub trait PacketScheduler: Sized {
    /// Its registry entry: name, summary, options, source.
    const INFO: PartInfo;
    /// Its properties and inputs.
    const FEATURES: Features;
    /// True if [`Self::pick`] has no side effects and, for a segment that no subflow has carried,
    /// obeys: if exactly one usable regular subflow has space, it returns that one; if none has
    /// space, `None`. The caller then skips the call.
    const TAKES_THE_ONLY_CHOICE: bool = false;

    /// The scheduler before the first segment, with default options. `mss_bytes` is the payload of
    /// a full segment.
    fn new(mss_bytes: u32) -> Self;

    /// The sender starts to send data, as after every event. `next_byte` is the position of the
    /// next new segment in the connection's data; `window_bytes` is the rest of the receiver's
    /// window.
    fn begin(&mut self, _next_byte: u64, _window_bytes: u64) {}

    /// The time of the next [`Self::pick`]; [`Self::place`] reads it from its backlog.
    fn at(&mut self, _now: Nanos) {}

    /// The subflow for a segment; the subflows in mask `carried` have carried it already. `None`
    /// makes it wait.
    ///
    /// `Some` is a commitment: the caller gives the segment of `segment_bytes` to that subflow.
    fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize>;

    /// The subflow and the segment of new data to send; `None` if nothing may be sent now.
    ///
    /// `Some` is a commitment, as in [`Self::pick`]. There is data to send: `backlog.unsent` > 0,
    /// except for [`Style::Copies`].
    #[inline]
    fn place(
        &mut self,
        paths: &[PathView],
        segment_bytes: u32,
        backlog: &Backlog,
    ) -> Option<Placement> {
        let path = self.pick(paths, 0, segment_bytes)?;
        Some(Placement {
            path,
            dsn: backlog.next,
        })
    }

    /// The result of a [`Placement`]: `placement.dsn` is the segment that was sent.
    #[inline]
    fn placed(&mut self, _placement: Placement) {}

    /// What to do about the oldest segment without DATA_ACK, carried by the subflows in `carried`,
    /// when the data-level window is full, or the send buffer is full and entirely sent. `None`
    /// does nothing.
    #[inline]
    fn rescue(&mut self, _paths: &[PathView], _now: Nanos, _carried: u8) -> Option<Rescue> {
        None
    }

    /// Sets one of the options in [`Self::INFO`].
    ///
    /// # Errors
    /// An invalid value; the message names valid ones.
    fn set(&mut self, option: &str, _value: &str) -> Result<(), OptionError> {
        Err(OptionError::unknown_option(
            Self::INFO.name,
            option,
            Self::INFO.options,
        ))
    }

    /// Energy costs of the paths, in the order of the subflows. Called once, before the first
    /// segment.
    fn learn_costs(&mut self, _costs: &[PathEnergy]) {}

    /// The subflow on `path` has been closed; a later subflow on that path starts without history.
    fn forget(&mut self, _path: usize) {}

    /// An ACK of the subflow on `path` has been processed, and the admitted data has been sent.
    fn acknowledged(&mut self, _path: usize, _view: &PathView) {}

    /// When [`Self::takes_over`] is asked.
    fn offloads(&self) -> Offload {
        Offload::Never
    }

    /// The subflow that sends again a segment without DATA_ACK, carried by the subflows in
    /// `carried`; `None` leaves it to them.
    fn takes_over(&self, _paths: &[PathView], _carried: u8) -> Option<usize> {
        None
    }

    /// True if retransmissions are also sent on a second path while the data-level window binds and
    /// exceeds the mean number of packets between losses.
    fn copies_repairs(&self) -> bool {
        false
    }

    /// Maximum payload that the socket accepts from the application before the first DATA_ACK,
    /// bytes; `None` for the limit of the scenario's buffers.
    fn send_buffer_bytes(&self, _paths: &[PathView]) -> Option<u64> {
        None
    }

    /// A slot starts in which each path may carry this many packets.
    fn allot(&mut self, _packets: &[f64]) {}
}
