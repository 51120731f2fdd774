//! Examines many connections, half of them MPTCP with two subflows, half TCP, and prints their
//! number.
//!
//! `many N`. `scripts/instructions.py` counts the instructions of this program.

use std::borrow::Cow;
use std::process::ExitCode;

use joulepath_kernel::mptcp::diag::Listing;
use joulepath_why::observation::{Host, Observation, SCHEMA, Sample};
use joulepath_why::report::examine;
use serde_json::{Value, json};

/// `joulepath why` takes this many samples in 6 s.
const SAMPLES: u64 = 25;

fn info(sample: u64) -> Value {
    json!({
        "state": "established", "recovery": "open", "backoff": 0, "app_limited": false, "rto_us": 240_000,
        "send_mss_bytes": 1460, "srtt_us": 40_000, "rtt_variation_us": 0, "min_rtt_us": 40_000,
        "cwnd_packets": 20, "ssthresh_packets": 0, "unacked_packets": 20, "lost_packets": 0, "heard_ms": 10,
        "data_sent_ms": 0, "receive_rtt_us": 0, "out_of_order_segments": 0,
        "retransmitted_segments": 5 * sample, "pacing_rate_bytes_per_s": null,
        "delivery_rate_bytes_per_s": 2_000_000, "acked_bytes": 0, "received_bytes": 0, "segments_out": 0,
        "data_segments_out": 500 * sample, "data_segments_in": 0, "not_sent_bytes": 0,
        "sent_bytes": 730_000 * sample, "retransmitted_bytes": 0, "busy_us": 0,
        "receive_window_limited_us": 0, "send_buffer_limited_us": 0, "delivered_packets": 0,
        "marked_packets": 0, "send_window_bytes": 4_000_000, "receive_window_bytes": 60_000, "timeouts": null,
    })
}

fn socket(number: u64, interface: u64, token: Option<u64>, sample: u64) -> Value {
    let membership = token.map(|token| {
        json!({
            "token": token, "local_id": interface, "remote_id": 0, "joined": interface > 0,
            "opened_locally": true, "backup_locally": false, "backup_remotely": false,
        })
    });
    json!({
        "local": format!("192.0.2.{}:{}", interface + 1, 10_000 + number),
        "remote": format!("198.51.100.{}:443", number % 250), "state": "established", "uid": 1000,
        "inode": 1 + number, "congestion": "reno", "info": info(sample), "membership": membership,
    })
}

fn connection(number: u64, sample: u64) -> Value {
    let subflows = [0, 1].map(|interface| socket(number, interface, Some(number), sample));
    json!({
        "local": subflows[0]["local"], "remote": subflows[0]["remote"], "state": "established", "uid": 1000,
        "inode": 1 + number,
        "info": {
            "token": number, "fallback": false, "remote_key_received": true, "extra_subflows": 1,
            "extra_subflows_max": 2, "subflows": 2, "checksums": false, "write_dsn": 2_000_000,
            "unacked_dsn": 0, "receive_dsn": 0, "counters": null,
        },
        "subflows": subflows,
    })
}

fn listing(number: u64, sample: u64) -> serde_json::Result<Listing> {
    let mptcp: Vec<Value> = (0..number / 2).map(|one| connection(one, sample)).collect();
    let plain: Vec<Value> = (number / 2..number)
        .map(|one| socket(one, 0, None, sample))
        .collect();
    serde_json::from_value(json!({ "connections": mptcp, "plain": plain, "orphans": [] }))
}

fn main() -> ExitCode {
    let number = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(number) = number else {
        eprintln!("many N");
        return ExitCode::from(2);
    };
    let sample = |at: u64| {
        let listing = Cow::Owned(listing(number, at)?);
        Ok(Sample {
            at_s: at as f64 * 0.25,
            listing,
            counters: Cow::default(),
        })
    };
    let samples = match (0..SAMPLES).map(sample).collect::<serde_json::Result<_>>() {
        Ok(samples) => samples,
        Err(error) => {
            eprintln!("many: {error}");
            return ExitCode::FAILURE;
        }
    };
    let seen = Observation {
        schema: SCHEMA,
        samples,
        host: Host::default(),
    };
    let report = examine(&seen, |_| true, &mut |_, _| None);
    println!("{}", report.connections.len());
    ExitCode::SUCCESS
}
