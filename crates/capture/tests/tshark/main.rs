//! Captures of simulated runs, as tshark reads them, compared with the counters of the same runs.

#[macro_use]
extern crate joulepath_testbed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use joulepath_capture::{Capture, End, LIMITS};
use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, load};
use joulepath_packet::{RunOptions, trace};

const RADIOS: &str = "duration = \"20 s\"\n\
    [[path]]\nname = \"wifi\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"40 packets\"\n\
    energy = \"wifi6-2021\"\n\
    [[path]]\nname = \"lte\"\nrate = \"10 Mbit/s\"\ndelay = \"30 ms\"\nqueue = \"60 packets\"\n\
    energy = \"lte-2021\"\n";
const FILE: &str = "[workload]\nkind = \"file\"\nsize = \"3 MB\"\n";
const LOSSY: &str = "[[path]]\nname = \"wifi\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
    queue = \"40 packets\"\nloss = \"1 %\"\nenergy = \"wifi6-2021\"\n\
    [[path]]\nname = \"lte\"\nrate = \"10 Mbit/s\"\ndelay = \"30 ms\"\nqueue = \"60 packets\"\n\
    loss = \"0.5 %\"\nenergy = \"lte-2021\"\n";

fn main() -> ExitCode {
    joulepath_testbed::main(&[])
}

/// A run, and its capture at one end as a file.
struct Captured {
    scenario: Arc<Scenario>,
    result: RunResult,
    file: tempfile::NamedTempFile,
}

impl Captured {
    fn new(toml: &str, policy: &str, end: End) -> Self {
        let scenario = load(&format!("title = \"a test\"\n{toml}"), &|name| {
            Err(format!("no file {name}"))
        });
        let scenario = Arc::new(scenario.unwrap_or_else(|errors| panic!("{errors}")));
        let setup = Setup::of(&policy.parse().unwrap(), &scenario).unwrap();
        let result = joulepath_packet::run(&scenario, &setup, 1, RunOptions::default()).unwrap();
        let traced = trace(Arc::clone(&scenario), &setup, 1, &LIMITS, &Cancel::new()).unwrap();
        let file = tempfile::Builder::new()
            .suffix(".pcapng")
            .tempfile()
            .unwrap();
        let capture = Capture::new(&scenario, &traced).unwrap();
        let bytes = capture.pcapng(end, "a test");
        std::fs::write(file.path(), bytes).unwrap();
        Captured {
            scenario,
            result,
            file,
        }
    }

    /// The fields of the packets that match a filter.
    fn fields(&self, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
        tshark(self.file.path(), filter, fields)
    }

    fn count(&self, filter: &str) -> usize {
        self.fields(filter, &["frame.number"]).len()
    }
}

fn tshark(file: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file);
    command.args([
        "-o",
        "tcp.check_checksum:FALSE",
        "-o",
        "mptcp.analyze_mappings:TRUE",
        "-o",
        "mptcp.intersubflows_retransmission:TRUE",
    ]);
    command.args(["-Y", filter, "-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().expect("tshark is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

/// The values of one field.
fn column(rows: Vec<Vec<String>>) -> Vec<String> {
    rows.into_iter().map(|row| row[0].clone()).collect()
}

#[test(needs(tool("tshark")))]
fn no_packet_is_malformed() {
    for end in End::ALL {
        for direction in ["", "direction = \"upload\"\n"] {
            let toml = format!("duration = \"20 s\"\n{LOSSY}{FILE}{direction}");
            let captured = Captured::new(&toml, "mptcp", end);
            let malformed = "_ws.malformed || _ws.expert.severity == error || !tcp";
            assert_eq!(captured.count(malformed), 0, "{end:?} {direction}");
        }
    }
}

/// Reinjections have new subflow sequence numbers, so they are no retransmissions of TCP.
#[test(needs(tool("tshark")))]
fn retransmissions_are_those_of_the_run() {
    let captured = Captured::new(
        &format!("duration = \"20 s\"\n{LOSSY}{FILE}"),
        "mptcp",
        End::Server,
    );
    let mut sent: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for row in captured.fields("tcp.len > 0", &["ip.dst", "tcp.seq_raw"]) {
        *sent
            .entry(row[0].clone())
            .or_default()
            .entry(row[1].clone())
            .or_default() += 1;
    }
    let again: Vec<u64> = sent
        .values()
        .map(|numbers| numbers.values().map(|times| times - 1).sum())
        .collect();
    let counted: Vec<u64> = captured
        .result
        .paths
        .iter()
        .map(|path| path.retransmissions)
        .collect();
    assert_eq!(again, counted);
    assert!(counted.iter().sum::<u64>() > 0);
    let analysed =
        captured.count("tcp.analysis.retransmission || tcp.analysis.fast_retransmission");
    assert!(analysed as u64 <= counted.iter().sum(), "{analysed}");
}

#[test(needs(tool("tshark")))]
fn subflows_belong_to_one_connection_whose_data_is_complete() {
    for upload in [false, true] {
        let direction = if upload {
            "direction = \"upload\"\n"
        } else {
            ""
        };
        let end = if upload { End::Client } else { End::Server };
        let toml = format!("duration = \"20 s\"\n{LOSSY}{FILE}{direction}");
        let captured = Captured::new(&toml, "mptcp", end);
        let streams: BTreeSet<_> = column(captured.fields("mptcp.stream", &["mptcp.stream"]))
            .into_iter()
            .collect();
        assert_eq!(streams, BTreeSet::from(["0".to_owned()]), "{upload}");
        // All bytes of the file have a data sequence number.
        let mut bytes: BTreeSet<(u64, u64)> = BTreeSet::new();
        for row in captured.fields(
            "tcp.len > 0 && tcp.options.mptcp.rawdataseqno",
            &["tcp.options.mptcp.rawdataseqno", "tcp.len"],
        ) {
            bytes.insert((row[0].parse().unwrap(), row[1].parse().unwrap()));
        }
        let (first, _) = *bytes.first().unwrap();
        let mut next = first;
        for (number, length) in bytes {
            assert!(number <= next, "{upload}: hole at {}", next - first);
            next = next.max(number + length);
        }
        // An upload's first segment carries keys in place of a mapping.
        let mss = captured.scenario.transport.mss.0;
        let without = if upload { mss } else { 0 };
        assert_eq!(next - first, 3_000_000 - without, "{upload}");
    }
}

/// A stream that leaves the queues empty: each segment has an RTT of its own.
#[test(needs(tool("tshark")))]
fn round_trips_are_those_of_the_run() {
    let stream = "[workload]\nkind = \"stream\"\nrate = \"200 kbit/s\"\n";
    let captured = Captured::new(&format!("{RADIOS}{stream}"), "mptcp", End::Server);
    let rtts: Vec<f64> = column(captured.fields(
        "tcp.analysis.ack_rtt && ip.src == 10.0.0.2 && tcp.flags.syn == 0",
        &["tcp.analysis.ack_rtt"],
    ))
    .iter()
    .map(|text| text.parse().unwrap())
    .collect();
    let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
    let of_run = captured.result.paths[0].mean_rtt_s.unwrap();
    assert!(rtts.len() > 100, "{}", rtts.len());
    assert!((mean / of_run - 1.0).abs() < 0.02, "{mean} {of_run}");
}

#[test(needs(tool("tshark")))]
fn the_clients_capture_names_interfaces_radios_and_joules() {
    let captured = Captured::new(&format!("{RADIOS}{FILE}"), "mptcp", End::Client);
    let names: BTreeSet<_> = column(captured.fields("tcp", &["frame.interface_name"]))
        .into_iter()
        .collect();
    assert_eq!(names, BTreeSet::from(["lte".to_owned(), "wifi".to_owned()]));
    let comments = column(captured.fields("frame.comment", &["frame.comment"]));
    assert!(
        comments
            .iter()
            .any(|text| text.contains("lte: radio active from")),
        "{comments:?}"
    );
}
