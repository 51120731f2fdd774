//! The packets of one run as columns of numbers, which JavaScript reads without parsing.
//!
//! The reply names each column with its type and length. The columns follow each other in the
//! attachment in the same order, in little-endian bytes, wide types first, so each is aligned.

use joulepath_model::network::{LinkSpec, RateSpec};
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;
use joulepath_packet::{Trace, TraceCut, TraceLimits, TracedPacket};
use serde_json::{Value, json};

use crate::attachment::attach;

/// Bounds of a trace: two of them fit into the memory of a page several times over.
pub const LIMITS: TraceLimits = TraceLimits {
    time: Nanos::from_secs(60),
    packets: 200_000,
    samples: 6_000,
};
/// Bounds of a trace for a capture, which has the phases of radios as the command line's.
pub const CAPTURED: TraceLimits = TraceLimits {
    samples: joulepath_capture::LIMITS.samples,
    ..LIMITS
};
/// Unit of times in columns, ns.
const TICK_NS: u64 = 100;
/// In the column of paths: no path under test.
const NO_PATH: u8 = u8::MAX;

/// Columns in the order in which they are added.
#[derive(Default)]
struct Columns {
    described: Vec<Value>,
    bytes: Vec<u8>,
}

impl Columns {
    fn add<const N: usize>(
        &mut self,
        name: impl AsRef<str>,
        kind: &str,
        values: impl Iterator<Item = [u8; N]>,
    ) {
        let start = self.bytes.len();
        values.for_each(|value| self.bytes.extend(value));
        let length = (self.bytes.len() - start) / N;
        self.described
            .push(json!({ "name": name.as_ref(), "type": kind, "length": length }));
    }
}

/// The reply about a trace of `scenario`, whose columns become the attachment.
pub(crate) fn described(scenario: &Scenario, trace: &Trace) -> Value {
    let mut columns = Columns::default();
    columns.add(
        "energy",
        "f64",
        trace.energy_j.iter().map(|joules| joules.to_le_bytes()),
    );
    for (p, path) in trace.paths.iter().enumerate() {
        columns.add(
            format!("energy {p}"),
            "f64",
            path.energy_j.iter().map(|joules| joules.to_le_bytes()),
        );
    }
    columns.add(
        "time",
        "u32",
        trace.times.iter().map(|&time| ticks(time).to_le_bytes()),
    );
    let mut times = |name: &str, time: fn(&TracedPacket) -> Nanos| {
        columns.add(
            name,
            "u32",
            trace
                .packets
                .iter()
                .map(|packet| ticks(time(packet)).to_le_bytes()),
        );
    };
    times("offered", |packet| packet.offered);
    times("left", |packet| packet.left);
    times("arrives", |packet| packet.arrives);
    for (p, path) in trace.paths.iter().enumerate() {
        for (name, values) in [("window", &path.cwnd), ("in flight", &path.in_flight)] {
            columns.add(
                format!("{name} {p}"),
                "u32",
                values.iter().map(|value| value.to_le_bytes()),
            );
        }
        let kilobytes = |bytes: &u64| {
            u32::try_from(bytes / 1000)
                .unwrap_or(u32::MAX)
                .to_le_bytes()
        };
        columns.add(
            format!("delivered {p}"),
            "u32",
            path.delivered_bytes.iter().map(kilobytes),
        );
    }
    for (p, path) in trace.paths.iter().enumerate() {
        columns.add(
            format!("radio {p}"),
            "u8",
            path.radio.iter().map(|&phase| [phase as u8]),
        );
    }
    columns.add(
        "link",
        "u8",
        trace.packets.iter().map(|packet| [small(packet.link)]),
    );
    columns.add(
        "path",
        "u8",
        trace
            .packets
            .iter()
            .map(|packet| [packet.path.map_or(NO_PATH, small)]),
    );
    columns.add(
        "class",
        "u8",
        trace.packets.iter().map(|packet| [packet.class as u8]),
    );
    columns.add(
        "fate",
        "u8",
        trace.packets.iter().map(|packet| [packet.fate as u8]),
    );
    attach(columns.bytes);

    let link = |link: &LinkSpec| {
        json!({ "name": link.name, "delay_s": link.delay.as_secs_f64(), "rate_bps": match link.rate {
            RateSpec::Constant(rate) | RateSpec::LogNormal { mean: rate, .. } => Some(rate.bps()),
            _ => None,
        }})
    };
    let paths = scenario.paths.iter().map(
        |path| json!({ "name": path.name, "down": path.down, "up": path.up, "radio": path.energy.profile }),
    );
    json!({
        "tick_s": TICK_NS as f64 / 1e9,
        "until_s": trace.until.as_secs_f64(),
        "cut": cut(trace),
        "links": scenario.links.iter().map(link).collect::<Vec<_>>(),
        "paths": paths.collect::<Vec<_>>(),
        "columns": columns.described,
    })
}

/// What a trace with these bounds leaves out.
pub(crate) fn cut(trace: &Trace) -> Option<String> {
    Some(match trace.cut? {
        TraceCut::Time => format!("The first {} s are shown.", LIMITS.time.as_secs_f64()),
        TraceCut::Packets => format!("The first {} packets are shown.", LIMITS.packets),
    })
}

fn ticks(time: Nanos) -> u32 {
    u32::try_from(time.0 / TICK_NS).unwrap_or(u32::MAX)
}

/// A number below [`NO_PATH`]; greater ones count as the last.
fn small(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(NO_PATH).min(NO_PATH - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::detach;

    fn traced(toml: &str) -> (Value, Vec<u8>) {
        let request = json!({ "do": "packets", "index": 1, "of": {
            "name": "own.toml", "original": null, "toml": toml, "traces": {}, "command": "",
            "request": { "policies": "mptcp,single:wifi", "seeds": 1 },
        }});
        let reply: Value = serde_json::from_str(&crate::answer(&request.to_string())).unwrap();
        (reply, detach())
    }

    const SCENARIO: &str = "title = \"two\"\nduration = \"3 s\"\n\
        [[path]]\nname = \"wifi\"\nrate = \"8 Mbit/s\"\ndelay = \"15 ms\"\nqueue = \"40 packets\"\n\
        energy = \"wifi-huang2012\"\n\
        [[path]]\nname = \"lte\"\nrate = \"4 Mbit/s\"\ndelay = \"35 ms\"\nqueue = \"60 packets\"\n\
        energy = \"lte-huang2012\"\n";

    #[test]
    fn the_columns_fill_the_attachment_and_are_aligned() {
        let (reply, bytes) = traced(SCENARIO);
        let mut at = 0;
        let mut packets = vec![];
        for column in reply["ok"]["columns"].as_array().unwrap() {
            let length = column["length"].as_u64().unwrap() as usize;
            let width = match column["type"].as_str().unwrap() {
                "f64" => 8,
                "u32" => 4,
                "u8" => 1,
                other => panic!("{other}"),
            };
            assert_eq!(at % width, 0, "{column}");
            if column["name"] == "path" {
                packets = bytes[at..at + length].to_vec();
            }
            at += width * length;
        }
        assert_eq!(at, bytes.len());
        // The second policy uses only the first path.
        assert!(
            packets.len() > 1000 && packets.iter().all(|&path| path == 0),
            "{}",
            packets.len()
        );
        assert_eq!(reply["ok"]["cut"], Value::Null);
        assert_eq!(reply["ok"]["links"][0]["rate_bps"], 8_000_000);
        assert!(detach().is_empty());
    }

    #[test]
    fn a_capture_is_that_of_the_command_line() {
        use joulepath_capture::{Capture, End, LIMITS};
        use joulepath_model::cancel::Cancel;
        let quick = joulepath_study::shipped::find("quick").unwrap().1;
        let captured = |server: bool| {
            let request = json!({ "do": "capture", "index": 0, "server": server, "of": {
                "name": "quick", "original": "quick", "toml": quick, "traces": {}, "command": "",
                "request": { "policies": "mptcp", "seeds": 1 },
            }});
            let reply = crate::answer(&request.to_string());
            assert_eq!(reply, r#"{"ok":{"cut":null}}"#);
            detach()
        };
        let source = joulepath_study::source::Source::named("quick").unwrap();
        let asked = joulepath_study::compare::Request {
            policies: Some("mptcp".to_owned()),
            seeds: Some(1),
            ..Default::default()
        };
        let engine = joulepath_study::engine::open(
            joulepath_study::engine::EngineName::Packet,
            &Default::default(),
        );
        let made = crate::source::provenance("");
        let plan =
            joulepath_study::compare::Plan::of(&source, &asked, engine.unwrap(), &made).unwrap();
        let case = &plan.cases()[0];
        let trace = case.trace(0, &LIMITS, &Cancel::new()).unwrap().unwrap();
        let capture = Capture::new(case.scenario(), &trace).unwrap();
        let title = capture.title("mptcp", 1);
        for (server, end) in [(false, End::Client), (true, End::Server)] {
            assert_eq!(captured(server), capture.pcapng(end, &title));
        }
    }

    #[test]
    fn several_connections_are_refused() {
        let (reply, bytes) = traced(&format!(
            "{SCENARIO}[[connection]]\nname = \"users\"\ncount = 2\n"
        ));
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("one connection"), "{reply}");
        assert!(bytes.is_empty());
    }
}
