//! Server and client of a run, over cables without a rate limit.

use std::time::{Duration, Instant};

use joulepath_kernel::Error as KernelError;
use joulepath_kernel::mptcp::diag;
use joulepath_kernel::mptcp::socket::{Options, Protocol, listen};
use joulepath_lab::traffic::{
    CLIENT, Command, ConnectionLook, ConnectionSpec, Event, Further, Outcome, Pair, PathSpec, Spec,
    Workload, clock_ns,
};
use joulepath_lab::{Error, Program, Result, Worker};
use joulepath_link::writes::Writes;
use joulepath_model::cancel::Cancel;
use joulepath_model::units::Nanos;
use joulepath_testbed::net::Net;
use joulepath_testbed::observe::wait_until;
use rustix::process::{Pid, Signal, kill_process};

const PATIENCE: Duration = Duration::from_secs(20);
const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_joulepath-worker"))
}

/// A bulk download over all paths of `net` for `duration_ns`.
fn spec(net: &Net, duration_ns: u64) -> Spec {
    let path = |(i, path): (usize, &joulepath_testbed::net::Path)| PathSpec {
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
        further: Further::Client,
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
        lab_window_bytes: None,
        mss_bytes: 1448,
        send_buffer_bytes: Some(1 << 20),
    }
}

fn started(net: &Net, spec: &Spec) -> Result<Pair> {
    let mut pair = Pair::start(
        spec.clone(),
        &net.server,
        &net.client,
        &program(),
        &Cancel::new(),
    )?;
    pair.begin(clock_ns() + 20 * MS)?;
    Ok(pair)
}

fn run(net: &Net, spec: &Spec) -> Result<Outcome> {
    started(net, spec)?.finish()
}

fn file(bytes: u64) -> Workload {
    Workload::File { bytes }
}

#[test(needs(NET))]
fn a_hundred_megabytes_arrive_intact_in_both_directions() {
    const BYTES: u64 = 100_000_000;
    for download in [true, false] {
        let net = Net::v4(2);
        let mut spec = spec(&net, 120 * S);
        spec.connections[0] = ConnectionSpec {
            workload: file(BYTES),
            download,
            ..bulk(2)
        };
        // The receiver compares every byte; a difference fails the run.
        let outcome = run(&net, &spec).unwrap();
        assert_eq!(outcome.delivered_bits, BYTES as f64 * 8.0);
        let completion_s = outcome.completion_s.unwrap();
        assert!(
            completion_s > 0.0 && (outcome.measured_s - completion_s).abs() < 1e-9,
            "{outcome:#?}"
        );
        // The subflows delivered what arrived, and some duplicates.
        let brought: f64 = outcome
            .paths
            .iter()
            .map(|path| path.goodput_bps * outcome.measured_s / 8.0)
            .sum();
        assert!(
            (BYTES as f64..1.2 * BYTES as f64).contains(&brought),
            "{brought} bytes, {outcome:#?}"
        );
    }
}

#[test(needs(NET))]
fn data_that_arrives_before_a_busy_end_is_scheduled_counts() {
    const BYTES: u64 = 1_000_000;
    let net = Net::v4(1);
    let mut spec = spec(&net, 120 * S);
    spec.connections[0] = ConnectionSpec {
        workload: file(BYTES),
        download: false,
        ..bulk(1)
    };
    let mut pair = Pair::start(
        spec.clone(),
        &net.server,
        &net.client,
        &program(),
        &Cancel::new(),
    )
    .unwrap();
    let server = Pid::from_raw(pair.server.pid() as i32).unwrap();
    // Stopped at the start of the run: its kernel accepts the client and a first window of data.
    kill_process(server, Signal::STOP).unwrap();
    pair.begin(clock_ns() + 20 * MS).unwrap();
    wait_until("the server's kernel has taken data", || {
        let listing = net.client.enter_thread(diag::list).unwrap().unwrap();
        let mut subflows = listing
            .connections
            .iter()
            .flat_map(|connection| &connection.subflows);
        subflows.any(|subflow| {
            subflow
                .info
                .as_ref()
                .is_some_and(|tcp| tcp.acked_bytes >= 30_000)
        })
    });
    kill_process(server, Signal::CONT).unwrap();
    let outcome = pair.finish().unwrap();
    assert_eq!(outcome.delivered_bits, BYTES as f64 * 8.0);
    let brought = outcome.paths[0].goodput_bps * outcome.measured_s / 8.0;
    assert!(
        brought > BYTES as f64 - 0.5,
        "{brought} bytes, {outcome:#?}"
    );
}

const MESSAGES: Workload = waiting(0);

/// Messages that wait for up to `tolerance_ns`.
const fn waiting(tolerance_ns: u64) -> Workload {
    Workload::Messages {
        mean_gap_ns: 5 * MS,
        bytes: 3_000,
        tolerance_ns,
    }
}

fn messages(workload: Workload, download: bool) -> (Outcome, u64) {
    let net = Net::v4(2);
    let mut spec = spec(&net, 3 * S);
    spec.warm_up_ns = S;
    spec.connections[0] = ConnectionSpec {
        workload,
        download,
        ..bulk(2)
    };
    let outcome = run(&net, &spec).unwrap();
    let count = outcome.delay.as_ref().unwrap().count;
    (outcome, count)
}

#[test(needs(NET))]
fn messages_of_both_directions_count_as_goodput() {
    for download in [true, false] {
        let (outcome, count) = messages(MESSAGES, download);
        // 2 s at 200 per second: 400 ± 20. A tenth is allowed for messages in flight at either end,
        // and for messages that a busy machine delays: as many as come within the longest delay.
        let longest = outcome.delay.as_ref().unwrap().p99_s / outcome.measured_s;
        let rate = count as f64 * 3_000.0 * 8.0 / 2.0;
        assert!((300..500).contains(&count), "{outcome:#?}");
        assert!(
            (outcome.goodput_bps / rate - 1.0).abs() < 0.1 + longest,
            "{outcome:#?}"
        );
    }
}

#[test(needs(NET, QUIET_CLOCK))]
fn messages_arrive_at_once() {
    for download in [true, false] {
        let (outcome, _) = messages(MESSAGES, download);
        // Nagle's algorithm or a delayed ACK would delay them by 40 ms.
        assert!(outcome.delay.as_ref().unwrap().p50_s < 0.02, "{outcome:#?}");
    }
}

/// Messages of 200 ms leave together: the oldest has waited for 200 ms, and the median for about
/// 100 ms.
#[test(needs(NET))]
fn messages_wait_for_their_tolerance() {
    for download in [true, false] {
        let (outcome, count) = messages(waiting(200 * MS), download);
        assert!((250..500).contains(&count), "{outcome:#?}");
        let delay = outcome.delay.as_ref().unwrap();
        assert!(delay.p50_s > 0.08 && delay.p99_s > 0.19, "{outcome:#?}");
    }
}

/// Number of messages that a seed draws up to a time.
fn drawn(seed: u64, until_ns: u64) -> u64 {
    let mut writes = Writes::new(MESSAGES.into(), seed, 0, Nanos::from_secs(3_600));
    let mut due = writes.start(Nanos::ZERO).next;
    let mut count = 0;
    while let Some(at) = due.filter(|at| at.0 < until_ns) {
        due = writes.wake(at).next;
        count += 1;
    }
    count
}

#[test(needs(NET))]
fn a_run_writes_the_same_messages_as_the_simulator() {
    for seed in [1, 2] {
        let net = Net::v4(1);
        let mut spec = Spec {
            seed,
            ..spec(&net, 3 * S)
        };
        spec.connections[0] = ConnectionSpec {
            workload: MESSAGES,
            ..bulk(1)
        };
        let count = run(&net, &spec)
            .unwrap()
            .delay
            .map_or(0, |delay| delay.count);
        // The application starts with the connection, some time after the run; the last messages
        // may be in flight.
        let (least, most) = (drawn(seed, 3 * S - S / 4), drawn(seed, 3 * S));
        assert!(
            (least..=most).contains(&count),
            "seed {seed}: {count} of {least} to {most}"
        );
    }
    // Another seed draws other messages.
    assert_ne!(drawn(1, 3 * S), drawn(2, 3 * S));
}

#[test(needs(NET, QUIET_CLOCK))]
fn a_stream_has_its_rate_while_it_is_on() {
    let net = Net::v4(2);
    let mut spec = spec(&net, 2 * S);
    let workload = Workload::Stream {
        rate_bps: 8_000_000,
        interval_ns: 10 * MS,
        on_ns: 500 * MS,
        off_ns: 500 * MS,
    };
    spec.connections[0] = ConnectionSpec {
        workload,
        ..bulk(2)
    };
    // Half of the time: 4 Mbit/s in writes of 10 kB, 50 per period. The last may be in flight.
    let right = |outcome: &Outcome| {
        let written = outcome.delay.as_ref().map_or(0, |delay| delay.count);
        (outcome.goodput_bps / 4e6 - 1.0).abs() < 0.02 && (98..=100).contains(&written)
    };
    let outcome = run(&net, &spec).unwrap();
    assert!(right(&outcome), "{outcome:#?}");
}

#[test(needs(NET, QUIET_CLOCK))]
fn a_request_follows_each_answer_after_the_thinking_time() {
    let net = Net::v4(2);
    let mut spec = spec(&net, 2 * S);
    let workload = Workload::Requests {
        bytes: 50_000,
        think_ns: 20 * MS,
    };
    spec.connections[0] = ConnectionSpec {
        workload,
        ..bulk(2)
    };
    // As many rounds of thinking and waiting as fit into the time.
    let right = |outcome: &Outcome| {
        outcome.delay.as_ref().is_some_and(|delay| {
            let expected = 2.0 / (0.020 + delay.mean_s);
            (delay.count as f64 / expected - 1.0).abs() < 0.1
                && delay.mean_s > 0.0
                && delay.p50_s < 0.02
        })
    };
    let outcome = run(&net, &spec).unwrap();
    assert!(right(&outcome), "{outcome:#?}");
}

#[test(needs(NET))]
fn connections_with_different_paths_get_their_subflows_from_user_space() {
    let net = Net::v4(3);
    let mut spec = spec(&net, 4 * S);
    spec.paths[2].start_ns = 500 * MS;
    let group = |name: &str, paths: Vec<usize>| ConnectionSpec {
        name: name.into(),
        paths,
        ..bulk(3)
    };
    spec.connections = vec![group("both", vec![0, 2]), group("other", vec![1, 0])];
    let outcome = run(&net, &spec).unwrap();
    assert_eq!(outcome.connections_bps.len(), 2);
    assert!(
        outcome.connections_bps.iter().all(|bps| *bps > 1e6),
        "{outcome:#?}"
    );
    let opened_s: Vec<f64> = outcome
        .paths
        .iter()
        .map(|path| path.opened_s.unwrap())
        .collect();
    // The third path starts half a second after the others, which do not wait for it.
    assert!(
        opened_s[2] > opened_s[0].max(opened_s[1]) && opened_s[2] >= 0.5,
        "{opened_s:?}"
    );
    assert!(
        outcome.paths.iter().all(|path| path.share > 0.0),
        "{outcome:#?}"
    );
}

/// The states of the connections at the server and at the client.
type Looks = [Vec<ConnectionLook>; 2];

/// Polls both ends until their states are `wanted`.
fn look_until(pair: &mut Pair, what: &str, mut wanted: impl FnMut(&Looks) -> bool) {
    wait_until(what, || {
        pair.look().unwrap();
        let looks = loop {
            pair.listen_until(Instant::now() + PATIENCE).unwrap();
            if let Some(looks) = pair.looks() {
                break looks;
            }
        };
        wanted(&looks)
    });
}

#[test(needs(NET))]
fn a_first_path_as_a_backup_carries_nothing_once_there_is_another() {
    let net = Net::v4(2);
    let mut spec = spec(&net, 100 * S);
    spec.paths[0].backup = true;
    let mut pair = started(&net, &spec).unwrap();
    look_until(
        &mut pair,
        "the sender knows the first subflow as a backup next to another one",
        |[server, _]| {
            let [Some(first), Some(second)] =
                [0, 1].map(|path| server[0].paths.get(path)?.subflow.as_ref())
            else {
                return false;
            };
            first.backup && !second.backup && second.established
        },
    );
    // Data given to it before is acknowledged; then everything uses the other path.
    let mut before: Option<[u64; 2]> = None;
    look_until(
        &mut pair,
        "the first path rests while the second one carries",
        |[server, _]| {
            std::thread::sleep(Duration::from_millis(200));
            let acked = [0, 1].map(|path| server[0].paths[path].acked_bytes);
            let [rests, carries] = before.map_or([false; 2], |[first, second]| {
                [acked[0] == first, acked[1] > second]
            });
            before = Some(acked);
            rests && carries
        },
    );
}

#[test(needs(NET))]
fn competitors_are_plain_tcp_and_counted_separately() {
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
    assert!(
        outcome.competitors_bps > 1e6 && outcome.goodput_bps > 1e6,
        "{outcome:#?}"
    );
    // The series adds up to the goodput up to its last sample, which is early on a busy machine.
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
    let covered = series.time_s.last().unwrap() / outcome.measured_s;
    assert!(covered > 0.5, "the samples end after {covered} of the run");
    assert!(
        (0.9 * covered..1.1).contains(&part),
        "{part} of the data in {covered} of the time"
    );
    assert!(
        series.cwnd.iter().flatten().all(|cwnd| *cwnd >= 0.0)
            && series.cwnd[0].iter().any(|cwnd| *cwnd > 0.0)
    );
}

#[test(needs(NET))]
fn many_files_at_once_all_arrive() {
    let net = Net::v4(2);
    let mut spec = spec(&net, 120 * S);
    let one = ConnectionSpec {
        workload: file(200_000),
        ..bulk(2)
    };
    spec.connections = (0..500)
        .map(|i| ConnectionSpec {
            start_ns: i * 2 * MS,
            ..one.clone()
        })
        .collect();
    spec.sample_every_ns = Spec::sample_period_ns(500);
    let outcome = run(&net, &spec).unwrap();
    assert_eq!(outcome.delivered_bits, 500.0 * 200_000.0 * 8.0);
    assert!(outcome.finished_s.iter().all(Option::is_some) && outcome.completion_s.is_some());
}

#[test(needs(NET))]
fn a_fallback_fails_the_run() {
    let net = Net::v4(1);
    let spec = spec(&net, 5 * S);
    // Only a client: the server here does not support MPTCP.
    let at = net.server_at(joulepath_lab::traffic::MPTCP_PORT);
    let _listener = net
        .server
        .enter_thread(|| listen(Protocol::Tcp, at, &Options::default(), 1))
        .unwrap()
        .unwrap();
    let mut client =
        Worker::spawn(CLIENT, &spec, Some(&net.client), &program(), &Cancel::new()).unwrap();
    assert_eq!(client.receive::<Event>(PATIENCE).unwrap(), Event::Ready);
    client.send(&Command::Begin { at_ns: clock_ns() }).unwrap();
    let error = client.receive::<Event>(PATIENCE).unwrap_err();
    assert!(
        error.to_string().contains("fell back to plain TCP"),
        "{error}"
    );
}

#[test(needs(NET))]
fn a_path_that_does_not_open_is_named() {
    for first in [vec![0, 1], vec![0, 2, 1]] {
        let net = Net::v4(3);
        net.set_cable(1, false);
        let mut spec = spec(&net, 10 * S);
        spec.join_within_ns = Some(500 * MS);
        // Uniform and not: the in-kernel path manager, then the user-space one.
        spec.connections = vec![ConnectionSpec {
            paths: first.clone(),
            ..bulk(3)
        }];
        if first.len() == 3 {
            spec.connections.push(ConnectionSpec {
                paths: vec![0, 2],
                ..bulk(3)
            });
        }
        let error = run(&net, &spec).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("over path1 did not open within 0.5 s"),
            "{error}"
        );
    }
}

#[test(needs(NET))]
fn the_error_names_a_killed_end_and_has_the_other_ends_reason() {
    for role in ["traffic-server", "traffic-client"] {
        let net = Net::v4(2);
        let mut pair = started(&net, &spec(&net, 100 * S)).unwrap();
        look_until(&mut pair, "the connection stands at both ends", |looks| {
            looks
                .iter()
                .all(|connections| connections[0].token.is_some())
        });
        let victim = if role == "traffic-server" {
            pair.server.pid()
        } else {
            pair.client.pid()
        };
        kill_process(Pid::from_raw(victim as i32).unwrap(), Signal::KILL).unwrap();
        let error = pair.finish().unwrap_err().to_string();
        assert!(
            error.contains(&format!("{role} was killed by signal 9")),
            "{error}"
        );
        assert!(
            error.contains("the connection bulk ended during the run"),
            "{error}"
        );
    }
}

#[test(needs(NET))]
fn an_unloaded_controller_is_named_with_its_remedy() {
    let net = Net::v4(1);
    let mut spec = spec(&net, S);
    spec.connections[0].congestion = "jp_nothing".into();
    let error = run(&net, &spec).unwrap_err();
    assert_eq!(
        error.remedy(),
        Some("sudo joulepath cc load nothing"),
        "{error}"
    );
    assert!(matches!(
        error,
        Error::Kernel(KernelError::Unsupported { .. })
    ));
}
