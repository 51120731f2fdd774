//! What both ends saw of a connection, in the terms of selectors and allocators.
//!
//! As in the packet engine, windows, losses, delivered data and backup flags are taken from the sender of the
//! data. Whether there is a subflow is taken from the device.

use joulepath_control::select::{Counters, Demand, PathState};
use joulepath_model::units::Nanos;

use crate::traffic::{ConnectionLook, PathLook, SubflowLook, Waiting};
use joulepath_kernel::mptcp::Token;
use joulepath_kernel::mptcp::path_manager::Ends;

/// After so many timeouts in a row a subflow counts as stalled.
const STALLED_AFTER: u8 = 2;

/// One connection at one instant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    /// The device's token of it.
    pub(super) token: Token,
    /// The data that waits at the sender.
    pub(super) demand: Demand,
    /// The part of that data that no subflow was given yet.
    pub(super) unsent: Demand,
    /// One per path of the traffic's connection, in its order.
    pub(super) paths: Vec<PathView>,
}

/// One path of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PathView {
    /// From the sender's `TCP_INFO`.
    pub(super) counters: Counters,
    /// The device's subflow.
    pub(super) ends: Option<Ends>,
    /// Bytes that the sender has given to the subflow and that are not acknowledged.
    pub(super) outstanding_bytes: u64,
    /// The sender's retransmission timeout.
    pub(super) rto: Nanos,
}

impl View {
    /// Puts both ends together; none unless the connection stands at both.
    pub(super) fn of(device: &ConnectionLook, sender: &ConnectionLook) -> Option<Self> {
        let demand = match sender.token.and(sender.waiting)? {
            Waiting::Endless => Demand::Endless,
            Waiting::Bytes(bytes) => Demand::Bytes(bytes as f64),
        };
        let paths = device.paths.iter().zip(&sender.paths).map(|(device, sender)| path(device, sender));
        let paths: Vec<PathView> = paths.collect();
        let unsent = match (demand, sender.unsent_bytes) {
            (Demand::Endless, _) => Demand::Endless,
            (Demand::Bytes(_), Some(bytes)) => Demand::Bytes(bytes as f64),
            // This is too much by the bytes that wait for their order at the receiver.
            (Demand::Bytes(bytes), None) => {
                let given: u64 = paths.iter().map(|path| path.outstanding_bytes).sum();
                Demand::Bytes((bytes - given as f64).max(0.0))
            }
        };
        Some(View { token: device.token?, demand, unsent, paths })
    }
}

fn path(device: &PathLook, sender: &PathLook) -> PathView {
    let (own, theirs) = (device.subflow.as_ref(), sender.subflow.as_ref());
    let is_open = own.is_some_and(|s| s.established) && theirs.is_some_and(|s| s.established);
    let state = match own {
        None => PathState::Closed,
        Some(_) if is_open => PathState::Open,
        Some(_) => PathState::Opening,
    };
    let waits = if is_open { theirs } else { own };
    let of_sender = |value: fn(&SubflowLook) -> u32| theirs.map_or(0, value);
    PathView {
        counters: Counters {
            state,
            backup: theirs.is_some_and(|subflow| subflow.backup),
            stalled: waits.is_some_and(|subflow| subflow.timeouts_in_a_row >= STALLED_AFTER),
            srtt: Nanos::from_micros(of_sender(|s| s.srtt_us).into()),
            cwnd: of_sender(|s| s.cwnd_packets),
            delivered_bytes: sender.acked_bytes,
            loss_events: sender.loss_events,
        },
        ends: own.map(|subflow| Ends { local: subflow.local, remote: subflow.remote }),
        outstanding_bytes: theirs.map_or(0, |subflow| subflow.outstanding_bytes),
        rto: Nanos::from_micros(of_sender(|s| s.rto_us).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subflow(established: bool, timeouts_in_a_row: u8, srtt_us: u32) -> Option<SubflowLook> {
        Some(SubflowLook {
            local: "10.0.0.1:1000".parse().unwrap(),
            remote: "10.0.0.2:2000".parse().unwrap(),
            established,
            backup: true,
            timeouts_in_a_row,
            srtt_us,
            rto_us: 200_000,
            cwnd_packets: 12,
            outstanding_bytes: 3000,
        })
    }

    fn look(subflow: Option<SubflowLook>, waiting: Option<Waiting>) -> ConnectionLook {
        let path = PathLook { subflow, acked_bytes: 7, loss_events: 3 };
        ConnectionLook { token: Some(Token(9)), waiting, unsent_bytes: None, paths: vec![path] }
    }

    #[test]
    fn the_sender_counts_and_the_device_says_what_there_is() {
        let waiting = Some(Waiting::Bytes(500));
        let path =
            |device, sender| View::of(&look(device, None), &look(sender, waiting)).unwrap().paths[0].counters;
        let open = path(subflow(true, 0, 1), subflow(true, 2, 50_000));
        assert_eq!((open.state, open.backup, open.stalled), (PathState::Open, true, true));
        assert_eq!((open.srtt, open.cwnd, open.delivered_bytes), (Nanos::from_millis(50), 12, 7));
        // The server has not got the third segment of the handshake yet.
        assert_eq!(path(subflow(true, 0, 1), None).state, PathState::Opening);
        // A SYN without an answer is repeated by the device.
        let syn = path(subflow(false, 2, 0), None);
        assert_eq!((syn.state, syn.stalled), (PathState::Opening, true));
        // What the device has closed is closed, even if the server has not heard of it.
        assert_eq!(path(None, subflow(true, 0, 1)).state, PathState::Closed);
    }

    #[test]
    fn what_is_on_its_way_is_not_unsent() {
        let view = |unsent_bytes| {
            let sender = look(subflow(true, 0, 1), Some(Waiting::Bytes(5000)));
            View::of(&look(None, None), &ConnectionLook { unsent_bytes, ..sender }).unwrap().unsent
        };
        assert_eq!(view(Some(1500)), Demand::Bytes(1500.0));
        // An older kernel: 5000 less the 3000 that are outstanding.
        assert_eq!(view(None), Demand::Bytes(2000.0));
    }

    #[test]
    fn a_connection_that_does_not_stand_at_both_ends_is_none() {
        let (device, sender) = (look(None, None), look(None, Some(Waiting::Endless)));
        assert_eq!(View::of(&device, &sender).unwrap().demand, Demand::Endless);
        assert_eq!(View::of(&ConnectionLook::default(), &sender), None);
        assert_eq!(View::of(&device, &ConnectionLook::default()), None);
    }
}
