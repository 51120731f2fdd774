//! State of one connection: its two ends, and the state that concerns both.

use std::ops::Range;

use joulepath_model::scenario::Direction;

use crate::application::Reader;
use crate::connection::plane::ControlPlane;
use crate::connection::selection::Selection;
use crate::event::LazyTimer;
use crate::parallel::shared::Shared;
use crate::path::packet::Kind;
use crate::path::routes::{Route, Routes};
use crate::receiver::{ReceiverEnd, Relay};
use crate::sender::SenderEnd;

/// One MPTCP connection, or a TCP connection (one subflow).
pub(crate) struct Connection {
    /// Index of its first subflow; the others follow.
    pub(crate) first: u32,
    pub(crate) n: usize,
    pub(crate) direction: Direction,
    pub(crate) sender: SenderEnd,
    pub(crate) receiver: ReceiverEnd,
    pub(crate) application_timer: LazyTimer,
    pub(crate) control: ControlPlane,
    pub(crate) control_timer: LazyTimer,
    /// Opens and closes subflows; `None` if the policy has no selector.
    pub(crate) selection: Option<Selection>,
    pub(crate) look_timer: LazyTimer,
    pub(crate) slot_timer: LazyTimer,
    pub(crate) starts_at_ns: u64,
    /// The subflow that carries MP_CAPABLE; `None` after it is closed.
    pub(crate) opener: Option<usize>,
    pub(crate) joined: bool,
    pub(crate) started: bool,
}

impl Connection {
    /// A connection over `n` subflows from `first` on, without a control plane.
    pub(crate) fn new(
        first: u32,
        n: usize,
        direction: Direction,
        starts_at_ns: u64,
        sender: SenderEnd,
        receiver: ReceiverEnd,
    ) -> Self {
        Connection {
            first,
            n,
            direction,
            sender,
            receiver,
            application_timer: LazyTimer::new(),
            control: ControlPlane::idle(),
            control_timer: LazyTimer::new(),
            selection: None,
            look_timer: LazyTimer::new(),
            slot_timer: LazyTimer::new(),
            starts_at_ns,
            opener: Some(0),
            joined: false,
            started: false,
        }
    }

    /// Whether the device receives the data.
    #[inline]
    pub(crate) fn downloads(&self) -> bool {
        self.direction == Direction::Download
    }

    /// Whether the device sends packets of `kind`, a kind without data.
    pub(crate) fn is_from_device(&self, kind: Kind) -> bool {
        is_from_device(kind, self.downloads())
    }

    /// The route of a packet that is neither data nor an ACK of a subflow, with the subflow's
    /// `routes` and `relay`.
    pub(crate) fn route_of(&self, kind: Kind, routes: &Routes, relay: Option<&Relay>) -> Route {
        if let Some(Relay { routes: relay, .. }) = relay {
            return match kind {
                Kind::Relayed => relay.last,
                Kind::RelayAck => routes.acks,
                _ if self.is_from_device(kind) => relay.up,
                _ => relay.down,
            };
        }
        if self.is_from_device(kind) == self.downloads() {
            routes.acks
        } else {
            routes.data
        }
    }
}

/// Whether the device, if it `downloads`, sends packets of `kind`, a kind without data.
fn is_from_device(kind: Kind, downloads: bool) -> bool {
    match kind {
        Kind::Syn | Kind::Third | Kind::Priority | Kind::Leave | Kind::DataAck => true,
        Kind::SynAck | Kind::Fourth => false,
        // Requests go to the sender of data.
        _ => downloads,
    }
}

/// Whether packets of `kind`, a kind without data, take the data route of a subflow without a
/// relay. Otherwise they take the ACK route.
pub(crate) fn goes_with_data(kind: Kind, downloads: bool) -> bool {
    is_from_device(kind, downloads) != downloads
}

/// A connection has two halves, its ends. Both may read its constant fields.
impl Shared<Connection> {
    /// The sending end of a connection.
    #[inline(always)]
    pub(crate) fn sending(&mut self, c: usize) -> &mut SenderEnd {
        self.check_half(c, 0);
        // SAFETY: this half belongs to the part with the sender, and only that part calls this.
        unsafe { &mut (*self.place(c).as_ptr()).sender }
    }

    /// The sending end of a connection, to read.
    #[inline(always)]
    pub(crate) fn sending_at(&self, c: usize) -> &SenderEnd {
        self.check_half(c, 0);
        // SAFETY: as above.
        unsafe { &(*self.place(c).as_ptr()).sender }
    }

    /// The receiving end of a connection.
    #[inline(always)]
    pub(crate) fn receiving(&mut self, c: usize) -> &mut ReceiverEnd {
        self.check_half(c, 1);
        // SAFETY: this half belongs to the part with the receiver, and only that part calls this.
        unsafe { &mut (*self.place(c).as_ptr()).receiver }
    }

    /// Addresses of the first cache lines that a segment touches at the receiving end, for
    /// prefetching.
    #[inline(always)]
    pub(crate) fn addresses_of_receiving(&self, c: usize) -> (*const ReceiverEnd, *const Reader) {
        let connection = self.place(c).as_ptr();
        // SAFETY: the connection is in the list, and no reference is created.
        unsafe {
            (
                &raw const (*connection).receiver,
                &raw const (*connection).receiver.reader,
            )
        }
    }

    /// Whether the device of a connection receives the data.
    #[inline(always)]
    pub(crate) fn downloads(&self, c: usize) -> bool {
        // SAFETY: the connection is in the list, and its direction is constant.
        unsafe { (*self.place(c).as_ptr()).direction == Direction::Download }
    }

    /// The indices of a connection's subflows in the whole engine.
    #[inline(always)]
    pub(crate) fn subflows(&self, c: usize) -> Range<usize> {
        let connection = self.place(c).as_ptr();
        // SAFETY: the connection is in the list, and these two fields are constant.
        let (first, n) = unsafe { ((*connection).first as usize, (*connection).n) };
        first..first + n
    }
}
