//! A limit on a subflow's rate, told through the controllers' map, holds without any queueing discipline: TCP has a timer of its own.

use std::time::{Duration, Instant};

use joulepath_linux::cc::{Control, ControlKey};
use joulepath_linux::mptcp::socket::Protocol;

use crate::common::machine;
use crate::net::Net;
use crate::running::{Pair, listener, netns, register, using};

/// Bytes.
const BURST: usize = 500_000;
/// Bytes/s: a burst takes 2 s, some tenths of a second without.
const PACING: u32 = 250_000;
/// Attempts, on a machine that has other things to do.
const ATTEMPTS: usize = 100;

fn seconds(pair: &Pair) -> f64 {
    let began = Instant::now();
    pair.send(BURST);
    began.elapsed().as_secs_f64()
}

#[test]
fn a_subflow_sends_no_faster_than_it_is_told_and_as_fast_as_before_afterwards() {
    let Some(_machine) = machine() else { return };
    let (net, registered) = (Net::v4(1), register("reno"));
    let options = using(&registered);
    let listener = listener(&net, &options);
    let pair = Pair::open(&net, &listener, Protocol::Mptcp, &options);
    let interface = ControlKey::Interface { netns: netns(&net), ifindex: net.paths[0].device };
    let free_s = (0..ATTEMPTS).map(|_| seconds(&pair)).find(|&s| s < 1.0).expect("a free subflow is fast");

    registered.controls().set(interface, Control { pacing: PACING, ..Control::default() }).unwrap();
    // It hears of it at the end of a round trip. From then on a burst takes 2 s, but for what leaves at once.
    let paced_s = (0..ATTEMPTS).map(|_| seconds(&pair)).find(|&s| s > 1.6).expect("a paced subflow is slow");
    let again_s = seconds(&pair);
    assert!(again_s > 1.6, "{BURST} bytes came in {again_s} s");
    println!("free {free_s:.3} s, paced {paced_s:.3} and {again_s:.3} s");

    registered.controls().clear(interface).unwrap();
    std::thread::sleep(Duration::from_millis(10));
    assert!((0..ATTEMPTS).map(|_| seconds(&pair)).any(|s| s < 1.0), "it stays slow");
}
