//! Predicts what a fix yields: runs the packet engine on the scenario fitted from a connection,
//! with the fix. What was seen is the present state: a fit of a connection that a window or losses
//! limit shows less.
//!
//! | property | source |
//! |---|---|
//! | rate of a path | the highest rate over a second: the capacity if a queue stood, else a lower bound |
//! | delay | half of the minimum RTT |
//! | queue | the longest queueing delay at this rate; without one, a bandwidth-delay product |
//! | loss | the retransmitted part, if the queue stays short |
//! | buffers | the peer's largest window, this host's buffers |

use std::fmt::Write as _;

use joulepath_model::result::PathResult;
use joulepath_model::scenario::load;
use joulepath_packet::RunOptions;
use joulepath_why::finding::{Gain, Remedy};
use joulepath_why::subject::{Flow, Subject};

use crate::error::{Error, Kind, Result};
use crate::policies;

/// Seed of the losses.
const SEED: u64 = 1;
/// Packets of a run, which bound its CPU time to some tenths of a second.
const PACKETS: f64 = 100e3;
/// Length of a run, s: the first half is not measured.
const LENGTH_S: (f64, f64) = (2.0, 20.0);
/// RTTs after which windows have settled.
const ROUNDS: f64 = 100.0;
/// Size of a packet on the wire, bits.
const PACKET_BITS: f64 = 12e3;
/// Bytes on the wire for each byte of payload.
const WIRE: f64 = 1500.0 / 1460.0;
/// A queueing delay up to this part of the minimum RTT is no congestion: losses are the path's.
const SHORT: f64 = 0.2;
/// Smallest queue, packets.
const LEAST_QUEUE: f64 = 20.0;
/// Payload that Linux holds in a byte of buffer memory.
const PAYLOAD: f64 = 0.5;

/// Predicts the gain of `remedy` on a connection; `None` if its statistics do not give a scenario.
pub fn predict(subject: &Subject<'_>, remedy: &Remedy) -> Option<Gain> {
    let fixed = Fitted::of(subject)?.with(remedy)?;
    let (after_bps, after_rtt_s) = fixed.run(fixed.length_s()).ok()?;
    let (before_bps, before_rtt_s) = (subject.rate_bps(), rtt_s(subject)?);
    let at_least = fixed.paths.iter().any(|path| !path.was_full);
    // What was seen is a lower bound, too.
    let after_bps = if at_least {
        after_bps.max(before_bps)
    } else {
        after_bps
    };
    // The engine's warm-up may end in a burst: no rate exceeds the links.
    let links_bps: f64 = fixed.paths.iter().map(|path| path.rate_bps / WIRE).sum();
    let after_bps = after_bps.min(links_bps.max(before_bps));
    Some(Gain {
        before_bps,
        after_bps,
        at_least,
        before_rtt_s,
        after_rtt_s,
    })
}

/// Mean of the subflows' smoothed RTTs, weighted by what they carry, s.
fn rtt_s(subject: &Subject<'_>) -> Option<f64> {
    let upload = subject.uploads();
    let of = |flow: &Flow<'_>| {
        let all_s = flow.rtts_s(upload);
        let bps = if upload {
            flow.sent_bps()
        } else {
            flow.received_bps()
        };
        (!all_s.is_empty()).then(|| (all_s.iter().sum::<f64>() / all_s.len() as f64, bps))
    };
    let known: Vec<(f64, f64)> = subject.flows.iter().filter_map(of).collect();
    let sum_bps: f64 = known.iter().map(|(_, bps)| bps).sum();
    (sum_bps > 0.0).then(|| known.iter().map(|(rtt_s, bps)| rtt_s * bps).sum::<f64>() / sum_bps)
}

#[derive(Clone, Debug)]
struct Path {
    rate_bps: f64,
    rtt_s: f64,
    loss: f64,
    queue: f64,
    /// A queue stood, so the rate is the capacity.
    was_full: bool,
}

#[derive(Clone, Debug)]
struct Fitted {
    paths: Vec<Path>,
    controller: String,
    upload: bool,
    receive_bytes: f64,
    send_bytes: f64,
}

impl Fitted {
    fn of(subject: &Subject<'_>) -> Option<Self> {
        let upload = subject.uploads();
        let paths: Option<Vec<Path>> = subject
            .flows
            .iter()
            .map(|flow| Path::of(flow, upload))
            .collect();
        let name = subject
            .flows
            .first()?
            .socket
            .congestion
            .as_deref()
            .unwrap_or("cubic");
        let controller = match name.trim_start_matches("jp_") {
            "bbr" => "bbr1",
            name => name,
        };
        let memory = match subject.connection() {
            Some(connection) => connection.memory,
            None => subject.flows.first()?.socket.memory,
        };
        let of = |bytes: u32| PAYLOAD * f64::from(bytes);
        let own =
            memory.map(|memory| (of(memory.receive_limit_bytes), of(memory.send_limit_bytes)));
        let (receive, send) = own.unwrap_or((4e6, 4e6));
        let peer = subject.peer_window_bytes().1 as f64;
        Some(Fitted {
            paths: paths.filter(|paths| !paths.is_empty())?,
            controller: controller.to_owned(),
            upload,
            receive_bytes: if upload { peer } else { receive },
            send_bytes: if upload { send } else { 16e6 },
        })
    }

    /// The same with the fix; `None` without a path.
    fn with(&self, remedy: &Remedy) -> Option<Self> {
        let mut fixed = self.clone();
        match remedy {
            Remedy::Controller(name) => fixed.controller = (*name).to_owned(),
            Remedy::ReceiveBuffer(bytes) => fixed.receive_bytes = *bytes as f64,
            Remedy::SendBuffer(bytes) => fixed.send_bytes = *bytes as f64,
            // What another device carries is not in the statistics of this connection.
            Remedy::Add(_) => return None,
            Remedy::Without(index) if *index < fixed.paths.len() => {
                fixed.paths.remove(*index);
            }
            Remedy::Without(_) => {}
        }
        (!fixed.paths.is_empty()).then_some(fixed)
    }

    fn length_s(&self) -> f64 {
        let packets: f64 = self
            .paths
            .iter()
            .map(|path| path.rate_bps / PACKET_BITS)
            .sum();
        let settled = self
            .paths
            .iter()
            .map(|path| path.rtt_s * ROUNDS)
            .fold(0.0, f64::max);
        settled
            .max(LENGTH_S.1 / 2.0)
            .min(PACKETS / packets)
            .clamp(LENGTH_S.0, LENGTH_S.1)
    }

    /// Goodput, bit/s, and the mean of the paths' RTTs, weighted by what they carry, s.
    fn run(&self, seconds: f64) -> Result<(f64, f64)> {
        let no_traces = |name: &str| Err(format!("no trace `{name}` belongs to it"));
        let scenario = load(&self.text(seconds), &no_traces).map_err(|errors| Error::Scenario {
            errors: Box::new(errors.in_file("the fitted connection")),
            kind: Kind::Failed,
        })?;
        let policy = format!("linux[cc={}]", self.controller);
        let setup = policies::setup(&policies::parse(&policy)?[0], &scenario, Kind::Failed)?;
        let result = joulepath_packet::run(&scenario, &setup, SEED, RunOptions::default());
        let result = result.map_err(|error| Error::usage(error.to_string()))?;
        let weighted = |path: &PathResult| Some((path.mean_rtt_s?, path.segments as f64));
        let rtts: Vec<(f64, f64)> = result.paths.iter().filter_map(weighted).collect();
        let segments: f64 = rtts.iter().map(|(_, segments)| segments).sum();
        let rtt_s = rtts
            .iter()
            .map(|(rtt_s, segments)| rtt_s * segments)
            .sum::<f64>()
            / segments.max(1.0);
        Ok((result.goodput_bps, rtt_s))
    }

    fn text(&self, seconds: f64) -> String {
        let Fitted {
            upload,
            receive_bytes,
            send_bytes,
            ..
        } = self;
        let ms = |s: f64| format!("{} us", (s * 1e6) as u64);
        let mut text = format!(
            "title = \"a connection\"\nduration = \"{}\"\nwarm_up = \"{}\"\n[workload]\nkind = \"bulk\"\n\
             direction = \"{}\"\n[receiver]\nbuffer = \"{} B\"\n[sender]\nbuffer = \"{} B\"\n",
            ms(seconds),
            ms(seconds * 0.5),
            if *upload { "upload" } else { "download" },
            (*receive_bytes as u64).max(10_000),
            (*send_bytes as u64).max(10_000),
        );
        for (index, path) in self.paths.iter().enumerate() {
            let Path {
                rate_bps,
                rtt_s,
                loss,
                queue,
                ..
            } = path;
            let direction = |header: &str| {
                format!(
                    "{header}loss = \"{} %\"\nqueue = \"{} packets\"\n",
                    loss * 100.0,
                    queue.ceil() as u64
                )
            };
            // A writer to a String does not fail.
            let _ = write!(
                text,
                "[[path]]\nname = \"path{index}\"\nenergy = \"free\"\nrate = \"{} bit/s\"\ndelay = \"{}\"\n",
                *rate_bps as u64,
                ms(rtt_s / 2.0),
            );
            text += &if *upload {
                direction("[path.up]\n")
            } else {
                direction("")
            };
        }
        text
    }
}

impl Path {
    fn of(flow: &Flow<'_>, upload: bool) -> Option<Self> {
        let rtt_s = flow.min_rtt_s()?;
        let rate_bps = (flow.carried_bps(upload) * WIRE).max(10e3);
        let long_s = flow.queue_s(upload, 0.95).unwrap_or(0.0);
        let is_short = long_s <= SHORT * rtt_s;
        let (again, sent) = flow.retransmissions();
        let waiting_s = if is_short { rtt_s } else { long_s };
        Some(Path {
            rate_bps,
            rtt_s,
            loss: if is_short {
                (again / sent.max(1.0)).min(0.3)
            } else {
                0.0
            },
            queue: (waiting_s * rate_bps / PACKET_BITS).max(LEAST_QUEUE),
            was_full: flow.is_full(upload),
        })
    }
}
