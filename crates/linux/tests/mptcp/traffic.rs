//! Server and client of a run, over cables without a rate.

use std::time::Duration;

use joulepath_linux::Program;
use joulepath_linux::error::{Error, Result};
use joulepath_linux::mptcp::MAX_SUBFLOWS;
use joulepath_linux::mptcp::socket::Protocol;
use joulepath_linux::traffic::{ConnectionSpec, Outcome, Pair, PathSpec, Spec, Workload, clock_ns};

use crate::common::machine;
use crate::net::Net;

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
        // The receiver compares every byte; a difference fails the run.
        let outcome = run(&net, &spec).unwrap();
        assert_eq!(outcome.delivered_bits, BYTES as f64 * 8.0);
        let completion_s = outcome.completion_s.unwrap();
        assert!(completion_s > 0.0 && completion_s < 60.0, "{completion_s} s");
        assert!((outcome.measured_s - completion_s).abs() < 1e-9);
        // Both paths are used, and what the subflows brought is what arrived, but for what came twice.
        let brought: f64 = outcome.paths.iter().map(|path| path.goodput_bps * outcome.measured_s / 8.0).sum();
        assert!((BYTES as f64..1.2 * BYTES as f64).contains(&brought), "{brought} bytes, {outcome:#?}");
        assert!(outcome.paths.iter().all(|path| path.share > 0.02), "{:#?}", outcome.paths);
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
