//! Senders: connections under test, competitors, cross traffic.

use super::super::error::Problems;
use super::super::forms::Workload as RawWorkload;
use super::super::lengths::ReceiveBuffer;
use super::super::parts::{CrossKind, RawStream};
use super::super::raw::{RawCompetitor, RawConnection, RawCross, RawReceiver, RawScenario};
use super::super::read::At;
use super::super::{
    Competitor, ConnectionGroup, CrossPattern, CrossTraffic, Direction, LinkIndex, MAX_CONNECTIONS,
    MAX_SUBFLOWS, PathIndex, RelayKind, Transport, Workload,
};
use super::check::{at_least, holds_segment, positive, unique};
use super::network::Network;
use crate::receive::GrowingMemory;
use crate::topology::TopologySpec;
use crate::units::{Bytes, Nanos};

/// Name of the only connection of a scenario without `[[connection]]`.
const ONLY_CONNECTION: &str = "main";

/// The second and third value of `net.ipv4.tcp_rmem` in Linux up to 6.15; later the third is 32
/// MiB.
const INITIAL_MEMORY: Bytes = Bytes(128 << 10);
const MOST_MEMORY: Bytes = Bytes(6 << 20);
/// The sysctl is an `int`.
const LARGEST_MEMORY: Bytes = Bytes(i32::MAX as u64);

/// The name of the connections of a topology.
const HOSTS: &str = "hosts";

/// All senders.
pub(super) struct Traffic {
    pub(super) connections: Vec<ConnectionGroup>,
    pub(super) competitors: Vec<Competitor>,
    pub(super) cross: Vec<CrossTraffic>,
}

/// The buffers of a connection.
struct Buffers {
    receive: Bytes,
    memory: Option<GrowingMemory>,
    send: Bytes,
}

/// The context that senders are checked against.
struct Frame<'r> {
    raw: &'r RawScenario,
    duration: Nanos,
    transport: &'r Transport,
    network: &'r Network,
}

/// Builds all senders.
pub(super) fn traffic(
    raw: &RawScenario,
    duration: Nanos,
    transport: &Transport,
    network: &Network,
    out: &mut Problems,
) -> Option<Traffic> {
    let before = out.len();
    let frame = Frame {
        raw,
        duration,
        transport,
        network,
    };
    let groups = raw
        .connection
        .iter()
        .map(|connection| &connection.value.name);
    unique(groups, "connections", out);
    unique(
        raw.competitor
            .iter()
            .map(|competitor| &competitor.value.name),
        "competitors",
        out,
    );
    frame.refuse_unused(out);
    for path in &raw.path {
        frame.starts_in_time(&path.value.start, Nanos::ZERO, out);
    }
    let connections = if let Some(topology) = &network.topology {
        vec![frame.hosts(topology, out)]
    } else if raw.connection.is_empty() {
        vec![frame.only_connection(out)]
    } else {
        raw.connection
            .iter()
            .map(|connection| frame.connection(connection, out))
            .collect()
    };
    for group in connections.iter().flatten() {
        frame.refuse_tcp_relays(group, out);
    }
    frame.check_memory(
        connections
            .iter()
            .flatten()
            .any(|group| group.receive_memory.is_some()),
        out,
    );
    let competitors: Vec<_> = raw
        .competitor
        .iter()
        .map(|raw| frame.competitor(raw, out))
        .collect();
    let cross: Vec<_> = raw.cross.iter().map(|raw| frame.cross(raw, out)).collect();
    if out.len() > before {
        return None;
    }
    Some(Traffic {
        connections: connections.into_iter().collect::<Option<_>>()?,
        competitors: competitors.into_iter().collect::<Option<_>>()?,
        cross: cross.into_iter().collect::<Option<_>>()?,
    })
}

impl Frame<'_> {
    /// Notes common settings that no connection uses, because each has its own.
    fn refuse_unused(&self, out: &mut Problems) {
        let RawScenario {
            workload,
            receiver,
            sender,
            connection,
            ..
        } = self.raw;
        let Some(first) = connection.first() else {
            return;
        };
        // A buffer that is not written has the position of its table.
        let receive = &receiver.value.buffer.span;
        let send = &sender.value.buffer.span;
        let own = |has: fn(&RawConnection) -> bool| connection.iter().all(|at| has(&at.value));
        let written = [
            (
                workload.as_ref().map(|at| &at.span),
                "workload",
                own(|connection| connection.workload.is_some()),
            ),
            (
                Some(receive).filter(|span| **span != receiver.span),
                "receive_buffer",
                own(|connection| connection.receive_buffer.is_some()),
            ),
            (
                Some(send).filter(|span| **span != sender.span),
                "send_buffer",
                own(|connection| connection.send_buffer.is_some()),
            ),
        ];
        for (span, key, all_have_own) in written {
            if let (Some(span), true) = (span, all_have_own) {
                let name = &first.value.name.value;
                let help = format!("set `connection.{name}.{key}`, or delete it there");
                out.note_with_help(span, "no connection uses this: each has its own", help);
            }
        }
    }

    /// The only connection of a scenario without `[[connection]]`: over all paths.
    fn only_connection(&self, out: &mut Problems) -> Option<ConnectionGroup> {
        let paths: Vec<_> = (0..self.network.paths.len()).collect();
        if paths.len() > MAX_SUBFLOWS {
            let message = format!(
                "{} paths are more than the {MAX_SUBFLOWS} subflows of a connection",
                paths.len()
            );
            out.note_with_help(
                &(0..0),
                message,
                "name the paths of each connection in [[connection]]",
            );
        }
        let (workload, direction) = self.workload(None, out)?;
        let buffers = self.buffers(
            &self.raw.receiver.value.buffer,
            &self.raw.sender.value.buffer,
            out,
        );
        Some(ConnectionGroup {
            name: ONLY_CONNECTION.into(),
            count: 1,
            paths,
            workload,
            direction,
            start: Nanos::ZERO,
            spread: Nanos::ZERO,
            receive_buffer: buffers.receive,
            receive_memory: buffers.memory,
            send_buffer: buffers.send,
        })
    }

    /// One connection per host of a topology.
    fn hosts(&self, topology: &TopologySpec, out: &mut Problems) -> Option<ConnectionGroup> {
        let spread = &self.raw.topology.as_ref()?.value.spread;
        self.starts_in_time(spread, spread.value, out);
        let (workload, direction) = self.workload(None, out)?;
        let buffers = self.buffers(
            &self.raw.receiver.value.buffer,
            &self.raw.sender.value.buffer,
            out,
        );
        Some(ConnectionGroup {
            name: HOSTS.into(),
            count: topology.kind.hosts()?,
            paths: (0..self.network.paths.len()).collect(),
            workload,
            direction,
            start: Nanos::ZERO,
            spread: spread.value,
            receive_buffer: buffers.receive,
            receive_memory: buffers.memory,
            send_buffer: buffers.send,
        })
    }

    fn connection(
        &self,
        written: &At<RawConnection>,
        out: &mut Problems,
    ) -> Option<ConnectionGroup> {
        let raw = &written.value;
        let paths = self.subflows(&raw.paths, out);
        count(&raw.count, out);
        self.starts_in_time(&raw.start, raw.spread.value, out);
        let receive = raw
            .receive_buffer
            .as_ref()
            .unwrap_or(&self.raw.receiver.value.buffer);
        let buffers = self.buffers(
            receive,
            raw.send_buffer
                .as_ref()
                .unwrap_or(&self.raw.sender.value.buffer),
            out,
        );
        let (workload, direction) = self.workload(raw.workload.as_ref(), out)?;
        Some(ConnectionGroup {
            name: raw.name.value.clone(),
            count: raw.count.value,
            paths: paths?,
            workload,
            direction,
            start: raw.start.value,
            spread: raw.spread.value,
            receive_buffer: buffers.receive,
            receive_memory: buffers.memory,
            send_buffer: buffers.send,
        })
    }

    /// Notes TCP relays on the paths of a connection that uploads, or whose receive buffer grows:
    /// its windows end at the relays.
    fn refuse_tcp_relays(&self, group: &ConnectionGroup, out: &mut Problems) {
        let (trouble, fix) = match (group.direction, group.receive_memory) {
            (Direction::Upload, _) => (
                "uploads, and a TCP relay forwards downloads only",
                "write kind = \"ip\", or direction = \"download\"",
            ),
            (Direction::Download, Some(_)) => (
                "has a receive buffer that grows, and a TCP relay's window is fixed",
                "write kind = \"ip\", or a receive buffer of for example \"4 MiB\"",
            ),
            (Direction::Download, None) => return,
        };
        let is_tcp = |path: &PathIndex| {
            self.network.paths[*path]
                .relay
                .is_some_and(|relay| relay.kind != RelayKind::Ip)
        };
        for path in group.paths.iter().copied().filter(is_tcp) {
            let message = format!("`{}` {trouble}", group.name);
            let span = self.raw.path[path]
                .value
                .relay
                .as_ref()
                .map_or(0..0, |relay| relay.span.clone());
            out.note_with_help(&span, message, fix);
        }
    }

    /// Paths of a connection; an empty list means all.
    fn subflows(
        &self,
        written: &At<Vec<At<String>>>,
        out: &mut Problems,
    ) -> Option<Vec<PathIndex>> {
        let named: Vec<_> = written
            .value
            .iter()
            .map(|name| self.network.path(name, out))
            .collect();
        let mut paths: Vec<PathIndex> = named.into_iter().collect::<Option<_>>()?;
        if let Some(at) = (0..paths.len()).find(|&at| paths[..at].contains(&paths[at])) {
            let name = &written.value[at];
            out.note(
                &name.span,
                format!("the path `{}` is listed twice", name.value),
            );
            return None;
        }
        if paths.is_empty() {
            paths = (0..self.network.paths.len()).collect();
        }
        if paths.len() > MAX_SUBFLOWS {
            let message = format!("{} subflows are more than {MAX_SUBFLOWS}", paths.len());
            out.note_with_help(
                &written.span,
                message,
                "the kernel's limit: name fewer paths",
            );
            return None;
        }
        Some(paths)
    }

    fn buffers(
        &self,
        receive: &At<ReceiveBuffer>,
        send: &At<Bytes>,
        out: &mut Problems,
    ) -> Buffers {
        let mss = self.transport.mss;
        holds_segment(&send.span, send.value, mss, "a send buffer", out);
        let memory = match receive.value {
            ReceiveBuffer::Auto => Some(self.memory()),
            ReceiveBuffer::Fixed(_) => None,
        };
        let size = match receive.value {
            ReceiveBuffer::Auto => GrowingMemory::window(self.memory().most, mss),
            ReceiveBuffer::Fixed(bytes) => bytes,
        };
        if memory.is_none() {
            holds_segment(&receive.span, size, mss, "a receive buffer", out);
        }
        Buffers {
            receive: size,
            memory,
            send: send.value,
        }
    }

    /// The memory of receive buffers that grow.
    fn memory(&self) -> GrowingMemory {
        let receiver = &self.raw.receiver.value;
        let value =
            |written: &Option<At<Bytes>>, default| written.as_ref().map_or(default, |at| at.value);
        let most = value(&receiver.max_memory, MOST_MEMORY);
        GrowingMemory {
            initial: value(&receiver.memory, INITIAL_MEMORY),
            most,
        }
    }

    /// Checks the memory of receive buffers that grow. `grows`: whether any does.
    fn check_memory(&self, grows: bool, out: &mut Problems) {
        let RawReceiver {
            buffer,
            memory,
            max_memory,
        } = &self.raw.receiver.value;
        let written = [("memory", memory), ("max_memory", max_memory)];
        if !grows {
            for (key, at) in written
                .iter()
                .filter_map(|(key, at)| Some((key, at.as_ref()?)))
            {
                let message =
                    format!("`{key}` is the memory of a buffer that grows, and none grows");
                out.note_with_help(
                    &at.span,
                    message,
                    "write buffer = \"auto\", or remove the key",
                );
            }
            return;
        }
        let GrowingMemory { initial, most } = self.memory();
        let span = written
            .iter()
            .find_map(|(_, at)| at.as_ref())
            .map_or(&buffer.span, |at| &at.span);
        let window = GrowingMemory::window(initial, self.transport.mss);
        holds_segment(
            span,
            window,
            self.transport.mss,
            "a window of the initial memory",
            out,
        );
        if most > LARGEST_MEMORY {
            out.note_with_help(
                span,
                "`max_memory` exceeds Linux' limit",
                "write at most \"2047 MiB\"",
            );
        }
        if most < initial {
            let message = format!("`max_memory` of {most} is less than `memory` of {initial}");
            out.note_with_help(
                span,
                message,
                "write the second and third value of net.ipv4.tcp_rmem",
            );
        }
    }

    /// Workload: the connection's, else the scenario's, else a bulk download.
    fn workload(
        &self,
        own: Option<&RawWorkload>,
        out: &mut Problems,
    ) -> Option<(Workload, Direction)> {
        let Some(raw) = own.or(self.raw.workload.as_ref().map(|at| &at.value)) else {
            return Some((Workload::Bulk, Direction::Download));
        };
        let before = out.len();
        let workload = match raw {
            RawWorkload::Bulk(_) => Workload::Bulk,
            RawWorkload::File(file) => Workload::File {
                size: not_empty(&file.size, out),
            },
            RawWorkload::Messages(messages) => {
                positive(&messages.mean_gap, "`mean_gap`", out);
                self.sends_in_time(&messages.tolerance, out);
                Workload::Messages {
                    mean_gap: messages.mean_gap.value,
                    size: not_empty(&messages.size, out),
                    tolerance: messages.tolerance.value,
                }
            }
            RawWorkload::Stream(stream) => self.stream(stream, out),
            RawWorkload::Requests(requests) => Workload::Requests {
                size: not_empty(&requests.size, out),
                think: requests.think,
            },
        };
        (out.len() == before).then_some((workload, raw.direction()))
    }

    /// Notes a tolerance with which every message would still wait at the end.
    fn sends_in_time(&self, tolerance: &At<Nanos>, out: &mut Problems) {
        if tolerance.value >= self.duration {
            let message = format!(
                "no message would be sent: `tolerance` ({}) is not below `duration` ({})",
                tolerance.value, self.duration
            );
            out.note_with_help(
                &tolerance.span,
                message,
                "make `duration` several times as long",
            );
        }
    }

    fn stream(&self, raw: &RawStream, out: &mut Problems) -> Workload {
        positive(&raw.interval, "`interval`", out);
        let (rate, interval) = (raw.rate.value, raw.interval.value);
        if rate.bps() as f64 * interval.as_secs_f64() < 8.0 {
            let message = format!("{rate} is less than one byte in each interval of {interval}");
            out.note(&raw.rate.span, message);
        }
        if let Some(on) = &raw.on {
            positive(on, "`on`", out);
        } else if raw.off > Nanos::ZERO {
            out.note_with_help(
                &raw.rate.span,
                "`off` needs `on`",
                "write for example on = \"10 s\"",
            );
        }
        let on = raw.on.as_ref().map_or(self.duration, |on| on.value);
        Workload::Stream {
            rate,
            interval,
            on,
            off: raw.off,
        }
    }

    fn competitor(&self, written: &At<RawCompetitor>, out: &mut Problems) -> Option<Competitor> {
        let raw = &written.value;
        count(&raw.count, out);
        self.starts_in_time(&raw.start, raw.spread.value, out);
        if raw.cc.value.trim().is_empty() {
            out.note_with_help(
                &raw.cc.span,
                "no congestion controller is named",
                "write for example cc = \"reno\"",
            );
        }
        let size = raw.size.as_ref().map(|size| not_empty(size, out));
        let (down, up) = match (&raw.path, raw.via.value.as_slice()) {
            (Some(path), []) => {
                let path = &self.network.paths[self.network.path(path, out)?];
                (path.down.clone(), path.up.clone())
            }
            (None, via) if !via.is_empty() => self.network.route(via, out)?,
            _ => {
                let help = "write either path = \"…\" or via = [\"…\"]";
                out.note_with_help(&written.span, "[[competitor]] needs one route", help);
                return None;
            }
        };
        Some(Competitor {
            name: raw.name.value.clone(),
            count: raw.count.value,
            down,
            up,
            cc: raw.cc.value.clone(),
            start: raw.start.value,
            spread: raw.spread.value,
            size,
        })
    }

    fn cross(&self, written: &At<RawCross>, out: &mut Problems) -> Option<CrossTraffic> {
        let raw = &written.value;
        let link = self.cross_link(written, out);
        let pattern = cross_pattern(raw, out);
        at_least(
            raw.packet.value.0,
            1,
            &raw.packet.span,
            "a packet",
            "1 B",
            out,
        );
        if raw.packet.value > LARGEST_PACKET {
            out.note(
                &raw.packet.span,
                format!("a packet is at most {LARGEST_PACKET}"),
            );
        }
        let stop = raw.stop.as_ref().map_or(self.duration, |stop| stop.value);
        if raw.start.value >= stop {
            let span = raw.stop.as_ref().map_or(&raw.start.span, |stop| &stop.span);
            out.note(
                span,
                format!(
                    "this traffic stops at {stop}, before it starts at {}",
                    raw.start.value
                ),
            );
        }
        Some(CrossTraffic {
            link: link?,
            pattern: pattern?,
            packet: raw.packet.value,
            start: raw.start.value,
            stop,
        })
    }

    /// The link that carries cross traffic: a shared link, or a path's own.
    fn cross_link(&self, written: &At<RawCross>, out: &mut Problems) -> Option<LinkIndex> {
        let raw = &written.value;
        let (down, up) = match (&raw.path, &raw.link) {
            (Some(path), None) => self.network.paths[self.network.path(path, out)?].radio,
            (None, Some(link)) => self.network.shared_link(link, out)?,
            _ => {
                let help = "write either path = \"…\" or link = \"…\"";
                out.note_with_help(&written.span, "[[cross]] needs one link", help);
                return None;
            }
        };
        Some(match raw.direction {
            Direction::Download => down,
            Direction::Upload => up,
        })
    }

    /// Notes a start after the end of the run.
    fn starts_in_time(&self, start: &At<Nanos>, spread: Nanos, out: &mut Problems) {
        let last = Nanos(start.value.0.saturating_add(spread.0));
        if start.value > Nanos::ZERO && last >= self.duration || spread >= self.duration {
            let message = format!(
                "a start at {last} is not within the duration of {}",
                self.duration
            );
            out.note(&start.span, message);
        }
    }
}

/// Largest packet of cross traffic: the maximum of IPv4's length field.
const LARGEST_PACKET: Bytes = Bytes(65_535);

fn cross_pattern(raw: &RawCross, out: &mut Problems) -> Option<CrossPattern> {
    /// Default shape of bursts and gaps: finite mean, infinite variance.
    const DEFAULT_SHAPE: f64 = 1.5;
    let before = out.len();
    let rate = raw.rate.value;
    if rate.bps() == 0 {
        out.note_with_help(
            &raw.rate.span,
            "a rate of zero sends nothing",
            "write for example \"10 Mbit/s\"",
        );
    }
    let bursts = [("mean_burst", &raw.mean_burst), ("mean_gap", &raw.mean_gap)];
    if raw.kind.value != CrossKind::Pareto {
        for (key, value) in bursts {
            if let Some(value) = value {
                only_of_pareto(key, &value.span, out);
            }
        }
        if let Some(shape) = &raw.shape {
            only_of_pareto("shape", &shape.span, out);
        }
        let is_constant = raw.kind.value == CrossKind::Constant;
        let pattern = if is_constant {
            CrossPattern::Constant { rate }
        } else {
            CrossPattern::Poisson { rate }
        };
        return (out.len() == before).then_some(pattern);
    }
    for (key, value) in bursts {
        match value {
            None => {
                let help = format!("write for example {key} = \"5 s\"");
                out.note_with_help(
                    &raw.kind.span,
                    format!("pareto traffic needs the key `{key}`"),
                    help,
                );
            }
            Some(value) => {
                positive(value, &format!("`{key}`"), out);
            }
        }
    }
    let shape = raw
        .shape
        .as_ref()
        .map_or(DEFAULT_SHAPE, |shape| shape.value);
    if let Some(written) = raw.shape.as_ref().filter(|written| written.value <= 1.0) {
        let message = format!("a Pareto distribution of shape {shape} has no mean");
        out.note_with_help(
            &written.span,
            message,
            "write a number greater than 1, for example 1.5",
        );
    }
    let (mean_burst, mean_gap) = (raw.mean_burst.as_ref()?.value, raw.mean_gap.as_ref()?.value);
    (out.len() == before).then_some(CrossPattern::Pareto {
        rate,
        mean_burst,
        mean_gap,
        shape,
    })
}

fn only_of_pareto(key: &str, span: &std::ops::Range<usize>, out: &mut Problems) {
    let help = "leave it out, or write kind = \"pareto\"";
    out.note_with_help(span, format!("`{key}` is a key of pareto traffic"), help);
}

/// Notes a size of zero.
fn not_empty(size: &At<Bytes>, out: &mut Problems) -> Bytes {
    at_least(size.value.0, 1, &size.span, "the size", "1 B", out);
    size.value
}

/// Notes a count of zero, or one above the limit.
fn count(count: &At<u32>, out: &mut Problems) {
    at_least(count.value.into(), 1, &count.span, "the count", "1", out);
    if count.value > MAX_CONNECTIONS {
        out.note(
            &count.span,
            format!(
                "{} connections are more than {MAX_CONNECTIONS}",
                count.value
            ),
        );
    }
}
