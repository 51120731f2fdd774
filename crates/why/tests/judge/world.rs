//! A connection over drawn links: the packet engine runs it, and what it does becomes the kernel's
//! statistics.

use std::borrow::Cow;

use joulepath_control::Setup;
use joulepath_kernel::mptcp::diag::{Connection, Listing, Membership, SocketMemory, TcpSocket};
use joulepath_kernel::mptcp::info::{ByteCounters, ConnectionInfo};
use joulepath_kernel::mptcp::{AddressId, Recovery, TcpInfo, TcpState, Token};
use joulepath_model::scenario::load;
use joulepath_model::units::Nanos;
use joulepath_packet::{RunOptions, Session, Status};
use joulepath_why::observation::{Observation, SCHEMA, Sample};

use crate::host::{Config, device, ip, peer};

/// The observation begins here, s.
pub(crate) const BEGIN_S: f64 = 4.0;
/// Length of an observation and time between two samples, s: of `joulepath why`, and of the daemon.
pub(crate) const WATCHED: (f64, f64) = (6.0, 0.25);
pub(crate) const KEPT: (f64, f64) = (20.0, 2.0);
/// Payload of a segment, bytes.
const MSS: u32 = 1460;
/// Smallest retransmission timeout of Linux, s.
const RTO_MIN_S: f64 = 0.2;
/// Memory that Linux counts for a byte of payload.
const OVERHEAD: f64 = 2.0;

/// A link between an interface and the network.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) rate_bps: f64,
    pub(crate) rtt_s: f64,
    /// Queue, in bandwidth-delay products.
    pub(crate) queue: f64,
    pub(crate) loss: f64,
    /// Loses everything from here on, s.
    pub(crate) dies_s: Option<f64>,
    /// This host has declared its subflow a backup, and the peer does not care.
    pub(crate) backup: bool,
}

/// What the data-level window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    Peer,
    Send,
    Own,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) paths: Vec<Path>,
    /// Rate of a bottleneck behind all paths, bit/s, and its queue in packets.
    pub(crate) shared: Option<(f64, f64)>,
    pub(crate) controller: &'static str,
    pub(crate) upload: bool,
    /// Rate of the application, bit/s; `None`: endless data.
    pub(crate) stream_bps: Option<f64>,
    /// The smallest buffer, and its payload, bytes.
    pub(crate) buffer: Buffer,
    pub(crate) buffer_bytes: f64,
    /// The peer reads in chunks of this part of its buffer, and waits in between, s.
    pub(crate) reads: Option<(f64, f64)>,
    /// All subflows paused for this long before the observation, s.
    pub(crate) paused_s: f64,
    /// Length of the observation and time between two samples, s.
    pub(crate) watch: (f64, f64),
}

impl World {
    pub(crate) fn sum_bdp_bytes(&self) -> f64 {
        self.paths
            .iter()
            .map(|path| path.rate_bps * path.rtt_s * (1.0 + path.queue) / 8.0)
            .sum()
    }

    fn text(&self, used: &[usize]) -> String {
        let direction = if self.upload { "upload" } else { "download" };
        let workload = match self.stream_bps {
            Some(bps) => format!(
                "kind = \"stream\"\nrate = \"{} bit/s\"\ninterval = \"20 ms\"",
                bps as u64
            ),
            None => "kind = \"bulk\"".into(),
        };
        let end_s = BEGIN_S + self.watch.0;
        let mut text = format!(
            "title = \"drawn\"\nduration = \"{} ms\"\n[workload]\n{workload}\ndirection = \"{direction}\"\n\
             [receiver]\nbuffer = \"{} B\"\n[sender]\nbuffer = \"64 MB\"\n",
            (end_s * 1e3) as u64 + 100,
            self.buffer_bytes as u64,
        );
        if let Some((bps, packets)) = self.shared {
            let both = format!(
                "rate = \"{} bit/s\"\ndelay = \"1 ms\"\nqueue = \"{packets:.0} packets\"\n",
                bps as u64
            );
            text += &format!("[[link]]\nname = \"shared\"\n{both}");
        }
        for &at in used {
            let Path {
                rate_bps,
                rtt_s,
                queue,
                loss,
                dies_s,
                ..
            } = self.paths[at];
            let packets = (queue * rate_bps * rtt_s / 12e3).max(4.0).ceil();
            let via = if self.shared.is_some() {
                "via = [\"shared\"]\n"
            } else {
                ""
            };
            let outages = dies_s.map_or(String::new(), |from| {
                format!(
                    "outages = [[\"{} ms\", \"{} ms\"]]\n",
                    (from * 1e3) as u64,
                    (end_s * 1e3) as u64 + 50
                )
            });
            let lossy = format!("loss = \"{} %\"\n", loss * 100.0);
            let (down, up) = if self.upload {
                ("", lossy.as_str())
            } else {
                (lossy.as_str(), "")
            };
            text += &format!(
                "[[path]]\nname = \"p{at}\"\nenergy = \"free\"\nrate = \"{} bit/s\"\ndelay = \"{} us\"\n\
                 queue = \"{packets} packets\"\n{via}{outages}{down}[path.up]\n{up}",
                rate_bps as u64,
                (rtt_s * 5e5) as u64,
            );
        }
        text
    }

    /// Status each interval, and the goodput in the observation, bit/s.
    fn run(&self, used: &[usize], seed: u64) -> (Vec<(f64, Status)>, f64) {
        let text = self.text(used);
        let scenario = load(&text, &|_| Err(String::new()))
            .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let policy = format!("linux[cc={}]", self.controller)
            .parse()
            .expect("a policy");
        let setup = Setup::of(&policy, &scenario).expect("the policy fits");
        let mut session = Session::new(scenario.into(), &setup, seed, RunOptions::default())
            .expect("one connection");
        let (length_s, interval_s) = self.watch;
        let steps = (length_s / interval_s) as u32;
        let mut all = vec![];
        for step in 0..=steps {
            let at_s = f64::from(step) * interval_s;
            session
                .advance(Nanos(((BEGIN_S + at_s) * 1e9) as u64))
                .expect("it runs");
            let mut status = Status::default();
            session.status(&mut status);
            all.push((at_s, status));
        }
        let delivered = all[all.len() - 1].1.delivered_bytes - all[0].1.delivered_bytes;
        (all, delivered as f64 * 8.0 / length_s)
    }

    /// The goodput, bit/s, and the mean RTT weighted by what each path carries, s.
    pub(crate) fn outcome(&self, seed: u64) -> (f64, f64) {
        let (all, goodput_bps) = self.run(&self.config.open().used, seed);
        let (first, last) = (&all[0].1.paths, &all[all.len() - 1].1.paths);
        let mean_s = |path: usize| {
            let known = all
                .iter()
                .filter_map(|(_, status)| Some(status.paths[path].srtt?.as_secs_f64()));
            let known: Vec<f64> = known.collect();
            known.iter().sum::<f64>() / known.len().max(1) as f64
        };
        let carried = |path: usize| (last[path].segments - first[path].segments) as f64;
        let sums = (0..last.len()).map(|path| (mean_s(path) * carried(path), carried(path)));
        let (sum, weights) = sums.fold((0.0, 0.0), |(sum, all), (part, weight)| {
            (sum + part, all + weight)
        });
        (goodput_bps, sum / f64::max(weights, 1.0))
    }

    /// What `joulepath why` would see.
    pub(crate) fn observe(&self, seed: u64) -> Observation<'static> {
        let opened = self.config.open();
        let (all, _) = self.run(&opened.used, seed);
        let bytes = self.buffer_bytes * OVERHEAD;
        let limit = |which: Buffer| {
            if self.buffer == which {
                bytes as u64
            } else {
                64_000_000
            }
        };
        let host = self.config.host(limit(Buffer::Own), limit(Buffer::Send));
        let count = all.len();
        let mut silence = vec![None; opened.used.len()];
        let sample = |(number, (at_s, status)): (usize, &(f64, Status))| {
            let flows: Vec<TcpSocket> = (0..opened.used.len())
                .map(|flow| self.socket(flow, &opened.used, *at_s, status, &mut silence[flow]))
                .collect();
            let mut listing = Listing::default();
            match self.config.is_mptcp {
                true => listing
                    .connections
                    .push(self.connection(flows, status, opened.fallback)),
                false => listing
                    .plain
                    .extend(flows.into_iter().map(|flow| TcpSocket {
                        membership: None,
                        inode: 99,
                        ..flow
                    })),
            }
            let is_kept = number == 0 || number + 1 == count;
            let counters = if is_kept {
                opened.counters.clone()
            } else {
                [].into()
            };
            Sample {
                at_s: *at_s,
                listing: Cow::Owned(listing),
                counters: Cow::Owned(counters),
            }
        };
        let samples = all.iter().enumerate().map(sample).collect();
        Observation {
            schema: SCHEMA,
            samples,
            host,
        }
    }

    /// The peer's window, bytes: less what it has not read.
    fn window_bytes(&self, at_s: f64) -> f64 {
        let unread = self.reads.map_or(0.0, |(chunk, wait_s)| {
            // The buffer is full until a chunk is read, and fills again.
            1.0 - chunk * (1.0 - (at_s % wait_s) / wait_s)
        });
        if self.buffer == Buffer::Peer {
            self.buffer_bytes * (1.0 - unread)
        } else {
            64e6
        }
    }

    fn connection(&self, subflows: Vec<TcpSocket>, status: &Status, fallback: bool) -> Connection {
        let sent: u64 = subflows
            .iter()
            .filter_map(|flow| Some(flow.info.as_ref()?.sent_bytes))
            .sum();
        let received: u64 = subflows
            .iter()
            .filter_map(|flow| Some(flow.info.as_ref()?.received_bytes))
            .sum();
        let in_flight = self.in_flight_bytes(status, status_at(&subflows));
        let written = in_flight + self.unsent_bytes(status, in_flight);
        let acked = sent.saturating_sub(in_flight);
        Connection {
            local: (ip(0), 40_000).into(),
            remote: peer(),
            state: TcpState::Established,
            uid: 1000,
            inode: 99,
            cgroup: None,
            mark: 0,
            memory: Some(self.memory(written)),
            info: ConnectionInfo {
                token: Token(7),
                fallback,
                remote_key_received: !fallback,
                extra_subflows: subflows.len() as u8 - 1,
                extra_subflows_max: self.config.limit as u8,
                subflows: Some(subflows.len() as u8),
                checksums: false,
                write_dsn: acked + written,
                unacked_dsn: acked,
                receive_dsn: received,
                counters: Some(ByteCounters {
                    sent: acked + in_flight,
                    received,
                    acked,
                    reinjected: 0,
                    timeouts: 0,
                }),
            },
            subflows,
        }
    }

    fn in_flight_bytes(&self, status: &Status, at_s: f64) -> u64 {
        if !self.upload {
            return 0;
        }
        let engine = u64::from(status.data_in_flight) * u64::from(MSS);
        if self.reads.is_some() {
            engine.min(self.window_bytes(at_s) as u64)
        } else {
            engine
        }
    }

    /// Written data that waits: endless data fills the send buffer.
    fn unsent_bytes(&self, status: &Status, in_flight: u64) -> u64 {
        match (self.stream_bps, self.upload) {
            (_, false) => 0,
            (Some(_), _) => u64::from(status.unsent) * u64::from(MSS),
            (None, _) if self.buffer == Buffer::Send => {
                (self.buffer_bytes as u64).saturating_sub(in_flight)
            }
            (None, _) => 2_000_000,
        }
    }

    fn memory(&self, written: u64) -> SocketMemory {
        let limit = |which: Buffer| {
            if self.buffer == which {
                self.buffer_bytes * OVERHEAD
            } else {
                64e6
            }
        };
        // The send buffer counts little more than payload; endless data fills it.
        let send_limit_bytes = match self.buffer {
            Buffer::Send => self.buffer_bytes * 1.1,
            _ => written.max(2_500_000) as f64 * 1.1,
        };
        SocketMemory {
            receive_used_bytes: 0,
            receive_limit_bytes: limit(Buffer::Own) as u32,
            send_used_bytes: written as u32,
            send_limit_bytes: send_limit_bytes as u32,
        }
    }

    fn socket(
        &self,
        flow: usize,
        used: &[usize],
        at_s: f64,
        status: &Status,
        silence: &mut Option<f64>,
    ) -> TcpSocket {
        let at = used[flow];
        let (path, seen) = (&self.paths[at], &status.paths[flow]);
        let us = |s: f64| (s * 1e6) as u32;
        let min_rtt_s = seen.min_rtt.map_or(path.rtt_s, |rtt| rtt.as_secs_f64());
        let srtt_s = seen.srtt.map_or(min_rtt_s, |rtt| rtt.as_secs_f64());
        let dead_s = path
            .dies_s
            .map_or(0.0, |dies_s| (BEGIN_S + at_s - dies_s).max(0.0));
        let is_waiting = self.upload && dead_s > srtt_s && seen.in_flight > 0;
        let since = is_waiting.then(|| *silence.get_or_insert(at_s - dead_s));
        let waited_s = since.map_or(0.0, |since| at_s - since);
        let (backoff, rto_s) = backed_off(waited_s, RTO_MIN_S + srtt_s);
        let last_timeout_s = rto_s * (1.0 - 0.5f64.powi(backoff.into()));
        let heard_s = since.map_or(srtt_s / 4.0, |since| at_s - since + self.paused_s);
        let window = self.window_bytes(at_s);
        let limited_app = self.stream_bps.is_some();
        let segments = seen.segments as u32;
        let payload = |segments: u64| segments * u64::from(MSS);
        let (sent, received) = if self.upload {
            (payload(seen.segments), 0)
        } else {
            (0, seen.delivered_bytes)
        };
        let lost = if self.upload {
            seen.retransmissions as u32
        } else {
            0
        };
        let in_flight = if self.reads.is_some() {
            seen.in_flight.min((window / f64::from(MSS)) as u32)
        } else {
            seen.in_flight
        };
        let info = TcpInfo {
            state: TcpState::Established,
            recovery: Recovery::Open,
            backoff,
            app_limited: limited_app,
            rto_us: us(rto_s),
            send_mss_bytes: MSS,
            srtt_us: us(if self.upload { srtt_s } else { min_rtt_s }),
            rtt_variation_us: 0,
            min_rtt_us: us(min_rtt_s),
            cwnd_packets: if self.upload { seen.cwnd } else { 10 },
            ssthresh_packets: 0,
            unacked_packets: if self.upload { in_flight } else { 0 },
            lost_packets: 0,
            heard_ms: (heard_s * 1e3) as u32,
            data_sent_ms: ((waited_s - last_timeout_s).max(0.0) * 1e3) as u32,
            receive_rtt_us: if self.upload { 0 } else { us(srtt_s) },
            out_of_order_segments: 0,
            retransmitted_segments: lost,
            pacing_rate_bytes_per_s: None,
            max_pacing_rate_bytes_per_s: None,
            delivery_rate_bytes_per_s: (f64::from(seen.cwnd) * f64::from(MSS) / srtt_s)
                .min(path.rate_bps / 8.0) as u64,
            acked_bytes: sent,
            received_bytes: received,
            segments_out: segments,
            data_segments_out: if self.upload { segments } else { 0 },
            data_segments_in: if self.upload { 0 } else { segments },
            not_sent_bytes: 0,
            sent_bytes: sent,
            retransmitted_bytes: payload(lost.into()),
            busy_us: us(BEGIN_S + at_s).into(),
            receive_window_limited_us: 0,
            send_buffer_limited_us: 0,
            delivered_packets: segments,
            marked_packets: 0,
            send_window_bytes: window as u32,
            receive_window_bytes: Some(if self.buffer == Buffer::Own {
                self.buffer_bytes as u32
            } else {
                60_000_000
            }),
            timeouts: None,
        };
        TcpSocket {
            local: (ip(at), 40_000).into(),
            remote: peer(),
            interface: (flow > 0).then(|| device(at)),
            state: TcpState::Established,
            timer_ms: 0,
            uid: 1000,
            inode: 0,
            congestion: Some(self.controller.replace("bbr1", "bbr")),
            memory: Some(self.memory(u64::from(in_flight) * u64::from(MSS))),
            info: Some(info),
            membership: Some(Membership {
                token: Token(7),
                local_id: AddressId(at as u8),
                remote_id: AddressId(0),
                joined: flow > 0,
                opened_locally: true,
                backup_locally: path.backup,
                backup_remotely: false,
            }),
        }
    }
}

/// The time of a sample, from what its sockets say: they are busy from the start.
fn status_at(subflows: &[TcpSocket]) -> f64 {
    let busy_us = subflows
        .first()
        .and_then(|flow| Some(flow.info.as_ref()?.busy_us))
        .unwrap_or(0);
    busy_us as f64 / 1e6 - BEGIN_S
}

/// RFC 6298, section 5.5: the number of timeouts and the present timeout, s, after this time
/// without an answer.
fn backed_off(waited_s: f64, rto_s: f64) -> (u8, f64) {
    let (mut count, mut next_s, mut timeout_s) = (0, rto_s, rto_s);
    while waited_s > next_s {
        count += 1;
        timeout_s *= 2.0;
        next_s += timeout_s;
    }
    (count, timeout_s)
}
