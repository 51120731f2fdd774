//! Whether paths deliver, for the intent `uninterrupted`, several times per RTT.
//!
//! ```text
//!   alive ── nothing arrives for QUIET ──► a server is asked for echoes
//!     ▲  ▲                                   │            │
//!     │  └────── data or an echo arrives ────┘            │ no echo in time, twice
//!     └───────── echoes arrive again ─────── dead ◄───────┘
//! ```
//! Servers that answer no echoes show a dead path by a retransmission that is not acknowledged.

mod echoes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::TcpState;
use joulepath_kernel::mptcp::diag::{Listing, TcpSocket};
use joulepath_model::units::Nanos;

pub(crate) use self::echoes::Echoes;

use crate::measure::Places;

/// Interval while echoes are awaited.
const TICK: Nanos = Nanos::from_millis(25);
/// Interval while data passes.
const FLOWS: Nanos = Nanos::from_millis(50);
/// Interval while nothing passes.
const RESTS: Nanos = Nanos::from_millis(200);
/// Nothing passes if nothing has passed for so long.
const LIVE: Nanos = Nanos::from_secs(5);
/// How long nothing may arrive before a server is asked.
const QUIET: Nanos = Nanos::from_millis(100);
/// Interval between two questions that are answered in time.
const ASK: Nanos = Nanos::from_millis(200);
/// The same over a dead path.
const ASK_DEAD: Nanos = Nanos::from_secs(1);
/// Echoes in a row after which a dead path lives.
const ECHOES: u32 = 2;
/// The RTT may vary by so much in any case.
const SPARE: Nanos = Nanos::from_millis(50);
/// What a retransmission timeout adds to the RTT at least: `TCP_RTO_MIN`.
const LEAST_RTO: Nanos = Nanos::from_millis(200);
/// How long a path without echoes stays dead.
const HELD: Nanos = Nanos::from_secs(10);
/// How long a path without connections is remembered.
const FORGET: Nanos = Nanos::from_secs(600);

/// An established subflow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    device: u32,
    local: SocketAddr,
    remote: SocketAddr,
    acked_bytes: u64,
    received_bytes: u64,
    /// Data is not acknowledged.
    waits: bool,
    /// It has been retransmitted after a timeout.
    timed_out: bool,
    rtt: Nanos,
    variation: Nanos,
}

/// The established subflows of a listing.
pub(crate) fn flows(listing: &Listing, places: Places) -> Vec<Flow> {
    let all = listing
        .connections
        .iter()
        .flat_map(|connection| &connection.subflows);
    let flow = |socket: &TcpSocket| {
        let info = socket.info.as_ref()?;
        Some(Flow {
            device: places.device(socket)?,
            local: socket.local,
            remote: socket.remote,
            acked_bytes: info.acked_bytes,
            received_bytes: info.received_bytes,
            waits: info.unacked_packets > 0,
            timed_out: info.backoff > 0,
            rtt: Nanos::from_micros(u64::from(info.srtt_us)),
            variation: Nanos::from_micros(u64::from(info.rtt_variation_us)),
        })
    };
    all.filter(|socket| socket.state == TcpState::Established)
        .filter_map(flow)
        .collect()
}

/// A question to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) device: u32,
    pub(crate) source: IpAddr,
    pub(crate) server: IpAddr,
    pub(crate) sequence: u16,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    acked_bytes: u64,
    received_bytes: u64,
    /// Since when data has not been acknowledged.
    waits: Option<Nanos>,
    /// When it last carried data, as far as has been seen: a backup carries none.
    active: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    source: IpAddr,
    server: IpAddr,
    rtt: Nanos,
    variation: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Nanos,
    server: IpAddr,
}

#[derive(Clone, Debug, Default)]
struct Path {
    flows: BTreeMap<(SocketAddr, SocketAddr), Seen>,
    /// The last time at which it delivered.
    delivered: Nanos,
    /// Questions without an answer, by sequence number.
    asked: BTreeMap<u16, Asked>,
    last_asked: Nanos,
    /// Servers, and whether they have ever answered over this path.
    servers: BTreeMap<IpAddr, bool>,
    target: Option<Target>,
    dead: Option<Nanos>,
    /// Echoes since the last one that is missing.
    echoes: u32,
    /// When it last had a subflow.
    used: Nanos,
}

/// All paths, by interface index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulse {
    paths: BTreeMap<u32, Path>,
    sequence: u16,
    due: Nanos,
}

impl Pulse {
    /// When to observe again.
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    /// True if the path delivers nothing.
    pub(crate) fn is_dead(&self, device: u32) -> bool {
        self.paths
            .get(&device)
            .is_some_and(|path| path.dead.is_some())
    }

    /// Puts the next observation off, whatever becomes of this one.
    pub(crate) fn rest(&mut self, now: Nanos) {
        self.due = now.saturating_add(RESTS);
    }

    /// Takes in the subflows, and the echoes that have arrived. Returns whether a path has died or
    /// lives again, and the next questions.
    pub(crate) fn observe(
        &mut self,
        now: Nanos,
        flows: &[Flow],
        echoes: &[(u32, u16)],
    ) -> (bool, Vec<Question>) {
        for flow in flows {
            self.paths.entry(flow.device).or_default();
        }
        let (mut changed, mut questions, mut pause) = (false, vec![], RESTS);
        for (&device, path) in &mut self.paths {
            let was_dead = path.dead.is_some();
            for (_, sequence) in echoes.iter().filter(|(over, _)| *over == device) {
                path.answered(*sequence);
            }
            let own: Vec<&Flow> = flows.iter().filter(|flow| flow.device == device).collect();
            path.take(now, &own);
            path.judge(now, &own);
            changed |= path.dead.is_some() != was_dead;
            if path.is_live(now) {
                let awaits = path.dead.is_none() && !path.asked.is_empty();
                pause = pause.min(if awaits { TICK } else { FLOWS });
            }
            if let Some(target) = path.asks(now) {
                self.sequence = self.sequence.wrapping_add(1);
                let server = target.server;
                path.asked.insert(self.sequence, Asked { at: now, server });
                path.last_asked = now;
                questions.push(Question {
                    device,
                    source: target.source,
                    server,
                    sequence: self.sequence,
                });
            }
        }
        self.paths
            .retain(|_, path| now.saturating_sub(path.used) < FORGET);
        self.due = now.saturating_add(pause);
        (changed, questions)
    }
}

impl Path {
    fn answered(&mut self, sequence: u16) {
        let Some(Asked { at, server }) = self.asked.remove(&sequence) else {
            return;
        };
        self.servers.insert(server, true);
        self.delivered = self.delivered.max(at);
        self.asked.retain(|_, asked| asked.at > at);
        self.echoes += 1;
    }

    fn take(&mut self, now: Nanos, flows: &[&Flow]) {
        let before = std::mem::take(&mut self.flows);
        let mut latest = None;
        for flow in flows {
            self.used = now;
            let known = before.get(&(flow.local, flow.remote));
            let has_moved = known.is_some_and(|known| {
                flow.acked_bytes > known.acked_bytes || flow.received_bytes > known.received_bytes
            });
            if has_moved || known.is_none() {
                self.delivered = now;
            }
            let waited = known
                .filter(|known| known.acked_bytes == flow.acked_bytes)
                .and_then(|known| known.waits);
            let seen = Seen {
                acked_bytes: flow.acked_bytes,
                received_bytes: flow.received_bytes,
                waits: flow.waits.then(|| waited.unwrap_or(now)),
                active: match has_moved || flow.waits {
                    true => Some(now),
                    false => known.and_then(|known| known.active),
                },
            };
            self.flows.insert((flow.local, flow.remote), seen);
            let server = flow.remote.ip().to_canonical();
            let answers = *self.servers.entry(server).or_default();
            let key = (answers, seen.active);
            if latest.is_none_or(|(best, _)| key > best) {
                let target = Target {
                    source: flow.local.ip().to_canonical(),
                    server,
                    rtt: flow.rtt,
                    variation: flow.variation,
                };
                latest = Some((key, target));
            }
        }
        if let Some((_, target)) = latest {
            self.target = Some(target);
        }
    }

    fn is_live(&self, now: Nanos) -> bool {
        let lives = |seen: &Seen| {
            seen.active
                .is_some_and(|active| now.saturating_sub(active) < LIVE)
        };
        self.flows.values().any(lives)
    }

    fn judge(&mut self, now: Nanos, flows: &[&Flow]) {
        let first = self.first_missing(now);
        match self.dead {
            Some(since) => {
                let has_echoes = self.answers();
                if first.is_some_and(|age| age >= ASK_DEAD) {
                    self.echoes = 0;
                }
                let is_back = self.echoes >= ECHOES;
                if is_back || !has_echoes && now.saturating_sub(since) >= HELD {
                    self.dead = None;
                    self.delivered = now;
                    self.asked.clear();
                }
            }
            None => {
                let is_silent = self.target.is_some_and(|target| {
                    let patience = (target.rtt + target.rtt)
                        .max(target.rtt + Nanos(4 * target.variation.0))
                        .saturating_add(SPARE);
                    self.servers.get(&target.server) == Some(&true)
                        && self.missing(now) >= 2
                        && first.is_some_and(|age| age >= patience)
                });
                let in_vain = !self.answers() && flows.iter().any(|flow| self.is_vain(now, flow));
                if self.is_live(now) && (is_silent || in_vain) {
                    self.dead = Some(now);
                    self.echoes = 0;
                    self.asked.clear();
                }
            }
        }
    }

    /// True if the server that would be asked answers echoes.
    fn answers(&self) -> bool {
        self.target
            .is_some_and(|target| self.servers.get(&target.server) == Some(&true))
    }

    /// True if a retransmission is not acknowledged in time.
    fn is_vain(&self, now: Nanos, flow: &Flow) -> bool {
        let Some(since) = self
            .flows
            .get(&(flow.local, flow.remote))
            .and_then(|seen| seen.waits)
        else {
            return false;
        };
        let timeout = flow.rtt + LEAST_RTO.max(Nanos(4 * flow.variation.0));
        let patience = timeout + flow.rtt + SPARE;
        flow.timed_out && now.saturating_sub(since.max(self.delivered)) >= patience
    }

    /// Questions since the path last delivered.
    fn missing(&self, now: Nanos) -> usize {
        let later = |asked: &&Asked| asked.at > self.delivered && asked.at < now;
        self.asked.values().filter(later).count()
    }

    /// Age of the first of them.
    fn first_missing(&self, now: Nanos) -> Option<Nanos> {
        let later = self
            .asked
            .values()
            .filter(|asked| asked.at > self.delivered);
        later.map(|asked| now.saturating_sub(asked.at)).max()
    }

    /// Whom to ask now.
    fn asks(&self, now: Nanos) -> Option<Target> {
        let target = self.target?;
        let since = now.saturating_sub(self.last_asked);
        if self.dead.is_some() {
            return (since >= ASK_DEAD).then_some(target);
        }
        // Whether a server answers echoes must be known before the path dies.
        let is_new = self.servers.get(&target.server) == Some(&false) && self.asked.is_empty();
        if is_new && since >= ASK_DEAD && self.is_live(now) {
            return Some(target);
        }
        let late = target.rtt + Nanos(4 * target.variation.0).max(SPARE);
        let pause = match self.first_missing(now) {
            // One packet may be lost.
            Some(age) if age >= late => TICK,
            Some(_) => return None,
            None => ASK,
        };
        let is_quiet = now.saturating_sub(self.delivered) >= QUIET;
        (self.is_live(now) && is_quiet && since >= pause).then_some(target)
    }
}
