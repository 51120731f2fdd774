//! Every fix that `joulepath why` prints is applied: it gains what was predicted, and never costs
//! rate. Healthy connections have no finding. The links are emulated, with rate, delay, queue and
//! loss. Not applied: advice without a command, and a route through a gateway whose address only
//! the user knows.

mod broken;
mod case;

use std::time::Duration;

use joulepath_kernel::mptcp::socket::Protocol;

use self::broken::*;
use self::case::{Aim, Case, End, Programs, judge};
use crate::cc::stage::Stage;

/// A NAT forgets a connection that pauses this long.
const FORGETS: Duration = Duration::from_secs(23);
const BBR: &str = "net.ipv4.tcp_available_congestion_control";

#[test(needs(LAB, RATES))]
fn nothing_is_said_of_a_healthy_connection() {
    judge(&[
        HEALTHY,
        Case {
            sender: End::Server,
            watched: End::Server,
            ..HEALTHY
        },
        Case {
            cause: Some("application"),
            programs: Programs {
                bps: Some(1e6),
                ..MPTCP
            },
            ..HEALTHY
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn a_larger_buffer_gains_what_was_predicted() {
    let download = Case {
        cause: Some("receive-buffer"),
        sender: End::Server,
        ..HEALTHY
    };
    let peer = Case {
        cause: Some("peer-buffer"),
        ..HEALTHY
    };
    let small = Programs {
        window: Some(10_000),
        ..MPTCP
    };
    judge(&[
        Case {
            cause: Some("send-buffer"),
            sysctl: Some(WMEM),
            ..HEALTHY
        },
        Case {
            cause: Some("send-buffer"),
            programs: Programs {
                send_buffer: Some(12_000),
                ..MPTCP
            },
            ..HEALTHY
        },
        Case {
            sysctl: Some(RMEM),
            ..download
        },
        Case {
            programs: small,
            ..download
        },
        Case {
            sysctl: Some(NO_GROWTH),
            paths: LONG_WAY,
            ..download
        },
        Case {
            sysctl: Some(PEER_RMEM),
            advised: Some(End::Server),
            ..peer
        },
        Case {
            programs: small,
            ..peer
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn another_controller_gains_what_was_predicted() {
    let known = std::fs::read_to_string(format!("/proc/sys/{}", BBR.replace('.', "/"))).unwrap();
    if !known.split_whitespace().any(|name| name == "bbr") {
        joulepath_testbed::skip("this kernel has no BBR");
    }
    let server = Case {
        sender: End::Server,
        watched: End::Server,
        paths: LOSSY,
        ..HEALTHY
    };
    judge(&[
        Case {
            cause: Some("random-loss"),
            ..server
        },
        Case {
            cause: Some("random-loss"),
            programs: TCP,
            fixed: TCP,
            ..server
        },
        Case {
            cause: Some("bufferbloat"),
            programs: TCP,
            fixed: TCP,
            paths: LONG_QUEUE,
            ..HEALTHY
        },
    ]);
}

/// Paths that the connection does not use, and why.
#[test(needs(LAB, RATES))]
fn a_path_that_was_missing_carries_data_after_the_fix() {
    let without = Case {
        cause: Some("no-endpoint"),
        broken: &[(End::Client, NO_ENDPOINT)],
        ..HEALTHY
    };
    let backup = Case {
        cause: Some("backup"),
        broken: &[(End::Client, BACKUP)],
        ..HEALTHY
    };
    judge(&[
        Case { ..without },
        Case {
            sender: End::Server,
            ..without
        },
        Case {
            sysctl: Some((End::Client, "net.mptcp.path_manager", "userspace")),
            ..without
        },
        Case {
            cause: Some("limits"),
            broken: &[(End::Client, "ip mptcp limits set subflows 0")],
            ..HEALTHY
        },
        Case {
            cause: Some("peer-refuses"),
            broken: &[(End::Server, "ip mptcp limits set subflows 0")],
            advised: Some(End::Server),
            ..HEALTHY
        },
        Case { ..backup },
        Case {
            sender: End::Server,
            ..backup
        },
        Case {
            broken: &[(End::Server, PEER_BACKUP)],
            advised: Some(End::Server),
            ..backup
        },
        Case {
            cause: Some("wrong-device"),
            broken: FILTER,
            ..HEALTHY
        },
        Case {
            cause: Some("wrong-device"),
            broken: UNBOUND,
            ..HEALTHY
        },
        Case {
            cause: Some("wrong-device"),
            broken: NO_ROUTE,
            ..HEALTHY
        },
        Case {
            cause: Some("wrong-device"),
            broken: NO_ROUTE_6,
            ipv6: true,
            ..HEALTHY
        },
        Case {
            cause: Some("mtu"),
            broken: HOLE,
            ..HEALTHY
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn a_connection_without_mptcp_has_both_paths_after_the_fix() {
    let tcp = Protocol::Tcp;
    judge(&[
        Case {
            cause: Some("plain-tcp"),
            programs: Programs {
                client: tcp,
                ..MPTCP
            },
            ..HEALTHY
        },
        Case {
            cause: Some("fallback"),
            programs: Programs {
                server: tcp,
                ..MPTCP
            },
            ..HEALTHY
        },
        Case {
            cause: Some("fallback"),
            broken: STRIPPED,
            repaired: PASSES,
            ..HEALTHY
        },
        Case {
            cause: Some("mptcp-dropped"),
            broken: DROPPED,
            repaired: PASSES,
            ..HEALTHY
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn a_path_that_blocks_or_is_silent_costs_nothing_after_the_fix() {
    let small = Programs {
        window: Some(30_000),
        ..MPTCP
    };
    let blocked = Case {
        cause: Some("head-of-line"),
        programs: small,
        fixed: small,
        sender: End::Server,
        paths: UNEQUAL,
        ..HEALTHY
    };
    let paced = Programs {
        pacing: Some(250_000),
        ..TCP
    };
    judge(&[
        Case { ..blocked },
        Case {
            watched: End::Server,
            advised: Some(End::Client),
            ..blocked
        },
        Case {
            cause: Some("dead-path"),
            later: Some((Duration::ZERO, SILENT)),
            ..HEALTHY
        },
        Case {
            cause: Some("dead-path"),
            broken: &[(End::Client, NO_ENDPOINT)],
            later: Some((Duration::ZERO, SILENT_FIRST)),
            reopens: true,
            ..HEALTHY
        },
        Case {
            cause: Some("stale-subflow"),
            later: Some((FORGETS, FORGOTTEN)),
            ..HEALTHY
        },
        Case {
            cause: Some("pacing-limit"),
            programs: paced,
            fixed: TCP,
            paths: ONE,
            ..HEALTHY
        },
    ]);
}

/// The peer sends on, as one does that ignores MP_PRIO.
#[test(needs(LAB, RATES))]
fn a_backup_that_the_peer_uses_carries_nothing_after_the_fix() {
    let ignored = Case {
        later: Some((Duration::ZERO, DEAF)),
        aim: Aim::Spare,
        ..HEALTHY
    };
    judge(&[Case {
        cause: Some("backup-ignored"),
        sender: End::Server,
        ..ignored
    }]);
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_competitor_gets_its_share_of_a_bottleneck_after_the_fix() {
    let _stage = Stage::new(&["lia"]);
    judge(&[Case {
        cause: Some("shared-bottleneck"),
        is_shared: true,
        aim: Aim::Share,
        ..HEALTHY
    }]);
}
