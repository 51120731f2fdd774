//! The lab as a whole: MPTCP over emulated radios, and what is left when something dies.

mod common;
mod lab_net;

use std::time::Duration;

use joulepath_linux::mptcp::info;
use joulepath_linux::mptcp::socket::Protocol;

use lab_net::{connect, download, lab};

/// Two radios, 30 Mbit/s in all.
const TWO_PATHS: &str = r#"
title = "two paths"
duration = "30 s"
[[path]]
name = "wifi"
rate = "20 Mbit/s"
delay = "10 ms"
energy = { per_mbps = "100 mW", active = "1 W" }
[[path]]
name = "lte"
rate = "10 Mbit/s"
delay = "20 ms"
energy = "lte-huang2012"
"#;

#[test]
fn a_connection_fills_both_paths() {
    let Some(_machine) = common::machine() else { return };
    for ipv6 in [false, true] {
        let mut lab = lab(TWO_PATHS, |spec| spec.ipv6 = ipv6);
        lab.announce(1, false).unwrap();
        let mut pair = connect(&lab, 0, Protocol::Mptcp);
        std::thread::sleep(Duration::from_millis(300));
        let before = lab.snapshot().unwrap();
        let bytes = download(&mut pair, Duration::from_secs(4));
        let reading = lab.snapshot().unwrap();
        println!("{bytes} {} bit/s\n{reading:#?}\n{before:?}", bytes * 8 / 4);
    }
}
