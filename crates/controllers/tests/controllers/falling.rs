//! Windows that fall without a loss: CWA and extended DTS.

use joulepath_controllers::{Ack, AckFlags};

use crate::behaviour::{LIMITED, controller, established};

#[test]
fn cwa_shrinks_the_slowest_path_three_periods_out_of_four() {
    let cwa = controller("cwa");
    let mut connection = established(cwa, &[(100, 50_000), (100, 100_000)]);
    let mut windows = Vec::new();
    for _ in 0..5 {
        connection.now_us += 500_000;
        for (i, rtt_us) in [(0, 50_000), (1, 100_000)] {
            cwa.on_ack(
                &mut connection,
                i,
                Ack {
                    acked: 1,
                    rtt_us,
                    flags: AckFlags::NONE,
                },
            );
        }
        windows.push(connection.subflows[1].cwnd);
    }
    assert_eq!(windows, [50, 25, 12, 12, 6], "theta = 2");
    assert_eq!(connection.subflows[0].cwnd, 100);
}

#[test]
fn cwa_ignores_extreme_ratios_by_default() {
    let window_after = |beyond: &str| {
        let cwa = controller("cwa");
        let mut connection = established(cwa, &[(100, 20_000), (90, 100_000)]);
        cwa.set_param(&mut connection, "beyond", beyond).unwrap();
        connection.now_us += 500_000;
        cwa.on_ack(
            &mut connection,
            1,
            Ack {
                acked: 1,
                rtt_us: 100_000,
                flags: AckFlags::NONE,
            },
        );
        connection.subflows[1].cwnd
    };
    assert_eq!(window_after("nothing"), 90);
    assert_eq!(window_after("divide"), 30, "theta_max = 3");
}

#[test]
fn cwa_can_reset_its_count_when_another_path_is_slower() {
    let window_after = |reset: &str| {
        let cwa = controller("cwa");
        let mut connection = established(cwa, &[(800, 50_000), (800, 100_000)]);
        cwa.set_param(&mut connection, "reset", reset).unwrap();
        let mut look = |rtt_us: u32| {
            connection.now_us += 500_000;
            cwa.on_ack(
                &mut connection,
                1,
                Ack {
                    acked: 1,
                    rtt_us,
                    flags: AckFlags::NONE,
                },
            );
        };
        look(100_000); // 400
        look(100_000); // 200
        look(25_000); // the other path is slower
        look(100_000); // 100
        look(100_000); // skipped, or 50
        connection.subflows[1].cwnd
    };
    assert_eq!(window_after("limit"), 100);
    assert_eq!(window_after("faster"), 50);
}

#[test]
fn cwa_does_nothing_below_its_smallest_ratio() {
    let cwa = controller("cwa");
    let mut connection = established(cwa, &[(100, 95_000), (100, 100_000)]);
    cwa.set_param(&mut connection, "theta_min", "1.1").unwrap();
    connection.now_us += 500_000;
    cwa.on_ack(
        &mut connection,
        1,
        Ack {
            acked: 1,
            rtt_us: 100_000,
            flags: AckFlags::NONE,
        },
    );
    assert_eq!(connection.subflows[1].cwnd, 100);
    cwa.set_param(&mut connection, "theta_min", "1").unwrap();
    connection.now_us += 500_000;
    cwa.on_ack(
        &mut connection,
        1,
        Ack {
            acked: 1,
            rtt_us: 100_000,
            flags: AckFlags::NONE,
        },
    );
    assert_eq!(connection.subflows[1].cwnd, 95);
}

/// At a price of 1 and a window of 200 an ACK takes 0.02 packets: after a loss the window goes on
/// falling below ssthresh, where slow start would undo it.
#[test]
fn extended_dts_shrinks_below_its_slow_start_threshold() {
    let controller = controller("edts");
    let mut connection = established(controller, &[(100, 50_000), (200, 200_000)]);
    let start = connection.subflows[1].cwnd;
    connection.subflows[1].ssthresh = start;
    for subflow in &mut connection.subflows[..2] {
        subflow.own.set_path_price(1.0);
    }
    for _ in 0..1000 {
        let ack = Ack {
            acked: 1,
            rtt_us: 200_000,
            flags: LIMITED,
        };
        controller.on_ack(&mut connection, 1, ack);
    }
    let subflow = &connection.subflows[1];
    assert!(subflow.cwnd + 10 < start, "{}", subflow.cwnd);
    assert_eq!(subflow.ssthresh, subflow.cwnd);
}
