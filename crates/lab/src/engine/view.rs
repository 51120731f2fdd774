//! The state of a connection from both ends, in the form that selectors and allocators read.
//!
//! As in the packet engine, windows, losses, delivered data and backup flags are the data sender's.
//! The device decides whether a subflow exists.

use joulepath_control::select::{Counters, Demand, PathState};
use joulepath_model::units::Nanos;

use crate::traffic::{ConnectionLook, PathLook, SubflowLook, Waiting};
use joulepath_kernel::mptcp::Token;
use joulepath_kernel::mptcp::path_manager::Ends;

/// A subflow counts as stalled after this many timeouts in a row.
const STALLED_AFTER: u8 = 2;

/// One connection at one time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    /// The device's token.
    pub(super) token: Token,
    /// Data that waits at the sender.
    pub(super) demand: Demand,
    /// The part of that data that was not given to any subflow yet.
    pub(super) unsent: Demand,
    /// One per path of the traffic's connection, in its order.
    pub(super) paths: Vec<PathView>,
}

/// One path of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PathView {
    /// From the sender's `TCP_INFO`.
    pub(super) counters: Counters,
    /// The device's subflow.
    pub(super) ends: Option<Ends>,
    /// Bytes given to the subflow and not acknowledged.
    pub(super) outstanding_bytes: u64,
    /// The sender's retransmission timeout.
    pub(super) rto: Nanos,
}

impl View {
    /// Combines both ends; `None` unless the connection is established at both.
    pub(super) fn of(device: &ConnectionLook, sender: &ConnectionLook) -> Option<Self> {
        let demand = match sender.token.and(sender.waiting)? {
            Waiting::Endless => Demand::Endless,
            Waiting::Bytes(bytes) => Demand::Bytes(bytes as f64),
        };
        let paths = device
            .paths
            .iter()
            .zip(&sender.paths)
            .map(|(device, sender)| path(device, sender));
        let paths: Vec<PathView> = paths.collect();
        let unsent = match (demand, sender.unsent_bytes) {
            (Demand::Endless, _) => Demand::Endless,
            (Demand::Bytes(_), Some(bytes)) => Demand::Bytes(bytes as f64),
            // Too large by the bytes that wait for their order at the receiver.
            (Demand::Bytes(bytes), None) => {
                let given: u64 = paths.iter().map(|path| path.outstanding_bytes).sum();
                Demand::Bytes((bytes - given as f64).max(0.0))
            }
        };
        Some(View {
            token: device.token?,
            demand,
            unsent,
            paths,
        })
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
        ends: own.map(|subflow| Ends {
            local: subflow.local,
            remote: subflow.remote,
        }),
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
        let path = PathLook {
            subflow,
            acked_bytes: 7,
            loss_events: 3,
        };
        ConnectionLook {
            token: Some(Token(9)),
            waiting,
            unsent_bytes: None,
            paths: vec![path],
        }
    }

    #[test]
    fn counters_are_the_senders_and_subflows_the_devices() {
        let waiting = Some(Waiting::Bytes(500));
        let path = |device, sender| {
            View::of(&look(device, None), &look(sender, waiting))
                .unwrap()
                .paths[0]
                .counters
        };
        let open = path(subflow(true, 0, 1), subflow(true, 2, 50_000));
        assert_eq!(
            (open.state, open.backup, open.stalled),
            (PathState::Open, true, true)
        );
        assert_eq!(
            (open.srtt, open.cwnd, open.delivered_bytes),
            (Nanos::from_millis(50), 12, 7)
        );
        // The server has not received the third segment of the handshake yet.
        assert_eq!(path(subflow(true, 0, 1), None).state, PathState::Opening);
        // The device repeats an unanswered SYN.
        let syn = path(subflow(false, 2, 0), None);
        assert_eq!((syn.state, syn.stalled), (PathState::Opening, true));
        // A subflow that the device has closed is closed, even if the server does not know it yet.
        assert_eq!(path(None, subflow(true, 0, 1)).state, PathState::Closed);
    }

    #[test]
    fn data_in_flight_is_not_unsent() {
        let view = |unsent_bytes| {
            let sender = look(subflow(true, 0, 1), Some(Waiting::Bytes(5000)));
            View::of(
                &look(None, None),
                &ConnectionLook {
                    unsent_bytes,
                    ..sender
                },
            )
            .unwrap()
            .unsent
        };
        assert_eq!(view(Some(1500)), Demand::Bytes(1500.0));
        // An older kernel: 5000 minus 3000 outstanding.
        assert_eq!(view(None), Demand::Bytes(2000.0));
    }

    #[test]
    fn a_connection_established_at_one_end_has_no_view() {
        let (device, sender) = (look(None, None), look(None, Some(Waiting::Endless)));
        assert_eq!(View::of(&device, &sender).unwrap().demand, Demand::Endless);
        assert_eq!(View::of(&ConnectionLook::default(), &sender), None);
        assert_eq!(View::of(&device, &ConnectionLook::default()), None);
    }
}
