//! State of one connection: its two ends, and what concerns both of them.

use std::ops::Range;

use joulepath_model::scenario::Direction;

use crate::event::LazyTimer;
use crate::network::{Route, Routes};
use crate::packet::Kind;
use crate::plane::ControlPlane;
use crate::receiver::{ReceiverEnd, Relay};
use crate::selection::Selection;
use crate::sender::SenderEnd;

/// One MPTCP connection, or a TCP connection (one subflow).
pub(crate) struct Connection {
    /// Index of its first subflow. The others follow it.
    pub(crate) first: u32,
    /// Number of subflows.
    pub(crate) n: usize,
    pub(crate) direction: Direction,
    pub(crate) sender: SenderEnd,
    pub(crate) receiver: ReceiverEnd,
    pub(crate) application_timer: LazyTimer,
    pub(crate) control: ControlPlane,
    pub(crate) control_timer: LazyTimer,
    /// The part that opens and closes subflows, if the policy has a selector.
    pub(crate) selection: Option<Selection>,
    pub(crate) look_timer: LazyTimer,
    pub(crate) slot_timer: LazyTimer,
    pub(crate) starts_at_ns: u64,
    /// The subflow that carries MP_CAPABLE; `None` once it has been closed.
    pub(crate) opener: Option<usize>,
    pub(crate) joined: bool,
    pub(crate) started: bool,
}

impl Connection {
    /// A connection over `n` subflows from `first` on, without a control plane.
    pub(crate) fn new(
        (first, n): (u32, usize),
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

    /// The indices of its subflows in the whole engine.
    #[inline]
    pub(crate) fn subflows(&self) -> Range<usize> {
        self.first as usize..self.first as usize + self.n
    }

    /// Whether the device receives the data.
    #[inline]
    pub(crate) fn downloads(&self) -> bool {
        self.direction == Direction::Download
    }

    /// Whether the device sends packets of `kind`, which carry no data.
    pub(crate) fn is_from_device(&self, kind: Kind) -> bool {
        match kind {
            Kind::Syn | Kind::Third | Kind::Priority | Kind::Leave | Kind::DataAck => true,
            Kind::SynAck | Kind::Fourth => false,
            // A request asks the sender of data to send.
            _ => self.downloads(),
        }
    }

    /// The route of a packet that is neither data nor an ACK of a subflow. `routes` and `relay` are those of
    /// the subflow.
    pub(crate) fn route_of(&self, kind: Kind, routes: &Routes, relay: Option<&Relay>) -> Route {
        if let Some(Relay { routes: relay, .. }) = relay {
            return match kind {
                Kind::Relayed => relay.last,
                Kind::RelayAck => routes.acks,
                _ if self.is_from_device(kind) => relay.up,
                _ => relay.down,
            };
        }
        if self.is_from_device(kind) == self.downloads() { routes.acks } else { routes.data }
    }
}
