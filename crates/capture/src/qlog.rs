//! qlog: the main schema's file for text sequences (draft-ietf-quic-qlog-main-schema), with events
//! of TCP, MPTCP and radios as an extension.

use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;
use joulepath_packet::{PacketFate, PacketKind, Trace};
use serde_json::{Value, json};

use crate::End;
use crate::capture::Capture;
use crate::packets::Seen;

/// Record separator (RFC 7464).
const SEPARATOR: u8 = 0x1e;
/// The extension: its events are documented in docs/packets.md.
const SCHEMA: &str = "urn:joulepath:qlog:events:mptcp-01";

impl Capture<'_> {
    /// The same as qlog: packets, windows and, at the client, radios and joules.
    pub fn qlog(&self, end: End, title: &str) -> Vec<u8> {
        let mut events: Vec<(Nanos, Value)> = vec![];
        for seen in self.packets(end) {
            let name = match (seen.is_outgoing, seen.packet.fate) {
                (false, _) => "mptcp:packet_received",
                (true, PacketFate::Dropped) => "mptcp:packet_dropped",
                (true, _) => "mptcp:packet_sent",
            };
            events.push((seen.at, event(seen.at, name, packet(self.scenario, &seen))));
        }
        if end == self.flows.sender {
            events.extend(windows(self.scenario, self.trace));
        }
        if end == End::Client {
            events.extend(self.radios());
        }
        events.sort_by_key(|&(at, _)| at);
        let head = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": title,
            "trace": {
                "title": title,
                "vantage_point": { "type": end.name() },
                "event_schemas": [SCHEMA],
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                },
            },
        });
        let mut bytes = vec![];
        for value in std::iter::once(head).chain(events.into_iter().map(|(_, value)| value)) {
            bytes.push(SEPARATOR);
            bytes.extend(value.to_string().into_bytes());
            bytes.push(b'\n');
        }
        bytes
    }

    fn radios(&self) -> impl Iterator<Item = (Nanos, Value)> {
        self.radio_changes().into_iter().map(|change| {
            let data = json!({
                "path": self.scenario.paths[change.path].name,
                "phase": format!("{:?}", change.phase).to_lowercase(),
                "energy_j": change.energy_j,
                "device_energy_j": change.device_energy_j,
            });
            (change.at, event(change.at, "mptcp:radio_updated", data))
        })
    }
}

fn event(at: Nanos, name: &str, data: Value) -> Value {
    json!({ "time": at.0 as f64 / 1e6, "name": name, "data": data })
}

fn packet(scenario: &Scenario, seen: &Seen) -> Value {
    let (segment, header) = (&seen.segment, &seen.packet.header);
    let mut data = json!({
        "path": scenario.paths[seen.path].name,
        "subflow": seen.epoch,
        "type": kind_name(header.kind),
        "seq": segment.seq,
        "payload_length": segment.payload_bytes,
    });
    if let Some(ack) = segment.ack {
        data["ack"] = ack.into();
    }
    if matches!(header.kind, PacketKind::Data | PacketKind::Ack) {
        data["data_segment"] = header.dsn.into();
    }
    if seen.is_outgoing && seen.packet.fate == PacketFate::Lost {
        data["lost"] = true.into();
    }
    data
}

fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data",
        PacketKind::Syn => "syn",
        PacketKind::SynAck => "syn_ack",
        PacketKind::Third | PacketKind::Fourth => "handshake",
        PacketKind::Request => "request",
        PacketKind::Priority => "mp_prio",
        PacketKind::Leave => "fin",
        _ => "ack",
    }
}

/// Changes of the windows, in the names of qlog's `recovery:metrics_updated`.
fn windows(scenario: &Scenario, trace: &Trace) -> Vec<(Nanos, Value)> {
    let mss = scenario.transport.mss.0;
    let mut events = vec![];
    for (path, samples) in scenario.paths.iter().zip(&trace.paths) {
        let mut last = None;
        for ((&at, &cwnd), &in_flight) in trace
            .times
            .iter()
            .zip(&samples.cwnd)
            .zip(&samples.in_flight)
        {
            if last.replace((cwnd, in_flight)) != Some((cwnd, in_flight)) {
                let data = json!({
                    "path": path.name,
                    "congestion_window": u64::from(cwnd) * mss,
                    "bytes_in_flight": u64::from(in_flight) * mss,
                });
                events.push((at, event(at, "mptcp:metrics_updated", data)));
            }
        }
    }
    events
}
