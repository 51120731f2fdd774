//! Server and client of a run, over cables without a rate.

use std::time::Duration;

use joulepath_linux::error::{Error, Result};
use joulepath_linux::mptcp::MAX_SUBFLOWS;
use joulepath_linux::mptcp::socket::{Options, Protocol, listen};
use joulepath_linux::traffic::{
    CLIENT, Command, ConnectionSpec, Event, Outcome, Pair, PathSpec, Spec, Workload, clock_ns,
};
use joulepath_linux::{Program, Worker};

use crate::attempts::attempts;
use crate::common::machine;
use crate::net::Net;

const PATIENCE: Duration = Duration::from_secs(20);
const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_joulepath-worker"))
}

/// One bulk download over all paths of `net`, for `duration_ns`.
fn spec(net: &Net, duration_ns: u64) -> Spec {
    let path = |(i, path): (usize, &crate::net::Path)| PathSpec {
        name: format!("path{i}"),
        client: path.ip,
        interface: path.device,
        server: net.server_ip,
        start_ns: 0,
        backup: false,
    };
    Spec {
        seed: 1,
        duration_ns,
        warm_up_ns: 0,
        sample_every_ns: 10 * MS,
        series: false,
        join_within_ns: Some(10 * S),
        steered: false,
        paths: net.paths.iter().enumerate().map(path).collect(),
        connections: vec![bulk(net.paths.len())],
    }
}

fn bulk(paths: usize) -> ConnectionSpec {
    ConnectionSpec {
        name: "bulk".into(),
        under_test: true,
        protocol: Protocol::Mptcp,
        congestion: "reno".into(),
        paths: (0..paths).collect(),
        workload: Workload::Bulk,
        download: true,
        start_ns: 0,
        receive_buffer_bytes: Some(1 << 20),
        send_buffer_bytes: Some(1 << 20),
    }
}

fn started(net: &Net, spec: &Spec) -> Result<Pair> {
    let mut pair = Pair::start(spec.clone(), &net.server, &net.client, &program())?;
    pair.begin(clock_ns() + 20 * MS)?;
    Ok(pair)
}

fn run(net: &Net, spec: &Spec) -> Result<Outcome> {
    started(net, spec)?.finish(|| false)
}

fn file(bytes: u64) -> Workload {
    Workload::File { bytes }
}

#[test]
fn a_hundred_megabytes_arrive_intact_in_both_directions() {
    let Some(_machine) = machine() else { return };
    const BYTES: u64 = 100_000_000;
    for download in [true, false] {
        let net = Net::v4(2);
        let mut spec = spec(&net, 120 * S);
        spec.connections[0] = ConnectionSpec { workload: file(BYTES), download, ..bulk(2) };
        // The kernel opens the second path when it comes to it, and on a busy machine all may have gone over the first by then.
        let both = |outcome: &Outcome| outcome.paths.iter().all(|path| path.share > 0.02);
        let transfer = || {
            // The receiver compares every byte; a difference fails the run.
            let outcome = run(&net, &spec).unwrap();
            assert_eq!(outcome.delivered_bits, BYTES as f64 * 8.0);
            outcome
        };
        let outcome = attempts(transfer, both);
        let completion_s = outcome.completion_s.unwrap();
        assert!(completion_s > 0.0 && completion_s < 60.0, "{completion_s} s");
        assert!((outcome.measured_s - completion_s).abs() < 1e-9);
        // Both paths are used, and what the subflows brought is what arrived, but for what came twice.
        let brought: f64 = outcome.paths.iter().map(|path| path.goodput_bps * outcome.measured_s / 8.0).sum();
        assert!((BYTES as f64..1.2 * BYTES as f64).contains(&brought), "{brought} bytes, {outcome:#?}");
        assert!(both(&outcome), "{:#?}", outcome.paths);
    }
}

#[test]
fn a_run_over_eight_ipv6_paths_uses_all_of_them() {
    let Some(_machine) = machine() else { return };
    let net = Net::v6(MAX_SUBFLOWS as u8);
    let mut spec = spec(&net, 2 * S);
    spec.warm_up_ns = S;
    let outcome = run(&net, &spec).unwrap();
    assert!((outcome.measured_s - 1.0).abs() < 1e-9);
    assert!(outcome.goodput_bps > 10e6, "{outcome:#?}");
    for path in &outcome.paths {
        assert!(path.segments > 0 && path.opened_s.is_some(), "{outcome:#?}");
        assert!(path.mean_cwnd >= 2.0 && path.mean_rtt_s.is_some(), "{outcome:#?}");
    }
}

#[test]
fn messages_come_as_often_as_they_were_drawn_and_at_once() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(2);
    for download in [true, false] {
        let mut spec = spec(&net, 3 * S);
        spec.warm_up_ns = S;
        let workload = Workload::Messages { mean_gap_ns: 5 * MS, bytes: 3_000 };
        spec.connections[0] = ConnectionSpec { workload, download, ..bulk(2) };
        let at_once = |outcome: &Outcome| outcome.delay.as_ref().is_some_and(|delay| delay.p50_s < 0.02);
        let outcome = attempts(|| run(&net, &spec).unwrap(), at_once);
        let delay = outcome.delay.as_ref().unwrap();
        // 2 s at 200 per second: 400 ± 20, five deviations; the goodput is theirs.
        assert!((300..500).contains(&delay.count), "{delay:?}");
        let rate = delay.count as f64 * 3_000.0 * 8.0 / 2.0;
        assert!((outcome.goodput_bps / rate - 1.0).abs() < 0.02, "{outcome:#?}");
        // A busy machine may be late, but not for most of them.
        assert!(at_once(&outcome), "{delay:?}");
    }
}

#[test]
fn two_runs_with_a_seed_write_the_same_and_another_seed_does_not() {
    let Some(_machine) = machine() else { return };
    let count = |seed| {
        // Its own: the last run's connection may still hold its ports.
        let net = Net::v4(1);
        let mut spec = Spec { seed, ..spec(&net, S) };
        let workload = Workload::Messages { mean_gap_ns: 2 * MS, bytes: 100 };
        spec.connections[0] = ConnectionSpec { workload, ..bulk(1) };
        run(&net, &spec).unwrap().delay.map_or(0, |delay| delay.count)
    };
    // Five deviations of a Poisson count.
    let is_drawn = |count: &u64| count.abs_diff(500) < 112;
    // The handshake's length and the last messages' delay leave room for a few.
    let alike = |[one, two]: &[u64; 2]| is_drawn(one) && one.abs_diff(*two) <= 3;
    let same = attempts(|| [count(1), count(1)], alike);
    assert!(alike(&same), "{same:?}");
    let other = attempts(|| count(2), is_drawn);
    assert!(is_drawn(&other), "{other}");
}

#[test]
fn a_stream_has_its_rate_while_it_is_on() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(2);
    let mut spec = spec(&net, 2 * S);
    let workload =
        Workload::Stream { rate_bps: 8_000_000, interval_ns: 10 * MS, on_ns: 500 * MS, off_ns: 500 * MS };
    spec.connections[0] = ConnectionSpec { workload, ..bulk(2) };
    // Half of the time: 4 Mbit/s, in writes of 10 kB, 50 per period; the last may be on its way.
    let right = |outcome: &Outcome| {
        let written = outcome.delay.as_ref().map_or(0, |delay| delay.count);
        (outcome.goodput_bps / 4e6 - 1.0).abs() < 0.02 && (98..=100).contains(&written)
    };
    let outcome = attempts(|| run(&net, &spec).unwrap(), right);
    assert!(right(&outcome), "{outcome:#?}");
}

#[test]
fn requests_follow_each_other_after_thinking() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(2);
    let mut spec = spec(&net, 2 * S);
    let workload = Workload::Requests { bytes: 50_000, think_ns: 20 * MS };
    spec.connections[0] = ConnectionSpec { workload, ..bulk(2) };
    // As many rounds of thinking and waiting as there is time.
    let right = |outcome: &Outcome| {
        outcome.delay.as_ref().is_some_and(|delay| {
            let expected = 2.0 / (0.020 + delay.mean_s);
            (delay.count as f64 / expected - 1.0).abs() < 0.1 && delay.mean_s > 0.0 && delay.p50_s < 0.02
        })
    };
    let outcome = attempts(|| run(&net, &spec).unwrap(), right);
    assert!(right(&outcome), "{outcome:#?}");
}

#[test]
fn connections_over_other_paths_get_their_own_subflows_from_user_space() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(3);
    let mut spec = spec(&net, 2 * S);
    spec.paths[2].start_ns = 500 * MS;
    let group = |name: &str, paths: Vec<usize>| ConnectionSpec { name: name.into(), paths, ..bulk(3) };
    spec.connections = vec![group("both", vec![0, 2]), group("other", vec![1, 0])];
    let outcome = run(&net, &spec).unwrap();
    assert_eq!(outcome.connections_bps.len(), 2);
    assert!(outcome.connections_bps.iter().all(|bps| *bps > 1e6), "{outcome:#?}");
    let opened_s: Vec<f64> = outcome.paths.iter().map(|path| path.opened_s.unwrap()).collect();
    assert!(opened_s[0] < 0.4 && opened_s[1] < 0.4 && (0.5..2.0).contains(&opened_s[2]), "{opened_s:?}");
    assert!(outcome.paths.iter().all(|path| path.share > 0.0), "{outcome:#?}");
}

#[test]
fn a_first_path_that_is_a_backup_rests_as_soon_as_there_is_another() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(2);
    let mut spec = spec(&net, 3 * S);
    spec.warm_up_ns = 3 * S / 2;
    spec.paths[0].backup = true;
    let outcome = run(&net, &spec).unwrap();
    assert_eq!((outcome.paths[0].share, outcome.paths[1].share), (0.0, 1.0), "{outcome:#?}");
}

#[test]
fn competitors_are_plain_tcp_and_counted_apart() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(2);
    let mut spec = spec(&net, 2 * S);
    spec.series = true;
    let rival = ConnectionSpec {
        name: "rival".into(),
        under_test: false,
        protocol: Protocol::Tcp,
        congestion: "bbr".into(),
        paths: vec![1],
        ..bulk(1)
    };
    spec.connections.push(rival);
    let outcome = run(&net, &spec).unwrap();
    assert_eq!(outcome.connections_bps.len(), 1);
    assert!(outcome.competitors_bps > 1e6 && outcome.goodput_bps > 1e6, "{outcome:#?}");
    // The series adds up to the goodput: samples are taken until the end.
    let series = outcome.series.unwrap();
    let sum = |rates: &Vec<f64>| -> f64 {
        let mut last_s = 0.0;
        let bits = rates
            .iter()
            .zip(&series.time_s)
            .map(|(bps, at)| bps * (at - std::mem::replace(&mut last_s, *at)));
        bits.sum()
    };
    let bits: f64 = series.goodput_bps.iter().map(sum).sum();
    let part = bits / outcome.goodput_bps / outcome.measured_s;
    assert!((0.9..1.1).contains(&part), "{part}");
    assert!(
        series.cwnd.iter().flatten().all(|cwnd| *cwnd >= 0.0)
            && series.cwnd[0].iter().any(|cwnd| *cwnd > 0.0)
    );
}

#[test]
fn many_files_at_once_all_arrive() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(2);
    let mut spec = spec(&net, 120 * S);
    let one = ConnectionSpec { workload: file(200_000), ..bulk(2) };
    spec.connections = (0..500).map(|i| ConnectionSpec { start_ns: i * 2 * MS, ..one.clone() }).collect();
    spec.sample_every_ns = Spec::sample_period_ns(500);
    let outcome = run(&net, &spec).unwrap();
    assert_eq!(outcome.delivered_bits, 500.0 * 200_000.0 * 8.0);
    assert!(outcome.finished_s.iter().all(Option::is_some) && outcome.completion_s.is_some());
}

#[test]
fn a_fallback_fails_the_run() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(1);
    let spec = spec(&net, 5 * S);
    // The client alone: whoever answers here does not speak MPTCP.
    let at = net.server_at(joulepath_linux::traffic::MPTCP_PORT);
    let _listener =
        net.server.enter_thread(|| listen(Protocol::Tcp, at, &Options::default(), 1)).unwrap().unwrap();
    let mut client = Worker::spawn(CLIENT, &spec, Some(&net.client), &program()).unwrap();
    assert_eq!(client.receive::<Event>(PATIENCE).unwrap(), Event::Ready);
    client.send(&Command::Begin { at_ns: clock_ns() }).unwrap();
    let error = client.receive::<Event>(PATIENCE).unwrap_err();
    assert!(error.to_string().contains("fell back to plain TCP"), "{error}");
}

#[test]
fn a_path_that_does_not_come_up_is_named() {
    let Some(_machine) = machine() else { return };
    for first in [vec![0, 1], vec![0, 2, 1]] {
        let net = Net::v4(3);
        net.set_cable(1, false);
        let mut spec = spec(&net, 10 * S);
        spec.join_within_ns = Some(500 * MS);
        // Uniform and not: in-kernel path manager and user space.
        spec.connections = vec![ConnectionSpec { paths: first.clone(), ..bulk(3) }];
        if first.len() == 3 {
            spec.connections.push(ConnectionSpec { paths: vec![0, 2], ..bulk(3) });
        }
        let error = run(&net, &spec).unwrap_err();
        assert!(error.to_string().contains("over path1 did not come up within 0.5 s"), "{error}");
    }
}

#[test]
fn an_end_that_is_killed_is_named_and_the_other_says_what_it_lost() {
    let Some(_machine) = machine() else { return };
    for kill_server in [true, false] {
        let mut patience = Duration::ZERO;
        let kill = || {
            // The connection has to be there; on a busy machine that takes its time.
            patience += Duration::from_millis(500);
            error_of_a_killed_end(kill_server, patience)
        };
        let role = if kill_server { "traffic-server" } else { "traffic-client" };
        let error = attempts(kill, |error| error.contains("the connection bulk ended in mid-run"));
        assert!(error.contains(&format!("{role} was killed by signal 9")), "{error}");
        assert!(error.contains("the connection bulk ended in mid-run"), "{error}");
    }
}

/// What a run ends with of which an end is killed so long after its beginning.
fn error_of_a_killed_end(is_server: bool, after: Duration) -> String {
    let net = Net::v4(2);
    let pair = started(&net, &spec(&net, 20 * S)).unwrap();
    std::thread::sleep(after);
    let victim = if is_server { pair.server.pid() } else { pair.client.pid() };
    let pid = rustix::process::Pid::from_raw(victim as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    pair.finish(|| false).unwrap_err().to_string()
}
#[test]
fn a_controller_that_is_not_loaded_is_named_with_its_remedy() {
    let Some(_machine) = machine() else { return };
    let net = Net::v4(1);
    let mut spec = spec(&net, S);
    spec.connections[0].congestion = "jp_nothing".into();
    let error = run(&net, &spec).unwrap_err();
    assert_eq!(error.remedy(), Some("sudo joulepath cc load nothing"), "{error}");
    assert!(matches!(error, Error::Unsupported { .. }));
}
