//! `hybrid`: CUBIC on one subflow, the coupled controller on several, and the changes between them.

use joulepath_controllers::{Ack, AckFlags, Connection, Controller, LossKind, Subflow};

const COUPLED: &str = "lia";

fn by_name(name: &str) -> Controller {
    Controller::by_name(name).unwrap()
}

/// Established subflows in congestion avoidance with these windows, and an RTT of 100 ms.
fn open<const N: usize>(controller: Controller, windows: [u32; N]) -> Connection {
    let mut connection = Connection::new(N);
    connection.now_us = 1_000_000;
    for (i, cwnd) in windows.into_iter().enumerate() {
        connection.subflows[i] = Subflow {
            cwnd,
            ssthresh: 2,
            srtt_us: 100_000,
            flags: Subflow::ESTABLISHED,
            ..Subflow::default()
        };
        controller.init(&mut connection, i);
    }
    connection
}

/// One ACK of `acked` packets, 10 ms after the last.
fn acknowledge(controller: Controller, connection: &mut Connection, i: usize, acked: u32) {
    connection.now_us += 10_000;
    let ack = Ack {
        acked,
        rtt_us: 100_000,
        flags: AckFlags::CWND_LIMITED,
    };
    controller.on_ack(connection, i, ack);
}

fn lose(controller: Controller, connection: &mut Connection, i: usize, kind: LossKind) {
    let ssthresh = controller.on_loss(connection, i, kind);
    (connection.subflows[i].cwnd, connection.subflows[i].ssthresh) = (ssthresh, ssthresh);
}

/// Windows of the first subflow through growth, losses and a timeout.
fn windows(controller: Controller, connection: &mut Connection) -> Vec<u32> {
    let step = |step| {
        acknowledge(controller, connection, 0, 7);
        match step % 300 {
            120 | 200 => lose(controller, connection, 0, LossKind::FastRetransmit),
            280 => lose(controller, connection, 0, LossKind::Timeout),
            _ => {}
        }
        connection.subflows[0].cwnd
    };
    (0..900).map(step).collect()
}

#[test]
fn alone_it_is_cubic_bit_by_bit() {
    let [hybrid, cubic] = ["hybrid", "cubic"].map(by_name);
    let want = windows(cubic, &mut open(cubic, [50]));
    assert_eq!(windows(hybrid, &mut open(hybrid, [50])), want);
    // A backup is established and has never delivered a packet.
    assert_eq!(windows(hybrid, &mut open(hybrid, [50, 10])), want);
    // A closed subflow has delivered packets and is not established.
    let mut closed = open(hybrid, [50, 10]);
    acknowledge(hybrid, &mut closed, 1, 1);
    closed.subflows[1].flags = 0;
    closed.now_us = 1_000_000;
    assert_eq!(windows(hybrid, &mut closed), want);
}

#[test]
fn with_a_second_subflow_it_is_the_coupled_controller() {
    let [hybrid, coupled] = ["hybrid", COUPLED].map(by_name);
    let [got, want] = [hybrid, coupled].map(|controller| {
        let mut connection = open(controller, [50, 80]);
        acknowledge(controller, &mut connection, 1, 1);
        windows(controller, &mut connection)
    });
    // LIA may reuse an increase for 16 packets.
    assert!(
        got.iter()
            .zip(&want)
            .all(|(got, want)| got.abs_diff(*want) <= 1),
        "{got:?}\n{want:?}"
    );
}

/// 9 s after a loss at 100 packets, 4.8 s past the maximum, CUBIC grows fast. The first packet that
/// the second subflow delivers couples both: two windows of 50 packets with equal RTTs grow by
/// 50/100² per packet.
#[test]
fn the_first_packet_of_a_second_subflow_couples_both() {
    let hybrid = by_name("hybrid");
    let mut connection = open(hybrid, [100, 50]);
    lose(hybrid, &mut connection, 0, LossKind::FastRetransmit);
    for _ in 0..900 {
        acknowledge(hybrid, &mut connection, 0, 7);
    }
    let alone = hybrid.increase(&connection, 0);
    assert!(alone > 0.02, "{alone}");
    acknowledge(hybrid, &mut connection, 1, 1);
    connection.subflows[0].cwnd = 50;
    let coupled = hybrid.increase(&connection, 0);
    assert!((coupled - 0.005).abs() < 1e-4, "{coupled}");
    assert_eq!(
        hybrid.ssthresh_after(&connection, 0, LossKind::FastRetransmit),
        25,
        "half, not 0.7"
    );
}

/// CUBIC does not return to the 300 packets before the second subflow: it starts at the present 80,
/// and grows by at least 1/20 per packet until the next loss.
#[test]
fn when_the_second_subflow_closes_cubic_starts_from_the_present_window() {
    let hybrid = by_name("hybrid");
    let mut connection = open(hybrid, [300, 50]);
    lose(hybrid, &mut connection, 0, LossKind::FastRetransmit);
    for i in [0, 1, 0] {
        acknowledge(hybrid, &mut connection, i, 1);
    }
    (connection.subflows[0].cwnd, connection.subflows[0].ssthresh) = (80, 80);
    connection.now_us += 60_000_000;
    connection.subflows[1].flags = 0;
    acknowledge(hybrid, &mut connection, 0, 1);
    assert_eq!(connection.subflows[0].cwnd, 80);
    let increase = hybrid.increase(&connection, 0);
    assert!((increase - 0.05).abs() < 1e-6, "{increase}");
    assert_eq!(
        hybrid.ssthresh_after(&connection, 0, LossKind::FastRetransmit),
        56,
        "0.7 of 80"
    );
    // After 4 s the target is 80 + 0.4 · 4.1³ = 107.6 packets.
    connection.now_us += 4_000_000;
    let increase = hybrid.increase(&connection, 0);
    assert!((increase - 27.6 / 80.0).abs() < 0.01, "{increase}");
}
