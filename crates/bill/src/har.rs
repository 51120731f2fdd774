//! HAR files (HTTP Archive 1.2), as browsers export them.

use std::io::Read;

use jiff::Timestamp;
use joulepath_model::energy::Traffic;
use joulepath_model::units::Nanos;
use serde::Deserialize;
use url::Url;

use crate::recording::{Cause, Error, Packet, Recording};

/// Bytes of an answer that arrive within a millisecond are one packet.
const STEP_S: f64 = 1e-3;

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    /// ms; negative: unknown.
    time: Option<f64>,
    request: Message,
    response: Message,
    #[serde(default)]
    timings: Timings,
    /// Chrome: the answer came from the browser's memory or disk.
    #[serde(rename = "_fromCache")]
    from_cache: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default)]
    method: String,
    #[serde(default)]
    url: String,
    /// Negative: unknown.
    headers_size: Option<f64>,
    body_size: Option<f64>,
    /// Chrome: headers and body as they arrived.
    #[serde(rename = "_transferSize")]
    transfer_size: Option<f64>,
}

/// Milliseconds; negative or absent: did not happen or unknown.
#[derive(Default, Deserialize)]
struct Timings {
    blocked: Option<f64>,
    dns: Option<f64>,
    connect: Option<f64>,
    send: Option<f64>,
    wait: Option<f64>,
    receive: Option<f64>,
}

/// What the file leaves out.
#[derive(Default)]
struct Missing {
    cached: usize,
    requests: usize,
    answers: usize,
    times: usize,
}

pub(crate) fn read(file: impl Read) -> Result<Recording, Error> {
    let File {
        log: Log { entries },
    } = serde_json::from_reader(file)?;
    let mut recording = Recording {
        interfaces: vec!["network".to_owned()],
        ..Recording::default()
    };
    let mut missing = Missing::default();
    for (index, entry) in entries.iter().enumerate() {
        add(&mut recording, entry, &mut missing).map_err(|reason| Error::Entry {
            entry: index + 1,
            reason,
        })?;
    }
    recording.notes = missing.notes();
    Ok(recording.in_order())
}

fn add(recording: &mut Recording, entry: &Entry, missing: &mut Missing) -> Result<(), String> {
    if entry
        .from_cache
        .as_ref()
        .is_some_and(|cache| *cache != serde_json::Value::Bool(false))
    {
        missing.cached += 1;
        return Ok(());
    }
    let started: Timestamp = entry
        .started_date_time
        .parse()
        .map_err(|error| format!("startedDateTime `{}`: {error}", entry.started_date_time))?;
    let start = u64::try_from(started.as_nanosecond()).map_err(|_| {
        format!(
            "startedDateTime `{}` is before 1970",
            entry.started_date_time
        )
    })?;
    let address = Url::parse(&entry.request.url)
        .map_err(|error| format!("the address `{}`: {error}", entry.request.url))?;
    let Some(host) = address.host_str() else {
        return Ok(()); // data: and similar addresses use no network
    };
    let cause = recording.causes.len();
    recording.causes.push(Cause {
        host: host.to_owned(),
        request: format!("{} {}", entry.request.method, address.path()),
    });
    let mut pass = |after_s: f64, traffic: Traffic, bytes: f64| {
        recording.packets.push(Packet {
            at: Nanos(start).saturating_add(Nanos::from_secs_f64(after_s)),
            interface: 0,
            cause,
            traffic,
            bytes: bytes as u32,
        });
    };
    let asked = sent_bytes(&entry.request).unwrap_or_else(|| {
        missing.requests += 1;
        0.0
    });
    let answered = entry.response.transfer_size.filter(|size| *size >= 0.0);
    let answered = answered
        .or_else(|| sent_bytes(&entry.response))
        .unwrap_or_else(|| {
            missing.answers += 1;
            0.0
        });
    let seconds = |part: Option<f64>| part.filter(|ms| *ms >= 0.0).map(|ms| ms / 1e3);
    let Timings {
        blocked,
        dns,
        connect,
        send,
        wait,
        receive,
    } = &entry.timings;
    let [dns, connect] = [dns, connect].map(|part| seconds(*part).filter(|time| *time > 0.0));
    let mut now = seconds(*blocked).unwrap_or(0.0);
    for setup in [dns, connect].into_iter().flatten() {
        pass(now, Traffic::Up, 0.0);
        now += setup;
        pass(now, Traffic::Down, 0.0);
    }
    pass(now, Traffic::Up, asked);
    let (Some(wait), Some(receive)) = (seconds(*wait), seconds(*receive)) else {
        missing.times += 1;
        let end = seconds(entry.time).unwrap_or(now);
        pass(end.max(now), Traffic::Down, answered);
        return Ok(());
    };
    now += seconds(*send).unwrap_or(0.0) + wait;
    // Evenly over the time that it took.
    let steps = (receive / STEP_S)
        .ceil()
        .clamp(1.0, (answered / 1500.0).ceil().max(1.0));
    let mut passed = 0.0;
    for step in 1..=steps as u64 {
        let part = step as f64 / steps;
        let bytes = (answered * part).round();
        pass(now + receive * part, Traffic::Down, bytes - passed);
        passed = bytes;
    }
    Ok(())
}

/// Headers and body, if known.
fn sent_bytes(message: &Message) -> Option<f64> {
    let known = |size: Option<f64>| size.filter(|size| *size >= 0.0);
    Some(known(message.headers_size)? + known(message.body_size)?)
}

impl Missing {
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "A HAR file has no acknowledgements, handshakes and retransmissions: their joules per byte are \
             missing. The radio is active while a request is sent and an answer arrives."
                .to_owned(),
        ];
        let mut add = |count: usize, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        add(
            self.cached,
            "entries came from the browser's cache and cost nothing.",
        );
        add(
            self.requests,
            "requests have no size: their bytes count as 0.",
        );
        add(
            self.answers,
            "answers have no size: their bytes count as 0.",
        );
        add(
            self.times,
            "entries have no times for waiting and receiving: all bytes count at the entry's end.",
        );
        notes
    }
}
