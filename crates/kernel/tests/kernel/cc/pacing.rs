//! A pacing limit in the controllers' map works without any qdisc, by TCP's own timer. It uses
//! SO_MAX_PACING_RATE, which the application may set, too.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::cc::{Control, ControlKey, Field, Lease, Registered};
use joulepath_kernel::mptcp::socket::Protocol;

use super::running::{Pair, listener, netns, register, using};
use joulepath_testbed::net::Net;

/// Bytes.
const BURST: usize = 500_000;
/// Bytes/s: a burst takes 2 s, and some tenths of a second without the limit.
const PACING: u32 = 250_000;
const PATIENCE: Duration = Duration::from_secs(60);
/// The kernel's value for no limit.
const UNLIMITED: u64 = u64::MAX;

fn seconds(pair: &Pair) -> f64 {
    let began = Instant::now();
    pair.send(BURST);
    began.elapsed().as_secs_f64()
}

/// Sends bursts until one takes the right time, and returns that time.
#[track_caller]
fn until_a_burst_takes(pair: &Pair, right: impl Fn(f64) -> bool, what: &str) -> f64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let took_s = seconds(pair);
        if right(took_s) {
            return took_s;
        }
        assert!(
            Instant::now() < deadline,
            "{what}: a burst took {took_s:.3} s"
        );
    }
}

fn interface(net: &Net) -> ControlKey {
    ControlKey::Interface {
        netns: netns(net),
        ifindex: net.paths[0].device,
    }
}

fn pace(registered: &Registered, net: &Net, rate: u32) {
    registered
        .controls()
        .set(interface(net), Control::Pacing(rate), Lease::WithTheMap)
        .unwrap();
}

#[test(needs(NET, BPF))]
fn a_pacing_limit_slows_a_subflow_until_it_is_cleared() {
    let (net, registered) = (Net::v4(1), register("reno"));
    let options = using(&registered);
    let listener = listener(&net, &options);
    let pair = Pair::open(&net, &listener, Protocol::Mptcp, &options);
    let free_s = until_a_burst_takes(&pair, |s| s < 1.0, "a free subflow is fast");

    pace(&registered, &net, PACING);
    // The subflow reads the limit within 100 ms. From then on a burst takes 2 s, less what leaves
    // at once.
    let paced_s = until_a_burst_takes(&pair, |s| s > 1.6, "a paced subflow is slow");
    // A renewed energy cost does not change the limit.
    registered
        .controls()
        .set(interface(&net), Control::EnergyCost(2.0), Lease::WithTheMap)
        .unwrap();
    let again_s = [seconds(&pair), seconds(&pair)];
    assert!(
        again_s.iter().all(|&s| s > 1.6),
        "{BURST} bytes came in {again_s:?} s"
    );
    println!("free {free_s:.3} s, paced {paced_s:.3} and {again_s:.3?} s");

    registered
        .controls()
        .clear(interface(&net), Field::Pacing)
        .unwrap();
    until_a_burst_takes(&pair, |s| s < 1.0, "a subflow without a limit is fast");
}

/// SO_MAX_PACING_RATE of a socket, bytes/s.
fn limit_of(socket: &TcpStream) -> u64 {
    let (mut limit, mut length) = (0u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `length` bytes to `limit`.
    let status = unsafe {
        let fd = socket.as_raw_fd();
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw mut limit).cast(),
            &raw mut length,
        )
    };
    assert_eq!(status, 0, "{}", io::Error::last_os_error());
    limit
}

fn set_limit(socket: &TcpStream, limit: u64) {
    let length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `limit`.
    let status = unsafe {
        let fd = socket.as_raw_fd();
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const limit).cast(),
            length,
        )
    };
    assert_eq!(status, 0, "{}", io::Error::last_os_error());
}

/// Sends small amounts until the client's limit is `expected`.
#[track_caller]
fn until_limit(pair: &Pair, expected: u64) {
    let deadline = Instant::now() + PATIENCE;
    while limit_of(pair.client()) != expected {
        assert!(
            Instant::now() < deadline,
            "{} instead of {expected}",
            limit_of(pair.client())
        );
        pair.send(2_000);
        thread::sleep(Duration::from_millis(2));
    }
}

#[test(needs(NET, BPF))]
fn the_lower_limit_applies_and_the_applications_is_restored() {
    let (net, registered) = (Net::v4(1), register("reno"));
    let options = using(&registered);
    let listener = listener(&net, &options);
    // Plain TCP: MPTCP sockets do not have the option.
    let pair = Pair::open(&net, &listener, Protocol::Tcp, &options);
    assert_eq!(limit_of(pair.client()), UNLIMITED);
    set_limit(pair.client(), 5_000_000);

    // The lower limit applies, whichever it is.
    pace(&registered, &net, 9_000_000);
    until_limit(&pair, 5_000_000);
    pace(&registered, &net, 3_000_000);
    until_limit(&pair, 3_000_000);
    // The application changes its limit meanwhile.
    set_limit(pair.client(), 2_000_000);
    until_limit(&pair, 2_000_000);
    set_limit(pair.client(), 8_000_000);
    until_limit(&pair, 3_000_000);
    // The application's limit is restored when ours is cleared.
    registered
        .controls()
        .clear(interface(&net), Field::Pacing)
        .unwrap();
    until_limit(&pair, 8_000_000);
}

#[test(needs(NET, BPF))]
fn no_limit_remains_after_the_lease() {
    let (net, registered) = (Net::v4(1), register("reno"));
    let options = using(&registered);
    let listener = listener(&net, &options);
    let pair = Pair::open(&net, &listener, Protocol::Tcp, &options);
    let lease = Lease::For(Duration::from_secs(1));
    registered
        .controls()
        .set(interface(&net), Control::Pacing(3_000_000), lease)
        .unwrap();
    until_limit(&pair, 3_000_000);
    // The limit ends with its lease, as if its writer had died.
    until_limit(&pair, UNLIMITED);
}

#[test(needs(NET, BPF))]
fn another_controller_ends_the_pacing_of_a_socket() {
    let (net, registered) = (Net::v4(1), register("reno"));
    let options = using(&registered);
    let listener = listener(&net, &options);
    let pair = Pair::open(&net, &listener, Protocol::Tcp, &options);
    pace(&registered, &net, PACING);
    until_limit(&pair, u64::from(PACING));
    assert!(seconds(&pair) > 1.6);
    rustix::net::sockopt::set_tcp_congestion(pair.client(), "reno").unwrap();
    // The kernel lets no controller set an option when it is released: the value stays, the timer
    // does not.
    assert_eq!(limit_of(pair.client()), u64::from(PACING));
    until_a_burst_takes(
        &pair,
        |s| s < 1.0,
        "a socket with another controller is fast",
    );
}
