//! The controller that decides nothing: each subflow keeps the window or the rate of its last
//! command.
//!
//! It serves programs that steer a connection from outside, such as a learning agent. It has no C
//! header, no kernel build and no name in the registry, because it is no algorithm.
//!
//! ```text
//!   window commanded:  cwnd = window                   no pacing
//!   rate commanded:    cwnd = 2 · rate · srtt / mss    paced at the rate
//! ```
//! The window for a rate is twice the path's bandwidth-delay product: the rate is the limit, and an
//! unresponsive path can absorb only that much. After a timeout the window is one packet until the
//! next ACK. Before the first command a subflow keeps its initial window.

use std::ffi::c_void;
use std::ptr::null;

use crate::capability::Capability;
use crate::event::{AckFlags, Area, Event};
use crate::native::{NativeController, Ops, books};
use crate::registry::Controller;
use crate::state::Connection;
use crate::{CWND_MAX, MAX_SUBFLOWS, SSTHRESH_NONE};

/// A command for one subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Congestion window, packets, 1 to [`CWND_MAX`].
    Window(u32),
    /// Pacing rate, bytes of payload per second, from 1 on.
    Rate(u64),
}

/// Window for a rate, in bandwidth-delay products.
const ROOM: u128 = 2;
/// Minimum window for a rate, packets: one segment, and one whose ACK reveals its loss.
const LEAST_WINDOW: u128 = 2;

static OPS: Ops = Ops {
    name: c"commanded".as_ptr(),
    title: c"commanded".as_ptr(),
    paper: c"Joulepath".as_ptr(),
    summary: c"keeps the window or rate of the last command".as_ptr(),
    confidence: c"V".as_ptr(),
    min_cwnd: 1,
    cache_acks: 0,
    capabilities: Capability::OwnsWindow as u32 | Capability::Uncoupled as u32,
    growth: 0,
    increase: null(),
    ssthresh: null(),
    init: null(),
    sample: null(),
    ack: null(),
    round: null(),
    loss: null(),
    restart: null(),
    control: keep as *const () as *const c_void,
    states: null(),
    shows: null(),
    show: None,
};

static COMMANDED: NativeController = NativeController {
    ops: &raw const OPS,
    params: null(),
    param_count: 0,
    init,
    ack,
    increase,
    ssthresh,
    loss,
    restart,
    control,
    hosted: null(),
};

pub(crate) fn commanded() -> &'static NativeController {
    &COMMANDED
}

/// Sets the window or rate of subflow `i` from its next event on.
pub(crate) fn command(connection: &mut Connection, i: usize, command: Command) {
    let own = &mut connection.subflows[i].own;
    match command {
        Command::Window(packets) => {
            own.word[0] = packets.clamp(1, CWND_MAX);
            own.set_pacing_rate_bytes_per_s(0);
        }
        Command::Rate(bytes_per_s) => {
            own.word[0] = 0;
            own.set_pacing_rate_bytes_per_s(bytes_per_s.clamp(1, i64::MAX as u64));
        }
    }
}

/// The window for a rate, packets.
fn window_of(rate: u64, srtt_us: u32, mss: u32) -> u32 {
    let packets =
        ROOM * u128::from(rate) * u128::from(srtt_us) / 1_000_000 / u128::from(mss.max(1));
    packets.clamp(LEAST_WINDOW, CWND_MAX.into()) as u32
}

/// The hook `control`: sets the commanded window, or the window for the commanded rate.
unsafe extern "C" fn keep(connection: *mut Connection, i: u32, event: *const Event, _: *mut Area) {
    // SAFETY: `mpcc_control` calls it, with the connection and the event that `Controller`
    // received.
    let (connection, event) = unsafe { (&mut *connection, &*event) };
    let subflow = &mut connection.subflows[i as usize % MAX_SUBFLOWS];
    if event.flags.has(AckFlags::TIMED_OUT) {
        return;
    }
    match (subflow.own.word[0], subflow.own.pacing_rate_bytes_per_s()) {
        (0, 0) => {}
        (0, _) if subflow.srtt_us == 0 => {}
        (0, rate) => subflow.cwnd = window_of(rate, subflow.srtt_us, event.mss),
        (window, _) => subflow.cwnd = window,
    }
    subflow.ssthresh = SSTHRESH_NONE;
}

/// A command before the subflow's start stays valid, so a start clears nothing.
unsafe extern "C" fn init(_: *mut Connection, _: u32) {}

unsafe extern "C" fn ack(connection: *mut Connection, i: u32, acked: u32, rtt_us: u32, flags: u32) {
    // SAFETY: only `Controller` calls it, with an exclusive connection and a valid index.
    unsafe { books::ack(&OPS, connection, i, acked, rtt_us, flags) }
}

unsafe extern "C" fn increase(_: *const Connection, _: u32) -> i64 {
    0
}

unsafe extern "C" fn ssthresh(connection: *const Connection, i: u32, kind: u32) -> u32 {
    // SAFETY: as in `ack`.
    unsafe { books::ssthresh(&OPS, connection, i, kind) }
}

unsafe extern "C" fn loss(connection: *mut Connection, i: u32, kind: u32) -> u32 {
    // SAFETY: as in `ack`.
    unsafe { books::loss(&OPS, connection, i, kind) }
}

unsafe extern "C" fn restart(connection: *mut Connection, i: u32) {
    // SAFETY: as in `ack`.
    unsafe { books::restart(&OPS, connection, i) }
}

unsafe extern "C" fn control(
    connection: *mut Connection,
    i: u32,
    event: *const Event,
    area: *mut Area,
) {
    // SAFETY: as in `ack`, with the caller's event and area.
    unsafe { books::control(&OPS, connection, i, event, area) }
}

impl Controller {
    /// The controller that executes [`command`](Self::command). It is in no list and has no name.
    pub fn commanded() -> Self {
        Self::of_native(commanded())
    }

    /// Commands subflow `i`; the next [`control`](Self::control) executes it. Returns whether this
    /// controller accepts commands.
    pub fn command(&self, connection: &mut Connection, i: usize, what: Command) -> bool {
        let told = *self == Self::commanded();
        if told {
            command(connection, i, what);
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(srtt_us: u32) -> Connection {
        let mut connection = Connection::new(1);
        (connection.subflows[0].cwnd, connection.subflows[0].srtt_us) = (10, srtt_us);
        connection
    }

    fn told(
        connection: &mut Connection,
        what: Option<Command>,
        flags: AckFlags,
    ) -> (u32, Option<u64>) {
        let controller = Controller::commanded();
        if let Some(what) = what {
            assert!(controller.command(connection, 0, what));
        }
        let event = Event {
            flags,
            mss: 1_250,
            ..Event::default()
        };
        controller.control(connection, 0, &event, &mut Area::default());
        (
            connection.subflows[0].cwnd,
            controller.pacing_rate_bytes_per_s(connection, 0),
        )
    }

    #[test]
    fn a_window_is_kept_through_losses_and_is_not_paced() {
        let mut connection = one(40_000);
        assert_eq!(told(&mut connection, None, AckFlags::STARTS), (10, None));
        assert_eq!(
            told(&mut connection, Some(Command::Window(33)), AckFlags::NONE),
            (33, None)
        );
        assert_eq!(told(&mut connection, None, AckFlags::EPISODE), (33, None));
    }

    /// 1.25 MB/s · 40 ms = 50 kB: 40 packets of 1250 bytes, doubled.
    #[test]
    fn a_rate_is_paced_in_a_window_of_two_bandwidth_delay_products() {
        let mut connection = one(40_000);
        let rate = Some(Command::Rate(1_250_000));
        assert_eq!(
            told(&mut connection, rate, AckFlags::NONE),
            (80, Some(1_250_000))
        );
        assert_eq!(
            told(&mut connection, Some(Command::Rate(1)), AckFlags::NONE),
            (2, Some(1))
        );
        assert_eq!(
            told(&mut connection, Some(Command::Window(7)), AckFlags::NONE),
            (7, None)
        );
        assert_eq!(
            told(&mut one(0), rate, AckFlags::NONE),
            (10, Some(1_250_000)),
            "no RTT yet"
        );
    }

    #[test]
    fn after_a_timeout_the_window_is_one_packet_until_the_next_ack() {
        let mut connection = one(40_000);
        told(&mut connection, Some(Command::Window(33)), AckFlags::NONE);
        connection.subflows[0].cwnd = 1;
        assert_eq!(told(&mut connection, None, AckFlags::TIMED_OUT).0, 1);
        assert_eq!(told(&mut connection, None, AckFlags::NONE).0, 33);
    }

    #[test]
    fn rtts_and_losses_are_recorded_as_for_every_controller() {
        let mut connection = one(40_000);
        let mut tell = |acked, rtt_us, flags| {
            let event = Event {
                acked,
                rtt_us,
                flags,
                mss: 1_250,
                ..Event::default()
            };
            Controller::commanded().control(&mut connection, 0, &event, &mut Area::default());
            let own = connection.subflows[0].own;
            (
                own.base_rtt_us,
                own.last_rtt_us,
                own.acked_since_loss,
                own.acked_between_losses,
            )
        };
        assert_eq!(tell(3, 41_000, AckFlags::NONE), (41_000, 41_000, 3, 0));
        assert_eq!(tell(2, 44_000, AckFlags::NONE), (41_000, 44_000, 5, 0));
        assert_eq!(tell(1, 0, AckFlags::NONE), (41_000, 44_000, 6, 0));
        assert_eq!(tell(1, 40_500, AckFlags::EPISODE), (40_500, 40_500, 1, 6));
    }

    #[test]
    fn it_is_in_no_list_and_other_controllers_refuse_commands() {
        assert!(Controller::known().all(|known| known != Controller::commanded()));
        let lia = Controller::by_name("lia").unwrap();
        assert!(!lia.command(&mut one(40_000), 0, Command::Window(1)));
    }
}
