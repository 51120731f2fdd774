use joulepath_kernel::mptcp::TcpInfo;
use joulepath_kernel::mptcp::diag::SocketMemory;

use super::*;

fn look(measurer: &mut Measurer, s: u64, device: u32, received_bytes: u64) -> Measured {
    let counters = Some(Counters {
        received_bytes,
        received_packets: received_bytes / 1000,
        ..Counters::default()
    });
    let one = Looked {
        name: "eth0",
        device,
        addresses: &[],
        counters,
    };
    measurer.count_all(Nanos::from_secs(s), &[one])["eth0"]
}

#[test]
fn polls_between_listings_update_counters_and_keep_connections() {
    let mut measurer = Measurer::default();
    let of = |received_bytes| Looked {
        name: "eth0",
        device: 2,
        addresses: &[],
        counters: Some(Counters {
            received_bytes,
            ..Counters::default()
        }),
    };
    let counted = measurer.count_all(Nanos::ZERO, &[of(0)]);
    measurer.list(
        &[of(0)],
        &BTreeMap::new(),
        &Listing::default(),
        &Refusals::default(),
        counted,
    );
    let rtt = Some(Nanos::from_millis(20));
    measurer.known.insert(
        "eth0".into(),
        Measured {
            subflows: 3,
            healthy: 2,
            rtt,
            capacity_bps: Some(8e6),
            ..Measured::default()
        },
    );
    let mut measured = measurer.count_all(Nanos::from_secs(1), &[of(500_000)]);
    measurer.recall(&mut measured);
    let one = measured["eth0"];
    assert_eq!((one.received_bps, one.capacity_bps), (4e6, Some(8e6)));
    assert_eq!((one.subflows, one.healthy, one.rtt), (3, 2, rtt));
}

#[test]
fn a_program_that_does_not_read_makes_no_path_silent() {
    let addresses = ["192.0.2.7".parse().unwrap()];
    // Over one subflow all data arrives in order; with several, some may wait for other data.
    for (limit, used, subflows, is_silent) in [
        (100_000, 60_000, 1, false),
        (100_000, 1_000, 1, true),
        (30_000_000, 9_000_000, 1, false),
        (30_000_000, 9_000_000, 2, true),
        (30_000_000, 60_000, 1, true),
    ] {
        let mut measurer = Measurer::default();
        let of = |received_bytes| Looked {
            name: "wlan0",
            device: 2,
            addresses: &addresses,
            counters: Some(Counters {
                received_bytes,
                received_packets: received_bytes / 1000,
                ..Counters::default()
            }),
        };
        let mut connection = crate::samples::connection(1, &addresses);
        connection.subflows[0].info = Some(TcpInfo {
            data_segments_in: 9,
            ..crate::samples::heard(10)
        });
        let one = connection.subflows[0].clone();
        connection.subflows.resize(subflows, one);
        connection.memory = Some(SocketMemory {
            receive_used_bytes: used,
            receive_limit_bytes: limit,
            send_used_bytes: 0,
            send_limit_bytes: 0,
        });
        let listing = Listing {
            connections: vec![connection],
            ..Listing::default()
        };
        for (s, bytes) in [1_000_000, 2_000_000, 3_000_000, 3_000_000]
            .into_iter()
            .enumerate()
        {
            let all = [of(bytes)];
            let counted = measurer.count_all(Nanos::from_secs(s as u64), &all);
            let owners = [(addresses[0], 2)].into();
            measurer.list(&all, &owners, &listing, &Refusals::default(), counted);
        }
        // Also in a poll without a listing.
        let mut measured = measurer.count_all(Nanos::from_secs(6), &[of(3_000_000)]);
        measurer.recall(&mut measured);
        assert_eq!(measured["wlan0"].silent.is_some(), is_silent, "{used}");
    }
}

#[test]
fn silence_counts_from_the_time_at_which_a_program_has_read_everything() {
    let addresses = ["192.0.2.7".parse().unwrap()];
    let owners = [(addresses[0], 2)].into();
    let mut measurer = Measurer::default();
    let mut silent = None;
    for (s, received_bytes, used) in [
        (0, 1_000_000, 0),
        (1, 2_000_000, 0),
        (2, 3_000_000, 0),
        (6, 3_000_000, 500_000),
        (10, 3_000_000, 200_000),
        (12, 3_000_000, 0),
    ] {
        let all = [Looked {
            name: "wlan0",
            device: 2,
            addresses: &addresses,
            counters: Some(Counters {
                received_bytes,
                received_packets: received_bytes / 1000,
                ..Counters::default()
            }),
        }];
        let mut connection = crate::samples::connection(1, &addresses);
        connection.subflows[0].info = Some(TcpInfo {
            data_segments_in: 9,
            ..crate::samples::heard(10)
        });
        connection.memory = Some(SocketMemory {
            receive_used_bytes: used,
            receive_limit_bytes: 30_000_000,
            send_used_bytes: 0,
            send_limit_bytes: 0,
        });
        let listing = Listing {
            connections: vec![connection],
            ..Listing::default()
        };
        let counted = measurer.count_all(Nanos::from_secs(s), &all);
        let none = Refusals::default();
        silent = measurer.list(&all, &owners, &listing, &none, counted)["wlan0"].silent;
    }
    assert_eq!(silent, Some(Nanos::from_secs(2)));
}

#[test]
fn with_a_shared_address_a_subflow_counts_on_its_bound_or_routed_interface() {
    let address: IpAddr = "192.168.8.100".parse().unwrap();
    let addresses = [address];
    let of = |name, device| Looked {
        name,
        device,
        addresses: &addresses,
        counters: None,
    };
    let all = [of("w0", 2), of("l0", 3)];
    for (interface, on) in [
        (Some(2), [1, 0]),
        (Some(3), [0, 1]),
        (None, [1, 0]),
        (Some(9), [1, 0]),
    ] {
        let mut connection = crate::samples::connection(1, &addresses);
        connection.subflows[0].interface = interface;
        let listing = Listing {
            connections: vec![connection],
            ..Listing::default()
        };
        let mut measurer = Measurer::default();
        let counted = measurer.count_all(Nanos::ZERO, &all);
        let measured = measurer.list(
            &all,
            &[(address, 2)].into(),
            &listing,
            &Refusals::default(),
            counted,
        );
        assert_eq!(
            ["w0", "l0"].map(|name| measured[name].subflows),
            on,
            "{interface:?}"
        );
    }
}

#[test]
fn rates_are_differences_of_counters() {
    let mut measurer = Measurer::default();
    assert_eq!(look(&mut measurer, 0, 2, 5_000_000), Measured::default());
    // 2.5 MB in 2 s are 10 Mbit/s.
    let measured = look(&mut measurer, 2, 2, 7_500_000);
    assert_eq!(
        (measured.received_bps, measured.capacity_bps),
        (10e6, Some(10e6))
    );
    assert_eq!(
        (measured.passed.packets, measured.carried_bytes),
        (2500, 2_500_000)
    );
    // A new device of that name starts at 0; its earlier traffic is unknown.
    let measured = look(&mut measurer, 4, 3, 900);
    assert_eq!(
        (measured.received_bps, measured.carried_bytes),
        (0.0, 2_500_000)
    );
    assert_eq!(look(&mut measurer, 6, 3, 1900).carried_bytes, 2_501_000);
}

#[test]
fn the_highest_rate_decays_slowly_and_only_under_traffic() {
    let most = capacity(Some(10e6), 2e6, HALF_LIFE_S).unwrap();
    assert!((most - 6e6).abs() < 1.0, "{most}");
    assert_eq!(capacity(Some(10e6), 1e3, 1e6), Some(10e6));
    assert_eq!(capacity(Some(10e6), 12e6, 2.0), Some(12e6));
    assert_eq!(capacity(None, 50e3, 2.0), None);
}
